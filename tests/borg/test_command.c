/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: exit status, output whole or not at all, round trips of the text form, the
 * interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

/* Run `borgc arguments` in the folder; its exit status. */
static int borgc(const char *arguments) {
    char command[2048];
    snprintf(command, sizeof command, "cd %s && " BORGC " %s", folder, arguments);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *get(const char *name) {
    static char text[1 << 20];
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/borgc-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *const good = "__kernel void twice(__global double *p, int k) {\n"
                                "    long at = get_group_id() * WG_SIZE + get_local_id();\n"
                                "    p[at] = p[at] * 2 + k + OFFSET;\n}\n";

static void test_status(void **state) {
    (void)state;
    put("good.cl", good);
    put("bad.cl", "__kernel void k(__global double *p) { x = 1; }");
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=1 good.cl > out"), 0);
    assert_non_null(strstr(get("out"), "kernel @twice size 4 pack 1"));
    assert_int_equal(borgc("-DWG_SIZE=4 bad.cl > out 2> err"), 1);
    assert_string_equal(get("out"), "");
    assert_non_null(strstr(get("err"), "bad.cl:1:39: error: 'x' is not declared"));
    assert_int_equal(borgc("good.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=0 good.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=4 --emit=nothing good.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=4 --lane-order=up good.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=4 --frob good.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=4 --loops=maybe good.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=1 --emit=c --loops=always good.cl 2> err"), 2);
    assert_non_null(strstr(get("err"), "--loops=always: no loop of 'twice'"));
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=1 --interpret -o x good.cl < /dev/null 2> err"),
                     2);
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=1 --name=other good.cl > out"), 0);
    assert_non_null(strstr(get("out"), "kernel @other size 4"));
    assert_int_equal(borgc("-DWG_SIZE=4 --ir good.cl 2> err"), 2);
    assert_non_null(strstr(get("err"), "-D, WG_SIZE and WG_PACK: for a source"));
    assert_int_equal(borgc("-DWG_SIZE=4 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=4 missing.cl 2> err"), 3);
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=1 good.cl -o no/where 2> err"), 3);
    assert_int_equal(borgc("--help > out"), 0);
    assert_non_null(strstr(get("out"), "--lane-order"));
    assert_int_equal(borgc("--version > out"), 0);
}

static mode_t kind(const char *name) {
    char path[256];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &info) ? 0 : info.st_mode & S_IFMT;
}

static void assert_nothing_left(void) {
    char command[128];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep tmp)\"", folder);
    assert_int_equal(system(command), 0);
}

/* An older output survives a failed run, and no temporary file is left. */
static void test_whole(void **state) {
    (void)state;
    put("bad.cl", "__kernel void k(__global double *p) { x = 1; }");
    put("out.ir", "as it was");
    assert_int_equal(borgc("-DWG_SIZE=4 bad.cl -o out.ir 2> err"), 1);
    assert_string_equal(get("out.ir"), "as it was");
    put("good.cl", good);
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=0 good.cl -o out.ir"), 0);
    assert_non_null(strstr(get("out.ir"), "kernel @twice"));
    assert_nothing_left();
}

