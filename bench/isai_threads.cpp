// SPDX-License-Identifier: BSD-3-Clause
// bench_isai_threads [NAME ...]: making ISAI(1..3) of L of ILU(0) on 1 to 16 threads of the processor, by phase, for
// bench/results/isai-gpu.md; siblings.h has the matrices. "first": memory comes from the
// system, so that its pages are met for the first time; "again": the best of TURNS in memory that was used before. copy: what the same number
// of threads copies, GB/s, both directions counted. The bits of M are those of one thread, else nothing is printed.
// SCALE scales the siblings' sides; POWERS (default 123), THREADS (default 1,2,4,8,16), TURNS (default 3) as they say.
extern "C" {
#include "../src/isai/isai.h"
}
#include "cuda/siblings.h"
#include <metapack/metapack.h>

#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using seconds = double;

static seconds now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static int64_t faults() {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

// L of ILU(0), its unit diagonal with it or not, by columns.
static csr lower(csr a, bool diagonal) {
    std::vector<int64_t> place((size_t)a.n, -1), at((size_t)a.n);
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) place[a.index[e]] = e;
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            const int32_t k = a.index[e];
            if (k == i) at[i] = e;
            if (k >= i) continue;
            a.val[e] /= a.val[at[k]];
            for (int64_t q = at[k] + 1; q < a.ptr[k + 1]; ++q)
                if (place[a.index[q]] >= 0) a.val[place[a.index[q]]] -= a.val[e] * a.val[q];
        }
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) place[a.index[e]] = -1;
    }
    csr l;
    l.n = a.n;
    l.ptr.push_back(0);
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < at[i]; ++e)
            l.index.push_back(a.index[e]), l.val.push_back(a.val[e]);
        if (diagonal) l.index.push_back(i), l.val.push_back(1);
        l.ptr.push_back((int64_t)l.index.size());
    }
    return turned(l);
}

// GB/s that some threads copy, each its own part, both directions counted: the best of five turns.
static double copy_rate(int threads) {
    const int64_t each = ((int64_t)1 << 26) / threads;
    std::vector<double> a(each * threads, 1.0), b(each * threads);
    seconds best = 1e30;
    for (int turn = 0; turn < 5; ++turn) {
        const seconds start = now();
        std::vector<std::thread> team;
        for (int t = 0; t < threads; ++t)
            team.emplace_back([&, t] {
                const double *from = a.data() + t * each;
                double *to = b.data() + t * each;
                for (int64_t k = 0; k < each; ++k) to[k] = from[k] * 1.5;
            });
        for (auto &t : team) t.join();
        best = std::min(best, now() - start);
    }
    return 16e-9 * (double)(each * threads) / best;
}

// Arithmetic alone, its data in the first cache: how much faster all threads together are than one.
static double spin_rate(int threads) {
    seconds best = 1e30;
    for (int turn = 0; turn < 5; ++turn) {
        const seconds start = now();
        std::vector<std::thread> team;
        for (int t = 0; t < threads; ++t)
            team.emplace_back([] {
                volatile double out;
                double x[16] = {};
                for (int k = 0; k < 5000000; ++k)
                    for (int q = 0; q < 16; ++q) x[q] = x[q] * 0.999999 + q;
                out = x[0] + x[7] + x[15];
                (void)out;
            });
        for (auto &t : team) t.join();
        best = std::min(best, now() - start);
    }
    return threads / best;
}

static void must(mpk_context *ctx, mpk_status status, const char *what) {
    const char *text = "";
    if (!mpk_failed(status)) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s: %s\n", what, text);
    exit(1);
}

static uint64_t bits_of(int64_t count, const void *p) { // FNV
    uint64_t h = 1469598103934665603ull;
    const uint32_t *w = (const uint32_t *)p;
    for (int64_t k = 0; k < count; ++k) h = (h ^ w[k]) * 1099511628211ull;
    return h;
}

struct phases {
    seconds pattern = 1e30, columns = 1e30, turn = 1e30;
    int64_t faults = 0, entries = 0;
    uint64_t bits = 0;
    seconds all() const { return pattern + columns + turn; }
};

static phases turn_of(mpk_context *ctx, mpki_pool *pool, const csr &l, int power) {
    phases p;
    const mpki_sparse a = {(int64_t *)l.ptr.data(), (int32_t *)l.index.data(),
                           (void *)l.val.data()};
    mpki_isai_rule rule{};
    rule.kind = MPK_ISAI_LOWER, rule.source = MPK_ISAI_POWER, rule.power = power;
    mpki_sparse m{}, rows{};
    mpk_isai_info info{};
    const int64_t before = faults();
    const seconds t0 = now();
    must(ctx, mpki_isai_make_pattern(ctx, pool, l.n, &a, &rule, &m, &info), "pattern");
    const seconds t1 = now();
    mpki_isai_columns c{};
    c.ctx = ctx, c.scalar = MPK_D, c.n = l.n, c.a = &a, c.m = &m;
    must(ctx, mpki_isai_invert(pool, &c), "columns");
    const seconds t2 = now();
    must(ctx, mpki_sparse_turn(ctx, pool, l.n, 8, &m, &rows), "transpose");
    const seconds t3 = now();
    p.pattern = t1 - t0, p.columns = t2 - t1, p.turn = t3 - t2;
    p.faults = faults() - before, p.entries = m.ptr[l.n];
    p.bits = bits_of(2 * p.entries, m.val) ^ bits_of(p.entries, m.index) ^
             3 * bits_of(2 * p.entries, rows.val) ^ bits_of(p.entries, rows.index);
    mpki_sparse_free(ctx, &m), mpki_sparse_free(ctx, &rows);
    return p;
}

