/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_H
#define MPKI_CUDA_BATCH_REGISTERS_H
/** Factorizations in registers (registers_ldu.cuh, registers_symmetric.cuh, for LDLT with
 *  pivoting registers_indefinite.cuh): strided, or by pointers. The launch for this order, or NULL: there is none. */
#include "launch.cuh"

#define MPKI_CUDA_REGISTERS(p)                                                                     \
    mpki_emitted mpki_##p##_cuda_registers_ldu(int pivoting, int n);                               \
    mpki_emitted mpki_##p##_cuda_registers_symmetric(int method, int pivoting, int hermitian,      \
                                                     int n);                                       \
    mpki_emitted mpki_##p##_cuda_registers_indefinite(int pivoting, int hermitian, int n);
MPKI_CUDA_REGISTERS(s)
MPKI_CUDA_REGISTERS(d)
MPKI_CUDA_REGISTERS(c)
MPKI_CUDA_REGISTERS(z)

#endif