/* Pipes, devices and links are written to and stay what they are. */
static void test_not_replaced(void **state) {
    (void)state;
    char path[256], text[4096] = "";
    put("good.cl", good);
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int fd = open(path, O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=0 good.cl -o pipe"), 0);
    assert_int_equal(kind("pipe"), S_IFIFO);
    assert_true(read(fd, text, sizeof text - 1) > 20);
    assert_non_null(strstr(text, "kernel @twice"));
    close(fd);

    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink("behind.ir", path), 0); /* first to nothing, then to a file */
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=0 good.cl -o link"), 0);
        assert_int_equal(kind("link"), S_IFLNK);
        assert_int_equal(kind("behind.ir"), S_IFREG);
        assert_non_null(strstr(get("behind.ir"), "kernel @twice"));
        put("behind.ir", "old");
    }

    /* a copy of /dev/full, which only root can make; nobody else can replace the real one */
    snprintf(path, sizeof path, "%s/full", folder);
    const bool copy = mknod(path, S_IFCHR | 0600, makedev(1, 7)) == 0;
    const int probe = copy ? open(path, O_WRONLY) : -1; /* a file system may have no devices */
    if (probe >= 0) {
        close(probe);
        assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=0 good.cl -o full 2> err"), 3);
        assert_int_equal(kind("full"), S_IFCHR);
        assert_non_null(strstr(get("err"), "cannot write full: No space left on device"));
    } else if (geteuid() != 0) {
        assert_int_equal(borgc("-DWG_SIZE=4 -DOFFSET=0 good.cl -o /dev/full 2> err"), 3);
        assert_non_null(strstr(get("err"), "cannot write /dev/full: No space left on device"));
    }
    assert_nothing_left();
}

/* Where groups come in whole packs alone there is no code for one. */
static void test_whole_packs(void **state) {
    (void)state;
    put("top.cl", "__kernel void k(__global double *p) { p[get_group_id()] += 1; }\n");
    assert_int_equal(borgc("--emit=c -DWG_SIZE=1 -DWG_PACK=4 top.cl > out"), 0);
    assert_non_null(strstr(get("out"), "k_4(g, p_p)"));
    assert_non_null(strstr(get("out"), "k_1(g, p_p)"));
    assert_int_equal(borgc("--emit=c -DWG_SIZE=1 -DWG_PACK=4 --whole-packs top.cl > out"), 0);
    assert_non_null(strstr(get("out"), "k_4(g, p_p)"));
    assert_null(strstr(get("out"), "k_1("));
}

/* WG_PACK=auto: as many groups as fill registers where there is much to do; one where memory
 * counts, where there is no vector machine, or where the source has errors, which are told once. */
static void test_auto_pack(void **state) {
    (void)state;
    put("fill.cl", "__kernel void k(__global double *p) {\n"
                   "    long at = get_group_id() * WG_SIZE + get_local_id();\n"
                   "    p[at] = sqrt(p[at] * p[at] + 1) / (p[at] + 3);\n}\n");
    put("add.cl",
        "__kernel void k(__global double *p, __global double *q) {\n"
        "    long at = get_group_id() * WG_SIZE * 24 + get_local_id();\n"
        "    for (int j = 0; j < 24; ++j) p[at + j * WG_SIZE] += q[at + j * WG_SIZE];\n}\n");
    assert_int_equal(borgc("--emit=avx512 -DWG_SIZE=12 -DWG_PACK=auto add.cl > out"), 0);
    assert_non_null(strstr(get("out"), "k: 12 work-items, 1 groups at a time"));
    assert_int_equal(borgc("--emit=avx512 -DWG_SIZE=1 -DWG_PACK=auto fill.cl > out"), 0);
    assert_non_null(strstr(get("out"), "k: 1 work-items, 8 groups at a time"));
    assert_int_equal(borgc("--emit=avx512 -DWG_SIZE=64 -DWG_PACK=auto fill.cl > out"), 0);
    assert_non_null(strstr(get("out"), "k: 64 work-items, 1 groups at a time"));
    assert_int_equal(borgc("-DWG_SIZE=2 -DWG_PACK=auto fill.cl > out"), 0);
    assert_non_null(strstr(get("out"), "kernel @k size 2 pack 1"));
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=2 -DWG_PACK=auto fill.cl > out"), 0);
    put("bad.cl", "__kernel void k(__global double *p) { x = 1; }");
    assert_int_equal(borgc("--emit=avx512 -DWG_SIZE=4 -DWG_PACK=auto bad.cl > out 2> err"), 1);
    const char *first = strstr(get("err"), "'x' is not declared");
    assert_non_null(first);
    assert_null(strstr(first + 1, "'x' is not declared"));
    assert_int_equal(borgc("-DWG_SIZE=4 -DWG_PACK=often fill.cl 2> err"), 2);
    assert_non_null(strstr(get("err"), "WG_PACK must be 1 to 64 or auto"));
    assert_int_equal(borgc("-DWG_SIZE=4 -DWG_PACK=-1 fill.cl 2> err"), 2);
}

