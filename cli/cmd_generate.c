/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack generate: a matrix of a family, to a file. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

typedef struct text {
    char spec[8192];
    size_t used;
} text;

static void put(text *t, char c) {
    if (t->used + 1 < sizeof t->spec) t->spec[t->used] = c;
    t->used++;
}

/* A word of the specification, in quotes: the name of a file may have what parts words. */
static void put_word(text *t, const char *word) {
    put(t, ' ');
    put(t, '"');
    for (; *word; word++) {
        if (*word == '"') put(t, '"');
        put(t, *word);
    }
    put(t, '"');
}

/** metapack generate FAMILY [PARAMETERS] [-o FILE]: write a test matrix. */
int cmd_generate(cli_args *args) {
    text t = {.used = 0};
    if (!args->nwords)
        return cli_usage_error(args, "no family: give one, as in: metapack generate nlpkkt 20");
    /* the first may be a whole specification, which says itself what parts it */
    for (const char *c = args->words[0]; *c; c++) put(&t, *c);
    for (int k = 1; k < args->nwords; k++) put_word(&t, args->words[k]);
    if (t.used >= sizeof t.spec) return cli_usage_error(args, "the specification is too long");
    mpk_job job = {.struct_size = sizeof job,
                   .goal = MPK_GOAL_READ,
                   .generate = t.spec,
                   .output = args->output ? args->output : "-",
                   .most_bytes = args->force ? 0 : CLI_MOST_BYTES};
    return cli_run(args, &job, NULL);
}
