/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_BLOCK_SUPPORT_H
#define TEST_BLOCK_SUPPORT_H
/** Work blocks, stored blocks and the instruction sets for the tests of the kernels on blocks.
 * Truth is computed in double complex, whatever the precision under test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engines/cpu/isa/cpu.h"
#include "engines/cpu/isa/level.h"
#include "core/random.h"
#include <metapack/options.h>

typedef double complex zz;

/* the kernels of instruction set k, NULL where this processor or this build lacks it */
static inline const FN(block_kernels) * kernels_of(int k) {
    unsetenv("METAPACK_CPU");
    if (k > mpki_cpu_level() || !(MPKI_ISAS >> k & 1)) return NULL;
    setenv("METAPACK_CPU", mpki_cpu_words[k], 1);
    const FN(block_kernels) *table = FN(cpu_block_kernels)();
    unsetenv("METAPACK_CPU");
    assert_string_equal(table->isa, mpki_cpu_words[k]);
    return table;
}

static uint64_t state = 1;
static inline double uniform(void) { /* (-1, 1) */
    return mpki_random_signed(&state);
}
static inline T random_entry(void) {
    R re = (R)uniform();
    return t_make(re, MPKI_COMPLEX ? (R)uniform() : 0);
}

static inline zz wide(T x) {
    return (double)t_re(x) + I * (double)t_im(x);
}

/* by parts: C99's own product is a call, and slow */
static inline zz mul(zz x, zz y) {
    double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    return (a * c - b * d) + I * (a * d + b * c);
}

/* rows x cols work block, zeroed; its leading dimension is ld(cols) */
static inline int ld_of(int cols) {
    return mpki_block_ld(cols, sizeof(T));
}
static inline T *new_block(int rows, int cols) {
    size_t bytes = ((size_t)rows * (size_t)ld_of(cols) * sizeof(T) + 63) / 64 * 64;
    T *c = aligned_alloc(64, bytes);
    memset(c, 0, bytes);
    return c;
}

/* about `fill` of the entries; `rows_only`: whole rows of it */
static inline T *random_block(int rows, int cols, double fill, int rows_only) {
    T *c = new_block(rows, cols);
    for (int r = 0; r < rows; r++) {
        int row = fabs(uniform()) < fill;
        for (int k = 0; k < cols; k++)
            if (rows_only ? row : fabs(uniform()) < fill) c[r * ld_of(cols) + k] = random_entry();
    }
    return c;
}

static inline mpki_block store(const FN(block_kernels) * kern, int rows, int cols, const T *c,
                               int format) {
    mpki_block b = {.rows = (uint8_t)rows, .cols = (uint8_t)cols, .format = (uint8_t)format};
    size_t bytes = kern->bytes(rows, cols, c, ld_of(cols), format);
    /* exactly the bytes, so that a sanitizer sees a read beyond them */
    if (posix_memalign(&b.data, 16, bytes ? bytes : 1)) b.data = NULL;
    kern->pack(rows, cols, c, ld_of(cols), &b);
    return b;
}

static inline void padding_is_zero(int rows, int cols, const T *c) {
    for (int r = 0; r < rows; r++)
        for (int k = cols; k < ld_of(cols); k++) assert_true(t_abs1(c[r * ld_of(cols) + k]) == 0);
}

#endif
