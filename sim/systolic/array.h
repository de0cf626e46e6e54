/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SYSTOLIC_ARRAY_H
#define SIM_SYSTOLIC_ARRAY_H
/** A systolic array: a rectangular mesh of clocked cells, each of which talks to its right and
 *  lower neighbour alone; only the border meets the outside (Thuerck 2021, sec. 8.4.2).
 *
 *  A cell does one beat a cycle, when what it takes has come. What is sent in cycle t (the number
 *  at the link in fig. 8.7) can be taken from cycle t + 1 on; a link holds one value. Programs have
 *  no branches on values, so the clock runs on names of values and leaves a tape of arithmetic,
 *  which then runs on numbers, as often as there are matrices, with the bits of the cells. */
#include "sim/systolic/cells.h"

typedef struct sim_use {
    int32_t link, cycle, job;
} sim_use;

/** One operation of a cell on values of the tape; the result is value `first` + its index. */
typedef struct sim_tape_op {
    cells_op op;
    int32_t x, y;
    int32_t cell, cycle; /* who did it, when */
} sim_tape_op;

typedef struct sim_shape {
    int32_t rows, columns, first; /* of an array; its first element among all inputs or outputs */
} sim_shape;

typedef struct sim_array {
    const cells_program *program;
    int32_t n, m, rows, columns, jobs, interval;
    sim_shape shape[CELLS_MOST_NAMES];
    int32_t ninputs, noutputs; /* elements of one job */
    int64_t cycles;            /* the last in which a cell did anything */
    int64_t last_link;         /* the last in which a link was used */
    int64_t job_end[3];        /* of the first three jobs: their last cycle */
    int64_t beats;             /* cells at work, over all cycles */
    int64_t operations;
    int64_t registers; /* of all cells: those kept, and a latch for each link */
    int64_t loaded;    /* registers that the initialization fills */
    sim_use *use;      /* in order of cycles; NULL: not recorded */
    int64_t nuses;
    int32_t most_uses; /* of a link by the first job */
    sim_tape_op *tape;
    int64_t ntape;
    int32_t nconstants;
    double *constant; /* values 0 .. nconstants-1; inputs of all jobs behind them, then the tape */
    int32_t *output;  /* jobs * noutputs: values; -1: never kept */
} sim_array;

/** Links: those into cell (i, j) (from 1) from its left, then those from above. Cells count from
 *  0. */
static inline int32_t sim_link_right(const sim_array *a, int32_t i, int32_t j) {
    return (i - 1) * a->columns + j - 1; /* into (i, j); j = 1: from outside */
}
static inline int32_t sim_link_down(const sim_array *a, int32_t i, int32_t j) {
    return a->rows * a->columns + (i - 1) * a->columns + j - 1;
}

typedef struct sim_setup {
    int32_t n, m;                    /* m: 1 if 0 */
    int32_t jobs;                    /* 1 if 0 */
    int32_t interval;                /* cycles between jobs */
    bool resident;                   /* what is loaded stays for all jobs: the first one's */
    bool record;                     /* uses of links */
    int32_t most_rows, most_columns; /* of the mesh that there is; 0: as large as asked for */
} sim_setup;

/** Run the clock. NULL, with messages: an array too large for the mesh, a link used twice in a
 *  cycle, a value that nobody took in time, a cell that waits for ever, an index out of bounds. */
sim_array *sim_array_new(borg_arena *arena, const cells_program *program, const sim_setup *setup,
                         borg_diags *diags);

/** The least number of cycles between jobs that all keep step with the first; 0: no memory. */
int32_t sim_array_interval(const cells_program *program, const sim_setup *setup);

/** What a division met that a result rests on: a divisor that is 0, not finite, or at most
 *  `small`. */
typedef struct sim_trouble {
    int32_t cell, cycle; /* cell: from 0, row by row; -1: none */
    double divisor;
} sim_trouble;

/** Doubles of work space of a run. */
static inline int64_t sim_array_work(const sim_array *a) {
    return a->nconstants + (int64_t)a->jobs * a->ninputs + a->ntape;
}
/** Run the tape.
 *  in, out  [in, out] jobs * ninputs and jobs * noutputs elements, array after array as declared, row by
 *           row; what no cell kept stays as it is
 *  work     sim_array_work() doubles
 *  small    a divisor at most this in modulus is trouble, too
 *  Returns the first trouble. */
sim_trouble sim_array_run(const sim_array *a, const double *in, double *out, double *work,
                          double small);

/** An expression of integers; names [in] CELLS_MOST_NAMES of them: n m i j and the loops'. */
int32_t sim_integer(const cells_expr *e, const int32_t *names);

/** The array as text, JSON, and a picture in the layout of fig. 8.7. The array must have
 *  recorded. */
void sim_array_text(const sim_array *a, int32_t interval, borg_sink *out);
void sim_array_json(const sim_array *a, int32_t interval, borg_sink *out);
void sim_array_svg(const sim_array *a, borg_sink *out);

#endif
