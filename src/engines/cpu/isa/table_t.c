/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of kernels by instruction set, widest last; NULL where the library was built without. */
#include "cpu.h"
#include "level.h"

#define TABLE(isa, name) FN(isa##_##name)
#define LEVELS(name)                                                                               \
    {                                                                                              \
        MPKI_IF_generic(&TABLE(generic, name)), MPKI_IF_avx2(&TABLE(avx2, name)),                  \
            MPKI_IF_avx512(&TABLE(avx512, name))                                                   \
    }
extern const FN(kernels) TABLE(generic, table), TABLE(avx2, table), TABLE(avx512, table);
extern const FN(block_kernels) TABLE(generic, block_table), TABLE(avx2, block_table),
    TABLE(avx512, block_table);

static const FN(kernels) *const tables[] = LEVELS(table);
static const FN(block_kernels) *const block_tables[] = LEVELS(block_table);

const FN(kernels) * FN(cpu_kernels)(void) {
    return tables[mpki_cpu_level()];
}

const FN(block_kernels) * FN(cpu_block_kernels)(void) {
    return block_tables[mpki_cpu_level()];
}
