/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    SWITCH,       /* present or not: a bool of cli_args */
    STRING,       /* a value: a const char * of cli_args */
    OPTION,       /* a value for mpk_options_set() */
    OPTION_ON,    /* the same; without =VALUE it means "on" */
    OPTION_BYTES, /* the same; the value may end in K, M, G, T or Ki, Mi, ... */
    OPTION_OFF    /* no value: --no-NAME sets NAME to "off" */
};

#define ALL                                                                                        \
    (CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA | CLI_INFO | CLI_GENERATE | CLI_CONVERT | CLI_STATS)
#define READ (CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA | CLI_INFO | CLI_CONVERT | CLI_STATS)
#define ORDER (CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA)
#define FACTOR (CLI_SOLVE | CLI_INERTIA)
#define BLOCKS (CLI_SOLVE | CLI_ANALYSE)
#define AT(field) offsetof(cli_args, field)

static const struct flag {
    const char *name;
    char letter;
    enum kind kind;
    unsigned commands;
    size_t offset; /* SWITCH, STRING */
    const char *value, *help;
} flags[] = {
    {"generate", 0, STRING, READ, AT(generate), "SPEC",
     "generate A, as in --generate \"nlpkkt 20\""},
    {"rhs", 'b', STRING, CLI_SOLVE, AT(rhs), "B", "right-hand sides; without it A times ones"},
    {"output", 'o', STRING, CLI_SOLVE, AT(output), "X", "write the solution (Matrix Market)"},
    {"output", 'o', STRING, CLI_GENERATE | CLI_CONVERT, AT(output), "FILE",
     "write to FILE: .mtx, .rb, each also .gz"},
    {"plot", 0, STRING, ORDER | CLI_INFO, AT(plot), "FILE.svg", "draw patterns and times"},
    {"plot", 0, STRING, CLI_STATS, AT(plot), "FILE.svg", "draw blocks and level sets"},
    {"dense", 0, STRING, CLI_SOLVE, AT(dense), "NAME",
     "dense: auto tile bunch-kaufman rook aasen butterfly none off"},
    {"methods", 0, STRING, CLI_BENCH, AT(strategies), "LIST",
     "of methods, see metapack-bench(1); all"},
    {"sizes", 0, STRING, CLI_BENCH, AT(blocks), "LIST", "of orders; 500,1000,2000, batch: 4 .. 64"},
    {"type", 0, STRING, CLI_BENCH, AT(scalar), "T", "s | d | c | z; d"},
    {"json", 0, SWITCH, ALL | CLI_BENCH | CLI_IPOPT | CLI_PETSC, AT(json), NULL,
     "one JSON object on standard output"},
    {"quiet", 'q', SWITCH, ALL | CLI_IPOPT | CLI_PETSC, AT(quiet), NULL,
     "no report on standard error"},
    {"progress", 0, SWITCH, ALL, AT(progress), NULL, "show progress from the start"},
    {"method", 0, OPTION, BLOCKS, 0, "NAME", "auto | ldlt | ildlt | jacobi | ilu0 | none"},
    {"method", 0, OPTION, CLI_INERTIA, 0, "NAME", "auto | ldlt"},
    {"ordering", 0, OPTION, ORDER, 0, "NAME",
     "auto | amd | nd | metis | scotch | rcm | gmc | given | natural"},
    {"strategy", 0, STRING, CLI_STATS, AT(strategies), "LIST", "br,rb,rbr or auto"},
    {"ordering", 0, STRING, CLI_STATS, AT(orderings), "LIST",
     "auto, amd, nd, metis, scotch, rcm, gmc, natural"},
    {"block", 0, STRING, CLI_STATS, AT(blocks), "LIST", "most rows of a block, 1 to 128; 32"},
    {"levels", 0, STRING, CLI_STATS, AT(levels), "LIST", "of fill: 0:5 or 0,1,full; 0:3"},
    {"scalar", 0, STRING, CLI_STATS, AT(scalar), "WHEN", "on | off: the scalar columns, too"},
    {"given-perm", 0, STRING, ORDER, AT(perm), "FILE", "the order for --ordering given"},
    {"matching", 0, OPTION, ORDER | CLI_STATS, 0, "WHEN",
     "on | off | auto: maximum-product matching"},
    {"model-threads", 0, OPTION, ORDER, 0, "N", "choose the order for a machine with N threads; 2"},
    {"scaling", 0, OPTION, ORDER, 0, "WHEN", "on | off | auto: symmetric scaling"},
    {"pivot-threshold", 0, OPTION, FACTOR, 0, "U", "0 <= U <= 0.5; |L| <= 1/U; 0.01"},
    {"zero-tolerance", 0, OPTION, FACTOR, 0, "T", "scaled pivots up to this count as zero"},
    {"static-shift", 0, OPTION, FACTOR, 0, "E", "perturb failed pivots to E ||A||; 0: never"},
    {"refine", 0, OPTION, CLI_SOLVE, 0, "N", "at most N steps of iterative refinement; 10"},
    {"accuracy", 0, OPTION, CLI_SOLVE, 0, "E", "componentwise backward error to reach"},
    {"condition", 0, OPTION_ON, CLI_SOLVE, 0, "WHEN", "estimate the condition number"},
    {"krylov", 0, OPTION, CLI_SOLVE, 0, "NAME",
     "auto none sqmr minres symmlq cg gmres fgmres bicgstab idr"},
    {"tolerance", 0, OPTION, CLI_SOLVE, 0, "E",
     "relative residual to reach; else as rounding allows"},
    {"max-iterations", 0, OPTION, CLI_SOLVE, 0, "N", "at most N iterations of --krylov; 1000"},
    {"restart", 0, OPTION, CLI_SOLVE, 0, "M", "gmres and fgmres restart after M steps; 50"},
    {"shadow", 0, OPTION, CLI_SOLVE, 0, "S", "idr's shadow space has S vectors; 4"},
    {"direct", 0, OPTION, CLI_SOLVE, 0, "WHEN", "on | off | auto: may --method auto be direct?"},
    {"no-direct", 0, OPTION_OFF, CLI_SOLVE, 0, NULL, "the same as --direct off"},
    {"strategy", 0, OPTION, BLOCKS, 0, "NAME", "auto | br | rb | rbr: how rows become blocks"},
    {"block", 0, OPTION, BLOCKS, 0, "N", "at most N rows in a block, 1 to 128; 32"},
    {"grid", 0, OPTION_ON, BLOCKS | CLI_STATS, 0, "WHEN", "all blocks of --block rows"},
    {"similarity", 0, OPTION, BLOCKS | CLI_STATS, 0, "C",
     "cosine from which rows share a block; 0.8"},
    {"level", 0, OPTION, CLI_SOLVE, 0, "K", "level of fill; -1: complete; 1"},
    {"fill-factor", 0, OPTION, CLI_SOLVE, 0, "F", "entries a row of L keeps, times A's; 0: all; 4"},
    {"drop-tolerance", 0, OPTION, CLI_SOLVE, 0, "T", "drop entries below T times their row; 1e-4"},
    {"factor-type", 0, OPTION, CLI_SOLVE, 0, "NAME", "ldlt | llt | ldu"},
    {"pivoting", 0, OPTION, CLI_SOLVE, 0, "NAME",
     "none | static | bk | rook | complete, in a block"},
    {"stages", 0, OPTION, CLI_SOLVE, 0, "N", "stages of outer pivoting; 1: none"},
    {"butterfly", 0, OPTION_ON, CLI_SOLVE, 0, "WHEN", "random butterflies on rejected blocks"},
    {"schedule", 0, OPTION, CLI_SOLVE, 0, "NAME", "pull | subsets | atomic | jacobi"},
    {"sweeps", 0, OPTION, CLI_SOLVE, 0, "N", "sweeps of --schedule jacobi; 8"},
    {"jacobi-epsilon", 0, OPTION, CLI_SOLVE, 0, "E", "damping of its pivots; 0.1"},
    {"jacobi-decay", 0, OPTION, CLI_SOLVE, 0, "D", "of the damping, a sweep; 0.95"},
    {"shift", 0, OPTION, CLI_SOLVE, 0, "S", "added to the scaled diagonal, with its sign"},
    {"precision", 0, OPTION, CLI_SOLVE, 0, "NAME", "double | single: of the stored factor"},
    {"solve-sweeps", 0, OPTION, CLI_SOLVE, 0, "N", "triangular solves by N sweeps; 0: exact"},
    {"threads", 0, OPTION, ORDER | CLI_STATS | CLI_BENCH, 0, "N",
     "0: OMP_NUM_THREADS, else all cores"},
    {"deterministic", 0, OPTION_ON, ORDER, 0, "WHEN", "the same bits for any number of threads"},
    {"memory-limit", 0, OPTION_BYTES, ORDER | CLI_STATS, 0, "BYTES",
     "refuse what needs more, as in 8G"},
    {"seed", 0, OPTION, ALL | CLI_BENCH, 0, "N", "of everything random; 1"},
    {"help", 'h', SWITCH, ALL | CLI_BENCH | CLI_IPOPT | CLI_PETSC, AT(help), NULL, "this text"},
};
enum { FLAGS = sizeof flags / sizeof *flags };

