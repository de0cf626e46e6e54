/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PAGES_H
#define MPKI_PAGES_H
/** A block whose end is given back before the rest. */
#include <metapack/context.h>

/** Keep the first `bytes` bytes of what mpki_alloc() gave, which are no more than it has: what the others
 *  take, as far as the system can have it back by itself, is free. Any thread. */
void mpki_shrink(mpk_context *ctx, void *ptr, int64_t bytes);

#endif
