/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_H
#define METAPACK_H
/** METAPACK: symmetric indefinite linear systems. The headers, in the order in which a matrix meets
 *  them: problem -> analysis -> factor -> solution, report. A program that needs a few may include
 *  these alone. */
#include <metapack/types.h>   /* scalars s d c z, symmetry, memory, inertia, the names of handles */
#include <metapack/status.h>  /* outcomes of calls: mpk_failed(status) */
#include <metapack/context.h> /* where memory, errors and progress of all calls go */
#include <metapack/options.h> /* every choice there is, with its default */

#include <metapack/problem.h>  /* A: read, generated or given */
#include <metapack/analysis.h> /* what depends on the pattern alone: order, tree, blocks */
#include <metapack/block.h>    /* what there is to say of blocks, their levels and their factors */
#include <metapack/factor.h>   /* P S A S P^T = L D L^T, complete or incomplete; inertia */
#include <metapack/krylov.h>   /* A x = b with any operator and any preconditioner */
#include <metapack/solve.h>    /* A X = B with a factor, to a backward error that is told */
#include <metapack/adaptive.h> /* A X = B by whatever it takes: direct, or up a ladder */
#include <metapack/report.h>   /* a run's numbers as text, JSON and SVG */
#include <metapack/pipeline.h> /* the whole path, from files to files */

#include <metapack/dense.h> /* one dense matrix, on the processor or a device */
#include <metapack/batch.h> /* many small dense matrices at once */

#endif