/* What is included lies beside the file that includes it; its errors are shown in its own lines. */
static void test_include(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "mkdir %s/sub", folder);
    assert_int_equal(system(command), 0);
    put("top.cl",
        "#include \"sub/one.h\"\n__kernel void k(__global T *p) { p[0] = twice(p[0]); }\n");
    put("sub/one.h", "#include \"two.h\" // beside one.h\nT twice(T x) { return x + x; }\n");
    put("sub/two.h", "#ifndef T\n#define T double\n#endif\n");
    assert_int_equal(borgc("-DWG_SIZE=2 top.cl > out"), 0);
    assert_non_null(strstr(get("out"), "kernel @k size 2"));
    put("sub/one.h", "#include \"two.h\"\nT twice(T x) { return x + y; }\n");
    assert_int_equal(borgc("-DWG_SIZE=2 top.cl 2> err"), 1);
    assert_non_null(strstr(get("err"), "sub/one.h:2:27: error: 'y' is not declared\n"
                                       "  T twice(T x) { return x + y; }\n"));
    put("sub/one.h", "#ifdef T\n#include \"three.h\" '\n#define $\n#endif\n"
                     "#define T int\nT twice(T x) { return x; }\n"); /* left out: anything goes */
    assert_int_equal(borgc("-DWG_SIZE=2 top.cl > out"), 0);
    put("sub/one.h", "#include \"three.h\"\nint twice(int x) { return x; }\n");
    assert_int_equal(borgc("-DWG_SIZE=2 -DT=int top.cl 2> err"), 1);
    assert_non_null(strstr(get("err"), "sub/one.h:1:10: error: cannot read sub/three.h: No such"));
    put("sub/one.h", "#include \"../sub/one.h\"\n");
    assert_int_equal(borgc("-DWG_SIZE=2 top.cl 2> err"), 1);
    assert_non_null(strstr(get("err"), "include one another too deeply"));
    put("sub/one.h", "#if 1\n");
    assert_int_equal(borgc("-DWG_SIZE=2 top.cl 2> err"), 1);
    assert_non_null(strstr(get("err"), "sub/one.h:1:2: error: this conditional has no #endif"));
    put("sub/one.h", "#endif\n");
    put("top.cl", "#if 1\n#include \"sub/one.h\"\n#endif\n__kernel void k(__global int *p) { }\n");
    assert_int_equal(borgc("-DWG_SIZE=2 top.cl 2> err"), 1);
    assert_non_null(strstr(get("err"), "sub/one.h:1:2: error: there is no #if to this"));
}

static void test_text_form(void **state) {
    (void)state;
    put("good.cl", good);
    assert_int_equal(borgc("-DWG_SIZE=3 -DWG_PACK=4 -DOFFSET=2 good.cl -o one.ir"), 0);
    assert_int_equal(borgc("--ir one.ir -o two.ir && cmp one.ir two.ir"), 0);
    put("wrong.ir", "kernel @k size 4 pack 1 order wi () {\n  %0 = lid wi<f64>\n}\n");
    assert_int_equal(borgc("--ir wrong.ir > out 2> err"), 1);
    assert_non_null(strstr(get("err"), "wrong.ir:2:3: error: after parsing: lid: is i32 WI"));
}

