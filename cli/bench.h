/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_BENCH_H
#define MPK_CLI_BENCH_H
/** metapack bench. */
#include "cli.h"

/** Seconds of a clock that only goes forward. */
double cli_now_s(void);
/** Rates of metapack/batch.h over orders; the rows of JSON without the brackets around them. */
int cli_bench_batch(cli_args *args, mpk_scalar scalar);

#endif
