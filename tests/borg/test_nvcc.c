/* SPDX-License-Identifier: BSD-3-Clause */
/* Emitted CUDA C through nvcc: it compiles, and up to 32 work-items nothing is spilt and nothing
 * lies in local memory. Registers, spills and stack are printed. BORG_EMIT=all: all kernels and
 * sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "library.h"
#include "share.h"

#ifndef BORG_NVCC
#define BORG_NVCC ""
#endif

typedef struct usage {
    int stack, stores, loads, registers;
} usage;

/* pack 0: a group in each thread, its arrays by shared memory; below: interleaved in -pack threads.
 * order: of a matrix whose rows `size` work-items share; 0: as many rows as they are */
static void emit(const char *kernel, int size, int pack, int order, const char *path) {
    const char *text, *defines[] = {"IN_LANES", NULL};
    char ld[16], stride[24], rows[16];
    const char *shared[] = {rows, NULL};
    const char *set[] = {ld, stride, NULL};
    size_t length;
    borg_options o = {.size = size, .pack = pack, .backend = borg_backend_find("cuda")};
    if (pack < 0) {
        o.lanes = -pack;
        o.pack = 32 / o.lanes;
        o.order = BORG_WG_MINOR;
    }
    snprintf(ld, sizeof ld, "lda=%d", size);
    snprintf(stride, sizeof stride, "stride=%d", size * size);
    snprintf(rows, sizeof rows, "ORDER=%d", order);
    if (order) o.defines = shared;
    if (pack == 0) {
        o.order = BORG_WG_MINOR;
        o.defines = defines;
        o.set = set;
        o.stage = "a,piv,info";
    }
    borg_program *p = library_compile(kernel, &o);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_OK);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    borg_program_free(p);
}

/* What ptxas tells: the sum over the kernels of a file. */
static usage compile(const char *path) {
    char command[1024], line[1024];
    usage sum = {0};
    snprintf(command, sizeof command,
             "%s -std=c++17 -O3 -arch=sm_90 -Xptxas -v -Werror all-warnings -cubin -o %s.cubin %s "
             "2>&1",
             BORG_NVCC, path, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        int a, b, c;
        const char *used = strstr(line, "Used ");
        if (sscanf(line, " %d bytes stack frame, %d bytes spill stores, %d bytes spill loads", &a,
                   &b, &c) == 3) {
            sum.stack += a;
            sum.stores += b;
            sum.loads += c;
        } else if (used) {
            sum.registers += atoi(used + 5);
        } else if (strstr(line, "error") || strstr(line, "warning")) {
            print_message("%s", line);
        }
    }
    if (pclose(pipe) != 0) fail_msg("nvcc refuses %s", path);
    return sum;
}

static void check_shared(const char *kernel, int size, int pack, int order) {
    char folder[] = "/tmp/borg-nvcc-XXXXXX", path[64], other[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.cu", folder);
    snprintf(other, sizeof other, "%s.cubin", path);
    emit(kernel, size, pack, order, path);
    usage u = compile(path);
    remove(path);
    remove(other);
    rmdir(folder);
    print_message("%s, size %d, pack %d, order %d: %d registers, spills %d and %d bytes, stack %d "
                  "bytes\n",
                  kernel, size, pack, order ? order : size, u.registers, u.stores, u.loads,
                  u.stack);
    assert_true(u.registers > 0);
    if (size <= 32) assert_int_equal(u.stores + u.loads + u.stack, 0);
}

static void check(const char *kernel, int size, int pack) {
    check_shared(kernel, size, pack, 0);
}

static void test_resources(void **state) {
    static const int sizes[] = {4, 8, 16, 24, 32};
    (void)state;
    if (access(BORG_NVCC, X_OK) != 0) skip();
    if (getenv("BORG_EMIT")) {
        for (size_t k = 0; k < LIBRARY_KERNELS; ++k)
            for (int s = 0; s < 5; ++s) check(library_kernels[k], sizes[s], 1);
        return;
    }
    check("gemm_ab", 8, 1);
    check("ldlt_partial", 4, 8);
    check("ldlt_complete", 5, 1);
    check("ldlt_static", 3, 2);
    check("llt", 16, 1);
    check("ldlt", 32, 1);
    check("ldlt_partial", 4, 0);
    check("ldlt_complete", 7, 0);
    check("ldlt_partial", 4, -4);
    check("ldlt_complete", 6, -2);
    check("./kernels/locals", 8, 1);
    check("./kernels/locals", 4, -2);
}

/* How often the instruction for a tile occurs in nvcc's output. */
static int count_tiles(const char *kernel, int order) {
    char folder[] = "/tmp/borg-nvcc-XXXXXX", path[64], command[1024], line[1024];
    int count = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.cu", folder);
    emit(kernel, 32, 1, order, path);
    snprintf(command, sizeof command, "%s -std=c++17 -O3 -arch=sm_90 -ptx -o - %s", BORG_NVCC,
             path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe))
        count += strstr(line, "mma.sync.aligned.m8n8k4.row.col.f64") != NULL;
    assert_int_equal(pclose(pipe), 0);
    remove(path);
    rmdir(folder);
    return count;
}

/* Once for both halves of a tile. */
static void test_tiles(void **state) {
    (void)state;
    if (access(BORG_NVCC, X_OK) != 0) skip();
    assert_int_equal(count_tiles("./kernels/tiles", 0), 9);
}

/* LDLT with pivots by a warp's tiles: one place updates them all, each by one instruction.
 * Bunch-Kaufman beyond 16: that, what is late between the stages, and three tiles. */
static void test_rows_tiles(void **state) {
    static const char *const kernels[] = {"ldlt_partial", "ldlt_complete"};
    (void)state;
    if (access(BORG_NVCC, X_OK) != 0) skip();
    for (int k = 0; k < 2; ++k)
        for (int n = 16; n <= 32; n += 8) {
            if (test_left_out(n / 8 + k, 2)) continue;
            int tiles = n / 8 * (n / 8 + 1) / 2;
            check_shared(kernels[k], 32, 1, n);
            assert_int_equal(count_tiles(kernels[k], n), k == 0 && n > 16 ? 2 * tiles + 3 : tiles);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_resources),
                                       cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_rows_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
