/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory is counted, sizes are checked, the first error stays, options are what their text says. */
#include "sanitized.h"
#include "support.h"

#include "core/core.h"
#include "core/pages.h"
#include "core/random.h"

#include <malloc.h>
#include <unistd.h>

static void test_memory(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int64_t now, peak;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_ERR_ARGUMENT); /* not NULL */
    char *a = MPKI_NEW(ctx, "test", 1000, char), *b = MPKI_ZNEW(ctx, "test", 0, char);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % 64, 0);
    memset(a, 7, 1000);
    a = mpki_resize(ctx, "test", a, 3000, 1);
    for (int k = 0; k < 1000; k++) assert_int_equal(a[k], 7);
    mpk_memory_usage(ctx, &now, &peak);
    assert_true(now >= 3000 && peak >= 4000);
    assert_null(mpki_alloc(ctx, "test", INT64_MAX, 16)); /* the product does not fit */
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, NULL), MPK_ERR_SIZE);
    mpki_clear_error(ctx);
    assert_null(mpki_alloc(ctx, "test", -1, 8));
    assert_int_equal(mpki_failed(ctx), MPK_ERR_SIZE);
    mpki_release(ctx, a);
    mpki_release(ctx, b);
    mpki_release(ctx, NULL);
    mpk_memory_reset_peak(ctx);
    mpk_memory_usage(ctx, &now, &peak);
    assert_int_equal(now, 0);
    assert_int_equal(peak, 0);
    mpk_context_destroy(&ctx);
    assert_null(ctx);
    mpk_context_destroy(&ctx);
    assert_true(mpki_memory_available() > 0);
}

/* Bytes that an allocator has given and not got back. */
static void *counted_alloc(void *user, size_t size) {
    *(size_t *)user += size;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}
static void counted_release(void *user, void *ptr, size_t size) {
    *(size_t *)user -= size;
    free(ptr);
}

/* Blocks of random sizes come and go. */
enum { BLOCKS = 24, SMALL_MOST = 17 }; /* sizes up to 2^17 or 2^24 */

typedef struct blocks {
    char *at[BLOCKS];
    size_t size[BLOCKS];
    uint64_t state;
} blocks;

static size_t random_below(blocks *b, size_t end) {
    return (size_t)(mpki_random_next(&b->state) % end);
}

/* Each page of a block has its number, and keeps it. */
static void number(const blocks *b, int k) {
    for (size_t i = 0; i < b->size[k]; i += 4096) b->at[k][i] = (char)(k + 1);
    b->at[k][b->size[k] - 1] = (char)(k + 1);
}
static void release_one(mpk_context *ctx, blocks *b, int k) {
    bool same = true;
    for (size_t i = 0; b->at[k] && i < b->size[k]; i += 4096) same &= b->at[k][i] == k + 1;
    assert_true(same);
    if (b->at[k]) assert_int_equal(b->at[k][b->size[k] - 1], k + 1);
    mpki_release(ctx, b->at[k]);
    b->at[k] = NULL;
}
static void replace_one(mpk_context *ctx, blocks *b) {
    const int k = (int)random_below(b, BLOCKS);
    const bool zero = random_below(b, 2);
    release_one(ctx, b, k);
    b->size[k] = 1 + random_below(b, (size_t)1 << (SMALL_MOST + random_below(b, 8)));
    b->at[k] = zero ? MPKI_ZNEW(ctx, "test", (int64_t)b->size[k], char)
                    : MPKI_NEW(ctx, "test", (int64_t)b->size[k], char);
    assert_non_null(b->at[k]);
    assert_int_equal((uintptr_t)b->at[k] % 64, 0);
    char any = 0;
    for (size_t i = 0; zero && i < b->size[k]; i++) any |= b->at[k][i];
    assert_int_equal(any, 0);
    number(b, k);
}

/* What was freed is kept below the most that was ever in use, and next to nothing above it. */
static void test_place(void **unused) {
    (void)unused;
    size_t given = 0;
    int64_t most;
    const mpk_allocator allocator = {counted_alloc, counted_release, &given};
    mpk_context *ctx = NULL;
    blocks b = {.state = 1};
    assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
    for (int round = 0; round < 2; round++) { /* the second size does not fit the first blocks */
        for (int k = 0; k < BLOCKS; k++) {
            b.at[k] = MPKI_NEW(ctx, "test", b.size[k] = round ? 700000 : 400000, char);
            number(&b, k);
            mpk_memory_usage(ctx, NULL, &most);
            assert_true((double)given <= 1.02 * (double)most + (1 << 20));
        }
        for (int k = 0; k < BLOCKS; k++) release_one(ctx, &b, k);
    }
    for (int step = 0; step < 400; step++) {
        replace_one(ctx, &b);
        mpk_memory_usage(ctx, NULL, &most);
        assert_true((double)given <= 1.02 * (double)most + (1 << 20));
    }
    for (int k = 0; k < BLOCKS; k++) release_one(ctx, &b, k);
    mpk_context_destroy(&ctx);
    assert_int_equal(given, 0);
}

