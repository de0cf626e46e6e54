/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_STRIPS_CUH
#define MPKI_CUDA_DIRECT_STRIPS_CUH
/** Sweeps over a chain (mpki_cuda_chain): strips of 64 rows, or of 64 columns on the way back, a block
 *  each. Columns that were cut into several fronts are swept together, without what these fronts give
 *  one another: a row of the chain is found in each of them by its position. */
#include "sweep.cuh"

namespace mpki {

static const int IN_STRIP = MPKI_CUDA_IN_STRIP;

/** Shared memory of a strip that depends on the number of right-hand sides. */
template <int NR, class T> struct strip_room {
    T *L, *x, *part; /* the strip's own square; values of other rows; sums of the groups */
    static __host__ __device__ int64_t entries() {
        return STRIP * (STRIP + 1) + STRIP * NR + GROUPS * STRIP * NR;
    }
    __device__ strip_room(char *room)
        : L((T *)room), x(L + STRIP * (STRIP + 1)), part(x + STRIP * NR) {}
};

/** Columns of its own that a chain has. */
__device__ inline int chain_columns(const mpki_cuda_tree &t, const mpki_cuda_chain &me) {
    const mpki_cuda_node &top = t.node[me.top];
    return top.first + top.own - t.node[me.low].first;
}
/** Pieces in which it takes what its children give. */
__device__ inline int chain_gathers(const mpki_cuda_tree &t, const mpki_cuda_chain &me) {
    return (chain_columns(t, me) + t.node[me.top].rows + MPKI_FRONT_GATHER - 1) / MPKI_FRONT_GATHER;
}

/** Columns of one front that a strip has, and what is needed to find a row in it. */
template <class T> struct strip_segment {
    T *a;
    const int32_t *id;
    int32_t front, ld, first, count; /* columns first .. first + count - 1 */
    int32_t w, e, n, next;           /* next: position of the column after its own */
};

/** A chain, as far as a block needs it; in shared memory. */
template <class T> struct strip_chain {
    strip_segment<T> segment[MPKI_CUDA_SEGMENTS];
    int32_t strip[MPKI_CUDA_SEGMENTS + 1];
};

/** Rows of a strip: where they are found. In the front in which a row is a column, or has to be one
 *  later, it has a number; in others it is found by its position. */
struct strip_rows {
    int32_t front[STRIP], number[STRIP];
    int32_t position[STRIP]; /* of its value in y; < 0: minus the rows from it to the last one */
};

/** Columns of a strip. */
template <class T> struct strip_columns {
    const T *column[STRIP];
    int32_t id[STRIP], segment[STRIP];
};

/** The columns of strip c of a chain: segments first .. first + count - 1. */
struct strip_range {
    int32_t first, count;
};
__device__ inline strip_range range_of(const mpki_cuda_chain &me, const int32_t *strip, int c) {
    if (me.pieces == 1) return {c, 1};
    return {strip[c], strip[c + 1] - strip[c]};
}

/** Segment k of a chain. */
template <class T>
__device__ inline strip_segment<T> segment_of(const mpki_cuda_chain &me, const strip_chain<T> &m,
                                              int k) {
    strip_segment<T> x = m.segment[me.pieces == 1 ? 0 : k];
    if (me.pieces == 1) {
        x.first = k * STRIP;
        x.count = x.e - x.first < STRIP ? x.e - x.first : STRIP;
    }
    return x;
}

/** All threads: what is known of the chain goes to shared memory. */
template <class T>
__device__ void load_chain(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                           const mpki_cuda_chain &me, strip_chain<T> &m) {
    const int tid = (int)threadIdx.x, count = me.pieces == 1 ? 1 : me.segments;
    for (int k = tid; k < count; k += SWEEP_THREADS) {
        const mpki_cuda_segment from =
            me.pieces == 1 ? mpki_cuda_segment{me.top, 0, 0} : s.segment[me.segment + k];
        const swept_front<T> f(t, from.front);
        strip_segment<T> &to = m.segment[k];
        to.a = f.a.a, to.id = f.a.id, to.ld = f.a.ld;
        to.front = from.front, to.first = from.first, to.count = from.count;
        to.w = f.w, to.e = f.e, to.n = f.n, to.next = f.node.first + f.own;
    }
    for (int k = tid; k <= me.strips && me.pieces > 1; k += SWEEP_THREADS)
        m.strip[k] = s.strip[me.strip + k];
    __syncthreads();
}

/** Threads 0 .. 63: the columns of strip c. Returns how many there are. */
template <class T>
__device__ int describe_columns(const mpki_cuda_chain &me, const strip_chain<T> &m, int c,
                                strip_columns<T> *columns, strip_rows *rows) {
    const strip_range r = range_of(me, m.strip, c);
    int before = 0;
    for (int k = 0; k < r.count; ++k) {
        const strip_segment<T> x = segment_of(me, m, r.first + k);
        const int at = (int)threadIdx.x - before;
        if (at >= 0 && at < x.count) {
            const int col = x.first + at, id = x.id[col];
            if (columns) {
                columns->column[threadIdx.x] = x.a + (int64_t)col * x.ld;
                columns->id[threadIdx.x] = id, columns->segment[threadIdx.x] = k;
            }
            if (rows) {
                rows->front[threadIdx.x] = x.front, rows->number[threadIdx.x] = col;
                rows->position[threadIdx.x] = id;
            }
        }
        before += x.count;
    }
    return before;
}

/** Threads 0 .. 63: rows i0 and on of the last front, beyond its pivots. Returns how many. */
template <class T>
__device__ int describe_rows(const swept_front<T> &top, int index, int i0, strip_rows *rows) {
    const int i = i0 + (int)threadIdx.x, b = top.n - i0 < STRIP ? top.n - i0 : STRIP;
    if ((int)threadIdx.x < b) {
        rows->front[threadIdx.x] = index, rows->number[threadIdx.x] = i;
        rows->position[threadIdx.x] = i < top.w ? top.a.id[i] : i - top.n;
    }
    return b;
}

/** Where a row is in a front; -1: it has none there. */
template <class T>
__device__ inline int row_in(const strip_segment<T> &x, int end, const strip_rows &rows, int row) {
    const int at = rows.position[row];
    if (rows.front[row] == x.front) return rows.number[row];
    if (at < 0) return x.n + at;
    if (at >= x.next && at < end) return x.w + at - x.next;
    for (int k = x.e; k < x.w; ++k)
        if (x.id[k] == at) return k;
    return -1;
}

/** All threads: where b rows are in each segment of a strip; at: IN_STRIP x STRIP. end: position of the
 *  column after the chain's own. */
template <class T>
__device__ void find_rows(const mpki_cuda_chain &me, const strip_chain<T> &m, int c, int end,
                          const strip_rows &rows, int b, int32_t *at) {
    const strip_range r = range_of(me, m.strip, c);
    for (int k = (int)threadIdx.x; k < r.count * STRIP; k += SWEEP_THREADS)
        at[k] = k % STRIP < b ? row_in(segment_of(me, m, r.first + k / STRIP), end, rows, k % STRIP)
                              : -1;
}

/** All threads: the strip's square of L: rows and columns are its b pivots. */
template <class T>
__device__ inline void load_square(const strip_columns<T> &columns, const int32_t *at, int b,
                                   T *L) {
    for (int s = (int)threadIdx.x; s < STRIP * STRIP; s += SWEEP_THREADS) {
        const int i = s % STRIP, k = s / STRIP;
        if (i >= b || k >= i) continue;
        const int row = at[columns.segment[k] * STRIP + i];
        L[i + k * (STRIP + 1)] = row < 0 ? make<T>(0) : columns.column[k][row];
    }
}

/** All threads: v (64 x NR, in shared memory) solved with the square: halves of 32 rows by one
 *  warp. */
template <int NR, class T> __device__ inline void solve_square(const T *L, int b, T *v) {
    const int LD = STRIP + 1, lane = (int)threadIdx.x & 31;
    if (threadIdx.x >= 32) return;
    solve_block<NR>(L, LD, b < 32 ? b : 32, v);
    if (b <= 32) return;
    __syncwarp();
    if (lane < b - 32)
#pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const T l = L[32 + lane + k * LD];
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(v[(32 + lane) * NR + r], l, v[k * NR + r]);
        }
    __syncwarp();
    solve_block<NR>(L + 32 + 32 * LD, LD, b - 32, v + 32 * NR);
}

