/* SPDX-License-Identifier: BSD-3-Clause */
/* Dual threshold (Saad 1994; Thuerck et al. 2018, sec. IV.B.3): a bound for each column, then the
 * largest of what is left. Ties, but for rounding, go by position in the block, so the result is
 * the same for all instruction sets and schedules. */
#include "alpha.h"
#include "block_isa.h"
#include "block_mask.h"

#if MPKI_PRECISION == 0
typedef int32_t ivec __attribute__((vector_size(VBYTES)));
#elif MPKI_PRECISION == 1
typedef int64_t ivec __attribute__((vector_size(VBYTES)));
#endif

#if MPKI_PRECISION == 0 || MPKI_PRECISION == 2
typedef uint32_t key;
#else
typedef uint64_t key;
#endif

/* the modulus by which entries are ordered, rounded (MPKI_RANK_BITS), above 0; NaN comes before
 * everything, so that it is seen and not dropped */
INLINE R rank_of(T x) {
    const key unit = (key)1 << MPKI_RANK_BITS(sizeof(R));
    R a = t_abs(x);
    key k;
    if (!(a == a)) return (R)INFINITY;
    memcpy(&k, &a, sizeof k);
    k = (k + unit / 2) & ~(unit - 1);
    k = k ? k : unit;
    memcpy(&a, &k, sizeof a);
    return a;
}

#if MPKI_COMPLEX
/* |x| <= bound; the modulus is computed only where the parts do not decide */
INLINE int is_small(T x, R bound) {
    R a = r_abs(t_re(x)), b = r_abs(t_im(x));
    if (a + b <= bound) return 1;
    return a > bound || b > bound ? 0 : t_abs(x) <= bound;
}
#endif

/* set to zero what is not above its column's bound; returns how many entries are left */
static int64_t threshold(int rows, int cols, T *c, int ld, const R *drop) {
    int64_t left = 0;
#if MPKI_COMPLEX
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) {
            T *x = c + r * ld + k;
            if (is_small(*x, drop[k])) *x = t_make(0, 0);
            left += !(t_re(*x) == 0 && t_im(*x) == 0);
        }
#else
    for (int k = 0; k < cols; k += LANES) {
        int here = cols - k < LANES ? cols - k : LANES;
        vec bound = v_load_n(drop + k, here);
        for (int r = 0; r < rows; r++) {
            vec x = v_load(c + r * ld + k);
            x = (vec)((ivec)x & ~(v_abs(x) <= bound)); /* NaN stays */
            v_store(c + r * ld + k, x);
            left += __builtin_popcount(v_nonzero(x));
        }
    }
#endif
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

enum { BINS = 512, KEY_SHIFT = sizeof(R) == 4 ? 20 : 49 }; /* exponent and 3 bits */

INLINE key key_of(R x) { /* x >= 0: keys have the order of x */
    key k;
    memcpy(&k, &x, sizeof k);
    return k >> KEY_SHIFT;
}

/* the k-th largest of n moduli, and how many of those equal to it belong to the k largest; its bin
 * is found first, by counting */
static R cut_at(R *v, int64_t n, int64_t k, int64_t *ties) {
    int32_t bin[BINS] = {0};
    key top = 0;
    for (int64_t i = 0; i < n; i++) top = key_of(v[i]) > top ? key_of(v[i]) : top;
    for (int64_t i = 0; i < n; i++) {
        key below = top - key_of(v[i]);
        bin[below < BINS ? below : BINS - 1]++;
    }
    key b = 0;
    for (; b < BINS - 1 && bin[b] < k; b++) k -= bin[b];
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        R x = v[i];
        key below = top - key_of(x);
        v[m] = x;
        m += (below < BINS ? below : BINS - 1) == b;
    }
    R cut = kth_largest(v, m, k);
    *ties = k;
    for (int64_t i = 0; i < m; i++) *ties -= v[i] > cut;
    return cut;
}

/* set to zero what is below the cut; of the entries equal to it, all but the first `ties` */
static void keep_above(int rows, int cols, T *c, int ld, R cut, int64_t ties) {
    for (int r = 0; r < rows; r++) {
        T *row = c + r * ld;
        uint32_t mask[4];
        row_bits(cols, row, mask);
        for (int i = 0; i < (cols + 31) / 32; i++)
            for (uint32_t bits = mask[i]; bits; bits &= bits - 1) {
                T *x = row + 32 * i + __builtin_ctz(bits);
                R rank = rank_of(*x);
                int equal = rank == cut, stays = (rank > cut) | (equal & (ties > 0));
                ties -= equal;
                *x = stays ? *x : t_make(0, 0);
            }
    }
}

/* moduli of what is not zero; returns how many */
static int64_t moduli(int rows, int cols, const T *c, int ld, R *v) {
    int64_t n = 0;
    for (int r = 0; r < rows; r++) {
        const T *row = c + r * ld;
        uint32_t mask[4];
        row_bits(cols, row, mask);
        for (int i = 0; i < (cols + 31) / 32; i++)
            for (uint32_t bits = mask[i]; bits; bits &= bits - 1)
                v[n++] = rank_of(row[32 * i + __builtin_ctz(bits)]);
    }
    return n;
}

int64_t ISA_FN(block_drop)(int rows, int cols, T *c, int ld, const R *drop, int64_t capacity,
                           int count_only) {
    int64_t left = threshold(rows, cols, c, ld, drop);
    if (count_only || capacity < 0 || left <= capacity) return left;
    R v[MPKI_BLOCK_MAX * MPKI_BLOCK_MAX];
    int64_t n = moduli(rows, cols, c, ld, v), ties = 0;
    R cut = capacity > 0 ? cut_at(v, n, capacity, &ties) : (R)INFINITY;
    keep_above(rows, cols, c, ld, cut, ties);
    return capacity;
}
