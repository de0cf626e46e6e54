/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_MODELS_TEXTS_H
#define SIM_MODELS_TEXTS_H
/** Texts that the simulators have with them (cmake/sim-spatial.cmake). */

extern const char sim_models_cl[]; /* sim/models/models.cl */

#endif
