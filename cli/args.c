/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line: options, their values, and errors in them. */
#include "cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is wrong --------------------------------------------------------------------------- */

void cli_print_failure(const cli_args *args, mpk_status status, const char *message) {
    mpk_report *report = NULL;
    mpk_run run = {.status = status, .message = message};
    if (args->json && mpk_report_create(args->ctx, &run, &report) == MPK_OK)
        fputs(mpk_report_json(report), stdout);
    mpk_report_destroy(&report);
}

int cli_usage_error(const cli_args *args, const char *format, ...) {
    char message[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    fprintf(stderr, "metapack%s%s: %s\n", args->name ? " " : "", args->name ? args->name : "",
            message);
    fprintf(stderr, "Try: metapack %s%s--help\n", args->name ? args->name : "",
            args->name ? " " : "");
    cli_print_failure(args, MPK_ERR_ARGUMENT, message);
    return CLI_EXIT_USAGE;
}

/* Fewest insertions, deletions, changes and swaps of neighbours that turn a into b. */
static int distance(const char *a, const char *b) {
    enum { MOST = 32 };
    int la = (int)strlen(a), lb = (int)strlen(b), d[MOST + 1][MOST + 1];
    if (la > MOST || lb > MOST) return MOST;
    for (int i = 0; i <= la; i++) {
        for (int j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[la][lb];
}

const char *cli_nearest(const char *word, const char *const *words) {
    const char *nearest = NULL;
    int least = (int)strlen(word) / 3 + 2; /* a larger distance is not a misspelling */
    for (; *words; words++) {
        bool begins = strlen(word) >= 3 && !strncmp(*words, word, strlen(word));
        int far = begins ? 1 : distance(word, *words);
        bool shorter = nearest && begins && far == least && strlen(*words) < strlen(nearest);
        if (far == (int)strlen(*words)) continue; /* not a letter in common */
        if (far < least || shorter) {
            least = far;
            nearest = *words;
        }
    }
    return nearest;
}

static int unknown(const cli_args *args, const char *name) {
    enum { MOST = 160 };
    const char *names[MOST];
    int count = 0;
    for (const cli_flag *f = cli_flags; f->name && count < MOST - 1; f++) {
        if (f->commands & args->command) names[count++] = f->name;
    }
    for (const cli_flag *f = cli_flags; f->name; f++) {
        if (f->kind != CLI_HEADING && !strcmp(f->name, name))
            return cli_usage_error(args, "option --%s does not belong to '%s'", name, args->name);
    }
    names[count] = NULL;
    const char *near = cli_nearest(name, names);
    if (near) return cli_usage_error(args, "unknown option --%s; did you mean --%s?", name, near);
    return cli_usage_error(args, "unknown option --%s", name);
}

/* ---- one flag -------------------------------------------------------------------------------- */

static int set_option(cli_args *args, const char *name, const char *value) {
    if (mpk_options_set(args->ctx, &args->options, name, value) == MPK_OK) return 0;
    const char *text;
    mpk_last_error(args->ctx, NULL, NULL, &text);
    return cli_usage_error(args, "--%s", text);
}

/* "8G" -> 8e9, "8GiB" -> 8 * 2^30 */
static int set_bytes(cli_args *args, const char *name, const char *value) {
    static const char prefix[] = "KMGT";
    char *end, digits[40];
    double bytes = strtod(value, &end);
    const char *mark = end > value && *end ? strchr(prefix, toupper((unsigned char)*end)) : NULL;
    if (mark) {
        bool binary = end[1] == 'i';
        end += binary ? 2 : 1;
        for (const char *p = prefix; p <= mark; p++) bytes *= binary ? 1024 : 1000;
    }
    if (*end == 'B') end++;
    if (end == value || *end)
        return cli_usage_error(args, "--%s = '%s': expected bytes, as in 8G", name, value);
    snprintf(digits, sizeof digits, "%.17g", bytes);
    return set_option(args, name, digits);
}

static int apply(cli_args *args, const cli_flag *f, const char *value) {
    char *field = (char *)args + f->offset;
    const mpk_option *option = cli_flag_option(f);
    for (int k = 0; option && mpk_option_at(k); k++)
        if (mpk_option_at(k) == option) args->typed[k / 64] |= UINT64_C(1) << k % 64;
    switch (f->kind) {
    case CLI_SWITCH:
        *(bool *)field = true;
        return 0;
    case CLI_HEADING:
        return 0;
    case CLI_STRING:
    case CLI_INPUT:
    case CLI_VECTORS:
    case CLI_MATRIX:
    case CLI_PICTURE:
    case CLI_TRACE:
    case CLI_EVENTS:
    case CLI_SAVED:
    case CLI_TREE:
    case CLI_PAGE:
    case CLI_TABLE:
        if (!*value) return cli_usage_error(args, "option --%s needs a value", f->name);
        *(const char **)field = value;
        return 0;
    case CLI_OPTION_BYTES:
        return set_bytes(args, f->name, value);
    case CLI_OPTION_OFF:
        return set_option(args, f->name + strlen("no-"), "off");
    default:
        return set_option(args, f->name, value ? value : "on");
    }
}

static const cli_flag *find(const cli_args *args, const char *name, size_t length, char letter) {
    for (const cli_flag *f = cli_flags; f->name; f++) {
        if (!(f->commands & args->command)) continue;
        if (letter ? f->letter == letter
                   : strlen(f->name) == length && !strncmp(f->name, name, length))
            return f;
    }
    return NULL;
}

static bool needs_value(const cli_flag *f) {
    return f->kind != CLI_SWITCH && f->kind != CLI_OPTION_ON && f->kind != CLI_OPTION_OFF;
}

/* "-qo x", "-ox": letters of switches, and at the end one that may take a value. */
static int parse_letters(cli_args *args, const char *letters, const char **value,
                         const cli_flag **flag) {
    for (;; letters++) {
        const cli_flag *f = find(args, NULL, 0, *letters);
        if (!f) return cli_usage_error(args, "unknown option -%c", *letters);
        *flag = f;
        if (!letters[1]) return 0;
        if (f->kind != CLI_SWITCH) {
            *value = letters + (letters[1] == '=' ? 2 : 1);
            return 0;
        }
        if (letters[1] == '=' || isdigit((unsigned char)letters[1]))
            return cli_usage_error(args, "option -%c takes no value", *letters);
        const int code = apply(args, f, NULL);
        if (code) return code;
    }
}

/* argv[*k] is "--name", "--name=value" or "-xvalue"; a value may also be the word after it. */
static int parse_one(cli_args *args, int argc, char **argv, int *k) {
    const char *word = argv[*k], *value = NULL;
    const cli_flag *f = NULL;
    char name[64];
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
        f = find(args, word + 2, length, 0);
        if (word[2 + length]) value = word + 3 + length;
        if (!f) return unknown(args, name);
        if (value && !strcmp(name, "help") && !strcmp(value, "all")) {
            args->all_options = true;
            value = NULL;
        }
        if (value && (f->kind == CLI_SWITCH || f->kind == CLI_OPTION_OFF))
            return cli_usage_error(args, "option --%s takes no value", f->name);
    } else {
        const int code = parse_letters(args, word + 1, &value, &f);
        if (code) return code;
    }
    if (!value && needs_value(f)) {
        if (*k + 1 >= argc) return cli_usage_error(args, "option --%s needs a value", f->name);
        value = argv[++*k];
    }
    return apply(args, f, value);
}

int cli_check_read(const cli_args *args) {
    const mpk_option *o;
    mpk_options options = args->options;
    uint64_t asked[2];
    cli_asked(args, asked);
    if (args->command != CLI_SOLVE && options.method == MPK_METHOD_AUTO)
        options.method = MPK_METHOD_LDLT;
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        char name[64], why[512] = "";
        if (!(asked[k / 64] >> k % 64 & 1)) continue;
        snprintf(name, sizeof name, "%s", o->key);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = '-';
        if (!mpk_option_is_read(o, &options, why, sizeof why))
            return cli_usage_error(args, "option --%s is %s", name, why);
    }
    return 0;
}

/* "-" is standard input and "-0.5" a number: neither is an option. */
static bool is_option(const char *word) {
    return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

void cli_asked(const cli_args *args, uint64_t asked[2]) {
    const mpk_option *o;
    asked[0] = args->typed[0], asked[1] = args->typed[1];
    for (int k = 0; args->generate && (o = mpk_option_at(k)); k++)
        if (!strcmp(o->key, "seed"))
            asked[k / 64] &= ~(UINT64_C(1) << k % 64); /* the generator reads it */
}

int cli_parse(cli_args *args, int argc, char **argv) {
    bool options = true;
    /* --json is looked for first: errors in other options depend on it */
    for (int k = 0; k < argc && strcmp(argv[k], "--"); k++)
        if (!strcmp(argv[k], "--json")) args->json = true;
    for (int k = 0; k < argc && strcmp(argv[k], "--"); k++)
        if (!strcmp(argv[k], "--version") || !strcmp(argv[k], "-V")) args->version = true;
    if (args->version) return 0;
    for (int k = 0; k < argc; k++) {
        if (options && !strcmp(argv[k], "--")) {
            options = false;
        } else if (options && is_option(argv[k])) {
            int code = parse_one(args, argc, argv, &k);
            if (code) return code;
        } else if (args->nwords == CLI_WORDS_MAX) {
            return cli_usage_error(args, "too many words");
        } else {
            args->words[args->nwords++] = argv[k];
        }
    }
    return 0;
}
