/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend `cuda`: a __global__ function for each kernel. With BORG_HOST defined its text is C
 * for the host, given a header of that name with the functions of a warp: so it is tested where
 * there is no GPU. */
#include "borg/emit/simt/simt.h"

static const char *const types[] = {"void", "b_bool", "b_i32", "b_i64", "float", "double", "b_ptr"};

/* clang-format off */
static const char header[] =
    "#ifdef BORG_HOST\n"
    "#include BORG_HOST\n"
    "#else\n"
    "#pragma nv_diag_suppress 177 /* what is not used */\n"
    "typedef bool b_bool;\n"
    "typedef unsigned b_i32;\n"
    "typedef unsigned long long b_i64;\n"
    "typedef int b_s32;\n"
    "typedef long long b_s64;\n"
    "typedef char *b_ptr;\n"
    "#ifndef BORG_BLOCKS /* least number of blocks of a multiprocessor: bounds the registers */\n"
    "#define BORG_BLOCKS 1\n"
    "#endif\n"
    "#ifndef B_KERNEL /* a function of the device where it was defined before */\n"
    "#define B_KERNEL(threads) extern \"C\" __global__ void __launch_bounds__(threads, BORG_BLOCKS)\n"
    "#endif\n"
    "#define B_FN static __device__ __forceinline__\n"
    "#define B_GLOBAL\n"
    "#define B_LOCAL\n"
    "#define B_SHARED __shared__ __align__(16)\n"
    "#define B_RESTRICT __restrict__\n"
    "template <typename T> static __device__ __forceinline__ T *B_ALIGNED(T *p) {\n"
    "    return (T *)__builtin_assume_aligned(p, 16); }\n"
    "#ifdef __CUDACC__ /* compilers shall not take the pointer apart again */\n"
    "#define B_KEEP(p) do { asm(\"\" : \"+l\"(p)); __builtin_assume(__isGlobal(p)); } while (0)\n"
    "#else\n"
    "#define B_KEEP(p) ((void)(p))\n"
    "#endif\n"
    "#define B_TABLE static __device__ const\n"
    "#define b_fadd_f64 __dadd_rn\n"
    "#define b_fsub_f64 __dsub_rn\n"
    "#define b_fmul_f64 __dmul_rn\n"
    "#define b_fdiv_f64 __ddiv_rn\n"
    "#define b_sqrt_f64 __dsqrt_rn\n"
    "#define b_rcp_f64 __drcp_rn\n"
    "#define b_fma_f64 __fma_rn\n"
    "#define b_fabs_f64 fabs\n"
    "#define b_fadd_f32 __fadd_rn\n"
    "#define b_fsub_f32 __fsub_rn\n"
    "#define b_fmul_f32 __fmul_rn\n"
    "#define b_fdiv_f32 __fdiv_rn\n"
    "#define b_sqrt_f32 __fsqrt_rn\n"
    "#define b_rcp_f32 __frcp_rn\n"
    "#define b_fma_f32 __fmaf_rn\n"
    "#define b_fabs_f32 fabsf\n"
    "#define b_bits_f64(x) ((b_i64)__double_as_longlong(x))\n"
    "#define b_bits_f32(x) __float_as_uint(x)\n"
    "#define b_of_bits_f64(x) __longlong_as_double((b_s64)(x))\n"
    "#define b_of_bits_f32(x) __uint_as_float(x)\n"
    "#define b_shfl_f64(mask, x, lane, width) __shfl_sync(mask, x, lane, width)\n"
    "#define b_shfl_f32(mask, x, lane, width) __shfl_sync(mask, x, lane, width)\n"
    "#define b_shfl_i64(mask, x, lane, width) __shfl_sync(mask, x, lane, width)\n"
    "#define b_shfl_i32(mask, x, lane, width) __shfl_sync(mask, x, lane, width)\n"
    "#define b_shfl_xor_f64(mask, x, h) __shfl_xor_sync(mask, x, h)\n"
    "#define b_shfl_xor_f32(mask, x, h) __shfl_xor_sync(mask, x, h)\n"
    "#define b_shfl_xor_i64(mask, x, h) __shfl_xor_sync(mask, x, h)\n"
    "#define b_shfl_xor_i32(mask, x, h) __shfl_xor_sync(mask, x, h)\n"
    "#define b_shfl_xor_i1(mask, x, h) (__shfl_xor_sync(mask, (int)(x), h) != 0)\n"
    "#define b_ballot(mask, x) __ballot_sync(mask, x)\n"
    "#define b_syncwarp(mask) __syncwarp(mask)\n"
    "#define b_any_of_block(x) (__syncthreads_or(x) != 0)\n"
    "#define b_redux_s32(x) __reduce_max_sync(B_WARP, (int)(x))\n"
    "#define b_redux_u32(x) __reduce_max_sync(B_WARP, (unsigned)(x))\n"
    "#define b_lowest(x) (__ffs((int)(x)) - 1)\n"
    "#ifdef __CUDACC__\n"
    "B_FN float b_rcp_fast_f32(float x) { return __fdividef(1.0f, x); }\n"
    "B_FN double b_rcp_fast_f64(double x) {\n"
    "    double r;\n"
    "    asm(\"rcp.approx.ftz.f64 %0, %1;\" : \"=d\"(r) : \"d\"(x));\n"
    "    r = fma(r, fma(-x, r, 1.0), r);\n"
    "    return fma(r, fma(-x, r, 1.0), r);\n"
    "}\n"
    "#else\n"
    "B_FN float b_rcp_fast_f32(float x) { return 1.0f / x; }\n"
    "B_FN double b_rcp_fast_f64(double x) { return 1.0 / x; }\n"
    "#endif\n"
    "#endif\n"
    "#define B_WARP 0xffffffffu\n"
    "B_FN double b_nan_f64(void) { return b_of_bits_f64((b_i64)0x7ff8 << 48); }\n"
    "B_FN double b_infinity_f64(void) { return b_of_bits_f64((b_i64)0x7ff0 << 48); }\n"
    "B_FN float b_nan_f32(void) { return b_of_bits_f32(0x7fc00000u); }\n"
    "B_FN float b_infinity_f32(void) { return b_of_bits_f32(0x7f800000u); }\n"
    "B_FN b_s32 b_max_s32(b_i32 x, b_i32 y) { return (b_s32)x > (b_s32)y ? (b_s32)x : (b_s32)y; }\n"
    "B_FN b_i32 b_max_u32(b_i32 x, b_i32 y) { return x > y ? x : y; }\n"
    "/* bits that order as the numbers do, the upper half with a sign, the lower one without */\n"
    "B_FN b_i64 b_rank_f64(double x) {\n"
    "    const b_i64 bits = b_bits_f64(b_fadd_f64(x, 0.0)); /* -0 is +0 */\n"
    "    return bits ^ ((b_i64)((b_s64)bits >> 63) >> 1);\n"
    "}\n"
    "B_FN b_i32 b_rank_f32(float x) {\n"
    "    const b_i32 bits = b_bits_f32(b_fadd_f32(x, 0.0f));\n"
    "    return bits ^ ((b_i32)((b_s32)bits >> 31) >> 1);\n"
    "}\n";
/* clang-format on */

static const simt_target target = {.header = header, .types = types};

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    (void)diags;
    return simt_emit(&target, units, nunits, options, sink);
}

const borg_backend borg_backend_cuda = {
    .name = "cuda",
    .summary = "CUDA C: sub-warps of threads, or a work-group in each",
    .suffix = ".cu",
    .machine = {.simt = true, .vector_bytes = 256, .registers = 255},
    .emit = emit,
};
