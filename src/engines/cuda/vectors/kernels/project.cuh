/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_PROJECT_CUH
#define MPKI_CUDA_VECTORS_PROJECT_CUH
/** Gram-Schmidt of a vector against a group of others: a pass forms all products of the group, the
 *  next one subtracts. Coefficients stay on the device, so that nothing waits for the host between
 *  them. */
#include "reduce.cuh"

namespace mpki {

template <class E> struct group_of { /* MOST_SUMS sums a pass, two a product where complex */
    enum { value = scalar_of<E>::complex ? MOST_SUMS / 2 : MOST_SUMS };
};

/** h_k := v_k^H w for the `count` vectors of a group. */
template <class E> struct products_pass : pass<MOST_SUMS, 1> {
    enum { GROUP = group_of<E>::value, EACH = MOST_SUMS / GROUP, RESIDENT = 2 };
    struct item {
        E w, v[GROUP];
    };
    const E *v[GROUP], *w;
    int count;
    double *h, *report; /* of the group: device, page-locked */
    __device__ item load(int64_t i) const {
        item x;
        x.w = w[i];
#pragma unroll
        for (int k = 0; k < GROUP; ++k) x.v[k] = k < count ? v[k][i] : make<E>(0);
        return x;
    }
    template <class N>
    __device__ void use(int64_t, const item &x, const N &, double (&sums)[MOST_SUMS]) const {
        double none = 0;
#pragma unroll
        for (int k = 0; k < GROUP; ++k)
            add_product<E>(1, to_number(x.v[k]), to_number(x.w), sums[EACH * k],
                           EACH == 2 ? sums[EACH * k + EACH - 1] : none);
    }
    __device__ void end(const double (&sums)[MOST_SUMS]) const {
        for (int k = 0; k < count; ++k) {
            const double re = sums[EACH * k], im = EACH == 2 ? sums[EACH * k + EACH - 1] : 0;
            h[2 * k] = re, h[2 * k + 1] = im;
            ((volatile double *)report)[2 * k] = re, ((volatile double *)report)[2 * k + 1] = im;
        }
    }
};

/** w := w - sum_k h_k v_k over a group; ||w||^2, which the last group of a call reports. */
template <class E> struct subtract_pass : pass<1, 1> {
    enum { GROUP = group_of<E>::value, RESIDENT = 2 };
    struct item {
        E w, v[GROUP];
    };
    struct scalars {
        E h[GROUP];
    };
    const E *v[GROUP];
    E *w;
    int count;
    const double *h;
    bool last; /* of the call: it tells */
    host_report publish;
    __device__ scalars begin() const {
        scalars s;
#pragma unroll
        for (int k = 0; k < GROUP; ++k)
            s.h[k] = k < count ? to_entry<E>(h[2 * k], h[2 * k + 1]) : make<E>(0);
        return s;
    }
    __device__ item load(int64_t i) const {
        item x;
        x.w = w[i];
#pragma unroll
        for (int k = 0; k < GROUP; ++k) x.v[k] = k < count ? v[k][i] : make<E>(0);
        return x;
    }
    __device__ void use(int64_t i, const item &x, const scalars &s, double (&sums)[1]) const {
        E updated = x.w;
#pragma unroll
        for (int k = 0; k < GROUP; ++k)
            if (k < count) updated = updated - s.h[k] * x.v[k];
        w[i] = updated;
        sums[0] += square(to_number(updated));
    }
    __device__ void end(const double (&sums)[1]) const {
        if (last) publish(sums);
    }
};

/** ||w||^2, which the host reads with the next report. */
template <class E> struct square_pass : pass<1, 4> {
    typedef E item;
    const E *w;
    double *report;
    __device__ item load(int64_t i) const { return w[i]; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[1]) const {
        sums[0] += square(to_number(v));
    }
    __device__ void end(const double (&sums)[1]) const { *(volatile double *)report = sums[0]; }
};

} // namespace mpki

#endif
