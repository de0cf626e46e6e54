/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_ISA_CPU_H
#define MPKI_CPU_ISA_CPU_H
/** The kernels that fit this processor, chosen at run time. */
#include "kernels/blocks.h"
#include "kernels/kernels.h"

/** Table of precision T. METAPACK_CPU in the environment forbids the wider ones (core/cpu.h). */
const FN(kernels) * FN(cpu_kernels)(void);
/** Table of the kernels on small blocks, of precision T; METAPACK_CPU counts as above. */
const FN(block_kernels) * FN(cpu_block_kernels)(void);

#endif
