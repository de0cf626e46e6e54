/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_STORAGE_H
#define MPKI_STORAGE_H
/** How the columns of a front, and its contribution, lie in memory: as a trapezoid of panels. */
#include <stdint.h>

enum { MPKI_PANEL = 128, MPKI_TILE = 32 };

static inline int64_t mpki_leading(int64_t rows) {
    return (rows + 7) & ~(int64_t)7;
}
/** Entries before panel k. */
static inline int64_t mpki_panel_offset(int64_t ld0, int64_t k) {
    return MPKI_PANEL * (k * ld0 - MPKI_PANEL * (k * (k - 1) / 2));
}
/** Entries of a trapezoid of `cols` columns over `rows` rows. */
static inline int64_t mpki_trapezoid(int64_t rows, int64_t cols) {
    int64_t ld0 = mpki_leading(rows), k = cols / MPKI_PANEL;
    return mpki_panel_offset(ld0, k) + (cols - k * MPKI_PANEL) * (ld0 - k * MPKI_PANEL);
}

#endif
