/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_H
#define METAPACK_H
/** METAPACK: symmetric indefinite linear systems. The headers in the order in which a matrix meets
 *  them: problem -> analysis -> factor -> solution, report; and beside
 *  that path, batches of small dense ones. */
#include <metapack/types.h>
#include <metapack/status.h>
#include <metapack/context.h>
#include <metapack/options.h>
#include <metapack/problem.h>
#include <metapack/analysis.h>
#include <metapack/block.h>
#include <metapack/factor.h>
#include <metapack/krylov.h>
#include <metapack/solve.h>
#include <metapack/adaptive.h>
#include <metapack/report.h>
#include <metapack/pipeline.h>
#include <metapack/batch.h>
#include <metapack/dense.h>

#endif
