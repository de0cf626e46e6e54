/* SPDX-License-Identifier: BSD-3-Clause */
/* The language by its page, run on the tree: all work-items of one group in lockstep, each with its
 * own values. Shares nothing with lowering, passes and the interpreter of the IR, which it judges.
 */
#ifndef BORG_TESTS_REFERENCE_H
#define BORG_TESTS_REFERENCE_H
#include <math.h>
#include <string.h>
#include "borg/ast.h"

enum { REF_ITEMS = 32, REF_VARS = 512 };

typedef struct ref_value { /* integers sign- or zero-extended by their type; floats as double */
    int64_t i[REF_ITEMS];
    double d[REF_ITEMS];
} ref_value;

typedef struct reference {
    borg_arena *arena;
    int n;
    int64_t group;
    ref_value *vars[REF_VARS]; /* elements of each variable, by decl number */
    void *pointers[REF_VARS];  /* parameters */
    int64_t lengths[REF_VARS];
    int32_t counts[REF_VARS]; /* elements of an array */
    bool here[REF_ITEMS], broken[REF_ITEMS], skipped[REF_ITEMS];
    int64_t steps;
    const char *
        wrong; /* what the program does at run time is not defined by the language: it is no test */
} reference;

static ref_value ref_expr(reference *r, const borg_expr *e);

static int64_t ref_wrap(borg_ctype t, int64_t x) {
    switch (t) {
    case BORG_C_BOOL:
        return x != 0;
    case BORG_C_INT:
        return (int32_t)(uint32_t)(uint64_t)x;
    case BORG_C_UINT:
        return (int64_t)(uint32_t)(uint64_t)x;
    default:
        return x;
    }
}

static int64_t ref_truncate(double x, borg_ctype t) {
    if (isnan(x)) return 0;
    switch (t) {
    case BORG_C_INT:
        return x <= -2147483648.0 ? INT32_MIN : x >= 2147483647.0 ? INT32_MAX : (int64_t)x;
    case BORG_C_UINT:
        return x <= 0 ? 0 : x >= 4294967295.0 ? UINT32_MAX : (int64_t)x;
    case BORG_C_LONG:
        return x <= -9223372036854775808.0  ? INT64_MIN
               : x >= 9223372036854775808.0 ? INT64_MAX
                                            : (int64_t)x;
    default:
        return x <= 0 ? 0 : x >= 18446744073709551616.0 ? -1 : (int64_t)(uint64_t)x;
    }
}

static double ref_round(borg_ctype t, double x) {
    return t == BORG_C_FLOAT ? (float)x : x;
}

static ref_value ref_convert(const reference *r, ref_value v, borg_ctype from, borg_ctype to) {
    for (int w = 0; w < r->n; ++w) {
        if (borg_ctype_float(from) && borg_ctype_float(to)) {
            v.d[w] = ref_round(to, v.d[w]);
        } else if (borg_ctype_float(from)) {
            v.i[w] = to == BORG_C_BOOL ? v.d[w] != 0 : ref_truncate(v.d[w], to);
        } else if (to == BORG_C_FLOAT) {
            v.d[w] = from == BORG_C_ULONG ? (float)(uint64_t)v.i[w] : (float)v.i[w];
        } else if (to == BORG_C_DOUBLE) {
            v.d[w] = from == BORG_C_ULONG ? (double)(uint64_t)v.i[w] : (double)v.i[w];
        } else {
            v.i[w] = ref_wrap(to, v.i[w]);
        }
    }
    return v;
}

static int64_t ref_integer(const char *op, borg_ctype t, int64_t a, int64_t b) {
    bool uns = t == BORG_C_UINT || t == BORG_C_ULONG;
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    int width = t == BORG_C_INT || t == BORG_C_UINT ? 31 : 63;
    switch (op[0]) {
    case '+':
        return ref_wrap(t, (int64_t)(x + y));
    case '-':
        return ref_wrap(t, (int64_t)(x - y));
    case '*':
        return ref_wrap(t, (int64_t)(x * y));
    case '/':
        if (b == 0) return 0;
        if (uns) return ref_wrap(t, (int64_t)(x / y));
        return b == -1 ? ref_wrap(t, (int64_t)(0 - x)) : a / b;
    case '%':
        if (b == 0) return a;
        if (uns) return ref_wrap(t, (int64_t)(x % y));
        return b == -1 ? 0 : a % b;
    case '&':
        return a & b;
    case '|':
        return a | b;
    case '^':
        return a ^ b;
    case '<':
        return ref_wrap(t, (int64_t)(x << (b & width)));
    default:
        return uns ? (int64_t)(x >> (b & width)) : a >> (b & width);
    }
}

