/* SPDX-License-Identifier: BSD-3-Clause */
/** Any bytes as a file with an order; the first byte says of how many. */
#include "fuzz.h"

#include "problem/perm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const int32_t n = data[0];
    fuzz_purse purse = {.limit = ((size_t)64 << 20) + 40000 * size, .strict = 1};
    mpk_context *ctx = fuzz_context(&purse);
    mpki_stream *stream = NULL;
    int32_t *perm = NULL;
    mpk_status status = mpki_stream_memory(ctx, "input", data + 1, size - 1, &stream);
    if (!mpk_failed(status)) status = mpki_perm_read_stream(ctx, stream, n, &perm);
    mpki_stream_close(&stream);
    fuzz_check_status(ctx, status, perm);
    if (perm) {
        bool seen[256] = {false};
        for (int32_t k = 0; k < n; k++) {
            FUZZ_ASSERT(perm[k] >= 0 && perm[k] < n && !seen[perm[k]]);
            seen[perm[k]] = true;
        }
        FUZZ_ASSERT(mpki_perm_check(ctx, "fuzz", n, perm) == MPK_OK);
    }
    mpki_release(ctx, perm);
    fuzz_end(ctx, &purse);
    return 0;
}
