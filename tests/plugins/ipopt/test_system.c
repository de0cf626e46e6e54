/* SPDX-License-Identifier: BSD-3-Clause */
/** The layer behind both interfaces, from inside: each allocation fails once, nothing is lost. */
#include "../../../plugins/ipopt/handles.h"
#include "../../../plugins/ipopt/system.h"
#include "../../sanitized.h"
#include "lower.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct meter {
    int64_t calls, fails_at, alive;
} meter;

static void *meter_alloc(void *user, size_t size) {
    meter *m = user;
    if (++m->calls == m->fails_at) return NULL;
    m->alive++;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void meter_release(void *user, void *ptr, size_t size) {
    (void)size;
    ((meter *)user)->alive--;
    free(ptr);
}

/* The whole life of an instance; the first failure's status. */
static mpk_status live(const mpk_allocator *allocator, const lower *a) {
    ip_pattern *pattern = NULL;
    ip_factor *fac = NULL;
    double x[2][40] = {{0}};
    mpk_status status =
        ip_pattern_create(allocator, a->n, a->ptr, a->row, a->base, MPK_ORDERING_AUTO, &pattern);
    for (int round = 0; !mpk_failed(status) && round < 2; round++) {
        const ip_request request = {1e-8, 1e-20, 0};
        status = ip_factorize(pattern, a->val, &request, &fac);
        for (int i = 0; i < 40; i++) x[0][i] = x[1][i] = i % 3;
        if (!mpk_failed(status)) status = ip_solve(fac, 0, 2, x[0], 40);
        for (int i = 0; !mpk_failed(status) && i < a->n; i++) assert_true(x[0][i] == x[1][i]);
    }
    ip_factor_free(&fac);
    ip_pattern_release(pattern);
    return status;
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    double *full = kkt_full(25, 10);
    lower a = lower_make(35, 1, full);
    int64_t k = 1;
    for (;; k++) {
        meter m = {.fails_at = k};
        const mpk_allocator allocator = {meter_alloc, meter_release, &m};
        mpk_status status = live(&allocator, &a);
        assert_int_equal(m.alive, 0);
        if (m.calls < k) {
            assert_int_equal(status, MPK_OK);
            break;
        }
        assert_int_equal(status, MPK_ERR_MEMORY);
    }
    assert_true(k > 20); /* it was a sweep */
    lower_free(&a);
    free(full);
}

/* The Laplacian of a square, with signs: large enough for threads. */
static lower laplacian(int m) {
    lower a = {m * m, 0, calloc((size_t)m * m + 1, sizeof(int)),
               calloc(3 * (size_t)m * m, sizeof(int)), calloc(3 * (size_t)m * m, sizeof(double))};
    int k = 0;
    for (int j = 0; j < m * m; j++) {
        a.row[k] = j, a.val[k++] = j % 3 ? 4 : -4;
        if (j % m != m - 1) a.row[k] = j + 1, a.val[k++] = -1;
        if (j + m < m * m) a.row[k] = j + m, a.val[k++] = -1;
        a.ptr[j + 1] = k;
    }
    return a;
}

/* What Ipopt's parent has made, in a child: solved with, factorized anew, freed. (reports/06) */
static void a_forked_child_goes_on(void **state) {
    (void)state;
#if TEST_THREAD_SANITIZED
    skip();
#endif
    lower a = laplacian(60);
    double *x = calloc((size_t)a.n, sizeof *x), *want = calloc((size_t)a.n, sizeof *want);
    setenv("METAPACK_THREADS", "3", 1);
    for (int what = 0; what < 3; what++) {
        ip_pattern *pattern = NULL;
        ip_factor *fac = NULL;
        const ip_request request = {1e-8, 1e-20, 0};
        int code;
        assert_int_equal(ip_pattern_create(NULL, a.n, a.ptr, a.row, 0, MPK_ORDERING_AUTO, &pattern),
                         MPK_OK);
        assert_true(ip_factorize(pattern, a.val, &request, &fac) >= 0);
        for (int i = 0; i < a.n; i++) want[i] = x[i] = i % 3;
        assert_int_equal(ip_solve(fac, 0, 1, want, a.n), MPK_OK);
        fflush(NULL);
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            bool good = true;
            if (what == 1) good = ip_factorize(pattern, a.val, &request, &fac) >= 0;
            if (what < 2) good = good && ip_solve(fac, 0, 1, x, a.n) == MPK_OK;
            if (what < 2) good = good && !memcmp(x, want, (size_t)a.n * sizeof *x);
            ip_factor_free(&fac);
            ip_pattern_release(pattern);
            _exit(good ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &code, 0), pid);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 0);
        ip_factor_free(&fac);
        ip_pattern_release(pattern);
    }
    unsetenv("METAPACK_THREADS");
    lower_free(&a);
    free(x), free(want);
}

