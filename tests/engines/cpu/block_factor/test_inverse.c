/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors with approximate inverses in place of triangular solves, against the same in blocks: with
 * the whole pattern, or with enough relaxation, every part is exact; else products are symmetric,
 * and the same for any number of threads. */
#include "sanitized.h"
#include "runs.h"

#include "engines/cpu/block_factor/inverse.h"
#include "engines/cpu/block_factor/sweeps.h"

#include <time.h>

static const int32_t nrhs[] = {1, 3, 11}; /* one application takes 8 */

/* exact: in blocks, with exact triangular solves; else by approximate inverses. */
static run either(mpk_context *ctx, bool exact, const char *spec, const mpk_options *o) {
    mpk_options mine = *o;
    if (exact) mine.triangular = MPK_TRIANGULAR_EXACT;
    run r = go(ctx, exact ? &in_blocks : NULL, spec, &mine);
    assert_int_equal(r.info.isai.entries > 0, !exact);
    return r;
}

static const char *const families[] = {
    "nlpkkt 4",
    "stokes mac 9",
    "helmholtz 2d 14 0.3",
    "lin 6 6 6",
    "random 200 0.02 0.3 complex",
    "random 190 0.02 0.3 hermitian",
    "convection 15 speed=30",
};
enum { FAMILIES = sizeof families / sizeof *families, GENERAL = FAMILIES - 1 };

enum { KINDS = 9, EVERY = 9 /* under a sanitizer */ };
static bool options_of(int kind, int family, mpk_options *o) {
    mpk_options_init(o);
    o->method = kind == 0 ? MPK_METHOD_ILU0 : MPK_METHOD_ILDLT;
    o->threads = 1;
    o->triangular = MPK_TRIANGULAR_ISAI;
    o->block = kind == 2 ? 5 : kind == 8 ? 128 : 24;
    o->shift = 0.5; /* so that digits can be compared */
    if (kind == 3 || family == GENERAL) o->factor_type = MPK_TYPE_LDU, o->krylov = MPK_KRYLOV_GMRES;
    if (kind == 4) o->stages = 3, o->pivot_threshold = 0.2, o->pivoting = MPK_PIVOTING_PARTIAL;
    if (kind == 5) o->method = MPK_METHOD_SSOR;
    if (kind == 6) o->precision = MPK_PRECISION_SINGLE;
    if (kind == 7) o->block = 1, o->level = 2, o->shift = 0.9, o->static_shift = 0.03;
    return kind != 5 || family != GENERAL;
}

static double bound_of(const mpk_options *o) {
    return o->precision == MPK_PRECISION_SINGLE ? 1e-2 : 1e-8;
}

/* Two ways to be exact: S(|L|^n), and n sweeps. */
static void test_exact(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int way = 0; way < 6; way++) { /* from 3 on by frames */
                mpk_options o;
                char what[128];
                if (!options_of(kind, k, &o)) continue;
                if (test_sanitizer_skips(k + kind + way % 3, EVERY)) continue;
                o.isai_frames = way >= 3 ? MPK_ON : MPK_OFF;
                o.isai_power = way % 3 == 0 ? 1000 : 1;
                const bool scalars = kind == 0 || kind == 5 || kind == 7;
                /* as many as there are level sets would do */
                o.isai_relax = way % 3 == 0 ? 0 : scalars ? 120 : 30;
                o.isai_pattern = way % 3 == 2 ? MPK_ISAI_OF_MATRIX : MPK_ISAI_OF_FACTOR;
                run inverses = either(ctx, false, families[k], &o),
                    blocks = either(ctx, true, families[k], &o);
                snprintf(what, sizeof what, "%s, kind %d, way %d", families[k], kind, way);
                assert_int_equal(inverses.info.kept, blocks.info.kept);
                compare(ctx, &inverses, &blocks, what, nrhs, way % 3 == 0 ? 3 : 2, bound_of(&o));
                end(&inverses), end(&blocks);
            }
    mpk_context_destroy(&ctx);
}

