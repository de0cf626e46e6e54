/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve: systems whose solutions are known, outcomes as exit codes. */
#include "support.h"

static outcome o;

/* The numbers of a Matrix Market array, for files that the command wrote. */
static int read_array(const char *path, double *values, int most) {
    static char text[1 << 16];
    read_text(path, text, sizeof text);
    assert_int_equal(strncmp(text, "%%MatrixMarket matrix array", 27), 0);
    char *line = strchr(text, '\n') + 1;
    while (*line == '%') line = strchr(line, '\n') + 1;
    int rows, columns, count = 0;
    assert_int_equal(sscanf(line, "%d %d", &rows, &columns), 2);
    for (char *p = strchr(line, '\n'); count < most;) {
        char *end;
        double x = strtod(p, &end);
        if (end == p) break;
        values[count++] = x;
        p = end;
    }
    return count;
}

static double number_of(const char *json, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *p = strstr(json, quoted);
    if (!p) fail_msg("no %s in %s", key, json);
    return strtod(p + strlen(quoted), NULL);
}

/* The KKT system of the README, its answer by hand. */
static void kkt_system(void **state) {
    (void)state;
    double x[8];
    char keys[2048];
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", TINY "kkt_b.mtx", "-o", "x.mtx", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    json_keys(o.out, keys, sizeof keys);
    assert_string_equal(keys, ALL_KEYS);
    assert_has(o.out, "\"status\": \"ok\"");
    assert_true(number_of(o.out, "componentwise") <= 1e-14);
    assert_true(number_of(o.out, "n") == 5 && number_of(o.out, "negative") == 2);
    assert_has(o.err, "3 positive, 2 negative, 0 zero; not examined");
    assert_has(o.err, "Result        good");
    assert_int_equal(read_array("x.mtx", x, 8), 5);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", TINY "kkt_b.mtx", "-o", "-", "-q");
    assert_code(&o, 0);
    assert_int_equal(strncmp(o.out, "%%MatrixMarket", 14), 0);
    assert_string_equal(o.err, "");
    assert_files(1);
}

/* Without B the right-hand side is A times ones, so X is ones. */
static void ones(void **state) {
    (void)state;
    double x[16];
    static const char *const names[] = {"kkt.mtx",   "kkt.rb",      "swap.mtx",
                                        "array.mtx", "general.mtx", "tiny_pivot.mtx"};
    for (int k = 0; k < 6; k++) {
        char path[512];
        snprintf(path, sizeof path, TINY "%s", names[k]);
        RUN(&o, NULL, "solve", path, "-o", "x.mtx", "-q");
        assert_code(&o, 0);
        int n = read_array("x.mtx", x, 16);
        assert_true(n >= 2);
        for (int i = 0; i < n; i++) assert_true(fabs(x[i] - 1) < 1e-12);
    }
}

/* An incomplete LLT that breaks down is repaired, and both reports say with how much. */
static void breakdowns(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", METAPACK_DATA "/definite/bcsstk03.mtx.xz", "--method", "ildlt",
        "--factor-type", "llt", "--level", "0", "--block", "1", "--krylov", "cg", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.err, "of its diagonal added");
    const char *blocks = strstr(o.out, "\"blocks\"");
    assert_true(number_of(blocks, "breakdowns") >= 1);
    assert_true(number_of(blocks, "diagonal_shift") >= 1e-3);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--method", "ildlt", "--factor-type", "llt", "--krylov",
        "cg");
    assert_code(&o, 5);
    assert_has(o.err, "row 4: its diagonal entry is not positive");
}

static void complex_systems(void **state) {
    (void)state;
    double x[16];
    RUN(&o, NULL, "solve", TINY "hermitian.mtx", "-o", "x.mtx", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"symmetry\": \"hermitian\"");
    int n = read_array("x.mtx", x, 16);
    for (int i = 0; i < n; i++) assert_true(fabs(x[i] - (i % 2 == 0)) < 1e-12);
    RUN(&o, NULL, "solve", TINY "complex_symmetric.mtx", "--json");
    assert_code(&o, 0);
    assert_has(o.err, "without meaning");
}

