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

/* A word of the specification. The name of a file may have what parts words: that one in quotes. */
static void put_word(text *t, const char *word, bool quoted) {
    if (t->used) put(t, ' ');
    if (quoted) put(t, '"');
    for (; *word; word++) {
        if (*word == '"' && quoted) put(t, '"');
        put(t, *word);
    }
    if (quoted) put(t, '"');
}

/** metapack generate FAMILY [PARAMETERS] [-o FILE]: write a test matrix. */
int cmd_generate(cli_args *args) {
    text t = {.used = 0};
    if (!args->nwords)
        return cli_usage_error(args, "no family: give one, as in: metapack generate nlpkkt 20");
    const char *file = cli_generate_file(args);
    for (int k = 0; k < args->nwords; k++) { /* the file's is the word that ends where it does */
        const char *word = args->words[k];
        put_word(&t, word, file && word + strlen(word) == file + strlen(file));
    }
    if (t.used >= sizeof t.spec) return cli_usage_error(args, "the specification is too long");
    mpk_job job = {.struct_size = sizeof job,
                   .goal = MPK_GOAL_READ,
                   .generate = t.spec,
                   .output = args->output ? args->output : "-",
                   .most_bytes = args->force ? 0 : CLI_MOST_BYTES};
    return cli_run(args, &job, NULL);
}
