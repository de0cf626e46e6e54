/* SPDX-License-Identifier: BSD-3-Clause */
/* No backend passes over an option of `rows`: with one of `sources` at least it changes what is
 * emitted, or is refused by its name, or (--disable) a message says that it changes nothing. What
 * a single kernel leaves no place for is refused of some options alone (test_refused). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "borg/borg.h"

/* Between them the kernels have something for every option: moves of lanes, loops over arrays that
 * registers cannot hold, loops to unroll and to run as vectors, a product and a sum, a reciprocal,
 * stores alone, and work-items that have nothing to do with each other. */
static const char *const sources[] = {
    "__kernel void group(__global double *x, int ld, __global const double *y) {\n"
    "    long i = get_group_id() * WG_SIZE * ld + get_local_id();\n"
    "    double a[WG_SIZE];\n"
    "    for (int k = 0; k < WG_SIZE; ++k) a[k] = y[i + k * ld];\n"
    "    for (int k = 1; k < WG_SIZE; ++k)\n"
    "        for (int j = k; j < WG_SIZE; ++j)\n"
    "            a[j] -= shuffle(a[j], k - 1) * shuffle(a[k], j) * rcp(a[k]);\n"
    "    for (int k = 0; k < WG_SIZE; ++k) x[i + k * ld] = a[k] + shuffle(a[k], WG_SIZE - 1 - k);\n"
    "}\n",
    "__kernel void items(__global double *x, int ld, __global const double *y) {\n"
    "    long i = get_group_id() * WG_SIZE + get_local_id();\n"
    "    x[i] = rcp(y[i * ld] * 3 + 1);\n"
    "}\n",
    "__kernel void piece(__global double *x, int ld) {\n"
    "    long i = get_group_id() * 4;\n"
    "    double s = 0;\n"
    "    for (int k = 0; k < 4; ++k) s += x[i + k];\n"
    "    for (int k = 0; k < 4; ++k) x[i + k] = s;\n"
    "}\n",
    "__kernel void turns(__global double *x, int ld, __global const double *y) {\n"
    "    long i = get_group_id() * WG_SIZE * ld + get_local_id();\n"
    "    double a[4], b[4];\n"
    "    for (int k = 0; k < 4; ++k) {\n"
    "        a[k] = sqrt(y[i + k * ld]);\n"
    "        b[k] = get_local_id() > k ? a[k] * y[i] : a[k] + y[i];\n"
    "    }\n"
    "    for (int k = 0; k < 4; ++k) x[i + k * ld] = a[k] / b[k];\n"
    "}\n"};
enum { SOURCES = sizeof sources / sizeof *sources };

static const char *const three[] = {"ld=3", NULL};
static const char units[] = "UNIT(add_f64, 9, 1, 10, 10, 1)\nUNIT(mul_f64, 9, 1, 10, 10, 1)\n";

typedef struct row {
    const char *name;
    borg_options with;
} row;

