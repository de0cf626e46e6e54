/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/systolic/programs.h"
#include <string.h>

const char *sim_cells_find(const char *name) {
    if (strcmp(name, "trsv") == 0) return sim_cells_trsv;
    if (strcmp(name, "ldlt") == 0) return sim_cells_ldlt;
    if (strcmp(name, "gemm") == 0) return sim_cells_gemm;
    if (strcmp(name, "forward") == 0) return sim_cells_forward;
    return NULL;
}
