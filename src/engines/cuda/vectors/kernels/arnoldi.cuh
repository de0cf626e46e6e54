/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_ARNOLDI_CUH
#define MPKI_CUDA_VECTORS_ARNOLDI_CUH
/** Steps of GMRES and FGMRES without the host, as solve/krylov/gmres_t.c has them. The number of
 *  the step is read from device memory, so that every step is the same to a graph: operators work
 *  on vectors that stay where they are, and passes put these into the basis. Classical
 *  Gram-Schmidt: one pass forms all products, one subtracts; both again where the first ones
 *  cancelled. What is left of
 *  ||w|| is known before it is subtracted, from ||w||^2 - ||c||^2 (Pythagoras), so the pass that
 *  subtracts last makes the new vector of the basis too. That difference is accurate where little
 *  cancels, and after the second pass little does. */
#include "project.cuh"
#include "steps.cuh"

namespace mpki {

/** Phases of a step; the passes that are not due do nothing. */
enum { CYCLE_NOTHING = 0, CYCLE_AGAIN, CYCLE_FIRST, CYCLE_SECOND };

/* ---- after a product t = A z ---- */

/** Adds nonfinite(z) (if m: z is M^-1 of something), |z|^2, |t|^2, nonfinite(t) to sums, t = A
 *  z. By each thread for itself; no barrier. */
template <class E> __device__ inline void cycle_add(bool m, E z, E t, double (&sums)[4]) {
    const number a = to_number(z), b = to_number(t);
    if (m) sums[0] += nonfinite(a);
    sums[1] += square(a);
    sums[2] += square(b);
    sums[3] += nonfinite(b);
}

/** Tests the sums v of cycle_add(), updates the estimate of ||A|| and counts the step. By one
 *  thread; no barrier. */
__device__ inline void cycle_end(mpki_cuda_state *s, const double (&v)[4]) {
    if (!(v[0] == 0)) return fail(s, MPKI_CUDA_M_BAD);
    if (!(v[3] == 0)) return fail(s, MPKI_CUDA_A_BAD);
    update_norm(s, v[1], v[2]);
    s->column++;
}

/** The sums of cycle_add() for t = A z; fgmres keeps z. */
template <class E> struct cycle_product_pass : step_pass<4, 4> {
    typedef pair<E> item;
    bool m; /* z is M^-1 of something */
    const E *z, *t;
    E *kept; /* NULL, or fgmres: where vectors z are kept, `stride` apart */
    int64_t stride;
    __device__ item load(int64_t i) const { return {z[i], t[i]}; }
    template <class N>
    __device__ void use(int64_t i, const item &x, const N &, double (&sums)[4]) const {
        if (kept) kept[(this->state->column + 1) * stride + i] = x.x;
        cycle_add<E>(m, x.x, x.y, sums);
    }
    __device__ void end(const double (&sums)[4]) const { cycle_end(this->state, sums); }
};

/** As cycle_product_pass, of t = A z entry by entry as the product makes it. */
template <class E> struct put_cycle {
    enum { SUMS = 4 };
    mpki_cuda_state *state;
    bool m;
    const E *z;
    E *t, *kept;
    int64_t stride;
    __device__ bool skip() const { return *(volatile int32_t *)&state->end != MPKI_CUDA_GO; }
    __device__ void operator()(int64_t i, E v, double (&sums)[4]) const {
        const E own = z[i];
        t[i] = v;
        if (kept) kept[(state->column + 1) * stride + i] = own;
        cycle_add<E>(m, own, v, sums);
    }
    __device__ void end(const double (&sums)[4]) const { cycle_end(state, sums); }
};

/* ---- Gram-Schmidt ---- */

template <class E> struct basis_of {
    E *v; /* the basis, `stride` apart */
    int64_t stride, n;
    E *w, *p; /* what is projected; a copy of the newest vector of the basis */
    mpki_cuda_state *state;
    mpki_cuda_cycle cycle;
    unsigned *ticket;
    int blocks; /* of a group of vectors */
};

/* A column of H as the last block works on it. */
struct column_memory {
    double sum[2 * MPKI_CUDA_BASIS + MOST_SUMS + 1]; /* products, then ||w||^2 */
    double h[2 * MPKI_CUDA_BASIS + 2], sine[2 * MPKI_CUDA_BASIS], cosine[MPKI_CUDA_BASIS];
};

/** Applies the rotations of steps 0 .. j - 1 to column j of H, whose last entry is `next` >= 0,
 *  then makes the rotation that removes `next` and applies it to g. Returns the residual's norm.
 *  By one thread; no barrier. */
template <class E>
__device__ inline double rotate_column(const mpki_cuda_cycle &c, mpki_cuda_state *s,
                                       column_memory &at, int j, double next) {
    number a = {at.h[0], at.h[1]};
    for (int i = 0; i < j; ++i) {
        const number b = {at.h[2 * i + 2], at.h[2 * i + 3]};
        const number sine = {at.sine[2 * i], at.sine[2 * i + 1]};
        const double cosine = at.cosine[i];
        at.h[2 * i] = cosine * a.x + (sine.x * b.x - sine.y * b.y);
        at.h[2 * i + 1] = cosine * a.y + (sine.x * b.y + sine.y * b.x);
        a = {cosine * b.x - (sine.x * a.x + sine.y * a.y),
             cosine * b.y - (sine.x * a.y - sine.y * a.x)};
    }
    const double size = size_of<E>(a), length = hypot(size, next);
    double cosine = 1;
    number sine = {0, 0};
    if (length > 0) {
        const double part = next / length;
        cosine = size > 0 ? size / length : 0;
        sine = {1, 0};
        if (size > 0) sine = {a.x / size * part, a.y / size * part};
    }
    at.h[2 * j] = cosine * a.x + sine.x * next;
    at.h[2 * j + 1] = cosine * a.y + sine.y * next;
    const number g = of(s->beta),
                 rest = {-(sine.x * g.x + sine.y * g.y), -(sine.x * g.y - sine.y * g.x)};
    c.cosine[j] = cosine;
    c.sine[2 * j] = sine.x, c.sine[2 * j + 1] = sine.y;
    c.g[2 * j] = cosine * g.x, c.g[2 * j + 1] = cosine * g.y;
    s->beta[0] = rest.x, s->beta[1] = rest.y;
    return size_of<E>(rest);
}

/** From ||w||^2 and c_k = v_k^H w of a pass over `sums` numbers: another pass where more than
 *  half of ||w||^2 cancelled (Daniel, Gragg, Kaufman & Stewart 1976), else the end of step j. By
 *  one thread; no barrier. */
template <class E, int PASS>
__device__ inline void judge_column(const mpki_cuda_cycle &c, mpki_cuda_state *s, column_memory &at,
                                    int j, int sums) {
    const double cancelled = 0.5; /* of squares: Daniel, Gragg, Kaufman & Stewart's factor */
    const double square = at.sum[sums];
    double taken = 0;
    for (int k = 0; k < sums; ++k) taken += at.sum[k] * at.sum[k];
    const double left = square - taken;
    if (PASS == 1) s->square = square;
    if (PASS == 1 && left < cancelled * square) {
        s->phase = CYCLE_AGAIN;
        return;
    }
    const double norm = left < 0 ? 0 : sqrt(left);
    const bool whole = !(norm > 4 * unit_of<E>() * sqrt(s->square)); /* an invariant space */
    const double recurred = rotate_column<E>(c, s, at, j, whole ? 0 : norm);
    count_step(s, isfinite(square) ? recurred : square, 0);
    s->factor = 1 / norm;
    s->phase = whole ? CYCLE_NOTHING : PASS == 1 ? CYCLE_FIRST : CYCLE_SECOND;
    if (whole) fail(s, MPKI_CUDA_INVARIANT);
}

/** Adds the blocks' partial sums in their order and adds c to column j of H; then
 *  judge_column(). By all threads of the last block of a pass; block barriers. */
template <class E, int PASS>
__device__ inline void end_column(const basis_of<E> &a, column_memory &at, int j, int sums) {
    const int lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const int all = (a.cycle.m + group_of<E>::value - 1) / group_of<E>::value * MOST_SUMS;
    double *const h = a.cycle.h + 2 * (int64_t)j * (a.cycle.m + 1);
    for (int q = threadIdx.x >> 5; q <= sums; q += warps) {
        const double *from = a.cycle.partial + (int64_t)(q < sums ? q : all) * a.blocks;
        double sum = 0;
        for (int b = lane; b < a.blocks; b += 32) sum += __ldcg(from + b);
        for (int o = 16; o; o /= 2) sum += shfl_xor(sum, o);
        if (lane == 0) at.sum[q] = sum;
    }
    for (int i = threadIdx.x; i < j; i += blockDim.x) {
        at.cosine[i] = a.cycle.cosine[i];
        at.sine[2 * i] = a.cycle.sine[2 * i], at.sine[2 * i + 1] = a.cycle.sine[2 * i + 1];
    }
    __syncthreads();
    enum { EACH = MOST_SUMS / group_of<E>::value };
    for (int k = threadIdx.x; k <= j; k += blockDim.x) {
        const double re = at.sum[EACH * k], im = EACH == 2 ? at.sum[EACH * k + EACH - 1] : 0;
        a.cycle.c[2 * k] = re, a.cycle.c[2 * k + 1] = im;
        at.h[2 * k] = PASS == 1 ? re : h[2 * k] + re;
        at.h[2 * k + 1] = PASS == 1 ? im : h[2 * k + 1] + im;
    }
    __syncthreads();
    if (threadIdx.x == 0) judge_column<E, PASS>(a.cycle, a.state, at, j, sums);
    __syncthreads();
    for (int k = threadIdx.x; k < 2 * j + 2; k += blockDim.x) h[k] = at.h[k];
    if (threadIdx.x == 0) *a.ticket = 0;
}

/** c_k := v_k^H w for all vectors of the basis, and ||w||^2: `blocks` blocks for each group of
 *  vectors; the last block calls end_column(). PASS 2 runs only after cancellation. Block
 *  barriers. */
template <class E, int PASS>
__global__ void __launch_bounds__(VECTOR_THREADS, 2) cycle_products_kernel(const basis_of<E> a) {
    enum { GROUP = group_of<E>::value, EACH = MOST_SUMS / GROUP };
    __shared__ column_memory at;
    __shared__ bool last;
    mpki_cuda_state *const s = a.state;
    const int group = (int)blockIdx.x / a.blocks, block = (int)blockIdx.x % a.blocks;
    const int j = s->column, active = j / GROUP + 1;
    if (group >= active) return; /* first of all: these blocks may come late */
    const bool ended = *(volatile int32_t *)&s->end != MPKI_CUDA_GO;
    if (PASS == 1 && ended && blockIdx.x == 0 && threadIdx.x == 0) s->phase = CYCLE_NOTHING;
    if (ended || (PASS == 2 && *(volatile int32_t *)&s->phase != CYCLE_AGAIN)) return;
    const int left = j + 1 - group * GROUP, count = left < GROUP ? left : GROUP;
    const E *const v = a.v + (int64_t)group * GROUP * a.stride;
    double sums[MOST_SUMS + 1] = {0};
    for (int64_t i = (int64_t)block * blockDim.x + threadIdx.x; i < a.n;
         i += (int64_t)a.blocks * blockDim.x) {
        const number w = to_number(a.w[i]);
        E x[GROUP];
#pragma unroll
        for (int k = 0; k < GROUP; ++k) x[k] = k < count ? v[k * a.stride + i] : make<E>(0);
        double none = 0;
#pragma unroll
        for (int k = 0; k < GROUP; ++k)
            add_product<E>(1, to_number(x[k]), w, sums[EACH * k],
                           EACH == 2 ? sums[EACH * k + EACH - 1] : none);
        sums[MOST_SUMS] += square(w);
    }
    block_sum<MOST_SUMS + 1, plus>(sums);
    if (threadIdx.x == 0) {
        const int all = (a.cycle.m + GROUP - 1) / GROUP * MOST_SUMS;
#pragma unroll
        for (int k = 0; k < MOST_SUMS; ++k)
            __stcg(a.cycle.partial + (int64_t)(group * MOST_SUMS + k) * a.blocks + block, sums[k]);
        if (group == 0) __stcg(a.cycle.partial + (int64_t)all * a.blocks + block, sums[MOST_SUMS]);
        __threadfence();
        last = atomicAdd(a.ticket, 1u) == (unsigned)(active * a.blocks) - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    end_column<E, PASS>(a, at, j, active * MOST_SUMS);
}

/** w - sum_k c_k v_k of one row, CYCLE_LOADS vectors read together. v: its row of the first
 *  vector. By each thread for itself; no barrier. */
template <class E>
__device__ inline E less_basis(E w, const E *v, int64_t stride, int count, const E *c) {
    for (int k0 = 0; k0 < count; k0 += CYCLE_LOADS) {
        E x[CYCLE_LOADS];
#pragma unroll
        for (int k = 0; k < CYCLE_LOADS; ++k)
            x[k] = k0 + k < count ? v[(k0 + k) * stride] : make<E>(0);
#pragma unroll
        for (int k = 0; k < CYCLE_LOADS; ++k)
            if (k0 + k < count) w = w - c[k0 + k] * x[k];
    }
    return w;
}

/** w := w - sum_k c_k v_k; where that ends the step, w / ||w|| is the next vector of the basis.
 *  A thread per row, in turns; one block barrier after c is in shared memory. */
template <class E, int PASS>
__global__ void __launch_bounds__(VECTOR_THREADS, sizeof(E) == 16 ? 2 : 4)
    cycle_subtract_kernel(const basis_of<E> a) {
    __shared__ E c[MPKI_CUDA_BASIS];
    const mpki_cuda_state *const s = a.state;
    const int count = s->column + 1, phase = s->phase;
    if (PASS == 1 ? phase != CYCLE_AGAIN && phase != CYCLE_FIRST : phase != CYCLE_SECOND) return;
    const E factor = to_entry<E>(phase == CYCLE_AGAIN ? 1 : s->factor, 0);
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        c[k] = to_entry<E>(a.cycle.c[2 * k], a.cycle.c[2 * k + 1]);
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const E w = less_basis(a.w[i], a.v + i, a.stride, count, c);
        if (phase == CYCLE_AGAIN) {
            a.w[i] = w;
        } else {
            const E updated = factor * w;
            a.v[count * a.stride + i] = updated;
            a.p[i] = updated;
        }
    }
}

/** y := x - sum_k c_k v_k; x NULL: 0. A thread per row, in turns; one block barrier after c is
 *  in shared memory. */
template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS, sizeof(E) == 16 ? 2 : 4)
    combine_kernel(int64_t n, int count, const E *v, int64_t stride, const double *by, const E *x,
                   E *y) {
    __shared__ E c[MPKI_CUDA_BASIS];
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        c[k] = to_entry<E>(by[2 * k], by[2 * k + 1]);
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x)
        y[i] = less_basis(x ? x[i] : make<E>(0), v + i, stride, count, c);
}

/** Reports a batch to the host. By one thread; no barrier. */
template <class E>
__global__ void report_kernel(const mpki_cuda_state *s, mpki_cuda_vectors_report *to) {
    if (threadIdx.x == 0) report(s, to);
}

} // namespace mpki

#endif
