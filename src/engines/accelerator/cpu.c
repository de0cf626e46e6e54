/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor as an accelerator: its memory and its table; what the kernels do is in cpu_t.c. */
#include "cpu.h"
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

static mpk_status allocate(void *self, int64_t bytes, void **p) {
    (void)self;
    *p = malloc((size_t)bytes);
    return *p ? MPK_OK : MPK_ERR_MEMORY;
}

static void release(void *self, void *p) {
    (void)self;
    free(p);
}

static mpk_status copy(void *self, void *to, const void *from, int64_t bytes) {
    (void)self;
    memcpy(to, from, (size_t)bytes);
    return MPK_OK;
}

static mpk_status run(void *self, const mpk_accelerator_task *t) {
    (void)self;
#define CASE(number, name)                                                                         \
    case number:                                                                                   \
        MPKI_DISPATCH(t->scalar, accelerator_##name)(t);                                           \
        return MPK_OK;
    switch (t->kernel) {
        CASE(MPK_ACCELERATOR_FACTORIZE, factorize)
        CASE(MPK_ACCELERATOR_SOLVE, solve)
        CASE(MPK_ACCELERATOR_DOWNDATE, downdate)
        CASE(MPK_ACCELERATOR_TRANSPOSE, transpose)
        CASE(MPK_ACCELERATOR_ZERO_OUT, zero_out)
        CASE(MPK_ACCELERATOR_PERMUTE, permute)
        CASE(MPK_ACCELERATOR_MEASURE, measure)
        CASE(MPK_ACCELERATOR_DROP, drop)
    }
#undef CASE
    return MPK_ERR_UNSUPPORTED;
}

/* The six, without more than they know. */
#define KERNEL(number, name)                                                                       \
    static mpk_status name(void *self, const mpk_accelerator_batch *b) {                           \
        const mpk_accelerator_task t = {                                                           \
            .struct_size = sizeof t, .batch = b, .kernel = number, .scalar = MPK_D};               \
        return run(self, &t);                                                                      \
    }
KERNEL(MPK_ACCELERATOR_FACTORIZE, factorize)
KERNEL(MPK_ACCELERATOR_SOLVE, solve)
KERNEL(MPK_ACCELERATOR_DOWNDATE, downdate)
KERNEL(MPK_ACCELERATOR_TRANSPOSE, transpose)
KERNEL(MPK_ACCELERATOR_ZERO_OUT, zero_out)
KERNEL(MPK_ACCELERATOR_PERMUTE, permute)
#undef KERNEL

const mpk_accelerator *mpk_accelerator_cpu(void) {
    static const mpk_accelerator table = {
        .struct_size = sizeof table,
        .name = "cpu, by the accelerator interface",
        .atomics = 1,
        .pivoting = 1,
        .precisions = 1u << MPK_S | 1u << MPK_D | 1u << MPK_C | 1u << MPK_Z,
        .largest_block = MPKI_ACCELERATOR_MOST,
        .allocate = allocate,
        .release = release,
        .upload = copy,
        .download = copy,
        .factorize = factorize,
        .solve = solve,
        .downdate = downdate,
        .transpose = transpose,
        .zero_out = zero_out,
        .permute = permute,
        .types = 1u << MPK_TYPE_LDLT | 1u << MPK_TYPE_LLT | 1u << MPK_TYPE_LDU,
        .run = run,
        .drops = 1,
        .sums = 1,
        .forms = mpki_accelerator_cpu_forms};
    return &table;
}