static void test_interpret(void **state) {
    (void)state;
    put("good.cl", good);
    assert_int_equal(
        borgc("-DWG_SIZE=2 -DWG_PACK=2 -DOFFSET=0.5 --interpret good.cl > out <<'end'\n"
              "3   # groups\n6 1 2 3 4 5 6   # p\n10   # k\nend"),
        0);
    assert_string_equal(get("out"),
                        "p 6 0x1.9p+3 0x1.dp+3 0x1.08p+4 0x1.28p+4 0x1.48p+4 0x1.68p+4\n");
    assert_int_equal(borgc("-DWG_SIZE=2 -DOFFSET=0 --interpret good.cl > out 2> err <<'end'\n"
                           "3 5 1 2 3 4 5 10\nend"),
                     1);
    assert_non_null(strstr(get("err"), "p[5] of 5 elements"));
    put("half.cl", "__kernel void k(__global half *h) { h[get_group_id()] *= 2; }\n");
    assert_int_equal(borgc("-DWG_SIZE=1 --interpret half.cl > out <<'end'\n"
                           "3 5 0 -0 0.5 0 -0\nend"),
                     0);
    assert_string_equal(get("out"), "h 5 0x0p+0 -0x0p+0 0x1p+0 0x0p+0 -0x0p+0\n");
}

/* Work-items that share the rows of a matrix; kernels with one for each row refuse that. */
static void test_order(void **state) {
    (void)state;
    assert_int_equal(borgc("-DWG_SIZE=2 -DORDER=3 --interpret " BORG_TESTS "/kernels/rows.cl > out "
                           "<<'end'\n1 9 1 2 3 4 5 6 7 8 9 3 9 3 0 0 0\nend"),
                     0);
    assert_non_null(strstr(get("out"), "sums 3 0x1.8p+4 0x1.bp+4 0x1.2p+5\n"));
    assert_int_equal(borgc("-DWG_SIZE=2 -DORDER=3 " METAPACK_KERNELS "/ldlt.cl > out 2> err"), 1);
    assert_non_null(strstr(get("err"), "real.h:"));
    assert_non_null(strstr(get("err"), "this kernel has a work-item for each row: no ORDER"));
    assert_int_equal(
        borgc("-DWG_SIZE=32 -DORDER=33 " METAPACK_KERNELS "/ldlt_partial.cl > out 2> err"), 1);
    assert_non_null(strstr(get("err"), "a warp's tiles take 32 work-items and orders up to 32"));
    assert_int_equal(
        borgc("-DWG_SIZE=8 -DORDER=8 " METAPACK_KERNELS "/ldlt_complete.cl > out 2> err"), 1);
    assert_non_null(strstr(get("err"), "a warp's tiles take 32 work-items and orders up to 32"));
    for (int n = 8; n <= 17; n += 9) {
        char line[256];
        snprintf(line, sizeof line, "-DWG_SIZE=8 -DORDER=%d %s/ldlt_partial.cl > out 2> err", n,
                 METAPACK_KERNELS);
        assert_int_equal(borgc(line), 1);
        assert_non_null(strstr(get("err"), "two rows in a work-item take orders above WG_SIZE"));
    }
}