static void standard_input_and_compressed(void **state) {
    (void)state;
    static char text[1 << 14];
    read_text(TINY "kkt.mtx", text, sizeof text);
    RUN(&o, text, "solve", "-", "-b", TINY "kkt_b.mtx", "--json", "-q");
    assert_code(&o, 0);
    assert_has(o.out, "\"n\": 5");
    read_text(TINY "kkt_b.mtx", text, sizeof text);
    RUN(&o, text, "solve", TINY "kkt.mtx", "-b", "-", "--json", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "convert", TINY "kkt.mtx", "kkt.mtx.gz", "-q");
    assert_code(&o, 0);
    read_text("kkt.mtx.gz", text, sizeof text);
    assert_memory_equal(text, "\x1f\x8b", 2);
    RUN(&o, NULL, "inertia", "kkt.mtx.gz", "--json", "-q");
    assert_code(&o, 0);
    assert_true(number_of(o.out, "positive") == 3);
    RUN(&o, NULL, "solve", METAPACK_DATA "/acopf/case14_ieee_it13.mtx.xz", "-b",
        METAPACK_DATA "/acopf/case14_ieee_it13_b.mtx.xz", "--json", "-q");
    assert_code(&o, 0);
    assert_true(number_of(o.out, "componentwise") <= 1e-14);
}

/* Known, but not solvable in the plain sense: exit code 3, with what is known. */
static void singular(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", TINY "singular.mtx", "--json", "-o", "x.mtx");
    assert_code(&o, 3);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"singular\"");
    assert_true(number_of(o.out, "zero") >= 1);
    assert_has(o.err, "SINGULAR");
    assert_has(o.err, "is consistent"); /* A times ones */
    assert_int_equal(access("x.mtx", F_OK), 0);
    RUN(&o, NULL, "inertia", TINY "zero.mtx", "--json", "-q");
    assert_code(&o, 3);
    assert_true(number_of(o.out, "zero") == 2);
    write_text("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    RUN(&o, NULL, "solve", TINY "zero.mtx", "-b", "b.mtx");
    assert_code(&o, 3);
    assert_has(o.err, "not consistent");
}

static void accuracy_not_reached(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--generate", "helmholtz 2d 20", "--accuracy", "0", "--refine", "0",
        "--json");
    assert_code(&o, 5);
    assert_has(o.out, "\"status\": \"inaccurate\"");
    assert_has(o.err, "ACCURACY NOT REACHED");
    assert_has(o.err, "There was no refinement (--refine 0)."); /* and nothing else is advised */
    assert_null(strstr(o.err, "may help"));
    RUN(&o, NULL, "solve", "--generate", "helmholtz 2d 20", "--accuracy", "0", "--refine", "0",
        "-q");
    assert_code(&o, 5); /* -q hides the report, not why */
    assert_has(o.err, "metapack solve: ");
    assert_null(strstr(o.err, "Matrix"));
}

/* metapack inertia: positive, negative, zero, for scripts. */
static void inertia(void **state) {
    (void)state;
    RUN(&o, NULL, "inertia", TINY "kkt.mtx", "-q");
    assert_code(&o, 0);
    assert_string_equal(o.out, "3 2 0\n");
    assert_string_equal(o.err, "");
    RUN(&o, NULL, "inertia", TINY "zero.mtx", "-q");
    assert_code(&o, 3);
    assert_string_equal(o.out, "0 0 2\n");
    assert_has(o.err, "metapack inertia: ");
    assert_true(strchr(o.err, '\n') == o.err + strlen(o.err) - 1); /* one line */
    RUN(&o, NULL, "inertia", "--generate", "helmholtz 2d 8 boundary=absorbing k=0.3", "-q");
    assert_string_equal(o.out, ""); /* complex symmetric: there is none */
    RUN(&o, NULL, "inertia", TINY "kkt.mtx", "--json", "-q");
    assert_true(json_valid(o.out)); /* alone on standard output */
}

