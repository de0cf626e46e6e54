/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_ACCELERATOR_TEXTS_H
#define SIM_ACCELERATOR_TEXTS_H
/** Texts that the simulators have with them (cmake/sim-spatial.cmake). */

extern const char sim_blocks_cl[]; /* sim/accelerator/blocks.cl */

#endif
