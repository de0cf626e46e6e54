/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages that get nowhere on the device: the dense pivot that ends them against the processor's, in
 * every part of a solve. Without a GPU its kernels run on the host. */
#include "device_blocks.h"

#include "factor/stuck.h"

enum { COLUMNS = 3 };

/* The largest difference of x and y, in units of the largest modulus. */
static double apart(const run *r, const void *x, const void *y, int64_t count) {
    double most = 0, d = 0;
    for (int64_t i = 0; i < count; i++) {
        const double complex a = scalar_load(r->a.scalar, x, i), b = scalar_load(r->a.scalar, y, i);
        if (!(cabs(a) <= most)) most = cabs(a);
        if (!(cabs(a - b) <= d)) d = cabs(a - b);
    }
    return d / most;
}

/* Parts of a solve, one after the other, with some vectors at once. */
static void *parts_of(mpk_context *ctx, const run *r, mpk_part first, mpk_part last,
                      int32_t columns) {
    const int64_t n = r->a.n;
    mpki_application m;
    char *x = malloc((size_t)(columns * n) * mpk_scalar_size(r->a.scalar));
    for (int64_t i = 0; i < columns * n; i++)
        scalar_store(r->a.scalar, x, i, rhs_entry(i, r->a.scalar));
    assert_int_equal(mpki_apply_make(ctx, r->fac, 1, columns, &m), MPK_OK);
    for (mpk_part part = first; part <= last; part++)
        assert_int_equal(mpki_apply(&m, part, columns, x, n, x, n), MPK_OK);
    mpki_apply_free(&m);
    return x;
}
static void *part_of(mpk_context *ctx, const run *r, mpk_part part, int32_t columns) {
    return parts_of(ctx, r, part, part, columns);
}
static void *one_by_one(mpk_context *ctx, const run *r, int32_t columns) {
    return parts_of(ctx, r, MPK_PART_L, MPK_PART_LT, columns);
}

/* Is x^H M x > 0 for the vectors that part_of() takes? */
static bool definite(const run *r, const void *mx, int32_t columns) {
    const int64_t n = r->a.n;
    bool good = true;
    for (int32_t c = 0; c < columns; c++) {
        double complex sum = 0;
        for (int64_t i = c * n; i < (c + 1) * n; i++)
            sum += conj(rhs_entry(i, r->a.scalar)) * scalar_load(r->a.scalar, mx, i);
        good = good && creal(sum) > 0;
    }
    return good;
}

static mpk_block_info info_of(const run *r) {
    mpk_block_info info;
    mpk_factor_block_info_get(r->fac, &info);
    return info;
}

