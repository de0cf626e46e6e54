/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_ISA_LEVEL_H
#define MPKI_CPU_ISA_LEVEL_H
/** Which instruction sets the library was built for, and which one this processor can use. */

#include "config.h"
#include "core/cpu.h"

/** `x` where the library has kernels for the instruction set, else `otherwise`. */
#if MPKI_ISAS & 1
#define MPKI_IF_generic(x, otherwise) x
#else
#define MPKI_IF_generic(x, otherwise) otherwise
#endif
#if MPKI_ISAS & 2
#define MPKI_IF_avx2(x, otherwise) x
#define MPKI_IF_neon(x, otherwise) x
#else
#define MPKI_IF_avx2(x, otherwise) otherwise
#define MPKI_IF_neon(x, otherwise) otherwise
#endif
#if MPKI_ISAS & 4
#define MPKI_IF_avx512(x, otherwise) x
#define MPKI_IF_sve256(x, otherwise) x
#else
#define MPKI_IF_avx512(x, otherwise) otherwise
#define MPKI_IF_sve256(x, otherwise) otherwise
#endif

/** Widest usable instruction set (core/cpu.h); and its name "cpu-..." for reports. */
int mpki_cpu_level(void);
const char *mpki_cpu_name(void);

#endif
