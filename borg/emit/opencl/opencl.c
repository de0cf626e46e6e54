/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend `opencl`: OpenCL C 1.2 with doubles, no sub-groups. A work-group of OpenCL is a pack,
 * a work-item a work-item; what moves between them goes through local memory and barriers. */
#include "borg/emit/simt/simt.h"

static const char *const types[] = {"void", "b_bool", "b_i32", "b_i64", "float", "double", "b_ptr"};

/* clang-format off */
static const char header[] =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef int b_bool;\n"
    "typedef uint b_i32;\n"
    "typedef ulong b_i64;\n"
    "typedef int b_s32;\n"
    "typedef long b_s64;\n"
    "typedef __global char *b_ptr;\n"
    "#define B_KERNEL(threads, lanes) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void\n"
    "#define B_FN static inline\n"
    "#define B_GLOBAL __global\n"
    "#define B_LOCAL __local\n"
    "#define B_SHARED __local\n"
    "#define B_RESTRICT restrict\n"
    "#define B_TABLE __constant\n"
    "#define b_bits_f64(x) as_ulong(x)\n"
    "#define b_bits_f32(x) as_uint(x)\n"
    "#define b_fma_f64 fma\n"
    "#define b_fma_f32 fma\n"
    "#define b_fabs_f64 fabs\n"
    "#define b_fabs_f32 fabs\n"
    "B_FN double b_fadd_f64(double x, double y) { return x + y; }\n"
    "B_FN double b_fsub_f64(double x, double y) { return x - y; }\n"
    "B_FN double b_fmul_f64(double x, double y) { return x * y; }\n"
    "B_FN double b_fdiv_f64(double x, double y) { return x / y; }\n"
    "B_FN double b_sqrt_f64(double x) { return sqrt(x); }\n"
    "B_FN double b_rcp_f64(double x) { return 1.0 / x; }\n"
    "B_FN float b_fadd_f32(float x, float y) { return x + y; }\n"
    "B_FN float b_fsub_f32(float x, float y) { return x - y; }\n"
    "B_FN float b_fmul_f32(float x, float y) { return x * y; }\n"
    "/* OpenCL lets a quotient of floats be wrong by 2.5 ulp, a root by 3; by way of double they are\n"
    " * rounded as IEEE has it, but where a compiler narrows that again, as NVIDIA's does: build with\n"
    " * -cl-fp32-correctly-rounded-divide-sqrt there. BORG_FAST_FLOAT: as the build rounds them. */\n"
    "#ifdef BORG_FAST_FLOAT\n"
    "B_FN float b_fdiv_f32(float x, float y) { return x / y; }\n"
    "B_FN float b_sqrt_f32(float x) { return sqrt(x); }\n"
    "#else\n"
    "B_FN float b_fdiv_f32(float x, float y) { return (float)((double)x / (double)y); }\n"
    "B_FN float b_sqrt_f32(float x) { return (float)sqrt((double)x); }\n"
    "#endif\n"
    "B_FN float b_rcp_f32(float x) { return b_fdiv_f32(1.0f, x); }\n"
    "B_FN double b_nan_f64(void) { return as_double(0x7ff8000000000000ul); }\n"
    "B_FN double b_infinity_f64(void) { return as_double(0x7ff0000000000000ul); }\n"
    "B_FN float b_nan_f32(void) { return as_float(0x7fc00000u); }\n"
    "B_FN float b_infinity_f32(void) { return as_float(0x7f800000u); }\n"
    "#define B_SUM(type, T) \\\n"
    "    B_FN T b_rsum_##type(__local const T *x, int n) { \\\n"
    "        T y[256]; \\\n"
    "        int step = 1; \\\n"
    "        for (int i = 0; i < n; ++i) y[i] = x[i]; \\\n"
    "        while (2 * step < n) step *= 2; \\\n"
    "        for (; step >= 1; step /= 2) \\\n"
    "            for (int i = 0; i < step && i + step < n; ++i) y[i] = y[i] + y[i + step]; \\\n"
    "        return y[0]; }\n"
    "#define B_EXTREME(name, type, T, least, most) \\\n"
    "    B_FN b_i32 b_##name##rmaxidx_##type(__local const T *x, int n) { \\\n"
    "        int best = 0; \\\n"
    "        for (int i = 1; i < n; ++i) \\\n"
    "            if ((x[i] != x[i] ? least : x[i]) > (x[best] != x[best] ? least : x[best])) best = i; \\\n"
    "        return (b_i32)best; } \\\n"
    "    B_FN T b_##name##rmax_##type(__local const T *x, int n) { \\\n"
    "        T y = x[b_##name##rmaxidx_##type(x, n)]; \\\n"
    "        return y != y ? least : y; } \\\n"
    "    B_FN T b_##name##rmin_##type(__local const T *x, int n) { \\\n"
    "        int best = 0; \\\n"
    "        for (int i = 1; i < n; ++i) \\\n"
    "            if ((x[i] != x[i] ? most : x[i]) < (x[best] != x[best] ? most : x[best])) best = i; \\\n"
    "        return x[best] != x[best] ? most : x[best]; }\n"
    "B_SUM(f64, double)\n"
    "B_SUM(f32, float)\n"
    "B_SUM(i64, b_i64)\n"
    "B_SUM(i32, b_i32)\n"
    "B_EXTREME(, f64, double, -b_infinity_f64(), b_infinity_f64())\n"
    "B_EXTREME(, f32, float, -b_infinity_f32(), b_infinity_f32())\n"
    "B_EXTREME(, i64, b_i64, (b_i64)0, (b_i64)0)\n"
    "B_EXTREME(, i32, b_i32, 0u, 0u)\n"
    "B_EXTREME(, i1, b_bool, 0, 0)\n"
    "#define B_SIGNED(type, T, S) \\\n"
    "    B_FN b_i32 b_srmaxidx_##type(__local const T *x, int n) { \\\n"
    "        int best = 0; \\\n"
    "        for (int i = 1; i < n; ++i) \\\n"
    "            if ((S)x[i] > (S)x[best]) best = i; \\\n"
    "        return (b_i32)best; } \\\n"
    "    B_FN T b_srmax_##type(__local const T *x, int n) { return x[b_srmaxidx_##type(x, n)]; } \\\n"
    "    B_FN T b_srmin_##type(__local const T *x, int n) { \\\n"
    "        int best = 0; \\\n"
    "        for (int i = 1; i < n; ++i) \\\n"
    "            if ((S)x[i] < (S)x[best]) best = i; \\\n"
    "        return x[best]; }\n"
    "B_SIGNED(i64, b_i64, b_s64)\n"
    "B_SIGNED(i32, b_i32, b_s32)\n"
    "B_FN b_bool b_rsum_i1(__local const b_bool *x, int n) {\n"
    "    b_bool y = 0;\n"
    "    for (int i = 0; i < n; ++i) y ^= x[i];\n"
    "    return y; }\n"
    "B_FN b_bool b_any_i1(__local const b_bool *x, int n) {\n"
    "    b_bool y = 0;\n"
    "    for (int i = 0; i < n; ++i) y |= x[i];\n"
    "    return y; }\n"
    "B_FN b_bool b_all_i1(__local const b_bool *x, int n) {\n"
    "    b_bool y = 1;\n"
    "    for (int i = 0; i < n; ++i) y &= x[i];\n"
    "    return y; }\n"
    "#define b_anyp_i1 b_any_i1\n"
    "#define b_allp_i1 b_all_i1\n";
/* clang-format on */

static const simt_target target = {.header = header, .types = types, .opencl = true};

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    return simt_emit(&target, units, nunits, options, sink, diags);
}

const borg_backend borg_backend_opencl = {
    .name = "opencl",
    .summary = "OpenCL C with local memory, no sub-groups",
    .suffix = ".cl",
    .machine = {.simt = true, .vector_bytes = 256, .registers = 255},
    .takes = BORG_TAKES_NARROW,
    .disables = BORG_NO_REUSE,
    .emit = emit,
};
