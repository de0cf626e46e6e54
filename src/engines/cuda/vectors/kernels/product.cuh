/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_PRODUCT_CUH
#define MPKI_CUDA_VECTORS_PRODUCT_CUH
/** Products with A by rows. A block takes chunks of entries: it reads them in order, whatever their
 *  rows, leaves the products in shared memory and adds those of a row up there, by as many lanes as
 *  the chunk has to spare. So reading does not depend on the lengths of rows (the streams of
 *  Greathouse & Daga 2014). Long rows are cut into pieces; the block that is last with one adds the
 *  pieces' sums in their order. */
#include "engines/cuda/module/shared_memory.cuh"
#include "passes.cuh"

namespace mpki {

/** *p, by a load that keeps nothing in the caches: entries of A are read once. By each thread
 *  for itself; no barrier. */
__device__ inline float read_once(const float *p) {
    return __ldcs(p);
}
__device__ inline double read_once(const double *p) {
    return __ldcs(p);
}
__device__ inline int32_t read_once(const int32_t *p) {
    return __ldcs(p);
}
__device__ inline cx<float> read_once(const cx<float> *p) {
    const float2 v = __ldcs((const float2 *)p);
    return {v.x, v.y};
}
__device__ inline cx<double> read_once(const cx<double> *p) {
    const double2 v = __ldcs((const double2 *)p);
    return {v.x, v.y};
}

template <class E> struct rows_of {
    const int64_t *__restrict__ ptr;
    const int32_t *__restrict__ col;
    const E *__restrict__ val;
    const mpki_cuda_chunk *__restrict__ chunk;
    int chunks, split;
    double *piece;
    unsigned *done;
};

/** What long rows add to sums over all rows. The block that ends a row is another one in each
 *  run; so it leaves its sums where the row's first pieces were, and the last block of the grid
 *  adds them row by row. */
template <class A> struct of_long_rows {
    const A &a;
    /** Where the sums of a row whose first piece has this slot are. By each thread for itself;
     *  no barrier. */
    __device__ double *at(unsigned slot) const { return a.piece + 5 * (int64_t)slot; }
    /** Adds the sums of all long rows to v. By all threads of the last block; no barrier. */
    template <int K> __device__ void operator()(double (&v)[K]) const {
        static_assert(K <= 10,
                      "a long row has two pieces at least, with memory for five numbers each");
        for (int r = (int)threadIdx.x; r < a.split; r += VECTOR_THREADS)
            for (int k = 0; k < K; ++k) v[k] += __ldcg(at(a.done[a.split + r]) + k);
    }
    /** Stores the K sums of the long row that chunk k ends. By one thread; no barrier. */
    template <int K> __device__ void leave(const mpki_cuda_chunk &k, const double (&v)[K]) const {
        for (int j = 0; j < K; ++j) __stcg(at((unsigned)(k.slot - k.number)) + j, v[j]);
    }
};

template <class E> struct chunk_size {
    enum { value = sizeof(E) == 16 ? 1024 : 2048, each = value / VECTOR_THREADS };
};

/** Is chunk k the last of its long row to be done? All threads get the same answer. By all
 *  threads of a block; one block barrier. */
template <class A> __device__ inline bool last_piece(const A &a, const mpki_cuda_chunk &k) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(a.done + k.which, 1u) == (unsigned)k.pieces - 1;
        if (last) a.done[k.which] = 0;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}

/** y_i := (A x)_i. */
template <class E> struct put_plain {
    enum { SUMS = 0 };
    E *y;
    __device__ bool skip() const { return false; }
    __device__ void operator()(int64_t i, E v, double *) const { y[i] = v; }
    __device__ void end(const double *) const {}
};

/** y_i := b_i - (A x)_i. */
template <class E> struct put_residual {
    enum { SUMS = 0 };
    const E *b;
    E *y;
    __device__ bool skip() const { return false; }
    __device__ void operator()(int64_t i, E v, double *) const { y[i] = b[i] - v; }
    __device__ void end(const double *) const {}
};

/** product[first] + product[first + step] + ... before `end`, in two sums side by side. By each
 *  thread for itself; no barrier. */
