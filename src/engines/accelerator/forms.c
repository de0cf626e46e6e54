/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms in which blocks of doubles rest on the processor, and the choice of one. */
#include "cpu.h"
#include "kernels/blocks.h"

#include <string.h>

static int64_t entries(int32_t n) {
    return n * (int64_t)n;
}

/* ---- compressed: a mask of the entries that are not zero, and these ---- */

static int64_t mask_words(int32_t n) {
    return (entries(n) + 63) / 64;
}

static int64_t compressed_bytes(void *self, int32_t n) {
    (void)self;
    return (mask_words(n) + entries(n)) * 8; /* all may be there */
}

static mpk_status load_compressed(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++) {
        const uint64_t *mask = b->block[1][i];
        const double *value = (const double *)(mask + mask_words(b->n));
        double *to = b->block[0][i];
        for (int64_t k = 0; k < entries(b->n); k++)
            to[k] = mask[k / 64] >> k % 64 & 1 ? *value++ : 0;
    }
    return MPK_OK;
}

static mpk_status store_compressed(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++) {
        uint64_t *mask = b->block[1][i];
        double *value = (double *)(mask + mask_words(b->n));
        const double *from = b->block[0][i];
        memset(mask, 0, (size_t)mask_words(b->n) * 8);
        for (int64_t k = 0; k < entries(b->n); k++)
            if (from[k] != 0) mask[k / 64] |= UINT64_C(1) << k % 64, *value++ = from[k];
    }
    return MPK_OK;
}

/* ---- single ---- */

static int64_t single_bytes(void *self, int32_t n) {
    (void)self;
    return entries(n) * 4;
}

static mpk_status load_single(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++)
        for (int64_t k = 0; k < entries(b->n); k++)
            ((double *)b->block[0][i])[k] = (double)((const float *)b->block[1][i])[k];
    return MPK_OK;
}

static mpk_status store_single(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++)
        for (int64_t k = 0; k < entries(b->n); k++)
            ((float *)b->block[1][i])[k] = (float)((const double *)b->block[0][i])[k];
    return MPK_OK;
}

/* ---- bf16 ---- */

static int64_t half_bytes(void *self, int32_t n) {
    (void)self;
    return (entries(n) * 2 + 3) / 4 * 4;
}

static mpk_status load_half(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++)
        for (int64_t k = 0; k < entries(b->n); k++)
            ((double *)b->block[0][i])[k] =
                (double)mpki_bf16_to(((const uint16_t *)b->block[1][i])[k]);
    return MPK_OK;
}

static mpk_status store_half(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++)
        for (int64_t k = 0; k < entries(b->n); k++)
            ((uint16_t *)b->block[1][i])[k] =
                mpki_bf16_of((float)((const double *)b->block[0][i])[k]);
    return MPK_OK;
}

const mpk_accelerator_form mpki_accelerator_cpu_forms[] = {
    {"compressed", compressed_bytes, load_compressed, store_compressed},
    {"single", single_bytes, load_single, store_single},
    {"bf16", half_bytes, load_half, store_half},
    {NULL, NULL, NULL, NULL}};

mpk_status mpk_accelerator_use_form(mpk_accelerator *table, const char *name) {
    static const mpk_accelerator_form dense = {"dense", NULL, NULL, NULL};
    const mpk_accelerator_form *form = name && !strcmp(name, "dense") ? &dense : NULL;
    if (!table || !name || table->struct_size < sizeof *table) return MPK_ERR_ARGUMENT;
    for (const mpk_accelerator_form *one = table->forms; !form && one && one->name; one++)
        if (!strcmp(one->name, name)) form = one;
    if (!form) return MPK_ERR_ARGUMENT;
    table->stored_bytes = form->stored_bytes;
    table->load = form->load;
    table->store = form->store;
    return MPK_OK;
}