/* Symmetric, complex, Hermitian; exact sweeps and repeated ones; in single precision. */
static void test_parts(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const mpk_part parts[] = {MPK_PART_ALL, MPK_PART_ABS};
    for (int k = 0; k < 3 * STUCK; k++) {
        if (k / STUCK == 1 && k % STUCK > 0) continue; /* there is nothing before their border */
        if (k / STUCK == 2 && k % STUCK > 1) continue;
        mpk_options o = stubborn();
        const bool single = k / STUCK == 2;
        if (k / STUCK == 1) o.solve_sweeps = 40;
        if (single) o.precision = MPK_PRECISION_SINGLE;
        run r[2];
        device_both(ctx, stuck[k % STUCK], &o, r);
        assert_int_equal(r[0].status, MPK_OK);
        const mpk_block_info p = info_of(&r[0]), q = info_of(&r[1]);
        assert_true(p.border_rows > 0);
        assert_int_equal(p.border_rows, q.border_rows);
        assert_int_equal(p.stages, q.stages);
        assert_int_equal(p.perturbed, q.perturbed);
        mpk_factor_info a, b;
        mpk_factor_info_get(r[0].fac, &a), mpk_factor_info_get(r[1].fac, &b);
        assert_int_equal(a.nnz, b.nnz);
        assert_int_equal(a.inertia.positive, b.inertia.positive);
        assert_int_equal(a.inertia.negative, b.inertia.negative);
        const difference f = compare_factors(ctx, r[0].fac, r[1].fac); /* before the border */
        if (!single && !(f.entries <= 1e-11 && f.pivots <= 1e-11))
            fail_msg("%s: entries differ by %g, pivots by %g", stuck[k % STUCK], f.entries,
                     f.pivots);
        if (!single && !(residual(ctx, &r[1]) <= 1e-8))
            fail_msg("%s: residual %g", stuck[k % STUCK], residual(ctx, &r[1]));
        for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
            const bool absolute = parts[part] == MPK_PART_ABS;
            if (absolute && k % STUCK == COMPLEX_SYMMETRIC) continue;
            void *x = part_of(ctx, &r[0], parts[part], COLUMNS);
            void *y = part_of(ctx, &r[1], parts[part], COLUMNS);
            const double d = apart(&r[0], x, y, COLUMNS * r[0].a.n);
            if (absolute) assert_true(definite(&r[1], y, COLUMNS));
            /* S differs in its last bits, and so may the kinds of pivots; |D| depends on these */
            if (!(d <= (single ? 1e-2 : 1e-9)) && !(absolute && p.two_by_two != q.two_by_two))
                fail_msg("%s, case %d, part %d: %g apart", stuck[k % STUCK], k, parts[part], d);
            free(x), free(y);
        }
        /* L, D, L^T one after the other: two rows of a pivot may stand the other way round */
        void *whole = part_of(ctx, &r[1], MPK_PART_ALL, COLUMNS);
        void *x = one_by_one(ctx, &r[1], COLUMNS);
        const double d = apart(&r[1], whole, x, COLUMNS * r[1].a.n);
        if (!(d <= (single ? 1e-3 : 1e-11)))
            fail_msg("%s, case %d, its parts: %g apart", stuck[k % STUCK], k, d);
        free(x), free(whole);
        end(&r[0]), end(&r[1]);
    }
    mpk_context_destroy(&ctx);
}

/* Approximate inverses in place of sweeps: products, then the dense pivot; in single precision,
 * too. */
static void test_inverses(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < 2 * STUCK; k++) {
        mpk_options o = stubborn();
        const bool single = k >= STUCK;
        const char *spec = stuck[k % STUCK];
        if (single && k % STUCK > 1) continue; /* ill conditioned, there */
        o.triangular = MPK_TRIANGULAR_ISAI;
        o.isai_power = 1 + k % 2;
        o.isai_relax = k % 3;
        if (single) o.precision = MPK_PRECISION_SINGLE;
        run r[2];
        device_both(ctx, spec, &o, r);
        assert_false(mpk_failed(r[0].status));
        assert_true(info_of(&r[1]).border_rows > 0);
        assert_int_equal(info_of(&r[0]).border_rows, info_of(&r[1]).border_rows);
        for (mpk_part part = MPK_PART_L; part <= MPK_PART_ABS; part++) {
            if (part == MPK_PART_ABS && k % STUCK == COMPLEX_SYMMETRIC) continue;
            if (part < MPK_PART_ALL && k % STUCK > 0)
                continue; /* pivots may come in another order */
            void *x = part_of(ctx, &r[0], part, COLUMNS), *y = part_of(ctx, &r[1], part, COLUMNS);
            const double d = apart(&r[0], x, y, COLUMNS * (int64_t)r[0].a.n);
            const bool pairs_agree = info_of(&r[0]).two_by_two == info_of(&r[1]).two_by_two;
            if (!(d <= (single ? 1e-3 : 1e-9)) && (part != MPK_PART_ABS || pairs_agree))
                fail_msg("%s, inverses, single %d, part %d: %g apart", spec, single, part, d);
            free(x), free(y);
        }
        end(&r[0]), end(&r[1]);
    }
    mpk_context_destroy(&ctx);
}

