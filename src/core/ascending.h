/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ASCENDING_H
#define MPKI_ASCENDING_H
/** The order of indices, for qsort(). */
#include <stdint.h>

static inline int mpki_ascending(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

#endif