void cli_print_options(const cli_args *args) {
    for (int k = 0; k < FLAGS; k++) {
        const struct flag *f = &flags[k];
        if (!(f->commands & args->command)) continue;
        char left[64], letter[8] = "    ";
        if (f->letter) snprintf(letter, sizeof letter, "-%c, ", f->letter);
        snprintf(left, sizeof left, "%s--%s%s%s%s", letter, f->name,
                 f->kind == OPTION_ON ? "[="
                 : f->value           ? " "
                                      : "",
                 f->value ? f->value : "", f->kind == OPTION_ON ? "]" : "");
        printf("  %-28s %s\n", left, f->help);
    }
}

/* ---- what is wrong -----------------------------------------------------------------------------
 */

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
    int least = (int)strlen(word) / 3 + 2; /* further away is no misspelling */
    for (; *words; words++) {
        bool begins = strlen(word) >= 3 && !strncmp(*words, word, strlen(word));
        int far = begins ? 1 : distance(word, *words);
        if (far < least) {
            least = far;
            nearest = *words;
        }
    }
    return nearest;
}

static int unknown(const cli_args *args, const char *name) {
    const char *names[FLAGS + 1];
    int count = 0;
    for (int k = 0; k < FLAGS; k++) {
        if (flags[k].commands & args->command)
            names[count++] = flags[k].name;
        else if (!strcmp(flags[k].name, name))
            return cli_usage_error(args, "option --%s does not belong to '%s'", name, args->name);
    }
    names[count] = NULL;
    const char *near = cli_nearest(name, names);
    if (near) return cli_usage_error(args, "unknown option --%s; did you mean --%s?", name, near);
    return cli_usage_error(args, "unknown option --%s", name);
}

