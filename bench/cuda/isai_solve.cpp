// SPDX-License-Identifier: BSD-3-Clause
// bench_cuda_isai_solve PART [NAME ...]: solutions with approximate inverses in place of
// triangular solves (docs/guide/isai.md).
//   idr   Tables I to III of Anzt, Chow, Huckle & Dongarra 2016 on generated siblings (siblings.h): ILU(0), IDR(4),
//         1e-10, b = ones, on the device: exact solves, and ISAI(1..3), by columns, patterns S(|A|^k)
//   sqmr  indefinite factors under SQMR on the device, 1e-8, 1000 iterations: exact, Jacobi sweeps, ISAI(1..3) with
//         0..3 relaxations; of generated matrices ("nlpkkt 30") or files (x.mtx, x.mtx.xz)
//   suite Fig. 7, 8 and Table III: likewise on the matrices of suite.txt, and files, as they are; without a preconditioner and by
//         Jacobi's, too; NAMEs: parts of their lines, or all, and files. bench/isai_figures.py reads what is printed
//   tune  level sets and Table II's iterations of siblings, or of specs of the generators ("rcm:elements shell 300", a spec that has
//         a space), for SEEDS seeds of IDR's, all at once
//   auto  option triangular auto on siblings, as idr has them, and on other matrices, as sqmr has them: what it measures, and takes
//   history  Fig. 6: residuals over time, of a sibling
// SCALE in the environment scales the siblings' sides; LEVELS: tune counts level sets alone; CPU: idr, suite, tune, auto and history by the processor; INEXACT: without the exact solves. METAPACK_CUDA_MODULE names the module.
#include "siblings.h"

#include <metapack/metapack.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

static thread_local mpk_context *ctx;

