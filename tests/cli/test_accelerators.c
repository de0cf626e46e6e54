/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve --backend, accelerators and synthesize, as a shell runs them. */
#include "support.h"

static outcome o;

static bool simulated(void) { /* is this command built with simulators? */
    RUN(&o, NULL, "accelerators", "ldlt");
    return !strstr(o.err, "built without simulators");
}

/* The checked answer, then what the machine did. */
static void backends(void **state) {
    (void)state;
    static const char *const names[] = {"cpu", "systolic:8x9", "systolic:8x8", "pipe"};
    if (!simulated()) skip();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", names[k]);
        assert_code(&o, 0);
        assert_has(o.err, "good: accurate to rounding");
        assert_has(o.err, k ? "--schedule subsets" : "--schedule atomic");
        assert_has(o.err, "\nBackend ");
        assert_has(o.err, "factorize");
        assert_has(o.err, "\nBoundaries ");
        if (k) assert_has(o.err, "utilisation");
    }
    RUN(&o, NULL, "solve", "--generate", "optimal-control 12", "--backend", "systolic:8x9",
        "--pivot-threshold", "0.3", "--trace", "t.svg");
    assert_code(&o, 0);
    assert_has(o.err, "stages");
    assert_null(strstr(o.err, " 0 butterflies"));
    static char text[1 << 16];
    read_text("t.svg", text, sizeof text);
    assert_has(text, "F factorize");
    assert_has(text, "push back");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", "cpu", "-q", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "cpu, by the accelerator interface");
    assert_has(o.out, "\n  \"machine\": { \"uploads\": ");
    assert_null(strstr(o.out, "\"cycles\""));
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", "systolic:8x9", "-q", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"factorize\": { \"batches\": ");
    assert_has(o.out, "\"cycles\": ");
    assert_has(o.out, "\"utilisation\": 0.");
    assert_has(o.out, " }\n}\n");
}

#ifdef METAPACK_CUDA_HOST
/* A GPU behind the interface, whose kernels run on the host: it solves, but for blocks in a form. */
static void gpu(void **state) {
    (void)state;
    static const char *const names[] = {"cuda-interface", "cuda-interface:0",
                                        "cuda-interface:0:compressed", "cuda-interface:0:bf16"};
    setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        RUN(&o, NULL, "solve", "--generate", "nlpkkt 2", "--backend", names[k], "--json");
        assert_code(&o, 0);
        assert_has(o.err, "good: accurate to rounding");
        assert_int_equal(strstr(o.err, "\nSolves ") != NULL, k < 2);
        assert_has(o.out, "\"solves\": ");
        assert_int_equal(strstr(o.out, "\"solves\": 0,") != NULL, k >= 2);
    }
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 2", "--backend", "cuda-interface:0:half");
    assert_code(&o, 1);
    assert_has(o.err, "dense, compressed, single or bf16");
    RUN(&o, NULL, "solve", "--generate", "random 40 0.1 0.3 hermitian", "--backend",
        "cuda-interface", "--drop-tolerance", "1e-3");
    assert_has(o.err, "\nSolves ");
    unsetenv("METAPACK_CUDA_MODULE");
}
#endif

static void bad_backends(void **state) {
    (void)state;
    static const struct {
        const char *name, *words;
    } cases[] = {{"tpu", "expected cpu, cuda, cuda-interface, systolic:ROWSxCOLUMNS, pipe or"},
                 {"systolic", "expected systolic:ROWSxCOLUMNS"},
                 {"systolic:4", "expected systolic:ROWSxCOLUMNS"},
                 {"systolic:0x4", "1 x 1 to 1024 x 1024"},
                 {"cuda:x", "expected cuda or cuda:NUMBER"},
                 {"cuda-interface:x", "expected cuda-interface, cuda-interface:NUMBER or"},
                 {"cpu:half", "dense, compressed, single or bf16"}};
    if (!simulated()) skip();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", cases[k].name);
        assert_code(&o, 1);
        assert_has(o.err, cases[k].words);
    }
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", "pipe:nothing.cl");
    assert_code(&o, 2);
    assert_has(o.err, "nothing.cl: No such file");
    write_text("k.cl",
               "__kernel void factorize(__global double **block, __global int *trouble)\n"
               "{\n    for (int k = 0; k < trouble[0]; ++k)\n        block[0][k] = 0;\n}\n");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", "pipe:k.cl");
    assert_code(&o, 1);
    assert_has(o.err, "k.cl:3:");
    assert_has(o.err, "no pipeline: a loop whose turns are not known");
    assert_has(o.err, "^");
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 3", "--backend", "systolic:8x8", "--block", "16");
    assert_has(o.err, "takes blocks of at most 8 rows");
    assert_has(o.err, "block 8 would do");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", "cpu", "--method", "ldlt");
    assert_has(o.err, "does not have method ldlt");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--backend", "cpu", "--dense", "tile");
    assert_code(&o, 1);
    assert_has(o.err, "not read by --dense tile");
}

