/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_RUN_H
#define MPKI_DENSE_RUN_H
/** The two halves of a solution, within a session. */
#include "session.h"

/** call->most and *norm_inf of a, which must be finite; norm_inf may be NULL. */
mpk_status mpki_dense_measure_matrix(const mpki_dense_engine *engine, mpki_dense_call *call,
                                     double *norm_inf);
/** Are all right-hand sides finite? */
mpk_status mpki_dense_check_rhs(mpki_dense_session *s, const mpki_dense_sides *sides);
/** Factorize by call->dense.method; call->most must be known. */
mpk_status mpki_dense_run_factorize(const mpki_dense_engine *engine, mpki_dense_call *call);
/** The parts of call->work: that of the method's solve slot, then that of refinement.
 *  norm_inf [in] of a; 0: nothing is measured */
mpk_status mpki_dense_solver(const mpki_dense_session *s, const mpki_dense_call *call, int32_t nrhs,
                             double norm_inf, mpki_dense_solve *solve);
/** Solve and measure; the factor is there. */
mpk_status mpki_dense_run_solve(mpki_dense_session *s, mpki_dense_call *call, double norm_inf,
                                const mpki_dense_sides *sides);

#endif
