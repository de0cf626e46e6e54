/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack petsc-env: a line for a shell, and mistakes. */
#include "support.h"

static outcome o;

/* A library for PETSc is made only where there is a PETSc. */
static int absent(void) {
    return access(METAPACK_BUILD "/petsc/real/libmetapack_petsc.so", R_OK);
}

static void nothing_there(void **state) {
    (void)state;
    if (!absent()) skip();
    RUN(&o, NULL, "petsc-env");
    assert_code(&o, 2);
    assert_has(o.err, strstr(o.err, "not built yet") ? "the build makes it for PETSc"
                                                     : "built without plug-ins for PETSc: ");
}

/* The line works in a shell, keeps what was there, and names a file. */
static void the_line_is_for_a_shell(void **state) {
    (void)state;
    if (absent()) skip();
    RUN(&o, NULL, "petsc-env");
    assert_code(&o, 0);
    assert_has(o.err, "-pc_factor_mat_solver_type metapack");
    static char command[sizeof o.out + 400];
    snprintf(command, sizeof command,
             "PETSC_OPTIONS=-log_view; %s\n"
             "case $PETSC_OPTIONS in '-log_view -dll_append /'*) ;; *) exit 1 ;; esac\n"
             "test -r \"${PETSC_OPTIONS##* }\"",
             o.out);
    assert_int_equal(system(command), 0);
    RUN(&o, NULL, "petsc-env", "-q", "real");
    assert_code(&o, 0);
    assert_string_equal(o.err, "");
    RUN(&o, NULL, "petsc-env", "--json", "real");
    assert_code(&o, 0);
    assert_has(o.out, "{\"build\": \"real\", \"library\": \"/");
}

/* The command is there before its plug-ins are, which is not said to be for want of a PETSc. */
static void not_built_yet(void **state) {
    (void)state;
    if (absent()) skip();
    assert_int_equal(system("cp " METAPACK_COMMAND
                            " alone && ./alone petsc-env 2>told; test $? = 2 && "
                            "grep -q 'not built yet' told && grep -q real told"),
                     0);
}

static void mistakes(void **state) {
    (void)state;
    RUN(&o, NULL, "petsc-env", "more", "than");
    assert_code(&o, 1);
    RUN(&o, NULL, "petsc-env", "--threads", "2");
    assert_code(&o, 1);
    if (absent()) skip();
    RUN(&o, NULL, "petsc-env", "quaternion");
    assert_code(&o, 2);
    assert_has(o.err, "real");
    RUN(&o, NULL, "petsc-env", "../petsc/real");
    assert_code(&o, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_there, empty_folder),
        cmocka_unit_test_teardown(the_line_is_for_a_shell, empty_folder),
        cmocka_unit_test_teardown(not_built_yet, empty_folder),
        cmocka_unit_test_teardown(mistakes, empty_folder),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
