/* SPDX-License-Identifier: BSD-3-Clause */
/** Any options, as text ("key=value", a line each) or as the bytes of the struct, and a system so
 *  small that every choice can be tried. The first byte says which. */
#include "fuzz.h"

#include "core/core.h"

/* Systems with an answer, by hand: KKT, definite, 1 x 1, empty, and one that is singular. */
typedef struct options_system {
    int32_t n;
    int64_t ap[7];
    int32_t ai[16];
    double ax[16];
} options_system;

static const options_system options_systems[] = {
    {5, {0, 2, 5, 8, 8, 8}, {0, 3, 1, 3, 4, 2, 3, 4}, {4, 1, 3, 1, 1, 2, 1, -1}},
    {4, {0, 3, 5, 7, 8}, {0, 1, 3, 1, 2, 2, 3, 3}, {3, -2, 2, 3, -2, 3, -2, 3}}, /* Kershaw 1978 */
    {1, {0, 1}, {0}, {-3}},
    {0, {0}, {0}, {0}},
    {3, {0, 3, 5, 6}, {0, 1, 2, 1, 2, 2}, {1, 1, 1, 1, 1, 1}},
    {6,
     {0, 2, 4, 6, 8, 10, 11},
     {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5},
     {2, -1, 2, -1, -2, 1, -2, 1, 2, -1, 2}},
};
enum { OPTIONS_SYSTEMS = sizeof options_systems / sizeof *options_systems };

/* Lines "key=value"; each is taken or refused with a text. */
static void options_from_text(mpk_context *ctx, fuzz_input *in, mpk_options *o) {
    char line[128], *value;
    while (in->left) {
        size_t length = 0;
        while (in->left && *in->data != '\n') {
            const char c = (char)fuzz_byte(in);
            if (length + 1 < sizeof line) line[length++] = c;
        }
        (void)fuzz_byte(in);
        line[length] = '\0';
        value = strchr(line, '=');
        if (value) *value++ = '\0';
        const mpk_options before = *o;
        const mpk_status status = mpk_options_set(ctx, o, line, value ? value : "");
        const char *text = NULL;
        FUZZ_ASSERT(mpk_last_error(ctx, NULL, NULL, &text) == status);
        FUZZ_ASSERT(status == MPK_OK || (status == MPK_ERR_ARGUMENT && *text));
        if (mpk_failed(status)) FUZZ_ASSERT(!memcmp(&before, o, sizeof before));
    }
}

/* What was accepted, held to a cost that a fuzzer has time for. */
static void options_limit(mpk_options *o) {
    const int most[][2] = {{(int)offsetof(mpk_options, threads), 3},
                           {(int)offsetof(mpk_options, refine), 50},
                           {(int)offsetof(mpk_options, max_iterations), 200},
                           {(int)offsetof(mpk_options, restart), 300},
                           {(int)offsetof(mpk_options, stages), 50},
                           {(int)offsetof(mpk_options, sweeps), 100},
                           {(int)offsetof(mpk_options, solve_sweeps), 20}};
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
        int *field = (int *)((char *)o + most[k][0]);
        if (*field > most[k][1]) *field = most[k][1];
    }
}

/* An answer called good solves the system, as far as its own size lets anyone tell. */
static void options_check(const options_system *s, const mpk_options *o, const double *b,
                          const double *x) {
    double r[8] = {0}, size[8] = {0}, rr = 0, bb = 0, rounding = 0;
    for (int32_t j = 0; j < s->n; j++)
        for (int64_t k = s->ap[j]; k < s->ap[j + 1]; k++) {
            const int32_t i = s->ai[k];
            r[i] += s->ax[k] * x[j], size[i] += fabs(s->ax[k] * x[j]);
            if (i == j) continue;
            r[j] += s->ax[k] * x[i], size[j] += fabs(s->ax[k] * x[i]);
        }
    for (int32_t i = 0; i < s->n; i++) {
        FUZZ_ASSERT(isfinite(x[i]));
        rr += (b[i] - r[i]) * (b[i] - r[i]);
        bb += b[i] * b[i];
        rounding += size[i] + fabs(b[i]);
    }
    /* the direct solver's own measure is the backward error, whatever accuracy is asked for */
    const double asked = fmax(o->tolerance, fmax(o->accuracy, 0));
    FUZZ_ASSERT(sqrt(rr) <= 2 * asked * (sqrt(bb) + rounding) + 1e-9 * rounding);
}

static void options_solve(mpk_context *ctx, const options_system *s, const mpk_options *o) {
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_adaptive r = {0};
    double b[8], x[8] = {0};
    const int32_t n = s->n;
    for (int i = 0; i < 8; i++) b[i] = i % 3 + 1;
    mpk_status status = mpk_problem_from_csc(ctx, n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, s->ap, s->ai,
                                             s->ax, &problem);
    FUZZ_ASSERT(status == MPK_OK || status == MPK_ERR_MEMORY);
    if (mpk_failed(status)) return;
    if (o->method == MPK_METHOD_AUTO) {
        status = mpk_solve_adaptive(ctx, problem, o, 1, b, n, x, n, NULL, 0, NULL, &r);
        mpk_adaptive_clear(&r);
    } else {
        status = mpk_analyse(ctx, problem, o, &an);
        if (!mpk_failed(status)) status = mpk_factorize(ctx, an, s->ax, o, &fac);
        if (!mpk_failed(status)) status = mpk_refactorize(ctx, s->ax, o, fac);
        if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, n, x, n, o, NULL);
    }
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    FUZZ_ASSERT(status != MPK_ERR_INTERNAL && (!mpk_failed(status) || *text));
    if (status == MPK_OK) options_check(s, o, b, x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static union { /* as large as a struct may say it is */
        mpk_options o;
        char bytes[4096];
    } given;
    static const int32_t orders[][6] = {{0, 1, 2, 3, 4, 5}, {5, 3, 1, 0, 2, 4}, {0, 0, 0, 0, 0, 9}};
    fuzz_input in = {data, size};
    const int how = fuzz_byte(&in);
    fuzz_purse purse = {.limit = (size_t)256 << 20};
    mpk_context *ctx = fuzz_context(&purse);
    mpk_options full;
    memset(&given, 0, sizeof given);
    mpk_options_init(&given.o);
    if (how & 1) {
        fuzz_take(&in, &given, sizeof given);
        if (how & 2) given.o.struct_size = sizeof given.o;
    } else {
        options_from_text(ctx, &in, &given.o);
    }
    const options_system *s = &options_systems[how / 4 % OPTIONS_SYSTEMS];
    given.o.given_perm = how / 32 ? orders[how / 32 % 3] : NULL;
    mpki_clear_error(ctx);
    const mpk_status status = mpki_options_resolve(ctx, &given.o, &full);
    FUZZ_ASSERT(status == MPK_OK || status == MPK_ERR_ARGUMENT);
    FUZZ_ASSERT(full.struct_size == sizeof full);
    if (!mpk_failed(status)) {
        FUZZ_ASSERT(full.threads >= 1);
        options_limit(&full);
        options_solve(ctx, s, &full);
    }
    fuzz_end(ctx, &purse);
    return 0;
}
