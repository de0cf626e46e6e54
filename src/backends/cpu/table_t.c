/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of kernels by instruction set, widest last; a processor of another make has the first. */
#include "cpu.h"
#include "level.h"

#define TABLE(isa, name) FN(isa##_##name)
#if defined(__x86_64__)
#define LEVELS(name)                                                                               \
    { &TABLE(generic, name), &TABLE(avx2, name), &TABLE(avx512, name) }
extern const FN(kernels) TABLE(avx2, table), TABLE(avx512, table);
extern const FN(block_kernels) TABLE(avx2, block_table), TABLE(avx512, block_table);
#else
#define LEVELS(name)                                                                               \
    { &TABLE(generic, name) }
#endif
extern const FN(kernels) TABLE(generic, table);
extern const FN(block_kernels) TABLE(generic, block_table);

static const FN(kernels) *const tables[] = LEVELS(table);
static const FN(block_kernels) *const block_tables[] = LEVELS(block_table);

const FN(kernels) * FN(cpu_kernels)(void) {
    return tables[mpki_cpu_level()];
}

const FN(block_kernels) * FN(cpu_block_kernels)(void) {
    return block_tables[mpki_cpu_level()];
}
