/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of built-in functions. */
#include "borg/check.h"
#include <string.h>

static const struct {
    const char *name;
    borg_builtin builtin;
    int least, most;
} builtins[] = {
    {"get_local_id", BORG_B_LOCAL_ID, 0, 1},
    {"get_local_size", BORG_B_LOCAL_SIZE, 0, 1},
    {"get_group_id", BORG_B_GROUP_ID, 0, 1},
    {"get_global_id", BORG_B_GLOBAL_ID, 0, 1},
    {"sqrt", BORG_B_SQRT, 1, 1},
    {"rcp", BORG_B_RCP, 1, 1},
    {"fabs", BORG_B_FABS, 1, 1},
    {"abs", BORG_B_ABS, 1, 1},
    {"fma", BORG_B_FMA, 3, 3},
    {"floor", BORG_B_FLOOR, 1, 1},
    {"exp", BORG_B_EXP, 1, 1},
    {"log", BORG_B_LOG, 1, 1},
    {"pow", BORG_B_POW, 2, 2},
    {"max", BORG_B_MAX, 2, 2},
    {"min", BORG_B_MIN, 2, 2},
    {"isnan", BORG_B_ISNAN, 1, 1},
    {"magnitude", BORG_B_MAGNITUDE, 1, 1},
    {"shuffle", BORG_B_SHUFFLE, 2, 2},
    {"shuffle_down", BORG_B_SHUFFLE_DOWN, 2, 2},
    {"shuffle_up", BORG_B_SHUFFLE_UP, 2, 2},
    {"shuffle_xor", BORG_B_SHUFFLE_XOR, 2, 2},
    {"mma8x8x4", BORG_B_MMA, 4, 4},
    {"work_group_reduce_sum", BORG_B_SUM, 1, 1},
    {"work_group_reduce_add", BORG_B_SUM, 1, 1},
    {"work_group_reduce_max", BORG_B_RMAX, 1, 1},
    {"work_group_reduce_min", BORG_B_RMIN, 1, 1},
    {"work_group_reduce_max_index", BORG_B_RMAXIDX, 1, 1},
    {"any", BORG_B_ANY, 1, 1},
    {"work_group_any", BORG_B_ANY, 1, 1},
    {"all", BORG_B_ALL, 1, 1},
    {"work_group_all", BORG_B_ALL, 1, 1},
    {"barrier", BORG_B_BARRIER, 0, 1},
    {"CMPLX", BORG_B_CMPLX, 2, 2},
    {"creal", BORG_B_CREAL, 1, 1},
    {"cimag", BORG_B_CIMAG, 1, 1},
    {"conj", BORG_B_CONJ, 1, 1},
    {"cabs", BORG_B_CABS, 1, 1},
    {"cabs1", BORG_B_CABS1, 1, 1},
    {"convert_char", BORG_B_CONVERT, 1, 1},
    {"convert_uchar", BORG_B_CONVERT, 1, 1},
    {"convert_short", BORG_B_CONVERT, 1, 1},
    {"convert_ushort", BORG_B_CONVERT, 1, 1},
    {"convert_half", BORG_B_CONVERT, 1, 1},
    {"convert_int", BORG_B_CONVERT, 1, 1},
    {"convert_uint", BORG_B_CONVERT, 1, 1},
    {"convert_long", BORG_B_CONVERT, 1, 1},
    {"convert_ulong", BORG_B_CONVERT, 1, 1},
    {"convert_float", BORG_B_CONVERT, 1, 1},
    {"convert_double", BORG_B_CONVERT, 1, 1},
};

static bool is_shuffle(borg_builtin b) {
    return b >= BORG_B_SHUFFLE && b <= BORG_B_SHUFFLE_XOR;
}

static void to_float(borg_checker *c, borg_expr *e, borg_ctype t) {
    t = borg_ctype_promote(t);
    if (!borg_ctype_float(t)) t = BORG_C_DOUBLE;
    if (borg_ctype_complex(t)) t = e->args[0]->type;
    for (int32_t i = 0; i < e->nargs; ++i) e->args[i] = borg_check_cast(c, e->args[i], t);
    e->type = t;
}

/* Of complex values, or real ones, which are complex without an imaginary part. */
static void check_complex(borg_checker *c, borg_expr *e, borg_ctype t) {
    t = borg_ctype_promote(t);
    if (!borg_ctype_float(t)) t = BORG_C_DOUBLE;
    if (e->builtin == BORG_B_CMPLX) {
        for (int32_t i = 0; i < 2; ++i) e->args[i] = borg_check_cast(c, e->args[i], t);
        e->type = borg_ctype_common(BORG_C_CFLOAT, t);
        return;
    }
    t = borg_ctype_common(BORG_C_CFLOAT, t);
    e->args[0] = borg_check_cast(c, e->args[0], t);
    e->type = e->builtin == BORG_B_CONJ ? t : borg_ctype_part(t);
}

/* What has a meaning for complex values. */
static bool takes_complex(borg_builtin builtin) {
    return builtin == BORG_B_SHUFFLE || builtin == BORG_B_RCP || builtin == BORG_B_SUM ||
           builtin == BORG_B_ANY || builtin == BORG_B_ALL ||
           (builtin > BORG_B_CMPLX && builtin <= BORG_B_CABS1);
}