static double ref_real(const char *op, borg_ctype t, double a, double b) {
    if (t == BORG_C_FLOAT) {
        float x = (float)a, y = (float)b;
        return op[0] == '+' ? x + y : op[0] == '-' ? x - y : op[0] == '*' ? x * y : x / y;
    }
    return op[0] == '+' ? a + b : op[0] == '-' ? a - b : op[0] == '*' ? a * b : a / b;
}

#define REF_COMPARE(op, x, y)                                                                      \
    ((op)[0] == '='   ? (x) == (y)                                                                 \
     : (op)[0] == '!' ? (x) != (y)                                                                 \
     : (op)[0] == '<' ? ((op)[1] ? (x) <= (y) : (x) < (y))                                         \
                      : ((op)[1] ? (x) >= (y) : (x) > (y)))

static bool ref_comparison(const char *t) {
    return ((t[0] == '<' || t[0] == '>') && t[1] != t[0]) || t[0] == '=' || t[0] == '!';
}

static ref_value ref_binary(const reference *r, const char *op, borg_ctype t, ref_value a,
                            ref_value b) {
    ref_value v = a;
    for (int w = 0; w < r->n; ++w) {
        if (ref_comparison(op)) {
            v.i[w] = borg_ctype_float(t) ? REF_COMPARE(op, a.d[w], b.d[w])
                     : t == BORG_C_ULONG ? REF_COMPARE(op, (uint64_t)a.i[w], (uint64_t)b.i[w])
                                         : REF_COMPARE(op, a.i[w], b.i[w]);
        } else if (borg_ctype_float(t)) {
            v.d[w] = ref_real(op, t, a.d[w], b.d[w]);
        } else {
            v.i[w] = ref_integer(op, t, a.i[w], b.i[w]);
        }
    }
    return v;
}

/* ---- places ---------------------------------------------------------------------------------- */

static int64_t ref_index(reference *r, const borg_decl *d, int64_t at) {
    if (at >= 0 && at < r->counts[d->number]) return at;
    r->wrong = "index";
    return 0;
}

/* An array of the group: kept in item 0. */
static bool ref_shared(const borg_decl *d) {
    return d->storage == BORG_LOCAL_REGISTERS || d->storage == BORG_LOCAL_MEMORY;
}

static ref_value ref_load(reference *r, const borg_expr *e, const ref_value *index) {
    const borg_decl *d = e->decl;
    ref_value v;
    memset(&v, 0, sizeof v);
    for (int w = 0; w < r->n; ++w) {
        if (d->storage == BORG_PARAMETER && d->depth) {
            if (!r->here[w]) continue;
            int64_t at = index->i[w];
            if (at < 0 || at >= r->lengths[d->number]) {
                r->wrong = "memory";
                continue;
            }
            const void *p = r->pointers[d->number];
            if (d->type == BORG_C_DOUBLE) v.d[w] = ((const double *)p)[at];
            if (d->type == BORG_C_FLOAT) v.d[w] = ((const float *)p)[at];
            if (d->type == BORG_C_INT) v.i[w] = ((const int32_t *)p)[at];
            continue;
        }
        const ref_value *element = r->vars[d->number];
        if (index && r->here[w]) element += ref_index(r, d, index->i[w]);
        int from = ref_shared(d) ? 0 : w;
        v.i[w] = element->i[from];
        v.d[w] = element->d[from];
    }
    return v;
}

