/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack ipopt-env: a line for a shell, and mistakes. */
#include "support.h"

static outcome o;

/* The line works in a shell, keeps what was in the path, and its folder holds the library. */
static void the_line_is_for_a_shell(void **state) {
    (void)state;
    RUN(&o, NULL, "ipopt-env");
    assert_code(&o, 0);
    assert_has(o.err, "hsllib = /");
    assert_has(o.out, "export LD_LIBRARY_PATH='/");
    static char command[sizeof o.out + 200];
    snprintf(command, sizeof command,
             "LD_LIBRARY_PATH=/nowhere; %s\n"
             "test -r \"${LD_LIBRARY_PATH%%%%:*}/libhsl.so\" && test \"${LD_LIBRARY_PATH##*:}\" = "
             "/nowhere && test -r \"${LD_LIBRARY_PATH%%%%:*}/libmetapack_ipopt.so\"",
             o.out);
    assert_int_equal(system(command), 0);
    RUN(&o, NULL, "ipopt-env", "-q");
    assert_code(&o, 0);
    assert_string_equal(o.err, "");
    assert_has(o.out, "export ");
}

static void json_and_mistakes(void **state) {
    (void)state;
    RUN(&o, NULL, "ipopt-env", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "{\"folder\": \"/");
    assert_has(o.out, "libmetapack_ipopt.so\"}");
    RUN(&o, NULL, "ipopt-env", "--help");
    assert_code(&o, 0);
    assert_has(o.out, "--json");
    RUN(&o, NULL, "ipopt-env", "more");
    assert_code(&o, 1);
    assert_has(o.err, "no argument");
    RUN(&o, NULL, "ipopt-env", "--threads", "2");
    assert_code(&o, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_line_is_for_a_shell, empty_folder),
        cmocka_unit_test_teardown(json_and_mistakes, empty_folder),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
