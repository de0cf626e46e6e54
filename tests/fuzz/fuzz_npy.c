/* SPDX-License-Identifier: BSD-3-Clause */
/** Any bytes as a .npy file; the first byte says whether it is a matrix, or right-hand sides for
 *  which one. */
#include "fuzz.h"

#include "problem/npy.h"
#include "problem/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const int32_t n = data[0] / 8;
    const mpk_scalar scalar = (mpk_scalar)(data[0] / 2 % 4);
    fuzz_purse purse = {.limit = ((size_t)64 << 20) + 40000 * size, .strict = 1};
    mpk_context *ctx = fuzz_context(&purse);
    mpki_stream *stream = NULL;
    mpk_problem *problem = NULL;
    int32_t nrhs = -1;
    void *b = NULL;
    mpk_status status = mpki_stream_memory(ctx, "input", data + 1, size - 1, &stream);
    if (mpk_failed(status)) {
        mpki_stream_close(&stream);
        fuzz_end(ctx, &purse);
        return 0;
    }
    if (data[0] % 2) {
        status = mpki_npy_read(ctx, stream, &problem);
        fuzz_check_status(ctx, status, problem);
    } else {
        status = mpki_npy_read_rhs(ctx, stream, n, scalar, &nrhs, &b);
        fuzz_check_status(ctx, status, b);
        if (b) FUZZ_ASSERT(nrhs >= 1 && mpki_first_nonfinite(scalar, (int64_t)n * nrhs, b) == -1);
    }
    mpki_stream_close(&stream);
    if (problem) {
        mpk_problem_view view;
        mpk_problem_view_get(problem, &view);
        FUZZ_ASSERT(view.n >= 0 && mpki_first_nonfinite(view.scalar, view.nnz, view.ax) == -1);
    }
    mpk_problem_destroy(&problem);
    mpk_free(ctx, &b);
    fuzz_end(ctx, &purse);
    return 0;
}
