/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_LEND_H
#define MPKI_LEND_H
/** Arrays of a caller's that lie in a device's memory, as the host sees them: copies, in and
 *  out. */
#include "../engines/interface/engine.h"

/** Does p lie in the memory of the engine's device? */
bool mpki_is_there(mpk_context *ctx, const mpki_engine *engine, const void *p);

/** A copy in host memory of what the device has at `from`, columns one after the other; to be
 *  released with mpki_release().
 *  width [in] bytes of a column   pitch [in] bytes from one column to the next
 *  Returns NULL, with the error recorded: MPK_ERR_MEMORY | MPK_ERR_DEVICE */
void *mpki_fetch(mpk_context *ctx, const mpki_engine *engine, const char *stage, const void *from,
                 int64_t width, int64_t pitch, int32_t columns);

#endif