/* An iterative method with the factor as preconditioner; exit code 4 where it does not converge,
 * and the best iterate is written. */
static void krylov_methods(void **state) {
    (void)state;
    static const char *const methods[] = {"sqmr",   "minres",   "symmlq", "gmres",
                                          "fgmres", "bicgstab", "idr"};
    double x[8];
    for (int k = 0; k < 7; k++) {
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", TINY "kkt_b.mtx", "--json", "--method", "ldlt",
            "--krylov", methods[k], "--tolerance", "1e-10");
        assert_code(&o, 0);
        assert_true(json_valid(o.out));
        assert_has(o.out, methods[k]);
        assert_true(number_of(o.out, "residual") <= 1e-10);
        assert_true(number_of(o.out, "products") >= 1);
        assert_has(o.out, "\"history\": [");
    }
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", TINY "kkt_b.mtx", "-o", "x.mtx", "--json",
        "--method", "ldlt", "--krylov", "sqmr", "--max-iterations", "0");
    assert_code(&o, 4);
    assert_has(o.out, "\"status\": \"not_converged\"");
    assert_has(o.err, "NOT CONVERGED: sqmr: 0 iterations were not enough");
    assert_has(o.err, "asked: an answer accurate to rounding"); /* once, and the same */
    assert_has(o.err, "an answer accurate to rounding was asked for; --max-iterations allows more");
    assert_int_equal(read_array("x.mtx", x, 8), 5);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--method", "ldlt", "--krylov", "gmres", "--plot",
        "g.svg", "-q");
    assert_code(&o, 0);
    static char svg[1 << 18];
    read_text("g.svg", svg, sizeof svg);
    assert_has(svg, "<polyline");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--method", "ildlt", "--plot", "i.svg", "-q");
    assert_code(&o, 0);
    read_text("i.svg", svg, sizeof svg);
    assert_has(svg, "Relative residual, SQMR");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--krylov", "qmr");
    assert_code(&o, 1);
    assert_has(o.err, "sqmr | minres");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--no-direct");
    assert_code(&o, 0);
    assert_has(o.err, "by SQMR");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--no-direct=yes");
    assert_code(&o, 1);
    assert_has(o.err, "--no-direct takes no value");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--tolerance", "2");
    assert_code(&o, 1);
}

/* The README's example of MINRES, smaller: it converges, in a tenth of the memory that the direct
 * solver takes. */
static void minres_where_factors_are_dear(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--generate", "helmholtz 3d 24 0.3", "--method", "none", "--krylov",
        "minres", "--tolerance", "1e-8", "--json");
    assert_code(&o, 0);
    assert_true(number_of(o.out, "relative_residual") <= 1e-8);
    assert_true(number_of(o.out, "iterations") < 400);
    const double iterative = number_of(o.out, "peak_bytes");
    RUN(&o, NULL, "solve", "--generate", "helmholtz 3d 24 0.3", "--method", "ldlt", "--json");
    assert_code(&o, 0);
    assert_true(10 * iterative < number_of(o.out, "peak_bytes"));
}

static void memory_is_predicted(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--generate", "helmholtz 2d 60", "--memory-limit", "20k", "-o", "x.mtx",
        "--json");
    assert_code(&o, 6);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"memory\"");
    assert_files(0);
}

static void perturbed_as_asked(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", METAPACK_DATA "/acopf/case14_ieee_it13.mtx.xz", "--static-shift", "1e-8",
        "--matching", "off", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"status\": \"perturbed\"");
    assert_has(o.out, "\"certified\": false");
    assert_has(o.err, "as asked");
}

