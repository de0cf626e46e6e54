/* SPDX-License-Identifier: BSD-3-Clause */
/** A saved factor in which any bytes were changed by somebody who sets the checksum right: each four
 *  bytes of input are a place and a byte that goes there, the last place may cut the file. What is
 *  taken for a factor can be asked anything. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "core/archive.h"
#include <metapack/save.h>

#include <sys/mman.h>
#include <unistd.h>

typedef struct shop {
    mpk_problem *problem;
    mpk_options options;
    char name[64];
    int file;
    unsigned char *bytes;
    size_t size;
} shop;

enum { WAYS = 12 };

/* What is saved of each matrix in each way: made once. */
static void save(mpk_context *ctx, const shop *s) {
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    FUZZ_ASSERT(!mpk_failed(mpk_analyse(ctx, s->problem, &s->options, &an)));
    if (s->options.method == MPK_METHOD_ILDLT) {
        FUZZ_ASSERT(mpk_analysis_save(ctx, an, s->name) == MPK_OK);
    } else {
        FUZZ_ASSERT(!mpk_failed(mpk_factorize(ctx, an, NULL, &s->options, &fac)));
        FUZZ_ASSERT(mpk_factor_save(ctx, fac, s->name) == MPK_OK);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
}

/* Matrices with pairs of pivots, and with delayed columns; factors in both precisions, an analysis
 * on blocks. */
static void open_shop(mpk_context *ctx, int how, shop *s) {
    static const char *const specs[] = {"nlpkkt 2", "helmholtz 2d 3 0.3", "random 9 0.5 0.6"};
    static unsigned char *known[WAYS];
    static size_t length[WAYS];
    const int way = how % WAYS;
    *s = (shop){.file = memfd_create("fuzz", 0)};
    snprintf(s->name, sizeof s->name, "/proc/self/fd/%d", s->file);
    mpk_options_init(&s->options);
    s->options.threads = 1;
    s->options.method = way & 1 ? MPK_METHOD_ILDLT : MPK_METHOD_LDLT;
    s->options.precision = (way & 3) == 2 ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
    FUZZ_ASSERT(s->file >= 0);
    FUZZ_ASSERT(!mpk_failed(mpk_problem_generate(ctx, specs[way / 4], 1, &s->problem)));
    if (!known[way]) {
        save(ctx, s);
        length[way] = (size_t)lseek(s->file, 0, SEEK_END);
        known[way] = malloc(length[way] + 1);
        FUZZ_ASSERT(pread(s->file, known[way], length[way], 0) == (ssize_t)length[way]);
    }
    s->size = length[way];
    s->bytes = malloc(s->size + 1);
    memcpy(s->bytes, known[way], s->size);
}

static void change(shop *s, const uint8_t *data, size_t size) {
    for (size_t k = 0; k + 4 <= size; k += 4) {
        const size_t place = (data[k] | (size_t)data[k + 1] << 8 | (size_t)data[k + 2] << 16);
        if (data[k + 2] & 0x80)
            s->size = place % (s->size + 1);
        else if (s->size)
            s->bytes[place % s->size] = data[k + 3];
    }
    if (s->size >= sizeof(uint64_t)) {
        mpki_digest d = mpki_digest_begin();
        mpki_digest_add(&d, s->bytes, s->size - sizeof(uint64_t));
        const uint64_t sum = mpki_digest_end(&d);
        memcpy(s->bytes + s->size - sizeof sum, &sum, sizeof sum);
    }
    FUZZ_ASSERT(!ftruncate(s->file, 0));
    FUZZ_ASSERT(pwrite(s->file, s->bytes, s->size, 0) == (ssize_t)s->size);
}

static void ask(mpk_context *ctx, const shop *s, mpk_factor *fac) {
    mpk_problem_view a;
    mpk_problem_view_get(s->problem, &a);
    const size_t n = (size_t)a.n;
    double *x = calloc(9 * n + 1, sizeof *x), logdet[3];
    int32_t *perm = calloc(n + 1, sizeof *perm);
    for (size_t k = 0; k < 9 * n; k++) x[k] = (double)k;
    mpk_get(ctx, fac, MPK_GET_D, x, 2 * n * sizeof *x);
    mpk_get(ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
    if (mpk_get(ctx, fac, MPK_GET_PERM, perm, n * sizeof *perm) == MPK_OK)
        for (size_t k = 0; k < n; k++) FUZZ_ASSERT(perm[k] >= 0 && (size_t)perm[k] < n);
    mpk_solve(ctx, fac, 1, x, a.n, x, a.n, &s->options, NULL);
    mpk_solve(ctx, fac, 9, x, a.n, x, a.n, &s->options, NULL);
    mpk_certify(ctx, fac, NULL);
    mpk_refactorize(ctx, a.ax, &s->options, fac);
    free(x);
    free(perm);
}

static void check(mpk_status status, const void *result) {
    FUZZ_ASSERT(status != MPK_ERR_INTERNAL && mpk_failed(status) == !result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    fuzz_purse purse = {.limit = (size_t)256 << 20, .strict = 0};
    mpk_context *ctx = fuzz_context(&purse);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    shop s;
    open_shop(ctx, data[0], &s);
    change(&s, data + 1, size - 1);
    mpk_status status = mpk_analysis_load(ctx, s.problem, s.name, &an);
    check(status, an);
    if (an) {
        status = mpk_factor_load(ctx, an, s.name, &fac);
        check(status, fac);
        if (!fac) mpk_factorize(ctx, an, NULL, &s.options, &fac);
        if (fac) ask(ctx, &s, fac);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&s.problem);
    free(s.bytes);
    close(s.file);
    fuzz_end(ctx, &purse);
    return 0;
}