/* LLT, of scalars and of blocks; a border, butterflies, joined frames. */
static void test_forms(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int kind = 0; kind < 2; kind++) {
        mpk_options o;
        options_of(kind, 0, &o);
        o.factor_type = MPK_TYPE_LLT, o.isai_power = 1000;
        o.isai_frames = kind ? MPK_ON : MPK_OFF;
        run inverses = either(ctx, false, "helmholtz 2d 20 0", &o);
        run blocks = either(ctx, true, "helmholtz 2d 20 0", &o);
        compare(ctx, &inverses, &blocks, "llt", nrhs, 3, 1e-10);
        end(&inverses), end(&blocks);
    }
    int borders = 0;
    for (int k = 0; k < GENERAL; k++)
        for (int butterfly = 0; butterfly < 2; butterfly++) {
            mpk_options o;
            options_of(1, k, &o);
            o.stages = 0, o.pivot_threshold = 0.4, o.isai_power = 1000, o.shift = 0;
            o.block = 8, o.level = -1, o.drop_tolerance = o.fill_factor = 0;
            o.butterfly = butterfly ? MPK_ON : MPK_OFF;
            o.isai_frames = k % 2 ? MPK_ON : MPK_OFF;
            o.pivoting = MPK_PIVOTING_NONE, o.matching = MPK_OFF;
            run inverses = either(ctx, false, families[k], &o),
                blocks = either(ctx, true, families[k], &o);
            borders += inverses.info.border_rows > 0;
            compare(ctx, &inverses, &blocks, families[k], nrhs, 3, 1e-6);
            end(&inverses), end(&blocks);
        }
    assert_true(borders > 0);
    mpk_context_destroy(&ctx);
}

/* y^T M^-1 x = x^T M^-1 y (conjugated for Hermitian factors), whatever the pattern. */
static void test_symmetry(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < GENERAL; k++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int pattern = 0; pattern < 5; pattern++) /* from 3 on by frames */
                for (int relax = 0; relax < 3; relax++) {
                    mpk_options o;
                    mpk_status status;
                    options_of(kind, k, &o);
                    if (o.factor_type == MPK_TYPE_LDU) continue;
                    if (test_sanitizer_skips(k + kind + pattern + relax, EVERY)) continue;
                    o.isai_pattern = (mpk_isai_pattern)(pattern % 3);
                    o.isai_frames = pattern >= 3 ? MPK_ON : MPK_OFF;
                    o.isai_relax = relax, o.isai_block = 7;
                    if (relax == 1) o.isai_precision = MPK_PRECISION_SINGLE;
                    run r = either(ctx, false, families[k], &o);
                    const size_t size = mpk_scalar_size(r.a.scalar);
                    void *x = calloc((size_t)r.a.n + 3, size), *y = calloc((size_t)r.a.n + 3, size);
                    fill(&r, 1, 1, x), fill(&r, 1, 1.7, y);
                    for (mpk_part part = MPK_PART_ALL; part <= MPK_PART_ABS;
                         part += MPK_PART_ABS - MPK_PART_ALL) {
                        void *mx = apply(ctx, &r, part, 1, 1, 1, &status);
                        void *my = apply(ctx, &r, part, 1, 1, 1.7, &status);
                        double complex a = 0, b = 0;
                        double bound = 0;
                        const bool hermitian = r.a.symmetry == MPK_HERMITIAN;
                        if (r.a.scalar >= MPK_C && !hermitian && part == MPK_PART_ABS) {
                            free(mx), free(my);
                            continue; /* |D| is neither, there */
                        }
                        for (int32_t i = 0; i < r.a.n; i++) {
                            const double complex xi = scalar_load(r.a.scalar, x, i),
                                                 yi = scalar_load(r.a.scalar, y, i),
                                                 u = scalar_load(r.a.scalar, mx, i),
                                                 v = scalar_load(r.a.scalar, my, i);
                            a += (hermitian ? conj(yi) : yi) * u;
                            b += hermitian ? conj(v) * xi : v * xi;
                            bound += cabs(yi * u) + cabs(xi * v);
                        }
                        const double eps = o.precision == MPK_PRECISION_SINGLE ? 1e-6 : 1e-14;
                        if (!(cabs(a - b) <= 100 * eps * bound))
                            fail_msg("%s, kind %d, pattern %d, relax %d: %g of %g", families[k],
                                     kind, pattern, relax, cabs(a - b), bound);
                        free(mx), free(my);
                    }
                    free(x), free(y);
                    end(&r);
                }
    mpk_context_destroy(&ctx);
}

