/* SPDX-License-Identifier: BSD-3-Clause */
/** Any bytes as a matrix file: Matrix Market, Rutherford-Boeing, plain or compressed. */
#include "fuzz.h"

#include "problem/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* gzip packs a thousandfold at most; the reader may hold a million empty rows besides */
    fuzz_purse purse = {.limit = ((size_t)64 << 20) + 40000 * size, .strict = 1};
    mpk_context *ctx = fuzz_context(&purse);
    mpki_stream *stream = NULL;
    mpk_problem *problem = NULL;
    mpk_status status = mpki_stream_memory(ctx, "input", data, size, &stream);
    if (!mpk_failed(status)) status = mpki_problem_read_stream(ctx, stream, &problem);
    mpki_stream_close(&stream);
    fuzz_check_status(ctx, status, problem);
    if (problem) {
        mpk_problem_view v;
        mpk_problem_view_get(problem, &v);
        FUZZ_ASSERT(v.n >= 1);
        FUZZ_ASSERT(v.scalar == MPK_Z || (v.scalar == MPK_D && v.symmetry != MPK_HERMITIAN));
        fuzz_check_problem(problem);
    }
    mpk_problem_destroy(&problem);
    fuzz_end(ctx, &purse);
    return 0;
}
