/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates of large fronts by emulated doubles: against sums in more digits, where rows and pivots have
 * wild exponents and where numbers overflow; factors, verdicts and solutions by them; who asks for them
 * in vain. */
#include "support.h"

#include "device_cases.h"
#include "share.h"

#include <float.h>

/* ---- one front, one block of columns of it, as factor/large.c describes it ---- */

enum { BLOCK = MPKI_FRONT_BLOCK };

typedef struct front {
    mpk_context *ctx;
    const mpki_device *device;
    int32_t w, n, m, ld, block, pivots;
    double *a, *d, *W, *c; /* after the block of columns; a and W: n x w, n x block */
    double *a0, *c0;       /* before */
} front;

static double *device_doubles(const front *f, int64_t count, void **at) {
    assert_int_equal(f->device->table->alloc(f->device->cuda, count * 8, at), MPK_OK);
    return calloc((size_t)count + 1, 8);
}

static void to_device(const front *f, void *to, const void *from, int64_t bytes) {
    assert_int_equal(f->device->table->direct->copy(f->device->cuda, to, from, bytes, 1), MPK_OK);
}
static void from_device(const front *f, void *to, const void *from, int64_t bytes) {
    assert_int_equal(f->device->table->direct->copy(f->device->cuda, to, from, bytes, 0), MPK_OK);
    assert_int_equal(f->device->table->direct->wait(f->device->cuda), MPK_OK);
}

/* Where entry (i, j), i >= j, of a contribution of m rows lies. */
static int64_t contribution_at(int32_t m, int32_t i, int32_t j) {
    const int64_t cut = MPKI_FRONT_CONTRIBUTION, k = j / cut, ld = mpki_cuda_leading(m);
    const int64_t before = cut * (k * ld - cut * k * (k - 1) / 2);
    return before + (j - cut * k) * (ld - cut * k) + i - cut * k;
}

/* The first block of columns of a front with w columns and m rows below: eliminated, and its update.
 * entry: A's entry (i, j), i >= j. */