template <class E> __device__ inline E sum_of(const E *product, int first, int end, int step) {
    E s = make<E>(0), t = make<E>(0);
    int e = first;
    for (; e + 3 * step < end; e += 4 * step) {
        const E p = product[e], q = product[e + step];
        s = s + (p + product[e + 2 * step]), t = t + (q + product[e + 3 * step]);
    }
    for (; e < end; e += step) s = s + product[e];
    return s + t;
}

/** put(i, sum of the products of row i) for the rows of chunk k: `offset`: where each row's
 *  products begin. A row has some lanes of a warp; one that is LONG times longer has the whole
 *  warp. By all threads of a block; shuffles, no block barrier. */
template <class E, class PUT, int SUMS>
__device__ inline void sum_rows(const mpki_cuda_chunk &k, const E *product, const int32_t *offset,
                                const PUT &put, double (&sums)[SUMS]) {
    enum { LONG = 64 }; /* a warp takes as long for one as a lane for some fifty entries */
    const int tid = (int)threadIdx.x;
    int lanes = 1;
    while (lanes < 32 && 2 * lanes * k.rows <= VECTOR_THREADS) lanes *= 2;
    const int lane = tid & (lanes - 1), groups = VECTOR_THREADS / lanes;
    for (int i0 = 0; i0 < k.rows; i0 += groups) {
        const int i = i0 + tid / lanes;
        const int first = i < k.rows ? offset[i] : 0, end = i < k.rows ? offset[i + 1] : 0;
        const bool is_long = end - first > LONG * lanes;
        unsigned rest = __ballot_sync(0xffffffffu, is_long && lane == 0);
        E s = sum_of(product, is_long ? end : first + lane, end, lanes);
        for (int o = lanes / 2; o; o /= 2) s = s + shfl_xor(s, o);
        for (; rest; rest &= rest - 1) {
            const int from = __ffs((int)rest) - 1;
            const int f = __shfl_sync(0xffffffffu, first, from);
            E t = sum_of(product, f + (tid & 31), __shfl_sync(0xffffffffu, end, from), 32);
            for (int o = 16; o; o /= 2) t = t + shfl_xor(t, o);
            if ((tid & 31) == from) s = t;
        }
        if (i < k.rows && lane == 0) put((int64_t)k.row + i, s, sums);
    }
}

/** The sum of a piece of a long row; the last piece of the row adds all up in order and calls
 *  put(). By all threads of a block; block barriers. */
template <class E, int SUMS, class PUT>
__device__ inline void sum_piece(const rows_of<E> &a, const mpki_cuda_chunk &k, const E *product,
                                 const PUT &put) {
    const int tid = (int)threadIdx.x;
    double s[2] = {0, 0}, sums[SUMS] = {0};
    for (int e = tid; e < k.count; e += VECTOR_THREADS) {
        const number p = to_number(product[e]);
        s[0] += p.x, s[1] += p.y;
    }
    block_sum<2, plus>(s);
    if (tid == 0) __stcg(a.piece + 5 * (int64_t)k.slot, s[0]);
    if (tid == 0) __stcg(a.piece + 5 * (int64_t)k.slot + 1, s[1]);
    if (!last_piece(a, k)) return;
    s[0] = s[1] = 0;
    for (int p = tid; p < k.pieces; p += VECTOR_THREADS) {
        const double *from = a.piece + 5 * (int64_t)(k.slot - k.number + p);
        s[0] += __ldcg(from), s[1] += __ldcg(from + 1);
    }
    block_sum<2, plus>(s);
    if (tid != 0) return;
    put((int64_t)k.row, to_entry<E>(s[0], s[1]), sums);
    if (PUT::SUMS) of_long_rows<rows_of<E>>{a}.leave(k, sums);
}

/** put(i, (A x)_i) for all rows, and sums of put over the grid. A block takes chunks of entries
 *  in turn, leaves their products in shared memory and adds rows up there. Block barriers around
 *  each chunk. */
