/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivots in columns, SEARCH PARTIAL or ROOK: P A P^T = L D L^T in place, lower triangle,
 * left-looking: only the columns that a step looks at are formed. Work-item i holds row i of L and
 * of M = L D; rows never move, `place` is where row i goes when L is written. piv
 * [out]: old index p at each place, ~p at both places of a 2x2 pivot. The body of a kernel,
 * behind ldlt_pivots.h. */
long base = GROUP * stride;
T l[N + 1];
T m[N + 1];
T check = 0;
T most = 0;
for (int j = 0; j < N; ++j) {
    T x = LANE >= j ? a[base + j * lda + LANE] : (T)0;
    check += x * (T)0;
    most = max(most, fabs(x));
}
most = work_group_reduce_max(most);
T small = tol * max(most, (T)0);
bool left = true;    /* this row is not finished */
bool second = false; /* this place was eliminated with the one before */
int place = 0;
int mark = 0; /* 1, 2: first and second row of a 2x2 pivot */
int zero = 0;
int positive = 0;
for (int s = 0; s < N; ++s) {
    int p = work_group_reduce_max_index(left ? N - LANE : 0); /* the lowest row left */
    T c1 = left ? a[base + (long)min(LANE, p) * lda + max(LANE, p)] : (T)0;
    T c2 = 0;
    for (int k = 0; k < s; ++k) c1 -= l[k] * shuffle(m[k], p);
    c1 = left ? c1 : (T)0;
    check += c1 * (T)0;
    T size = left && LANE != p ? fabs(c1) : (T)-1;
    int q = work_group_reduce_max_index(size);
    T lambda = max(shuffle(size, q), (T)0);
    bool two = false;
    T diagonal = fabs(shuffle(c1, p));
#if SEARCH == PARTIAL
    if (!second && lambda > small && diagonal < ALPHA * lambda) {
        c2 = left ? a[base + (long)min(LANE, q) * lda + max(LANE, q)] : (T)0;
        for (int k = 0; k < s; ++k) c2 -= l[k] * shuffle(m[k], q);
        c2 = left ? c2 : (T)0;
        check += c2 * (T)0;
        T sigma = work_group_reduce_max(left && LANE != q ? fabs(c2) : (T)0);
        bool stay = diagonal > 0 && diagonal * sigma >= ALPHA * lambda * lambda;
        T beyond = fabs(shuffle(c2, q));
        bool swap = !stay && beyond >= ALPHA * sigma;
        two = !stay && !swap;
        p = swap ? q : p;
        c1 = swap ? c2 : c1;
    }
#else
    bool search = !second && lambda > small && diagonal < ALPHA * lambda;
    int steps = 0;
    while (search) {
        c2 = left ? a[base + (long)min(LANE, q) * lda + max(LANE, q)] : (T)0;
        for (int k = 0; k < s; ++k) c2 -= l[k] * shuffle(m[k], q);
        c2 = left ? c2 : (T)0;
        check += c2 * (T)0;
        size = left && LANE != q ? fabs(c2) : (T)-1;
        int next = work_group_reduce_max_index(size);
        T sigma = max(shuffle(size, next), (T)0);
        bool one = fabs(shuffle(c2, q)) >= ALPHA * sigma;
        steps += 1;
        two = !one && (next == p || !(sigma > lambda) || steps >= N);
        search = !one && !two;
        if (one || search) { /* q takes the place of p */
            p = q;
            c1 = c2;
        }
        q = search ? next : q;
        lambda = sigma;
    }
#endif
    if (!second) {
        if (two) {
            T d1 = shuffle(c1, p);
            T d21 = shuffle(c1, q);
            T d2 = shuffle(c2, q);
            T scale = max(fabs(d21), max(fabs(d1), fabs(d2)));
            T r = rcp(scale);
            T e1 = d1 * r;
            T e21 = d21 * r;
            T e2 = d2 * r;
            T det = e1 * e2 - e21 * e21;
            T f = r * rcp(det);
            positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
            l[s] = f * (e2 * c1 - e21 * c2);
            l[s + 1] = f * (e1 * c2 - e21 * c1);
            m[s] = c1;
            m[s + 1] = c2;
            if (LANE == p || LANE == q) {
                left = false;
                mark = LANE == p ? 1 : 2;
                place = LANE == p ? s : s + 1;
            }
        } else {
            T d = shuffle(c1, p);
            bool good = fabs(d) > small || lambda > small;
            zero += good ? 0 : 1;
            positive += good && d > 0 ? 1 : 0;
            l[s] = good ? c1 * rcp(d) : (T)0;
            m[s] = good ? c1 : (T)0;
            if (LANE == p) {
                left = false;
                place = s;
            }
        }
    }
    second = two;
}
check += most * (T)0;
barrier(CLK_GLOBAL_MEM_FENCE);
for (int s = 0; s < N; ++s)
    if (place >= s)
        a[base + s * lda + place] = place == s || (mark == 2 && place == s + 1) ? m[s] : l[s];
piv[GROUP * N + place] = mark > 0 ? ~LANE : LANE;
bool finite = all(check == (T)0);
#include "ldlt_info.h"
