/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack stats: blocks, level sets and memory of many blockings, computed and handed to
 * writers. */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

/* The next part of "a,b,c" into word (64 bytes); *list moves on, NULL after the last. */
static void next_word(const char **list, char *word) {
    size_t length = strcspn(*list, ",");
    snprintf(word, 64, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
}

static int set_option(cli_args *args, const char *key, const char *value) {
    const char *text;
    if (mpk_options_set(args->ctx, &args->options, key, value) == MPK_OK) return 0;
    mpk_last_error(args->ctx, NULL, NULL, &text);
    return cli_usage_error(args, "--%s", text);
}

/* Each word of the list is a value of option `key`; take(t) picks it up from args->options. */
static int read_list(cli_args *args, const char *key, const char *list, stats_table *t, int *count,
                     void (*take)(const cli_args *args, stats_table *t)) {
    char word[64];
    while (list) {
        if (*count == STATS_LIST)
            return cli_usage_error(args, "--%s: at most %d of them", key, STATS_LIST);
        next_word(&list, word);
        int code = set_option(args, key, word);
        if (code) return code;
        take(args, t);
    }
    return 0;
}

static void take_strategy(const cli_args *args, stats_table *t) {
    t->strategy[t->strategies++] = args->options.strategy;
}

static void take_ordering(const cli_args *args, stats_table *t) {
    t->ordering[t->orderings++] = args->options.ordering;
}

static void take_block(const cli_args *args, stats_table *t) {
    t->block[t->blocks++] = args->options.block;
}

/* A level of fill, "full" for all of it; -2: neither. */
static int32_t read_level(const char *word) {
    char *end;
    if (!strcmp(word, "full")) return -1;
    long level = strtol(word, &end, 10);
    return end == word || *end || level < 0 || level > 1000000 ? -2 : (int32_t)level;
}

/* "0:5", "0,1,full". */
static int read_levels(cli_args *args, const char *list, stats_table *t) {
    char word[64];
    while (list) {
        next_word(&list, word);
        char *colon = strchr(word, ':');
        if (colon) *colon = '\0';
        int32_t from = read_level(word), to = colon ? read_level(colon + 1) : from;
        if (from == -2 || to == -2 || (colon && (from < 0 || to < from)))
            return cli_usage_error(args,
                                   "--levels '%s%s%s': expected levels of fill, as in 0:5 or "
                                   "0,1,full",
                                   word, colon ? ":" : "", colon ? colon + 1 : "");
        for (int32_t level = from; level <= to; level++) {
            if (t->levels == STATS_LEVELS)
                return cli_usage_error(args, "--levels: at most %d of them", STATS_LEVELS);
            t->level[t->levels++] = level;
        }
    }
    return 0;
}

static int read_lists(cli_args *args, stats_table *t) {
    int code = read_list(args, "strategy", args->strategies ? args->strategies : "auto", t,
                         &t->strategies, take_strategy);
    if (!code)
        code = read_list(args, "ordering", args->orderings ? args->orderings : "auto", t,
                         &t->orderings, take_ordering);
    if (!code)
        code =
            read_list(args, "block", args->blocks ? args->blocks : "32", t, &t->blocks, take_block);
    if (!code) code = read_levels(args, args->levels ? args->levels : "0:3", t);
    for (int k = 0; !code && k < t->orderings; k++)
        if (t->ordering[k] == MPK_ORDERING_GIVEN)
            code = cli_usage_error(args, "stats takes no order from a file");
    if (code || !args->scalar) return code;
    if (strcmp(args->scalar, "on") && strcmp(args->scalar, "off"))
        return cli_usage_error(args, "--scalar = '%s': expected on | off", args->scalar);
    t->scalar = !strcmp(args->scalar, "on");
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

static mpk_status compute(cli_args *args, stats_table *t) {
    mpk_problem *problem = NULL;
    mpk_job job = {0};
    mpk_status status = cli_matrix(args, &job) ? MPK_ERR_ARGUMENT : MPK_OK;
    if (mpk_failed(status)) return status;
    t->source = job.matrix ? job.matrix : job.generate;
    status = mpk_context_set_symmetry_tolerance(args->ctx, args->options.symmetry_tolerance);
    if (mpk_failed(status)) return status;
    status = job.matrix
                 ? mpk_problem_read(args->ctx, job.matrix, &problem)
                 : mpk_problem_generate(args->ctx, job.generate, args->options.seed, &problem);
    if (!mpk_failed(status)) mpk_problem_view_get(problem, &t->problem);
    for (int s = 0; s < t->strategies; s++)
        for (int o = 0; o < t->orderings; o++)
            for (int b = 0; !mpk_failed(status) && b < t->blocks; b++) {
                stats_run *run = &t->run[t->count];
                *run = (stats_run){t->strategy[s], t->ordering[o], t->block[b], {0}};
                args->options.strategy = run->strategy;
                args->options.ordering = run->ordering;
                args->options.block = run->block;
                args->options.level = t->level[t->levels - 1];
                status = mpk_block_statistics(args->ctx, problem, &args->options, t->level,
                                              t->levels, t->scalar, &run->stats);
                t->count += !mpk_failed(status);
            }
    t->options = args->options;
    mpk_problem_destroy(&problem);
    return status;
}

/* Write the table; returns 0, or the exit code if that fails. */
static int tell(cli_args *args, const stats_table *t) {
    const int code = args->plot ? stats_write_plot(args, t) : 0;
    if (code) return code;
    FILE *out = cli_result(args);
    if (!args->quiet) stats_write_text(t, out);
    cli_tell_written(args, out);
    if (args->json) stats_write_json(t, stdout);
    return 0;
}

/** metapack stats A: blocks, level sets and memory of blockings, by level of fill. */
int cmd_stats(cli_args *args) {
    stats_table t = {.scalar = true};
    cli_progress progress;
    const char *text = NULL;
    int code = read_lists(args, &t);
    if (code) return code;
    t.run = calloc((size_t)(t.strategies * t.orderings * t.blocks), sizeof *t.run);
    if (!t.run) return mpk_exit_code(MPK_ERR_MEMORY);
    cli_progress_begin(&progress, args->ctx, args->progress);
    mpk_status status = compute(args, &t);
    const int stopped = cli_progress_end(&progress, args->ctx);
    if (mpk_failed(status) && t.source) {
        mpk_last_error(args->ctx, NULL, NULL, &text);
        if (stopped) text = "interrupted";
        fprintf(stderr, "metapack stats: %s\n", text && *text ? text : mpk_status_text(status));
        cli_print_failure(args, status, text);
    } else if (!mpk_failed(status)) {
        code = tell(args, &t);
    }
    for (int k = 0; k < t.count; k++) mpk_block_stats_clear(args->ctx, &t.run[k].stats);
    free(t.run);
    if (!mpk_failed(status)) return code;
    return stopped ? CLI_SIGNALLED + stopped : mpk_exit_code(status);
}
