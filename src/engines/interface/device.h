/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_DEVICE_H
#define MPKI_INTERFACE_DEVICE_H
/** What who chooses an engine asks of a device (engines/device.c), and what an analysis has it do ahead of a
 *  factorization. */
#include "core/core.h"
#include "engines/interface/views.h"

/** Can the context open this device? False: why not is recorded, MPK_ERR_DEVICE. */
bool mpki_device_opens(mpk_context *ctx, int number);
/** Begin to open it, and to load kernels for such entries, while the caller goes on. Nothing is recorded where
 *  that fails: who needs the device is told. */
void mpki_device_begin(mpk_context *ctx, int number, mpk_scalar scalar);
/** Make there what the first direct factorization of this tree makes beside its numbers: the plan, its lists
 *  on the device, and room. The engine's `make` finds it. Nothing is recorded where that fails; it is then
 *  made when it is needed. limit: as options.device_memory_limit */
void mpki_device_prepare(mpk_context *ctx, int number, const mpki_tree_view *tree, double limit);
/** Release what was prepared for a tree of this permutation, and not used. */
void mpki_device_forget(mpk_context *ctx, const int32_t *perm);

#endif
