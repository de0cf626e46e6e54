/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of energy, of a machine that is made of files. */
#include "support.h"

#include "core/energy.h"
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/metapack-energy-XXXXXX";

static void put(const char *zone, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, zone);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", root, zone, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static mpki_meter *open_meter(mpk_context *ctx, const char *folder, char *no_cpu) {
    char no_gpu[128];
    mpki_meter *m = NULL;
    assert_int_equal(mpki_meter_open(ctx, folder, -1, no_cpu, no_gpu, 128, &m), MPK_OK);
    assert_string_equal(no_gpu, "no GPU was asked for");
    return m;
}

/* Two packages are added up, one of which begins anew; parts of them do not count. */
static void test_packages(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    char why[128];
    double cpu, gpu;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    put("intel-rapl:0", "energy_uj", "1000000\n");
    put("intel-rapl:0", "max_energy_range_uj", "65000000\n");
    put("intel-rapl:1", "energy_uj", "64000000\n");
    put("intel-rapl:1", "max_energy_range_uj", "65000000\n");
    put("intel-rapl:0:0", "energy_uj", "5\n");
    put("intel-rapl-mmio:0", "energy_uj", "5\n");
    mpki_meter *m = open_meter(ctx, root, why);
    assert_string_equal(why, "");
    put("intel-rapl:0", "energy_uj", "3500000\n");
    put("intel-rapl:1", "energy_uj", "500000\n");
    put("intel-rapl:0:0", "energy_uj", "900000\n");
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(fabs(cpu - 4) < 1e-9);
    assert_true(gpu == -1);
    mpki_meter_close(&m);
    assert_null(m);
    mpk_context_destroy(&ctx);
}

/* What was taken since the last look; -1, and no wrong figure, where either look failed. */
static void test_looks(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    char why[128], path[256];
    double cpu, gpu;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    put("intel-rapl:0", "energy_uj", "1000000\n");
    put("intel-rapl:0", "max_energy_range_uj", "65000000\n");
    put("intel-rapl:1", "energy_uj", "7000000\n");
    put("intel-rapl:1", "max_energy_range_uj", "65000000\n");
    mpki_meter *m = open_meter(ctx, root, why);
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(cpu == 0);
    put("intel-rapl:0", "energy_uj", "3000000\n");
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(fabs(cpu - 2) < 1e-9);
    snprintf(path, sizeof path, "%s/intel-rapl:0/energy_uj", root);
    assert_int_equal(unlink(path), 0);
    put("intel-rapl:1", "energy_uj", "9000000\n");
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(cpu == -1);
    put("intel-rapl:0", "energy_uj", "8000000\n");
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(cpu == -1);
    put("intel-rapl:1", "energy_uj", "9500000\n");
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(fabs(cpu - 0.5) < 1e-9);
    mpki_meter_close(&m);
    mpk_context_destroy(&ctx);
}

typedef struct counter {
    int runs, fails;
} counter;

/* Two joules a run; the run number `fails` fails. */
static mpk_status two_joules(void *data) {
    counter *c = data;
    char text[32];
    snprintf(text, sizeof text, "%d\n", 2000000 * ++c->runs);
    put("intel-rapl:0", "energy_uj", text);
    return c->runs == c->fails ? MPK_ERR_INPUT : MPK_OK;
}

/* The mean of as many runs as it takes; none where one fails. */
static void test_repeat(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    char why[128];
    double cpu, gpu;
    int64_t runs;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    put("intel-rapl:0", "energy_uj", "0\n");
    put("intel-rapl:0", "max_energy_range_uj", "2000000000\n");
    put("intel-rapl:1", "energy_uj", "7000000\n");
    put("intel-rapl:1", "max_energy_range_uj", "65000000\n");
    mpki_meter *m = open_meter(ctx, root, why);
    assert_true(mpki_meter_least(m) == 0); /* no GPU */
    assert_true(mpki_meter_least(NULL) == 0);
    counter c = {0, -1};
    assert_int_equal(mpki_meter_repeat(m, 0.02, two_joules, &c, &cpu, &gpu, &runs), MPK_OK);
    assert_true(runs == c.runs && fabs(cpu - 2) < 1e-9 && gpu == -1);
    c = (counter){0, 3};
    put("intel-rapl:0", "energy_uj", "0\n");
    assert_int_equal(mpki_meter_repeat(m, 60, two_joules, &c, &cpu, &gpu, &runs), MPK_ERR_INPUT);
    assert_true(c.runs == 3 && cpu == -1);
    mpki_meter_close(&m);
    mpk_context_destroy(&ctx);
}

/* Nothing there is told, and so is a GPU without its library. */
static void test_none(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    char why[128], no_gpu[128];
    double cpu, gpu;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_meter *m = open_meter(ctx, "/nonexistent", why);
    assert_string_equal(why, "/nonexistent has no counter of a package");
    mpki_meter_read(m, &cpu, &gpu);
    assert_true(cpu == -1 && gpu == -1);
    mpki_meter_close(&m);
    assert_int_equal(mpki_meter_open(ctx, root, 0, why, no_gpu, sizeof why, &m), MPK_OK);
    mpki_meter_read(m, &cpu, &gpu);
    assert_true((gpu < 0) == (no_gpu[0] != '\0'));
    mpki_meter_close(&m);
    mpki_meter_read(NULL, &cpu, &gpu);
    assert_true(cpu == -1 && gpu == -1);
    mpk_context_destroy(&ctx);
}

static int begin(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packages),
                                       cmocka_unit_test(test_looks), cmocka_unit_test(test_repeat),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, begin, end);
}