/* Exactly singular, and no pivot shows it: what is wrong is said, also where x was written. */
static void singular_without_zero_pivot(void **state) {
    (void)state;
    static const int d[] = {3, 3, -3, 1, -1, 1, 3, -1, -3, -2, 2, -2, -2, 2, -1, 0, 3, 2};
    enum { W = 6, C = 3, ORDER = sizeof d / sizeof *d };
    FILE *a = fopen("lately.mtx", "w"), *b = fopen("lately_b.mtx", "w");
    int count = 0;
    for (int j = 0; j < ORDER; j++) count += ORDER - j < W + 1 ? ORDER - j : W + 1;
    fprintf(a, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", ORDER, ORDER,
            count);
    fprintf(b, "%%%%MatrixMarket matrix array real general\n%d 1\n", ORDER);
    for (int j = 0; j < ORDER; j++) {
        fprintf(b, "%d\n", 1 + j * 7 % 5);
        for (int i = j; i < ORDER && i <= j + W; i++) {
            int sum = 0;
            for (int k = i > W ? i - W : 0; k <= j; k++)
                sum += d[k] * (k == i ? 1 : -C) * (k == j ? 1 : -C);
            fprintf(a, "%d %d %d\n", i + 1, j + 1, sum);
        }
    }
    fclose(a), fclose(b);
    RUN(&o, NULL, "solve", "lately.mtx", "-b", "lately_b.mtx", "-o", "x.mtx", "--json");
    if (o.code != 3 && o.code != 5) fail_msg("exit %d: %s", o.code, o.err);
    if (o.code == 5) assert_has(o.out, "A is singular to working precision, or nearly so");
    RUN(&o, NULL, "inertia", "lately.mtx", "--json");
    assert_has(o.out, "\"certified\": false, \"examined\": true");
}

static void orders(void **state) {
    (void)state;
    static const char *const names[] = {"amd", "metis", "scotch", "rcm", "natural"};
    double flops[5];
    for (int k = 0; k < 5; k++) {
        char said[64];
        RUN(&o, NULL, "solve", "--generate", "helmholtz 2d 24", "--ordering", names[k], "--json",
            "-q");
        if (o.code == 1) { /* this build was made without it, and says so */
            assert_has(o.out, "unsupported");
            continue;
        }
        assert_code(&o, 0);
        snprintf(said, sizeof said, "\"ordering\": \"%s\"", names[k]);
        assert_has(o.out, said);
        flops[k] = number_of(o.out, "flops");
    }
    assert_true(flops[0] < flops[4]); /* minimum degree beats the order of a band */
    write_text("p", "5 4 3 2 1");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--ordering", "given", "--given-perm", "p", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"ordering\": \"given\"");
    write_text("p", "5 4 3 2 2");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--ordering", "given", "--given-perm", "p");
    assert_code(&o, 2);
    assert_has(o.err, "there twice");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--ordering", "given", "--given-perm", "none");
    assert_code(&o, 2);
}

static void plot(void **state) {
    (void)state;
    static char svg[1 << 17];
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 5", "--plot", "p.svg", "-q");
    assert_code(&o, 0);
    read_text("p.svg", svg, sizeof svg);
    assert_has(svg, "factorize");
    assert_has(svg, "</svg>");
    RUN(&o, NULL, "analyse", "--generate", "nlpkkt 5", "--plot", "p.svg", "--json");
    assert_code(&o, 0);
    RUN(&o, NULL, "info", "--generate", "nlpkkt 5", "--plot", "p.svg");
    assert_code(&o, 0);
    RUN(&o, NULL, "info", "--generate", "nlpkkt 5", "--plot", "none/p.svg", "--json");
    assert_code(&o, 2);
    assert_has(o.out, "none");
    assert_files(1);
}

