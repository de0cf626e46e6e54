/* SPDX-License-Identifier: BSD-3-Clause */
/* Single complex arrays as .npy files, which NumPy and `metapack solve` read. */
#include "acoustics.h"

#include <stdio.h>
#include <string.h>

static int save(const char *path, int64_t rows, int64_t cols, const float complex *x, int mirror) {
    char head[128] = "\x93NUMPY\x01";
    FILE *file = fopen(path, "wb");
    if (!file) return -1;
    memset(head + 10, ' ', sizeof head - 11);
    head[8] = (char)(sizeof head - 10), head[sizeof head - 1] = '\n';
    const int length =
        snprintf(head + 10, sizeof head - 10,
                 cols ? "{'descr': '<c8', 'fortran_order': True, 'shape': (%lld, %lld), }"
                      : "{'descr': '<c8', 'fortran_order': True, 'shape': (%lld,), }",
                 (long long)rows, (long long)cols);
    head[10 + length] = ' ';
    int bad = fwrite(head, sizeof head, 1, file) != 1;
    for (int64_t j = 0; j < (cols ? cols : 1) && !bad; j++) {
        for (int64_t i = 0; mirror && i < j && !bad; i++)
            bad = fwrite(x + j + i * rows, sizeof *x, 1, file) != 1;
        const int64_t from = mirror ? j : 0;
        bad |= fwrite(x + from + j * rows, sizeof *x, (size_t)(rows - from), file) !=
               (size_t)(rows - from);
    }
    return fclose(file) || bad ? -1 : 0;
}

int matrix_write(const char *path, int64_t n, const float complex *a) {
    return save(path, n, n, a, 1);
}

int vector_write(const char *path, int64_t n, const float complex *b) {
    return save(path, n, 0, b, 0);
}
