/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of metapack stats as one JSON object. */
#include "stats.h"

#include <inttypes.h>

static void write_level(const mpk_block_level *row, FILE *out) {
    if (row->level < 0)
        fprintf(out, "        { \"level\": \"full\"");
    else
        fprintf(out, "        { \"level\": %d", row->level);
    fprintf(out,
            ", \"blocks\": %" PRId64 ", \"capacity\": %" PRId64
            ", \"mean_block\": %.6g, \"levels\": %d, \"sublevels\": %d",
            row->blocks, row->capacity, row->mean_block, row->levels, row->sublevels);
    if (row->scalar_nnz >= 0)
        fprintf(out,
                ", \"scalar_nnz\": %" PRId64
                ", \"scalar_depth\": %d, \"mean_fill\": %.6g, \"memory_ratio\": %.6g",
                row->scalar_nnz, row->scalar_depth, row->mean_fill, row->memory_ratio);
    fprintf(out, ", \"time_s\": %.6f }", row->time_s);
}

static void write_run(const stats_run *run, FILE *out) {
    const mpk_block_stats *s = &run->stats;
    fprintf(out,
            "    { \"strategy\": \"%s\", \"ordering\": \"%s\", \"block\": %d,\n"
            "      \"block_rows\": %d, \"largest\": %d, \"mean_rows\": %.6g, \"input_fill\": %.6g, "
            "\"time_s\": %.6f,\n      \"levels\": [\n",
            mpk_option_word("strategy", s->strategy), mpk_ordering_name(s->ordering), run->block,
            s->block_rows, s->largest, s->mean_rows, s->input_fill, s->time_s);
    for (int k = 0; k < s->count; k++) {
        write_level(&s->row[k], out);
        fprintf(out, k + 1 < s->count ? ",\n" : "\n");
    }
    fprintf(out, "      ] }");
}

void stats_write_json(const stats_table *t, FILE *out) {
    fprintf(out, "{\n  \"schema\": \"metapack-stats/1\",\n  \"version\": \"%s\",\n  \"source\": ",
            mpk_version());
    cli_print_json_string(out, t->source);
    fprintf(out,
            ",\n  \"n\": %d,\n  \"nnz\": %" PRId64
            ",\n  \"grid\": %s,\n  \"matching\": \"%s\",\n  \"similarity\": %.6g,\n"
            "  \"similarity_end\": %.6g,\n  \"joining\": %s,\n"
            "  \"status\": \"ok\",\n  \"blockings\": [\n",
            t->problem.n, t->problem.nnz, t->options.grid == MPK_ON ? "true" : "false",
            mpk_option_word("matching", t->options.matching), t->options.similarity,
            t->options.similarity_end, t->options.joining == MPK_OFF ? "false" : "true");
    for (int k = 0; k < t->count; k++) {
        write_run(&t->run[k], out);
        fprintf(out, k + 1 < t->count ? ",\n" : "\n");
    }
    fprintf(out, "  ]\n}\n");
}