/* The same bits again, and after other values of the same pattern. */
static void test_bits(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const mpk_options o = stubborn();
    run r[2];
    device_both(ctx, "nlpkkt 4", &o, r);
    const size_t bytes = (size_t)r[1].a.n * sizeof(double);
    void *x = part_of(ctx, &r[1], MPK_PART_ALL, 1);
    mpki_engine_use(ctx, device_engine_of(ctx));
    assert_int_equal(mpk_refactorize(ctx, r[1].a.ax, &o, r[1].fac), MPK_OK);
    mpki_engine_use(ctx, NULL);
    assert_true(info_of(&r[1]).border_rows > 0);
    void *y = part_of(ctx, &r[1], MPK_PART_ALL, 1);
    assert_memory_equal(x, y, bytes);
    free(x), free(y);
    end(&r[0]), end(&r[1]);
    mpk_context_destroy(&ctx);
}

/* Entries dropped before, and values that overflow in it: as on the processor. */
static void test_trouble(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = stubborn();
    run r[2];
    o.level = 1, o.drop_tolerance = 1e-3, o.fill_factor = 4;
    device_both(ctx, "nlpkkt 4", &o, r);
    assert_true(info_of(&r[0]).border_rows > 0);
    assert_int_equal(info_of(&r[0]).border_rows, info_of(&r[1]).border_rows);
    assert_true(apart(&r[0], r[0].x, r[1].x, r[0].a.n) <= 1e-9);
    end(&r[0]), end(&r[1]);
    /* less and less memory of the device */
    o = stubborn();
    bool refused = false;
    for (double limit = 16 << 20; limit > 4096 && !refused; limit *= 0.5) {
        o.device_memory_limit = limit;
        mpki_engine_use(ctx, device_engine_of(ctx));
        run a = go(ctx, "random 90 0.9 0.9", &o);
        mpki_engine_use(ctx, NULL);
        refused = a.status == MPK_ERR_MEMORY;
        assert_true(refused || a.status == MPK_OK);
        end(&a);
    }
    assert_true(refused);
    mpk_context_destroy(&ctx);
}

/* Allocations of host memory fail, each with more before it; nothing is lost. */
static void test_allocations(void **state) {
    (void)state;
    failing f = {.fail_at = -1};
    const mpk_allocator allocator = {
        .alloc = failing_alloc, .release = failing_release, .user = &f};
    int done = 0, failures = 0;
    for (int64_t fail_at = 1; !done; fail_at = fail_at * 9 / 8 + 1) {
        mpk_context *ctx = NULL;
        f = (failing){.fail_at = -1};
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        run r = {.o = stubborn()};
        r.o.threads = 1;
        assert_int_equal(mpk_problem_generate(ctx, "random 90 0.9 0.9", 3, &r.problem), MPK_OK);
        mpk_problem_view_get(r.problem, &r.a);
        assert_true(mpk_analyse(ctx, r.problem, &r.o, &r.an) >= 0);
        mpki_engine_use(ctx, device_engine_of(ctx));
        f.calls = 0, f.fail_at = fail_at;
        r.status = mpk_factorize(ctx, r.an, r.a.ax, &r.o, &r.fac);
        done = f.calls < fail_at;
        f.fail_at = -1;
        if (mpk_failed(r.status)) {
            assert_int_equal(r.status, MPK_ERR_MEMORY);
            assert_null(r.fac);
            failures++;
        } else {
            assert_true(done && info_of(&r).border_rows > 0);
        }
        end(&r);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
    }
    assert_true(failures > 10);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_inverses),
        cmocka_unit_test(test_bits),        cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_allocations),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (device_lacks(DEVICE_BLOCKS)) return 0;
    return cmocka_run_group_tests_name("device: dense pivots of factors on blocks", tests,
                                       device_setup, NULL);
}
