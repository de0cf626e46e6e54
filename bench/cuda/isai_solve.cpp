// SPDX-License-Identifier: BSD-3-Clause
// bench_cuda_isai_solve PART [NAME ...]: solutions with approximate inverses in place of
// triangular solves (docs/guide/isai.md).
//   idr   Tables I to III of Anzt, Chow, Huckle & Dongarra 2016 on generated siblings (siblings.h): ILU(0), IDR(4),
//         1e-10, b = ones, on the device: exact solves, and ISAI(1..3), by columns, patterns S(|A|^k)
//   sqmr  indefinite factors under SQMR on the device, 1e-8, 1000 iterations: exact, Jacobi sweeps, ISAI(1..3) with
//         0..3 relaxations; of generated matrices ("nlpkkt 30") or files (x.mtx, x.mtx.xz)
//   suite Fig. 8 and Table III: likewise on generated matrices of the siblings' kinds, of several sizes and parameters;
//         without a preconditioner too; NAMEs: parts of their names, or all
//   published  Table II's iterations, on what is known of two of its matrices (published.h), for several seeds of IDR's: ecology2,
//         parabolic_fem
//   auto  option triangular auto on siblings, as idr has them, and on other matrices, as sqmr has them: what it measures, and takes
//   history  Fig. 6: residuals over time, of a sibling
// SCALE in the environment scales the siblings' sides; CPU: suite, published, auto and history by the processor; INEXACT: without the exact solves. METAPACK_CUDA_MODULE names the module.
#include "published.h"

#include <metapack/metapack.h>

#include <cmath>
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
    if (info.exact_s > 0)
        printf("%s n %d %-10s took %s: exact %.4f ms, products %.4f ms, %.2g apart\n", name, n,
               s.name, info.isai.entries > 0 ? "products" : "exact", 1e3 * info.exact_s,
               1e3 * info.inverses_s, info.inverses_error);
    fflush(stdout);
    mpk_factor_destroy(&fac);
}