/* --trace: a picture or JSON of executor and inspector; the answer is the same with and without. */
/* Blocks and pivots of the user's own, and their errors. */
static void given_blocks(void **state) {
    (void)state;
#define GIVEN                                                                                      \
    "solve", "--generate", "nlpkkt 2", "--method", "ildlt", "--level", "-1", "--ordering", "natural"
    write_text("b", "1\n9\n20\n");
    write_text("p", "0 1 2 4 6 7\n8\n");
    RUN(&o, NULL, GIVEN, "--given-blocks", "b", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"block_rows\": 3,");
    RUN(&o, NULL, GIVEN, "--given-pivots", "p");
    assert_code(&o, 1); /* the pivot from 8 on has more than two rows */
    assert_has(o.err, "given_pivots");
    RUN(&o, NULL, GIVEN, "--given-blocks", "none");
    assert_code(&o, 2);
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 2", "--ordering", "natural", "--method", "ldlt",
        "--given-blocks", "b");
    assert_code(&o, 1);
    assert_has(o.err, "is for methods");
}

static void trace(void **state) {
    (void)state;
#define STAGES                                                                                     \
    "solve", "--generate", "nlpkkt 6", "--method", "ildlt", "--matching", "off", "--stages", "0",  \
        "--pivoting", "none", "--pivot-threshold", "0.5", "--block", "4", "--threads", "2", "-q"
    RUN(&o, NULL, STAGES, "-o", "x.mtx");
    RUN(&o, NULL, STAGES, "-o", "y.mtx", "--trace", "t.json");
    assert_code(&o, 0);
    RUN(&o, NULL, STAGES, "-o", "z.mtx", "--trace", "t.svg");
    assert_code(&o, 0);
    static char x[1 << 17], other[1 << 20];
    read_text("x.mtx", x, sizeof x);
    read_text("y.mtx", other, sizeof other);
    assert_string_equal(x, other);
    read_text("z.mtx", other, sizeof other);
    assert_string_equal(x, other);
    read_text("t.json", other, sizeof other);
    static const char *const spans[] = {"block",     "fill and index", "level sets", "I pivots",
                                        "II solve",  "III store",      "lists",      "solve",
                                        "push back", "dense pivot"};
    assert_true(json_valid(other));
    for (size_t k = 0; k < sizeof spans / sizeof *spans; k++) {
        char name[40];
        snprintf(name, sizeof name, "\"name\": \"%s\"", spans[k]);
        assert_has(other, name);
    }
    read_text("t.svg", other, sizeof other);
    assert_memory_equal(other, "<svg", 4);
    static const char *const legend[] = {"What was done when", "factorization, ",
                                         "iterations, ",       "order and blocks, ",
                                         "errors measured, ",  "executor and inspector",
                                         "I pivots, ",         "push back, ",
                                         "dense pivot, ",      "</svg>"};
    for (size_t k = 0; k < sizeof legend / sizeof *legend; k++) assert_has(other, legend[k]);
    assert_null(strstr(other, "other steps")); /* all of it is in the legend by name */
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--trace", "none/t.json");
    assert_code(&o, 2);
    assert_has(o.err, "none/t.json");
    RUN(&o, NULL, "inertia", TINY "kkt.mtx", "--trace", "d.json");
    assert_code(&o, 1); /* an empty one is no use */
    assert_has(o.err, "the direct solver has nothing for it; a plot has the times");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--method", "none", "--trace", "d.svg");
    assert_code(&o, 1);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--dense", "rook", "--trace", "d.json");
    assert_code(&o, 1);
    assert_has(o.err, "option --trace is not read by --dense rook");
}

/* A device that is not there is said to be missing; nothing goes on without it in silence. */
static void no_device(void **state) {
    (void)state;
    setenv("METAPACK_CUDA_MODULE", "no-module.so", 1);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--device", "cuda");
    assert_code(&o, 7);
    assert_string_equal(o.out, "");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--device", "auto", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"backend\": \"cpu-");
    RUN(&o, NULL, "inertia", TINY "kkt.mtx", "--device=cuda:0");
    assert_code(&o, 7);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--device", "cuda:x");
    assert_code(&o, 1);
    assert_has(o.err, "device_number");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--device", "gpu");
    assert_code(&o, 1);
    assert_has(o.err, "expected cpu | cuda | auto");
    unsetenv("METAPACK_CUDA_MODULE");
}

