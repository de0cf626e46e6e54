/* SPDX-License-Identifier: BSD-3-Clause */
/* What the backend `ve` emits, through a compiler for SX-Aurora: clang from 15 on that knows the
 * machine (BORG_VE_CC; skipped where none does). BORG_SHAPES=all: all kernels at orders 4 and 8.
 * What it computes is compared by test_emit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "variants.h"

/* No second schedule: LLVM up to 16 cannot spill vector registers, and it makes their lives longer. */
static const char flags[] = "-target ve-linux -O1 -ffreestanding -mllvm -enable-misched=false "
                            "-Xclang -target-feature -Xclang +vpu -w -S";

static const char *compiler(const char *folder) {
    static const char *const names[] = {NULL,       "clang-15", "clang-16",
                                        "clang-17", "clang-18", "clang-19"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char command[512];
        const char *name = i ? names[i] : getenv("BORG_VE_CC");
        if (!name) continue;
        snprintf(command, sizeof command,
                 "echo '#include <velintrin.h>' > %s/x.c && %s %s %s/x.c -o %s/x.s 2>/dev/null",
                 folder, name, flags, folder, folder);
        if (system(command) == 0) return name;
    }
    return NULL;
}

static void compile_one(const char *cc, const char *folder, const char *kernel, int size,
                        int pack) {
    variant v = {.kernel = kernel, .size = size, .pack = pack};
    const borg_backend *ve = borg_backend_find("ve");
    borg_options o;
    const char *text;
    char path[256], command[768];
    size_t length;
    assert_true(compile_variant(&v, &o, ve, "tested"));
    assert_int_equal(borg_program_emit(v.program, ve, &o, &text, &length), BORG_OK);
    snprintf(path, sizeof path, "%s/k.c", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(text, 1, length, file);
    fclose(file);
    borg_program_free(v.program);
    snprintf(command, sizeof command, "cd %s && %s %s k.c -o k.s > log 2>&1 && grep -q 'vst' k.s",
             folder, cc, flags);
    if (system(command) != 0) fail_msg("%s, %d, WG_PACK %d: %s fails", kernel, size, pack, cc);
}

static void test_compiles(void **state) {
    (void)state;
    static const char *const some[] = {"gema", "trsv", "ldus", "ldlt"};
    char folder[] = "/tmp/borg-ve-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    const char *cc = compiler(folder);
    for (int k = 0; cc && k < (all_shapes() ? 2 * LIBRARY_KERNELS : 4); ++k)
        if (all_shapes())
            compile_one(cc, folder, library_kernels[k / 2], 4 + 4 * (k % 2), 8);
        else
            compile_one(cc, folder, some[k], 4, 1 + 3 * (k % 2));
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (!cc) skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
