/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_NPY_H
#define MPKI_PROBLEM_NPY_H
/** NumPy's .npy files, versions 1 to 3: dense matrices, right-hand sides, solutions. Read are f4,
 *  f8, c8 and c16, of either byte order, in C and in Fortran order. */
#include "problem.h"
#include "sink.h"
#include "stream.h"

/** Does it begin as such a file does? */
mpk_status mpki_npy_is(mpki_stream *stream, bool *so);
/** A square array as a problem of its own scalar: symmetric, Hermitian or general, as its entries
 *  are. Zeros are entries. */
mpk_status mpki_npy_read(mpk_context *ctx, mpki_stream *stream, mpk_problem **problem);
/** An array of shape (n,) or (n, k) as k columns of `scalar`; as mpk_rhs_read(). */
mpk_status mpki_npy_read_rhs(mpk_context *ctx, mpki_stream *stream, int32_t n, mpk_scalar scalar,
                             int32_t *nrhs, void **b);

/** Does a name ask for this format: .npy, also .gz or .xz? */
bool mpki_npy_named(const char *path);
/** All of a problem, both triangles. */
mpk_status mpki_npy_write(mpki_sink *sink, mpk_context *ctx, const mpk_problem *problem);
/** x as an array of shape (n,), or (n, nrhs) in Fortran order. */
mpk_status mpki_npy_write_rhs(mpki_sink *sink, int32_t n, mpk_scalar scalar, int32_t nrhs,
                              const void *x, int64_t ldx);
/** Bytes of such a file. */
double mpki_npy_bytes(double n, double columns, mpk_scalar scalar);

#endif
