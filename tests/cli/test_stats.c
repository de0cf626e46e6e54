/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack stats: the table, its JSON and its picture. */
#include "support.h"

static outcome o;

static int count(const char *text, const char *what) {
    int found = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) found++;
    return found;
}

static void table_json_and_picture(void **state) {
    (void)state;
    static char svg[1 << 16];
    RUN(&o, NULL, "stats", "--generate", "helmholtz 2d 20 0.3", "--strategy", "br,rb,rbr",
        "--ordering", "amd,gmc", "--block", "8", "--levels", "0:2,full", "--json", "--plot",
        "a.svg");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"schema\": \"metapack-stats/1\"");
    assert_int_equal(count(o.out, "\"block_rows\""), 6);
    assert_int_equal(count(o.out, "\"scalar_nnz\""), 24);
    assert_int_equal(count(o.out, "\"level\": \"full\""), 6);
    assert_has(o.err, "Written       a.svg");
    assert_has(o.err, "n = 400");
    assert_has(o.err, "RBR, GMC");
    for (const char *line = o.err; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    read_text("a.svg", svg, sizeof svg);
    assert_int_equal(count(svg, "<polyline"), 12); /* 3 panels, 2 orderings, blocks and levels */
    assert_int_equal(count(svg, "stroke-dasharray"), 6 + 1);
    assert_int_equal(count(svg, "<g "), count(svg, "</g>"));
    assert_has(svg, "</svg>");
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    assert_files(1);
}

/* Over block sizes where there is one level; one row of A; no scalar columns. */
static void small_ones(void **state) {
    (void)state;
    static char svg[1 << 16];
    RUN(&o, NULL, "stats", "--generate", "helmholtz 2d 12 0.3", "--block", "1,4,128", "--levels",
        "full", "--scalar", "off", "--grid", "--plot", "b.svg", "--json", "-q");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_string_equal(o.err, "");
    assert_null(strstr(o.out, "scalar_nnz"));
    assert_has(o.out, "\"grid\": true");
    read_text("b.svg", svg, sizeof svg);
    assert_int_equal(count(svg, "<polyline"), 2);
    assert_has(svg, "rows of a block");
    write_text("one.mtx", "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 2\n");
    RUN(&o, NULL, "stats", "one.mtx", "--plot", "c.svg", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    read_text("c.svg", svg, sizeof svg);
    assert_null(strstr(svg, "nan"));
}

static void failures(void **state) {
    (void)state;
    RUN(&o, NULL, "stats", "missing.mtx", "--json");
    assert_code(&o, 2);
    assert_true(json_valid(o.out));
    assert_has(o.err, "missing.mtx");
    RUN(&o, NULL, "stats", "--generate", "helmholtz 2d 30 0.3", "--memory-limit", "64", "--json");
    assert_code(&o, 6);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"memory\"");
    RUN(&o, NULL, "stats", "--generate", "helmholtz 2d 5 0.3", "--plot", "no/such/folder.svg");
    assert_code(&o, 2);
    assert_has(o.err, "no/such/folder.svg");
    assert_files(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(table_json_and_picture, empty_folder),
        cmocka_unit_test_setup(small_ones, empty_folder),
        cmocka_unit_test_setup(failures, empty_folder),
    };
    return cmocka_run_group_tests_name("stats", tests, enter_folder, leave_folder);
}
