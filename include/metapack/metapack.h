/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_H
#define METAPACK_H
/** METAPACK: symmetric indefinite linear systems. This header includes all others, in the order in
 *  which a matrix meets them: problem -> analysis -> factor -> solution, report. A program may also
 *  include single ones. examples/solve.c is a whole program.
 *
 *  What holds for every function; its own comment says only what differs:
 *  Status     0 is success; > 0 is a numerical outcome with a usable result; < 0 is a failure that
 *             left the outputs as they were. Ask mpk_failed(status); mpk_last_error() has the text.
 *             Any function with a context can return MPK_ERR_ARGUMENT (a NULL that must not be, a
 *             value out of range) and MPK_ERR_MEMORY.
 *  Handles    A handle is NULL before its function creates the object, and NULL again after
 *             *_destroy(&handle), which accepts NULL. The context must outlive what it created.
 *  Arguments  [in] is read, [out] is written, [inout] both. Arrays belong to the caller and are
 *             borrowed during the call; what is needed later is copied. options NULL means the
 *             defaults; an info NULL is not written.
 *  Arrays     Host memory, except where dense.h and batch.h say otherwise; values, right-hand sides
 *             and solutions of a factor with options.device = MPK_ON_CUDA may each lie in that
 *             device's memory, which is found out by the pointer: the call waits until the device
 *             is at rest, and returns when the result is there. Indices count from 0.
 *             Right-hand sides and solutions are n x nrhs and column-major: entry (i, j) is at
 *             b[i + j * ldb], ldb >= n, and has the problem's scalar type.
 *  Structs    Later versions put new fields at the end of a struct, or into its `reserved`; a
 *             program need not be compiled again for them. The library sees how large the program's
 *             struct is, and neither reads nor writes beyond: by its struct_size, if it has one,
 *             else by the macro of the function's name, which passes sizeof(struct) to the function
 *             of that name with _sized. Other languages call that one, with the size of their own
 *             struct. Of a struct that is larger than the library's the rest is set to 0. Structs
 *             that are parts of others, or entries of arrays, keep their size.
 *  Orders     n, indices and numbers of right-hand sides are int32_t. A caller's n of 64 bits is
 *             not cut: functions that begin with one are macros of the same name with _wide, which
 *             take int64_t and refuse what is above 2147483647 (MPK_ERR_SIZE); other languages call
 *             that one. Counts of entries and leading dimensions are int64_t. Why:
 *             docs/design/conventions.md.
 *  Units      Names end in _s for seconds and in bytes for bytes; nnz counts entries, flops counts
 *             additions and multiplications.
 *  Threads    A context serves one thread at a time; threads with a context each may work at the
 *             same time, and may read the same problem, analysis or factor while nobody changes
 *             it. Where its comment says so a call works with options.threads threads, or fewer if
 *             more would not help or there are fewer cores; else with the caller's alone. Results
 *             do not depend on the number of threads, unless an option says so (deterministic,
 *             schedule).
 *  Sources    Each method names its paper here or in the page of docs/ that its header names. */
#include <metapack/types.h>   /* scalars s d c z, symmetry, memory, inertia, the names of handles */
#include <metapack/status.h>  /* outcomes of calls: mpk_failed(status) */
#include <metapack/context.h> /* where memory, errors and progress of all calls go */
#include <metapack/options.h> /* every choice there is, with its default */
#include <metapack/device.h>  /* the GPUs that there are */

#include <metapack/problem.h>  /* A: read, generated or given */
#include <metapack/analysis.h> /* what depends on the pattern alone: order, tree, blocks */
#include <metapack/block.h>    /* blocks of rows: what they cost, what was done with them */
#include <metapack/factor.h>   /* P S A S P^T = L D L^T, complete or incomplete; inertia */
#include <metapack/selected.h> /* entries of A^-1: its diagonal, or those on A's pattern */
#include <metapack/krylov.h>   /* A x = b with any operator and any preconditioner */
#include <metapack/solve.h>    /* A X = B with a factor, and the backward error reached */
#include <metapack/changes.h>  /* A with a few other values */
#include <metapack/bordered.h> /* A with rows and columns added and removed */
#include <metapack/schur.h>    /* Schur complements, and what goes on in their interior */
#include <metapack/adaptive.h> /* A X = B, the method chosen by itself */
#include <metapack/dense.h>    /* one dense matrix, on the processor or a device */
#include <metapack/report.h>   /* a run's numbers as text, JSON and SVG */
#include <metapack/pipeline.h> /* the whole path, from files to files */

#include <metapack/null_space.h>   /* the kernel of a singular A, and shortest solutions */
#include <metapack/solve_sparse.h> /* few rows of b, few rows of x */

#include <metapack/save.h> /* an analysis or a factor in a file */

#include <metapack/batch.h>   /* many small dense matrices at once */
#include <metapack/systems.h> /* many sparse systems of one pattern at once */
#include <metapack/isai.h>    /* incomplete sparse approximate inverses */

#include <metapack/accelerator.h> /* machines that the meta-algorithm can run on: a table of kernels */

#endif
