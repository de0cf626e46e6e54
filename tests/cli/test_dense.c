/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve of dense matrices and metapack bench dense. */
#include "support.h"

#define SYMMETRIC "%%MatrixMarket matrix array real symmetric\n3 3\n2\n1\n0\n-3\n1\n4\n"

static outcome o;

static void solves_an_array(void **state) {
    (void)state;
    write_text("a.mtx", SYMMETRIC);
    RUN(&o, NULL, "solve", "a.mtx", "-o", "-");
    assert_code(&o, 0);
    assert_has(o.out, "3 1\n1\n1\n1\n"); /* A times ones */
    assert_has(o.err, "dense real symmetric");
    assert_has(o.err, "2 positive, 1 negative, 0 zero; not examined");
    assert_has(o.err, "Result        good");
    RUN(&o, NULL, "solve", "a.mtx", "--dense", "off", "-o", "-");
    assert_code(&o, 0);
    assert_has(o.err, "supernode");
}

static void every_method(void **state) {
    (void)state;
    static const char *const methods[] = {"auto",  "tile",      "bunch-kaufman", "rook",
                                          "aasen", "butterfly", "none"};
    for (int k = 0; k < 7; k++) {
        RUN(&o, NULL, "solve", "--generate", "quasi-definite 5", "--dense", methods[k], "--json",
            "-q");
        if (strcmp(methods[k], "none")) {
            assert_code(&o, 0);
            assert_has(o.out, "\"status\": \"ok\"");
        }
        assert_has(o.out, "{");
    }
}

static void singular(void **state) {
    (void)state;
    write_text("a.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n1\n1\n");
    RUN(&o, NULL, "solve", "a.mtx", "--json");
    assert_code(&o, 3);
    assert_has(o.out, "\"zero\": 1");
}

/* Rank 40 of 120, and a right-hand side that no x gives: the ladder keeps the verdict and the
 * counts of the rung that saw the zero pivots, and what is not certified says so. */
static void singular_and_inconsistent(void **state) {
    enum { N = 120, RANK = 40 };
    (void)state;
    static double u[N][RANK];
    unsigned random = 12345;
    FILE *a = fopen("rank.mtx", "w"), *b = fopen("b.mtx", "w");
    assert_true(a && b);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < RANK; k++) {
            random = random * 1103515245u + 12345u;
            u[i][k] = (double)(random >> 8) / (1 << 23) - 1;
        }
    fprintf(a, "%%%%MatrixMarket matrix array real symmetric\n%d %d\n", N, N);
    fprintf(b, "%%%%MatrixMarket matrix array real general\n%d 1\n", N);
    for (int j = 0; j < N; j++) {
        for (int i = j; i < N; i++) {
            double sum = 0;
            for (int k = 0; k < RANK; k++) sum += (k % 2 ? -1 : 1) * u[i][k] * u[j][k];
            fprintf(a, "%.17g\n", sum);
        }
        fprintf(b, "%d\n", j % 7 - 2);
    }
    fclose(a), fclose(b);
    static const char *const methods[] = {"auto", "tile"};
    for (int k = 0; k < 2; k++) {
        RUN(&o, NULL, "solve", "rank.mtx", "-b", "b.mtx", "--dense", methods[k]);
        assert_code(&o, 3);
        assert_has(o.err, "20 positive, 20 negative, 80 zero; NOT certified");
        assert_has(o.err, "the system is inconsistent: no x solves it");
        RUN(&o, NULL, "solve", "rank.mtx", "-b", "b.mtx", "--dense", methods[k], "--json", "-q");
        assert_code(&o, 3);
        assert_has(o.out, "\"zero\": 80, \"certified\": false");
        assert_has(o.out, "\"solved\": false");
    }
    RUN(&o, NULL, "solve", "rank.mtx", "--dense", "none", "--json", "-q");
    assert_has(o.out, "\"certified\": false");
    static const char *const blind[] = {"none", "butterfly"};
    for (int k = 0; k < 2; k++) {
        RUN(&o, NULL, "solve", "rank.mtx", "--dense", blind[k]);
        if (!strstr(o.err, "without pivoting a singular matrix is not seen"))
            assert_has(o.err, "NOT certified");
    }
    RUN(&o, NULL, "solve", "rank.mtx", "--dense", "aasen");
    assert_has(o.err, "NOT certified");
}

/* An option that a method does not read is refused before anything is read. */
static void idle_options(void **state) {
    (void)state;
    static const char *const methods[] = {"auto",  "tile",      "bunch-kaufman", "rook",
                                          "aasen", "butterfly", "none"};
    static const struct {
        const char *option, *value;
        unsigned read; /* bit k: by methods[k] */
    } options[] = {{"--pivot-threshold", "0.1", 3},
                   {"--seed", "3", 1 << 5},
                   {"--precision", "single", 0x7f},
                   {"--zero-tolerance", "1e-12", 0x1f},
                   {"--device-number", "1", 0},
                   {"--device-memory-limit", "1e9", 0},
                   {"--method", "ldlt", 0},
                   {"--krylov", "sqmr", 0},
                   {"--plot", "p.svg", 0},
                   {"--trace", "t.svg", 0},
                   {"--refine", "2", 0x7f},
                   {"--threads", "1", 0x7f},
                   {"--symmetry-tolerance", "0", 0x7f}};
    write_text("a.mtx", SYMMETRIC);
    for (int m = 0; m < 7; m++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            RUN(&o, NULL, "solve", "a.mtx", "--dense", methods[m], options[k].option,
                options[k].value);
            if (options[k].read >> m & 1) {
                assert_int_not_equal(o.code, 1);
                continue;
            }
            assert_code(&o, 1);
            assert_has(o.err, options[k].option);
            assert_has(o.err, methods[m]);
        }
    RUN(&o, NULL, "solve", "a.mtx", "--dense", "auto", "--precision", "single");
    assert_has(o.err, "tile in single precision: ok"); /* at any order */
    RUN(&o, NULL, "solve", "a.mtx", "--seed", "3");
    assert_code(&o, 1);
    assert_has(o.err, "array files");
}