static double resident_bytes(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
    fclose(f);
    return (double)resident * (double)getpagesize();
}

/* The same of pages of the system's, which become parts of other blocks: all of them are there, zero
 * where that was asked for, and go back. */
static void test_pages(void **unused) {
    (void)unused;
    enum { HUGE_PAGES = BLOCKS << 21 }; /* one that a block fills in part */
    mpk_context *ctx = NULL;
    int64_t most;
    blocks b = {.state = 2};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const double before = resident_bytes();
    for (int step = 0; step < (TEST_SANITIZED ? 50 : 400); step++) {
        replace_one(ctx, &b);
        mpk_memory_usage(ctx, NULL, &most);
        if (!TEST_SANITIZED)
            assert_true(resident_bytes() - before <= 1.07 * (double)most + HUGE_PAGES);
    }
    for (int k = 0; k < BLOCKS; k++) release_one(ctx, &b, k);
    mpk_context_destroy(&ctx);
    if (!TEST_SANITIZED) assert_true(resident_bytes() - before <= 0.1 * (double)most);
}

/* The C library's memory, whose blocks of this size lie below each other. */
static void *heap_alloc(void *user, size_t size) {
    (void)user;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}
static void heap_release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

/* Blocks between which small ones stay are freed, and larger ones take their place. Resident bytes over
 * the most that was in use. */
static double share_of_holes(const mpk_allocator *allocator) {
    enum { COUNT = 48, LARGE = 1 << 20, SMALL = 40000, TOGETHER = 4 };
    mpk_context *ctx = NULL;
    char *large[COUNT], *small[COUNT];
    int64_t most;
    assert_int_equal(mpk_context_create(allocator, &ctx), MPK_OK);
    malloc_trim(0);
    const double before = resident_bytes();
    for (int k = 0; k < COUNT; k++) {
        assert_non_null(large[k] = MPKI_NEW(ctx, "test", LARGE, char));
        assert_non_null(small[k] = MPKI_NEW(ctx, "test", SMALL, char));
        memset(large[k], 1, LARGE);
        memset(small[k], 1, SMALL);
    }
    for (int k = 0; k < COUNT; k++) mpki_release(ctx, large[k]);
    for (int k = 0; k < COUNT / TOGETHER; k++) {
        assert_non_null(large[k] = MPKI_NEW(ctx, "test", TOGETHER * LARGE, char));
        memset(large[k], 1, (size_t)TOGETHER * LARGE);
    }
    mpk_memory_usage(ctx, NULL, &most);
    const double resident = resident_bytes() - before;
    for (int k = 0; k < COUNT / TOGETHER; k++) mpki_release(ctx, large[k]);
    for (int k = 0; k < COUNT; k++) mpki_release(ctx, small[k]);
    mpk_context_destroy(&ctx);
    return resident / (double)most;
}

/* What is freed between other blocks is the system's again, or serves for larger ones. With an allocator
 * that keeps the place it is neither: so this test tells the two apart. */
static void test_holes(void **unused) {
    (void)unused;
    const mpk_allocator heap = {heap_alloc, heap_release, NULL};
    if (TEST_SANITIZED) skip();
    mallopt(M_MMAP_THRESHOLD, 1 << 25);
    mallopt(M_ARENA_TEST, 1);
    assert_true(share_of_holes(NULL) < 1.07);
    assert_true(share_of_holes(&heap) > 1.5);
}

/* Of a block's first part nothing changes, the rest is free: of a few kB, of some pages, of huge ones. */
static void test_shrink(void **unused) {
    (void)unused;
    static const int64_t sizes[][2] = {{20000, 5000},        {700000, 300000},
                                       {7 << 20, 1 << 20},   {20 << 20, 9 << 20},
                                       {20 << 20, 10 << 20}, {20 << 20, 100}};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int64_t bytes = sizes[k][0], left = sizes[k][1];
        int64_t held, after, now;
        char *a = MPKI_NEW(ctx, "test", bytes, char);
        assert_non_null(a);
        for (int64_t i = 0; i < bytes; i++) a[i] = (char)(i % 101);
        mpk_memory_usage(ctx, &held, NULL);
        const double resident = resident_bytes();
        mpki_shrink(ctx, a, left);
        mpk_memory_usage(ctx, &after, NULL);
        assert_true(after <= held && after >= left);
        const int64_t least =
            bytes > 8 << 20 ? 8 << 20 : 1 << 17; /* of which it has pages of its own */
        if (!TEST_SANITIZED && bytes > least)
            assert_true((double)after <= 1.13 * (double)(left > least ? left : least) + 8192);
        char *b = MPKI_NEW(ctx, "test", bytes - left, char); /* in the place of what is free */
        assert_non_null(b);
        memset(b, 7, (size_t)(bytes - left));
        bool same = true;
        for (int64_t i = 0; i < left; i++) same &= a[i] == i % 101;
        assert_true(same);
        if (!TEST_SANITIZED && bytes > least) assert_true(resident_bytes() <= resident + 3e6);
        mpki_release(ctx, b);
        mpki_release(ctx, a);
        mpk_memory_usage(ctx, &now, NULL);
        assert_int_equal(now, 0);
    }
    mpk_context_destroy(&ctx);
}

