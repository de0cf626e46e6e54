// SPDX-License-Identifier: BSD-3-Clause
// bench_isai_threads [NAME ...]: making ISAI(1..3) of L of ILU(0) on 1 to 16 threads of the processor, by part, for
// bench/results/isai-gpu.md; siblings.h has the matrices. Parts, in create's order: look (check and copy the matrix, find
// its diagonals), pattern, columns, transpose. "first": memory comes from the system, so that its pages are met for the first
// time; "again": memory that was used before; the best of TURNS. moved: blocks of memory of the sizes that create asks for, taken
// from the system and written once, from memory that was used before, by the same threads: what create cannot do without.
// reach: create's efficiency if that took as long as it does, and all else of one thread's time were divided as arithmetic is.
// copy: what the same number of threads copies, GB/s, both directions counted. The bits of M are those of one thread, else
// nothing is printed. SCALE scales the siblings' sides; POWERS (default 123), THREADS (default 1,2,4,8,16), TURNS (default 3) as they say.
extern "C" {
#include "../src/isai/object.h"
}
#include "cuda/ilu.h"
#include <metapack/metapack.h>

#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

enum { LOOK, PATTERN, COLUMNS, TURN, PARTS };

struct phases {
    seconds part[PARTS] = {1e30, 1e30, 1e30, 1e30};
    int64_t faults = 0, entries = 0;
    uint64_t bits = 0;
    seconds all() const { return part[LOOK] + part[PATTERN] + part[COLUMNS] + part[TURN]; }
    void better(const phases &other) {
        for (int k = 0; k < PARTS; ++k) part[k] = std::min(part[k], other.part[k]);
        faults = other.faults, entries = other.entries;
        if (other.bits) bits = other.bits;
    }
};

// What create does, part by part. l: with its diagonal. look: tell the bits of M.
static phases turn_of(mpk_context *ctx, mpki_pool *pool, const csr &l, int power, bool look) {
    phases p;
    mpk_isai s{};
    mpki_isai_rule rule{};
    mpk_isai_info info{};
    s.ctx = ctx, s.scalar = MPK_D, s.n = l.n, s.options.kind = MPK_ISAI_LOWER;
    rule.kind = MPK_ISAI_LOWER, rule.source = MPK_ISAI_POWER, rule.power = power;
    const int64_t before = faults();
    const seconds t0 = now();
    must(ctx, mpki_isai_check_pattern(ctx, pool, l.n, l.ptr.data(), nullptr, "L"), "check");
    s.given.ptr = (int64_t *)mpki_alloc(ctx, "bench", (int64_t)l.n + 1, 8);
    s.given.index = (int32_t *)mpki_alloc(ctx, "bench", l.ptr[l.n], 4);
    must(ctx, mpki_failed(ctx), "memory");
    must(ctx, mpki_isai_take(ctx, pool, l.ptr.data(), l.index.data(), l.val.data(), &s), "look");
    const seconds t1 = now();
    must(ctx, mpki_isai_make_pattern(ctx, pool, l.n, &s.given, &rule, &s.m, &info), "pattern");
    const seconds t2 = now();
    const mpki_sparse a = {s.given.ptr, s.given.index, (void *)l.val.data()};
    mpki_isai_columns c{};
    c.ctx = ctx, c.scalar = MPK_D, c.n = l.n, c.a = &a, c.begin = s.cut, c.dinv = s.dinv;
    c.m = &s.m;
    must(ctx, mpki_isai_invert(pool, &c), "columns");
    const seconds t3 = now();
    must(ctx, mpki_sparse_turn(ctx, pool, l.n, 8, &s.m, &s.m_rows), "transpose");
    mpki_isai_count(pool, l.n, &s.m, &info);
    const seconds t4 = now();
    p.part[LOOK] = t1 - t0, p.part[PATTERN] = t2 - t1;
    p.part[COLUMNS] = t3 - t2, p.part[TURN] = t4 - t3;
    p.faults = faults() - before, p.entries = s.m.ptr[l.n];
    if (look)
        p.bits = bits_of(2 * p.entries, s.m.val) ^ bits_of(p.entries, s.m.index) ^
                 3 * bits_of(2 * p.entries, s.m_rows.val) ^ bits_of(p.entries, s.m_rows.index);
    mpki_sparse_free(ctx, &s.given), mpki_sparse_free(ctx, &s.m), mpki_sparse_free(ctx, &s.m_rows);
    mpki_release(ctx, s.cut), mpki_release(ctx, s.dinv);
    return p;
}

struct moving {
    char *to;
    const char *from;
    size_t bytes;
};

// Milliseconds until blocks of the sizes of all that create asks for are there and written.
static seconds moved(mpk_context *ctx, mpki_pool *pool, int64_t n, int64_t nnz, int64_t entries,
                     int turns) {
    enum { STEP = 1 << 18 };
    const int64_t sizes[] = {8 * n, 4 * nnz,                  // the pattern given
                             8 * n, 8 * n,                    // diagonals: where, and inverse
                             8 * n, 4 * entries, 8 * entries, // M by columns
                             8 * n, 4 * entries, 8 * entries,
                             8 * n}; // by rows, and on the way to it
    const std::vector<char> from((size_t)std::max(8 * n, std::max(4 * nnz, 8 * entries)), 1);
    seconds best = 1e30;
    for (int turn = 0; turn < turns; ++turn) {
        std::vector<void *> blocks;
        const seconds start = now();
        for (int64_t bytes : sizes) {
            void *to = mpki_alloc(ctx, "bench", bytes, 1);
            must(ctx, mpki_failed(ctx), "memory");
            moving m = {(char *)to, from.data(), (size_t)bytes};
            mpki_pool_for_near(
                pool, 0, (bytes + STEP - 1) / STEP,
                [](mpki_pool *, int, void *arg, int64_t item) {
                    const moving *w = (const moving *)arg;
                    const size_t at = (size_t)item * STEP;
                    memcpy(w->to + at, w->from + at, std::min<size_t>(STEP, w->bytes - at));
                },
                &m);
            blocks.push_back(to);
        }
        best = std::min(best, now() - start);
        for (void *p : blocks) mpki_release(ctx, p);
    }
    return best;
}

