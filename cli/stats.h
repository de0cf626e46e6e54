/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_STATS_H
#define MPK_CLI_STATS_H
/** metapack stats: the table that its files compute and write. */
#include "cli.h"

#include <stdio.h>

enum { STATS_LIST = 16, STATS_LEVELS = 64 };

/** One blocking: the options and the result. */
typedef struct stats_run {
    mpk_strategy strategy;
    mpk_ordering ordering;
    int block;
    mpk_block_stats stats;
} stats_run;

/** All blockings of a call: strategies, orderings and block sizes, the last fastest. */
typedef struct stats_table {
    const char *source;
    mpk_problem_view problem;
    mpk_options options;
    int strategies, orderings, blocks, levels, count;
    mpk_strategy strategy[STATS_LIST];
    mpk_ordering ordering[STATS_LIST];
    int block[STATS_LIST];
    int32_t level[STATS_LEVELS]; /* -1: complete */
    stats_run *run;              /* count */
    bool scalar;
} stats_table;

/** Tables for people, at most 100 columns wide. */
void stats_write_text(const stats_table *table, FILE *out);
/** One object, metapack-stats/1 (docs/reference/json.md). */
void stats_write_json(const stats_table *table, FILE *out);
/** Blocks (solid) and level sets (dashed) over the levels of fill, or over the block sizes where
 *  there is one level: a panel for each strategy, a colour for each ordering. To args->plot;
 *  returns 0 or the exit code after an error message. */
int stats_write_plot(const cli_args *args, const stats_table *table);

/** "amd" -> "AMD", into out (32 bytes). */
static inline const char *stats_upper(char *out, const char *word) {
    int k = 0;
    for (; word[k] && k < 31; k++)
        out[k] = word[k] >= 'a' && word[k] <= 'z' ? (char)(word[k] - 32) : word[k];
    out[k] = '\0';
    return out;
}

static inline const stats_run *stats_at(const stats_table *t, int strategy, int ordering,
                                        int block) {
    return &t->run[(strategy * t->orderings + ordering) * t->blocks + block];
}

#endif
