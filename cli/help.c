/* SPDX-License-Identifier: BSD-3-Clause */
/* What --help prints of options, and the words of a report. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

enum { LEFT = 31, WIDTH = 100 };

/* "ldlt | llt | ldu: what the factorization makes", "most rows of a block; 32" */
static void describe(const cli_flag *f, char *out, size_t size) {
    const mpk_option *o = cli_flag_option(f);
    size_t used = 0;
    out[0] = '\0';
    if (!o || f->help) {
        snprintf(out, size, "%s", f->help);
        return;
    }
    for (int c = 0; c < o->count && used < size; c++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", o->words[c],
                                 c + 1 < o->count ? " | " : ": ");
    if (used < size) used += (size_t)snprintf(out + used, size - used, "%s", o->text);
    if (used < size && !strstr(o->text, "(default)")) {
        if (o->count)
            snprintf(out + used, size - used, "; default %s", o->words[(int)o->preset]);
        else
            snprintf(out + used, size - used, "; default %g", o->preset);
    }
}

/* Words from `column` on, broken at WIDTH and indented. */
static void wrap(int column, int indent, const char *text) {
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (column + 1 + length > WIDTH) column = printf("\n%*s", indent - 1, "") - 1;
        column += printf(" %.*s", length, text);
        text += length + strspn(text + length, " ");
    }
    printf("\n");
}

static void print_flag(const cli_flag *f) {
    char left[64], letter[8] = "    ", text[512];
    if (f->letter) snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, f->name,
             f->kind == CLI_OPTION_ON ? "[=WHEN]"
             : f->value               ? " "
                                      : "",
             f->value ? f->value : "");
    describe(f, text, sizeof text);
    wrap(printf("  %-28s", left), LEFT, text);
}

/* The options of solve under one heading: as names in a line or two. */
static const cli_flag *print_names(const cli_flag *heading) {
    char names[1024] = "";
    size_t used = 0;
    const cli_flag *f = heading + 1;
    for (; f->name && f->kind != CLI_HEADING; f++)
        if (f->commands & CLI_SOLVE && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s", used ? " " : "",
                                     f->name);
    printf("  %s:\n   ", heading->name);
    wrap(3, 4, names);
    return f;
}

void cli_print_options(const cli_args *args) {
    const bool grouped = args->command == CLI_SOLVE;
    const cli_flag *f = cli_flags;
    for (; f->name; f++) {
        if (f->kind == CLI_HEADING && grouped) {
            if (f != cli_flags && !args->all_options) break;
            printf("%s%s:\n", f == cli_flags ? "" : "\n", f->name);
        }
        if (f->commands & args->command) print_flag(f);
    }
    if (!f->name) return;
    printf("\nThe others, which metapack solve --help=all explains:\n");
    while (f->name) f = print_names(f);
}

void cli_print_report_words(void) {
    static const struct {
        const char *word, *text;
    } words[] = {
        {"attempts",
         "of method auto: the incomplete factorizations that it tried, and how far each came"},
        {"backward error",
         "the relative change of A and b that makes x exact: componentwise by each "
         "entry, normwise by the largest; about 1e-16 is all that rounding allows"},
        {"block", "rows and columns that are factorized together, as a dense matrix"},
        {"certified", "the counts of the inertia are A's whatever rounding did, shown by random "
                      "vectors with a chance of error below 2e-9; metapack inertia asks for it"},
        {"condition", "by how much a change of A and b may be larger in x"},
        {"delayed", "a column whose pivot was too small where it stood, and which is eliminated "
                    "later: it costs fill"},
        {"dropped", "entries of an incomplete factor that were left out, being small"},
        {"front", "a dense matrix in which the direct solver eliminates a few columns"},
        {"growth",
         "the largest pivot over the largest entry of A, both scaled: up to a few hundred "
         "is stable; a large one makes refinement work"},
        {"inertia", "how many eigenvalues are positive, negative, zero"},
        {"level set", "blocks that depend on earlier level sets alone, and are done at once"},
        {"matching",
         "a choice of large entries, one in each row and column, that scales A and pairs "
         "rows into 2x2 pivots"},
        {"perturbed", "a pivot that was too small and was replaced, as --static-shift asked"},
        {"pivot", "an entry, or block of two rows (2x2), that is divided by"},
        {"refinement", "solving again with the residual, which mends what rounding did"},
        {"residual",
         "|b - A x| / |b|: true, computed from x; recurred, as the iterative method has "
         "it; their gap is what rounding did"},
        {"scaling", "rows and columns are multiplied so that entries become alike in size"},
        {"singular", "A has no inverse: there is no solution, or more than one"},
        {"smallest", "the smallest pivot, of the scaled A"},
        {"stage", "of blocks: a round of pivoting, whose rejected blocks go to the next; of the "
                  "direct solver 1, or 2 where it matched and ordered the matrix anew"},
        {"supernode", "neighbouring columns of L with the same pattern"},
    };
    printf("What the words of a report mean\n\n");
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        wrap(printf("  %-15s", words[k].word), 18, words[k].text);
    printf("\nIts lines are explained in man metapack-solve, the keys of --json in "
           "docs/reference/json.md.\n");
}
