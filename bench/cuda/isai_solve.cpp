// SPDX-License-Identifier: BSD-3-Clause
// bench_cuda_isai_solve PART [NAME ...]: solutions with approximate inverses in place of triangular solves (docs/isai.md).
//   idr   Tables I to III of Anzt, Chow, Huckle & Dongarra 2016 on generated siblings (siblings.h): ILU(0), IDR(4),
//         1e-10, b = ones, on the device: exact solves, and ISAI(1..3), by columns, patterns S(|A|^k)
//   sqmr  indefinite factors under SQMR on the device, 1e-8, 1000 iterations: exact, Jacobi sweeps, ISAI(1..3) with
//         0..3 relaxations; of generated matrices ("nlpkkt 30") or files (x.mtx, x.mtx.xz)
//   cpu   making ISAI(1..3) of L of ILU(0) on the processor, on 1 to 16 threads
// SCALE in the environment scales the siblings' sides; INEXACT: without the exact solves. METAPACK_CUDA_MODULE names the module.
#include "siblings.h"

#include <metapack/isai.h>
#include <metapack/metapack.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

static mpk_context *ctx;

static double now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool must(mpk_status status, const char *what) {
    const char *text = "";
    if (!mpk_failed(status)) return true;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s: %s\n", what, text);
    return false;
}

// Columns of a matrix by rows.
static csr turned(const csr &a) {
    csr t;
    t.n = a.n;
    t.ptr.assign((size_t)a.n + 1, 0);
    t.index.resize(a.index.size()), t.val.resize(a.val.size());
    for (int32_t j : a.index) ++t.ptr[j + 1];
    for (int32_t j = 0; j < a.n; ++j) t.ptr[j + 1] += t.ptr[j];
    std::vector<int64_t> next(t.ptr.begin(), t.ptr.end() - 1);
    for (int32_t i = 0; i < a.n; ++i)
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            const int64_t to = next[a.index[e]]++;
            t.index[to] = i, t.val[to] = a.val[e];
        }
    return t;
}

struct setting {
    const char *name;
    mpk_triangular triangular;
    int power, relax, sweeps, single;
};

static void run(const char *name, mpk_analysis *an, int32_t n, mpk_options o, const setting &s) {
    mpk_factor *fac = NULL;
    mpk_solve_info told;
    mpk_block_info info;
    mpk_factor_info whole;
    std::vector<double> b((size_t)n, 1.0), x((size_t)n);
    o.triangular = s.triangular, o.isai_power = s.power, o.isai_relax = s.relax;
    o.solve_sweeps = s.sweeps;
    o.isai_precision = s.single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
    double time = now();
    if (!must(mpk_factorize(ctx, an, NULL, &o, &fac), name)) return;
    time = now() - time;
    mpk_factor_block_info_get(fac, &info);
    mpk_factor_info_get(fac, &whole);
    std::memset(&told, 0, sizeof told);
    const mpk_status status = mpk_solve(ctx, fac, 1, b.data(), n, x.data(), n, &o, &told);
    if (must(status, name)) {
        const double made = info.isai.time_pattern_s + info.isai.time_values_s;
        printf(
            "%s n %d %-10s factor %.3f s, inverses: pattern %.4f values %.4f s, entries %lld "
            "longest %d; "
            "iterations %d%s, application %.4f ms, solve %.3f s, residual %.1e, factor %.1f MB\n",
            name, n, s.name, time - made, info.isai.time_pattern_s, info.isai.time_values_s,
            (long long)info.isai.entries, info.isai.longest, told.krylov.iterations,
            status == MPK_NOT_CONVERGED ? " (not converged)" : "",
            1e3 * told.krylov.time_precondition_s / std::max<int>(1, (int)told.krylov.applications),
            told.time_s, told.relative_residual, 1e-6 * (double)whole.bytes);
    }
    fflush(stdout);
    mpk_factor_destroy(&fac);
}

