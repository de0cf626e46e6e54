/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TURNED_H
#define MPKI_TURNED_H
/** Solves with the transpose of a general matrix. */
#include "refine.h"

/** The transpose of a general matrix as a system, for as long as the work space that has it. */
typedef struct mpki_turned {
    mpki_full rows;
    double *row_norm, *scale;
} mpki_turned;
/** Let the work space of a general matrix be that of its transpose. *turned is to be freed, also
 *  after a failure. MPK_OK | MPK_ERR_MEMORY, _UNSUPPORTED: the form has no such solves */
mpk_status mpki_solve_work_turn(mpk_context *ctx, mpki_solve_work *work, mpki_turned *turned);
void mpki_turned_free(mpk_context *ctx, mpki_turned *turned);
/** ||A||_1 of the work's system. */
double mpki_norm1(const mpki_solve_work *work);

#endif
