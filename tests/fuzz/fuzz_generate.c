/* SPDX-License-Identifier: BSD-3-Clause */
/** Any text as the spec of a generator; what would be large runs out of memory. */
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char spec[256];
    if (size >= sizeof spec) return 0;
    memcpy(spec, data, size);
    spec[size] = '\0';
    fuzz_purse purse = {.limit = (size_t)4 << 20};
    mpk_context *ctx = fuzz_context(&purse);
    mpk_problem *problem = NULL;
    mpk_status status = mpk_problem_generate(ctx, spec, (int64_t)size, &problem);
    fuzz_check_status(ctx, status, problem);
    mpk_problem_destroy(&problem);
    fuzz_end(ctx, &purse);
    return 0;
}