/* Parameters that are known, and arrays whose pieces a warp copies. */
static void test_stage(void **state) {
    (void)state;
    put("two.cl", "__kernel void k(__global double *p, int ld, __global int *q, float f) {\n"
                  "    double x = p[get_group_id() * ld + 3];\n"
                  "    p[get_group_id() * ld + 1] = x * f;\n"
                  "    q[get_group_id() * get_local_id()] = 1;\n}\n");
    assert_int_equal(borgc("-DWG_SIZE=2 --set=ld=0x10 two.cl > out"), 0);
    assert_null(strstr(get("out"), "param uni<i32>"));
    assert_non_null(strstr(get("out"), "const uni<i64> 16"));
    const char *const wrong[] = {"--set=ld", "--set=ld=", "--set=ld=2x", "--set=4"};
    for (int k = 0; k < 4; ++k) {
        char line[64];
        snprintf(line, sizeof line, "-DWG_SIZE=2 %s two.cl 2> err", wrong[k]);
        assert_int_equal(borgc(line), 2);
    }
    assert_int_equal(borgc("-DWG_SIZE=2 --set=f=1 two.cl 2> err"), 1);
    assert_non_null(strstr(get("err"), "'k' has no integer parameter to set: f=1"));
    put("four.cl", "__kernel void k(__global long *p, int i, uint u, long l, ulong m) {\n"
                   "    p[get_group_id()] = l + i + (long)(m + u);\n}\n");
    const char *const held[] = {"i=2147483647",         "i=-0x80000000",  "u=0xffffffff",
                                "l=0x7fffffffffffffff", "l=-99999999999", "m=99999999999"};
    for (size_t k = 0; k < sizeof held / sizeof *held; ++k) {
        char line[96];
        snprintf(line, sizeof line, "-DWG_SIZE=2 --set=%s four.cl > out", held[k]);
        assert_int_equal(borgc(line), 0);
    }
    const char *const beyond[] = {"i=2147483648",  "i=99999999999", "i=-2147483649",
                                  "u=0x100000000", "u=-1",          "m=-1"};
    for (size_t k = 0; k < sizeof beyond / sizeof *beyond; ++k) {
        char line[96];
        snprintf(line, sizeof line, "-DWG_SIZE=2 --set=%s four.cl > out 2> err", beyond[k]);
        assert_int_equal(borgc(line), 1);
        assert_non_null(strstr(get("err"), "is an integer that cannot be set to this: "));
        assert_non_null(strstr(get("err"), beyond[k]));
        assert_string_equal(get("out"), "");
    }
    assert_int_equal(borgc("-DWG_SIZE=2 --set=l=99999999999999999999 four.cl 2> err"), 2);
    assert_non_null(strstr(get("err"), "--set needs an integer of 64 bits"));
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=4 --lanes=4 --lane-order=wg -DWG_PACK=3 two.cl "
                           "> out 2> err"),
                     2);
    assert_non_null(strstr(get("err"), "in 4 threads each a warp holds 8: WG_PACK must divide"));
    assert_string_equal(get("out"), "");
    put("large.cl", "__kernel void k(__global double *p) {\n"
                    "    __local volatile double x[200];\n"
                    "    x[get_local_id()] = p[get_group_id()];\n"
                    "    p[get_group_id()] = x[0];\n}\n");
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=2 --lane-order=wg large.cl > out 2> err"), 2);
    assert_non_null(strstr(get("err"), "'k': a block of 32 threads needs 51200 bytes of shared"));
    assert_string_equal(get("out"), "");
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=2 --lane-order=wg --lanes=2 large.cl > out"), 0);
    assert_non_null(strstr(get("out"), "borg-launch: threads=32 groups=16 shared=25600 "));
    assert_int_equal(borgc("--emit=opencl -DWG_SIZE=2 -DWG_PACK=64 large.cl 2> err"), 2);
    const char *const cuda = "--emit=cuda -DWG_SIZE=2 --lane-order=wg --set=ld=4";
    const char *const refused[][2] = {
        {"--stage=q", "'q' cannot be staged: an index that is no constant"},
        {"--stage=p,ld", "no parameter 'ld' that is a pointer"},
        {"--stage=p --set=k=2", "'k' has no integer parameter to set: k=2"},
        {"--stage=p -DWG_PACK=2", "'p' cannot be staged: not in CUDA with a group in each thread"},
        {"--stage=p --lanes=2", "'p' cannot be staged: not in CUDA with a group in each thread"}};
    char line[160];
    for (int k = 0; k < 5; ++k) {
        snprintf(line, sizeof line, "%s %s two.cl > out 2> err", cuda, refused[k][0]);
        assert_int_not_equal(borgc(line), 0);
        assert_non_null(strstr(get("err"), refused[k][1]));
        assert_string_equal(get("out"), "");
    }
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=2 --lane-order=wg --set=ld=2 --stage=p two.cl "
                           "2> err"),
                     2);
    assert_non_null(strstr(get("err"), "two.cl:2:"));
    assert_non_null(strstr(get("err"), "an index outside of the group's piece"));
    assert_int_equal(borgc("--emit=opencl -DWG_SIZE=2 --stage=p two.cl 2> err"), 2);
    put("short.cl", "__kernel void k(__global short *s) { s[get_group_id() * 8] += 1; }\n");
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=1 --stage=s short.cl > out 2> err"), 2);
    assert_non_null(
        strstr(get("err"), "'s' cannot be staged: its elements are char, short or half"));
    assert_string_equal(get("out"), "");
    put("much.cl", "__kernel void k(__global double *p, __global const double *q) {\n"
                   "    p[get_group_id() * 128] = q[get_group_id() * 128];\n}\n");
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=1 --stage=p,q much.cl 2> err"), 2);
    assert_non_null(strstr(get("err"), "'q' cannot be staged: shared memory is short"));
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=1 --stage=p,p much.cl 2> err"), 2);
    assert_non_null(strstr(get("err"), "'p' cannot be staged: it is named twice"));
    assert_int_equal(borgc("--emit=cuda -DWG_SIZE=1 --stage=p much.cl > out"), 0);
    snprintf(line, sizeof line, "%s --stage=p two.cl > out", cuda);
    assert_int_equal(borgc(line), 0);
    assert_non_null(strstr(get("out"), "b_stage_p[384]")); /* 128 pieces, 3 times 16 bytes apart */
}