static const std::vector<setting> auto_settings = {
    {"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},    {"auto(1)+0", MPK_TRIANGULAR_AUTO, 1, 0, 0, 0},
    {"auto(1)+1", MPK_TRIANGULAR_AUTO, 1, 1, 0, 0}, {"auto(1)+2", MPK_TRIANGULAR_AUTO, 1, 2, 0, 0},
    {"auto(2)+1", MPK_TRIANGULAR_AUTO, 2, 1, 0, 0}, {"auto(3)+1", MPK_TRIANGULAR_AUTO, 3, 1, 0, 0}};
static mpk_device place() {
    return getenv("CPU") ? MPK_ON_CPU : MPK_ON_CUDA;
}

static void idr(const char *name, double scale, bool by_auto) {
    static const std::vector<setting> asked = {{"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},
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
    o.shadow = 4, o.tolerance = 1e-10, o.max_iterations = 20000,
    o.device = by_auto ? place() : MPK_ON_CUDA;
    o.matching = MPK_OFF, o.scaling = MPK_OFF, o.ordering = MPK_ORDERING_NATURAL;
    o.isai_pattern = MPK_ISAI_OF_MATRIX;
    double time = now();
    if (must(mpk_problem_from_csc(ctx, a.n, MPK_D, MPK_GENERAL, MPK_FULL, a.ptr.data(),
                                  a.index.data(), a.val.data(), &p),
             name) &&
        must(mpk_analyse(ctx, p, &o, &an), name)) {
        printf("%s: %lld entries, analysis %.2f s\n", name, (long long)a.val.size(), now() - time);
        for (const setting &s : by_auto ? auto_settings : asked)
            if (!getenv("INEXACT") || s.triangular != MPK_TRIANGULAR_EXACT)
                run(name, an, a.n, o, s);
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

// spec: a generator's words, or a file's name, which has a dot.
static void sqmr(const char *spec, bool by_auto) {
    std::vector<setting> settings = {{"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},
                                     {"Jacobi 1", MPK_TRIANGULAR_JACOBI, 1, 0, 1, 0},
                                     {"Jacobi 2", MPK_TRIANGULAR_JACOBI, 1, 0, 2, 0},
                                     {"Jacobi 4", MPK_TRIANGULAR_JACOBI, 1, 0, 4, 0}};
    static const char *const names[] = {"ISAI(1)+0", "ISAI(1)+1", "ISAI(1)+2", "ISAI(1)+3",
                                        "ISAI(2)+0", "ISAI(2)+1", "ISAI(2)+2", "ISAI(2)+3",
                                        "ISAI(3)+0", "ISAI(3)+1", "ISAI(3)+2", "ISAI(3)+3"};
    for (int k = 0; k < 12; ++k)
        settings.push_back({names[k], MPK_TRIANGULAR_ISAI, 1 + k / 4, k % 4, 0, 0});
    if (by_auto) settings = auto_settings;
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_problem_view v;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT, o.krylov = MPK_KRYLOV_SQMR, o.tolerance = 1e-8;
    o.max_iterations = 1000, o.device = by_auto ? place() : MPK_ON_CUDA, o.isai_limit = 1024,
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

// ---- Fig. 8 and Table III ----

struct outcome {
    bool good;
    int iterations;
    double set_up, inverses, solve; // set_up: the factorization, inverses included
};

static const setting suite_settings[] = {{"none", MPK_TRIANGULAR_EXACT, 0, 0, 0, 0},
                                         {"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},
                                         {"ISAI(1)", MPK_TRIANGULAR_ISAI, 1, 0, 0, 0},
                                         {"ISAI(2)", MPK_TRIANGULAR_ISAI, 2, 0, 0, 0},
                                         {"ISAI(3)", MPK_TRIANGULAR_ISAI, 3, 0, 0, 0}};
enum { CASES = 5, EXACT = 1 };

static mpk_options table_options() {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILU0, o.factor_type = MPK_TYPE_LDU, o.krylov = MPK_KRYLOV_IDR;
    o.shadow = 4, o.tolerance = 1e-10, o.max_iterations = 5000;
    o.device = getenv("CPU") ? MPK_ON_CPU : MPK_ON_CUDA;
    o.matching = MPK_OFF, o.scaling = MPK_OFF, o.ordering = MPK_ORDERING_NATURAL;
    o.isai_pattern = MPK_ISAI_OF_MATRIX;
    return o;
}

static mpk_problem *problem_of(const csr &rows) {
    mpk_problem *p = NULL;
    const csr a = turned(rows);
    must(mpk_problem_from_csc(ctx, a.n, MPK_D, MPK_GENERAL, MPK_FULL, a.ptr.data(), a.index.data(),
                              a.val.data(), &p),
         "problem");
    return p;
}

static outcome one_case(mpk_analysis *an, int32_t n, const setting &s) {
    outcome got{};
    mpk_factor *fac = NULL;
    mpk_block_info info;
    mpk_solve_info told;
    mpk_options o = table_options();
    std::vector<double> b((size_t)n, 1.0), x((size_t)n);
    o.triangular = s.triangular, o.isai_power = s.power;
    const double start = now();
    if (!must(mpk_factorize(ctx, an, NULL, &o, &fac), s.name)) return got;
    got.set_up = now() - start;
    mpk_factor_block_info_get(fac, &info);
    got.inverses = info.isai.time_pattern_s + info.isai.time_values_s;
    std::memset(&told, 0, sizeof told);
    const mpk_status status = mpk_solve(ctx, fac, 1, b.data(), n, x.data(), n, &o, &told);
    got.good = status == MPK_OK && told.relative_residual <= 1e-9;
    got.iterations = told.krylov.iterations, got.solve = told.time_s;
    mpk_factor_destroy(&fac);
    return got;
}

static void suite_matrix(const std::string &name, const csr &a, std::vector<outcome> &all) {
    mpk_problem *p = problem_of(a);
    mpk_analysis *an[2] = {};
    mpk_options o = table_options();
    outcome got[CASES] = {};
    bool good = p && must(mpk_analyse(ctx, p, &o, &an[1]), name.c_str());
    o.method = MPK_METHOD_NONE;
    good = good && must(mpk_analyse(ctx, p, &o, &an[0]), name.c_str());
    printf("suite %s n %d entries %lld", name.c_str(), a.n, (long long)a.val.size());
    for (int k = 0; good && k < CASES; ++k) {
        got[k] = one_case(an[k > 0], a.n, suite_settings[k]);
        printf(" | %s %d%s set-up %.4f (inverses %.4f) solve %.4f s", suite_settings[k].name,
               got[k].iterations, got[k].good ? "" : " -", got[k].set_up, got[k].inverses,
               got[k].solve);
    }
    printf("\n");
    fflush(stdout);
    if (good) all.insert(all.end(), got, got + CASES);
    mpk_analysis_destroy(&an[0]), mpk_analysis_destroy(&an[1]);
    mpk_problem_destroy(&p);
}

static void suite_summary(const std::vector<outcome> &all) {
    const int count = (int)all.size() / CASES;
    for (int k = EXACT + 1; k < CASES; ++k) {
        int good = 0, both = 0, faster = 0;
        double sum = 0, logs = 0, overhead = 0;
        for (int m = 0; m < count; ++m) {
            const outcome &e = all[m * CASES + EXACT], &i = all[m * CASES + k];
            good += i.good;
            if (!e.good || !i.good) continue;
            ++both, faster += i.solve < e.solve;
            sum += e.solve / i.solve, logs += std::log(e.solve / i.solve);
            overhead += i.inverses / (i.set_up - i.inverses);
        }
        printf("suite %s: of %d matrices converged %d, as did exact solves %d; faster %d, slower "
               "%d; mean speed-up %.2f, geometric %.2f; inverses of the rest of the set-up %.1f "
               "%%\n",
               suite_settings[k].name, count, good, both, faster, both - faster,
               sum / std::max(1, both), std::exp(logs / std::max(1, both)),
               100 * overhead / std::max(1, both));
    }
    for (int with = 0; with < 2; ++with) {
        int wins[CASES + 1] = {};
        for (int m = 0; m < count; ++m) {
            int best = CASES;
            double time = 1e30;
            for (int k = 0; k < CASES; ++k) {
                const outcome &e = all[m * CASES + k];
                const double t = e.solve + (with ? e.set_up : 0);
                if (e.good && t < time) best = k, time = t;
            }
            ++wins[best];
        }
        printf("suite quickest %s set-up:", with ? "with" : "without");
        for (int k = 0; k < CASES; ++k) printf(" %s %d", suite_settings[k].name, wins[k]);
        printf(" none of them %d\n", wins[CASES]);
    }
}

static void suite(int count, char **parts) {
    std::vector<outcome> all;
    auto wanted = [&](const std::string &name) {
        return std::any_of(parts, parts + count, [&](const char *part) {
            return !strcmp(part, "all") || name.find(part) != std::string::npos;
        });
    };
    char name[64];
    for (int side : {150, 300, 600})
        for (double wind : {0.0, 0.02, 0.05, 0.2, 0.5}) {
            snprintf(name, sizeof name, "five-points/%d/%g", side, wind);
            if (wanted(name)) suite_matrix(name, five_points(side, wind, 0), all);
        }
    for (int side : {150, 300, 500})
        for (double mass : {0.0, 1e2, 1e4})
            for (int tiled = 0; tiled < 2; ++tiled) {
                snprintf(name, sizeof name, "triangles/%d/%g/%s", side, mass,
                         tiled ? "tiles" : "lines");
                if (wanted(name)) suite_matrix(name, triangles(side, mass, tiled), all);
            }
    for (int side : {16, 24, 32, 40}) {
        snprintf(name, sizeof name, "tetrahedra/%d", side);
        if (wanted(name)) suite_matrix(name, tetrahedra(side), all);
    }
    for (int side : {40, 80, 120}) {
        snprintf(name, sizeof name, "shell/%d", side);
        if (wanted(name)) suite_matrix(name, shell(side), all);
    }
    suite_summary(all);
}

// ---- Table II ----

// Iterations of exact solves and of ISAI(1), for some seeds of the shadow space.
static void published_matrix(const char *what, const csr &rows, mpk_ordering ordering, int seeds) {
    mpk_problem *p = problem_of(rows);
    mpk_analysis *an = NULL;
    mpk_options o = table_options();
    std::vector<double> b((size_t)rows.n, 1.0), x(b.size());
    o.ordering = ordering, o.max_iterations = 20000;
    printf("published %s n %d entries %lld", what, rows.n, (long long)rows.val.size());
    if (p && must(mpk_analyse(ctx, p, &o, &an), what))
        for (int k = EXACT; k <= EXACT + 1; ++k) {
            mpk_factor *fac = NULL;
            o.triangular = suite_settings[k].triangular, o.isai_power = suite_settings[k].power;
            if (!must(mpk_factorize(ctx, an, NULL, &o, &fac), what)) break;
            printf(" | %s", suite_settings[k].name);
            for (int seed = 1; seed <= seeds; ++seed) {
                mpk_solve_info told;
                std::memset(&told, 0, sizeof told);
                o.seed = seed;
                const mpk_status status =
                    mpk_solve(ctx, fac, 1, b.data(), rows.n, x.data(), rows.n, &o, &told);
                printf(" %d%s", told.krylov.iterations, status == MPK_OK ? "" : "-");
                fflush(stdout);
            }
            mpk_factor_destroy(&fac);
        }
    printf("\n");
    fflush(stdout);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

static void published(const char *name, double scale) {
    const char *list = getenv("SEEDS");
    const int seeds = list ? atoi(list) : 3, side = (int)(1000 * scale);
    char what[64];
    if (!strcmp(name, "ecology2"))
        for (int where : {2, 4, 16}) { // the node held: in the middle, or nearer to a corner
            const int32_t hole = side / where * side + side / where;
            snprintf(what, sizeof what, "ecology2 without node %d", hole);
            published_matrix(what, grounded_mesh(side, hole), MPK_ORDERING_NATURAL,
                             where == 2 ? seeds : 1); // exact solves take long
        }
    if (!strcmp(name, "parabolic_fem"))
        for (double weight : {1e1, 1e2, 1e3, 1e4, 1e5}) {
            snprintf(what, sizeof what, "parabolic_fem weight %g", weight);
            published_matrix(what,
                             parabolic((int)(1024 * scale) + 1, (int)(512 * scale) + 1, weight),
                             MPK_ORDERING_RCM, seeds);
        }
}

// ---- Fig. 6 ----

static void history(const char *name, double scale) {
    mpk_options o = table_options();
    const csr a = sibling(name, scale);
    mpk_problem *p = problem_of(a);
    mpk_analysis *an = NULL;
    if (p && must(mpk_analyse(ctx, p, &o, &an), name))
        for (const setting &s : suite_settings) {
            // residuals reached by the times: a solve for each tolerance, as the solver has it
            if (s.power == 0) continue;
            mpk_factor *fac = NULL;
            std::vector<double> b((size_t)a.n, 1.0), x((size_t)a.n);
            o.triangular = s.triangular, o.isai_power = s.power;
            if (!must(mpk_factorize(ctx, an, NULL, &o, &fac), name)) continue;
            printf("history %s %s", name, s.name);
            for (int digits = 0; digits <= 10; ++digits) {
                mpk_solve_info told;
                std::memset(&told, 0, sizeof told);
                o.tolerance = std::pow(10.0, -std::max(digits, 1));
                if (!must(mpk_solve(ctx, fac, 1, b.data(), a.n, x.data(), a.n, &o, &told), name))
                    break;
                if (digits == 0) continue; // does not count
                printf(" | 1e-%d %d %.4f s", digits, told.krylov.iterations, told.time_s);
            }
            printf("\n");
            fflush(stdout);
            mpk_factor_destroy(&fac);
        }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

int main(int argc, char **argv) {
    const double scale = getenv("SCALE") ? atof(getenv("SCALE")) : 1;
    if (argc < 2 || mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
    if (!strcmp(argv[1], "suite")) suite(argc - 2, argv + 2);
    for (int k = 2; k < argc; ++k) {
        const bool by_auto = !strcmp(argv[1], "auto");
        const char *const last = strstr(" ECO TMT PARA THM OFF AF3 ", argv[k]);
        const bool is_sibling = last && last[-1] == ' ' && last[strlen(argv[k])] == ' ';
        if (!strcmp(argv[1], "idr") || (by_auto && is_sibling)) idr(argv[k], scale, by_auto);
        if (!strcmp(argv[1], "sqmr") || (by_auto && !is_sibling)) sqmr(argv[k], by_auto);
        if (!strcmp(argv[1], "published")) published(argv[k], scale);
        if (!strcmp(argv[1], "history")) history(argv[k], scale);
    }
    mpk_context_destroy(&ctx);
    return 0;
}