static void other_commands(void **state) {
    (void)state;
    char keys[2048];
    RUN(&o, NULL, "analyse", TINY "kkt.mtx", "--json");
    assert_code(&o, 0);
    json_keys(o.out, keys, sizeof keys);
    assert_string_equal(keys,
                        "schema version n nnz scalar symmetry method ordering ordered_for status "
                        "time_s{read analyse} factor{nnz flops bytes peak_bytes} "
                        "options{method ordering matching scaling pivot_threshold "
                        "zero_tolerance static_shift threads "
                        "model_threads accuracy deterministic seed memory_limit krylov "
                        "precision symmetry_tolerance device updates}}");
    RUN(&o, NULL, "info", TINY "kkt.mtx", "--json");
    assert_code(&o, 0);
    json_keys(o.out, keys, sizeof keys);
    assert_string_equal(keys, "schema version n nnz scalar symmetry status time_s{read}}");
    assert_has(o.err, "Diagonal");
    static const char *const verbs[] = {"analyse", "info", "stats"};
    for (int k = 0; k < 3; k++) { /* a result goes to standard output */
        RUN(&o, NULL, verbs[k], TINY "kkt.mtx");
        assert_code(&o, 0);
        assert_has(o.out, "n = 5");
        assert_string_equal(o.err, "");
    }
    RUN(&o, NULL, "generate", "nlpkkt", "3", "-o", "a.mtx", "--json");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_true(number_of(o.out, "n") == 2 * 27 + 6 * 9);
    RUN(&o, NULL, "generate", "nlpkkt", "3", "-q");
    assert_code(&o, 0);
    static char text[1 << 16];
    read_text("a.mtx", text, sizeof text);
    assert_string_equal(text, o.out);
    RUN(&o, NULL, "convert", "a.mtx", "a.rb", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "convert", "a.rb", "-", "-q");
    assert_code(&o, 0);
    assert_string_equal(text, o.out); /* there and back without a changed bit */
    RUN(&o, NULL, "convert", "--generate", "nlpkkt 3", "-o", "b.mtx", "-q");
    assert_code(&o, 0);
    read_text("b.mtx", o.out, sizeof o.out);
    assert_string_equal(text, o.out);
    assert_files(3);
}

static void threads_do_not_change_the_answer(void **state) {
    (void)state;
    static char one[1 << 16];
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 6", "--threads", "1", "-o", "-", "-q");
    assert_code(&o, 0);
    snprintf(one, sizeof one, "%s", o.out);
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 6", "--threads", "3", "-o", "-", "-q");
    assert_code(&o, 0);
    assert_string_equal(o.out, one);
}

static void progress(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 8", "--progress", "-q");
    assert_code(&o, 0);
    assert_has(o.err, "factorize");
    assert_has(o.err, "100 %");
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 8", "-q"); /* no terminal, nobody asked */
    assert_string_equal(o.err, "");
}

/* Ctrl-C in the middle of the work, and what else stops a process: 128 + its number, no file. */
static void interrupt_by(int number) {
    static const char *const words[] = {"solve",  "--generate", "nlpkkt 40", "--ordering",
                                        "amd",    "--progress", "-o",        "x.mtx",
                                        "--json", NULL};
    static char err[1 << 16];
    pid_t child = start(words, NULL);
    for (int k = 0; k < 20000; k++) {
        usleep(5000);
        if (access("stderr", F_OK)) continue;
        read_text("stderr", err, sizeof err);
        if (strstr(err, "factorize")) break;
    }
    assert_int_equal(kill(child, number), 0);
    finish(child, &o);
    assert_code(&o, 128 + number);
    assert_has(o.err, "interrupted");
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"cancelled\"");
    assert_files(0);
}

static void interrupt(void **state) {
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    signal(SIGHUP, SIG_DFL); /* the test, too, may run under nohup */
    for (int k = 0; k < 3; k++) interrupt_by(numbers[k]);
}

