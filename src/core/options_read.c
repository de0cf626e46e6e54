/* SPDX-License-Identifier: BSD-3-Clause */
/* Who reads an option: by the table, and by what other options make idle. */
#include "core.h"
#include "sizes.h"

#include <stdio.h>
#include <string.h>

#define K(name) (1u << MPK_KRYLOV_##name)
#define M(name) (1u << MPK_METHOD_##name)

static bool is(const mpk_option *o, const char *key) {
    return !strcmp(o->key, key);
}

/* The Krylov methods that may run with these options, as bits; none: refinement.
 * general: as of mpki_option_is_read(). Not of method auto. */
static unsigned krylov_of(const mpk_options *o, int general) {
    if (o->krylov != MPK_KRYLOV_AUTO) return 1u << ((unsigned)o->krylov & 31);
    if (o->method == MPK_METHOD_LDLT) return K(NONE);
    /* of a matrix that is not symmetric these two come to LDU, and to GMRES, by themselves */
    const bool either = o->method == MPK_METHOD_ILU0 || o->method == MPK_METHOD_NONE;
    const bool ldu = o->factor_type == MPK_TYPE_LDU && o->method < MPK_METHOD_DIAGONAL;
    if (ldu || (either && general == 1)) return K(GMRES);
    return K(SQMR) | (either && general ? K(GMRES) : 0);
}

/* Are blocks computed in sweeps? */
static bool in_sweeps(const mpk_options *o) {
    const bool free_choice = o->method == MPK_METHOD_AUTO || o->method == MPK_METHOD_ILDLT ||
                             o->method == MPK_METHOD_ILU0;
    return o->method == MPK_METHOD_JACOBI || (free_choice && o->schedule == MPK_SCHEDULE_JACOBI);
}

/* Of approximate inverses: what another option of theirs makes idle; "" where nothing does. */
static const char *idle_inverses(const mpk_option *o, const mpk_options *options) {
    const bool measured = options->triangular == MPK_TRIANGULAR_AUTO;
    const bool isai = options->triangular == MPK_TRIANGULAR_ISAI || measured;
    const bool blocks = options->isai_pattern == MPK_ISAI_OF_BLOCKS;
    if (is(o, "solve_sweeps") && isai)
        return measured ? "not read by triangular auto" : "not read by triangular isai";
    if (strncmp(o->key, "isai_", 5)) return "";
    if (!isai) return "read by triangular isai and auto alone";
    if (is(o, "isai_block") && !blocks) return "read by isai_pattern blocks alone";
    if (is(o, "isai_power") && blocks) return "not read by isai_pattern blocks";
    return is(o, "isai_over") && options->isai_limit == 0 ? "not read without isai_limit" : "";
}

/* What another option makes idle; "" where nothing does. chosen: method auto sets the parameters of
 * its ladder. */
static const char *idle(const mpk_option *o, const mpk_options *options, bool chosen) {
    /* who shares what other blocks left of their capacity */
    const bool stored =
        (chosen && options->method != MPK_METHOD_LDLT) ||
        ((options->method == MPK_METHOD_ILDLT || options->method == MPK_METHOD_JACOBI) &&
         options->fill_factor > 0);
    if (options->device == MPK_ON_CPU &&
        (is(o, "device_number") || is(o, "device_memory_limit") || is(o, "fp64_emulation")))
        return "read by device cuda and auto alone";
    if (is(o, "deterministic") && options->deterministic == MPK_OFF && !stored)
        return "off for methods ildlt and jacobi with a fill_factor alone: all else is "
               "deterministic anyway";
    const bool no_order =
        options->method == MPK_METHOD_NONE || options->method == MPK_METHOD_DIAGONAL;
    if (is(o, "seed") && no_order && options->krylov != MPK_KRYLOV_IDR)
        return "not read: nothing is random here";
    if (chosen || options->method == MPK_METHOD_LDLT) return idle_inverses(o, options);
    if (is(o, "pivot_threshold") && options->stages == 1)
        return "not read with stages 1, which rejects no pivot";
    if (is(o, "block_tolerance") && options->block == 1) return "not read with block 1";
    if (is(o, "block_tolerance") && options->triangular >= MPK_TRIANGULAR_ISAI)
        return "read where triangles are solved with, by triangular exact and jacobi alone";
    if ((is(o, "jacobi_push") || is(o, "jacobi_judge")) && options->stages == 1)
        return "not read with stages 1, which pushes nothing back";
    if (is(o, "level_rule") && options->level < 2) return "read from level 2 on alone";
    if (is(o, "drop_norm") && options->drop_tolerance == 0)
        return "not read without drop_tolerance";
    if (is(o, "capacity_rule") && options->fill_factor == 0) return "not read without fill_factor";
    return idle_inverses(o, options);
}