static void run(const csr &l, int power, int threads, int turns, phases *first, phases *again) {
    mpk_context *ctx = NULL;
    if (mpk_context_create(NULL, &ctx)) exit(1);
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, 16) : NULL;
    if (pool)
        mpki_pool_for(
            pool, 0, threads, [](mpki_pool *, int, void *, int64_t) {}, NULL);
    *first = turn_of(ctx, pool, l, power);
    *again = phases();
    mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    for (int k = -1; k < turns; ++k) {
        const phases p = turn_of(ctx, pool, l, power);
        if (k < 0) continue; // that one has fetched the pages
        again->pattern = std::min(again->pattern, p.pattern);
        again->columns = std::min(again->columns, p.columns);
        again->turn = std::min(again->turn, p.turn);
    }
    mallopt(M_MMAP_MAX, 65536), mallopt(M_TRIM_THRESHOLD, 1 << 17);
    mpk_context_destroy(&ctx);
    malloc_trim(0);
}

static mpk_isai_info whole(mpk_context *ctx, const csr &l, int power, int threads, int turns,
                           seconds *all, seconds *update) {
    mpk_isai_info best{};
    *all = *update = 1e30;
    for (int k = 0; k < turns; ++k) {
        mpk_isai_options o;
        mpk_isai *m = NULL;
        mpk_isai_options_init(&o);
        o.power = power, o.threads = threads;
        seconds start = now();
        must(ctx,
             mpk_isai_create(ctx, MPK_D, l.n, l.ptr.data(), l.index.data(), l.val.data(), &o, &m),
             "create");
        if (now() - start < *all) *all = now() - start, mpk_isai_info_get(m, &best);
        start = now();
        must(ctx, mpk_isai_update(ctx, l.val.data(), m), "update");
        *update = std::min(*update, now() - start);
        mpk_isai_destroy(&m);
    }
    return best;
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    const double scale = getenv("SCALE") ? atof(getenv("SCALE")) : 1;
    const int turns = getenv("TURNS") ? atoi(getenv("TURNS")) : 3;
    const char *powers = getenv("POWERS") ? getenv("POWERS") : "123";
    const char *list = getenv("THREADS") ? getenv("THREADS") : "1,2,4,8,16";
    std::vector<int> threads;
    for (char *end; *list; list = *end ? end + 1 : end)
        threads.push_back((int)strtol(list, &end, 10));
    const double one_spins = spin_rate(1);
    for (int t : threads)
        printf("threads %2d copy %.1f GB/s, arithmetic %.2f\n", t, copy_rate(t),
               spin_rate(t) / one_spins);
    std::vector<std::string> names(argv + 1, argv + argc);
    if (names.empty()) names = {"ECO", "THM", "OFF", "AF3"};
    if (mpk_context_create(NULL, &ctx)) return 1;
    for (const std::string &name : names) {
        const csr a = sibling(name, scale), l = lower(a, false), lu = lower(a, true);
        for (const char *p = powers; *p; ++p) {
            phases one[2], x[2];
            seconds create[2] = {}, update[2] = {};
            for (int t : threads) {
                run(l, *p - '0', t, turns, &x[0], &x[1]);
                const mpk_isai_info info =
                    whole(ctx, lu, *p - '0', t, turns, &create[1], &update[1]);
                if (t == threads[0])
                    one[0] = x[0], one[1] = x[1], create[0] = create[1], update[0] = update[1];
                if (x[0].bits != one[0].bits) return printf("WRONG: other bits\n"), 1;
                printf("%s k %c threads %2d entries %lld | first %.2f + %.2f + %.2f ms, faults "
                       "%lld, %.0f %% | again %.2f + %.2f + %.2f ms, %.0f %% | create %.2f ms "
                       "(pattern %.2f values %.2f), %.0f %% | update %.2f ms, %.0f %%\n",
                       name.c_str(), *p, t, (long long)x[0].entries, 1e3 * x[0].pattern,
                       1e3 * x[0].columns, 1e3 * x[0].turn, (long long)x[0].faults,
                       100 * one[0].all() / x[0].all() / t, 1e3 * x[1].pattern, 1e3 * x[1].columns,
                       1e3 * x[1].turn, 100 * one[1].all() / x[1].all() / t, 1e3 * create[1],
                       1e3 * info.time_pattern_s, 1e3 * info.time_values_s,
                       100 * create[0] / create[1] / t, 1e3 * update[1],
                       100 * update[0] / update[1] / t);
                fflush(stdout);
            }
        }
    }
    mpk_context_destroy(&ctx);
    return 0;
}
