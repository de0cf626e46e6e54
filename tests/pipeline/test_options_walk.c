/* SPDX-License-Identifier: BSD-3-Clause */
/* Every option by every method, from the table alone: one that is said to be read changes what
 * comes out, one that is not is refused where it was asked for. A new option is in the walk by
 * itself: it has an effect that is seen here, or it stands in one of the lists below, with the
 * reason. */
#include "../sanitized.h"
#include "problem/support.h"

#include <metapack/accelerator.h>
#include <metapack/pipeline.h>
#include <stdbool.h>

/* Options that tell another one apart: what has to be set for it to count at all. */
static const struct {
    const char *key, *with[5][2];
} setups[] = {
    {"sweeps", {{"schedule", "jacobi"}}},
    {"jacobi_epsilon", {{"schedule", "jacobi"}}},
    {"jacobi_decay", {{"schedule", "jacobi"}, {"jacobi_epsilon", "0.9"}}},
    {"jacobi_norm", {{"schedule", "jacobi"}}},
    {"jacobi_push",
     {{"schedule", "jacobi"}, {"stages", "5"}, {"pivoting", "none"}, {"matching", "off"}}},
    {"jacobi_judge",
     {{"schedule", "jacobi"},
      {"stages", "5"},
      {"pivoting", "none"},
      {"matching", "off"},
      {"jacobi_push", "0.1"}}},
    {"block_tolerance", {{"block", "8"}}},
    {"tolerance", {{"krylov", "gmres"}}},
    {"max_iterations", {{"krylov", "gmres"}}},
    {"restart", {{"krylov", "gmres"}}},
    {"shadow", {{"krylov", "idr"}}},
    {"isai_pattern", {{"triangular", "isai"}}},
    {"isai_power", {{"triangular", "isai"}}},
    {"isai_block", {{"triangular", "isai"}, {"isai_pattern", "blocks"}}},
    {"isai_limit", {{"triangular", "isai"}}},
    {"isai_over", {{"triangular", "isai"}, {"isai_limit", "2"}}},
    {"isai_relax", {{"triangular", "isai"}}},
    {"isai_precision", {{"triangular", "isai"}}},
    {"isai_frames", {{"triangular", "isai"}, {"block", "8"}}},
    {"level_rule", {{"level", "3"}, {"block", "2"}}},
    {"pivot_threshold", {{"stages", "5"}, {"pivoting", "none"}, {"matching", "off"}}},
    {"butterfly",
     {{"stages", "5"}, {"pivoting", "none"}, {"matching", "off"}, {"jacobi_push", "0.1"}}},
    {"seed", {{"ordering", "nd"}}},
    {"refine", {{"accuracy", "0"}}},
    {"accuracy", {{"accuracy", "1e-16"}}},
    {"level", {{"block", "2"}}},
    {"drop_norm", {{"drop_tolerance", "0.1"}, {"level", "-1"}, {"block", "8"}}},
    {"stages",
     {{"pivot_threshold", "0.5"},
      {"pivoting", "none"},
      {"matching", "off"},
      {"jacobi_push", "0.1"}}},
};

/* Read, and not every small run tells it. */
static const struct {
    const char *key, *why;
} unseen[] = {
    {"deterministic", "the same bits whatever the threads: that is what it promises"},
    {"threads", "as many as help: one, in small systems; the bits do not depend on them"},
    {"model_threads", "chooses between orderings of matrices that are large"},
    {"symmetry_tolerance", "counts while a file is read"},
    {"device", "needs one"},
    {"device_number", "needs one"},
    {"device_memory_limit", "needs one"},
    {"fp64_emulation", "needs one"},
    {"direct", "of method auto: test_auto"},
    {"seed", "of butterflies, of idr, of orderings by dissection"},
    {"strategy", "auto is one of the three"},
    {"joining", "there may be nothing to join"},
    {"static_shift", "replaces pivots that failed: the direct solver delays few"},
    {"butterfly", "acts where pivots are rejected"},
    {"level_rule", "small patterns are full at once"},
    {"drop_norm", "nothing may lie between the norms"},
    {"low_rank_tolerance", "small fronts are kept whole: test_low_rank"},
};

