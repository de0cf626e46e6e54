/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_PASSES_CUH
#define MPKI_CUDA_VECTORS_PASSES_CUH
/** The operations of mpki_vector_ops (engines/interface/engine.h) as passes over vectors. */
#include "core/random.h"
#include "reduce.cuh"

namespace mpki {

template <class E> struct pair { E x, y; };

/** x^T y (x^H y where `hermitian`), ||x||^2 and ||y||^2, for the host. */
template <class E> struct product_pass : pass<4, 4> {
    typedef pair<E> item;
    int hermitian;
    const E *x, *y;
    host_report publish;
    __device__ item load(int64_t i) const { return {x[i], y[i]}; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[4]) const {
        const number a = to_number(v.x), b = to_number(v.y);
        add_product<E>(hermitian, a, b, sums[0], sums[1]);
        sums[2] += square(a);
        sums[3] += square(b);
    }
    __device__ void end(const double (&sums)[4]) const { publish(sums); }
};

/** y := a x (KEEP 0), a x + y (1), a x + b y (2); NORM: ||y||^2, for the host. */
template <class E, int KEEP, int NORM> struct axpby_pass : pass<NORM, 4> {
    typedef pair<E> item;
    E a, b;
    const E *x;
    E *y;
    host_report publish;
    __device__ item load(int64_t i) const { return {x[i], KEEP ? y[i] : x[i]}; }
    template <class N>
    __device__ void use(int64_t i, const item &v, const N &, double (&sums)[1]) const {
        const E updated = KEEP == 0 ? a * v.x : KEEP == 1 ? v.y + a * v.x : a * v.x + b * v.y;
        y[i] = updated;
        if (NORM) sums[0] += square(to_number(updated));
    }
    __device__ void end(const double (&sums)[1]) const { publish(sums); }
};

enum { FILL_ZERO, FILL_SIGNS, FILL_RANDOM };

/** x_i := 0, a sign or a random number of row i, by `kind` (FILL_*). */
template <class E> struct fill_pass : pass<0, 1> {
    struct item {};
    int kind;
    uint64_t state;
    E *x;
    __device__ item load(int64_t) const { return {}; }
    template <class N> __device__ void use(int64_t i, const item &, const N &, double *) const {
        double re = 0, im = 0;
        if (kind == FILL_SIGNS) re = mpki_random_sign32((uint32_t)i);
        if (kind == FILL_RANDOM) {
            const uint64_t step = scalar_of<E>::complex ? 2 : 1;
            uint64_t at = state + step * (uint64_t)i * MPKI_GOLDEN;
            re = mpki_random_signed(&at);
            if (scalar_of<E>::complex) im = mpki_random_signed(&at);
        }
        x[i] = to_entry<E>(re, im);
    }
};

/** 0 if all entries of x are finite, else NaN, for the host. */
template <class E> struct finite_pass : pass<1, 4> {
    typedef E item;
    const E *x;
    host_report publish;
    __device__ item load(int64_t i) const { return x[i]; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[1]) const {
        sums[0] += nonfinite(to_number(v));
    }
    __device__ void end(const double (&sums)[1]) const { publish(sums); }
};

/** max |re x_i| + |im x_i|, infinity where NaN is among them, for the host. */
template <class E> struct largest_pass : pass<1, 4, greater> {
    typedef E item;
    const E *x;
    host_report publish;
    __device__ item load(int64_t i) const { return x[i]; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[1]) const {
        const double size = (double)abs1(v);
        if (!(size <= sums[0])) sums[0] = size > 0 ? size : (double)INFINITY;
    }
    __device__ void end(const double (&sums)[1]) const { publish(sums); }
};

/** The number of entries in which x and y differ in a bit, for the host. */
template <class E> struct differ_pass : pass<1, 4> {
    typedef pair<E> item;
    const E *x, *y;
    host_report publish;
    __device__ item load(int64_t i) const { return {x[i], y[i]}; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[1]) const {
        const number a = to_number(v.x), b = to_number(v.y);
        sums[0] += __double_as_longlong(a.x) != __double_as_longlong(b.x) ||
                   __double_as_longlong(a.y) != __double_as_longlong(b.y);
    }
    __device__ void end(const double (&sums)[1]) const { publish(sums); }
};

/** y := 2^exponent x. */
template <class E> struct shift_pass : pass<0, 2> {
    typedef E item;
    int exponent;
    const E *x;
    E *y;
    __device__ item load(int64_t i) const { return x[i]; }
    template <class N> __device__ void use(int64_t i, const item &v, const N &, double *) const {
        const number a = to_number(v);
        y[i] = to_entry<E>(ldexp(a.x, exponent), ldexp(a.y, exponent));
    }
};

/** plain += |a|^2, and small += |2^-600 a|^2, which stays finite up to the largest numbers. By
 *  each thread for itself; no barrier. */
__device__ inline void add_square(number a, double &plain, double &small) {
    const double unit = 0x1p-600;
    plain += square(a);
    small += square({a.x * unit, a.y * unit});
}
inline double norm_of(double plain, double small) {
    return isfinite(plain) ? sqrt(plain) : ldexp(sqrt(small), 600);
}

/** ||x||^2 and ||y||^2, each plain and scaled as add_square() has them, for the host. */
template <class E> struct norms_pass : pass<4, 4> {
    typedef pair<E> item;
    const E *x, *y;
    host_report publish;
    __device__ item load(int64_t i) const { return {x[i], y[i]}; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[4]) const {
        add_square(to_number(v.x), sums[0], sums[1]);
        add_square(to_number(v.y), sums[2], sums[3]);
    }
    __device__ void end(const double (&sums)[4]) const { publish(sums); }
};

/** Of rows of a real residual r = b - A x: max |r|, omega_1 and omega_2 of Arioli, Demmel & Duff
 *  (1989), and whether a row is near the ends of the range; for the host. */
template <class E> struct judge_pass : pass<4, 2, greater> {
    struct item {
        double b, r, w, a;
    };
    mpki_cuda_judging rows;
    host_report publish;
    /** x is 0, or far from both ends of the range. By each thread for itself; no barrier. */
    __device__ bool inside(double x) const { return x == 0 || (x > rows.small && x < rows.large); }
    __device__ item load(int64_t i) const {
        return {fabs((double)((const E *)rows.b)[i]), fabs((double)((const E *)rows.r)[i]),
                rows.w[i], rows.row_norm[i]};
    }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[4]) const {
        const double all = v.a * rows.x_norm + v.b;
        const bool by_row = v.w > rows.tiny * all;
        const double q = v.r / (by_row ? v.w : v.w - v.b + v.a * rows.x_norm);
        if (!(v.r <= sums[0])) sums[0] = v.r > 0 ? v.r : (double)INFINITY;
        if (!inside(all) || !inside(v.a) || (all == 0 && v.a > 0 && rows.x_norm > 0)) sums[3] = 1;
        if (v.r == 0) return;
        if (q > sums[by_row ? 1 : 2])
            sums[by_row ? 1 : 2] = q;
        else if (!(q >= 0))
            sums[3] = 1;
    }
    __device__ void end(const double (&sums)[4]) const { publish(sums); }
};

/** x_j := rows_i columns_j b_i, where i = from_j; arrays that are NULL count as ones or as j. */
template <class E> struct scales_pass : pass<0, 2> {
    struct item {
        E b;
        double s;
    };
    const double *rows, *columns;
    const int32_t *from;
    const E *b;
    E *x;
    __device__ item load(int64_t j) const {
        const int64_t i = from ? from[j] : j;
        return {b[i], (rows ? rows[i] : 1) * (columns ? columns[j] : 1)};
    }
    template <class N> __device__ void use(int64_t j, const item &v, const N &, double *) const {
        const number a = to_number(v.b);
        x[j] = to_entry<E>(v.s * a.x, v.s * a.y);
    }
};

} // namespace mpki

#endif