static double now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool must(mpk_status status, const char *what) {
    const char *text = "";
    if (!mpk_failed(status)) return true;
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", what, text);
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
    o.shadow = 4, o.tolerance = 1e-10, o.max_iterations = 20000, o.device = place();
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

// ---- Fig. 7, 8 and Table III ----

struct outcome {
    bool good, made;
    int iterations, longest;        // longest: entries of the longest column of M
    double set_up, inverses, solve; // set_up: the factorization, inverses included
};

static const setting suite_settings[] = {
    {"none", MPK_TRIANGULAR_EXACT, 0, 0, 0, 0},   {"Jacobi", MPK_TRIANGULAR_EXACT, 0, 0, 0, 0},
    {"exact", MPK_TRIANGULAR_EXACT, 1, 0, 0, 0},  {"ISAI(1)", MPK_TRIANGULAR_ISAI, 1, 0, 0, 0},
    {"ISAI(2)", MPK_TRIANGULAR_ISAI, 2, 0, 0, 0}, {"ISAI(3)", MPK_TRIANGULAR_ISAI, 3, 0, 0, 0}};
enum { CASES = 6, JACOBI = 1, EXACT = 2 };

static mpk_options table_options() {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILU0, o.factor_type = MPK_TYPE_LDU, o.krylov = MPK_KRYLOV_IDR;
    o.shadow = 4, o.tolerance = 1e-10, o.max_iterations = 10000;
    if (getenv("CPU")) o.threads = 1; // what waits for others suffers where other programs run
    o.device = place();
    o.matching = MPK_OFF, o.scaling = MPK_OFF, o.ordering = MPK_ORDERING_NATURAL;
    o.isai_pattern = MPK_ISAI_OF_MATRIX;
    return o;
}

// Symmetric where it is: the processor's exact solves are quicker then.
static mpk_problem *problem_of(const csr &rows) {
    mpk_problem *p = NULL;
    const csr a = turned(rows);
    const bool symmetric = a.ptr == rows.ptr && a.index == rows.index && a.val == rows.val;
    must(mpk_problem_from_csc(ctx, a.n, MPK_D, symmetric ? MPK_SYMMETRIC : MPK_GENERAL, MPK_FULL,
                              a.ptr.data(), a.index.data(), a.val.data(), &p),
         "problem");
    return p;
}

// What no preconditioner can be made of leaves `made` false.
static outcome one_case(const mpk_problem *p, const std::vector<double> &b, int k) {
    const int32_t n = (int32_t)b.size();
    outcome got{};
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_block_info info;
    mpk_solve_info told;
    mpk_options o = table_options();
    std::vector<double> x((size_t)n);
    o.triangular = suite_settings[k].triangular, o.isai_power = suite_settings[k].power;
    if (k < EXACT) o.method = MPK_METHOD_NONE;
    if (must(mpk_analyse(ctx, p, &o, &an), suite_settings[k].name)) {
        const double start = now();
        got.made = must(mpk_factorize(ctx, an, NULL, &o, &fac), suite_settings[k].name);
        got.set_up = now() - start;
    }
    if (got.made) {
        mpk_factor_block_info_get(fac, &info);
        got.inverses = info.isai.time_pattern_s + info.isai.time_values_s;
        got.longest = info.isai.longest;
        std::memset(&told, 0, sizeof told);
        const mpk_status status = mpk_solve(ctx, fac, 1, b.data(), n, x.data(), n, &o, &told);
        got.good = status == MPK_OK && told.relative_residual <= 1e-9;
        got.iterations = told.krylov.iterations, got.solve = told.time_s;
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    return got;
}

// Jacobi's preconditioner, split: the matrix with a unit diagonal.
static outcome by_jacobi(csr a) {
    const double start = now();
    const std::vector<double> b = unit_diagonal(a);
    const double scaled_s = now() - start;
    mpk_problem *p = problem_of(a);
    outcome got = one_case(p, b, JACOBI);
    got.set_up += scaled_s;
    mpk_problem_destroy(&p);
    return got;
}

// A line for bench/isai_figures.py: what exact solves do not solve is not in the suite, and nothing else is tried.
static void suite_matrix(const char *kind, const char *name, const csr &a) {
    mpk_problem *p = problem_of(a);
    const std::vector<double> ones((size_t)a.n, 1.0);
    printf("suite %s | %s | %d %lld %d", kind, name, a.n, (long long)a.val.size(), levels_of(a));
    outcome exact{};
    for (int k = EXACT; p && k < EXACT + CASES; ++k) {
        const int which = k % CASES;
        const outcome got = which == JACOBI ? by_jacobi(a) : one_case(p, ones, which);
        if (which == EXACT) exact = got;
        printf(" | %s %d %d %d %d %.6f %.6f %.6f", suite_settings[which].name, got.made, got.good,
               got.iterations, got.longest, got.set_up, got.inverses, got.solve);
        fflush(stdout);
        if (!exact.good) break;
    }
    printf("\n");
    fflush(stdout);
    mpk_problem_destroy(&p);
}

static csr read_rows(const char *path) {
    mpk_problem *p = NULL;
    csr a;
    if (must(mpk_problem_read(ctx, path, &p), path)) a = rows_of(p, false);
    mpk_problem_destroy(&p);
    return a;
}

// names: parts of a kind or a spec of suite.txt, or `all`; files of matrices.
static void suite(int count, char **names) {
    const char *path = getenv("SUITE");
    FILE *file = fopen(path ? path : "bench/cuda/suite.txt", "r");
    char line[512], kind[32], spec[256];
    if (!file) give_up(NULL, "bench/cuda/suite.txt is not there (SUITE names it)");
    suite_matrix("warm-up", "convection 20", generated("convection 20", false));
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || sscanf(line, "%31s %255[^\n]", kind, spec) != 2) continue;
        for (int k = 0; k < count; ++k)
            if (!strcmp(names[k], "all") || strstr(line, names[k])) {
                suite_matrix(kind, spec, generated(spec, false));
                break;
            }
    }
    fclose(file);
    for (int k = 0; k < count; ++k)
        if (strstr(names[k], ".mtx")) {
            const csr a = read_rows(names[k]);
            const char *slash = strrchr(names[k], '/');
            if (a.n > 0) suite_matrix("file", slash ? slash + 1 : names[k], a);
        }
}