/* rows x rows of scalars: A X = B by Gaussian elimination with partial pivoting; B becomes X. */
static void solve_dense(int n, double complex *a, double complex *b) {
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k; i < n; i++)
            if (cabs(a[i * n + k]) > cabs(a[p * n + k])) p = i;
        for (int j = 0; j < n; j++) {
            double complex t = a[k * n + j];
            a[k * n + j] = a[p * n + j], a[p * n + j] = t;
            t = b[k * n + j], b[k * n + j] = b[p * n + j], b[p * n + j] = t;
        }
        for (int i = 0; i < n; i++) {
            const double complex f = a[i * n + k] / a[k * n + k];
            for (int j = 0; j < n && i != k && f != 0; j++)
                a[i * n + j] -= f * a[k * n + j], b[i * n + j] -= f * b[k * n + j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) b[i * n + j] /= a[i * n + i];
}

/* A part of the factor as a dense matrix, rows and columns by position. */
static double complex *dense_part(mpk_context *ctx, const run *r, mpk_part part) {
    const int n = r->a.n;
    const size_t size = mpk_scalar_size(r->a.scalar);
    double complex *all = calloc((size_t)n * (size_t)n, sizeof *all);
    char *x = calloc((size_t)n, size);
    for (int j = 0; j < n; j++) {
        memset(x, 0, (size_t)n * size);
        scalar_store(r->a.scalar, x, r->an->block->blocking.perm[j], 1);
        assert_false(mpk_failed(mpk_solve_part(ctx, r->fac, part, 1, x, n)));
        for (int i = 0; i < n; i++) all[i * n + j] = scalar_load(r->a.scalar, x, i);
    }
    free(x);
    return all;
}

/* By frames, in dense algebra: exact solves by the part L, undone, leave of the approximate ones
 * L^ M_L, whose entries on the pattern of blocks are those of the identity; and a block of M that is
 * not in the pattern is empty. */
static void test_dense(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    static const char *const small[] = {"nlpkkt 2",     "stokes mac 5",
                                        "lin 4 4 3",    "random 60 0.05 0.3 complex",
                                        "convection 7", "random 50 0.06 0.3 hermitian"};
    int64_t wider = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 6; k++)
        for (int kind = 1; kind < 5; kind++)
            for (int power = 0; power < 3; power++) {
                mpk_options o;
                options_of(kind, k == 4 ? GENERAL : 0, &o);
                o.block = kind == 2 ? 3 : 6, o.isai_power = power, o.isai_frames = MPK_ON;
                o.isai_pattern = kind == 4 ? MPK_ISAI_OF_MATRIX : MPK_ISAI_OF_FACTOR;
                o.matching = o.scaling = MPK_OFF;
                run approximate = either(ctx, false, small[k], &o),
                    exact = either(ctx, true, small[k], &o);
                const int n = exact.a.n;
                double complex *m = dense_part(ctx, &approximate, MPK_PART_L);
                double complex *product = dense_part(ctx, &approximate, MPK_PART_L);
                double complex *l = dense_part(ctx, &exact, MPK_PART_L);
                double most = 0;
                for (int i = 0; i < n * n; i++) most = fmax(most, cabs(m[i]));
                solve_dense(n, l, product);
                /* frames are ranges of positions */
                const int32_t *bptr = exact.an->block->blocking.bptr;
                const int32_t frames = exact.an->block->blocking.nframes;
                for (int32_t p = 0; p < frames; p++)
                    for (int32_t q = 0; q < frames; q++) {
                        bool met = p == q;
                        for (int32_t i = bptr[p]; i < bptr[p + 1]; i++)
                            for (int32_t j = bptr[q]; j < bptr[q + 1]; j++)
                                met = met || m[i * n + j] != 0;
                        for (int32_t i = bptr[p]; i < bptr[p + 1] && met; i++)
                            for (int32_t j = bptr[q]; j < bptr[q + 1]; j++)
                                if (!(cabs(product[i * n + j] - (i == j)) <= 1e-9 * (1 + most)))
                                    fail_msg("%s, kind %d, power %d: entry %d %d is off by %g",
                                             small[k], kind, power, i, j,
                                             cabs(product[i * n + j] - (i == j)));
                    }
                o.isai_frames = MPK_OFF;
                run columns = either(ctx, false, small[k], &o);
                assert_true(approximate.info.isai.entries >= columns.info.isai.entries);
                wider += approximate.info.isai.entries > columns.info.isai.entries;
                free(m), free(product), free(l);
                end(&approximate), end(&exact), end(&columns);
            }
    assert_true(wider > 0);
    mpk_context_destroy(&ctx);
}

