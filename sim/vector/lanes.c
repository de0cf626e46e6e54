/* SPDX-License-Identifier: BSD-3-Clause */
/* What the instructions compute, a loop over lanes for each operation and type. Compiled without
 * contraction: each operation rounds by itself. */
#include "sim/vector/engine.h"
#include <math.h>
#include <string.h>

#define EACH(field, value)                                                                         \
    for (int32_t l = 0; l < n; ++l) {                                                              \
        vs_lane r_ = {.u = 0};                                                                     \
        r_.field = (value);                                                                        \
        out[l] = r_;                                                                               \
    }                                                                                              \
    break

/* ---- integers -------------------------------------------------------------------------------- */

static int32_t quotient32(int32_t x, int32_t y) {
    return y == 0 ? 0 : y == -1 ? (int32_t)(0 - (uint32_t)x) : x / y;
}

static int64_t quotient64(int64_t x, int64_t y) {
    return y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static void signed32(vr_op op, const vs_lane *a, const vs_lane *b, vs_lane *out, int32_t n) {
    switch (op) {
    case VR_DIV:
        EACH(i, quotient32(a[l].i, b[l].i));
    case VR_REM:
        EACH(i, b[l].i == 0 ? a[l].i : b[l].i == -1 ? 0 : a[l].i % b[l].i);
    case VR_MIN:
        EACH(i, b[l].i < a[l].i ? b[l].i : a[l].i);
    case VR_MAX:
        EACH(i, a[l].i < b[l].i ? b[l].i : a[l].i);
    case VR_NEG:
        EACH(w, 0 - a[l].w);
    case VR_ABS:
        EACH(w, a[l].i < 0 ? 0 - a[l].w : a[l].w);
    default: /* SHR */
        EACH(i, a[l].i >> (b[l].w & 31));
    }
}

static void signed64(vr_op op, const vs_lane *a, const vs_lane *b, vs_lane *out, int32_t n) {
    switch (op) {
    case VR_DIV:
        EACH(s, quotient64(a[l].s, b[l].s));
    case VR_REM:
        EACH(s, b[l].s == 0 ? a[l].s : b[l].s == -1 ? 0 : a[l].s % b[l].s);
    case VR_MIN:
        EACH(s, b[l].s < a[l].s ? b[l].s : a[l].s);
    case VR_MAX:
        EACH(s, a[l].s < b[l].s ? b[l].s : a[l].s);
    case VR_NEG:
        EACH(u, 0 - a[l].u);
    case VR_ABS:
        EACH(u, a[l].s < 0 ? 0 - a[l].u : a[l].u);
    default:
        EACH(s, a[l].s >> (b[l].w & 63));
    }
}

/* The same bits with and without a sign: of both kinds of integers, and what is unsigned. */
static bool bits32(vr_op op, bool uns, const vs_lane *a, const vs_lane *b, vs_lane *out,
                   int32_t n) {
    switch (op) {
    case VR_ADD:
        for (int32_t l = 0; l < n; ++l) out[l].u = (uint32_t)(a[l].w + b[l].w);
        return true;
    case VR_SUB:
        for (int32_t l = 0; l < n; ++l) out[l].u = (uint32_t)(a[l].w - b[l].w);
        return true;
    case VR_MUL:
        for (int32_t l = 0; l < n; ++l) out[l].u = (uint32_t)(a[l].w * b[l].w);
        return true;
    case VR_SHL:
        for (int32_t l = 0; l < n; ++l) out[l].u = (uint32_t)(a[l].w << (b[l].w & 31));
        return true;
    default:
        break;
    }
    if (!uns) return false;
    switch (op) {
    case VR_DIV:
        EACH(w, b[l].w ? a[l].w / b[l].w : 0);
    case VR_REM:
        EACH(w, b[l].w ? a[l].w % b[l].w : a[l].w);
    case VR_MIN:
        EACH(w, b[l].w < a[l].w ? b[l].w : a[l].w);
    case VR_MAX:
        EACH(w, a[l].w < b[l].w ? b[l].w : a[l].w);
    default:
        EACH(w, a[l].w >> (b[l].w & 31));
    }
    return true;
}

static bool bits64(vr_op op, bool uns, const vs_lane *a, const vs_lane *b, vs_lane *out,
                   int32_t n) {
    switch (op) {
    case VR_ADD:
        for (int32_t l = 0; l < n; ++l) out[l].u = a[l].u + b[l].u;
        return true;
    case VR_SUB:
        for (int32_t l = 0; l < n; ++l) out[l].u = a[l].u - b[l].u;
        return true;
    case VR_MUL:
        for (int32_t l = 0; l < n; ++l) out[l].u = a[l].u * b[l].u;
        return true;
    case VR_SHL:
        for (int32_t l = 0; l < n; ++l) out[l].u = a[l].u << (b[l].w & 63);
        return true;
    default:
        break;
    }
    if (!uns) return false;
    switch (op) {
    case VR_DIV:
        EACH(u, b[l].u ? a[l].u / b[l].u : 0);
    case VR_REM:
        EACH(u, b[l].u ? a[l].u % b[l].u : a[l].u);
    case VR_MIN:
        EACH(u, b[l].u < a[l].u ? b[l].u : a[l].u);
    case VR_MAX:
        EACH(u, a[l].u < b[l].u ? b[l].u : a[l].u);
    default:
        EACH(u, a[l].u >> (b[l].w & 63));
    }
    return true;
}

/* ---- reals ----------------------------------------------------------------------------------- */

static void real64(vr_op op, const vs_lane *a, const vs_lane *b, const vs_lane *c, vs_lane *out,
                   int32_t n) {
    switch (op) {
    case VR_ADD:
        EACH(d, a[l].d + b[l].d);
    case VR_SUB:
        EACH(d, a[l].d - b[l].d);
    case VR_MUL:
        EACH(d, a[l].d * b[l].d);
    case VR_DIV:
        EACH(d, a[l].d / b[l].d);
    case VR_FMA:
        EACH(d, fma(a[l].d, b[l].d, c[l].d));
    case VR_SQRT:
        EACH(d, sqrt(a[l].d));
    case VR_MIN:
        EACH(d, b[l].d < a[l].d ? b[l].d : a[l].d);
    case VR_MAX:
        EACH(d, a[l].d < b[l].d ? b[l].d : a[l].d);
    case VR_NEG:
        EACH(u, a[l].u ^ (uint64_t)1 << 63);
    default: /* ABS */
        EACH(u, a[l].u & ~((uint64_t)1 << 63));
    }
}

static void real32(vr_op op, const vs_lane *a, const vs_lane *b, const vs_lane *c, vs_lane *out,
                   int32_t n) {
    switch (op) {
    case VR_ADD:
        EACH(f, a[l].f + b[l].f);
    case VR_SUB:
        EACH(f, a[l].f - b[l].f);
    case VR_MUL:
        EACH(f, a[l].f * b[l].f);
    case VR_DIV:
        EACH(f, a[l].f / b[l].f);
    case VR_FMA:
        EACH(f, fmaf(a[l].f, b[l].f, c[l].f));
    case VR_SQRT:
        EACH(f, sqrtf(a[l].f));
    case VR_MIN:
        EACH(f, b[l].f < a[l].f ? b[l].f : a[l].f);
    case VR_MAX:
        EACH(f, a[l].f < b[l].f ? b[l].f : a[l].f);
    case VR_NEG:
        EACH(w, a[l].w ^ (uint32_t)1 << 31);
    default:
        EACH(w, a[l].w & INT32_MAX);
    }
}

/* ---- comparisons, choices, conversions ------------------------------------------------------- */

#define COMPARE(field)                                                                             \
    for (int32_t l = 0; l < n; ++l)                                                                \
        out[l].u = how == VR_EQ   ? a[l].field == b[l].field                                       \
                   : how == VR_NE ? a[l].field != b[l].field                                       \
                   : how == VR_LT ? a[l].field < b[l].field                                        \
                   : how == VR_LE ? a[l].field <= b[l].field                                       \
                   : how == VR_GT ? a[l].field > b[l].field                                        \
                                  : a[l].field >= b[l].field;                                      \
    break

static void compare(vr_type type, int how, const vs_lane *a, const vs_lane *b, vs_lane *out,
                    int32_t n) {
    switch (type) {
    case VR_S32:
        COMPARE(i);
    case VR_U32:
        COMPARE(w);
    case VR_S64:
        COMPARE(s);
    case VR_U64:
        COMPARE(u);
    case VR_F32:
        COMPARE(f);
    default:
        COMPARE(d);
    }
}

static void logic(const vr_inst *v, const vs_lane *a, const vs_lane *b, vs_lane *out, int32_t n) {
    uint64_t all = v->type == VR_PRED ? 1 : v->type == VR_B32 ? UINT32_MAX : UINT64_MAX;
    switch (v->op) {
    case VR_AND:
        EACH(u, a[l].u & b[l].u);
    case VR_OR:
        EACH(u, a[l].u | b[l].u);
    case VR_XOR:
        EACH(u, a[l].u ^ b[l].u);
    default:
        EACH(u, ~a[l].u & all);
    }
}

/* Truncated and saturated; NaN gives 0. */
static uint64_t to_integer(vr_type to, double x) {
    const int width = 8 * vr_bytes(to);
    const double top = ldexp(1.0, to == VR_U32 || to == VR_U64 ? width : width - 1);
    if (isnan(x)) return 0;
    if (to == VR_U32 || to == VR_U64) {
        uint64_t most = to == VR_U32 ? UINT32_MAX : UINT64_MAX;
        return x < 0 ? 0 : x >= top ? most : (uint64_t)x;
    }
    int64_t most = to == VR_S32 ? INT32_MAX : INT64_MAX;
    int64_t y = x >= top ? most : x < -top ? -most - 1 : (int64_t)x;
    return to == VR_S32 ? (uint32_t)y : (uint64_t)y;
}

static uint64_t convert(vr_type to, vr_type from, vs_lane x) {
    vs_lane r = {.u = 0};
    if (from == VR_F64 || from == VR_F32) {
        double d = from == VR_F64 ? x.d : (double)x.f;
        if (to == VR_F64) {
            r.d = d;
        } else if (to == VR_F32) {
            r.f = from == VR_F64 ? (float)x.d : x.f;
        } else {
            r.u = to_integer(to, d);
        }
        return r.u;
    }
    bool sign = from == VR_S32 || from == VR_S64;
    int64_t s = from == VR_S32 ? x.i : x.s;
    uint64_t u = from == VR_U32 ? x.w : x.u;
    if (to == VR_F64) {
        r.d = sign ? (double)s : (double)u;
    } else if (to == VR_F32) {
        r.f = sign ? (float)s : (float)u;
    } else {
        r.u = sign ? (uint64_t)s : u;
        if (vr_bytes(to) == 4) r.u = (uint32_t)r.u;
    }
    return r.u;
}

/* ---- between lanes --------------------------------------------------------------------------- */

static void shuffle(const vs_engine *e, const vr_inst *v, const vs_lane *a, const vs_lane *b,
                    vs_lane *out) {
    const vs_lane *tid = e->metas, *ntids = e->metas + (int64_t)VR_NTIDS * e->most;
    for (int32_t l = 0; l < e->n; ++l) {
        int64_t own = tid[l].w, by = b[l].w;
        int64_t from = v->how == VR_IDX    ? by
                       : v->how == VR_UP   ? own - by
                       : v->how == VR_DOWN ? own + by
                                           : own ^ by;
        bool good = from >= 0 && from < ntids[l].w && e->active[e->start[l] + from];
        out[l] = a[good ? e->start[l] + from : l];
    }
}

static void vote(const vs_engine *e, const vr_inst *v, const vs_lane *a, vs_lane *out) {
    for (int32_t l = 0; l < e->n;) {
        int32_t end = l + e->warps[e->warp[l]].ntids;
        uint64_t any = 0, all = 1;
        for (int32_t k = l; k < end; ++k) {
            if (!e->active[k]) continue;
            any |= a[k].u;
            all &= a[k].u;
        }
        for (; l < end; ++l) out[l].u = v->how == VR_ANY ? any : all;
    }
}

static void arithmetic(const vr_inst *v, const vs_lane *a, const vs_lane *b, const vs_lane *c,
                       vs_lane *out, int32_t n) {
    bool uns = v->type == VR_U32 || v->type == VR_U64 || v->type == VR_B32 || v->type == VR_B64;
    if (v->type == VR_F64) {
        real64(v->op, a, b, c, out, n);
    } else if (v->type == VR_F32) {
        real32(v->op, a, b, c, out, n);
    } else if (vr_bytes(v->type) == 4) {
        if (!bits32(v->op, uns, a, b, out, n)) signed32(v->op, a, b, out, n);
    } else {
        if (!bits64(v->op, uns, a, b, out, n)) signed64(v->op, a, b, out, n);
    }
}

void vs_compute(vs_engine *e, const vr_inst *v) {
    const vs_lane *a = vs_operand(e, v->a[0]);
    const vs_lane *b = v->a[1].kind ? vs_operand(e, v->a[1]) : a;
    const vs_lane *c = v->a[2].kind ? vs_operand(e, v->a[2]) : a;
    vs_lane *dst = e->registers + (int64_t)v->dst * e->most;
    bool moves = v->op == VR_SHFL || v->op == VR_VOTE;
    vs_lane *out = e->nmask == e->n && !moves ? dst : e->result;
    const int32_t n = e->n;
    switch (v->op) {
    case VR_MOV:
        for (int32_t l = 0; l < n; ++l) out[l] = a[l];
        break;
    case VR_AND:
    case VR_OR:
    case VR_XOR:
    case VR_NOT:
        logic(v, a, b, out, n);
        break;
    case VR_SETP:
        compare(v->type, v->how, a, b, out, n);
        break;
    case VR_SELP:
        for (int32_t l = 0; l < n; ++l) out[l] = c[l].u ? a[l] : b[l];
        break;
    case VR_CVT:
        for (int32_t l = 0; l < n; ++l) out[l].u = convert(v->type, v->from, a[l]);
        break;
    case VR_SHFL:
        shuffle(e, v, a, b, out);
        break;
    case VR_VOTE:
        vote(e, v, a, out);
        break;
    default:
        arithmetic(v, a, b, c, out, n);
        break;
    }
    if (out == dst) return;
    for (int32_t l = 0; l < n; ++l)
        if (e->mask[l]) dst[l] = out[l];
}
