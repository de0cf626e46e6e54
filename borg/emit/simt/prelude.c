/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that CUDA C and OpenCL C share: what C leaves undefined, defined as in borg/ir.h. */
#include "borg/emit/simt/core.h"

/* clang-format off */
const char simt_prelude_text[] =
    "B_FN b_i32 b_udiv_i32(b_i32 x, b_i32 y) { return y ? x / y : 0u; }\n"
    "B_FN b_i64 b_udiv_i64(b_i64 x, b_i64 y) { return y ? x / y : (b_i64)0; }\n"
    "B_FN b_i32 b_urem_i32(b_i32 x, b_i32 y) { return y ? x % y : x; }\n"
    "B_FN b_i64 b_urem_i64(b_i64 x, b_i64 y) { return y ? x % y : x; }\n"
    "B_FN b_i32 b_sdiv_i32(b_i32 x, b_i32 y) {\n"
    "    return y == 0u ? 0u : y == ~0u ? 0u - x : (b_i32)((b_s32)x / (b_s32)y); }\n"
    "B_FN b_i64 b_sdiv_i64(b_i64 x, b_i64 y) {\n"
    "    return y == 0u ? (b_i64)0 : y == ~(b_i64)0 ? 0u - x : (b_i64)((b_s64)x / (b_s64)y); }\n"
    "B_FN b_i32 b_srem_i32(b_i32 x, b_i32 y) {\n"
    "    return y == 0u ? x : y == ~0u ? 0u : (b_i32)((b_s32)x % (b_s32)y); }\n"
    "B_FN b_i64 b_srem_i64(b_i64 x, b_i64 y) {\n"
    "    return y == 0u ? x : y == ~(b_i64)0 ? (b_i64)0 : (b_i64)((b_s64)x % (b_s64)y); }\n"
    "#define B_TO_INTEGER(from, F) \\\n"
    "    B_FN b_i32 b_fptosi_##from##_i32(F x) { \\\n"
    "        return x != x ? 0u : x >= (F)2147483648 ? 0x7fffffffu : \\\n"
    "               x <= (F)-2147483648 ? 0x80000000u : (b_i32)(b_s32)x; } \\\n"
    "    B_FN b_i64 b_fptosi_##from##_i64(F x) { \\\n"
    "        return x != x ? (b_i64)0 : x >= (F)2147483648 * (F)4294967296 ? ~(b_i64)0 >> 1 : \\\n"
    "               x <= (F)-2147483648 * (F)4294967296 ? (b_i64)1 << 63 : (b_i64)(b_s64)x; } \\\n"
    "    B_FN b_i32 b_fptoui_##from##_i32(F x) { \\\n"
    "        return !(x > 0) ? 0u : x >= (F)4294967296 ? ~0u : (b_i32)x; } \\\n"
    "    B_FN b_i64 b_fptoui_##from##_i64(F x) { \\\n"
    "        return !(x > 0) ? (b_i64)0 : x >= (F)4294967296 * (F)4294967296 ? ~(b_i64)0 : (b_i64)x; }\n"
    "B_TO_INTEGER(f32, float)\n"
    "B_TO_INTEGER(f64, double)\n"
    "\n";
/* clang-format on */
