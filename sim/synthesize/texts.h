/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SYNTHESIZE_TEXTS_H
#define SIM_SYNTHESIZE_TEXTS_H
/** Templates that the simulators have with them (cmake/sim-spatial.cmake). */

extern const char sim_template_solver_h[], sim_template_parts_h[], sim_template_makefile[];
extern const char sim_template_solver_c[], sim_template_values_c[], sim_template_match_c[];
extern const char sim_template_order_c[], sim_template_dense_c[];
extern const char sim_template_solve_c[], sim_template_main_c[];
extern const char sim_template_blocks_cl[], sim_template_run_c[], sim_template_run_cu[];

#endif
