/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of choices, and their text form. */
#include "setup.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const path_names[PATHS] = {"direct", "direct-krylov", "refactorize", "adaptive",
                                              "ildlt",  "jacobi",        "ilu0",        "none",
                                              "krylov", "dense",         "batch"};

const char *path_name(int path) {
    return path_names[path];
}

int path_find(const char *name) {
    for (int k = 0; k < PATHS; k++)
        if (!strcmp(path_names[k], name)) return k;
    return -1;
}

enum kind { WORD, INTEGER, INT64, REAL };
static const struct choice {
    const char *key;
    enum kind kind;
    size_t offset;
} table[] = {
#define O(kind, field)                                                                             \
    { #field, kind, offsetof(setup, options) + offsetof(mpk_options, field) }
#define S(kind, field)                                                                             \
    { #field, kind, offsetof(setup, field) }
    O(WORD, matching),        O(WORD, scaling),
    O(REAL, pivot_threshold), O(REAL, zero_tolerance),
    O(REAL, static_shift),    O(INTEGER, threads),
    O(INTEGER, refine),       O(REAL, accuracy),
    O(WORD, deterministic),   O(WORD, condition),
    O(INT64, seed),           O(WORD, krylov),
    O(REAL, tolerance),       O(INTEGER, max_iterations),
    O(INTEGER, restart),      O(INTEGER, shadow),
    O(WORD, direct),          O(WORD, strategy),
    O(INTEGER, block),        O(WORD, grid),
    O(REAL, similarity),      O(REAL, similarity_end),
    O(INTEGER, level),        O(REAL, fill_factor),
    O(REAL, drop_tolerance),  O(WORD, factor_type),
    O(WORD, pivoting),        O(INTEGER, stages),
    O(WORD, butterfly),       O(WORD, schedule),
    O(INTEGER, sweeps),       O(REAL, jacobi_epsilon),
    O(REAL, jacobi_decay),    O(REAL, shift),
    O(WORD, precision),       O(INTEGER, solve_sweeps),
    O(WORD, device),          S(INTEGER, triplets),
    S(INTEGER, triangle),     S(INT64, mix),
    S(INT64, twice),          S(INT64, junk),
    S(INTEGER, null),         S(INTEGER, replace),
    S(INT64, before),         S(INT64, order),
    S(INTEGER, rounds),       S(INT64, analysed),
    S(INTEGER, other),        S(INTEGER, elsewhere),
    S(INTEGER, child),        S(INTEGER, whole),
    S(INTEGER, lead),         S(INTEGER, in_place),
    S(INTEGER, spoil),        S(INTEGER, spoil_with),
    S(INTEGER, spoil_at),     S(INTEGER, check),
    S(INTEGER, guess),        S(INTEGER, diagonal),
    S(INTEGER, dense_method), S(INTEGER, dense_precision),
    S(INTEGER, upper),        S(INTEGER, apart),
    S(INTEGER, tile),         S(INTEGER, depth),
    S(INTEGER, refinement),   S(INTEGER, batch_method),
    S(INTEGER, layout),       S(INTEGER, copies),
#undef O
#undef S
};
enum { CHOICES = sizeof table / sizeof *table };

void setup_default(setup *s) {
    *s = (setup){.check = 8, .depth = 2, .copies = 1, .rounds = 1};
    mpk_options_init(&s->options);
    s->options.threads = 1;
}

static size_t field_size(enum kind kind) {
    return kind == INT64 ? sizeof(int64_t) : kind == REAL ? sizeof(double) : sizeof(int);
}

void setup_text(const setup *s, char text[SETUP_TEXT]) {
    setup plain;
    size_t used = 0;
    setup_default(&plain);
    text[0] = 0;
    for (int k = 0; k < CHOICES; k++) {
        const struct choice *c = &table[k];
        const char *at = (const char *)s + c->offset;
        char value[64];
        if (!memcmp(at, (const char *)&plain + c->offset, field_size(c->kind))) continue;
        if (c->kind == WORD)
            snprintf(value, sizeof value, "%s", mpk_option_word(c->key, *(const int *)at));
        else if (c->kind == REAL)
            snprintf(value, sizeof value, "%.17g", *(const double *)at);
        else if (c->kind == INT64)
            snprintf(value, sizeof value, "%" PRId64, *(const int64_t *)at);
        else
            snprintf(value, sizeof value, "%d", *(const int *)at);
        used += (size_t)snprintf(text + used, SETUP_TEXT - used, "%s%s=%s", used ? " " : "", c->key,
                                 value);
        if (used >= SETUP_TEXT) return;
    }
}

static int set_one(setup *s, const char *key, const char *value) {
    for (int k = 0; k < CHOICES; k++) {
        const struct choice *c = &table[k];
        char *at = (char *)s + c->offset;
        if (strcmp(c->key, key)) continue;
        if (c->kind == WORD) {
            for (int word = 0; word < 16; word++)
                if (!strcmp(mpk_option_word(key, word), value)) {
                    *(int *)at = word;
                    return 1;
                }
            return 0;
        }
        if (c->kind == REAL)
            *(double *)at = strtod(value, NULL);
        else if (c->kind == INT64)
            *(int64_t *)at = strtoll(value, NULL, 10);
        else
            *(int *)at = (int)strtol(value, NULL, 10);
        return 1;
    }
    return 0;
}

int setup_parse(setup *s, const char *text) {
    setup_default(s);
    while (*text) {
        char key[64], value[64];
        int used = 0;
        if (sscanf(text, " %63[a-z0-9_]=%63s%n", key, value, &used) != 2) return 0;
        if (!set_one(s, key, value)) return 0;
        text += used;
    }
    return 1;
}

int setup_reset(setup *s, int number) {
    setup plain;
    if (number >= CHOICES) return -1;
    /* what the entries are is no choice, nor which of them count then */
    const size_t offset = table[number].offset;
    if (offset == offsetof(setup, whole)) return 0;
    if (offset == offsetof(setup, triangle) && s->whole) return 0;
    setup_default(&plain);
    char *at = (char *)s + table[number].offset;
    const char *to = (const char *)&plain + table[number].offset;
    if (!memcmp(at, to, field_size(table[number].kind))) return 0;
    memcpy(at, to, field_size(table[number].kind));
    return 1;
}

void setup_permutation(const setup *s, int32_t n, int32_t *perm) {
    random_state r = random_start((uint64_t)s->order, 3);
    for (int32_t k = 0; k < n; k++) perm[k] = k;
    for (int32_t k = n - 1; k > 0; k--) {
        const int32_t other = random_below(&r, k + 1), kept = perm[k];
        perm[k] = perm[other];
        perm[other] = kept;
    }
}
