/* SPDX-License-Identifier: BSD-3-Clause */
/** Any bytes as a file of right-hand sides; the first byte says for which matrix. */
#include "fuzz.h"

#include "problem/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const int32_t n = data[0] / 4;
    const mpk_scalar scalar = (mpk_scalar)(data[0] % 4);
    fuzz_purse purse = {.limit = ((size_t)64 << 20) + 40000 * size, .strict = 1};
    mpk_context *ctx = fuzz_context(&purse);
    mpki_stream *stream = NULL;
    int32_t nrhs = -1;
    void *b = NULL;
    mpk_status status = mpki_stream_memory(ctx, "input", data + 1, size - 1, &stream);
    if (!mpk_failed(status)) status = mpki_rhs_read_stream(ctx, stream, n, scalar, &nrhs, &b);
    mpki_stream_close(&stream);
    fuzz_check_status(ctx, status, b);
    if (b) FUZZ_ASSERT(nrhs >= 1 && mpki_first_nonfinite(scalar, (int64_t)n * nrhs, b) == -1);
    mpk_free(ctx, &b);
    fuzz_end(ctx, &purse);
    return 0;
}
