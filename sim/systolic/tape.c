/* SPDX-License-Identifier: BSD-3-Clause */
/* What an array left: its tape run on numbers, and how close jobs can follow each other. */
#include "sim/systolic/array.h"
#include <math.h>
#include <string.h>

/* Three jobs at this distance: do they keep step with one alone? -1: there is no memory. *alone
 * [out] the cycles of one, 0 where they do not get through. */
static int keeps_step(const cells_program *program, const sim_setup *setup, int32_t interval,
                      int64_t *alone) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) {
        borg_arena_free(&arena);
        return -1;
    }
    borg_diags quiet = {.arena = &arena};
    sim_setup three = *setup;
    three.jobs = 3;
    three.interval = interval;
    three.record = false;
    const sim_array *a = sim_array_new(&arena, program, &three, &quiet);
    *alone = a ? a->job_end[0] : 0;
    const int good = a && a->job_end[1] == a->job_end[0] + interval &&
                     a->job_end[2] == a->job_end[0] + 2 * interval;
    borg_arena_free(&arena);
    return good;
}

int32_t sim_array_interval(const cells_program *program, const sim_setup *setup) {
    enum { MOST = 1 << 16 };
    int32_t interval = 1;
    for (;; ++interval) {
        int64_t alone;
        const int good = keeps_step(program, setup, interval, &alone);
        if (good < 0) return 0;
        if (good || (alone && interval > alone) || interval > MOST) return interval;
    }
}

sim_trouble sim_array_run(const sim_array *a, const double *in, double *out, double *work,
                          double small) {
    sim_trouble first = {.cell = -1};
    const int64_t inputs = (int64_t)a->jobs * a->ninputs, base = a->nconstants + inputs;
    if (a->nconstants) memcpy(work, a->constant, (size_t)a->nconstants * sizeof *work);
    if (inputs) memcpy(work + a->nconstants, in, (size_t)inputs * sizeof *work);
    for (int64_t t = 0; t < a->ntape; ++t) {
        const sim_tape_op *op = &a->tape[t];
        const double x = work[op->x], y = work[op->y];
        double *to = &work[base + t];
        switch (op->op) {
        case CELLS_ADD:
            *to = x + y;
            break;
        case CELLS_SUB:
            *to = x - y;
            break;
        case CELLS_MUL:
            *to = x * y;
            break;
        case CELLS_MIN:
            *to = y < x ? y : x;
            break;
        case CELLS_MAX:
            *to = x < y ? y : x;
            break;
        default:
            if (first.cell < 0 && !(fabs(y) > small && isfinite(y)))
                first = (sim_trouble){op->cell, op->cycle, y};
            *to = x / y;
        }
    }
    for (int64_t k = 0; k < (int64_t)a->jobs * a->noutputs; ++k)
        if (a->output[k] >= 0) out[k] = work[a->output[k]];
    return first;
}
