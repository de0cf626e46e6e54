/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_ACCELERATOR_H
#define SIM_ACCELERATOR_H
/** Simulated machines behind the accelerator interface: values are computed as the machine would,
 *  and the cycles that it would take are counted. */
#include <metapack/accelerator.h>
#include <stdbool.h>

enum { SIM_KERNELS = 6, SIM_TEXT = 2000 };

/** By kernel, in the order of mpk_accelerator_report. */
typedef struct sim_cycles {
    int64_t cycles[SIM_KERNELS];
    double busy[SIM_KERNELS];  /* cycles of units or cells at work */
    double units[SIM_KERNELS]; /* that there are */
} sim_cycles;

typedef struct sim_machine {
    mpk_accelerator table; /* what mpk_context_use_accelerator takes */
    sim_cycles count;
    char name[96];
    void (*free)(struct sim_machine *machine);
} sim_machine;

/** A systolic array of rows x columns cells; `largest` rows of a block or fewer, as its programs
 *  allow. NULL: no memory, or the reason in text (SIM_TEXT bytes). */
sim_machine *sim_systolic_new(int32_t rows, int32_t columns, char *text);
/** Spatial pipelines of the kernels of an OpenCL C text (NULL: blocks.cl), for blocks of n rows.
 *  file [in]
 *  its name, for messages. units [in] lines of a table of costs, or NULL. */
sim_machine *sim_pipe_new(const char *file, const char *source, int32_t n, const char *units,
                          char *text);
void sim_machine_free(sim_machine **machine);

/** Memory of the host as that of the machine. */
mpk_status sim_allocate(void *self, int64_t bytes, void **p);
void sim_release(void *self, void *p);
mpk_status sim_copy(void *self, void *to, const void *from, int64_t bytes);

#endif