static void idr(const char *name, double scale) {
    static const setting settings[] = {{"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},
                                       {"ISAI(1)", MPK_TRIANGULAR_ISAI, 1, 0, 0, 0},
                                       {"ISAI(2)", MPK_TRIANGULAR_ISAI, 2, 0, 0, 0},
                                       {"ISAI(3)", MPK_TRIANGULAR_ISAI, 3, 0, 0, 0},
                                       {"ISAI(1)+1", MPK_TRIANGULAR_ISAI, 1, 1, 0, 0},
                                       {"ISAI(1)s", MPK_TRIANGULAR_ISAI, 1, 0, 0, 1}};
    const csr a = turned(sibling(name, scale));
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILU0, o.factor_type = MPK_TYPE_LDU, o.krylov = MPK_KRYLOV_IDR;
    o.shadow = 4, o.tolerance = 1e-10, o.max_iterations = 20000, o.device = MPK_ON_CUDA;
    o.matching = MPK_OFF, o.scaling = MPK_OFF, o.ordering = MPK_ORDERING_NATURAL;
    o.isai_pattern = MPK_ISAI_OF_MATRIX;
    double time = now();
    if (must(mpk_problem_from_csc(ctx, a.n, MPK_D, MPK_GENERAL, MPK_FULL, a.ptr.data(),
                                  a.index.data(), a.val.data(), &p),
             name) &&
        must(mpk_analyse(ctx, p, &o, &an), name)) {
        printf("%s: %lld entries, analysis %.2f s\n", name, (long long)a.val.size(), now() - time);
        for (const setting &s : settings)
            if (!getenv("INEXACT") || s.triangular == MPK_TRIANGULAR_ISAI) run(name, an, a.n, o, s);
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

// spec: a generator's words, or a file's name, which has a dot.
static void sqmr(const char *spec) {
    std::vector<setting> settings = {{"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},
                                     {"Jacobi 1", MPK_TRIANGULAR_JACOBI, 1, 0, 1, 0},
                                     {"Jacobi 2", MPK_TRIANGULAR_JACOBI, 1, 0, 2, 0},
                                     {"Jacobi 4", MPK_TRIANGULAR_JACOBI, 1, 0, 4, 0}};
    static const char *const names[] = {"ISAI(1)+0", "ISAI(1)+1", "ISAI(1)+2", "ISAI(1)+3",
                                        "ISAI(2)+0", "ISAI(2)+1", "ISAI(2)+2", "ISAI(2)+3",
                                        "ISAI(3)+0", "ISAI(3)+1", "ISAI(3)+2", "ISAI(3)+3"};
    for (int k = 0; k < 12; ++k)
        settings.push_back({names[k], MPK_TRIANGULAR_ISAI, 1 + k / 4, k % 4, 0, 0});
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_problem_view v;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT, o.krylov = MPK_KRYLOV_SQMR, o.tolerance = 1e-8;
    o.max_iterations = 1000, o.device = MPK_ON_CUDA, o.isai_limit = 1024,
    o.isai_over = MPK_ISAI_LESS;
    const mpk_status got = strstr(spec, ".mtx") ? mpk_problem_read(ctx, spec, &p)
                                                : mpk_problem_generate(ctx, spec, 3, &p);
    if (must(got, spec) && must(mpk_analyse(ctx, p, &o, &an), spec)) {
        mpk_problem_view_get(p, &v);
        for (const setting &s : settings) run(spec, an, v.n, o, s);
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

// L of ILU(0) by rows, in place, in one thread.
static csr ilu0(csr a) {
    std::vector<int64_t> place((size_t)a.n, -1), diagonal((size_t)a.n);
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) place[a.index[e]] = e;
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            const int32_t k = a.index[e];
            if (k == i) diagonal[i] = e;
            if (k >= i) continue;
            a.val[e] /= a.val[diagonal[k]];
            for (int64_t q = diagonal[k] + 1; q < a.ptr[k + 1]; ++q)
                if (place[a.index[q]] >= 0) a.val[place[a.index[q]]] -= a.val[e] * a.val[q];
        }
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) place[a.index[e]] = -1;
    }
    return a;
}

static void cpu(const char *name, double scale) {
    csr f = ilu0(sibling(name, scale));
    for (int32_t i = 0; i < f.n; ++i)
        for (int64_t e = f.ptr[i]; e < f.ptr[i + 1]; ++e)
            if (f.index[e] == i) f.val[e] = 1;
    const csr l = turned(f);
    for (int power = 1; power <= 3; ++power) {
        double first = 0;
        for (int threads : {1, 2, 4, 8, 16}) {
            mpk_isai_options o;
            mpk_isai *m = NULL;
            mpk_isai_info info;
            double best = 1e30, pattern = 1e30;
            mpk_isai_options_init(&o);
            o.power = power, o.threads = threads;
            for (int turn = 0; turn < 2; ++turn) {
                if (!must(mpk_isai_create(ctx, MPK_D, l.n, l.ptr.data(), l.index.data(),
                                          l.val.data(), &o, &m),
                          name))
                    return;
                mpk_isai_info_get(m, &info);
                best = std::min(best, info.time_values_s),
                pattern = std::min(pattern, info.time_pattern_s);
                mpk_isai_destroy(&m);
            }
            if (threads == 1) first = best + pattern;
            printf("cpu %s ISAI(%d) threads %d pattern %.4f values %.4f s, efficiency of both %.0f "
                   "%%\n",
                   name, power, threads, pattern, best, 100 * first / (best + pattern) / threads);
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv) {
    const double scale = getenv("SCALE") ? atof(getenv("SCALE")) : 1;
    if (argc < 2 || mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
    for (int k = 2; k < argc; ++k) {
        if (!strcmp(argv[1], "idr")) idr(argv[k], scale);
        if (!strcmp(argv[1], "sqmr")) sqmr(argv[k]);
        if (!strcmp(argv[1], "cpu")) cpu(argv[k], scale);
    }
    mpk_context_destroy(&ctx);
    return 0;
}
