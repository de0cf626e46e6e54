/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_ISA_LEVEL_H
#define MPKI_CPU_ISA_LEVEL_H
/** Which instruction sets the library was built for, and which one this processor can use. */

#include "config.h"

/** `x` where the library has kernels for the instruction set, else NULL. */
#if MPKI_ISAS & 1
#define MPKI_IF_generic(x) x
#else
#define MPKI_IF_generic(x) NULL
#endif
#if MPKI_ISAS & 2
#define MPKI_IF_avx2(x) x
#else
#define MPKI_IF_avx2(x) NULL
#endif
#if MPKI_ISAS & 4
#define MPKI_IF_avx512(x) x
#else
#define MPKI_IF_avx512(x) NULL
#endif

/** Widest usable instruction set: 0 generic, 1 AVX2, 2 AVX-512; and its name "cpu-..." for reports.
 */
int mpki_cpu_level(void);
const char *mpki_cpu_name(void);

#endif
