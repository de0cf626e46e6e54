/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_LEND_H
#define MPKI_LEND_H
/** A caller may pass arrays in device memory. Host code asks here whether an array is one, and
 *  copies it to host memory and back. */
#include "../engines/interface/engine.h"

/** Is p an address of the memory of the engine's device? */
bool mpki_is_there(mpk_context *ctx, const mpki_engine *engine, const void *p);

/** Copies columns from device memory to new host memory, one after the other. The caller releases
 *  it with mpki_release().
 *  width [in] bytes of a column   pitch [in] bytes from one column to the next
 *  Returns NULL, with the error recorded: MPK_ERR_MEMORY | MPK_ERR_DEVICE */
void *mpki_fetch(mpk_context *ctx, const mpki_engine *engine, const char *stage, const void *from,
                 int64_t width, int64_t pitch, int32_t columns);

#endif