static void ref_store(reference *r, const borg_expr *e, const ref_value *index, ref_value v) {
    const borg_decl *d = e->decl;
    for (int w = 0; w < r->n; ++w) {
        if (!r->here[w]) continue;
        if (d->storage == BORG_PARAMETER && d->depth) {
            int64_t at = index->i[w];
            if (at < 0 || at >= r->lengths[d->number]) {
                r->wrong = "memory";
                continue;
            }
            void *p = r->pointers[d->number];
            if (d->type == BORG_C_DOUBLE) ((double *)p)[at] = v.d[w];
            if (d->type == BORG_C_FLOAT) ((float *)p)[at] = (float)v.d[w];
            if (d->type == BORG_C_INT) ((int32_t *)p)[at] = (int32_t)v.i[w];
            continue;
        }
        ref_value *element = r->vars[d->number];
        if (index) element += ref_index(r, d, index->i[w]);
        int to = ref_shared(d) ? 0 : w;
        element->i[to] = v.i[w];
        element->d[to] = v.d[w];
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void ref_block(reference *r, const borg_stmt *s);

static void ref_all_or_none(reference *r) {
    for (int w = 1; w < r->n; ++w)
        if (r->here[w] != r->here[0]) r->wrong = "divergent";
}

static ref_value ref_sum(const reference *r, borg_ctype t, ref_value v) {
    int half = 1;
    while (2 * half < r->n) half *= 2;
    for (; half >= 1; half /= 2)
        for (int w = 0; w < half && w + half < r->n; ++w) {
            v.d[w] = ref_real("+", t, v.d[w], v.d[w + half]);
            v.i[w] = ref_wrap(t, (int64_t)((uint64_t)v.i[w] + (uint64_t)v.i[w + half]));
        }
    for (int w = 1; w < r->n; ++w) v.d[w] = v.d[0], v.i[w] = v.i[0];
    return v;
}

static ref_value ref_extreme(const reference *r, borg_builtin b, borg_ctype t, ref_value v) {
    bool least = b == BORG_B_RMIN;
    int best = 0;
    if (borg_ctype_float(t))
        for (int w = 0; w < r->n; ++w)
            if (isnan(v.d[w])) v.d[w] = least ? INFINITY : -INFINITY;
    for (int w = 1; w < r->n; ++w) {
        bool more = borg_ctype_float(t) ? (least ? v.d[w] < v.d[best] : v.d[w] > v.d[best])
                    : t == BORG_C_ULONG ? (least ? (uint64_t)v.i[w] < (uint64_t)v.i[best]
                                                 : (uint64_t)v.i[w] > (uint64_t)v.i[best])
                                        : (least ? v.i[w] < v.i[best] : v.i[w] > v.i[best]);
        if (more) best = w;
    }
    for (int w = 0; w < r->n; ++w) {
        if (w != best) v.d[w] = v.d[best], v.i[w] = v.i[best];
    }
    if (b == BORG_B_RMAXIDX)
        for (int w = 0; w < r->n; ++w) v.i[w] = best;
    return v;
}

static ref_value ref_builtin(reference *r, const borg_expr *e) {
    ref_value a[3], v;
    memset(&v, 0, sizeof v);
    memset(a, 0, sizeof a);
    bool group = e->builtin >= BORG_B_SHUFFLE && e->builtin <= BORG_B_BARRIER;
    if (group) ref_all_or_none(r);
    for (int i = 0; i < e->nargs && i < 3; ++i) a[i] = ref_expr(r, e->args[i]);
    borg_ctype t = e->nargs ? e->args[0]->type : BORG_C_INT;
    bool single = t == BORG_C_FLOAT, uns = t == BORG_C_ULONG;
    if (e->builtin == BORG_B_SUM) return ref_sum(r, t, a[0]);
    if (e->builtin >= BORG_B_RMAX && e->builtin <= BORG_B_RMAXIDX)
        return ref_extreme(r, e->builtin, t, a[0]);
    bool any = false, all = true;
    for (int w = 0; w < r->n; ++w) any = any || a[0].i[w], all = all && a[0].i[w];
    for (int w = 0; w < r->n; ++w) {
        double x = a[0].d[w], y = a[1].d[w];
        int64_t i = a[0].i[w], j = a[1].i[w];
        bool less = borg_ctype_float(t) ? x < y : uns ? (uint64_t)i < (uint64_t)j : i < j;
        bool more = borg_ctype_float(t) ? y < x : uns ? (uint64_t)j < (uint64_t)i : j < i;
        switch (e->builtin) {
        case BORG_B_LOCAL_ID:
            v.i[w] = w;
            break;
        case BORG_B_LOCAL_SIZE:
            v.i[w] = r->n;
            break;
        case BORG_B_GROUP_ID:
            v.i[w] = r->group;
            break;
        case BORG_B_GLOBAL_ID:
            v.i[w] = r->group * r->n + w;
            break;
        case BORG_B_FLOOR:
            v.d[w] = floor(x);
            break;
        case BORG_B_SQRT:
            v.d[w] = single ? sqrtf((float)x) : sqrt(x);
            break;
        case BORG_B_RCP:
            v.d[w] = single ? 1.0f / (float)x : 1.0 / x;
            break;
        case BORG_B_FABS:
            v.d[w] = fabs(x);
            break;
        case BORG_B_ABS:
            v.d[w] = fabs(x);
            v.i[w] = ref_wrap(e->type, i < 0 && !uns ? (int64_t)(0 - (uint64_t)i) : i);
            break;
        case BORG_B_FMA:
            v.d[w] = single ? fmaf((float)x, (float)y, (float)a[2].d[w]) : fma(x, y, a[2].d[w]);
            break;
        case BORG_B_MAX:
            v.d[w] = less ? y : x, v.i[w] = less ? j : i;
            break;
        case BORG_B_MIN:
            v.d[w] = more ? y : x, v.i[w] = more ? j : i;
            break;
        case BORG_B_MAGNITUDE: {
            uint64_t wide;
            uint32_t narrow;
            float f = (float)x;
            memcpy(&wide, &x, sizeof wide);
            memcpy(&narrow, &f, sizeof narrow);
            v.i[w] = (e->args[0]->type == BORG_C_FLOAT ? narrow : (uint32_t)(wide >> 32)) &
                     UINT32_C(0x7fffffff);
            break;
        }
        case BORG_B_ISNAN:
            v.i[w] = isnan(x);
            break;
        case BORG_B_SHUFFLE: {
            uint32_t lane = (uint32_t)(uint64_t)j;
            if (lane >= (uint32_t)r->n) lane = (uint32_t)r->n - 1;
            v.d[w] = a[0].d[lane];
            v.i[w] = a[0].i[lane];
            break;
        }
        case BORG_B_ANY:
            v.i[w] = any;
            break;
        case BORG_B_ALL:
            v.i[w] = all;
            break;
        default:
            break;
        }
    }
    return v;
}

static ref_value *ref_room(reference *r, const borg_decl *d) {
    if (d->number >= REF_VARS) {
        static ref_value nowhere[BORG_MAX_ROWS];
        r->wrong = "variables";
        return nowhere;
    }
    if (!r->vars[d->number]) r->vars[d->number] = BORG_NEW(r->arena, d->count, ref_value);
    r->counts[d->number] = d->count;
    return r->vars[d->number];
}

/* An array parameter is the argument. */
static void ref_alias(reference *r, const borg_decl *d, const borg_decl *from) {
    if (d->number >= REF_VARS || from->number >= REF_VARS) {
        r->wrong = "variables";
        return;
    }
    r->vars[d->number] = r->vars[from->number];
    r->counts[d->number] = r->counts[from->number];
    r->pointers[d->number] = r->pointers[from->number];
    r->lengths[d->number] = r->lengths[from->number];
}

static ref_value ref_call(reference *r, const borg_expr *e) {
    const borg_function *f = e->function;
    ref_value a[24], v;
    bool broken[REF_ITEMS], skipped[REF_ITEMS];
    memset(&v, 0, sizeof v);
    int i = 0;
    for (const borg_decl *d = f->params; d; d = d->next, ++i)
        if (!d->alias) a[i] = ref_expr(r, e->args[i]);
    i = 0;
    for (const borg_decl *d = f->params; d; d = d->next, ++i) {
        if (d->alias) {
            ref_alias(r, d, e->args[i]->decl);
        } else {
            ref_room(r, d)[0] = a[i];
        }
    }
    memcpy(broken, r->broken, sizeof broken);
    memcpy(skipped, r->skipped, sizeof skipped);
    for (const borg_stmt *s = f->body->body; s; s = s->next) {
        if (s->kind == BORG_S_RETURN && s->expr) {
            v = ref_expr(r, s->expr);
        } else {
            borg_stmt one = *s;
            one.next = NULL;
            ref_block(r, &one);
        }
    }
    memcpy(r->broken, broken, sizeof broken);
    memcpy(r->skipped, skipped, sizeof skipped);
    return v;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void ref_keep(reference *r, bool *saved, const ref_value *c, bool wanted) {
    memcpy(saved, r->here, sizeof r->here);
    for (int w = 0; w < r->n; ++w) r->here[w] = r->here[w] && (c->i[w] != 0) == wanted;
}

static ref_value ref_choose(reference *r, const borg_expr *e) {
    bool saved[REF_ITEMS];
    ref_value c = ref_expr(r, e->args[0]), x = c, y = c;
    bool logical = e->kind == BORG_E_LOGICAL, both = logical && e->text[0] == '&';
    if (!logical || both) {
        ref_keep(r, saved, &c, true);
        x = ref_expr(r, e->args[1]);
        memcpy(r->here, saved, sizeof saved);
    }
    if (!logical || !both) {
        ref_keep(r, saved, &c, false);
        y = ref_expr(r, e->args[logical ? 1 : 2]);
        memcpy(r->here, saved, sizeof saved);
    }
    for (int w = 0; w < r->n; ++w)
        if (!c.i[w]) x.i[w] = y.i[w], x.d[w] = y.d[w];
    return x;
}

static ref_value ref_assign(reference *r, const borg_expr *e) {
    const borg_expr *place = e->args[0];
    ref_value index, v, *at = NULL;
    if (place->kind == BORG_E_INDEX) {
        index = ref_expr(r, place->args[0]);
        at = &index;
    }
    if (e->kind == BORG_E_STEP) {
        borg_ctype t = e->type == BORG_C_BOOL ? BORG_C_INT : e->type;
        ref_value old = ref_load(r, place, at), one;
        for (int w = 0; w < REF_ITEMS; ++w) one.i[w] = 1, one.d[w] = 1;
        v = ref_binary(r, e->text, t, old, one);
        v = ref_convert(r, v, t, e->type);
        ref_store(r, place, at, v);
        return e->post ? old : v;
    }
    v = ref_expr(r, e->args[1]);
    if (e->text[1]) {
        borg_ctype t = e->args[1]->type;
        ref_value old = ref_convert(r, ref_load(r, place, at), e->type, t);
        v = ref_convert(r, ref_binary(r, e->text, t, old, v), t, e->type);
    }
    ref_store(r, place, at, v);
    return v;
}

static ref_value ref_expr(reference *r, const borg_expr *e) {
    ref_value v, x;
    memset(&v, 0, sizeof v);
    if (--r->steps < 0) r->wrong = "steps";
    if (r->wrong) return v;
    switch (e->kind) {
    case BORG_E_INT:
        for (int w = 0; w < r->n; ++w) v.i[w] = (int64_t)e->integer;
        return v;
    case BORG_E_FLOAT:
        for (int w = 0; w < r->n; ++w) v.d[w] = ref_round(e->type, e->real);
        return v;
    case BORG_E_NAME:
        return ref_load(r, e, NULL);
    case BORG_E_INDEX:
        x = ref_expr(r, e->args[0]);
        return ref_load(r, e, &x);
    case BORG_E_UNARY:
        v = ref_expr(r, e->args[0]);
        for (int w = 0; w < r->n; ++w) {
            if (e->text[0] == '-') v.d[w] = -v.d[w];
            if (e->text[0] == '-') v.i[w] = ref_wrap(e->type, (int64_t)(0 - (uint64_t)v.i[w]));
            if (e->text[0] == '~') v.i[w] = ref_wrap(e->type, ~v.i[w]);
            if (e->text[0] == '!') v.i[w] = !v.i[w];
        }
        return v;
    case BORG_E_BINARY:
        v = ref_expr(r, e->args[0]);
        x = ref_expr(r, e->args[1]);
        return ref_binary(r, e->text, e->args[0]->type, v, x);
    case BORG_E_LOGICAL:
    case BORG_E_TERNARY:
        return ref_choose(r, e);
    case BORG_E_ASSIGN:
    case BORG_E_STEP:
        return ref_assign(r, e);
    case BORG_E_CAST:
        return ref_convert(r, ref_expr(r, e->args[0]), e->args[0]->type, e->type);
    case BORG_E_CALL:
        return e->function ? ref_call(r, e) : ref_builtin(r, e);
    case BORG_E_COMMA:
        ref_expr(r, e->args[0]);
        return ref_expr(r, e->args[1]);
    default:
        return v;
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void ref_declare(reference *r, const borg_decl *d) {
    ref_value *room = ref_room(r, d);
    for (int i = 0; i < d->count; ++i) {
        ref_value v;
        memset(&v, 0, sizeof v);
        if (d->init && d->init->kind != BORG_E_LIST) v = ref_expr(r, d->init);
        if (d->init && d->init->kind == BORG_E_LIST && i < d->init->nargs)
            v = ref_expr(r, d->init->args[i]);
        room[i] = v;
    }
}

static bool ref_anyone(const reference *r) {
    for (int w = 0; w < r->n; ++w)
        if (r->here[w]) return true;
    return false;
}

static void ref_loop(reference *r, const borg_stmt *s) {
    bool saved[REF_ITEMS], broken[REF_ITEMS], skipped[REF_ITEMS], first = s->kind == BORG_S_DO;
    memcpy(saved, r->here, sizeof saved);
    memcpy(broken, r->broken, sizeof broken);
    memcpy(skipped, r->skipped, sizeof skipped);
    memset(r->broken, 0, sizeof broken);
    if (s->init) ref_block(r, s->init);
    for (;; first = false) {
        memset(r->skipped, 0, sizeof skipped);
        if (!first && s->expr) {
            ref_value c = ref_expr(r, s->expr);
            for (int w = 0; w < r->n; ++w) r->here[w] = r->here[w] && c.i[w];
        }
        if (!ref_anyone(r) || r->wrong) break;
        bool turn[REF_ITEMS];
        memcpy(turn, r->here, sizeof turn);
        ref_block(r, s->body);
        for (int w = 0; w < r->n; ++w) r->here[w] = turn[w] && !r->broken[w];
        if (s->step && ref_anyone(r)) ref_expr(r, s->step);
        if (!ref_anyone(r)) break;
    }
    memcpy(r->here, saved, sizeof saved);
    memcpy(r->broken, broken, sizeof broken);
    memcpy(r->skipped, skipped, sizeof skipped);
}

static void ref_if(reference *r, const borg_stmt *s) {
    bool saved[REF_ITEMS];
    ref_value c = ref_expr(r, s->expr);
    for (int arm = 1; arm >= 0; --arm) {
        const borg_stmt *t = arm ? s->body : s->other;
        ref_keep(r, saved, &c, arm != 0);
        if (t && ref_anyone(r)) ref_block(r, t);
        for (int w = 0; w < r->n; ++w) r->here[w] = saved[w] && !r->broken[w] && !r->skipped[w];
    }
}

static void ref_block(reference *r, const borg_stmt *s) {
    for (; s && !r->wrong; s = s->next) {
        switch (s->kind) {
        case BORG_S_EXPR:
            if (ref_anyone(r)) ref_expr(r, s->expr);
            break;
        case BORG_S_DECL:
            for (const borg_decl *d = s->decls; d; d = d->next) ref_declare(r, d);
            break;
        case BORG_S_BLOCK:
            ref_block(r, s->body);
            break;
        case BORG_S_IF:
            if (ref_anyone(r)) ref_if(r, s);
            break;
        case BORG_S_FOR:
        case BORG_S_WHILE:
        case BORG_S_DO:
            if (ref_anyone(r)) ref_loop(r, s);
            break;
        case BORG_S_BREAK:
        case BORG_S_CONTINUE:
            for (int w = 0; w < r->n; ++w) {
                if (r->here[w]) (s->kind == BORG_S_BREAK ? r->broken : r->skipped)[w] = true;
                r->here[w] = false;
            }
            break;
        default:
            break;
        }
    }
}

/* Run one group of a kernel. args: as borg_interpret's. NULL, or why the program is no test. */
static const char *ref_run(borg_arena *arena, const borg_function *kernel, int n, int64_t group,
                           const borg_arg *args, int64_t steps) {
    reference *r = BORG_NEW(arena, 1, reference);
    r->arena = arena;
    r->n = n;
    r->group = group;
    r->steps = steps;
    int i = 0;
    for (const borg_decl *d = kernel->params; d; d = d->next, ++i) {
        if (d->number >= REF_VARS) return "variables";
        r->pointers[d->number] = args[i].data;
        r->lengths[d->number] = args[i].count;
        if (d->depth) continue;
        ref_value *v = ref_room(r, d);
        for (int w = 0; w < n; ++w) {
            v->i[w] = ref_wrap(d->type, (int64_t)args[i].bits);
            memcpy(&v->d[w], &args[i].bits, sizeof(double));
        }
    }
    for (int w = 0; w < n; ++w) r->here[w] = true;
    ref_block(r, kernel->body);
    return r->wrong;
}

#endif
