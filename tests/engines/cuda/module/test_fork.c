/* SPDX-License-Identifier: BSD-3-Clause */
/* What is on a device does not follow a fork: a child is told so by every call, never waits,
 * gives such objects up, and goes on by the processor. And a factor on a device is solved with
 * in contexts that have opened none. */
#include "support.h"

#include "../device_there.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 400 };

typedef struct objects {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_isai *isai;
    mpk_options o;
    double b[N], x[N], want[N];
} objects;

static void make(objects *s, mpk_method method) {
    mpk_isai_options inverse;
    static int64_t ptr[N + 1];
    static int32_t row[N];
    static double val[N];
    memset(s, 0, sizeof *s);
    mpk_options_init(&s->o);
    mpk_isai_options_init(&inverse);
    s->o.method = method, s->o.device = MPK_ON_CUDA, s->o.threads = 2;
    for (int i = 0; i < N; i++) s->b[i] = i % 5 - 1.5, ptr[i] = row[i] = i, val[i] = 2;
    ptr[N] = N;
    inverse.memory = MPK_DEVICE;
    assert_int_equal(mpk_context_create(NULL, &s->ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s->ctx, "helmholtz 2d 20 0.3", 1, &s->problem), MPK_OK);
    assert_int_equal(mpk_analyse(s->ctx, s->problem, &s->o, &s->an), MPK_OK);
    assert_true(mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac) >= 0);
    assert_true(mpk_solve(s->ctx, s->fac, 1, s->b, N, s->want, N, &s->o, NULL) >= 0);
    if (device_is_real()) return; /* there, its arrays would have to be the device's */
    void *there[3] = {0};
    const void *here[3] = {ptr, row, val};
    const int64_t bytes[3] = {sizeof ptr, sizeof row, sizeof val};
    for (int k = 0; k < 3; k++) {
        assert_int_equal(mpk_device_alloc(s->ctx, 0, bytes[k], &there[k]), MPK_OK);
        assert_int_equal(
            mpk_device_copy(s->ctx, 0, there[k], bytes[k], here[k], bytes[k], bytes[k], 1), MPK_OK);
    }
    (void)mpk_isai_create(s->ctx, MPK_D, N, there[0], there[1], there[2], &inverse, &s->isai);
    for (int k = 0; k < 3; k++) (void)mpk_device_free(s->ctx, 0, &there[k]);
}

static void end(objects *s) {
    mpk_isai_destroy(&s->isai);
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

static bool told(mpk_context *ctx, mpk_status status) {
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    return status == MPK_ERR_DEVICE && strstr(text, "fork");
}

static int child(objects *s) {
    double logdet[3];
    void *p = NULL;
    mpk_device_info info;
    mpk_context *own = NULL;
    mpk_factor *here = NULL;
    alarm(60);
    if (!told(s->ctx, mpk_solve(s->ctx, s->fac, 1, s->b, N, s->x, N, &s->o, NULL))) return 1;
    if (!told(s->ctx, mpk_solve_part(s->ctx, s->fac, MPK_PART_ALL, 1, s->x, N))) return 2;
    if (!told(s->ctx, mpk_refactorize(s->ctx, NULL, &s->o, s->fac))) return 3;
    if (!told(s->ctx, mpk_get(s->ctx, s->fac, MPK_GET_LOGDET, logdet, sizeof logdet))) return 4;
    if (!told(s->ctx, mpk_device_alloc(s->ctx, 0, 64, &p))) return 5;
    if (!told(s->ctx, mpk_factorize(s->ctx, s->an, NULL, &s->o, &here))) return 6;
    if (s->isai && !told(s->ctx, mpk_isai_apply(s->ctx, s->isai, 0, 1, s->b, N, s->x, N))) return 7;
    if (s->isai && !told(s->ctx, mpk_isai_update(s->ctx, s->b, s->isai))) return 7;
    if (mpk_context_create(NULL, &own) != MPK_OK) return 8;
    if (!told(own, mpk_device_info_get(own, 0, &info))) return 9;
    s->o.device = MPK_ON_CPU;
    if (mpk_factorize(s->ctx, s->an, NULL, &s->o, &here) < 0) return 10;
    if (mpk_solve(s->ctx, here, 1, s->b, N, s->x, N, &s->o, NULL) < 0) return 11;
    for (int i = 0; i < N; i++)
        if (!(fabs(s->x[i] - s->want[i]) <= 1e-3 * (1 + fabs(s->want[i])))) return 12;
    mpk_factor_destroy(&here);
    mpk_context_destroy(&own);
    end(s);
    return 0;
}

static void test_fork(void **unused) {
    (void)unused;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_NONE};
    for (int m = 0; m < 3; m++) {
        static objects s;
        int code;
        make(&s, methods[m]);
        fflush(NULL);
        const pid_t pid = fork();
        if (pid == 0) _exit(child(&s));
        assert_int_equal(waitpid(pid, &code, 0), pid);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 0);
        assert_true(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, NULL) >= 0);
        assert_memory_equal(s.x, s.want, sizeof s.x);
        end(&s);
    }
}

static void test_another_context(void **unused) {
    (void)unused;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_NONE};
    for (int m = 0; m < 3; m++) {
        static objects s;
        mpk_context *other = NULL;
        int64_t before, after;
        make(&s, methods[m]);
        assert_int_equal(mpk_context_create(NULL, &other), MPK_OK);
        mpk_memory_usage(s.ctx, &before, NULL);
        assert_true(mpk_solve(other, s.fac, 1, s.b, N, s.x, N, &s.o, NULL) >= 0);
        assert_memory_equal(s.x, s.want, sizeof s.x);
        assert_true(mpk_solve_part(other, s.fac, MPK_PART_ALL, 1, s.x, N) >= 0);
        mpk_memory_usage(s.ctx, &after, NULL);
        assert_int_equal(after, before);
        mpk_memory_usage(other, &after, NULL);
        assert_true(after < 1024); /* the device that it has opened */
        mpk_context_destroy(&other);
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_another_context),
                                       cmocka_unit_test(test_fork)};
    if (device_lacks(DEVICE_BLOCKS) || device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