static void test_dumps(void **state) {
    (void)state;
    put("good.cl", good);
    assert_int_equal(borgc("-DWG_SIZE=2 -DOFFSET=0 --dump=ast good.cl > out 2> err"), 0);
    assert_non_null(strstr(get("err"), "(kernel void twice"));
    assert_int_equal(borgc("-DWG_SIZE=2 -DOFFSET=0 --dump=infreg good.cl > out 2> err"), 0);
    assert_non_null(strstr(get("err"), "metadata {ix, wi, wg} <{{0,0,0}, {0,1,0}}>"));
    assert_int_equal(borgc("-DWG_SIZE=2 -DOFFSET=0 --dump=address good.cl > out 2> err"), 0);
    assert_non_null(strstr(get("err"), "; after address"));
    assert_int_equal(borgc("-DWG_SIZE=2 -DOFFSET=0 --dump=bogus good.cl > out 2> err"), 2);
    assert_non_null(strstr(get("err"), "nothing of this name can be dumped: bogus"));
}

/* Backends of pipelines: formats, tables of units, budgets with what would fit. */
static void test_pipelines(void **state) {
    (void)state;
    put("good.cl", good);
    put("more.cl", "__kernel void more(__global double *p) {\n"
                   "    double x = p[get_local_id()];\n"
                   "    for (int k = 0; k < WG_SIZE; ++k) x = x * shuffle(x, k) + 1;\n"
                   "    p[get_local_id()] = x;\n}\n");
    put("more_complete.cl", "__kernel void complete(__global double *p) {\n"
                            "    double x = p[get_local_id()];\n"
                            "    for (int k = 0; k < 9 * WG_SIZE; ++k) x = x * shuffle(x, k) + 1;\n"
                            "    p[get_local_id()] = x;\n}\n");
    put("units", "UNIT(add_f64, 1, 1, 10, 10, 1)\nUNIT(mul_f64, 1, 1, 10, 10, 1)\n");
    assert_int_equal(borgc("-DWG_SIZE=2 -DOFFSET=0 --strict --emit=pipe good.cl > out"), 0);
    assert_non_null(strstr(get("out"), "pipeline twice, 2 work-items"));
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=pipe --units=units --format=json more.cl > out"), 0);
    assert_non_null(strstr(get("out"), "\"depth\": "));
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=pipe --format=svg more.cl > out"), 0);
    assert_non_null(strstr(get("out"), "</svg>"));
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=hls more.cl > out"), 0);
    assert_non_null(strstr(get("out"), "#pragma HLS PIPELINE II=1"));
    put("kept", "as it was");
    assert_int_equal(borgc("-DWG_SIZE=8 --strict --emit=pipe --units=units --budget=dsp=200 "
                           "more_complete.cl -o kept 2> err"),
                     1);
    assert_string_equal(get("kept"), "as it was");
    assert_non_null(strstr(get("err"), "complete with WG_SIZE=8 needs "));
    assert_non_null(strstr(get("err"), " DSP blocks, the budget has 200"));
    assert_non_null(strstr(get("err"), "borgc: WG_SIZE=3 fits\n"));
    assert_non_null(
        strstr(get("err"), "borgc: with weaker pivoting more.cl fits with WG_SIZE=8\n"));
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=pipe --units=missing more.cl 2> err"), 3);
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=pipe --format=gif more.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=c --format=svg more.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=c --budget=lut=1 more.cl 2> err"), 2);
    assert_int_equal(borgc("-DWG_SIZE=2 --emit=hls --budget=lut more.cl 2> err"), 2);
}

