/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_ROUNDING_CUH
#define MPKI_CUDA_MODULE_ROUNDING_CUH
/** Arithmetic that no compiler joins: one rounding after each operation. By each thread for itself;
 *  no barrier. */
#include <cuda_runtime.h>

namespace mpki {

/** a + b, rounded once per part; never fused. */
__device__ inline float add_rn(float a, float b) {
    return __fadd_rn(a, b);
}
__device__ inline double add_rn(double a, double b) {
    return __dadd_rn(a, b);
}

/** a - b, rounded once per part; never fused. */
__device__ inline float sub_rn(float a, float b) {
    return __fsub_rn(a, b);
}
__device__ inline double sub_rn(double a, double b) {
    return __dsub_rn(a, b);
}

/** a b, rounded after each operation. */
__device__ inline float mul_rn(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ inline double mul_rn(double a, double b) {
    return __dmul_rn(a, b);
}

/** The square root of a, correctly rounded. */
__device__ inline float root_rn(float a) {
    return __fsqrt_rn(a);
}
__device__ inline double root_rn(double a) {
    return __dsqrt_rn(a);
}

/** a / b, correctly rounded. */
__device__ inline float div_rn(float a, float b) {
    return __fdiv_rn(a, b);
}
__device__ inline double div_rn(double a, double b) {
    return __ddiv_rn(a, b);
}

/** a b + c, rounded once. */
__device__ inline float fma_rn(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ inline double fma_rn(double a, double b, double c) {
    return __fma_rn(a, b, c);
}

} // namespace mpki

#endif
