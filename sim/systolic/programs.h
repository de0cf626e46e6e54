/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SYSTOLIC_PROGRAMS_H
#define SIM_SYSTOLIC_PROGRAMS_H
/** The programs of sim/systolic/programs/, as text. */

extern const char sim_cells_trsv[], sim_cells_ldlt[], sim_cells_gemm[], sim_cells_forward[];

/** By name: trsv, ldlt, gemm, forward; NULL: there is none. */
const char *sim_cells_find(const char *name);

#endif
