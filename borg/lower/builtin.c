/* SPDX-License-Identifier: BSD-3-Clause */
/* Built-in functions on values. */
#include "borg/lower/leaves.h"

static void require_all(borg_lowerer *l, const borg_expr *e) {
    if (!l->mask || l->mask->spread < BORG_WI) return;
    borg_report(l->diags, BORG_ERROR, e->loc,
                "'%s' under a condition that differs between the work-items of a group: those that "
                "do not get here cannot take part",
                e->text);
}

static borg_inst *local_id(borg_lowerer *l) {
    uint64_t bits[BORG_MAX_SIZE];
    for (int32_t w = 0; w < l->m->size; ++w) bits[w] = (uint64_t)w;
    return borg_emit_table(&l->b, BORG_I32, BORG_WI, 1, bits);
}

/* The work-item that is `by` further, before, or of the other bits; where there is none, its own.
 */
static borg_inst *partner(borg_lowerer *l, borg_builtin how, borg_inst *by) {
    borg_inst *own = local_id(l), *to, *there;
    borg_inst *size = borg_lower_int(l, l->m->size);
    borg_op op = how == BORG_B_SHUFFLE_DOWN ? BORG_ADD
                 : how == BORG_B_SHUFFLE_UP ? BORG_SUB
                                            : BORG_XOR;
    to = borg_lower_elem(l, op, BORG_I32, own, by, NULL);
    if (how == BORG_B_SHUFFLE_DOWN) /* no sum that may wrap is compared */
        there = borg_lower_cmp(l, BORG_ICMP, BORG_LT, true, by,
                               borg_lower_elem(l, BORG_SUB, BORG_I32, size, own, NULL));
    else if (how == BORG_B_SHUFFLE_UP)
        there = borg_lower_cmp(l, BORG_ICMP, BORG_LE, true, by, own);
    else
        there = borg_lower_cmp(l, BORG_ICMP, BORG_LT, true, to, size);
    return borg_lower_elem(l, BORG_SELECT, BORG_I32, there, to, own);
}

/* Under a condition, too: all lanes of a group are there, and give what they hold. */
static borg_inst *lower_shuffle(borg_lowerer *l, const borg_expr *e, borg_inst *const *args) {
    borg_inst *x = args[0], *lane = args[1];
    if (x->spread < BORG_WI) return x; /* the same for all */
    if (e->builtin != BORG_B_SHUFFLE)
        lane = partner(l, e->builtin, lane);
    else
        lane =
            borg_lower_elem(l, BORG_UMIN, BORG_I32, lane, borg_lower_int(l, l->m->size - 1), NULL);
    int32_t rows = x->rows > lane->rows ? x->rows : lane->rows;
    borg_spread spread = lane->spread == BORG_WI ? BORG_WI : BORG_WG;
    x = borg_lower_unify(l, x, BORG_WI, rows);
    lane = borg_lower_unify(l, lane, spread, rows);
    borg_inst *v = borg_emit(&l->b, BORG_SHUFV, x->type, spread, rows, 2);
    v->args[0] = x;
    v->args[1] = lane;
    return borg_lower_simplify(l, v);
}

/* row -1: all rows */
static borg_inst *one_mma(borg_lowerer *l, borg_inst *const *x, int32_t row, int32_t half) {
    borg_inst *args[3];
    for (int i = 0; i < 3; ++i)
        args[i] = row < 0 ? x[i] : borg_lower_simplify(l, borg_emit_rows(&l->b, 1, &x[i], &row));
    borg_inst *v = borg_emit(&l->b, BORG_MMA, args[0]->type, BORG_WI, args[0]->rows, 3);
    for (int i = 0; i < 3; ++i) v->args[i] = args[i];
    v->index = half;
    return v;
}

/* While a loop runs as vectors the half may be another one in each row. */
static borg_inst *lower_mma(borg_lowerer *l, const borg_expr *e, borg_inst *const *args) {
    borg_inst *x[4];
    int32_t rows = 1;
    require_all(l, e);
    for (int i = 0; i < 4; ++i) x[i] = args[i];
    for (int i = 0; i < 4; ++i) rows = x[i]->rows > rows ? x[i]->rows : rows;
    if (l->m->size != 32) {
        borg_report(l->diags, BORG_ERROR, e->loc, "'%s' is for WG_SIZE 32", e->text);
        return x[2];
    }
    bool good = x[3]->op == BORG_CONST && x[3]->spread == BORG_UNI;
    for (int32_t r = 0; good && r < x[3]->rows; ++r) good = borg_const_bits(l->m, x[3], r, 0) <= 1;
    if (!good) {
        borg_report(l->diags, BORG_ERROR, e->args[3]->loc,
                    "the last argument of '%s' is the constant 0 or 1", e->text);
        return x[2];
    }
    for (int i = 0; i < 3; ++i) x[i] = borg_lower_unify(l, x[i], BORG_WI, rows);
    if (borg_is_splat(x[3])) return one_mma(l, x, -1, (int32_t)x[3]->bits[0]);
    borg_inst **each = BORG_NEW(l->arena, rows, borg_inst *);
    int32_t *map = BORG_NEW(l->arena, rows, int32_t);
    for (int32_t r = 0; r < rows; ++r)
        each[r] = one_mma(l, x, r, (int32_t)borg_const_bits(l->m, x[3], r, 0));
    return borg_lower_simplify(l, borg_emit_rows(&l->b, rows, each, map));
}

