/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_VSIM_H
#define MPK_CLI_VSIM_H
/** What the files of `metapack vsim` share. */
#include "cli.h"
#include "sim/vector/rectangular.h"

enum { VSIM_LIST = 16 };

typedef struct vsim {
    cli_args *args;
    borg_arena arena;
    borg_diags diags;
    const vr_program *program;
    vs_matrix matrix;
    vs_source source;
    vs_sweep_options o;
    int64_t thresholds[VSIM_LIST];
    int32_t slots[VSIM_LIST];
    int64_t trace_cycles;
    const char *input; /* its name */
    mpk_status status; /* of what failed */
} vsim;

/** vsim_words.c: what the options say, into v->o and v->source.rows. Returns 0 or the exit code. */
int vsim_read_words(vsim *v);
/** vsim_input.c: kernel, machine, matrix or arrays. False with v->status, and messages in v->diags
 *  or the context. */
bool vsim_read_files(vsim *v);

#endif