/* Zeros on the diagonal, and an ordering by dissection: what one does not show the other does. */
static const char *const matrices[] = {"nlpkkt 3", "helmholtz 2d 14 0.4"};

static bool is_unseen(const char *key) {
    for (size_t k = 0; k < sizeof unseen / sizeof *unseen; k++)
        if (!strcmp(unseen[k].key, key)) return true;
    return false;
}

static uint64_t mixed(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    for (size_t k = 0; k < size; k++) hash = (hash ^ p[k]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A number for all that a run has told: not for its times, nor for the options in force. */
static uint64_t fingerprint(mpk_context *ctx, const mpk_job *job, const mpk_options *o) {
    mpk_report *report = NULL;
    const mpk_status status = mpk_job_run(ctx, job, o, &report);
    const mpk_run *r = mpk_report_run(report);
    const mpk_solve_info *s = &r->solve;
    const mpk_block_info *b = &r->block;
    const double told[] = {status,
                           r->factor.nnz,
                           r->factor.bytes,
                           r->factor.growth,
                           r->factor.rejected,
                           r->factor.perturbed,
                           r->factor.stages,
                           r->analysis.ordering,
                           r->analysis.factor_nnz,
                           s->componentwise,
                           s->normwise,
                           s->unrefined,
                           s->iterations,
                           s->condition,
                           s->krylov.iterations,
                           s->krylov.residual,
                           s->krylov.applications,
                           b->blocks,
                           b->block_rows,
                           b->dropped,
                           b->mean_fill_in,
                           b->isai.entries,
                           r->factor.threads};
    const uint64_t hash = mixed(UINT64_C(0xcbf29ce484222325), told, sizeof told);
    mpk_report_destroy(&report);
    return hash;
}

static void set(mpk_context *ctx, mpk_options *o, const char *key, const char *value) {
    assert_int_equal(mpk_options_set(ctx, o, key, value), MPK_OK);
}

static void set_up(mpk_context *ctx, mpk_options *o, const char *key, bool blocks) {
    for (size_t k = 0; k < sizeof setups / sizeof *setups; k++)
        for (int w = 0; w < 5 && !strcmp(setups[k].key, key) && setups[k].with[w][0]; w++) {
            const bool stages = !strcmp(setups[k].with[w][0], "stages");
            if (!stages || blocks) set(ctx, o, setups[k].with[w][0], setups[k].with[w][1]);
        }
}

/* Values to try: all words, or some of the range. */
static bool value_at(const mpk_option *o, int k, char text[32]) {
    static const double parts[] = {0.5, 2, 0.01, 10}, steps[] = {1, 3};
    if (o->count) {
        snprintf(text, 32, "%s", k < o->count ? o->words[k] : "");
        return k < o->count;
    }
    if (k >= 8) return false;
    double x = k == 0 ? o->least : k == 1 ? 50 : k < 6 ? o->preset * parts[k - 2] : steps[k - 6];
    x = x < o->least ? o->least : x > o->most ? o->most : x;
    if (o->kind == MPK_OPTION_REAL)
        snprintf(text, 32, "%.15g", x);
    else
        snprintf(text, 32, "%.0f", x);
    return true;
}

/* Refused where it was asked for, exactly where the table says so. */
static void refused(mpk_context *ctx, const mpk_job *of, int index, const mpk_options *o) {
    char why[512];
    const mpk_option *row = mpk_option_at(index);
    mpk_job job = *of;
    mpk_report *report = NULL;
    *(index < 64 ? &job.asked : &job.asked_more) = UINT64_C(1) << index % 64;
    assert_int_equal(mpk_job_run(ctx, &job, o, &report), MPK_ERR_ARGUMENT);
    assert_non_null(strstr(mpk_report_run(report)->message, "option --"));
    mpk_report_destroy(&report);
    (void)mpk_option_is_read(row, o, why, sizeof why);
}

/* Is there a value of the option that another result comes of? Under sanitizers some are tried: what they
 * come to is told elsewhere. */
static bool changes(mpk_context *ctx, const mpk_option *row, const mpk_options *with) {
    char text[32];
    for (int m = 0; m < 2 - TEST_SANITIZED; m++) {
        const mpk_job job = {
            .struct_size = sizeof job, .goal = MPK_GOAL_SOLVE, .generate = matrices[m]};
        const uint64_t before = fingerprint(ctx, &job, with);
        for (int v = 0; v < (TEST_SANITIZED ? 4 : 1000) && value_at(row, v, text); v++) {
            mpk_options other = *with;
            set(ctx, &other, row->key, text);
            if (fingerprint(ctx, &job, &other) != before) return true;
        }
    }
    return TEST_SANITIZED;
}

static void walk(mpk_method method, const char *direct, int *seen) {
    mpk_context *ctx = new_context();
    const mpk_option *row;
    const mpk_job job = {
        .struct_size = sizeof job, .goal = MPK_GOAL_SOLVE, .generate = matrices[0]};
    const bool automatic = method == MPK_METHOD_AUTO;
    for (int k = 0; (row = mpk_option_at(k)); k++) {
        mpk_options base;
        if (!strcmp(row->key, "method")) continue;
        mpk_options_init(&base);
        base.method = method, base.threads = 1;
        base.max_iterations = 60;
        set(ctx, &base, "direct", direct);
        const bool ladder = automatic && base.direct == MPK_OFF;
        const bool blocks = method == MPK_METHOD_ILDLT || method == MPK_METHOD_JACOBI;
        /* the setup counts for the methods that read it alone */
        mpk_options with = base;
        set_up(ctx, &with, row->key, blocks);
        const bool table = mpk_option_is_read(row, &with, NULL, 0);
        const bool read = table && (!automatic || ladder || row->methods >> MPK_METHOD_LDLT & 1);
        if (!mpk_option_is_read(row, &base, NULL, 0)) refused(ctx, &job, k, &base);
        if (!read || ladder) continue; /* the ladder's rungs are walked as ildlt */
        const bool changed = strcmp(row->key, "device") && changes(ctx, row, &with);
        seen[k] += changed;
        const bool soon = method == MPK_METHOD_LDLT || automatic; /* an exact factor: one step */
        if (!changed && !is_unseen(row->key) && !(soon && row->krylov))
            fail_msg("method %s reads %s, as the table says, and nothing changes",
                     mpk_method_name(method), row->key);
    }
    mpk_context_destroy(&ctx);
}

static void test_walk(void **unused) {
    (void)unused;
    int seen[128] = {0};
    static const mpk_method methods[] = {
        MPK_METHOD_LDLT, MPK_METHOD_ILDLT,    MPK_METHOD_JACOBI,       MPK_METHOD_ILU0,
        MPK_METHOD_NONE, MPK_METHOD_DIAGONAL, MPK_METHOD_BLOCK_JACOBI, MPK_METHOD_SSOR};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) walk(methods[m], "auto", seen);
    walk(MPK_METHOD_AUTO, "auto", seen);
    walk(MPK_METHOD_AUTO, "off", seen);
    /* but for what needs a device, large matrices or files, each has been seen with one method */
    static const char *const never[] = {
        "method",  "deterministic", "model_threads",       "symmetry_tolerance",
        "device",  "device_number", "device_memory_limit", "direct",
        "joining", "threads",       "low_rank_tolerance",  "fp64_emulation"};
    for (int k = 0; mpk_option_at(k); k++) {
        bool is_never = seen[k] > 0;
        for (size_t n = 0; n < sizeof never / sizeof *never; n++)
            is_never |= !strcmp(never[n], mpk_option_at(k)->key);
        if (!is_never) fail_msg("%s has changed nothing with any method", mpk_option_at(k)->key);
    }
}

/* ---- machines -------------------------------------------------------------------------------- */

/* A context on the processor's own table, with atomics and pivoting, or, as the systolic array and
 * the pipelines are, without, or with all that a GPU's has; and what such a machine takes. */
enum { PLAIN, ABLE, LIKE_GPU, MACHINES };
static mpk_context *on_machine(mpk_accelerator *table, int able, mpk_options *o) {
    mpk_context *ctx = new_context();
    *table = *mpk_accelerator_cpu();
    table->atomics = table->pivoting = able != PLAIN;
    table->pairs = table->judges = table->solves = able == LIKE_GPU;
    assert_int_equal(mpk_context_use_accelerator(ctx, table), MPK_OK);
    mpk_options_init(o);
    o->method = MPK_METHOD_ILDLT, o->threads = 1;
    o->level = -1, o->fill_factor = 0, o->drop_tolerance = 0, o->block = 8, o->stages = 0;
    o->pivoting = able ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    o->schedule = able ? MPK_SCHEDULE_ATOMIC : MPK_SCHEDULE_SUBSETS;
    return ctx;
}

/* On a machine every word of a choice is refused or tells itself apart: one that is taken and
 * ignored would stand in the report. */
static void words(mpk_context *ctx, const mpk_option *row, const mpk_options *base) {
    static const struct {
        const char *key, *word, *why;
    } same[] = {
        {"ordering", "", "small matrices: two may agree"},
        {"matching", "", "auto is one of the two"},
        {"scaling", "on", "it is what auto means"},
        {"krylov", "", "around an exact factor: one step"},
        {"strategy", "auto", "it is one of the others"},
        {"schedule", "subsets", "the order of sums: bits, where there are conflicts"},
        {"triangular", "auto", "it may choose exact"},
        {"precision", "double", "that of the matrix"},
        {"deterministic", "", "nothing is dropped: refused before"},
        {"joining", "", "there may be nothing to join"},
        {"butterfly", "", "acts where pivots are rejected, and without pivoting always"},
        {"grid", "", "blocks may be whole anyway"},
        {"factor_type", "ldlt", "it is"},
        {"isai_pattern", "", "small patterns agree"},
        {"isai_over", "", "nothing may be longer"},
    };
    for (int v = 0; v < row->count; v++) {
        bool told = v == (int)mpk_option_integer(row, base);
        for (size_t k = 0; k < sizeof same / sizeof *same && !told; k++)
            told = !strcmp(row->key, same[k].key) &&
                   (!same[k].word[0] || !strcmp(row->words[v], same[k].word));
        for (int m = 0; m < 2 && !told; m++) {
            const mpk_job job = {
                .struct_size = sizeof job, .goal = MPK_GOAL_SOLVE, .generate = matrices[m]};
            mpk_options other = *base;
            set(ctx, &other, row->key, row->words[v]);
            told = fingerprint(ctx, &job, &other) != fingerprint(ctx, &job, base);
        }
        if (!told)
            fail_msg("on a machine %s = %s is taken, and nothing changes", row->key, row->words[v]);
    }
}

static void test_machines(void **unused) {
    (void)unused;
    static const char *const swept[] = {"sweeps", "jacobi_epsilon", "jacobi_decay", "jacobi_norm"};
    for (int able = PLAIN; able < MACHINES; able++) {
        mpk_accelerator table;
        mpk_options base;
        mpk_context *ctx = on_machine(&table, able, &base);
        const mpk_option *row;
        const mpk_job job = {
            .struct_size = sizeof job, .goal = MPK_GOAL_SOLVE, .generate = matrices[0]};
        for (int k = 0; (row = mpk_option_at(k)); k++) {
            mpk_options with = base;
            if (!strcmp(row->key, "method")) continue;
            for (size_t n = 0; n < sizeof setups / sizeof *setups; n++) /* not of the blocks */
                for (int w = 0; w < 3 && !strcmp(setups[n].key, row->key); w++) {
                    const char *key = setups[n].with[w][0];
                    if (key && (!strncmp(key, "isai", 4) || !strcmp(key, "krylov") ||
                                !strcmp(key, "triangular") || !strcmp(key, "ordering")))
                        set(ctx, &with, key, setups[n].with[w][1]);
                }
            /* sweeps, in the one stage in which machines make them; jacobi_push asks for more */
            for (size_t n = 0; n < sizeof swept / sizeof *swept; n++)
                if (!strcmp(swept[n], row->key)) {
                    set(ctx, &with, "schedule", "jacobi");
                    set(ctx, &with, "stages", "1");
                    if (!strcmp(row->key, "jacobi_decay")) with.jacobi_epsilon = 0.9;
                }
            if (!mpk_option_is_read(row, &base, NULL, 0)) refused(ctx, &job, k, &base);
            if (!mpk_option_is_read(row, &with, NULL, 0)) continue;
            /* the factor is exact, and with 2x2 pivots the first answer */
            const bool rare = row->krylov || !strcmp(row->key, "stages") ||
                              (able == LIKE_GPU && !strcmp(row->key, "accuracy"));
            if (!changes(ctx, row, &with) && !is_unseen(row->key) && !rare)
                fail_msg("on a machine %s is read, and nothing changes", row->key);
            if (row->count) words(ctx, row, &with);
        }
        /* the other methods are refused whole, but ilu0, which is blocks without pivoting */
        for (int m = 0; m < MPK_METHOD_SSOR + 1; m++) {
            if (m == MPK_METHOD_ILU0) continue;
            mpk_report *report = NULL;
            mpk_options o = base;
            o.method = (mpk_method)m;
            const mpk_status status = mpk_job_run(ctx, &job, &o, &report);
            if (mpk_failed(status) == (m == MPK_METHOD_ILDLT))
                fail_msg("method %s: %s", mpk_method_name(o.method),
                         mpk_report_run(report)->message);
            mpk_report_destroy(&report);
        }
        mpk_context_destroy(&ctx);
    }
}

/* Of method auto it is the direct solver or the ladder that tells. */
static void test_auto(void **unused) {
    (void)unused;
    mpk_context *ctx = new_context();
    static const char *const iterative[] = {"tolerance", "max_iterations", "precision", "block"};
    static const char *const direct[] = {"refine", "condition", "zero_tolerance", "model_threads",
                                         "precision"};
    for (int k = 0; mpk_option_at(k); k++) {
        const char *key = mpk_option_at(k)->key;
        bool of_direct = false, of_ladder = false;
        for (int i = 0; i < 4; i++) of_ladder |= !strcmp(key, iterative[i]);
        for (int i = 0; i < 5; i++) of_direct |= !strcmp(key, direct[i]);
        if (!of_direct && !of_ladder) continue;
        for (int c = 0; c < 4; c++) { /* symmetric, or not; the same without the direct solver */
            mpk_report *report = NULL;
            mpk_options o;
            mpk_job job = {.struct_size = sizeof job,
                           .goal = MPK_GOAL_SOLVE,
                           .generate = c % 2 ? "convection 4" : "nlpkkt 2"};
            mpk_options_init(&o);
            o.threads = 1;
            *(k < 64 ? &job.asked : &job.asked_more) = UINT64_C(1) << k % 64;
            if (c >= 2) o.direct = MPK_OFF;
            const mpk_status status = mpk_job_run(ctx, &job, &o, &report);
            const bool reads = c < 2 ? of_direct : of_ladder;
            if (reads == (status == MPK_ERR_ARGUMENT))
                fail_msg("%s, case %d: %s", key, c, mpk_report_run(report)->message);
            mpk_report_destroy(&report);
        }
    }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk), cmocka_unit_test(test_machines),
                                       cmocka_unit_test(test_auto)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
