/* SPDX-License-Identifier: BSD-3-Clause */
/* Portable C: vectors of 32 bytes as gcc (from 12) and clang have them. On a processor with shorter
 * ones the compiler makes them of pieces. */
#include "borg/emit/simd/simd.h"

/* clang-format off */
static const char header[] =
    "/* i1: all ones or none in each lane, as wide as the widest type of the lanes */\n"
    "#if BORG_LANES == 4\n"
    "typedef vs64 vm;\n"
    "#define B_MASK32(m) __builtin_convertvector(m, vs32)\n"
    "#define B_MASK64(m) (m)\n"
    "#define B_FROM32(m) __builtin_convertvector((vs32)(m), vs64)\n"
    "#define B_FROM64(m) ((vs64)(m))\n"
    "#else\n"
    "typedef vs32 vm;\n"
    "#define B_MASK32(m) (m)\n"
    "#define B_MASK64(m) __builtin_convertvector(m, vs64)\n"
    "#define B_FROM32(m) ((vs32)(m))\n"
    "#define B_FROM64(m) __builtin_convertvector((vs64)(m), vs32)\n"
    "#endif\n";

static const char masks[] =
    "\n"
    "/* what a register of i1 can do */\n"
    "#define b_bit(m, i) ((m)[i] != 0)\n"
    "#define BMASKED(type, T, I, W) \\\n"
    "    FN T b_select_##type(vm c, T x, T y) { \\\n"
    "        const I m = (I)B_MASK##W(c); \\\n"
    "        return (T)(((I)x & m) | ((I)y & ~m)); }\n"
    "BMASKED(f64, vf64, vi64, 64)\n"
    "BMASKED(f32, vf32, vi32, 32)\n"
    "BMASKED(i64, vi64, vi64, 64)\n"
    "BMASKED(i32, vi32, vi32, 32)\n"
    "FN vm b_select_i1(vm c, vm x, vm y) { return (x & c) | (y & ~c); }\n"
    "#define BWIDTH_f64 B_FROM64\n"
    "#define BWIDTH_i64 B_FROM64\n"
    "#define BWIDTH_f32 B_FROM32\n"
    "#define BWIDTH_i32 B_FROM32\n"
    "#define BCMP(name, type, T, op, S) \\\n"
    "    FN vm b_##name##_##type(T x, T y) { return BWIDTH_##type((S)x op (S)y); }\n"
    "FN vm b_and_i1(vm x, vm y) { return x & y; }\n"
    "FN vm b_or_i1(vm x, vm y) { return x | y; }\n"
    "FN vm b_xor_i1(vm x, vm y) { return x ^ y; }\n"
    "FN vm b_not_i1(vm x) { return ~x; }\n"
    "FN vm b_eq_i1(vm x, vm y) { return ~(x ^ y); }\n"
    "FN vm b_ne_i1(vm x, vm y) { return x ^ y; }\n"
    "FN vm b_ueq_i1(vm x, vm y) { return ~(x ^ y); }\n"
    "FN vm b_une_i1(vm x, vm y) { return x ^ y; }\n"
    "FN vm b_splat_i1(bool c) { return (vm){0} - (vm){c, c, c, c\n"
    "#if BORG_LANES == 8\n"
    "    , c, c, c, c\n"
    "#endif\n"
    "    }; }\n"
    "FN vm b_lane_i1(vm x, int i) { return b_splat_i1(x[i] != 0); }\n"
    "FN bool b_any(vm x, int used) {\n"
    "    bool c = false;\n"
    "    for (int i = 0; i < used; ++i) c |= x[i] != 0;\n"
    "    return c; }\n"
    "FN bool b_all(vm x, int used) {\n"
    "    bool c = true;\n"
    "    for (int i = 0; i < used; ++i) c &= x[i] != 0;\n"
    "    return c; }\n"
    "FN vi32 b_zext_i1_i32(vm x) { return (vi32)B_MASK32(x) & 1; }\n"
    "FN vi64 b_zext_i1_i64(vm x) { return (vi64)B_MASK64(x) & 1; }\n"
    "FN void b_put_i1(bool *p, vm x) { for (int i = 0; i < BORG_LANES; ++i) p[i] = x[i] != 0; }\n"
    "FN vm b_take_i1(const bool *p, vi32 at, int used) {\n"
    "    vm z = {0};\n"
    "    for (int i = 0; i < used; ++i) z[i] = -(int)p[at[i]];\n"
    "    return z; }\n";