static void test_first_error_stays(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpki_error(ctx, MPK_ERR_INPUT, "read", 5, "row %d", 6), MPK_ERR_INPUT);
    assert_int_equal(mpki_error(ctx, MPK_ERR_MEMORY, "order", 9, "later"), MPK_ERR_MEMORY);
    const char *stage, *text;
    int64_t index;
    assert_int_equal(mpk_last_error(ctx, &stage, &index, &text), MPK_ERR_INPUT);
    assert_string_equal(stage, "read");
    assert_string_equal(text, "row 6");
    assert_int_equal(index, 5);
    mpki_clear_error(ctx);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, NULL), MPK_OK);
    assert_int_equal(mpk_last_error(NULL, NULL, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_context_destroy(&ctx);
}

static void test_options(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_options o, full;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_options_init(&o);
    assert_int_equal(mpk_options_set(ctx, &o, "pivot-threshold", "0.25"), MPK_OK);
    assert_true(o.pivot_threshold == 0.25);
    assert_int_equal(mpk_options_set(ctx, &o, "pivot_threshold", "0.5"), MPK_OK);
    assert_int_equal(mpk_options_set(ctx, &o, "ordering", "metis"), MPK_OK);
    assert_int_equal(o.ordering, MPK_ORDERING_METIS);
    assert_int_equal(mpk_options_set(ctx, &o, "matching", "off"), MPK_OK);
    assert_int_equal(mpk_options_set(ctx, &o, "threads", "3"), MPK_OK);
    assert_int_equal(mpk_options_set(ctx, &o, "seed", "-7"), MPK_OK);
    static const char *const bad[][2] = {
        {"ordering", "best"},     {"pivot_threshold", "0.6"}, {"pivot_threshold", "nan"},
        {"pivot_threshold", "x"}, {"threads", "-1"},          {"threads", "2.5"},
        {"threads", ""},          {"nothing", "1"},           {"matching", "maybe"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const char *text;
        assert_int_equal(mpk_options_set(ctx, &o, bad[k][0], bad[k][1]), MPK_ERR_ARGUMENT);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, bad[k][0]));
    }
    assert_int_equal(mpki_options_resolve(ctx, &o, &full), MPK_OK);
    assert_int_equal(full.threads, 3);
    assert_int_equal(full.seed, -7);
    o.pivot_threshold = NAN;
    mpki_clear_error(ctx);
    assert_int_equal(mpki_options_resolve(ctx, &o, &full), MPK_ERR_ARGUMENT);
    mpk_options zero = {0}; /* never initialised */
    mpki_clear_error(ctx);
    assert_int_equal(mpki_options_resolve(ctx, &zero, &full), MPK_ERR_ARGUMENT);
    assert_int_equal(mpki_options_resolve(ctx, NULL, &full), MPK_OK);
    assert_true(full.threads >= 1);
    setenv("OMP_NUM_THREADS", "5", 1);
    assert_int_equal(mpki_threads_default(), 5);
    setenv("OMP_NUM_THREADS", "nonsense", 1);
    assert_true(mpki_threads_default() >= 1);
    mpk_context_destroy(&ctx);
}

static void test_names(void **unused) {
    (void)unused;
    for (int s = MPK_PARTIAL; s >= MPK_ERR_INTERNAL; s--) {
        assert_string_not_equal(mpk_status_name(s), "unknown");
        assert_true(strlen(mpk_status_text(s)) > 3);
    }
    assert_string_equal(mpk_status_name(99), "unknown");
    assert_string_equal(mpk_ordering_name(MPK_ORDERING_RCM), "rcm");
    assert_string_equal(mpk_ordering_name(99), "unknown");
    assert_string_equal(mpk_method_name(MPK_METHOD_LDLT), "ldlt");
    assert_true(strlen(mpk_version()) >= 5);
    assert_true(strlen(mpk_build_config()) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holes), /* first: with little in the C library's bins */
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
