/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_convert FILE|"generate SPEC" OUT.raw: a matrix in the form that every solver of the
 * benchmark reads. Eight bytes "MPKRAW1\0", then int64 n, nnz, complex, hermitian; int64 ap[n + 1];
 * int32 ai[nnz]; double ax. */
#include <metapack/metapack.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE|\"generate SPEC\" OUT.raw\n", argv[0]);
        return 1;
    }
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) {
        status = !strncmp(argv[1], "generate ", 9)
                     ? mpk_problem_generate(ctx, argv[1] + 9, 1, &problem)
                     : mpk_problem_read(ctx, argv[1], &problem);
    }
    const char *text = NULL;
    if (mpk_failed(status)) {
        mpk_last_error(ctx, NULL, NULL, &text);
        fprintf(stderr, "%s: %s\n", argv[1], text ? text : mpk_status_text(status));
    } else {
        mpk_problem_view v;
        mpk_problem_view_get(problem, &v);
        const bool general = v.symmetry == MPK_GENERAL;
        if (general) fprintf(stderr, "%s: not symmetric, as these benchmarks are\n", argv[1]);
        int64_t head[5] = {0, v.n, v.nnz, v.scalar == MPK_Z, v.symmetry == MPK_HERMITIAN};
        memcpy(head, "MPKRAW1", 8);
        size_t n = (size_t)v.n, nnz = (size_t)v.nnz;
        FILE *file = general ? NULL : fopen(argv[2], "wb");
        bool good = file && (v.scalar == MPK_D || v.scalar == MPK_Z) &&
                    fwrite(head, sizeof head, 1, file) == 1 &&
                    fwrite(v.ap, sizeof *v.ap, n + 1, file) == n + 1 &&
                    fwrite(v.ai, sizeof *v.ai, nnz, file) == nnz &&
                    fwrite(v.ax, mpk_scalar_size(v.scalar), nnz, file) == nnz;
        if (file && fclose(file)) good = false;
        if (!good) {
            fprintf(stderr, "%s: cannot be written\n", argv[2]);
            status = MPK_ERR_FILE;
        }
    }
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) ? 2 : 0;
}
