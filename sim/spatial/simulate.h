/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SPATIAL_SIMULATE_H
#define SIM_SPATIAL_SIMULATE_H
/** A spatial pipeline, cycle by cycle: jobs enter every p->interval cycles, back to back; values
 *  stand in shift registers as long as the pipeline holds a register for them, and not a cycle
 *  longer. */
#include "borg/spatial/pipeline.h"

typedef struct sim_pipeline_counts {
    int64_t jobs, cycles; /* cycles: depth + (jobs - 1) * interval */
    int64_t operations;   /* of units */
    double utilisation;   /* of units: operations / (units * cycles) */
    int64_t words_in, words_out;
    int64_t stored_late; /* the last cycle in which a port stored, from the first job's first */
} sim_pipeline_counts;

/** Run the packs first .. last-1 (groups; whole packs) on arguments as borg_interpret takes them.
 *  counts [out] may be NULL. False and a message: an access out of bounds, no memory. */
bool sim_pipeline_run(const borg_pipeline *p, const borg_arg *args, int64_t first, int64_t last,
                      sim_pipeline_counts *counts, borg_diags *diags);

#endif