/* The same while it waits for standard input. */
static void interrupt_reading(void **state) {
    (void)state;
    static const char *const words[] = {"info", "pipe", "--json", "--progress", NULL};
    assert_int_equal(mkfifo("pipe", 0600), 0);
    pid_t child = start(words, NULL);
    int fd = open("pipe", O_WRONLY); /* returns once the command waits at the other end */
    assert_true(fd >= 0);
    usleep(50000);
    assert_int_equal(kill(child, SIGINT), 0);
    usleep(200000);
    close(fd); /* only now would reading end by itself */
    finish(child, &o);
    unlink("pipe");
    assert_code(&o, 130);
    assert_has(o.out, "\"status\": \"cancelled\"");
    assert_files(0);
}

/* Has the child slept for a tenth of a second? Then it waits for what does not come. */
static void wait_until_blocked(pid_t child) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)child);
    for (int asleep = 0, turn = 0; asleep < 20 && turn < 4000; turn++) {
        usleep(5000);
        read_text(path, line, sizeof line);
        const char *state = strrchr(line, ')');
        asleep = state && state[2] == 'S' ? asleep + 1 : 0;
    }
}

/* And while it waits for somebody to open a pipe's other end. */
static void interrupt_opening(void **state) {
    (void)state;
    static const char *const words[] = {"info", "pipe", "--json", NULL};
    assert_int_equal(mkfifo("pipe", 0600), 0);
    pid_t child = start(words, NULL);
    wait_until_blocked(child);
    assert_int_equal(kill(child, SIGINT), 0);
    finish(child, &o);
    unlink("pipe");
    assert_code(&o, 130);
    assert_has(o.out, "\"status\": \"cancelled\"");
    assert_files(0);
}