/* The diagonal alone is what zero Jacobi sweeps would be; k sweeps of relaxation with it are
 * Jacobi's k sweeps. And triangular = jacobi is solve_sweeps. */
static void test_jacobi(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < 4; kind++)
            for (int sweeps = 1; sweeps < 4; sweeps++) {
                mpk_options o, jacobi;
                options_of(kind, k, &o);
                jacobi = o;
                o.isai_power = 0, o.isai_relax = sweeps;
                jacobi.triangular = MPK_TRIANGULAR_JACOBI, jacobi.solve_sweeps = sweeps;
                run inverses = either(ctx, false, families[k], &o);
                run blocks = either(ctx, true, families[k], &jacobi);
                compare(ctx, &inverses, &blocks, families[k], nrhs, 2, bound_of(&o));
                end(&inverses), end(&blocks);
            }
    mpk_options usual, three;
    options_of(1, 0, &usual);
    three = usual;
    usual.triangular = MPK_TRIANGULAR_JACOBI;
    three.solve_sweeps = 3;
    run a = either(ctx, true, families[0], &three);
    mpki_engine_use(ctx, &in_blocks);
    run b = {0};
    assert_int_equal(mpk_problem_generate(ctx, families[0], 3, &b.problem), MPK_OK);
    mpk_problem_view_get(b.problem, &b.a);
    assert_false(mpk_failed(mpk_analyse(ctx, b.problem, &usual, &b.an)));
    assert_false(mpk_failed(mpk_factorize(ctx, b.an, NULL, &usual, &b.fac)));
    mpki_engine_use(ctx, NULL);
    compare(ctx, &b, &a, "jacobi", nrhs, 1, 1e-14);
    end(&a), end(&b);
    mpk_context_destroy(&ctx);
}

/* Other values, in the same factor: the bits of a new one. */
static void test_values(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < 3; kind++) { /* 2: by frames */
            mpk_options o;
            mpk_status status;
            options_of(kind, k, &o);
            o.isai_relax = 1, o.isai_power = 2;
            o.isai_frames = kind == 2 ? MPK_ON : MPK_OFF;
            run old = either(ctx, false, families[k], &o),
                fresh = either(ctx, false, families[k], &o);
            double complex *ax = calloc((size_t)old.a.nnz, sizeof *ax);
            for (int64_t e = 0; e < old.a.nnz; e++)
                scalar_store(old.a.scalar, ax, e,
                             scalar_load(old.a.scalar, old.a.ax, e) * (1 + 0.25 * (e % 2)));
            mpk_factor_destroy(&fresh.fac);
            assert_false(mpk_failed(mpk_factorize_lower(ctx, old.an, ax, &o, &old.fac)));
            assert_false(mpk_failed(mpk_factorize_lower(ctx, old.an, ax, &o, &old.fac)));
            assert_false(mpk_failed(mpk_factorize_lower(ctx, fresh.an, ax, &o, &fresh.fac)));
            void *x = apply(ctx, &old, MPK_PART_ALL, 1, 1, 1, &status);
            void *y = apply(ctx, &fresh, MPK_PART_ALL, 1, 2, 1, &status);
            assert_memory_equal(x, y, (size_t)old.a.n * mpk_scalar_size(old.a.scalar));
            free(x), free(y), free(ax);
            end(&old), end(&fresh);
        }
    mpk_context_destroy(&ctx);
}