static borg_inst *lower_reduce(borg_lowerer *l, const borg_expr *e, borg_inst *const *args) {
    static const struct {
        borg_builtin builtin;
        borg_op op;
    } ops[] = {{BORG_B_SUM, BORG_RSUM},        {BORG_B_RMAX, BORG_RMAX}, {BORG_B_RMIN, BORG_RMIN},
               {BORG_B_RMAXIDX, BORG_RMAXIDX}, {BORG_B_ANY, BORG_ANY},   {BORG_B_ALL, BORG_ALL}};
    require_all(l, e);
    borg_inst *x = args[0];
    bool logical = e->builtin == BORG_B_ANY || e->builtin == BORG_B_ALL;
    if (logical && x->spread < BORG_WI) return x;
    x = borg_lower_unify(l, x, BORG_WI, x->rows);
    borg_op op = BORG_RSUM;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
        if (ops[i].builtin == e->builtin) op = ops[i].op;
    borg_inst *v =
        borg_emit(&l->b, op, op == BORG_RMAXIDX ? BORG_I32 : x->type, BORG_WG, x->rows, 1);
    v->args[0] = x;
    v->uns = borg_is_int(x->type) && op != BORG_RSUM && borg_ctype_unsigned(e->args[0]->type);
    return borg_lower_simplify(l, v);
}

static borg_inst *lower_max(borg_lowerer *l, const borg_expr *e, borg_inst *const *args) {
    borg_inst *x = args[0], *y = args[1];
    bool most = e->builtin == BORG_B_MAX, uns = borg_ctype_unsigned(e->type);
    borg_op op = borg_is_float(x->type) ? (most ? BORG_FMAX : BORG_FMIN)
                 : uns                  ? (most ? BORG_UMAX : BORG_UMIN)
                                        : (most ? BORG_SMAX : BORG_SMIN);
    return borg_lower_elem(l, op, x->type, x, y, NULL);
}

static borg_inst *global_id(borg_lowerer *l) {
    borg_inst *group = borg_emit(&l->b, BORG_GID, BORG_I64, BORG_WG, 1, 0);
    group = borg_lower_elem(l, BORG_MUL, BORG_I64, group,
                            borg_lower_const(l, BORG_I64, (uint64_t)l->m->size), NULL);
    borg_inst *item = borg_lower_elem(l, BORG_ZEXT, BORG_I64, local_id(l), NULL, NULL);
    return borg_lower_elem(l, BORG_ADD, BORG_I64, group, item, NULL);
}

borg_inst *borg_lower_builtin(borg_lowerer *l, const borg_expr *e, borg_inst *const *args) {
    borg_inst *x;
    switch (e->builtin) {
    case BORG_B_LOCAL_ID:
        return local_id(l);
    case BORG_B_LOCAL_SIZE:
        return borg_lower_int(l, l->m->size);
    case BORG_B_GROUP_ID:
        return borg_emit(&l->b, BORG_GID, BORG_I64, BORG_WG, 1, 0);
    case BORG_B_GLOBAL_ID:
        return global_id(l);
    case BORG_B_FLOOR:
    case BORG_B_EXP:
    case BORG_B_LOG:
    case BORG_B_POW:
        return borg_lower_math(l, e->builtin, args[0], e->nargs > 1 ? args[1] : NULL);
    case BORG_B_CMPLX:
    case BORG_B_CREAL:
    case BORG_B_CIMAG:
    case BORG_B_CONJ:
    case BORG_B_CABS:
    case BORG_B_CABS1:
        return borg_lower_complex(l, e->builtin, args);
    case BORG_B_MAX:
    case BORG_B_MIN:
        return lower_max(l, e, args);
    case BORG_B_SHUFFLE:
    case BORG_B_SHUFFLE_DOWN:
    case BORG_B_SHUFFLE_UP:
    case BORG_B_SHUFFLE_XOR:
        return lower_shuffle(l, e, args);
    case BORG_B_MMA:
        return lower_mma(l, e, args);
    case BORG_B_SUM:
    case BORG_B_RMAX:
    case BORG_B_RMIN:
    case BORG_B_RMAXIDX:
    case BORG_B_ANY:
    case BORG_B_ALL:
        return lower_reduce(l, e, args);
    case BORG_B_BARRIER:
        require_all(l, e);
        borg_emit(&l->b, BORG_BARRIER, BORG_VOID, BORG_UNI, 0, 0);
        return NULL;
    default:
        break;
    }
    x = args[0];
    switch (e->builtin) {
    case BORG_B_SQRT:
        return borg_lower_elem(l, BORG_SQRT, x->type, x, NULL, NULL);
    case BORG_B_RCP:
        if (borg_ctype_complex(e->type))
            return borg_lower_arithmetic(
                l, "/", e->type, borg_lower_convert(l, borg_lower_int(l, 1), BORG_C_INT, e->type),
                x);
        return borg_lower_elem(l, BORG_RCP, x->type, x, NULL, NULL);
    case BORG_B_FABS:
        return borg_lower_elem(l, BORG_FABS, x->type, x, NULL, NULL);
    case BORG_B_ABS:
        if (borg_ctype_unsigned(e->type)) return x;
        return borg_lower_elem(l, borg_is_float(x->type) ? BORG_FABS : BORG_ABS, x->type, x, NULL,
                               NULL);
    case BORG_B_MAGNITUDE:
        return borg_lower_elem(l, BORG_MAGNITUDE, BORG_I32, x, NULL, NULL);
    case BORG_B_ISNAN:
        return borg_lower_cmp(l, BORG_FCMP, BORG_NE, false, x, x);
    default:
        return borg_lower_elem(l, BORG_FMA, x->type, x, args[1], args[2]);
    }
}
