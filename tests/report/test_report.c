/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports: copies, arguments, exit codes, the buffer. */
#include "support.h"

/* Strings of the run may go once the report is made. */
static void report_keeps_its_own_copies(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    char source[] = "name", message[] = "why", backend[] = "cpu";
    mpk_run run = small_run();
    run.source = source;
    run.message = message;
    run.backend = backend;
    run.status = MPK_INACCURATE;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    memset(source, '#', 4);
    memset(message, '#', 3);
    memset(backend, '#', 3);
    const mpk_run *kept = mpk_report_run(report);
    assert_string_equal(kept->source, "name");
    assert_string_equal(kept->message, "why");
    assert_string_equal(kept->backend, "cpu");
    assert_int_equal(kept->factor.nnz, 7);
    assert_null(kept->problem.ap);
    mpk_report_destroy(&report);
    assert_null(report);
    mpk_report_destroy(&report);
    mpk_report_destroy(NULL);
    mpk_context_destroy(&ctx);
}

static void wrong_arguments(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    mpk_run run = small_run();
    assert_int_equal(mpk_report_create(NULL, &run, &report), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_report_create(ctx, NULL, &report), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_report_create(ctx, &run, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_ERR_ARGUMENT); /* would be lost */
    mpk_report_destroy(&report);
    run.attempts = MPK_ATTEMPTS + 1; /* there is no such entry */
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_ERR_ARGUMENT);
    run.attempts = -1;
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_ERR_ARGUMENT);
    run = (mpk_run){0}; /* of which there is nothing to say */
    assert_int_equal(mpk_report_create(ctx, &run, &report), MPK_OK);
    assert_string_equal(mpk_report_text(report), "");
    mpk_report_destroy(&report);
    assert_string_equal(mpk_report_text(NULL), "");
    assert_string_equal(mpk_report_json(NULL), "");
    assert_null(mpk_report_run(NULL));
    mpk_context_destroy(&ctx);
}

static mpk_status create(mpk_context *ctx) {
    mpk_report *report = NULL;
    mpk_run run = small_run();
    run.message = "message";
    run.have_analysis = run.have_factor = run.have_solve = 0; /* asks for statistics, too */
    mpk_status status = mpk_report_create(ctx, &run, &report);
    assert_true((status == MPK_OK) == (report != NULL));
    mpk_report_destroy(&report);
    return status;
}

static void no_memory(void **state) {
    (void)state;
    sweep_allocations(create);
}

/* The table of the command's manual. */
static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(mpk_exit_code(MPK_OK), 0);
    assert_int_equal(mpk_exit_code(MPK_PERTURBED), 0);
    assert_int_equal(mpk_exit_code(MPK_ERR_ARGUMENT), 1);
    assert_int_equal(mpk_exit_code(MPK_ERR_UNSUPPORTED), 1);
    assert_int_equal(mpk_exit_code(MPK_ERR_FILE), 2);
    assert_int_equal(mpk_exit_code(MPK_ERR_FORMAT), 2);
    assert_int_equal(mpk_exit_code(MPK_ERR_INPUT), 2);
    assert_int_equal(mpk_exit_code(MPK_ERR_SIZE), 2);
    assert_int_equal(mpk_exit_code(MPK_SINGULAR), 3);
    assert_int_equal(mpk_exit_code(MPK_NOT_CONVERGED), 4);
    assert_int_equal(mpk_exit_code(MPK_INACCURATE), 5);
    assert_int_equal(mpk_exit_code(MPK_ERR_NUMERIC), 5);
    assert_int_equal(mpk_exit_code(MPK_ERR_MEMORY), 6);
    assert_int_equal(mpk_exit_code(MPK_ERR_DEVICE), 7);
    assert_int_equal(mpk_exit_code(MPK_ERR_CANCELLED), 130);
    for (int status = -20; status <= 20; status++) /* what is not a status is no success */
        if (status != MPK_OK && status != MPK_PERTURBED)
            assert_true(mpk_exit_code((mpk_status)status) != 0);
}

static void buffer_grows(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpki_buffer buf;
    mpki_buffer_init(&buf, ctx);
    for (int k = 0; k < 10000; k++) mpki_buffer_printf(&buf, "%d,", k % 10);
    assert_int_equal(buf.size, 20000);
    assert_int_equal(strlen(buf.data), 20000);
    assert_memory_equal(buf.data + 19998, "9,", 3);
    mpki_buffer_free(&buf);
    assert_null(buf.data);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_keeps_its_own_copies), cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(no_memory), cmocka_unit_test(exit_codes), cmocka_unit_test(buffer_grows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
