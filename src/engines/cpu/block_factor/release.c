/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of a finished factor, once rows or products have taken their place. */
#include "block_factor.h"

void mpki_blocks_keep_frames(mpki_blocks *f, bool frames) {
    mpk_context *ctx = f->stages->ctx;
    if (!frames) {
        mpki_release(ctx, f->frame);
        f->frame = NULL;
    }
    if (f->upper != f->lower) mpki_release(ctx, f->upper);
    mpki_release(ctx, f->lower);
    if (f->have_arena) mpki_arena_free(&f->arena);
    f->lower = f->upper = NULL;
    f->have_arena = false;
}

void mpki_blocks_drop(mpki_blocks *f) {
    mpki_blocks_keep_frames(f, false);
}
