/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles.h: the tiles plus x y^T. */
for (int q = 0; q < TILES; ++q)
    for (int b = 0; b < q + 1; ++b)
        for (int e = 0; e < 2; ++e)
            t[q * (q + 1) + 2 * b + e] = mma8x8x4(x[q], y[b], t[q * (q + 1) + 2 * b + e], e);