/* "ldlt, ildlt and none" */
static const char *list(char *out, size_t size, const char *key, unsigned bits) {
    int left = __builtin_popcount(bits);
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < 32; k++) {
        if (!(bits >> k & 1)) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", mpk_option_word(key, k),
                                 left > 2    ? ", "
                                 : left == 2 ? " and "
                                             : "");
        left--;
    }
    return out;
}

enum { LIST = 160, TEXT = 3 * LIST }; /* all words of a choice fit */

/* Why an option is not read by these ones, of which the method is not auto; "": it is. */
static void judge(const mpk_option *o, const mpk_options *options, int general, bool chosen,
                  char text[TEXT]) {
    char who[LIST], with[LIST];
    const unsigned methods = o->methods & ~MPK_READ_DENSE, all = (2u << MPK_KRYLOV_IDR) - 1;
    const unsigned krylov = krylov_of(options, general);
    const char *const method = chosen ? "auto" : mpk_method_name(options->method);
    const bool sweeps = in_sweeps(options);
    text[0] = '\0';
    if (!(methods >> ((unsigned)options->method & 31) & 1))
        snprintf(text, TEXT, "not read by method %s, but by %s", method,
                 list(who, sizeof who, "method", methods));
    else if ((o->schedule > 0 && !sweeps) || (o->schedule < 0 && sweeps && !chosen))
        snprintf(text, TEXT, "not read by schedule %s%s",
                 sweeps ? "jacobi" : mpk_option_word("schedule", (int)options->schedule),
                 sweeps ? "" : ", but by jacobi");
    else if (o->krylov && !(o->krylov & krylov))
        snprintf(text, TEXT, "not read by method %s with krylov %s, but with %s", method,
                 list(with, sizeof with, "krylov", krylov),
                 list(who, sizeof who, "krylov", o->krylov & all));
    else
        snprintf(text, TEXT, "%s", idle(o, options, chosen));
}

/* The same of method auto: by the direct solver, or by the ladder. */
static void judge_auto(const mpk_option *o, const mpk_options *options, int general,
                       char text[TEXT]) {
    char by_ladder[TEXT], who[LIST];
    mpk_options direct = *options, ladder = *options;
    const bool on_device = options->device == MPK_ON_CUDA; /* only symmetric ones there */
    const bool may_direct = options->direct != MPK_OFF && !(general == 1 && on_device);
    const bool may_ladder =
        options->direct == MPK_OFF || general < 0 || (general == 1 && on_device);
    direct.method = MPK_METHOD_LDLT;
    ladder.method = MPK_METHOD_ILDLT;
    text[0] = '\0';
    if (is(o, "direct")) return;
    if (general == 1) ladder.factor_type = MPK_TYPE_LDU;
    judge(o, &direct, 0, true, text);
    judge(o, &ladder, general, true, by_ladder);
    if (!(o->methods & M(AUTO))) { /* what the ladder chooses by itself, or no method auto has */
        snprintf(text, TEXT, "not read by method auto, but by %s",
                 list(who, sizeof who, "method", o->methods & ~MPK_READ_DENSE));
        return;
    }
    if ((may_direct && !text[0]) || (may_ladder && !by_ladder[0])) {
        text[0] = '\0';
    } else if (may_direct && !by_ladder[0]) {
        snprintf(text, TEXT,
                 "not read where method auto solves directly, as of every matrix that fits: "
                 "--no-direct asks for its ladder, which reads it%s",
                 o->krylov ? ", and --krylov for an iterative method around the direct solver"
                           : "");
    } else if (!may_direct && may_ladder && !text[0]) {
        snprintf(text, TEXT, "read by the direct solver alone, which method auto does not take %s",
                 general == 1 && options->direct != MPK_OFF
                     ? "of a matrix that is not symmetric on a device"
                     : "with direct off");
    } else if (may_ladder && (!may_direct || (o->methods & M(ILDLT)))) {
        snprintf(text, TEXT, "%s", by_ladder); /* else the direct solver's reason says more */
    }
}

bool mpki_option_is_read(const mpk_option *o, const mpk_options *options, int general, char *why,
                         size_t size) {
    char text[TEXT];
    if (options->method == MPK_METHOD_AUTO)
        judge_auto(o, options, general, text);
    else
        judge(o, options, general, false, text);
    if (why) snprintf(why, size, "%s", text);
    return !text[0];
}

int mpk_option_is_read(const mpk_option *o, const mpk_options *options, char *why, size_t size) {
    mpk_options full;
    mpk_options_init(&full);
    const bool filled = mpki_read_struct(&full, sizeof full, options, sizeof(size_t));
    return mpki_option_is_read(o, filled ? &full : options, -1, why, size);
}
