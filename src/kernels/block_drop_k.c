/* SPDX-License-Identifier: BSD-3-Clause */
/* Dual threshold (Saad 1994; Thuerck et al. 2018, sec. IV.B.3): a bound for each column, then the
 * largest of what is left. The place of an entry breaks ties, so the result is one for all
 * instruction sets and schedules. */
#include "block_isa.h"
#include "vector.h"

/* modulus that orders entries; NaN comes before everything: it must be seen, not dropped */
INLINE R rank_of(T x) {
    R a = t_abs(x);
    return a == a ? a : (R)INFINITY;
}

static int64_t threshold(int rows, int cols, const T *c, int ld, const R *drop, T *out) {
    int64_t left = 0;
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) {
            T x = c[r * ld + k];
            int gone = t_abs(x) <= drop[k];
            if (out && gone) out[r * ld + k] = t_make(0, 0);
            left += !gone && t_abs(x) != 0;
        }
    return left;
}

/* the k-th largest (k >= 1) of n values, which are reordered */
static R kth_largest(R *v, int64_t n, int64_t k) {
    int64_t lo = 0, hi = n - 1;
    k--;
    while (lo < hi) {
        R pivot = v[lo + (hi - lo) / 2];
        int64_t i = lo, j = hi;
        while (i <= j) {
            while (v[i] > pivot) i++;
            while (v[j] < pivot) j--;
            if (i <= j) {
                R t = v[i];
                v[i++] = v[j], v[j--] = t;
            }
        }
        if (k <= j)
            hi = j;
        else if (k >= i)
            lo = i;
        else
            break;
    }
    return v[k];
}

int64_t ISA_FN(block_drop)(int rows, int cols, T *c, int ld, const R *drop, int64_t capacity,
                           int count_only) {
    int64_t left = threshold(rows, cols, c, ld, drop, c);
    if (count_only || capacity < 0 || left <= capacity) return left;
    R v[MPKI_BLOCK_MAX * MPKI_BLOCK_MAX];
    int64_t n = 0, above = 0;
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++)
            if (t_abs(c[r * ld + k]) != 0) v[n++] = rank_of(c[r * ld + k]);
    R cut = capacity > 0 ? kth_largest(v, n, capacity) : (R)INFINITY;
    for (int64_t i = 0; i < n; i++) above += v[i] > cut;
    int64_t ties = capacity - above; /* of those that equal the cut, the first ones stay */
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) {
            R x = rank_of(c[r * ld + k]);
            if (x > cut || (x == cut && ties-- > 0)) continue;
            c[r * ld + k] = t_make(0, 0);
        }
    return capacity;
}