/* A factor keeps the pattern it was made with alive. */
static void factors_outlive_the_handle_of_their_pattern(void **state) {
    (void)state;
    int ptr[] = {0, 1, 2}, row[] = {0, 1};
    double val[] = {4, -2}, x[] = {4, 4};
    ip_pattern *pattern = NULL;
    ip_factor *fac = NULL;
    const ip_request request = {0.01, 0, 0};
    assert_int_equal(ip_pattern_create(NULL, 2, ptr, row, 0, MPK_ORDERING_AUTO, &pattern), MPK_OK);
    assert_int_equal(ip_factorize(pattern, val, &request, &fac), MPK_OK);
    ip_pattern_release(pattern);
    assert_int_equal(ip_solve(fac, 0, 1, x, 2), MPK_OK);
    assert_true(x[0] == 1 && x[1] == -2);
    ip_factor_free(&fac);
    ip_factor_free(&fac);
    ip_pattern_release(NULL);
}

static void handles_are_listed_by_kind(void **state) {
    (void)state;
    int thing[100];
    assert_int_equal(ip_handle_count(), 0);
    assert_false(ip_handle_is(NULL, IP_FACTOR));
    assert_false(ip_handle_remove(NULL, IP_FACTOR));
    for (int k = 0; k < 100; k++)
        assert_true(ip_handle_add(&thing[k], k % 2 ? IP_FACTOR : IP_PATTERN));
    assert_int_equal(ip_handle_count(), 100);
    assert_true(ip_handle_is(&thing[7], IP_FACTOR));
    assert_false(ip_handle_is(&thing[7], IP_PATTERN));
    assert_false(ip_handle_remove(&thing[7], IP_KEEP));
    for (int k = 0; k < 100; k++) {
        assert_true(ip_handle_remove(&thing[k], k % 2 ? IP_FACTOR : IP_PATTERN));
        assert_false(ip_handle_is(&thing[k], k % 2 ? IP_FACTOR : IP_PATTERN));
    }
    assert_int_equal(ip_handle_count(), 0);
}

/* METAPACK_OPTIONS: what it asks for is done, or the factorization fails; nothing is passed
 * over. */
static void options_of_the_environment(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mpk_status status;
    } cases[] = {
        {"", MPK_OK},
        {" ,\t", MPK_OK},
        {"device=cpu", MPK_OK},
        {"device=auto, threads=1", MPK_OK},
        {"memory_limit=1e12 ordering=nd", MPK_OK},
        {"memory_limit=10", MPK_ERR_MEMORY},
        {"device=cuda", MPK_ERR_DEVICE},
        {"device=cuda:1000", MPK_ERR_DEVICE},
        {"device=gpu", MPK_ERR_UNSUPPORTED},
        {"device", MPK_ERR_UNSUPPORTED},
        {"devise=cuda", MPK_ERR_UNSUPPORTED},
        {"method=ildlt", MPK_ERR_UNSUPPORTED},
        {"threads=1 pivot_threshold=0.1", MPK_ERR_UNSUPPORTED},
        {"a_word_that_is_much_longer_than_any_key_or_value_of_an_option_could_ever_be_in_this_or_"
         "any_other_version_of_the_library=1",
         MPK_ERR_UNSUPPORTED},
        {NULL, MPK_OK}};
    int ptr[] = {0, 2, 3}, row[] = {0, 1, 1};
    double val[] = {4, 1, -2}, x[2];
    const ip_request request = {0.01, 0, 0};
    setenv("METAPACK_CUDA_MODULE", "/nowhere/module.so", 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int later = 0; later < 2; later++) { /* with an analysis and a factor that there are */
            ip_pattern *pattern = NULL;
            ip_factor *fac = NULL;
            assert_int_equal(ip_pattern_create(NULL, 2, ptr, row, 0, MPK_ORDERING_AUTO, &pattern),
                             MPK_OK);
            unsetenv("METAPACK_OPTIONS");
            if (later) assert_int_equal(ip_factorize(pattern, val, &request, &fac), MPK_OK);
            if (cases[k].text) setenv("METAPACK_OPTIONS", cases[k].text, 1);
            mpk_status expected = cases[k].status;
            /* a factor stays on the processor, where it is */
            if (later && expected == MPK_ERR_DEVICE) expected = MPK_OK;
            const mpk_status got = ip_factorize(pattern, val, &request, &fac);
            if (got != expected && !(later && cases[k].status == MPK_ERR_MEMORY))
                fail_msg("%s: %s", cases[k].text, mpk_status_name(got));
            x[0] = 5, x[1] = -1;
            if (!mpk_failed(got)) {
                assert_int_equal(ip_solve(fac, 0, 1, x, 2), MPK_OK);
                assert_true(x[0] > 0.999 && x[0] < 1.001 && x[1] > 0.999 && x[1] < 1.001);
            } else { /* old values do not pass for new ones */
                assert_true(mpk_failed(ip_solve(fac, 0, 1, x, 2)));
            }
            ip_factor_free(&fac);
            ip_pattern_release(pattern);
        }
    unsetenv("METAPACK_OPTIONS");
    unsetenv("METAPACK_CUDA_MODULE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_goes_on),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(factors_outlive_the_handle_of_their_pattern),
        cmocka_unit_test(handles_are_listed_by_kind),
        cmocka_unit_test(options_of_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
