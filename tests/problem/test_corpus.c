/* SPDX-License-Identifier: BSD-3-Clause */
/** The fuzzers' corpora through the fuzzers' own checks, with any compiler. */
#include "support.h"

#include <dirent.h>

#define LLVMFuzzerTestOneInput fuzz_read
#include "fuzz/fuzz_read.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_rhs
#include "fuzz/fuzz_rhs.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_generate
#include "fuzz/fuzz_generate.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_number
#include "fuzz/fuzz_number.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_arrays
#include "fuzz/fuzz_arrays.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_options
#include "fuzz/fuzz_options.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_perm
#include "fuzz/fuzz_perm.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_report
#include "fuzz/fuzz_report.c"
#undef LLVMFuzzerTestOneInput

typedef int target(const uint8_t *data, size_t size);

/* Every file of the corpus: as it is, and cut off early in every seventh place. */
static void replay(const char *name, target *run) {
    char folder[512], path[1024];
    static uint8_t data[65536];
    snprintf(folder, sizeof folder, "%s/../tests/fuzz/corpus/%s", METAPACK_DATA, name);
    DIR *d = opendir(folder);
    if (!d) fail_msg("%s is not there", folder);
    int files = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t size = fread(data, 1, sizeof data, f);
        fclose(f);
        assert_int_equal(run(data, size), 0);
        for (size_t cut = 0; cut < size && cut < 200; cut += 7) run(data, cut);
        files++;
    }
    closedir(d);
    assert_true(files >= 8);
}

static void read_corpus(void **state) {
    (void)state;
    replay("read", fuzz_read);
}
static void rhs_corpus(void **state) {
    (void)state;
    replay("rhs", fuzz_rhs);
}
static void generate_corpus(void **state) {
    (void)state;
    replay("generate", fuzz_generate);
}
static void number_corpus(void **state) {
    (void)state;
    replay("number", fuzz_number);
}
static void arrays_corpus(void **state) {
    (void)state;
    replay("arrays", fuzz_arrays);
}
static void options_corpus(void **state) {
    (void)state;
    replay("options", fuzz_options);
}
static void perm_corpus(void **state) {
    (void)state;
    replay("perm", fuzz_perm);
}
static void report_corpus(void **state) {
    (void)state;
    replay("report", fuzz_report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_corpus),     cmocka_unit_test(rhs_corpus),
        cmocka_unit_test(generate_corpus), cmocka_unit_test(number_corpus),
        cmocka_unit_test(report_corpus),   cmocka_unit_test(perm_corpus),
        cmocka_unit_test(options_corpus),  cmocka_unit_test(arrays_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