static front eliminate(int32_t w, int32_t m, bool emulated, double (*entry)(int32_t, int32_t)) {
    front f = {.w = w, .n = w + m, .m = m, .ld = mpki_cuda_leading(w + m)};
    const int32_t n = f.n;
    assert_int_equal(mpk_context_create(NULL, &f.ctx), MPK_OK);
    f.device = mpki_cuda_open(f.ctx, 0);
    assert_non_null(f.device);
    const mpki_cuda_direct_table *table = f.device->table->direct;
    f.block = mpki_cuda_front_block(w);
    const int64_t panel = mpki_cuda_panel_bytes(MPK_D, n, w);
    const int64_t work = mpki_cuda_front_work(MPK_D, n, w),
                  entries = mpki_cuda_contribution_entries(m);
    void *a, *c, *W, *slices, *head;
    double *host = device_doubles(&f, panel / 8, &a);
    f.c = device_doubles(&f, entries, &c), f.c0 = calloc((size_t)entries + 1, 8);
    f.W = device_doubles(&f, work / 8, &W);
    free(device_doubles(&f, mpki_cuda_slice_bytes(f.ld, f.block) / 8, &slices));
    for (int32_t j = 0; j < w; j++)
        for (int32_t i = j; i < n; i++) host[i + (int64_t)j * f.ld] = entry(i, j);
    int32_t *id = (int32_t *)(void *)(host + (int64_t)f.ld * w + 4 * (int64_t)w);
    for (int32_t j = 0; j < w; j++) id[j] = j;
    for (int32_t j = 0; j < m; j++)
        for (int32_t i = j; i < m; i++) f.c[contribution_at(m, i, j)] = entry(w + i, w + j);
    memcpy(f.c0, f.c, (size_t)entries * 8);
    f.a0 = malloc((size_t)panel), memcpy(f.a0, host, (size_t)panel);
    to_device(&f, a, host, panel), to_device(&f, c, f.c, entries * 8);
    const int32_t rows = (n + MPKI_FRONT_ROWS - 1) / MPKI_FRONT_ROWS;
    const int32_t tiles = (n + MPKI_FRONT_OUTER - 1) / MPKI_FRONT_OUTER;
    const int32_t columns = (w + MPKI_FRONT_OUTER - 1) / MPKI_FRONT_OUTER;
    const int32_t below = (m + MPKI_FRONT_OUTER - 1) / MPKI_FRONT_OUTER;
    const int32_t inner = 1 + (n + MPKI_FRONT_INNER - 1) / MPKI_FRONT_INNER *
                                  ((f.block + MPKI_FRONT_INNER - 1) / MPKI_FRONT_INNER);
    const int32_t outer = mpki_front_tiles(tiles, columns) + mpki_front_tiles(below, below);
    struct {
        mpki_cuda_front front;
        mpki_cuda_flags flags;
        int32_t list[6];
    } all = {.front = {.a = a,
                       .c = c,
                       .W = W,
                       .slices = slices,
                       .nrows = n,
                       .w = w,
                       .own = w,
                       .ld = f.ld,
                       .ldw = f.ld,
                       .block = f.block,
                       .end = w,
                       .tile = (char *)W + (int64_t)f.ld * f.block * 8},
             .flags = {.sums.min_d = INFINITY},
             .list = {0, rows, 0, inner, 0, outer}};
    assert_int_equal(f.device->table->alloc(f.device->cuda, sizeof all, &head), MPK_OK);
    const int32_t *list =
        (const int32_t *)(const void *)((char *)head + offsetof(__typeof__(all), list));
    mpki_cuda_tree tree = {
        .scalar = MPK_D,
        .n = n,
        .fronts = 1,
        .threshold = 0,
        .flags = (mpki_cuda_flags *)(void *)((char *)head + offsetof(__typeof__(all), flags))};
    mpki_cuda_large large = {.count = 1,
                             .front = head,
                             .rows = list,
                             .inner = list + 2,
                             .outer = list + 4,
                             .rows_blocks = rows,
                             .inner_blocks = inner,
                             .outer_blocks = outer,
                             .share = 1,
                             .share_rest = 1,
                             .emulated = emulated};
    to_device(&f, head, &all, sizeof all);
    assert_int_equal(table->block(f.device->cuda, &tree, &large, f.block / MPKI_FRONT_TILE),
                     MPK_OK);
    from_device(&f, &all, head, sizeof all);
    f.pivots = all.front.p + all.front.good;
    from_device(&f, host, a, panel), from_device(&f, f.c, c, entries * 8);
    from_device(&f, f.W, W, work);
    f.a = host, f.d = host + (int64_t)f.ld * w;
    void *const taken[] = {a, c, W, slices, head};
    for (int k = 0; k < 5; k++) f.device->table->release(f.device->cuda, taken[k]);
    return f;
}

static void drop(front *f) {
    free(f->a), free(f->W), free(f->c), free(f->c0), free(f->a0);
    mpk_context_destroy(&f->ctx);
}

/* Entry (i, j) of the rest of the front, before or after. */
static double rest(const front *f, int32_t i, int32_t j, bool after) {
    if (j < f->w) return (after ? f->a : f->a0)[i + (int64_t)j * f->ld];
    return (after ? f->c : f->c0)[contribution_at(f->m, i - f->w, j - f->w)];
}

/* The power of 2 that pivot k's column of L is multiplied by. */
static double power_of(const front *f, int32_t k) {
    double most = fabs(f->d[2 * k]);
    int e;
    if (k + 1 < f->pivots) most = fmax(most, fabs(f->d[2 * k + 1]));
    if (k > 0) most = fmax(most, fabs(f->d[2 * k - 1]));
    frexp(most, &e);
    return ldexp(1, e / 2);
}

/* Largest error of the update, over the bound that update/emulated.cuh states; *typical [out] root of
 * the mean of its squares. In doubles each product of the sum may be denormal. */