static const char functions[] =
    "#define BROOT(type, T) \\\n"
    "    BEACH1(sqrt, type, T) \\\n"
    "    B2(fmin, type, T, b_select_##type(b_lt_##type(y, x), y, x)) \\\n"
    "    B2(fmax, type, T, b_select_##type(b_lt_##type(x, y), y, x)) \\\n"
    "    FN T b_fma_##type(T x, T y, T z) { \\\n"
    "        for (int i = 0; i < BORG_LANES; ++i) z[i] = s_fma_##type(x[i], y[i], z[i]); \\\n"
    "        return z; }\n"
    "#define BNEGATED(type, T) \\\n"
    "    FN T b_fnma_##type(T x, T y, T z) { return b_fma_##type(-x, y, z); } \\\n"
    "    FN T b_fms_##type(T x, T y, T z) { return b_fma_##type(x, y, -z); } \\\n"
    "    FN T b_fnms_##type(T x, T y, T z) { return b_fma_##type(-x, y, -z); }\n"
    "#if defined(__AVX2__) && defined(__FMA__)\n"
    "/* what compilers do lane by lane */\n"
    "#include <immintrin.h>\n"
    "#define BHARD(type, T, R, I, p) \\\n"
    "    FN T b_sqrt_##type(T x) { return (T)I(sqrt_##p)((R)x); } \\\n"
    "    FN T b_fmin_##type(T x, T y) { return (T)I(min_##p)((R)y, (R)x); } \\\n"
    "    FN T b_fmax_##type(T x, T y) { return (T)I(max_##p)((R)y, (R)x); } \\\n"
    "    FN T b_fma_##type(T x, T y, T z) { return (T)I(fmadd_##p)((R)x, (R)y, (R)z); } \\\n"
    "    FN T b_fnma_##type(T x, T y, T z) { return (T)I(fnmadd_##p)((R)x, (R)y, (R)z); } \\\n"
    "    FN T b_fms_##type(T x, T y, T z) { return (T)I(fmsub_##p)((R)x, (R)y, (R)z); } \\\n"
    "    FN T b_fnms_##type(T x, T y, T z) { return (T)I(fnmsub_##p)((R)x, (R)y, (R)z); }\n"
    "#define B_128(name) _mm_##name\n"
    "#define B_256(name) _mm256_##name\n"
    "#if BORG_LANES == 4\n"
    "BHARD(f32, vf32, __m128, B_128, ps)\n"
    "BHARD(f64, vf64, __m256d, B_256, pd)\n"
    "#else\n"
    "BHARD(f32, vf32, __m256, B_256, ps)\n"
    "BROOT(f64, vf64) BNEGATED(f64, vf64)\n"
    "#endif\n"
    "#else\n"
    "BROOT(f32, vf32) BNEGATED(f32, vf32)\n"
    "BROOT(f64, vf64) BNEGATED(f64, vf64)\n"
    "#endif\n";
/* clang-format on */

static const simd_target target = {
    .bytes = 32, .header = header, .masks = masks, .functions = functions};

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    (void)diags;
    return simd_emit(&target, units, nunits, options, sink);
}

const borg_backend borg_backend_c = {
    .name = "c",
    .summary = "C with vector extensions of gcc and clang, for any processor",
    .suffix = ".c",
    .machine = {.vector_bytes = 32,
                .registers = 16,
                .perm_cost = 1,
                .gather_cost = 2,
                .transposes = true,
                .rolls = true,
                .flat = true,
                .code = 4000},
    .takes = BORG_TAKES_ORDER | BORG_TAKES_WHOLE | BORG_TAKES_NARROW,
    .disables = BORG_DISABLE_ALL,
    .emit = emit,
};