static void check_arguments(borg_checker *c, borg_expr *e, size_t index) {
    e->builtin = builtins[index].builtin;
    e->type = BORG_C_INT;
    if (e->nargs < builtins[index].least || e->nargs > builtins[index].most) {
        borg_check_complain(c, e->loc, "wrong number of arguments of '%s'", e->text);
        return;
    }
    if (e->builtin ==
        BORG_B_BARRIER) { /* barrier's flags are OpenCL's; which they are does not matter */
        e->type = BORG_C_VOID;
        e->nargs = 0;
        return;
    }
    borg_ctype t = BORG_C_BOOL;
    for (int32_t i = 0; i < e->nargs; ++i) {
        borg_check_value(c, e->args[i]);
        if (!(is_shuffle(e->builtin) && i == 1) && !(e->builtin == BORG_B_MMA && i == 3))
            t = e->args[i]->type > t ? e->args[i]->type : t;
    }
    int64_t zero;
    for (int32_t i = 0; i < e->nargs; ++i)
        if (borg_ctype_complex(e->args[i]->type) && !takes_complex(e->builtin)) {
            borg_check_complain(c, e->args[i]->loc, "'%s' is not for complex values", e->text);
            return;
        }
    switch (e->builtin) {
    case BORG_B_CMPLX:
    case BORG_B_CREAL:
    case BORG_B_CIMAG:
    case BORG_B_CONJ:
    case BORG_B_CABS:
    case BORG_B_CABS1:
        check_complex(c, e, t);
        return;
    case BORG_B_LOCAL_ID:
    case BORG_B_LOCAL_SIZE:
    case BORG_B_GROUP_ID:
    case BORG_B_GLOBAL_ID:
        if (e->nargs && !(borg_constant(e->args[0], c->size, &zero) && zero == 0))
            borg_check_complain(c, e->loc, "'%s': there is one dimension, 0", e->text);
        e->nargs = 0;
        e->type = e->builtin == BORG_B_GROUP_ID || e->builtin == BORG_B_GLOBAL_ID ? BORG_C_LONG
                                                                                  : BORG_C_INT;
        return;
    case BORG_B_SQRT:
    case BORG_B_RCP:
    case BORG_B_FABS:
    case BORG_B_FMA:
    case BORG_B_FLOOR:
    case BORG_B_EXP:
    case BORG_B_LOG:
    case BORG_B_POW:
        to_float(c, e, t);
        return;
    case BORG_B_MAGNITUDE:
        to_float(c, e, t);
        e->type = BORG_C_UINT;
        return;
    case BORG_B_ISNAN:
        to_float(c, e, t);
        e->type = BORG_C_BOOL;
        return;
    case BORG_B_SHUFFLE:
    case BORG_B_SHUFFLE_DOWN:
    case BORG_B_SHUFFLE_UP:
    case BORG_B_SHUFFLE_XOR:
        if (borg_ctype_float(e->args[1]->type))
            borg_check_complain(c, e->args[1]->loc, "%s", "the lane of a shuffle is an integer");
        e->args[1] = borg_check_cast(c, e->args[1], BORG_C_INT);
        e->type = t;
        return;
    case BORG_B_MMA:
        --e->nargs;
        to_float(c, e, t);
        ++e->nargs;
        if (borg_ctype_float(e->args[3]->type))
            borg_check_complain(c, e->args[3]->loc, "%s",
                                "the last argument of 'mma8x8x4' is an integer");
        e->args[3] = borg_check_cast(c, e->args[3], BORG_C_INT);
        return;
    case BORG_B_ANY:
    case BORG_B_ALL:
        e->args[0] = borg_check_cast(c, e->args[0], BORG_C_BOOL);
        e->type = BORG_C_BOOL;
        return;
    case BORG_B_CONVERT: {
        e->kind = BORG_E_CAST;
        for (borg_ctype to = BORG_C_CHAR; to <= BORG_C_DOUBLE; ++to)
            if (strcmp(e->text + 8, borg_ctype_text(to)) == 0) e->type = to;
        return;
    }
    default: /* abs, max, min, reductions: in the arguments' common type */
        t = borg_ctype_promote(t);
        for (int32_t i = 0; i < e->nargs; ++i) e->args[i] = borg_check_cast(c, e->args[i], t);
        e->type = e->builtin == BORG_B_RMAXIDX ? BORG_C_INT : t;
        return;
    }
}

bool borg_check_word(borg_expr *e) {
    static const struct {
        const char *word, *call;
        borg_builtin builtin;
    } words[] = {{"tid", "get_local_id", BORG_B_LOCAL_ID},
                 {"wid", "get_group_id", BORG_B_GROUP_ID},
                 {"ntids", "get_local_size", BORG_B_LOCAL_SIZE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        if (strcmp(words[i].word, e->text) != 0) continue;
        e->kind = BORG_E_CALL;
        e->text = words[i].call;
        e->builtin = words[i].builtin;
        e->type = e->builtin == BORG_B_GROUP_ID ? BORG_C_LONG : BORG_C_INT;
        return true;
    }
    return false;
}

bool borg_check_builtin(borg_checker *c, borg_expr *e) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; ++i) {
        if (strcmp(builtins[i].name, e->text) != 0) continue;
        check_arguments(c, e, i);
        return true;
    }
    return false;
}
