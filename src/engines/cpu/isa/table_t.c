/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of kernels by instruction set, widest last; NULL where the library was built without. */
#include "cpu.h"
#include "level.h"

#define TABLE(isa, name) FN(isa##_##name)
#define DECLARE(isa)                                                                               \
    extern const FN(kernels) TABLE(isa, table);                                                    \
    extern const FN(block_kernels) TABLE(isa, block_table);
MPKI_LEVELS(DECLARE)

#define KERNELS(isa) MPKI_IF_##isa(&TABLE(isa, table), NULL),
#define BLOCKS(isa) MPKI_IF_##isa(&TABLE(isa, block_table), NULL),
static const FN(kernels) *const tables[] = {MPKI_LEVELS(KERNELS)};
static const FN(block_kernels) *const block_tables[] = {MPKI_LEVELS(BLOCKS)};

const FN(kernels) * FN(cpu_kernels)(void) {
    return tables[mpki_cpu_level()];
}

const FN(block_kernels) * FN(cpu_block_kernels)(void) {
    return block_tables[mpki_cpu_level()];
}