/* solve <(xz -dc A.mtx.xz): what looks at the first bytes must not take them away. */
static void matrix_from_a_pipe(void **state) {
    (void)state;
    static const char *const words[] = {"solve", "pipe", "-q", "--json", NULL};
    static char text[4096];
    read_text(TINY "kkt.mtx", text, sizeof text);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    pid_t child = start(words, NULL);
    int fd = open("pipe", O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    finish(child, &o);
    unlink("pipe");
    assert_code(&o, 0);
    assert_has(o.out, "\"n\": 5");
}

/* Joules, or why there are none; the same object of sparse and of dense systems. */
static void energy(void **state) {
    (void)state;
    static const char *const dense[] = {"off", "tile"};
    for (int k = 0; k < 2; k++) {
        RUN(&o, NULL, "solve", "--generate", "quasi-definite 5", "--device", "cpu", "--dense",
            dense[k], "--energy", "--json");
        assert_code(&o, 0);
        assert_true(json_valid(o.out));
        assert_has(o.out, "\"energy_j\": { \"factorize_cpu\": ");
        assert_has(o.out, "\"factorize_gpu\": null, \"solve_gpu\": null");
        assert_has(o.out, "\"no_gpu\": \"no GPU was asked for\" }");
        assert_has(o.err, "Energy        of the processor");
        assert_has(o.err, "of the GPU not available: no GPU was asked for");
        assert_int_equal(!!strstr(o.out, "\"solve_cpu\": null"),
                         !!strstr(o.err, "of the processor not available: "));
    }
}

/* A path of three, whose kernel is 1: its basis, and the shortest of all that leave the least. */
static void kernel_and_shortest(void **state) {
    (void)state;
    double x[16];
    write_text("path.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 -1\n"
                           "2 2 2\n3 2 -1\n3 3 1\n");
    write_text("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1\n4\n");
    RUN(&o, NULL, "inertia", "path.mtx", "-o", "v.mtx", "-q");
    assert_code(&o, 3);
    assert_string_equal(o.out, "2 0 1\n");
    RUN(&o, NULL, "inertia", "path.mtx", "-o", "v.mtx", "-q", "--json");
    assert_has(o.out, "singular: 1 zero pivots of 3"); /* as without the basis */
    assert_int_equal(read_array("v.mtx", x, 16), 3);
    for (int k = 0; k < 3; k++) assert_true(fabs(fabs(x[k]) - 1 / sqrt(3)) < 1e-15);
    RUN(&o, NULL, "inertia", TINY "kkt.mtx", "-o", "none.mtx", "-q"); /* regular: no column */
    assert_code(&o, 0);
    assert_int_equal(read_array("none.mtx", x, 16), 0);
    RUN(&o, NULL, "solve", "path.mtx", "-b", "b.mtx", "-o", "x.mtx", "--minimum-norm", "-q",
        "--json");
    assert_code(&o, 3);
    assert_has(o.out, "\"consistent\": \"no\"");
    assert_has(o.out, "\"minimum_norm\": true");
    RUN(&o, NULL, "solve", "path.mtx", "-b", "b.mtx", "--minimum-norm");
    assert_has(o.err, "of all x that leave the least of it");
    RUN(&o, NULL, "solve", "path.mtx", "--minimum-norm");
    assert_has(o.err, "x is the shortest of all that solve");
    assert_int_equal(read_array("x.mtx", x, 16), 3);
    assert_true(fabs(x[0] + 4.0 / 3) < 1e-14 && fabs(x[1] + 1.0 / 3) < 1e-14 &&
                fabs(x[2] - 5.0 / 3) < 1e-14);
    RUN(&o, NULL, "solve", "path.mtx", "-b", "b.mtx", "--minimum-norm", "--dense", "on", "-q");
    assert_code(&o, 1);
    RUN(&o, NULL, "solve", "path.mtx", "-b", "b.mtx", "--minimum-norm", "--krylov", "minres", "-q");
    assert_code(&o, 1);
    assert_has(o.err, "not read by --minimum-norm");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", TINY "kkt_b.mtx", "--minimum-norm", "-q");
    assert_code(&o, 0);
    assert_files(5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(kernel_and_shortest, empty_folder),
        cmocka_unit_test_teardown(kkt_system, empty_folder),
        cmocka_unit_test_teardown(energy, empty_folder),
        cmocka_unit_test_teardown(ones, empty_folder),
        cmocka_unit_test_teardown(minres_where_factors_are_dear, empty_folder),
        cmocka_unit_test_teardown(breakdowns, empty_folder),
        cmocka_unit_test_teardown(interrupt_opening, empty_folder),
        cmocka_unit_test_teardown(matrix_from_a_pipe, empty_folder),
        cmocka_unit_test_teardown(complex_systems, empty_folder),
        cmocka_unit_test_teardown(standard_input_and_compressed, empty_folder),
        cmocka_unit_test_teardown(singular, empty_folder),
        cmocka_unit_test_teardown(accuracy_not_reached, empty_folder),
        cmocka_unit_test_teardown(inertia, empty_folder),
        cmocka_unit_test_teardown(krylov_methods, empty_folder),
        cmocka_unit_test_teardown(memory_is_predicted, empty_folder),
        cmocka_unit_test_teardown(perturbed_as_asked, empty_folder),
        cmocka_unit_test_teardown(singular_without_zero_pivot, empty_folder),
        cmocka_unit_test_teardown(orders, empty_folder),
        cmocka_unit_test_teardown(plot, empty_folder),
        cmocka_unit_test_teardown(given_blocks, empty_folder),
        cmocka_unit_test_teardown(trace, empty_folder),
        cmocka_unit_test_teardown(other_commands, empty_folder),
        cmocka_unit_test_teardown(threads_do_not_change_the_answer, empty_folder),
        cmocka_unit_test_teardown(no_device, empty_folder),
        cmocka_unit_test_teardown(progress, empty_folder),
        cmocka_unit_test_teardown(interrupt, empty_folder),
        cmocka_unit_test_teardown(interrupt_reading, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
