/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles.h: c[put ...] = column `wanted` of the tiles. */
{
    int column = (wanted & 7) - 2 * h; /* 0, 1: it is of those of this work-item, */
    int row = (wanted & 7) - r;        /* 0: or, as a row, the one of its tiles */
    for (int b = 0; b < TILES; ++b)
        if (wanted >> 3 == b) {
            if (column == 0)
                for (int q = b; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * b];
            if (row == 0)
                for (int q = 0; q < b; ++q)
                    for (int e = 0; e < 2; ++e)
                        c[put + 8 * q + 2 * h + e] = t[b * (b + 1) + 2 * q + e];
            if (column == 1)
                for (int q = b; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * b + 1];
#if SEARCH == COMPLETE
            rows[b] = row == 0 ? 0u : rows[b];
            columns[2 * b] = column == 0 ? 0u : columns[2 * b];
            columns[2 * b + 1] = column == 1 ? 0u : columns[2 * b + 1];
#endif
        }
}
barrier(CLK_LOCAL_MEM_FENCE);
