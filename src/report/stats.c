/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a matrix, without analysis: rows, bandwidth, diagonal, zeros. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double modulus(const mpk_problem_view *a, int64_t k) {
    switch (a->scalar) {
    case MPK_S:
        return fabs((double)((const float *)a->ax)[k]);
    case MPK_D:
        return fabs(((const double *)a->ax)[k]);
    case MPK_C:
        return hypot(((const float *)a->ax)[2 * k], ((const float *)a->ax)[2 * k + 1]);
    default:
        return hypot(((const double *)a->ax)[2 * k], ((const double *)a->ax)[2 * k + 1]);
    }
}

void mpki_stats_get(const mpk_problem_view *a, int32_t *counts, mpki_stats *stats) {
    const bool general = a->symmetry == MPK_GENERAL;
    *stats = (mpki_stats){.least = INFINITY};
    if (a->n > 0) memset(counts, 0, (size_t)a->n * sizeof *counts);
    for (int32_t j = 0; j < a->n; j++) {
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            double size = modulus(a, k);
            counts[i]++;
            if (i == j)
                stats->diagonal++;
            else if (!general)
                counts[j]++;
            if (abs(i - j) > stats->bandwidth) stats->bandwidth = abs(i - j);
            if (size > stats->most) stats->most = size;
            if (size > 0 && size < stats->least) stats->least = size;
            if (size == 0) {
                stats->explicit_zeros++;
                if (i == j) stats->diagonal_zero++;
            }
        }
    }
    for (int32_t i = 0; i < a->n; i++) {
        if (counts[i] == 0) stats->empty_rows++;
        if (counts[i] > stats->longest_row) stats->longest_row = counts[i];
    }
    if (stats->most == 0) stats->least = 0;
}