/* A limit refuses with the column's name, or is held and counted. */
static void test_limit(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < 6; kind++) { /* from 4 on by frames */
            mpk_options o;
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            const char *text;
            int64_t column;
            options_of(kind < 4 ? kind : kind - 2, k, &o);
            o.isai_power = 2, o.isai_limit = 4;
            o.isai_frames = kind < 4 ? MPK_OFF : MPK_ON;
            assert_int_equal(mpk_problem_generate(ctx, families[k], 3, &problem), MPK_OK);
            assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_ARGUMENT);
            assert_null(fac);
            mpk_last_error(ctx, NULL, &column, &text);
            assert_true(column >= 0);
            char first[80]; /* one text with and without frames */
            snprintf(first, sizeof first, "column %d of the approximate inverse would have ",
                     (int)column + 1);
            assert_int_equal(strncmp(text, first, strlen(first)), 0);
            assert_non_null(strstr(text, " entries, the limit is 4"));
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            for (o.isai_over = MPK_ISAI_LESS; o.isai_over <= MPK_ISAI_LARGEST; o.isai_over++) {
                int64_t count = 0;
                run r = either(ctx, false, families[k], &o);
                assert_true(r.info.isai.over > 0);
                assert_true(r.info.isai.longest <= 4);
                for (int c = 0; c < MPK_ISAI_CLASSES; c++) count += r.info.isai.columns[c];
                assert_int_equal(count, r.a.n * (o.factor_type == MPK_TYPE_LDU ? 2 : 1));
                end(&r);
            }
        }
    mpk_context_destroy(&ctx);
}

static double pause_s[2]; /* that an application takes besides: exact, by products */
static const double PAUSE = TEST_SANITIZED ? 40e-3 : 5e-3;
static double wrong; /* what products are multiplied with, less 1 */

static mpk_status slow(mpki_block_solver *s, mpk_part part, int32_t count, const void *b,
                       int64_t ldb, void *x, int64_t ldx) {
    const bool products = s->bf->isai != NULL;
    const struct timespec pause = {0, (long)(1e9 * pause_s[products])};
    const mpk_status status = mpki_cpu_blocks.apply(s, part, count, b, ldb, x, ldx);
    for (int64_t i = 0; i < 2 * s->bf->stages->blocking->n && products && wrong != 0; i++)
        if (mpk_scalar_size(s->bf->stages->scalar) == 16 || i < s->bf->stages->blocking->n)
            ((double *)x)[i] *= 1 + wrong;
    nanosleep(&pause, NULL);
    return status;
}

/* auto takes what is quicker, unless products are far from what is exact; the factor is then the
 * one that is made when it is asked for. */
