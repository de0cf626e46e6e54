/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_lanes.h: c = column r > k of what is left, 0 on the diagonal; d2 = its diagonal
 * entry. */
d2 = u[(k + 1) * N + k + 1];
for (int i = k; i < N; ++i)
    c[i] = i < k + 1 ? u[(k + 1) * N + i] : i > k + 1 ? u[i * N + k + 1] : (T)0;
for (int q = k + 2; q < N; ++q) {
    bool hit = r == q;
    for (int i = k; i < N; ++i)
        c[i] = hit ? i < q ? u[q * N + i] : i > q ? u[i * N + q] : (T)0 : c[i];
    d2 = hit ? u[q * N + q] : d2;
}
