/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of 8x8 that 32 work-items hold: both halves of one at once, in a loop and in branches that a group takes as a whole,
 * halves alone, and a second half that adds to what is known late, or to the first one. And what is done with them:
 * the greatest entry among rows and columns that are left, a place that is another one for each column. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif

__kernel void tiles(__global T *a, int lda, long stride, __global T *b)
{
    int w = get_local_id();
    int i = w / 4, j = w % 4;
    long from = get_group_id() * stride;
    T x[2], y[2], t[4];
    for (int q = 0; q < 2; ++q) {
        x[q] = a[from + lda * j + 8 * q + i];
        y[q] = a[from + lda * (4 + j) + 8 * q + i];
        for (int e = 0; e < 2; ++e) t[2 * q + e] = a[from + lda * (8 + 2 * j + e) + 8 * q + i];
    }
    for (int k = 0; k < 4; ++k) t[k] = mma8x8x4(-x[k / 2], y[k / 2], t[k], k % 2);
    int s = 0;
    int place = i + (j == 0 ? 3 : j == 1 ? 11 : 24);
    uint rows = w < 30 ? 0x7fffffffu : 0u, columns = ~0u, keys = 0;
#pragma nounroll
    while (s < lda / 8) {
        uint key = work_group_reduce_max(magnitude(t[2]) & columns & rows);
        columns = w == (int)(key & 31) ? 0 : columns;
        rows = key > 5 && w == s ? 0 : rows;
        keys ^= key ^ work_group_reduce_max(magnitude(t[3]) & columns);
        T most = work_group_reduce_max(fabs(t[0]));
        if (most > 1) {
            T f = rcp(most);
            s += 2;
            for (int q = 0; q < 2; ++q)
                for (int e = 0; e < 2; ++e)
                    t[2 * q + e] = mma8x8x4(-f * x[q], y[0], t[2 * q + e], e);
        } else {
            s += 1;
            t[1] = mma8x8x4(x[1], y[1], t[1], 1);
            t[2] = mma8x8x4(x[1], y[0], t[2], 0);
        }
    }
    T first = mma8x8x4(y[0], y[1], t[0], 0);
    T late = shuffle(t[3], w ^ 5) * 2;
    T second = mma8x8x4(y[0], y[1], late, 1);
    t[3] = mma8x8x4(y[1], y[0], first, 0);
    t[2] += mma8x8x4(y[1], y[0], t[3] + second, 1);
    for (int k = 0; k < 4; ++k) b[from + w * 4 + k] = t[k];
    b[from + 128 + w] = keys + a[from + place] + a[from + 8 + place] + a[from + 40 + (w ^ 5)];
}
