/* SPDX-License-Identifier: BSD-3-Clause */
/* What fronts, panels and contributions take on a device. */
#include "plan.h"

int64_t mpki_cuda_panel_bytes(mpk_scalar scalar, int32_t nrows, int32_t w) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    const int64_t bytes = ((int64_t)mpki_cuda_leading(nrows) * w + 4 * (int64_t)w) * size +
                          (int64_t)w * (int64_t)sizeof(int32_t);
    return (bytes + 63) & ~(int64_t)63;
}

int64_t mpki_cuda_contribution_entries(int32_t rows) {
    const int64_t cut = MPKI_FRONT_CONTRIBUTION, k = rows / cut, ld = mpki_cuda_leading(rows);
    const int64_t entries =
        cut * (k * ld - cut * k * (k - 1) / 2) + (rows - cut * k) * (ld - cut * k);
    return (entries + 1) & ~(int64_t)1;
}

int32_t mpki_cuda_front_block(int32_t w) {
    const int32_t block = (w + MPKI_FRONT_TILE - 1) / MPKI_FRONT_TILE * MPKI_FRONT_TILE;
    return block < MPKI_FRONT_BLOCK ? block : MPKI_FRONT_BLOCK;
}

int64_t mpki_cuda_front_work(mpk_scalar scalar, int32_t nrows, int32_t w) {
    const int64_t entries = (int64_t)mpki_cuda_leading(nrows) * mpki_cuda_front_block(w) +
                            4 * MPKI_FRONT_TILE * MPKI_FRONT_TILE;
    return (entries * (int64_t)mpk_scalar_size(scalar) + 255) & ~(int64_t)255;
}
