/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_TRAPEZOID_T_H
#define MPKI_CPU_MULTIFRONTAL_TRAPEZOID_T_H
/** Columns of a contribution that is stored as a trapezoid of panels. Included by files that are
 *  compiled once for each scalar type. */
#include "core/precision.h"
#include "engines/cpu/front/storage.h"

static inline T *column_of(T *trapezoid, int64_t ld0,
                           int64_t j) { /* address of (0, j), which may not exist itself */
    int64_t k = j / MPKI_PANEL, first = k * MPKI_PANEL;
    return trapezoid + mpki_panel_offset(ld0, k) + (j - first) * (ld0 - first) - first;
}

#endif