static double worst_error(const front *f, bool emulated, double *typical) {
    const int32_t K = f->pivots;
    double *x = calloc((size_t)f->n, 8), *y = calloc((size_t)f->n, 8), worst = 0, squares = 0;
    int64_t count = 0;
    for (int32_t k = 0; k < K; k++)
        for (int32_t i = f->block; i < f->n; i++) {
            const double s = power_of(f, k);
            x[i] = fmax(x[i], fabs(f->a[i + (int64_t)k * f->ld]) * s);
            y[i] = fmax(y[i], fabs(f->W[i + (int64_t)k * f->ld]) / s);
        }
    for (int32_t j = f->block; j < f->n; j++)
        for (int32_t i = j; i < f->n; i++) {
            long double sum = 0;
            for (int32_t k = 0; k < K; k++)
                sum += (long double)f->a[i + (int64_t)k * f->ld] * f->W[j + (int64_t)k * f->ld];
            const long double old = rest(f, i, j, false), now = rest(f, i, j, true);
            const long double bound = (long double)x[i] * y[j] * K * powl(2, -50.9L) +
                                      (fabsl(sum) * 2 + fabsl(old)) * 0x1p-53L +
                                      (emulated ? 1 : K) * 0x1p-1073L;
            const double error = (double)(fabsl(old - sum - now) / bound);
            worst = error >= worst ? error : worst, squares += error * error, count++;
            if (error != error) worst = INFINITY;
        }
    *typical = sqrt(squares / (double)count);
    free(x), free(y);
    return worst;
}

static uint64_t hash_of(int32_t i, int32_t j) {
    return mpki_random_mix((uint64_t)(uint32_t)i << 32 ^ (uint64_t)(uint32_t)j);
}
static double from_hash(uint64_t h) { /* (-1, 1), all 53 bits */
    return (double)(int64_t)(h >> 10) * 0x1p-53 * (h & 1 ? 1 : -1);
}

/* One pivot as large as any other. */
static double flat(int32_t i, int32_t j) {
    if (i != j) return i < BLOCK ? 0 : from_hash(hash_of(i, j));
    return from_hash(hash_of(i, i)) > 0 ? 1.7 : -1.3;
}

/* Pivots from 2^-120 to 2^120, rows from 2^-150 to 2^150; inside a row the entries that belong to a
 * pivot of size d are as sqrt d, some of them 2^-70 of that. */
static int of_pivot(int32_t k) {
    return (int)(hash_of(k, -1) % 241) - 120;
}
static double wild(int32_t i, int32_t j) {
    const uint64_t h = hash_of(i, j);
    if (i == j && i < BLOCK) return ldexp(from_hash(h) > 0 ? 1.1 : -1.9, of_pivot(i));
    if (i < BLOCK) return 0;
    const int row = (int)(hash_of(i, -2) % 301) - 150;
    if (j >= BLOCK) return ldexp(from_hash(h), row + (int)(hash_of(j, -2) % 301) - 150);
    return ldexp(from_hash(h), row + of_pivot(j) / 2 - (h % 5 == 0 ? 70 : 0));
}

/* Pairs: the diagonal is far smaller than what is beside it. */
static double pairs(int32_t i, int32_t j) {
    const int scale = (int)(hash_of(j / 2, -3) % 41) - 20;
    if (i < BLOCK)
        return i == j ? ldexp(0.01, scale) : i == j + 1 && j % 2 == 0 ? ldexp(1.5, scale) : 0;
    return j < BLOCK ? ldexp(from_hash(hash_of(i, j)), scale / 2) : from_hash(hash_of(i, j));
}

/* Entries whose products are denormal, entries that are, and zeros. */
static double tiny(int32_t i, int32_t j) {
    if (i < BLOCK) return i == j ? 1 : 0;
    if (i % 7 == 0) return 0;
    return ldexp(from_hash(hash_of(i, j)), i % 3 == 0 ? -1060 : i % 3 == 1 ? -530 : 0);
}

/* Rows whose products are too large for a double, and one of which L itself has an entry that is. */
static double huge(int32_t i, int32_t j) {
    if (i < BLOCK) return i != j ? 0 : i == BLOCK - 1 ? 0x1p-200 : 1;
    if (j >= BLOCK) return from_hash(hash_of(i, j));
    if (i == BLOCK + 3 && j == BLOCK - 1) return 0x1p900;
    return ldexp(1 + from_hash(hash_of(i, j)) / 2, i % 2 ? 600 : 0);
}

