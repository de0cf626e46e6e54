/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_DEVICE_H
#define MPKI_INTERFACE_DEVICE_H
/** What who chooses an engine asks of a device (engines/device.c). */
#include "core/core.h"

/** Can the context open this device? False: why not is recorded, MPK_ERR_DEVICE. */
bool mpki_device_opens(mpk_context *ctx, int number);

#endif