static const row rows[] = {
    {"--lanes", {.lanes = 2}},
    {"--lane-order", {.order = BORG_WG_MINOR}},
    {"--whole-packs", {.whole_packs = true}},
    {"--strict", {.strict = true}},
    {"--fast-rcp", {.fast_rcp = true}},
    {"--nontemporal", {.nontemporal = "x"}},
    {"--loops=always", {.loops = BORG_LOOPS_ALWAYS}},
    {"--flat", {.flat = 2}},
    {"--unroll-budget", {.unroll_budget = 1}},
    {"--no-vector", {.no_vector = true}},
    {"--optimise", {.optimise = -1}},
    {"--set", {.set = three}},
    {"--stage", {.stage = "x"}},
    {"--units", {.units = units}},
    {"--budget", {.budget = "lut=1"}},
    {"--format", {.format = "json"}},
    {"--name", {.name = "another"}},
    {"--disable=reuse", {.disable = BORG_NO_REUSE}},
    {"--disable=scalar", {.disable = BORG_NO_SCALAR}},
    {"--disable=vector", {.disable = BORG_NO_VECTOR}},
    {"--disable=segmented", {.disable = BORG_NO_SEGMENTED}},
    {"--disable=permute", {.disable = BORG_NO_PERMUTE}},
    {"--disable=stream", {.disable = BORG_STREAM}},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* What is made, or the messages: malloc'ed. *status: of the compilation or the emission. */
static char *make(const char *source, const borg_options *row, const borg_backend *backend,
                  int size, int pack, borg_status *status, char **messages) {
    borg_options o = *row;
    borg_program *p = NULL;
    const char *text = "";
    size_t length = 0;
    o.size = size, o.pack = pack, o.backend = backend;
    *status = borg_compile("t.cl", source, strlen(source), &o, NULL, &p);
    if (*status == BORG_OK) *status = borg_program_emit(p, backend, &o, &text, &length);
    char *made = strdup(text);
    *messages = strdup(borg_program_messages(p));
    borg_program_free(p);
    return made;
}

typedef enum outcome { SAME, CHANGED, REFUSED, TOLD } outcome;

static outcome compare(const row *r, const borg_backend *backend, const char *source, int size,
                       int pack) {
    const borg_options plain = {.size = 1};
    borg_status status[2];
    char *told[2], *text[2];
    text[0] = make(source, &plain, backend, size, pack, &status[0], &told[0]);
    text[1] = make(source, &r->with, backend, size, pack, &status[1], &told[1]);
    const size_t length = strcspn(r->name, "=");
    char name[32] = "";
    memcpy(name, r->name, length);
    outcome found = SAME;
    if (status[1] == BORG_OK && status[0] == BORG_OK)
        found = strcmp(text[0], text[1]) != 0        ? CHANGED
                : strstr(told[1], "changes nothing") ? TOLD
                                                     : SAME;
    else if (status[0] == BORG_OK)
        found = strstr(told[1], name) || strstr(told[1], "cannot be staged") ||
                        status[1] == BORG_ERR_BUDGET
                    ? REFUSED
                    : SAME;
    for (int k = 0; k < 2; ++k) free(text[k]), free(told[k]);
    return found;
}

static void test_walk(void **state) {
    (void)state;
    for (const borg_backend *const *b = borg_backends(); *b; ++b)
        for (int i = 0; i < ROWS; ++i) {
            bool any = false;
            for (int k = 0; k < SOURCES && !any; ++k)
                for (int pack = 1; pack <= 2 && !any; ++pack) {
                    const outcome found = compare(&rows[i], *b, sources[k], k ? 3 : 20, pack);
                    any = found == CHANGED || found == REFUSED;
                    any |= found == TOLD && k == SOURCES - 1 && pack == 2;
                }
            if (!any) fail_msg("%s: %s is passed over", (*b)->name, rows[i].name);
        }
}

/* One kernel: what the machine could do, but this kernel leaves no place for. */
static void test_refused(void **state) {
    (void)state;
    const row always = {"--loops=always", {.loops = BORG_LOOPS_ALWAYS}};
    const row flat = {"--flat", {.flat = 4}};
    for (const borg_backend *const *b = borg_backends(); *b; ++b) {
        assert_int_equal(compare(&always, *b, sources[1], 4, 1), REFUSED);
        assert_int_equal(compare(&flat, *b, sources[0], 4, 1), REFUSED);
    }
}

/* Text: what only a source can be told. */
static void test_text(void **state) {
    (void)state;
    static const char text[] = "kernel @k size 2 pack 1 order wi (ptr<f64> @x) {\n"
                               "  %0 = param uni<ptr> @x\n  %1 = const uni<i64> 0\n"
                               "  %2 = loada wi<f64> %0, %1, a 2, b 1, c {0}\n"
                               "  storea %0, %1, %2, a 2, b 1, c {0}\n}\n";
    const borg_options refused[] = {{.kernel = "k"},       {.order = BORG_WG_MINOR},
                                    {.whole_packs = true}, {.loops = BORG_LOOPS_ALWAYS},
                                    {.flat = 2},           {.no_vector = true},
                                    {.unroll_budget = 5},  {.set = three},
                                    {.lanes = 4},          {.disable = BORG_STREAM},
                                    {.dump = "ssa"},       {.dump = "fold"}};
    borg_program *p = NULL;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        assert_int_equal(borg_compile_ir("t.ir", text, strlen(text), &refused[i], NULL, &p),
                         BORG_ERR_OPTION);
        assert_true(*borg_program_messages(p));
        borg_program_free(p);
    }
    const borg_options none = {.strict = true};
    assert_int_equal(borg_compile_ir("t.ir", text, strlen(text), &none, NULL, &p), BORG_OK);
    borg_program_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