/* A kernel for each size, in one file. */
static void test_sizes(void **state) {
    (void)state;
    put("top.cl", "__kernel void k(__global double *p) { p[get_group_id() * WG_SIZE + "
                  "get_local_id()] += WG_SIZE; }\n");
    assert_int_equal(borgc("--emit=vrptx --sizes=3,16 top.cl -o out"), 0);
    assert_non_null(strstr(get("out"), ".entry k (.param .ptr.f64 p) .ntids 3\n"));
    assert_non_null(strstr(get("out"), ".entry k (.param .ptr.f64 p) .ntids 16\n"));
    assert_int_equal(borgc("--emit=vrptx --sizes=any,4 top.cl -o out"), 0);
    assert_non_null(strstr(get("out"), ".entry k (.param .ptr.f64 p)\n"));
    assert_non_null(strstr(get("out"), ".entry k (.param .ptr.f64 p) .ntids 4\n"));
    put("array.cl", "__kernel void k(__global double *p) { double a[WG_SIZE]; p[0] = a[0]; }\n");
    assert_int_equal(borgc("--emit=vrptx --sizes=any array.cl > out 2> err"), 1);
    assert_non_null(strstr(get("err"), "name sizes (--sizes=4,8)"));
    assert_int_equal(borgc("--emit=vrptx --sizes=any --loops=always top.cl > out 2> err"), 2);
    static const char *const wrong[] = {"--emit=vrptx --sizes=any,any",
                                        "--emit=c --sizes=any",
                                        "--emit=vrptx --sizes=any --set=p=3",
                                        "--emit=vrptx --sizes=any --dump=ssa",
                                        "--emit=vrptx --sizes=any --verify",
                                        "--emit=vrptx --sizes=any -DWG_PACK=2",
                                        "--emit=vrptx --sizes=3,3",
                                        "--emit=vrptx --sizes=0",
                                        "--emit=vrptx --sizes=3,x",
                                        "--emit=vrptx --sizes=",
                                        "--emit=c --sizes=3",
                                        "--emit=vrptx -DWG_SIZE=3 --sizes=3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char words[128];
        snprintf(words, sizeof words, "%s top.cl > out 2> err", wrong[i]);
        assert_int_equal(borgc(words), 2);
        assert_non_null(strstr(get("err"), "--sizes"));
        assert_string_equal(get("out"), "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_status, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whole_packs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_auto_pack, setup, teardown),
        cmocka_unit_test_setup_teardown(test_include, setup, teardown),
        cmocka_unit_test_setup_teardown(test_text_form, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interpret, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dumps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pipelines, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
