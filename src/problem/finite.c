/* SPDX-License-Identifier: BSD-3-Clause */
/* The first entry of an array that is NaN or infinite. */
#include "problem.h"

#include <math.h>
#include <string.h>

/* Blocks are scanned without branches, which vectorizes; only a block with such an entry is
 * searched. */
enum { BLOCK = 1024 };

static int64_t first_s(int64_t count, const float *x) {
    for (int64_t start = 0; start < count; start += BLOCK) {
        int64_t end = count - start < BLOCK ? count : start + BLOCK;
        int bad = 0;
        for (int64_t k = start; k < end; k++) {
            uint32_t bits;
            memcpy(&bits, &x[k], sizeof bits);
            bad |= (bits & 0x7f800000u) == 0x7f800000u;
        }
        if (!bad) continue;
        for (int64_t k = start; k < end; k++)
            if (!isfinite(x[k])) return k;
    }
    return -1;
}

static int64_t first_d(int64_t count, const double *x) {
    for (int64_t start = 0; start < count; start += BLOCK) {
        int64_t end = count - start < BLOCK ? count : start + BLOCK;
        int64_t bad = 0;
        for (int64_t k = start; k < end; k++) {
            uint64_t bits;
            memcpy(&bits, &x[k], sizeof bits);
            bad |= (bits & 0x7ff0000000000000u) == 0x7ff0000000000000u;
        }
        if (!bad) continue;
        for (int64_t k = start; k < end; k++)
            if (!isfinite(x[k])) return k;
    }
    return -1;
}

int64_t mpki_first_nonfinite(mpk_scalar scalar, int64_t count, const void *values) {
    bool complex = scalar == MPK_C || scalar == MPK_Z;
    int64_t reals = complex ? 2 * count : count;
    int64_t k =
        scalar == MPK_S || scalar == MPK_C ? first_s(reals, values) : first_d(reals, values);
    return k >= 0 && complex ? k / 2 : k;
}

int64_t mpki_next_nonfinite(mpk_scalar scalar, int64_t from, int64_t count, const void *values) {
    const char *at = (const char *)values + from * (int64_t)mpk_scalar_size(scalar);
    const int64_t k = from < count ? mpki_first_nonfinite(scalar, count - from, at) : -1;
    return k < 0 ? -1 : from + k;
}
