/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of kernels for packs by instruction set, which differ in their width alone. */
#include "engines/cpu/isa/level.h"
#include "lanes.h"

#define TABLE(isa) FN(isa##_lanes_table)
extern const FN(lanes) TABLE(generic), TABLE(avx2), TABLE(avx512);

const FN(lanes) * FN(cpu_lanes)(int most) {
    const FN(lanes) *const tables[] = {MPKI_IF_generic(&TABLE(generic)), MPKI_IF_avx2(&TABLE(avx2)),
                                       MPKI_IF_avx512(&TABLE(avx512))};
    const FN(lanes) *found = NULL;
    for (int level = mpki_cpu_level(); level >= 0; level--) {
        if (!tables[level] || (found && tables[level]->width < most)) continue;
        found = tables[level];
    }
    return found;
}
