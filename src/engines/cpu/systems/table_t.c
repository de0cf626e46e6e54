/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of kernels for packs by instruction set, which differ in their width alone. */
#include "engines/cpu/isa/level.h"
#include "lanes.h"

#define TABLE(isa) FN(isa##_lanes_table)
#define DECLARE(isa) extern const FN(lanes) TABLE(isa);
#define LANES_OF(isa) MPKI_IF_##isa(&TABLE(isa), NULL),
MPKI_LEVELS(DECLARE)

const FN(lanes) * FN(cpu_lanes)(int most) {
    const FN(lanes) *const tables[] = {MPKI_LEVELS(LANES_OF)};
    const FN(lanes) *found = NULL;
    for (int level = mpki_cpu_level(); level >= 0; level--) {
        if (!tables[level] || (found && tables[level]->width < most)) continue;
        found = tables[level];
    }
    return found;
}