/* Where there is no GPU, cuda is an error that says so, and auto is the processor. */
static void without_device(void **state) {
    (void)state;
    write_text("a.mtx", SYMMETRIC);
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    RUN(&o, NULL, "solve", "a.mtx", "--dense", "tile", "--device", "cuda", "--json");
    assert_code(&o, 7);
    assert_true(strlen(o.err) > 20);
    assert_has(o.out, "\"status\": \"device\"");
    RUN(&o, NULL, "solve", "a.mtx", "--dense", "tile", "--device", "auto");
    assert_code(&o, 0);
    assert_has(o.err, "cpu-");
    RUN(&o, NULL, "bench", "dense", "--sizes", "40", "--methods", "tile", "--device", "cuda");
    assert_code(&o, 7);
    RUN(&o, NULL, "bench", "dense", "--sizes", "40", "--methods", "tile", "--device", "auto",
        "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"engine\": \"cpu-");
    RUN(&o, NULL, "bench", "batch", "--device", "cuda");
    assert_code(&o, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* A name of any bytes in an object of JSON. */
static void strange_names(void **state) {
    (void)state;
    static const char *const commands[] = {"solve", "info", "stats"};
    write_text("d\xff\"\x02\xc3\xa4.mtx", SYMMETRIC);
    for (int k = 0; k < 3; k++) {
        RUN(&o, NULL, commands[k], "d\xff\"\x02\xc3\xa4.mtx", "--json");
        assert_code(&o, 0);
        assert_true(json_valid(o.out));
        if (k != 1) assert_non_null(strstr(o.out, "\"d\\ufffd\\\"\\u0002\xc3\xa4.mtx\""));
    }
}

static void wrong_use(void **state) {
    (void)state;
    write_text("a.mtx", SYMMETRIC);
    RUN(&o, NULL, "solve", "a.mtx", "--dense", "lu");
    assert_code(&o, 1);
    assert_has(o.err, "no method 'lu'");
    RUN(&o, NULL, "solve", "nowhere.mtx", "--dense", "auto", "--json");
    assert_code(&o, 2);
    assert_has(o.out, "\"status\"");
    RUN(&o, NULL, "bench");
    assert_code(&o, 1);
    RUN(&o, NULL, "bench", "dense", "--sizes", "x");
    assert_code(&o, 1);
    RUN(&o, NULL, "bench", "dense", "--methods", "lu");
    assert_code(&o, 1);
    RUN(&o, NULL, "bench", "dense", "--type", "q");
    assert_code(&o, 1);
}

static void bench(void **state) {
    (void)state;
    RUN(&o, NULL, "bench", "dense", "--sizes", "40,60", "--type", "z");
    assert_code(&o, 0);
    assert_has(o.out, "bunch-kaufman       60");
    assert_null(strstr(o.out, "NOT GOOD"));
    RUN(&o, NULL, "bench", "dense", "--sizes", "40", "--methods", "tile", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"gflops\":");
}

static void bench_batch(void **state) {
    (void)state;
    RUN(&o, NULL, "bench", "batch", "--sizes", "3,16", "--type", "z", "--methods",
        "llt,ldlt/rook,ldu/partial");
    assert_code(&o, 0);
    assert_has(o.out, "ldlt/rook           16");
    assert_null(strstr(o.out, "NOT GOOD"));
    RUN(&o, NULL, "bench", "batch", "--sizes", "8", "--methods", "ldlt", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"count\": 100000");
    RUN(&o, NULL, "bench", "batch", "--sizes", "8,65", "--json");
    assert_code(&o, 1); /* both lists are read before anything is measured */
    assert_int_equal(o.out[0], '{');
    assert_null(strstr(o.out, "gflops"));
    RUN(&o, NULL, "bench", "batch", "--methods", "ldlt/static");
    assert_code(&o, 1);
    assert_has(o.err, "ldlt/static");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(solves_an_array, empty_folder),
        cmocka_unit_test_teardown(every_method, empty_folder),
        cmocka_unit_test_teardown(singular, empty_folder),
        cmocka_unit_test_teardown(singular_and_inconsistent, empty_folder),
        cmocka_unit_test_teardown(idle_options, empty_folder),
        cmocka_unit_test_teardown(without_device, empty_folder),
        cmocka_unit_test_teardown(wrong_use, empty_folder),
        cmocka_unit_test_teardown(strange_names, empty_folder),
        cmocka_unit_test_teardown(bench, empty_folder),
        cmocka_unit_test_teardown(bench_batch, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
