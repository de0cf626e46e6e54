/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_SYSTEMS_SLOTS_H
#define MPKI_CPU_SYSTEMS_SLOTS_H
/** The kernels of a pack that stand in files of their own: lanes.h says what they do. */
#include "kernels/isa.h"
#include "lanes.h"

void ISA_FN(lanes_take)(int64_t count, const T *const *from, int64_t step, R *to);
void ISA_FN(lanes_give)(int64_t count, const R *from, T *const *to, int64_t step);
void ISA_FN(lanes_scale)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                         mpki_lanes_work *work, mpki_lane_outcome *lane);
void ISA_FN(lanes_solve)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                         mpki_lanes_work *work, R *x);
void ISA_FN(lanes_residual)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack, const R *x,
                            const R *b, R *r, R *low, R *w);
void ISA_FN(lanes_measure)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                           const mpki_lane_outcome *lane, const R *x, const R *b,
                           mpki_lanes_work *work, mpki_lane_quality *quality);
void ISA_FN(lanes_advance)(int32_t n, const bool *mark, const R *y, R *x, R *best);
void ISA_FN(lanes_restore)(int32_t n, const bool *mark, const R *best, R *x);

#endif