template <class E, class PUT, int RESIDENT>
__global__ void __launch_bounds__(VECTOR_THREADS, RESIDENT)
    multiply_kernel(const rows_of<E> a, const E *__restrict__ x, const PUT put, double *partial,
                    unsigned *ticket) {
    enum { EACH = chunk_size<E>::each, SUMS = PUT::SUMS ? PUT::SUMS : 1 };
    MPKI_SMEM;
    E *const product = (E *)smem;
    int32_t *const offset = (int32_t *)(product + chunk_size<E>::value);
    const int tid = (int)threadIdx.x;
    double sums[SUMS] = {0};
    if (put.skip()) return;
    for (int c = (int)blockIdx.x; c < a.chunks; c += (int)gridDim.x) {
        const mpki_cuda_chunk k = a.chunk[c];
        E v[EACH];
        int32_t j[EACH];
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            const int e = tid + u * VECTOR_THREADS;
            if (e >= k.count) continue;
            v[u] = read_once(a.val + k.first + e);
            j[u] = read_once(a.col + k.first + e);
        }
        if (k.rows > 0)
            for (int i = tid; i <= k.rows; i += VECTOR_THREADS)
                offset[i] = (int32_t)(a.ptr[k.row + i] - k.first);
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            const int e = tid + u * VECTOR_THREADS;
            if (e < k.count) product[e] = v[u] * x[j[u]];
        }
        __syncthreads();
        if (k.rows > 0)
            sum_rows<E>(k, product, offset, put, sums);
        else
            sum_piece<E, SUMS>(a, k, product, put);
        __syncthreads();
    }
    if (PUT::SUMS) {
        if (grid_sum<SUMS, plus>(sums, partial, ticket, of_long_rows<rows_of<E>>{a})) put.end(sums);
    }
}

/* ---- residuals ---------------------------------------------------------------------------------
 * In twice the precision of double: products with their rounding errors, sums likewise (as
 * kernels/residual_k.c; Ogita, Rump & Oishi 2005). Products of floats have no rounding error. */

struct twice {
    double high, low;
};

/** s += x exactly (two-sum, Knuth 1969). By each thread for itself; no barrier. */
__device__ inline void add(twice &s, double x) {
    const double sum = __dadd_rn(s.high, x), t = __dsub_rn(sum, s.high);
    s.low = __dadd_rn(s.low, __dadd_rn(__dsub_rn(s.high, __dsub_rn(sum, t)), __dsub_rn(x, t)));
    s.high = sum;
}

/** s += a b, with the rounding error of the product unless both are single precision numbers. By
 *  each thread for itself; no barrier. */
__device__ inline void add(twice &s, double a, double b, bool single) {
    const double p = __dmul_rn(a, b);
    add(s, p);
    if (!single) s.low = __dadd_rn(s.low, __fma_rn(a, b, -p));
}

/** s += x. By each thread for itself; no barrier. */
__device__ inline void add(twice &s, const twice &x) {
    add(s, x.high);
    s.low = __dadd_rn(s.low, x.low);
}

/** -(A x)_i in twice the working precision, and |A| |x|. */
template <class E> struct row_sum {
    twice re, im;
    double w; /* |A| |x|, within a factor sqrt(2) where complex */
    /** The row's sum -= a x; w += |a| |x|. By each thread for itself; no barrier. */
    __device__ void subtract(E a, E x) {
        const bool single = sizeof(typename scalar_of<E>::real) == 4;
        const number p = to_number(a), q = to_number(x);
        add(re, -p.x, q.x, single);
        if (scalar_of<E>::complex) {
            add(re, p.y, q.y, single);
            add(im, -p.x, q.y, single);
            add(im, -p.y, q.x, single);
        }
        w += (fabs(p.x) + fabs(p.y)) * (fabs(q.x) + fabs(q.y));
    }
    /** The row's sum += x. By each thread for itself; no barrier. */
    __device__ void join(const row_sum &x) {
        add(re, x.re);
        if (scalar_of<E>::complex) add(im, x.im);
        w += x.w;
    }
    /** The sum of the lane whose number differs in bit o. By all lanes of a warp; shuffles. */
    __device__ row_sum across(int o) const {
        row_sum s = *this;
        s.re = {shfl_xor(re.high, o), shfl_xor(re.low, o)};
        if (scalar_of<E>::complex) s.im = {shfl_xor(im.high, o), shfl_xor(im.low, o)};
        s.w = shfl_xor(w, o);
        return s;
    }
};

