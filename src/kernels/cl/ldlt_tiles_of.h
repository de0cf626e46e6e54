/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles_fetch.h: column and row B of tiles. */
#if SEARCH == PARTIAL
if (row == 0)
    for (int q = 0; q < B; ++q)
        for (int e = 0; e < 2; ++e) c[put + 8 * q + 2 * h + e] = t[B * (B + 1) + 2 * q + e];
if ((wanted & 1) != 0) {
    if (mine)
        for (int q = B; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B + 1];
    barrier(CLK_LOCAL_MEM_FENCE); /* here, lest the last stores become a branch */
} else {
    if (mine)
        for (int q = B; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B];
    barrier(CLK_LOCAL_MEM_FENCE);
}
#else
if (column == 0)
    for (int q = B; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B];
if (row == 0)
    for (int q = 0; q < B; ++q)
        for (int e = 0; e < 2; ++e) c[put + 8 * q + 2 * h + e] = t[B * (B + 1) + 2 * q + e];
if (column == 1)
    for (int q = B; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B + 1];
rows[B] = row == 0 ? 0u : rows[B];
columns[2 * B] = column == 0 ? 0u : columns[2 * B];
columns[2 * B + 1] = column == 1 ? 0u : columns[2 * B + 1];
#endif
