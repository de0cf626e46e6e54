/* SPDX-License-Identifier: BSD-3-Clause */
/* A block as a product of two thin ones, by a truncated orthogonalization with column pivots. The
 * column that has most left gives the next vector, as in QR with column pivots (Businger & Golub
 * 1965, Numer. Math. 7); what the vectors explain is taken off the block itself (modified
 * Gram-Schmidt), so that what is left is the error, however orthogonal they are. A column is read
 * and written once in each step. */
#include "isa.h"
#include "vector.h"

/* Halves onto halves: the same order in every build for this instruction set. */
INLINE R all_lanes(vec x) {
    R part[VBYTES / sizeof(R)];
    v_store(part, x);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) part[k] += part[k + width];
    return part[0];
}

/* Sum of squares of `count` reals. */
INLINE R squares(int count, const R *x) {
    vec s = {0};
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        const vec v = v_load(x + i);
        s += v * v;
    }
    if (i < count) {
        const vec v = v_load_n(x + i, count - i);
        s += v * v;
    }
    return all_lanes(s);
}

#if MPKI_COMPLEX
INLINE T project(int count, const R *q, const R *x) {
    vec re = {0}, im = {0};
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        const vec qi = v_load(q + i), xi = v_load(x + i);
        re += qi * xi;
        im += v_times_i(qi) * xi;
    }
    if (i < count) {
        const vec qi = v_load_n(q + i, count - i), xi = v_load_n(x + i, count - i);
        re += qi * xi;
        im += v_times_i(qi) * xi;
    }
    return t_make(all_lanes(re), all_lanes(im));
}
INLINE vec times(vec q, vec re, vec im) {
    return q * re + v_times_i(q) * im;
}
#else
INLINE T project(int count, const R *q, const R *x) {
    vec s = {0};
    int i = 0;
    for (; i + LANES <= count; i += LANES) s += v_load(q + i) * v_load(x + i);
    if (i < count) s += v_load_n(q + i, count - i) * v_load_n(x + i, count - i);
    return all_lanes(s);
}
INLINE vec times(vec q, vec re, vec im) {
    (void)im;
    return q * re;
}
#endif

/* x -= q s; returns the sum of squares that is left */
INLINE R take_off(int count, const R *q, T s, R *x) {
    const vec re = v_all(t_re(s)), im = v_all(t_im(s));
    vec sum = {0};
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        const vec y = v_load(x + i) - times(v_load(q + i), re, im);
        v_store(x + i, y);
        sum += y * y;
    }
    if (i < count) {
        const int left = count - i;
        const vec y = v_load_n(x + i, left) - times(v_load_n(q + i, left), re, im);
        v_store_n(x + i, y, left);
        sum += y * y;
    }
    return all_lanes(sum);
}

int ISA_FN(compress)(int rows, int cols, T *a, int64_t lda, R tolerance, int most, T *q,
                     int64_t ldq, T *z, int64_t ldz) {
    enum { COLUMNS = 128, LOOK = 4 };
    const int count = rows * PARTS;
    const R bound = tolerance * tolerance, least = bound / (R)(64 * COLUMNS);
    R left[COLUMNS], total = 0;
    for (int j = 0; j < cols; j++) {
        left[j] = squares(count, (const R *)(a + j * lda));
        total += left[j];
    }
    const R begin = total;
    for (int r = 0;; r++) {
        if (total <= bound) return r;
        if (r == most || !(total - total == 0)) return -1;
        /* at this rate, will it be less than `most`? */
        if (r >= LOOK && r % LOOK == 0 &&
            (double)r * log((double)(begin / bound)) > 1.25 * most * log((double)(begin / total)))
            return -1;
        int p = 0;
        for (int j = 1; j < cols; j++)
            if (left[j] > left[p]) p = j;
        const R length = r_sqrt(left[p]);
        T *qr = q + r * ldq;
        const T *ap = a + p * lda;
        if (!(length > 0)) return -1;
        for (int i = 0; i < rows; i++) qr[i] = ap[i] / length;
        total = 0;
        for (int j = 0; j < cols; j++) {
            T s = t_make(0, 0);
            if (left[j] > least) {
                R *aj = (R *)(a + j * lda);
                s = project(count, (const R *)qr, aj);
                left[j] = take_off(count, (const R *)qr, s, aj);
            }
            z[r + j * ldz] = s;
            total += left[j];
        }
    }
}