static void test_bound(void **unused) {
    static const struct {
        const char *name;
        double (*entry)(int32_t, int32_t);
        int32_t w, m;
        bool as_doubles; /* in the mean no worse than they are */
    } cases[] = {{"flat", flat, BLOCK, 150, true},
                 {"more columns", flat, 300, 75, true},
                 {"few rows", flat, BLOCK, 5, true},
                 {"odd", flat, BLOCK + 1, 64, true},
                 {"wild", wild, BLOCK, 140, false},
                 {"pairs", pairs, BLOCK, 100, false},
                 {"wild, more columns", wild, 331, 70, false},
                 {"tiny", tiny, BLOCK, 70, false}};
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double typical[2];
        front f[2];
        for (int e = 0; e < 2; e++) {
            f[e] = eliminate(cases[k].w, cases[k].m, e, cases[k].entry);
            const double worst = worst_error(&f[e], e, &typical[e]);
            if (f[e].pivots != BLOCK) fail_msg("%s: %d pivots", cases[k].name, f[e].pivots);
            if (!(worst <= 1)) fail_msg("%s: %g times the bound (%d)", cases[k].name, worst, e);
            if (!e) continue;
            if (cases[k].as_doubles && !(typical[1] <= typical[0]))
                fail_msg("%s: errors of %g, doubles %g", cases[k].name, typical[1], typical[0]);
            if (!memcmp(f[0].c, f[1].c, (size_t)mpki_cuda_contribution_entries(f[0].m) * 8))
                fail_msg("%s: nothing was emulated", cases[k].name);
        }
        drop(&f[0]), drop(&f[1]);
    }
}

static void test_not_finite(void **unused) {
    (void)unused;
    front f = eliminate(BLOCK, 90, true, huge), g = eliminate(BLOCK, 90, false, huge);
    int64_t infinite = 0, odd = 0;
    for (int32_t j = BLOCK; j < f.n; j++)
        for (int32_t i = j; i < f.n; i++) {
            const double x = rest(&f, i, j, true), y = rest(&g, i, j, true);
            if (isfinite(x) != isfinite(y)) fail_msg("(%d, %d): %g, by doubles %g", i, j, x, y);
            infinite += isinf(x) != 0, odd += isnan(x) != 0;
        }
    if (infinite <= 100)
        fail_msg("%d pivots, %lld infinite, %lld NaN", f.pivots, (long long)infinite,
                 (long long)odd);
    assert_int_equal(odd, 4); /* the row with the infinite entry */
    drop(&f), drop(&g);
}

/* ---- whole factorizations ---- */

/* A factor's bits, from a matrix with large fronts; info, bytes that were
 * foretold [out]. 0: it failed, and *said [out] is why. */
static uint64_t bits_of(const char *spec, mpk_switch emulated_by, const char *ratio, double limit,
                        mpk_factor_info *info, int64_t *foretold, char said[200]) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.fp64_emulation = emulated_by, o.device_memory_limit = limit;
    setenv("METAPACK_CUDA_HOST_RATIO", ratio, 1);
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = generated(ctx, spec);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    uint64_t hash = 0;
    mpk_problem_view_get(problem, &a);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    int64_t delayed;
    double time_s;
    assert_int_equal(
        mpki_cuda_direct.estimate(ctx, &tree, emulated_by, foretold, &delayed, &time_s), MPK_OK);
    if (mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac))) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        snprintf(said, 200, "%s", text);
    } else {
        mpk_factor_info_get(fac, info);
        double *d = calloc((size_t)a.n * 2, 8);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, d, (size_t)a.n * 16), MPK_OK);
        for (int64_t k = 0; k < 2 * (int64_t)a.n; k++) {
            uint64_t word;
            memcpy(&word, &d[k], 8);
            hash = mpki_random_mix(hash ^ word);
        }
        free(d);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_RATIO");
    return hash;
}

/* off and on are what they say; auto is off where there are units for doubles, on where there are few;
 * the same bits in every run. Without memory for it auto does without, and on is an error. */
