/* SPDX-License-Identifier: BSD-3-Clause */
/* What the operations of InfReg-IR compute: the one definition, for folding and interpreting.
 * Compiled without contraction: each operation rounds by itself. */
#include "borg/ir.h"
#include <math.h>
#include <string.h>

static double as_f64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float as_f32(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

static uint64_t of_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int64_t as_signed(borg_type type, uint64_t bits) {
    return type == BORG_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

static uint64_t narrow(borg_type type, uint64_t bits) {
    return type == BORG_I1 ? bits & 1 : type == BORG_I32 ? (uint32_t)bits : bits;
}

static uint64_t divide(borg_op op, borg_type type, uint64_t x, uint64_t y) {
    bool remainder = op == BORG_SREM || op == BORG_UREM;
    if (y == 0) return remainder ? x : 0;
    if (op == BORG_UDIV || op == BORG_UREM) return remainder ? x % y : x / y;
    int64_t a = as_signed(type, x), b = as_signed(type, y);
    if (b == -1) return remainder ? 0 : 0 - x; /* INT_MIN / -1 wraps */
    return (uint64_t)(remainder ? a % b : a / b);
}

static uint64_t integer(borg_op op, borg_type type, uint64_t x, uint64_t y) {
    int64_t a = as_signed(type, x), b = as_signed(type, y);
    uint64_t width = type == BORG_I32 ? 31 : type == BORG_I64 ? 63 : 0, count = y & width;
    switch (op) {
    case BORG_ADD:
        return x + y;
    case BORG_SUB:
        return x - y;
    case BORG_MUL:
        return x * y;
    case BORG_SDIV:
    case BORG_UDIV:
    case BORG_SREM:
    case BORG_UREM:
        return divide(op, type, x, y);
    case BORG_SHL:
        return x << count;
    case BORG_LSHR:
        return x >> count;
    case BORG_ASHR:
        return (uint64_t)(a >> count);
    case BORG_AND:
        return x & y;
    case BORG_OR:
        return x | y;
    case BORG_XOR:
        return x ^ y;
    case BORG_NOT:
        return ~x;
    case BORG_NEG:
        return 0 - x;
    case BORG_ABS:
        return a < 0 ? 0 - x : x;
    case BORG_SMIN:
        return b < a ? y : x;
    case BORG_SMAX:
        return a < b ? y : x;
    case BORG_UMIN:
        return y < x ? y : x;
    case BORG_UMAX:
        return x < y ? y : x;
    default:
        return 0;
    }
}

static double real64(borg_op op, double x, double y, double z) {
    switch (op) {
    case BORG_FADD:
        return x + y;
    case BORG_FSUB:
        return x - y;
    case BORG_FMUL:
        return x * y;
    case BORG_FDIV:
        return x / y;
    case BORG_FMIN:
        return y < x ? y : x;
    case BORG_FMAX:
        return x < y ? y : x;
    case BORG_SQRT:
        return sqrt(x);
    case BORG_RCP:
        return 1.0 / x;
    case BORG_FMA:
        return fma(x, y, z);
    default:
        return 0;
    }
}

static float real32(borg_op op, float x, float y, float z) {
    switch (op) {
    case BORG_FADD:
        return x + y;
    case BORG_FSUB:
        return x - y;
    case BORG_FMUL:
        return x * y;
    case BORG_FDIV:
        return x / y;
    case BORG_FMIN:
        return y < x ? y : x;
    case BORG_FMAX:
        return x < y ? y : x;
    case BORG_SQRT:
        return sqrtf(x);
    case BORG_RCP:
        return 1.0f / x;
    case BORG_FMA:
        return fmaf(x, y, z);
    default:
        return 0;
    }
}

#define COMPARE(pred, x, y)                                                                        \
    ((pred) == BORG_EQ   ? (x) == (y)                                                              \
     : (pred) == BORG_NE ? (x) != (y)                                                              \
     : (pred) == BORG_LT ? (x) < (y)                                                               \
     : (pred) == BORG_LE ? (x) <= (y)                                                              \
     : (pred) == BORG_GT ? (x) > (y)                                                               \
                         : (x) >= (y))

static bool compare(const borg_inst *inst, borg_type type, uint64_t x, uint64_t y) {
    if (type == BORG_F64) return COMPARE(inst->pred, as_f64(x), as_f64(y));
    if (type == BORG_F32) return COMPARE(inst->pred, as_f32(x), as_f32(y));
    if (inst->uns || type == BORG_I1) return COMPARE(inst->pred, x, y);
    return COMPARE(inst->pred, as_signed(type, x), as_signed(type, y));
}

/* Truncate and saturate; NaN gives 0. 2^31, 2^63 ... are exact in double. */
static uint64_t to_integer(borg_type to, bool uns, double x) {
    int bits = to == BORG_I32 ? 32 : 64;
    if (isnan(x)) return 0;
    if (uns) {
        if (x <= -1.0) return 0;
        if (x >= ldexp(1.0, bits)) return narrow(to, UINT64_MAX);
        return x < 0 ? 0 : (uint64_t)x;
    }
    uint64_t minimum = (uint64_t)1 << (bits - 1);
    if (x < -ldexp(1.0, bits - 1)) return minimum;
    if (x >= ldexp(1.0, bits - 1)) return minimum - 1;
    return narrow(to, (uint64_t)(int64_t)x);
}

static uint64_t convert(borg_op op, borg_type to, borg_type from, uint64_t x) {
    switch (op) {
    case BORG_ZEXT:
        return x;
    case BORG_SEXT:
        return narrow(to, (uint64_t)as_signed(from, x));
    case BORG_TRUNC:
        return narrow(to, x);
    case BORG_SITOFP:
        return to == BORG_F32 ? of_f32((float)as_signed(from, x))
                              : of_f64((double)as_signed(from, x));
    case BORG_UITOFP:
        return to == BORG_F32 ? of_f32((float)x) : of_f64((double)x);
    case BORG_FPTOSI:
    case BORG_FPTOUI:
        return to_integer(to, op == BORG_FPTOUI, from == BORG_F32 ? (double)as_f32(x) : as_f64(x));
    case BORG_FPEXT:
        return of_f64((double)as_f32(x));
    case BORG_FPTRUNC:
        return of_f32((float)as_f64(x));
    case BORG_MAGNITUDE:
        return (from == BORG_F64 ? x >> 32 : x) & INT32_MAX;
    default:
        return 0;
    }
}

uint64_t borg_evaluate(const borg_inst *inst, borg_type from, uint64_t x, uint64_t y, uint64_t z) {
    uint64_t sign = from == BORG_F32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
    if (borg_op_table[inst->op].class == BORG_CONVERT)
        return convert(inst->op, inst->type, from, x);
    switch (inst->op) {
    case BORG_ICMP:
    case BORG_FCMP:
        return compare(inst, from, x, y);
    case BORG_SELECT:
        return x ? y : z;
    case BORG_FNEG:
        return x ^ sign;
    case BORG_FABS:
        return x & ~sign;
    default:
        break;
    }
    if (from == BORG_F64) return of_f64(real64(inst->op, as_f64(x), as_f64(y), as_f64(z)));
    if (from == BORG_F32) return of_f32(real32(inst->op, as_f32(x), as_f32(y), as_f32(z)));
    return narrow(from, integer(inst->op, from, x, y));
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool greater(borg_type type, bool uns, uint64_t x, uint64_t y) {
    if (type == BORG_F64) return as_f64(x) > as_f64(y);
    if (type == BORG_F32) return as_f32(x) > as_f32(y);
    return uns || type == BORG_I1 ? x > y : as_signed(type, x) > as_signed(type, y);
}

static uint64_t without_nan(borg_type type, uint64_t x, double instead) {
    if (type == BORG_F64 && isnan(as_f64(x))) return of_f64(instead);
    if (type == BORG_F32 && isnan(as_f32(x))) return of_f32((float)instead);
    return x;
}

static uint64_t combine(borg_op op, borg_type type, uint64_t x, uint64_t y) {
    switch (op) {
    case BORG_ANY:
    case BORG_ANYP:
        return x | y;
    case BORG_ALL:
    case BORG_ALLP:
        return x & y;
    default:
        break;
    }
    if (type == BORG_F64) return of_f64(as_f64(x) + as_f64(y));
    if (type == BORG_F32) return of_f32(as_f32(x) + as_f32(y));
    return narrow(type, x + y);
}

/* The place of the greatest or least, the first of equal ones. */
static int32_t extreme(borg_type from, bool uns, bool least, uint64_t *x, int32_t count) {
    int32_t best = 0;
    for (int32_t i = 0; i < count; ++i)
        x[i] = without_nan(from, x[i], least ? (double)INFINITY : -(double)INFINITY);
    for (int32_t i = 1; i < count; ++i)
        if (least ? greater(from, uns, x[best], x[i]) : greater(from, uns, x[i], x[best])) best = i;
    return best;
}

uint64_t borg_reduce(borg_op op, borg_type from, bool uns, uint64_t *x, int32_t count) {
    if (op == BORG_RMAXIDX) return (uint64_t)extreme(from, uns, false, x, count);
    if (op == BORG_RMAX || op == BORG_RMIN) return x[extreme(from, uns, op == BORG_RMIN, x, count)];
    int32_t half = 1;
    while (2 * half < count) half *= 2;
    for (; half >= 1; half /= 2) {
        for (int32_t i = 0; i < half && i + half < count; ++i)
            x[i] = combine(op, from, x[i], x[i + half]);
    }
    return x[0];
}
