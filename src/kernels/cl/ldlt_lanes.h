/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivoting for small orders, a matrix in each lane of a vector machine or, with IN_LANES,
 * in each thread of a GPU: P A P^T = L D L^T in place, lower triangle, right-looking. All values
 * are of a group, none of a work-item, but where rows are read and written; rows and columns change
 * places by selections, so that no step looks at what is finished. A step whose column was
 * eliminated with the one before does nothing. KERNEL, SEARCH: its name, and how pivots are found.
 * piv [out]: old index at each place, ~index at both places of a 2x2 pivot. Behind ldlt_pivots.h.
 */

__kernel void KERNEL(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                     T tol) {
    long base = GROUP * stride;
    T u[N * N]; /* the lower triangle, row after row */
    int row[N]; /* the old index of the row that is here, ~ of a 2x2 pivot */
    T c[N];
    T most = 0;
    for (int j = 0; j < N; ++j) {
        T x = LANE >= j ? a[base + j * lda + LANE] : (T)0;
        most = max(most, fabs(x));
        for (int i = j; i < N; ++i) u[i * N + j] = shuffle(x, i);
        row[j] = j;
    }
    most = work_group_reduce_max(most);
    T small = most > 0 ? tol * most : (T)0;
    T check = most * (T)0; /* 0 as long as pivots are finite: NaN and Inf come to a later one */
    bool second = false;   /* this column was eliminated with the one before */
    int zero = 0;
    int positive = 0;
    for (int k = 0; k < N - 1; ++k) {
        T d = fabs(u[k * N + k]);
        T d2 = 0;
        int r = k;
        int first = k;  /* the row that comes to place k, */
        int other = -1; /* for a 2x2 pivot the row that comes to place k + 1 */
        bool two = false;
#if SEARCH == COMPLETE
        T mu0 = 0;
        T mu1 = d;
        for (int j = N - 1; j >= k; --j) {
            T most_of = 0;
            for (int i = j + 1; i < N; ++i) most_of = max(most_of, fabs(u[i * N + j]));
            r = most_of >= mu0 ? j : r;
            mu0 = max(mu0, most_of);
            first = fabs(u[j * N + j]) >= mu1 ? j : first;
            mu1 = max(mu1, fabs(u[j * N + j]));
        }
        bool good = mu1 > small || mu0 > small;
        two = !second && good && mu1 < ALPHA * mu0;
        r = two ? r : first;
#include "ldlt_lanes_column.h"
        for (int i = k; i < N; ++i) c[i] = r > k ? c[i] : i > k ? u[i * N + k] : (T)0;
        for (int i = N - 1; i > k; --i) other = two && fabs(c[i]) == mu0 ? i : other;
        other = two && r > k && fabs(c[k]) == mu0 ? r : other; /* row k is there then */
        first = second ? k : r;
#else
        T lambda = 0;
        for (int i = k + 1; i < N; ++i) lambda = max(lambda, fabs(u[i * N + k]));
        for (int i = N - 1; i > k; --i) r = fabs(u[i * N + k]) == lambda ? i : r;
        bool good = d > small || lambda > small;
        bool look = !second && lambda > small && d < ALPHA * lambda;
#if SEARCH == ROOK
        /* c1: column `first`, 0 on the diagonal; d1: its diagonal entry */
        T c1[N];
        T d1 = u[k * N + k];
        for (int i = k; i < N; ++i) c1[i] = i > k ? u[i * N + k] : (T)0;
        int steps = 0;
        bool search = look;
        while (search) {
#include "ldlt_lanes_column.h"
            for (int i = k; i < N; ++i) c[i] = r > k ? c[i] : i > k ? u[i * N + k] : (T)0;
            d2 = r > k ? d2 : u[k * N + k];
            T sigma = 0;
            for (int i = k; i < N; ++i) sigma = max(sigma, fabs(c[i]));
            int next = k;
            for (int i = N - 1; i > k; --i) next = fabs(c[i]) == sigma ? i : next;
            next = fabs(c[k]) == sigma && r > k ? k : next;
            bool one = fabs(d2) >= ALPHA * sigma;
            steps += 1;
            two = !one && (next == first || !(sigma > lambda) || steps >= N);
            search = !one && !two;
            other = two ? r : -1;
            first = two ? first : r;
            for (int i = k; i < N; ++i) c1[i] = two ? c1[i] : c[i];
            d1 = two ? d1 : d2;
            r = search ? next : r;
            lambda = sigma;
        }
        other = other == k ? first : other; /* row k is there then */
        d2 = d1;
        for (int i = k; i < N; ++i) c[i] = c1[i];
#else
        if (look) {
#include "ldlt_lanes_column.h"
            T sigma = 0;
            for (int i = k; i < N; ++i) sigma = max(sigma, fabs(c[i]));
            bool stay = d > 0 && d * sigma >= ALPHA * lambda * lambda;
            two = !stay && fabs(d2) < ALPHA * sigma;
            first = !stay && !two ? r : k;
            other = two ? r : -1;
        }
#endif
#endif
        for (int e = SEARCH == PARTIAL ? 1 : 0; e < 2; ++e) {
            /* row and column `to` change places with t, k or k + 1; to = -1: none do */
            bool down = SEARCH == PARTIAL ? two : e == 1;
            int to = down ? other > k + 1 ? other : -1 : first > k ? first : -1;
            bool up = to > 0 && !down;
            down = to > 0 && down;
#if SEARCH != PARTIAL
            if (e == 1) {
                r = to;
#include "ldlt_lanes_column.h"
            }
#endif
            if (to > 0) {
                T xr[N];
                T ct[N]; /* column t */
                T below = u[(k + 1) * N + k];
                ct[k] = down ? below : u[k * N + k];
                for (int i = k + 1; i < N; ++i) ct[i] = down ? u[i * N + k + 1] : u[i * N + k];
                T dt = down ? ct[k + 1] : ct[k];
                int old = down ? row[k + 1] : row[k];
                int now = old;
                for (int j = 0; j < k; ++j) xr[j] = down ? u[(k + 1) * N + j] : u[k * N + j];
                for (int q = k + 1; q < N; ++q) {
                    bool hit = to == q;
                    for (int j = 0; j < k; ++j) { /* of L */
                        T x = u[q * N + j];
                        T y = q > k + 1 && down ? u[(k + 1) * N + j] : u[k * N + j];
                        u[q * N + j] = hit ? y : x;
                        xr[j] = hit ? x : xr[j];
                    }
                    if (q > k + 1) u[q * N + k] = hit && down ? below : u[q * N + k];
                    for (int j = k + 1; j < q; ++j) u[q * N + j] = hit ? ct[j] : u[q * N + j];
                    u[q * N + q] = hit ? dt : u[q * N + q];
                    for (int i = q + 1; i < N; ++i) u[i * N + q] = hit ? ct[i] : u[i * N + q];
                    c[q] = hit ? ct[q] : c[q];
                    now = hit ? row[q] : now;
                    row[q] = hit ? old : row[q];
                }
                for (int j = 0; j < k; ++j) {
                    u[k * N + j] = up ? xr[j] : u[k * N + j];
                    u[(k + 1) * N + j] = down ? xr[j] : u[(k + 1) * N + j];
                }
                row[k] = up ? now : row[k];
                row[k + 1] = down ? now : row[k + 1];
                u[k * N + k] = up ? d2 : u[k * N + k];
                for (int i = k + 1; i < N; ++i) {
                    u[i * N + k] = up ? c[i] : u[i * N + k];
                    if (i > k + 1) u[i * N + k + 1] = down ? c[i] : u[i * N + k + 1];
                }
                u[(k + 1) * N + k] = down ? c[k] : u[(k + 1) * N + k];
                u[(k + 1) * N + k + 1] = down ? d2 : u[(k + 1) * N + k + 1];
            }
        }
        T p1 = u[k * N + k];
        T d21 = u[(k + 1) * N + k];
        d2 = u[(k + 1) * N + k + 1];
        T f = rcp(two ? d21 : good ? p1 : (T)1);
        T e1 = two ? p1 * f : (T)0;
        T e2 = two ? d2 * f : (T)1;
        T det = two ? e1 * e2 - (T)1 : (T)1;
        T g = second || !good ? (T)0 : f * rcp(det);
        T g2 = two ? g : (T)0;
        check += p1 * (T)0 + (two ? d21 + d2 : (T)0) * (T)0;
        positive += second || !good ? 0 : two ? det < 0 ? 1 : p1 + d2 > 0 ? 2 : 0 : p1 > 0 ? 1 : 0;
        zero += second || good ? 0 : 1;
        T b[N]; /* the one or two columns: b, c */
        for (int i = k + 1; i < N; ++i) {
            b[i] = u[i * N + k];
            c[i] = i > k + 1 && two ? u[i * N + k + 1] : (T)0;
        }
        c[k + 1] = two ? d2 : (T)0;
        for (int i = k + 1; i < N; ++i) {
            T l1 = (e2 * b[i] - c[i]) * g;
            for (int j = k + 1; j <= i; ++j) u[i * N + j] -= l1 * b[j];
            u[i * N + k] = second || (i == k + 1 && two) ? u[i * N + k] : l1;
        }
        if (two) {
            for (int i = k + 2; i < N; ++i) {
                T l2 = (e1 * c[i] - b[i]) * g;
                for (int j = k + 2; j <= i; ++j) u[i * N + j] -= l2 * c[j];
                u[i * N + k + 1] = l2;
            }
        }
        u[(k + 1) * N + k + 1] = two ? d2 : u[(k + 1) * N + k + 1];
        u[k * N + k] = good ? p1 : (T)0;
        row[k] = two ? ~row[k] : row[k];
        row[k + 1] = two ? ~row[k + 1] : row[k + 1];
        second = two;
    }
    T last = u[N * N - 1];
    bool good = second || fabs(last) > small;
    check += last * (T)0;
    positive += !second && good && last > 0 ? 1 : 0;
    zero += good ? 0 : 1;
    u[N * N - 1] = good ? last : (T)0;
    for (int j = 0; j < N; ++j) {
        T x = 0;
        int p = 0;
        for (int i = 0; i < N; ++i) {
            x = LANE == i && i >= j ? u[i * N + j] : x;
            p = LANE == i ? row[i] : p;
        }
        if (LANE >= j) a[base + j * lda + LANE] = x;
        if (j == 0) piv[GROUP * N + LANE] = p;
    }
    bool finite = check == (T)0;
#include "ldlt_info.h"
}
