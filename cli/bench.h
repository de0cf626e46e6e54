/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_BENCH_H
#define MPK_CLI_BENCH_H
/** metapack bench: each method of a list at each order of a list, checked before it is timed. */
#include "cli.h"

/** Random numbers in [-1, 1] for matrices of the bench, the same on every machine; a stream begins
 *  with cli_bench_seed. (The library's own generator is not public.) */
static inline uint64_t cli_bench_seed(uint64_t seed) {
    return seed * UINT64_C(2862933555777941757) + UINT64_C(3037000493);
}
static inline double cli_bench_random(uint64_t *state) {
    const uint64_t s = *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)(s ^ (s >> 29)) / 9223372036854775808.0;
}

/** What a method at an order took. */
typedef struct cli_bench_row {
    double seconds, gflops;
    double error;                   /**< of the solution, as the bench's text calls it */
    char more[256], more_json[256]; /**< the rest of the row; begins with a blank, with a comma */
} cli_bench_row;

/** One thing that can be measured. */
typedef struct cli_bench {
    const char *methods, *sizes; /** < the defaults of --methods and --sizes */
    const char *expected;        /**< the methods there are, for an error's text */
    int64_t most;                /**< the largest order */
    /** Choose a method by its name; false: there is no such. */
    bool (*choose)(void *work, const char *name);
    /** Check and time the chosen method at order n; MPK_INACCURATE: the solution was not good. */
    mpk_status (*measure)(cli_args *args, void *work, int64_t n, cli_bench_row *row);
    const char *error_name, *error_sign; /**< in JSON, in text */
} cli_bench;

/** Run a bench. Both lists are read before anything is measured. Rows go to standard output, failed
 *  methods also to standard error. Returns the worst exit code. */
int cli_bench_run(cli_args *args, const cli_bench *bench, void *work);

int cli_bench_dense(cli_args *args, mpk_scalar scalar);
int cli_bench_batch(cli_args *args, mpk_scalar scalar);

#endif