template <bool H, int NR, class T>
__device__ inline void solve_square_back(const T *L, int b, T *v) {
    const int LD = STRIP + 1, lane = (int)threadIdx.x & 31;
    if (threadIdx.x >= 32) return;
    if (b > 32) {
        solve_block_back<H, NR>(L + 32 + 32 * LD, LD, b - 32, v + 32 * NR);
        __syncwarp();
#pragma unroll 8
        for (int k = 32; k < b; ++k) {
            const T l = cj<H>(L[k + lane * LD]);
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(v[lane * NR + r], l, v[k * NR + r]);
        }
        __syncwarp();
    }
    solve_block_back<H, NR>(L, LD, b < 32 ? b : 32, v);
}

/** A strip forward, pivots or rows below them: minus L times what is solved, then the strip's own
 *  square. While a strip before it is waited for, the next one's columns are looked up. */
template <int NR, class T>
__device__ void forward_strip(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                              const mpki_cuda_chain &me, int strip, char *room) {
    __shared__ strip_chain<T> chain;
    __shared__ strip_columns<T> mine, other[2];
    __shared__ strip_rows rows;
    __shared__ int32_t at[2][IN_STRIP * STRIP];
    __shared__ int size;
    const swept_front<T> top(t, me.top);
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP;
    const int PART = STRIP / GROUPS, end = top.node.first + top.own;
    const bool solves = strip < me.strips;
    const int before = solves ? strip : me.strips; /* strips whose values it needs */
    T *y = (T *)s.y, *u = (T *)s.u + s.at[me.top] * NR;
    load_chain(t, s, me, chain);
    if (tid < STRIP) {
        const int b = solves
                          ? describe_columns(me, chain, strip, &mine, &rows)
                          : describe_rows(top, me.top, top.e + (strip - me.strips) * STRIP, &rows);
        if (before > 0) describe_columns(me, chain, 0, &other[0], (strip_rows *)0);
        if (tid == 0) size = b;
    }
    __syncthreads();
    const int b = size;
    if (solves) find_rows(me, chain, strip, end, rows, b, at[1]);
    if (before > 0) find_rows(me, chain, 0, end, rows, b, at[0]);
    __syncthreads();
    if (solves) load_square(mine, at[1], b, m.L);
    __syncthreads();
    T sum[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
    int have = 0; /* strips whose values are there */
    __shared__ int seen;
    for (int c = 0; c < before; ++c) {
        const strip_columns<T> &x = other[c & 1];
        const strip_range range = range_of(me, chain.strip, c);
        int count = 0;
        for (int k = 0; k < range.count; ++k) count += segment_of(me, chain, range.first + k).count;
        T l[PART];
#pragma unroll
        for (int k = 0; k < PART; ++k) {
            const int col = group * PART + k;
            const int i = col < count ? at[c & 1][x.segment[col] * STRIP + row] : -1;
            l[k] = i >= 0 ? x.column[col][i] : make<T>(0);
        }
        if (c + 1 < before) {
            if (tid < STRIP)
                describe_columns(me, chain, c + 1, &other[(c + 1) & 1], (strip_rows *)0);
            find_rows(me, chain, c + 1, end, rows, b, at[(c + 1) & 1]);
        }
        if (have <= c && tid == 0) seen = wait_for(s.solved + me.top, c + 1);
        __syncthreads();
        if (have <= c) have = seen;
        for (int k = tid; k < count * NR; k += SWEEP_THREADS)
            m.x[k] = fresh(&y[(int64_t)x.id[k / NR] * NR + k % NR]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PART; ++k) {
            const int col = group * PART + k;
            if (col < count) {
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(sum[r], l[k], m.x[col * NR + r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) m.part[(group * STRIP + row) * NR + r] = sum[r];
    if (before == 0 && solves) { /* the first waits for what the children give */
        if (tid == 0) wait_for(s.gathered + me.top, chain_gathers(t, me));
    }
    __syncthreads();
    for (int k = tid; k < b * NR; k += SWEEP_THREADS) {
        T x = m.part[k];
        for (int g = 1; g < GROUPS; ++g) x = x + m.part[g * STRIP * NR + k];
        const int position = rows.position[k / NR], r = k % NR;
        T *to = position >= 0 ? &y[(int64_t)position * NR + r] : &u[(top.m + position) * NR + r];
        const T value = fresh(to) - x;
        if (solves)
            m.x[k] = value;
        else
            *to = value;
    }
    __syncthreads();
    if (solves) {
        solve_square<NR>(m.L, b, m.x);
        __syncthreads();
        for (int k = tid; k < b * NR; k += SWEEP_THREADS)
            y[(int64_t)rows.position[k / NR] * NR + k % NR] = m.x[k];
        publish(s.solved + me.top);
    }
    publish(s.finished + me.top);
}

/** A strip of pivots backward: minus L^T times the rows below, then the strip's own square. */
template <bool H, int NR, class T>
__device__ void backward_strip(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                               const mpki_cuda_chain &me, int strip, char *room) {
    __shared__ strip_chain<T> chain;
    __shared__ strip_columns<T> mine;
    __shared__ strip_rows rows[2];
    __shared__ int32_t at[2][IN_STRIP * STRIP];
    __shared__ int size[2], own_size, seen;
    const swept_front<T> top(t, me.top);
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int COLUMNS = STRIP / (SWEEP_THREADS / 32), end = top.node.first + top.own;
    const int32_t *ridx = t.ridx + top.node.ridx;
    T *y = (T *)s.y;
    /* rows beyond the pivots first: ancestors are done; then the strips after this one, from the
     * last */
    const int below = (top.n - top.e + STRIP - 1) / STRIP, after = me.strips - 1 - strip;
    load_chain(t, s, me, chain);
    const auto describe = [&](int c) {
        strip_rows *to = &rows[c & 1];
        return c < below ? describe_rows(top, me.top, top.e + c * STRIP, to)
                         : describe_columns(me, chain, me.strips - 1 - (c - below),
                                            (strip_columns<T> *)0, to);
    };
    if (tid < STRIP) {
        const int b = describe_columns(me, chain, strip, &mine, &rows[1]);
        if (tid == 0) own_size = b;
        if (below + after > 0) {
            const int count = describe(0);
            if (tid == 0) size[0] = count;
        }
    }
    __syncthreads();
    const int b = own_size;
    find_rows(me, chain, strip, end, rows[1], b, at[1]);
    if (below + after > 0) find_rows(me, chain, strip, end, rows[0], size[0], at[0]);
    __syncthreads();
    load_square(mine, at[1], b, m.L);
    T sum[COLUMNS][NR]; /* a warp takes 8 columns */
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
        for (int r = 0; r < NR; ++r) sum[c][r] = make<T>(0);
    int have = 0;
    __syncthreads();
    for (int c = 0; c < below + after; ++c) {
        const strip_rows &x = rows[c & 1];
        const int count = size[c & 1];
        T l[STRIP / 32][COLUMNS];
#pragma unroll
        for (int h = 0; h < STRIP / 32; ++h)
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q) {
                const int col = warp * COLUMNS + q, i = 32 * h + lane;
                const int k = col < b ? at[c & 1][mine.segment[col] * STRIP + i] : -1;
                l[h][q] = k >= 0 && i < count ? cj<H>(mine.column[col][k]) : make<T>(0);
            }
        if (c + 1 < below + after && tid < STRIP) {
            const int next = describe(c + 1);
            if (tid == 0) size[(c + 1) & 1] = next;
        }
        if (c >= below && have <= c - below && tid == 0)
            seen = wait_for(s.solved + me.top, c - below + 1);
        __syncthreads();
        if (c >= below && have <= c - below) have = seen;
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS) {
            const int position = k / NR < count ? x.position[k / NR] : 0;
            m.x[k] =
                k / NR < count
                    ? fresh(&y[(int64_t)(position >= 0 ? position : ridx[top.m + position]) * NR +
                               k % NR])
                    : make<T>(0);
        }
        if (c + 1 < below + after)
            find_rows(me, chain, strip, end, rows[(c + 1) & 1], size[(c + 1) & 1], at[(c + 1) & 1]);
        __syncthreads();
#pragma unroll
        for (int h = 0; h < STRIP / 32; ++h)
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
                for (int r = 0; r < NR; ++r)
                    pfma(sum[q][r], l[h][q], m.x[(32 * h + lane) * NR + r]);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            for (int o = 16; o; o >>= 1) sum[q][r] = sum[q][r] + shfl_xor(sum[q][r], o);
            if (lane == 0) m.part[(warp * COLUMNS + q) * NR + r] = sum[q][r];
        }
    __syncthreads();
    for (int k = tid; k < b * NR; k += SWEEP_THREADS)
        m.x[k] = fresh(&y[(int64_t)mine.id[k / NR] * NR + k % NR]) - m.part[k];
    __syncthreads();
    solve_square_back<H, NR>(m.L, b, m.x);
    __syncthreads();
    for (int k = tid; k < b * NR; k += SWEEP_THREADS)
        y[(int64_t)mine.id[k / NR] * NR + k % NR] = m.x[k];
    publish(s.solved + me.top);
}

} // namespace mpki
#endif
