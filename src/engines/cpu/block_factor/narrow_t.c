/* SPDX-License-Identifier: BSD-3-Clause */
/* Precision by block (Thuerck 2021, sec. 10.4.1): blocks of a finished factor in the fewest bits
 * whose rounding option block_tolerance allows. An entry of L is relative to its pivots. */
#include "core/precision.h"
#include "block_factor.h"

#include <string.h>

#define PARTS (MPKI_COMPLEX ? 2 : 1) /* reals of an entry */

static size_t masks_of(const mpki_block *b) {
    const uint32_t *mask = b->data;
    int held = 0;
    for (int k = 0; b->format != MPKI_DENSE && k < (b->rows + 31) / 32; k++)
        held += __builtin_popcount(mask[k]);
    return mpki_block_mask_bytes(b->format, b->rows, b->cols, held);
}

/* The narrowest form whose rounding changes no real number of the block by more than `tolerance`;
 * what lies near the end of its range is not taken for small, nor is NaN. */
static int form_of(const mpki_block *b, double tolerance) {
    static const double BF16 = 0x1p-9, SINGLE = 0x1p-24, HUGE_SINGLE = 0x1p120;
    const R *x = (const R *)(const void *)((const char *)b->data + masks_of(b));
    double most = 0;
    for (int64_t k = 0; k < (int64_t)PARTS * b->nnz; k++) {
        if (!((double)r_abs(x[k]) < HUGE_SINGLE)) return b->scalar;
        most = (double)r_abs(x[k]) > most ? (double)r_abs(x[k]) : most;
    }
    if (most * BF16 <= tolerance) return MPKI_BF16 + (PARTS - 1);
    if (sizeof(R) > sizeof(float) && most * SINGLE <= tolerance)
        return MPKI_COMPLEX ? MPK_C : MPK_S;
    return b->scalar;
}

static size_t bytes_of(const mpki_block *b, int form) {
    const size_t real = form >= MPKI_BF16 ? 2 : form == MPK_S || form == MPK_C ? 4 : 8;
    return masks_of(b) + (size_t)PARTS * (size_t)b->nnz * real;
}

static void convert(const mpki_block *b, int form, char *to) {
    const size_t masks = masks_of(b);
    const R *x = (const R *)(const void *)((const char *)b->data + masks);
    const int64_t count = (int64_t)PARTS * b->nnz;
    memcpy(to, b->data, masks);
    void *values = to + masks;
    for (int64_t k = 0; k < count && form >= MPKI_BF16; k++)
        ((uint16_t *)values)[k] = mpki_bf16_of((float)x[k]);
    for (int64_t k = 0; k < count && form == (MPKI_COMPLEX ? MPK_C : MPK_S); k++)
        ((float *)values)[k] = (float)x[k];
}

/* Everything in one new arena. measure: only *bytes += what the block takes there. */
static void take(mpki_blocks *f, mpki_block *b, double tolerance, mpki_arena *to, int64_t *bytes) {
    if (b->format == MPKI_EMPTY) return;
    const int form = tolerance > 0 ? form_of(b, tolerance) : b->scalar;
    const size_t size = bytes_of(b, form);
    *bytes += ((int64_t)size + 63) / 64 * 64;
    if (!to) return;
    char *data = mpki_arena_alloc(to, (int64_t)size);
    if (!data) return;
    if (form == b->scalar)
        memcpy(data, b->data, size);
    else
        convert(b, form, data);
    f->stages->info.in_bf16 += form >= MPKI_BF16;
    f->stages->info.in_single += form < MPKI_BF16 && form != b->scalar;
    b->data = data;
    b->scalar = (uint8_t)form;
}

static void take_all(mpki_blocks *f, mpki_arena *to, int64_t *bytes) {
    const mpki_stages *s = f->stages;
    const double tolerance = s->options->block_tolerance;
    for (int64_t k = 0; k < s->index.nblocks; k++) {
        take(f, &f->lower[k], tolerance, to, bytes);
        if (f->upper != f->lower) take(f, &f->upper[k], tolerance, to, bytes);
    }
    for (int32_t k = 0; k < s->index.m; k++) {
        mpki_frame *frame = &f->frame[k];
        const size_t size = 4 * (size_t)mpki_frame_rows(s->blocking, k) * sizeof(T);
        const bool own = s->ldu;
        take(f, &frame->m, 0, to, bytes);
        if (own)
            take(f, &frame->n, 0, to, bytes);
        else if (to)
            frame->n = frame->m;
        if (!frame->d) continue;
        *bytes += ((int64_t)size + 63) / 64 * 64;
        T *d = to ? mpki_arena_alloc(to, (int64_t)size) : NULL;
        if (!d) continue;
        memcpy(d, frame->d, size);
        frame->d = d;
        frame->dinv = d + 2 * mpki_frame_rows(s->blocking, k);
    }
}

mpk_status FN(blocks_narrow)(mpki_blocks *f) {
    mpk_context *ctx = f->stages->ctx;
    mpki_arena narrow;
    int64_t bytes = 64, same = 0;
    take_all(f, NULL, &bytes);
    mpk_status status = mpki_arena_init(ctx, bytes, 0, &narrow);
    if (mpk_failed(status)) return status;
    take_all(f, &narrow, &same);
    mpki_arena_free(&f->arena);
    f->arena = narrow;
    f->narrow = true;
    return mpki_failed(ctx);
}