static void test_auto(void **unused) {
    (void)unused;
    mpki_block_engine blocks = mpki_cpu_blocks;
    mpki_engine engine = {
        .name = in_blocks.name, .direct = &mpki_cpu_direct, .vectors = &mpki_cpu_vectors};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    blocks.apply = slow, engine.blocks = &blocks;
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < 4; kind++)
            for (int way = 0; way < 3; way++) { /* products quicker; exact; quicker, but far */
                mpk_options o, same;
                char what[128];
                if (!options_of(kind, k, &o)) continue;
                if (test_sanitizer_skips(k + kind + way, EVERY)) continue;
                o.isai_power = 1000; /* products are exact */
                same = o;
                same.triangular = way ? MPK_TRIANGULAR_EXACT : MPK_TRIANGULAR_ISAI;
                o.triangular = MPK_TRIANGULAR_AUTO, o.solve_sweeps = 2; /* which is not read */
                pause_s[0] = way == 1 ? 0 : PAUSE, pause_s[1] = way == 1 ? PAUSE : 0;
                wrong = way == 2 ? 0.6 : 0;
                run chosen = go(ctx, &engine, families[k], &o),
                    asked = go(ctx, NULL, families[k], &same);
                snprintf(what, sizeof what, "%s, kind %d, way %d", families[k], kind, way);
                assert_int_equal(chosen.fac->options.triangular, same.triangular);
                assert_int_equal(chosen.info.isai.entries, asked.info.isai.entries);
                assert_int_equal(chosen.info.by_rows, asked.info.by_rows);
                assert_int_equal(chosen.info.bytes, asked.info.bytes);
                assert_true(chosen.info.exact_s > 0 && chosen.info.inverses_s > 0);
                if (way == 2)
                    assert_true(fabs(chosen.info.inverses_error - wrong) < 1e-3);
                else
                    assert_true(chosen.info.inverses_error < 1e-6);
                pause_s[0] = pause_s[1] = wrong = 0;
                compare(ctx, &chosen, &asked, what, nrhs, 2, way == 0 ? 0 : 1e-13);
                end(&chosen), end(&asked);
            }
    mpk_context_destroy(&ctx);
}

/* The k-th allocation of factorization and solve fails. */
static void test_no_memory(void **unused) {
    (void)unused;
    static const char *const small[] = {"stokes mac 3", "convection 5",
                                        "random 24 0.1 0.3 hermitian"};
    for (int which = 0; which < 3; which++)
        /* by odd ones the choice is measured, from 4 on by frames */
        for (int kind = 0; kind < 6; kind++)
            for (int64_t k = 1, step = 1;; k += step) {
                failing f = {0};
                mpk_allocator allocator = {failing_alloc, failing_release, &f};
                mpk_context *ctx = NULL;
                mpk_problem *problem = NULL;
                mpk_analysis *an = NULL;
                mpk_factor *fac = NULL;
                mpk_options o;
                double complex b[64] = {1}, x[64];
                options_of(kind / 2 > 0, which == 1 ? GENERAL : 0, &o);
                if (kind % 2) o.triangular = MPK_TRIANGULAR_AUTO;
                o.isai_relax = 1, o.isai_pattern = MPK_ISAI_OF_MATRIX, o.isai_power = 2;
                o.isai_limit = 3, o.isai_over = MPK_ISAI_LARGEST;
                o.isai_precision = MPK_PRECISION_SINGLE;
                if (kind >= 4) o.isai_frames = MPK_ON;
                o.threads = 1;
                assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
                assert_int_equal(mpk_problem_generate(ctx, small[which], 3, &problem), MPK_OK);
                assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
                f.fail_at = f.calls + k;
                mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
                const mpk_status made = status;
                if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, 64, x, 64, &o, NULL);
                const bool through = f.calls < f.fail_at;
                if (!through && mpk_failed(made)) assert_int_equal(made, MPK_ERR_MEMORY);
                if (mpk_failed(made)) assert_null(fac);
                mpk_factor_destroy(&fac);
                mpk_analysis_destroy(&an);
                mpk_problem_destroy(&problem);
                mpk_context_destroy(&ctx);
                assert_int_equal(f.held, 0);
                if (through) break;
            }
}

int main(void) {
    in_blocks_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),     cmocka_unit_test(test_forms),
        cmocka_unit_test(test_symmetry),  cmocka_unit_test(test_dense),
        cmocka_unit_test(test_jacobi),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_limit),     cmocka_unit_test(test_auto),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
