/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_MODELS_H
#define SIM_MODELS_H
/** One kernel on three machines: Thuerck 2021, fig. 8.5. All have units of the same latencies.
 *    pipeline  a unit for each operation; a job every II cycles; T jobs take depth + (T-1) II
 *    array     a mesh of cells, whose beat is as long as the longest chain of units in one; a job every C
 *              cycles, C with the beats in which its matrix is loaded
 *    gpu       one set of units, a lane for each work-item; W warps, a job each, take turns and run to
 *              the end: an instruction of w warps takes max(w, its latency) cycles, T jobs
 *              ceil(T / W) batches */
#include "borg/arena.h"

enum { SIM_MODELS_LATENCY = 512 }; /* the longest that is told apart */

typedef struct sim_models {
    const char *kernel;
    int32_t n, warps;
    int64_t jobs;
    /* pipeline */
    int64_t depth, interval, pipeline_bits, pipeline_units, operations;
    /* array; cells 0: there is no program of this name */
    int64_t beat; /* cycles; the next two are in beats */
    int64_t latency, array_interval, array_bits, cells, beats;
    /* gpu */
    int64_t instructions, state_bits;       /* of a job */
    int64_t taking[SIM_MODELS_LATENCY + 1]; /* instructions by their latency */
} sim_models;

typedef enum sim_model { SIM_PIPELINE, SIM_ARRAY, SIM_GPU, SIM_MODELS } sim_model;

extern const char *const sim_model_names[SIM_MODELS];

/** Cycles of T jobs, registers in bits, and the share of the units' cycles that is used. */
int64_t sim_model_cycles(const sim_models *m, sim_model which, int64_t jobs);
int64_t sim_model_bits(const sim_models *m, sim_model which);
double sim_model_utilisation(const sim_models *m, sim_model which, int64_t jobs);
/** The fewest jobs, at most 2^40, from which on `a` takes fewer cycles than `b` does; 0: never. */
int64_t sim_model_crossing(const sim_models *m, sim_model a, sim_model b);

typedef struct sim_models_request {
    const char *kernel; /* ldlt, trsv or gemm; of `source` any kernel, or NULL if there is one */
    const char *source, *file;      /* NULL: models.cl */
    const char *cells, *cells_file; /* a program of cells; NULL: that of the name */
    const char *units;              /* lines of a table of costs, or NULL */
    int32_t n, warps;
    int64_t jobs;
} sim_models_request;

/** Fills *m. False: the reason in text (SIM_MODELS_TEXT bytes). */
enum { SIM_MODELS_TEXT = 2000 };
bool sim_models_make(const sim_models_request *request, sim_models *m, char *text);

void sim_models_text(const sim_models *m, borg_sink *out);
void sim_models_json(const sim_models *m, borg_sink *out);
/** Cycles over jobs, both logarithmic, with the crossing points. */
void sim_models_svg(const sim_models *m, borg_sink *out);

#endif