/* ---- one flag ----------------------------------------------------------------------------------
 */

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

static int apply(cli_args *args, const struct flag *f, const char *value) {
    char *field = (char *)args + f->offset;
    switch (f->kind) {
    case SWITCH:
        *(bool *)field = true;
        return 0;
    case STRING:
        if (!*value) return cli_usage_error(args, "option --%s needs a value", f->name);
        *(const char **)field = value;
        return 0;
    case OPTION_BYTES:
        return set_bytes(args, f->name, value);
    case OPTION_OFF:
        return set_option(args, f->name + strlen("no-"), "off");
    default:
        return set_option(args, f->name, value ? value : "on");
    }
}

static const struct flag *find(const cli_args *args, const char *name, size_t length, char letter) {
    for (int k = 0; k < FLAGS; k++) {
        const struct flag *f = &flags[k];
        if (!(f->commands & args->command)) continue;
        if (letter ? f->letter == letter
                   : strlen(f->name) == length && !strncmp(f->name, name, length))
            return f;
    }
    return NULL;
}

static bool needs_value(const struct flag *f) {
    return f->kind != SWITCH && f->kind != OPTION_ON && f->kind != OPTION_OFF;
}

/* argv[*k] is "--name", "--name=value" or "-xvalue"; a value may also be the word after it. */
static int parse_one(cli_args *args, int argc, char **argv, int *k) {
    const char *word = argv[*k], *value = NULL;
    const struct flag *f;
    char name[64];
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
        f = find(args, word + 2, length, 0);
        if (word[2 + length]) value = word + 3 + length;
        if (!f) return unknown(args, name);
        if (value && (f->kind == SWITCH || f->kind == OPTION_OFF))
            return cli_usage_error(args, "option --%s takes no value", f->name);
    } else {
        f = find(args, NULL, 0, word[1]);
        if (!f) return cli_usage_error(args, "unknown option -%c", word[1]);
        if (word[2] && f->kind == SWITCH)
            return cli_usage_error(args, "option -%c takes no value", word[1]);
        if (word[2]) value = word + (word[2] == '=' ? 3 : 2);
    }
    if (!value && needs_value(f)) {
        if (*k + 1 >= argc) return cli_usage_error(args, "option --%s needs a value", f->name);
        value = argv[++*k];
    }
    return apply(args, f, value);
}

/* "-" is standard input and "-0.5" a number: neither is an option. */
static bool is_option(const char *word) {
    return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

int cli_parse(cli_args *args, int argc, char **argv) {
    bool options = true;
    /* known before anything is told, wherever it stands */
    for (int k = 0; k < argc && strcmp(argv[k], "--"); k++)
        if (!strcmp(argv[k], "--json")) args->json = true;
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
