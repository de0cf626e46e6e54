/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix of a batch as a sparse one has it. */
#include "../engines/cpu/batch/access.h"
#include "certify.h"

void FN(batch_pack)(const mpk_batch_array *x, int64_t b, int32_t n, void *vax) {
    const FN(view) v = FN(view_of)(x, b);
    T *ax = vax;
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++) *ax++ = v.p[(i + j * v.ld) * v.step];
}
