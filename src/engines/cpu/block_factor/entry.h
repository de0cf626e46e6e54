/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_ENTRY_H
#define MPKI_CPU_BLOCK_FACTOR_ENTRY_H
/** An entry of A as the factorization sees it; for one precision. */
#include "core/precision.h"
#include "core/scaled.h"
#include "meta.h"

/** A scaled diagonal entry, with what option `shift` adds to it (with its own sign), and the repair
 *  after a breakdown. */
static inline T FN(entry_shifted)(const mpki_meta *meta, T diagonal) {
    const R shift = (R)meta->stages->options->shift;
    diagonal += t_re(diagonal) > 0 ? shift : -shift;
    return diagonal * (R)(1 + meta->stages->diagonal_shift);
}

/** Entry e of row g of A, scaled before it is rounded. */
static inline T FN(entry_scaled)(const mpki_meta *meta, int32_t g, int64_t e) {
    const mpki_full *a = meta->stages->a;
    const double s = meta->stages->scale[g], t = meta->stages->scale[a->col[e]];
    double re, im;
    t_parts(a->scalar, a->val, e, &re, &im);
    return t_make((R)mpki_scaled(re, s, t), (R)mpki_scaled(im, s, t));
}

#endif