// ---- Table II's iterations ----

// Level sets, and iterations of exact solves and of ISAI(1) for some seeds of the shadow space, of a sibling, or of a spec,
// "rcm:" before it where it is ordered so.
static void tune(const char *name, double scale) {
    const char *list = getenv("SEEDS"), *spec = strstr(name, "rcm:") == name ? name + 4 : name;
    const int seeds = list ? atoi(list) : 3;
    const bool given = strchr(name, ' ') != NULL;
    csr rows = given ? generated(scaled(spec, scale), true) : sibling(name, scale);
    if (spec > name) rows = by_rcm(rows);
    mpk_problem *p = problem_of(rows);
    mpk_analysis *an = NULL;
    mpk_options o = table_options();
    std::vector<double> b((size_t)rows.n, 1.0), x(b.size());
    o.max_iterations = 20000;
    std::string line = "tune " + std::string(name) + " | n " + std::to_string(rows.n) +
                       " entries " + std::to_string(rows.val.size()) + " levels " +
                       std::to_string(levels_of(rows));
    if (p && !getenv("LEVELS") && must(mpk_analyse(ctx, p, &o, &an), name))
        for (int k = EXACT; k <= EXACT + 1; ++k) {
            mpk_factor *fac = NULL;
            o.triangular = suite_settings[k].triangular, o.isai_power = suite_settings[k].power;
            if (!must(mpk_factorize(ctx, an, NULL, &o, &fac), name)) break;
            line += std::string(" | ") + suite_settings[k].name;
            for (int seed = 1; seed <= seeds; ++seed) {
                mpk_solve_info told;
                std::memset(&told, 0, sizeof told);
                o.seed = seed;
                const mpk_status status =
                    mpk_solve(ctx, fac, 1, b.data(), rows.n, x.data(), rows.n, &o, &told);
                line += " " + std::to_string(told.krylov.iterations);
                if (status != MPK_OK) line += "-";
            }
            mpk_factor_destroy(&fac);
        }
    printf("%s\n", line.c_str());
    fflush(stdout);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

// Each on a thread of its own: nothing is timed.
static void tune_all(int count, char **names, double scale) {
    std::vector<std::thread> threads;
    for (int k = 0; k < count; ++k)
        threads.emplace_back([=] {
            if (mpk_context_create(NULL, &ctx) != MPK_OK) return;
            tune(names[k], scale);
            mpk_context_destroy(&ctx);
        });
    for (std::thread &t : threads) t.join();
}

// ---- Fig. 6 ----

static void history(const char *name, double scale) {
    mpk_options o = table_options();
    const csr a = sibling(name, scale);
    mpk_problem *p = problem_of(a);
    mpk_analysis *an = NULL;
    if (p && !getenv("LEVELS") && must(mpk_analyse(ctx, p, &o, &an), name))
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
    if (!strcmp(argv[1], "tune")) tune_all(argc - 2, argv + 2, scale);
    for (int k = 2; k < argc; ++k) {
        const bool by_auto = !strcmp(argv[1], "auto");
        const char *const last = strstr(" ECO TMT PARA THM OFF AF3 ", argv[k]);
        const bool is_sibling = last && last[-1] == ' ' && last[strlen(argv[k])] == ' ';
        if (!strcmp(argv[1], "idr") || (by_auto && is_sibling)) idr(argv[k], scale, by_auto);
        if (!strcmp(argv[1], "sqmr") || (by_auto && !is_sibling)) sqmr(argv[k], by_auto);
        if (!strcmp(argv[1], "history")) history(argv[k], scale);
    }
    mpk_context_destroy(&ctx);
    return 0;
}
