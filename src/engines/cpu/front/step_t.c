/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of an update by pivots (rank.h): those of a panel. */
#include "rank.h"

#include <string.h>

/* Pivots k0 .. of one step: at most a panel (flat: one more), never half of a 2x2 pivot. A 2x2
 * pivot across two panels is a step of its own (k1 - k0 == 2). */
int64_t FN(rank_step_end)(const FN(front) * f, int64_t k0, int64_t k1) {
    int64_t edge = ((k0 + (f->flat ? 1 : 0)) / MPKI_PANEL + 1) * MPKI_PANEL;
    if (edge >= k1) return k1;
    if (!is_pair(f, edge - 1)) return edge;
    if (f->flat) return edge - 1; /* a pair across the edge goes with the next step */
    return edge - 1 > k0 ? edge - 1 : edge + 1;
}

void FN(rank_step)(const FN(rank) * u, T *packed, int64_t r0, int64_t r1, int64_t k0, int64_t k1,
                   int overwrite) {
    const FN(front) *f = u->f;
    const FN(kernels) *k = u->rules->k;
    T *c = u->c + (r0 - u->row0);
    if (k0 / MPKI_PANEL == (k1 - 1) / MPKI_PANEL) {
        k->pack(u->cols, (int)(k1 - k0), at(f, u->col0, k0), ld(f, k0), f->d + 2 * k0,
                u->rules->hermitian, packed);
        k->multiply(r1 - r0, u->cols, (int)(k1 - k0), at(f, r0, k0), ld(f, k0), packed, c, u->ldc,
                    overwrite, r0 - u->col0);
        return;
    }
    T pair[2 * MPKI_PANEL], depth1[MPKI_PANEL + 64]; /* a pair across two panels */
    memcpy(pair, at(f, u->col0, k0), (size_t)u->cols * sizeof(T));
    memcpy(pair + u->cols, at(f, u->col0, k0 + 1), (size_t)u->cols * sizeof(T));
    k->pack(u->cols, 2, pair, u->cols, f->d + 2 * k0, u->rules->hermitian, packed);
    for (int h = 0; h < 2; h++) {
        for (int32_t j = 0; j < u->cols; j += k->nc) /* depth h of each sliver */
            memcpy(depth1 + j, packed + 2 * j + h * k->nc, (size_t)k->nc * sizeof(T));
        k->multiply(r1 - r0, u->cols, 1, at(f, r0, k0 + h), ld(f, k0 + h), depth1, c, u->ldc,
                    overwrite && h == 0, r0 - u->col0);
    }
}