static void models(void **state) {
    (void)state;
    static char text[1 << 18];
    if (!simulated()) skip();
    RUN(&o, NULL, "accelerators", "trsv", "-n", "4", "--jobs", "1e6", "--plot", "p.svg", "--draw",
        "d.svg");
    assert_code(&o, 0);
    assert_has(o.out, "20 cells, 8 beats of 31 cycles");
    assert_has(o.out, "1000000 ");
    assert_has(o.out, "pipeline before gpu");
    read_text("p.svg", text, sizeof text);
    assert_has(text, ">pipeline</text>");
    read_text("d.svg", text, sizeof text);
    assert_has(text, "the last link in cycle 7");
    RUN(&o, NULL, "accelerators", METAPACK_DATA "/../src/kernels/cl/gemm.cl", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "\"pipeline\": {\"cycles\": ");
    RUN(&o, NULL, "accelerators", METAPACK_DATA "/../src/kernels/cl/ldlt_partial.cl");
    assert_code(&o, 1);
    assert_has(o.err, "a shuffle by an index that is known at run time alone");
    RUN(&o, NULL, "accelerators");
    assert_code(&o, 1);
    RUN(&o, NULL, "accelerators", "ldlt", "-n", "65");
    assert_code(&o, 1);
    assert_has(o.err, "from 1 to 64");
    RUN(&o, NULL, "accelerators", "nothing");
    assert_code(&o, 2);
    RUN(&o, NULL, "accelerators", "ldlt", "--plot", "/nowhere/p.svg");
    assert_code(&o, 2);
    write_text("u.def", "UNIT(add_f64, 1, 1, 1, 1, 1)\nUNIT(mul_f64, 1, 1, 1, 1, 1)\n");
    RUN(&o, NULL, "accelerators", "gemm", "--units", "u.def");
    assert_code(&o, 0);
    assert_has(o.out, "beats of 2 cycles");
    write_text("c.cells", "program c\nmesh n, n\ninput A[n][n]\nload a = A[i][j]\ncell 1 == 1\n"
                          "  take left s\n");
    RUN(&o, NULL, "accelerators", "gemm", "--cells", "c.cells");
    assert_code(&o, 1);
    assert_has(o.err, "c.cells:6:");
    assert_has(o.err, "waits here for ever");
}

static void synthesized(void **state) {
    (void)state;
    struct stat s;
    if (!simulated()) skip();
    RUN(&o, NULL, "synthesize", "--block", "4", "-o", "mine");
    assert_code(&o, 0);
    assert_int_equal(stat("mine/kernels.c", &s), 0);
    RUN(&o, NULL, "synthesize", "--block", "4", "-o", "mine");
    assert_code(&o, 2);
    assert_has(o.err, "File exists");
    assert_int_equal(system("rm -r mine"), 0);
    RUN(&o, NULL, "synthesize", "--type", "qr", "-o", "mine");
    assert_code(&o, 1);
    assert_has(o.err, "--type qr: expected ldlt, llt or ldu");
    RUN(&o, NULL, "synthesize", "--ordering", "rcm", "--matching", "off", "--butterfly", "off",
        "--krylov", "gmres", "--pivoting", "inner", "--block", "2", "-o", "mine");
    assert_code(&o, 0);
    assert_int_equal(system("grep -q 'KRYLOV 2' mine/solver.h && rm -r mine"), 0);
    RUN(&o, NULL, "synthesize", "--block", "x", "-o", "mine");
    assert_code(&o, 1);
    RUN(&o, NULL, "synthesize");
    assert_code(&o, 1);
    assert_has(o.err, "-o DIR");
    assert_int_not_equal(stat("mine", &s), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(backends, empty_folder),
#ifdef METAPACK_CUDA_HOST
                                       cmocka_unit_test_teardown(gpu, empty_folder),
#endif
                                       cmocka_unit_test_teardown(bad_backends, empty_folder),
                                       cmocka_unit_test_teardown(models, empty_folder),
                                       cmocka_unit_test_teardown(synthesized, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
