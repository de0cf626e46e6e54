/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as a file of warps and arrays, and as a matrix that is not square: read, or told what is
 * wrong. */
#include <stdlib.h>
#include <string.h>
#include "sim/vector/rectangular.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, (size_t)256 << 20);
    borg_diags diags = {.arena = &arena};
    char *text = malloc(size + 1);
    if (text && size) memcpy(text, data, size);
    if (text && !setjmp(arena.oom)) {
        vs_source source = {0};
        vs_matrix a = {0};
        borg_sink told = {.arena = &arena};
        bool good = vs_source_read(&source, "fuzz", text, size, &diags);
        if (!good && diags.errors == 0) abort();
        const int32_t before = diags.errors;
        if (vs_is_rectangular(text, size)) {
            good = vs_matrix_read(&a, "fuzz", text, size, &diags);
            if (!good && diags.errors == before) abort();
            for (int32_t i = 0; good && i < a.nrows; ++i)
                for (int64_t k = a.row[i]; k < a.row[i + 1]; ++k)
                    if (a.col[k] < 0 || a.col[k] >= a.ncols) abort();
        }
        borg_diags_print(&diags, &told);
    }
    free(text);
    borg_arena_free(&arena);
    return 0;
}
