/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex values: two rows, the real and the imaginary part. Sums, choices, moves of lanes and
 * reductions are those of both rows; what mixes them is here. Backends see two real values. */
#include "borg/lower/leaves.h"

borg_inst *borg_lower_part(borg_lowerer *l, borg_inst *v, int32_t part) {
    return v->rows == 1 ? v : borg_lower_simplify(l, borg_emit_rows(&l->b, 1, &v, &part));
}

borg_inst *borg_lower_pair(borg_lowerer *l, borg_inst *re, borg_inst *im) {
    borg_inst *v[2] = {re, im};
    static const int32_t first[2] = {0, 0};
    borg_lower_unify_all(l, v, 2);
    return borg_lower_simplify(l, borg_emit_rows(&l->b, 2, v, first));
}

typedef struct parts {
    borg_inst *re, *im;
} parts;

static parts take(borg_lowerer *l, borg_inst *v) {
    return (parts){borg_lower_part(l, v, 0), borg_lower_part(l, v, 1)};
}

static borg_inst *both(borg_lowerer *l, borg_op op, borg_inst *x, borg_inst *y) {
    return borg_lower_elem(l, op, x->type, x, y, NULL);
}

borg_inst *borg_lower_complex_product(borg_lowerer *l, borg_inst *x, borg_inst *y) {
    const parts a = take(l, x), b = take(l, y);
    borg_inst *re =
        both(l, BORG_FSUB, both(l, BORG_FMUL, a.re, b.re), both(l, BORG_FMUL, a.im, b.im));
    borg_inst *im =
        both(l, BORG_FADD, both(l, BORG_FMUL, a.re, b.im), both(l, BORG_FMUL, a.im, b.re));
    return borg_lower_pair(l, re, im);
}

/* By the divisor's larger part (Smith), so that no square leaves the range. */
borg_inst *borg_lower_complex_quotient(borg_lowerer *l, borg_inst *x, borg_inst *y) {
    const parts a = take(l, x), b = take(l, y);
    const borg_type type = x->type;
    borg_inst *swap = borg_lower_cmp(l, BORG_FCMP, BORG_LT, false,
                                     borg_lower_elem(l, BORG_FABS, type, b.re, NULL, NULL),
                                     borg_lower_elem(l, BORG_FABS, type, b.im, NULL, NULL));
#define CHOOSE(u, v) borg_lower_elem(l, BORG_SELECT, type, swap, u, v)
    borg_inst *large = CHOOSE(b.im, b.re), *small = CHOOSE(b.re, b.im);
    borg_inst *first = CHOOSE(a.im, a.re), *second = CHOOSE(a.re, a.im);
    borg_inst *r = both(l, BORG_FDIV, small, large);
    borg_inst *d = both(l, BORG_FADD, large, both(l, BORG_FMUL, small, r));
    borg_inst *re = both(l, BORG_FADD, first, both(l, BORG_FMUL, second, r));
    borg_inst *im = both(l, BORG_FSUB, second, both(l, BORG_FMUL, first, r));
    im = CHOOSE(borg_lower_elem(l, BORG_FNEG, type, im, NULL, NULL), im);
#undef CHOOSE
    return borg_lower_pair(l, both(l, BORG_FDIV, re, d), both(l, BORG_FDIV, im, d));
}

/* The larger part times sqrt(1 + q^2), q the quotient of both. As in C: infinite where a part is,
 * else NaN where a part is. FMAX and FMIN give their first operand where one is NaN: so a NaN is in
 * `small` or `large`, and so is an infinite part beside it. */
static borg_inst *absolute(borg_lowerer *l, borg_inst *x, borg_inst *y) {
    const borg_type type = x->type;
    const bool single = type == BORG_F32;
    borg_inst *large = both(l, BORG_FMAX, x, y), *small = both(l, BORG_FMIN, y, x);
    borg_inst *zero = borg_lower_const(l, type, 0);
    borg_inst *one = borg_lower_const(l, type, single ? 0x3f800000u : UINT64_C(0x3ff) << 52);
    borg_inst *inf = borg_lower_const(l, type, single ? 0x7f800000u : UINT64_C(0x7ff) << 52);
    borg_inst *none = borg_lower_cmp(l, BORG_FCMP, BORG_EQ, false, large, zero);
    borg_inst *q =
        both(l, BORG_FDIV, small, borg_lower_elem(l, BORG_SELECT, type, none, one, large));
    borg_inst *root = borg_lower_elem(
        l, BORG_SQRT, type, both(l, BORG_FADD, one, both(l, BORG_FMUL, q, q)), NULL, NULL);
    borg_inst *infinite = borg_lower_elem(
        l, BORG_OR, BORG_I1, borg_lower_cmp(l, BORG_FCMP, BORG_EQ, false, large, inf),
        borg_lower_cmp(l, BORG_FCMP, BORG_EQ, false, small, inf), NULL);
    return borg_lower_elem(l, BORG_SELECT, type, infinite, inf, both(l, BORG_FMUL, large, root));
}

borg_inst *borg_lower_complex(borg_lowerer *l, borg_builtin builtin, borg_inst *const *args) {
    if (builtin == BORG_B_CMPLX) return borg_lower_pair(l, args[0], args[1]);
    const parts a = take(l, args[0]);
    const borg_type type = args[0]->type;
    switch (builtin) {
    case BORG_B_CREAL:
        return a.re;
    case BORG_B_CIMAG:
        return a.im;
    case BORG_B_CONJ:
        return borg_lower_pair(l, a.re, borg_lower_elem(l, BORG_FNEG, type, a.im, NULL, NULL));
    default:
        break;
    }
    borg_inst *x = borg_lower_elem(l, BORG_FABS, type, a.re, NULL, NULL);
    borg_inst *y = borg_lower_elem(l, BORG_FABS, type, a.im, NULL, NULL);
    return builtin == BORG_B_CABS1 ? both(l, BORG_FADD, x, y) : absolute(l, x, y);
}
