/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of metapack stats as text. */
#include "stats.h"

#include <inttypes.h>
#include <string.h>

/* 1 062 400 */
static const char *grouped(char *out, int64_t count) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, count), at = 0;
    for (int k = 0; k < length; k++) {
        if (k && (length - k) % 3 == 0) out[at++] = ' ';
        out[at++] = digits[k];
    }
    out[at] = '\0';
    return out;
}

static void write_level(const stats_run *run, const mpk_block_level *row, FILE *out) {
    char level[16], a[40], b[40];
    int64_t n = run->block, area = n * n;
    snprintf(level, sizeof level, row->level < 0 ? "full" : "%d", row->level);
    fprintf(out, "  %5s %11s %7.1f %7d %9d", level, grouped(a, row->blocks), row->mean_block,
            row->levels, row->sublevels);
    if (row->scalar_nnz >= 0)
        fprintf(out, " %6.1f%% %13s %6d %6.2f %8s %8" PRId64, 100 * row->mean_fill,
                grouped(a, row->scalar_nnz), row->scalar_depth, row->memory_ratio,
                grouped(b, (row->scalar_nnz + area - 1) / area), (row->scalar_depth + n - 1) / n);
    fprintf(out, "\n");
}

static void write_run(const stats_table *t, const stats_run *run, FILE *out) {
    char a[40], strategy[32], ordering[32];
    const mpk_block_stats *s = &run->stats;
    fprintf(out,
            "\n%s, %s, blocks of %s %d: %s on the diagonal, %.1f rows on average, A fills %.1f%%; "
            "%.2f s\n",
            stats_upper(strategy, mpk_option_word("strategy", s->strategy)),
            stats_upper(ordering, mpk_ordering_name(s->ordering)),
            t->options.grid == MPK_ON ? "exactly" : "up to", run->block, grouped(a, s->block_rows),
            s->mean_rows, 100 * s->input_fill, s->time_s);
    fprintf(out, "  level      blocks entries  levels sublevels%s\n",
            t->scalar ? "    fill    scalar nnz  depth memory >=blocks >=levels" : "");
    for (int k = 0; k < s->count; k++) write_level(run, &s->row[k], out);
}

void stats_write_text(const stats_table *t, FILE *out) {
    char n[40], nnz[40];
    const char *source = t->source;
    size_t length = strlen(source);
    fprintf(out, "%s%s: n = %s, %s entries%s\n", length > 50 ? "..." : "",
            length > 50 ? source + length - 47 : source, grouped(n, t->problem.n),
            grouped(nnz, t->problem.nnz),
            t->problem.symmetry == MPK_GENERAL
                ? ", not symmetric: L alone, of the pattern with its transpose"
                : " in the lower triangle");
    for (int k = 0; k < t->count; k++) write_run(t, &t->run[k], out);
}