/** s := the sum of s over the block, for thread 0. memory: shared, 5 doubles per warp. By all
 *  threads of a block; contains block barriers. */
template <class E> __device__ inline void block_join(row_sum<E> &s, double (*memory)[5]) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int o = 16; o; o /= 2) s.join(s.across(o));
    if (lane == 0) {
        double *to = memory[warp];
        to[0] = s.re.high, to[1] = s.re.low, to[2] = s.im.high, to[3] = s.im.low, to[4] = s.w;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < VECTOR_THREADS / 32; ++k) {
            const double *f = memory[k];
            s.join({{f[0], f[1]}, {f[2], f[3]}, f[4]});
        }
    __syncthreads();
}

/** r_i := b_i - (A x)_i from a row's sum; its squares; w_i := (|A| |x|)_i + |b_i|. */
template <class E> struct residual_end {
    const E *b;
    E *r;
    double *w; /* NULL, or |A| |x| + |b| of each row */
    __device__ void operator()(int64_t i, row_sum<E> s, double (&sums)[4]) const {
        const number own = to_number(b[i]);
        if (w) w[i] = s.w + fabs(own.x) + fabs(own.y);
        add(s.re, own.x);
        add(s.im, own.y);
        const E v = to_entry<E>(s.re.high + s.re.low, s.im.high + s.im.low);
        r[i] = v;
        add_square(to_number(v), sums[0], sums[1]);
        add_square({s.w + fabs(own.x) + fabs(own.y), 0}, sums[2], sums[3]);
    }
};

/** r := b - A x in twice the working precision and the sums of residual_end, for the host. Eight
 *  lanes take a row of a chunk, a block a piece of a long row. Block barriers in pieces and in
 *  grid_sum(). */
template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS)
    residual_kernel(const rows_of<E> a, const E *__restrict__ x, const residual_end<E> put,
                    double *partial, unsigned *ticket, host_report publish) {
    __shared__ double between[VECTOR_THREADS / 32][5];
    enum { LANES = 8, GROUPS = VECTOR_THREADS / LANES };
    const int tid = (int)threadIdx.x, lane = tid % LANES;
    double sums[4] = {0, 0, 0, 0};
    for (int c = (int)blockIdx.x; c < a.chunks; c += (int)gridDim.x) {
        const mpki_cuda_chunk k = a.chunk[c];
        for (int i0 = 0; i0 < k.rows; i0 += GROUPS) {
            const int64_t i = i0 + tid / LANES;
            row_sum<E> s = {};
            if (i < k.rows)
                for (int64_t e = a.ptr[k.row + i] + lane; e < a.ptr[k.row + i + 1]; e += LANES)
                    s.subtract(a.val[e], x[a.col[e]]);
            for (int o = LANES / 2; o; o /= 2) s.join(s.across(o));
            if (i < k.rows && lane == 0) put(k.row + i, s, sums);
        }
        if (k.rows > 0) continue;
        row_sum<E> s = {};
        for (int e = tid; e < k.count; e += VECTOR_THREADS)
            s.subtract(a.val[k.first + e], x[a.col[k.first + e]]);
        block_join(s, between);
        double *to = a.piece + 5 * (int64_t)k.slot;
        if (tid == 0) {
            __stcg(to, s.re.high), __stcg(to + 1, s.re.low), __stcg(to + 2, s.im.high);
            __stcg(to + 3, s.im.low), __stcg(to + 4, s.w);
        }
        if (!last_piece(a, k)) continue;
        s = {};
        for (int p = tid; p < k.pieces; p += VECTOR_THREADS) {
            const double *f = a.piece + 5 * (int64_t)(k.slot - k.number + p);
            s.join({{__ldcg(f), __ldcg(f + 1)}, {__ldcg(f + 2), __ldcg(f + 3)}, __ldcg(f + 4)});
        }
        block_join(s, between);
        if (tid != 0) continue;
        double own[4] = {0, 0, 0, 0};
        put(k.row, s, own);
        of_long_rows<rows_of<E>>{a}.leave(k, own);
    }
    __syncthreads();
    if (grid_sum<4, plus>(sums, partial, ticket, of_long_rows<rows_of<E>>{a})) publish(sums);
}

} // namespace mpki

#endif