static void run(const csr &l, int power, int threads, int turns, phases *first, phases *again,
                seconds *blocks) {
    mpk_context *ctx = NULL;
    if (mpk_context_create(NULL, &ctx)) exit(1);
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, 16) : NULL;
    if (pool)
        mpki_pool_for(
            pool, 0, threads, [](mpki_pool *, int, void *, int64_t) {}, NULL);
    *first = *again = phases();
    for (int k = 0; k < turns; ++k) first->better(turn_of(ctx, pool, l, power, k == 0));
    *blocks = moved(ctx, pool, l.n, l.ptr[l.n], first->entries, turns);
    mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    turn_of(ctx, pool, l, power, false); // that one fetches the pages
    for (int k = 0; k < turns; ++k) again->better(turn_of(ctx, pool, l, power, k == 0));
    mallopt(M_MMAP_MAX, 65536), mallopt(M_TRIM_THRESHOLD, 1 << 17);
    mpk_context_destroy(&ctx);
    malloc_trim(0);
}

static void whole(mpk_context *ctx, const csr &l, int power, int threads, int turns, seconds *all,
                  seconds *update) {
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
        *all = std::min(*all, now() - start);
        start = now();
        must(ctx, mpk_isai_update(ctx, l.val.data(), m), "update");
        *update = std::min(*update, now() - start);
        mpk_isai_destroy(&m);
    }
}

static void print(const char *title, const phases &p, const phases &one, int threads) {
    printf("%s %.2f + %.2f + %.2f + %.2f ms,", title, 1e3 * p.part[LOOK], 1e3 * p.part[PATTERN],
           1e3 * p.part[COLUMNS], 1e3 * p.part[TURN]);
    for (int k = 0; k < PARTS; ++k) printf(" %.0f", 100 * one.part[k] / p.part[k] / threads);
    printf(", all %.0f %% | ", 100 * one.all() / p.all() / threads);
}

// One matrix, one power, all numbers of threads.
static bool rows(mpk_context *ctx, const char *name, const csr &l, int power,
                 const std::vector<int> &threads, const std::vector<double> &spins, int turns) {
    phases one[2], x[2];
    seconds create[2] = {}, update[2] = {}, blocks[2] = {};
    for (size_t k = 0; k < threads.size(); ++k) {
        const int t = threads[k];
        run(l, power, t, turns, &x[0], &x[1], &blocks[1]);
        whole(ctx, l, power, t, turns, &create[1], &update[1]);
        if (k == 0) {
            one[0] = x[0], one[1] = x[1];
            create[0] = create[1], update[0] = update[1], blocks[0] = blocks[1];
        }
        if (x[0].bits != one[0].bits || x[1].bits != one[0].bits)
            return printf("WRONG: other bits\n"), false;
        const seconds reach = blocks[1] + (create[0] - blocks[0]) / spins[k];
        printf("%s k %d threads %2d entries %lld | ", name, power, t, (long long)x[0].entries);
        print("first", x[0], one[0], t);
        print("again", x[1], one[1], t);
        printf("create %.2f ms, %.0f %% | moved %.2f ms, %.0f %%, reach %.0f %% | update %.2f ms, "
               "%.0f %% | faults %lld\n",
               1e3 * create[1], 100 * create[0] / create[1] / t, 1e3 * blocks[1],
               100 * blocks[0] / blocks[1] / t, 100 * create[0] / reach / t, 1e3 * update[1],
               100 * update[0] / update[1] / t, (long long)x[0].faults);
        fflush(stdout);
    }
    return true;
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    const double scale = getenv("SCALE") ? atof(getenv("SCALE")) : 1;
    const int turns = getenv("TURNS") ? atoi(getenv("TURNS")) : 3;
    const char *powers = getenv("POWERS") ? getenv("POWERS") : "123";
    const char *list = getenv("THREADS") ? getenv("THREADS") : "1,2,4,8,16";
    std::vector<int> threads;
    std::vector<double> spins;
    for (char *end; *list; list = *end ? end + 1 : end)
        threads.push_back((int)strtol(list, &end, 10));
    const double one_spins = spin_rate(1);
    for (int t : threads) {
        spins.push_back(t == 1 ? 1 : spin_rate(t) / one_spins);
        printf("threads %2d copy %.1f GB/s, arithmetic %.2f\n", t, copy_rate(t), spins.back());
    }
    std::vector<std::string> names(argv + 1, argv + argc);
    if (names.empty()) names = {"ECO", "THM", "OFF", "AF3"};
    if (mpk_context_create(NULL, &ctx)) return 1;
    for (const std::string &name : names) {
        csr a = sibling(name, scale);
        ilu0(a);
        const csr l = triangle_of(a, false);
        for (const char *p = powers; *p; ++p)
            if (!rows(ctx, name.c_str(), l, *p - '0', threads, spins, turns)) return 1;
    }
    mpk_context_destroy(&ctx);
    return 0;
}