static void test_switch(void **unused) {
    (void)unused;
    mpk_factor_info info[7];
    int64_t bytes[7];
    char said[200] = "";
    if (device_is_real()) return;
    small_blocks("13000");
    const char *const spec = "nlpkkt 10";
    const uint64_t off = bits_of(spec, MPK_OFF, "64", 0, &info[0], &bytes[0], said),
                   on = bits_of(spec, MPK_ON, "2", 0, &info[1], &bytes[1], said),
                   again = bits_of(spec, MPK_ON, "2", 0, &info[2], &bytes[2], said),
                   many = bits_of(spec, MPK_AUTO, "2", 0, &info[3], &bytes[3], said),
                   few = bits_of(spec, MPK_AUTO, "32", 0, &info[4], &bytes[4], said);
    assert_true(on == again && on == few && off == many && on != off && on && off);
    assert_true(info[0].emulated == 0 && info[3].emulated == 0 && info[1].emulated > 0);
    assert_true(info[2].emulated == info[1].emulated && info[4].emulated == info[1].emulated);
    /* slices count, and are foretold */
    assert_true(info[1].bytes > info[0].bytes + 100000);
    assert_int_equal(bytes[1] - bytes[0], info[1].bytes - info[0].bytes);
    assert_true(bytes[3] == bytes[0] && bytes[4] == bytes[1]);
    const double limit = (double)info[0].bytes + 10000;
    assert_true(bits_of(spec, MPK_AUTO, "32", limit, &info[5], &bytes[5], said) == off);
    assert_int_equal(info[5].emulated, 0);
    assert_true(bits_of(spec, MPK_ON, "2", limit, &info[6], &bytes[6], said) == 0);
    assert_non_null(strstr(said, "device_memory_limit allows"));
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    (void)bits_of("nlpkkt 2", MPK_ON, "2", 0, &info[6], &bytes[6], said); /* no large front */
    assert_int_equal(info[6].emulated, 0);
}

static mpk_problem *complex_one(mpk_context *ctx) {
    support_state = 5;
    dense m = dense_new(20, MPK_Z, MPK_HERMITIAN);
    for (int j = 0; j < 20; j++)
        for (int i = j; i < 20; i++) dense_set(&m, i, j, uniform() + (i > j ? uniform() * I : 0));
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

/* on: an error where nothing answers to it. */
static void test_refused(void **unused) {
    (void)unused;
    static const char *const why[] = {"is for a GPU", "are for real matrices in double"};
    for (int k = 0; k < 2; k++) {
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.fp64_emulation = MPK_ON;
        mpk_context *ctx = new_context(k == 1);
        mpk_problem *problem = k ? complex_one(ctx) : generated(ctx, "nlpkkt 2");
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        const char *text = NULL;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_UNSUPPORTED);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, why[k]));
        o.fp64_emulation = MPK_AUTO;
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* Verdicts, counts and solutions as the processor's. */
static void test_factors(void **unused) {
    (void)unused;
    small_blocks("13000");
    emulation = MPK_ON;
    check_shapes();
    if (test_all_cases()) {
        check_generated();
        check_files();
    }
    emulation = MPK_AUTO;
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* The same verdicts and counts with and without, and solutions as good. */
static void test_verdicts(void **unused) {
    static const char *const small[] = {"nlpkkt 6", "helmholtz 3d 6", "control-distributed 4"};
    static const char *const larger[] = {"nlpkkt 20", "stokes mac 100", "optimal-control 500",
                                         "helmholtz 3d 30", "control-distributed 15"};
    const char *const *spec = device_is_real() ? larger : small;
    const size_t count = device_is_real() ? 5 : 3;
    int64_t emulated = 0;
    (void)unused;
    small_blocks("13000");
    for (size_t k = 0; k < count; k++) {
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        emulation = MPK_OFF;
        outcome off = run(generated, spec[k], true, &o, 1);
        emulation = MPK_ON;
        outcome on = run(generated, spec[k], true, &o, 1);
        const mpk_inertia *p = &off.info.inertia, *q = &on.info.inertia;
        assert_int_equal(off.info.emulated, 0);
        emulated += on.info.emulated;
        assert_true(off.status == on.status && off.solved == on.solved && on.solved == MPK_OK);
        assert_true(p->positive == q->positive && p->negative == q->negative && p->zero == q->zero);
        assert_true(p->certified == q->certified && off.info.rank == on.info.rank);
        assert_true(on.solve.componentwise <= 1e-14);
        outcome_free(&off), outcome_free(&on);
    }
    assert_true(emulated > 0);
    emulation = MPK_AUTO;
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),   cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_switch),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_factors), cmocka_unit_test(test_verdicts)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
