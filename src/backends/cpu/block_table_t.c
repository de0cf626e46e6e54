/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpu.h"
#include "level.h"

#if MPKI_PRECISION == 0
#define TABLE(isa) mpki_s_##isa##_block_table
#elif MPKI_PRECISION == 1
#define TABLE(isa) mpki_d_##isa##_block_table
#elif MPKI_PRECISION == 2
#define TABLE(isa) mpki_c_##isa##_block_table
#else
#define TABLE(isa) mpki_z_##isa##_block_table
#endif

extern const FN(block_kernels) TABLE(generic);
#if defined(__x86_64__)
extern const FN(block_kernels) TABLE(avx2), TABLE(avx512);
#endif

const FN(block_kernels) * FN(cpu_block_kernels)(void) {
#if defined(__x86_64__)
    switch (mpki_cpu_level()) {
    case 2:
        return &TABLE(avx512);
    case 1:
        return &TABLE(avx2);
    default:
        break;
    }
#endif
    return &TABLE(generic);
}
