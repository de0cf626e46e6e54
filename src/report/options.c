/* SPDX-License-Identifier: BSD-3-Clause */
/* The options in force: what the method implies, and what auto became. */
#include "report.h"
#include "../analysis/block/block.h"

#include <string.h>

void mpki_options_in_force(const mpk_run *run, mpk_options *o) {
    const bool blocks = run->block.block_rows > 0;
    if (run->problem.symmetry == MPK_GENERAL) mpki_imply_general(o, !blocks);
    if (o->method == MPK_METHOD_AUTO && run->have_analysis)
        o->method = blocks ? MPK_METHOD_ILDLT : MPK_METHOD_LDLT;
    mpki_imply_options(o);
    if (blocks) {
        o->strategy = run->block.strategy;
        o->ordering = run->block.ordering;
        o->schedule = run->block.schedule;
    } else if (run->have_analysis) {
        o->ordering = run->analysis.ordering;
    }
    if (run->have_factor) o->threads = run->factor.threads;
    if (run->have_solve)
        o->krylov =
            run->solve.krylov.method > MPK_KRYLOV_NONE ? run->solve.krylov.method : MPK_KRYLOV_NONE;
}

bool mpki_option_in_force(const mpk_option *option, const mpk_run *run) {
    return mpk_option_is_read(option, &run->options, NULL, 0) &&
           (!option->krylov || run->have_solve);
}

/* Is an option to be listed for somebody who wants to repeat the run: one that is not at its
 * default, or that only methods on blocks have? Not those that are about the machine. */
static bool worth_telling(const mpk_option *option, const mpk_run *run) {
    const bool changed = option->kind == MPK_OPTION_INT64
                             ? mpk_option_integer(option, &run->options) != (int64_t)option->preset
                             : mpk_option_value(option, &run->options) != option->preset;
    const bool is_switch = option->count && !strcmp(option->words[0], "off");
    const bool of_blocks = !(option->methods >> MPK_METHOD_LDLT & 1) && !is_switch;
    if (!strcmp(option->key, "threads") || !strcmp(option->key, "memory_limit")) return false;
    return mpki_option_in_force(option, run) && (changed || of_blocks);
}

/* "--drop-tolerance 0.0001", "--grid=on" */
static int show(const mpk_option *o, const mpk_run *run, char *out, size_t size) {
    const int64_t whole = mpk_option_integer(o, &run->options);
    const bool is_switch = o->count && !strcmp(o->words[0], "off");
    int used = mpki_print(out, size, "--%s%s", o->key, is_switch ? "=" : " ");
    for (char *c = out + 2; *c; c++)
        if (*c == '_') *c = '-';
    out += used, size -= (size_t)used;
    if (o->count) return used + mpki_print(out, size, "%s", mpk_option_word(o->key, (int)whole));
    if (o->kind != MPK_OPTION_REAL) return used + mpki_print(out, size, "%lld", (long long)whole);
    return used + mpki_print(out, size, "%.15g", mpk_option_value(o, &run->options));
}

const mpk_option *mpki_options_by_hand(const mpk_run *run, int *at, int width, char *out,
                                       size_t size) {
    const mpk_option *o, *shown = NULL;
    int used = 0;
    out[0] = '\0';
    for (; (o = mpk_option_at(*at)); ++*at) {
        char word[96];
        if (!worth_telling(o, run)) continue;
        const int length = show(o, run, word, sizeof word);
        if (shown && used + 1 + length > width) break;
        used += mpki_print(out + used, size - (size_t)used, "%s%s", shown ? " " : "", word);
        shown = o;
    }
    return shown;
}
