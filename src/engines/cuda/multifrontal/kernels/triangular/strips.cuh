/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_STRIPS_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_STRIPS_CUH
/** Sweeps over a chain (mpki_cuda_chain) in strips, a block each: 64 rows forward, 64 columns on
 *  the way back. Columns that were cut into several fronts are swept together, without the
 *  contributions of these fronts to one another: a row of the chain is found in each of them by its
 *  position. */
#include "chain.cuh"
#include "half_copy.cuh"
#include "inverse.cuh"

namespace mpki {

static const int IN_STRIP = MPKI_CUDA_IN_STRIP;

/** Shared memory of a strip that depends on the number of right-hand sides: M, the inverse of its
 *  square; y, its own values; x, values of other rows; part, sums of groups. */
template <int NR, class T> struct strip_smem {
    T *M, *y, *x,
        *part; /* the inverse of the strip's square; its own values, those of other rows; sums */
    static __host__ __device__ int64_t entries() {
        return STRIP * SQUARE + SWEEP_THREADS * NR + STRIP * NR + SWEEP_THREADS * NR;
    }
    __device__ strip_smem(char *smem)
        : M((T *)smem), y(M + STRIP * SQUARE), x(y + STRIP * NR), part(x + SWEEP_THREADS * NR) {}
};

/** Columns of one front that belong to a strip, and what is needed to find a row in it. */
template <class T> struct strip_segment {
    T *a;
    const int32_t *id;
    int32_t front, ld, first, count; /* columns first .. first + count - 1 */
    int32_t w, e, n, next;           /* next: position of the column after its own */
};

/** What a block needs to know of a chain; in shared memory. */
template <class T> struct strip_chain {
    strip_segment<T> segment[MPKI_CUDA_SEGMENTS];
    int32_t strip[MPKI_CUDA_SEGMENTS + 1];
};

/** Some rows, and where they are found: in the front in which a row is a column, or becomes one
 *  later, by number; in the others by position. */
template <int ROWS> struct strip_rows {
    int32_t front[ROWS], number[ROWS];
    int32_t position[ROWS]; /* of its value in y; < 0: minus the rows from it to the last one */
};

/** The columns of a strip. */
template <class E> struct strip_columns {
    const E *column[STRIP];
    int32_t segment[STRIP];
};

/** The columns of strip c of a chain: segments first .. first + count - 1. */
struct strip_range {
    int32_t first, count;
};
/** A thread: the segments of strip c of a chain. */
__device__ inline strip_range range_of(const mpki_cuda_chain &me, const int32_t *strip, int c) {
    if (me.pieces == 1) return {c, 1};
    return {strip[c], strip[c + 1] - strip[c]};
}

/** A thread: segment k of a chain; of a chain of one front, strip k of it. */
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

/** A block: m := what is known of the chain. Barriers: it meets the block before it returns. */
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

/** Threads 0 .. 63: *columns and *rows, where not NULL, := the columns of strip c. Returns how many
 *  there are. Barriers: none; the caller meets the block. */
template <class T, class ROWS>
__device__ int describe_columns(const mpki_cuda_chain &me, const strip_chain<T> &m, int c,
                                strip_columns<T> *columns, ROWS *rows) {
    const strip_range r = range_of(me, m.strip, c);
    int before = 0;
    for (int k = 0; k < r.count; ++k) {
        const strip_segment<T> x = segment_of(me, m, r.first + k);
        const int at = (int)threadIdx.x - before;
        if (at >= 0 && at < x.count) {
            const int col = x.first + at;
            if (columns) {
                columns->column[threadIdx.x] = x.a + (int64_t)col * x.ld;
                columns->segment[threadIdx.x] = k;
            }
            if (rows) {
                rows->front[threadIdx.x] = x.front, rows->number[threadIdx.x] = col;
                rows->position[threadIdx.x] = x.id[col];
            }
        }
        before += x.count;
    }
    return before;
}

/** Threads 0 .. ROWS - 1: *rows := rows i0 and on of the chain's last front, beyond its pivots.
 *  Returns how many there are. Barriers: none; the caller meets the block. */
template <int ROWS, class T>
__device__ int describe_rows(const swept_front<T> &top, int index, int i0, strip_rows<ROWS> *rows) {
    const int i = i0 + (int)threadIdx.x, b = top.n - i0 < ROWS ? top.n - i0 : ROWS;
    if ((int)threadIdx.x < b) {
        rows->front[threadIdx.x] = index, rows->number[threadIdx.x] = i;
        rows->position[threadIdx.x] = i < top.w ? top.a.id[i] : i - top.n;
    }
    return b;
}

/** A thread: the number of a row in the front of segment x; -1 if it is not there. end: position of
 *  the column after the chain's own. */
template <class T, class ROWS>
__device__ inline int row_in(const strip_segment<T> &x, int end, const ROWS &rows, int row) {
    const int at = rows.position[row];
    if (rows.front[row] == x.front) return rows.number[row];
    if (at < 0) return x.n + at;
    if (at >= x.next && at < end) return x.w + at - x.next;
    for (int k = x.e; k < x.w; ++k)
        if (x.id[k] == at) return k;
    return -1;
}

/** A block: at[k ROWS + i] := where row i of b is in segment k of strip c; end: as row_in().
 *  Barriers: none; the caller meets the block. */
template <int ROWS, class T>
__device__ void find_rows(const mpki_cuda_chain &me, const strip_chain<T> &m, int c, int end,
                          const strip_rows<ROWS> &rows, int b, int32_t *at) {
    const strip_range r = range_of(me, m.strip, c);
    for (int k = (int)threadIdx.x; k < r.count * ROWS; k += SWEEP_THREADS)
        at[k] =
            k % ROWS < b ? row_in(segment_of(me, m, r.first + k / ROWS), end, rows, k % ROWS) : -1;
}

/** A thread: how many columns strip c has: STRIP, but for the last one and where the chain was
 *  cut. */
template <class T>
__device__ inline int columns_of(const mpki_cuda_chain &me, const strip_chain<T> &m, int c) {
    const strip_range range = range_of(me, m.strip, c);
    int count = 0;
    for (int k = 0; k < range.count; ++k) count += segment_of(me, m, range.first + k).count;
    return count;
}

/* ---- the square of a strip, inverted before the values are there that the strip waits for ---- */

/** A block: M := the square of L on the strip's diagonal, with ones there; rows and columns from b
 *  on are those of the identity. Barriers: none; the caller meets the block. */
template <class T>
__device__ inline void load_square(const strip_columns<T> &columns, const int32_t *at, int b,
                                   T *M) {
    for (int s = (int)threadIdx.x; s < STRIP * STRIP; s += SWEEP_THREADS) {
        const int i = s % STRIP, k = s / STRIP;
        const int row = i < b && k < i ? at[columns.segment[k] * STRIP + i] : -1;
        M[i + k * SQUARE] = row >= 0 ? columns.column[k][row] : make<T>(i == k);
    }
}

/** A thread: where the inverse of the square of this strip is stored. */
template <class T>
__device__ inline T *kept_square(const mpki_cuda_sweep &s, const mpki_cuda_chain &me, int strip) {
    return (T *)s.square + (int64_t)(me.square + strip) * STRIP * STRIP;
}

/** Four lanes side by side: the sum of their x, for all of them. Barriers: it meets the warp. */
template <class T> __device__ inline T quad_sum(T x) {
    x = x + shfl_xor(x, 1);
    return x + shfl_xor(x, 2);
}

/** A block: z := m.y less the sums of `parts` groups in m.part; with `solves` then M z, or M^T z
 *  with `back`, M^H z with `conjugated` too, by four lanes a row. take(row, r, value) is called by
 *  the first of these. Barriers: it meets the block; the results of `take` are not visible to
 *  others yet. */
template <int NR, class T, class TAKE>
__device__ inline void finish_strip(const strip_smem<NR, T> &m, int parts, bool solves, bool back,
                                    bool conjugated, TAKE take) {
    const int row = (int)threadIdx.x >> 2, lane = (int)threadIdx.x & 3;
    T z[NR];
    wait_for_square();
    __syncthreads();
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        z[r] = lane < parts ? m.part[(lane * STRIP + row) * NR + r] : make<T>(0);
        z[r] = m.y[row * NR + r] - quad_sum(z[r]);
    }
    if (solves) {
        __syncwarp();
        if (lane == 0)
#pragma unroll
            for (int r = 0; r < NR; ++r) m.y[row * NR + r] = z[r];
        __syncthreads();
        T odd[NR]; /* two sums are on their way */
#pragma unroll
        for (int r = 0; r < NR; ++r) z[r] = odd[r] = make<T>(0);
#pragma unroll
        for (int k = 0; k < STRIP / 4; ++k) {
            const int at = 4 * k + lane;
            T a = back ? m.M[at + row * SQUARE] : m.M[row + at * SQUARE];
            if (conjugated) a = conj(a);
#pragma unroll
            for (int r = 0; r < NR; ++r) pfma(k % 2 ? odd[r] : z[r], a, m.y[at * NR + r]);
        }
#pragma unroll
        for (int r = 0; r < NR; ++r) z[r] = quad_sum(z[r] + odd[r]);
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane == 0) take(row, r, z[r]);
}

/** A thread: sends entry k of strip number `strip` of a chain to the other strips; the strip
 *  `next`, which waits for nothing else, polls a place of its own. Barriers: none. */
template <int NR, class T>
__device__ inline void send_entry(T *sent, const mpki_cuda_chain &me, int strip, int next, int k,
                                  T value) {
    if (next >= 0 && next < me.strips)
        send(sent + (int64_t)(me.strips + strip) * STRIP * NR + k, value);
    send(sent + (int64_t)strip * STRIP * NR + k, value);
}

/** A thread: sum -= every GROUPS-th contribution in u from number `contribution` on, below
 *  contributions_end, in their order; two are polled side by side. Barriers: none. */
template <int NR, class T>
__device__ inline void subtract_contributions(const T *u, int contribution, int contributions_end,
                                              T (&sum)[NR]) {
    for (; contribution < contributions_end; contribution += 2 * GROUPS) {
        const bool two = contribution + GROUPS < contributions_end;
        const T *from = u + (int64_t)contribution * NR, *next = from + (two ? GROUPS * NR : 0);
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            const T p = poll(from + r), q = poll(next + r);
            sum[r] = sum[r] - receive(from + r, p, 60);
            if (two) sum[r] = sum[r] - receive(next + r, q, 60);
        }
    }
}

/** A block: strip number `strip` of a chain forward, pivots or rows below: contributions and
 *  delayed columns, less L times what is solved, then the inverse of the strip's square. While it
 *  waits for one strip, the rows of the next are found. smem: shared memory. Called by
 *  forward_piece(). Barriers: it meets the block. */
template <int MODE, int NR, class T>
__device__ void forward_strip(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                              const mpki_cuda_chain &me, int strip, char *smem, int entries) {
    __shared__ strip_chain<T> chain;
    __shared__ strip_columns<T> mine, other[MODE == READ_PANEL ? 2 : 1];
    __shared__ strip_rows<STRIP> rows;
    __shared__ int32_t at[2][MODE == READ_PANEL ? IN_STRIP * STRIP : 1];
    __shared__ int size;
    const swept_front<T> top(t, me.top);
    const strip_smem<NR, T> m(smem);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP;
    const int PART = STRIP / GROUPS, end = top.node.first + top.own;
    const bool solves = strip < me.strips, one = MODE != READ_PANEL || me.pieces == 1;
    const bool kept = MODE != READ_PANEL || s.squared;
    const int before = solves ? strip : me.strips; /* strips whose values it needs */
    strip_rows<STRIP> *const none = (strip_rows<STRIP> *)0;
    T *y = (T *)s.y, *u = (T *)s.u, *sent = (T *)s.sent + me.sent * NR;
    if (solves && kept) copy_square_async(kept_square<T>(s, me, strip), m.M);
    load_chain(t, s, me, chain);
    const int i0 = solves ? STRIP * strip : top.e + (strip - me.strips) * STRIP; /* one: its rows */
    for (int c = 0; one && c < before && c < 2; ++c)
        lower_strip<MODE, T>(s, me, top.a, top.e, c)
            .prefetch_rows_of(i0, STRIP < top.n - i0 ? STRIP : top.n - i0, top.e - c * STRIP);
    if (tid < STRIP) {
        const int b = solves ? describe_columns(me, chain, strip, &mine, &rows)
                             : describe_rows(top, me.top, i0, &rows);
        if (!one && before > 0) describe_columns(me, chain, 0, &other[0], none);
        if (tid == 0) size = b;
    }
    __syncthreads();
    const int b = size;
    /* where the children's contributions to this row begin, and where its own one goes */
    const int columns = chain_columns(t, me), first = t.node[me.low].first;
    int contribution = 0, contributions_end = 0;
    if (row < b) {
        const int position = rows.position[row];
        const int at_row = position < 0 ? columns + top.m + position : position - first;
        if (position < 0 || (at_row >= 0 && at_row < columns))
            contribution = s.contribution[me.contribution + at_row] + group,
            contributions_end = s.contribution[me.contribution + at_row + 1];
    }
    const contribution_places places(s, me.top);
    const int own = tid >> 2 < b ? rows.position[tid >> 2] : 0;
    const int64_t to = own < 0 ? places.of(top.m + own) : 0;
    if (solves && !kept) find_rows(me, chain, strip, end, rows, b, at[1]);
    if (!one && before > 0) find_rows(me, chain, 0, end, rows, b, at[0]);
    __syncthreads();
    if (solves && !kept) {
        load_square(mine, at[1], b, m.M);
        invert_square(m.M, b);
        if (s.square) store_square(m.M, kept_square<T>(s, me, strip));
    }
    wait_for_chain(t, s, me);
    __syncthreads();
    for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS) {
        const int position = k / NR < b ? rows.position[k / NR] : -1;
        m.y[k] = position >= 0 ? load_from_l2(&y[(int64_t)position * NR + k % NR]) : make<T>(0);
    }
    T sum[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
    for (; contribution < contributions_end;
         contribution += 2 * GROUPS) { /* two are polled side by side */
        const bool two = contribution + GROUPS < contributions_end;
        const T *from = u + (int64_t)contribution * NR, *next = from + (two ? GROUPS * NR : 0);
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            const T p = poll(from + r), q = poll(next + r);
            sum[r] = sum[r] - receive(from + r, p, 60);
            if (two) sum[r] = sum[r] - receive(next + r, q, 60);
        }
    }
    for (int c = 0; c < before; ++c) {
        const strip_columns<T> &x = other[c & 1];
        const int count = columns_of(me, chain, c);
        typename read_of<MODE, T>::type l[PART];
        T *values = m.x + (c & 1) * STRIP * NR;
        if (one) {
            lower_strip<MODE, T>(s, me, top.a, top.e, c)
                .load(i0 + row, row < b, group * PART, count, l);
            if (c + 2 < before) /* what comes after the next ones */
                lower_strip<MODE, T>(s, me, top.a, top.e, c + 2)
                    .prefetch_rows_of(i0, STRIP, top.e - (c + 2) * STRIP);
        } else if constexpr (MODE == READ_PANEL) {
#pragma unroll
            for (int k = 0; k < PART; ++k) {
                const int col = group * PART + k;
                const int i = col < count ? at[c & 1][x.segment[col] * STRIP + row] : -1;
                l[k] = i >= 0 ? x.column[col][i] : make<T>(0);
            }
            if (c + 1 < before) {
                if (tid < STRIP) describe_columns(me, chain, c + 1, &other[(c + 1) & 1], none);
                find_rows(me, chain, c + 1, end, rows, b, at[(c + 1) & 1]);
            }
        }
        const T *const from =
            sent + (int64_t)(solves && c + 1 == strip ? me.strips + c : c) * STRIP * NR;
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
            values[k] = k < count * NR ? receive(from + k) : make<T>(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PART; ++k)
#pragma unroll
            for (int r = 0; r < NR; ++r)
                pfma(sum[r], to_full<T>(l[k]), values[(group * PART + k) * NR + r]);
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) m.part[(group * STRIP + row) * NR + r] = sum[r];
    finish_strip(m, GROUPS, solves, false, false, [&](int i, int r, T value) {
        if (i >= b) return;
        const int position = rows.position[i];
        if (solves) send_entry<NR>(sent, me, strip, strip + 1, i * NR + r, value);
        if (position >= 0)
            y[(int64_t)position * NR + r] = value;
        else
            send(&u[to * NR + r], value);
    });
    if (top.w > top.e) publish(s.finished + me.top);
}

/** A warp: the sums of eight columns over its lanes; lane 4 q gets that of column q. Barriers: it
 *  meets the warp. */
template <class T> __device__ inline T sum_columns(T (&x)[8]) {
    const int lane = (int)threadIdx.x & 31;
#pragma unroll
    for (int o = 16, half = 4; half >= 1; o /= 2, half /= 2) {
        const bool upper = (lane & o) != 0;
#pragma unroll
        for (int q = 0; q < half; ++q) {
            const T give = upper ? x[q] : x[q + half], mine = upper ? x[q + half] : x[q];
            x[q] = mine + shfl_xor(give, o);
        }
    }
    return quad_sum(x[0]);
}

/** A warp: each lane receives its value, of which x was polled, if it wants one. One lane waits for
 *  all, since eight warps wait for the same values. Barriers: it meets the warp. */
template <class T> __device__ inline T receive_by_warp(const T *p, T x, bool wanted) {
    for (;;) {
        const unsigned missing = __ballot_sync(0xffffffffu, wanted && !is_set(x));
        if (!missing) return x;
        /* one lane polls for all */
        if (((int)threadIdx.x & 31) == __ffs((int)missing) - 1) x = receive(p, x, 60);
        __syncwarp();
        if (wanted && !is_set(x)) x = poll(p);
    }
}

/** A block: strip number `strip` of pivots of a chain on the way back: minus L^T times the rows
 *  below, then the inverse of the strip's square. Of the rows beyond the chain's pivots it takes
 *  slice 0, and receives the sums of the others; slice > 0: it makes that slice's sums and sends
 *  them. SMALL: latency counts, not bytes. smem: shared memory. Called by backward_piece().
 *  Barriers: it meets the block. */
template <int MODE, bool H, bool SMALL, int NR, class T>
__device__ void backward_strip(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                               const mpki_cuda_chain &me, int strip, int slice, char *smem) {
    typedef typename read_of<MODE, T>::type E;
    __shared__ strip_chain<T> chain;
    __shared__ strip_columns<E> mine;
    __shared__ strip_rows<SWEEP_THREADS> low;
    __shared__ strip_rows<STRIP> others;
    __shared__ int32_t at[IN_STRIP * SWEEP_THREADS], position[STRIP], where[SWEEP_THREADS];
    __shared__ int own_size;
    const swept_front<T> top(t, me.top);
    const strip_smem<NR, T> m(smem);
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int COLUMNS = STRIP / (SWEEP_THREADS / 32), end = top.node.first + top.own;
    const int32_t *ridx = t.ridx + top.node.ridx;
    const T *x = (const T *)s.x;
    T *sent = (T *)s.sent_back + me.sent * NR;
    const bool one = MODE != READ_PANEL || me.pieces == 1, kept = MODE != READ_PANEL || s.squared;
    /* rows beyond the pivots first: ancestors are done; then the strips after this one, from the
     * last */
    const int beyond = top.n - top.e, after = slice > 0 ? 0 : me.strips - 1 - strip;
    const int slices = (beyond + SWEEP_THREADS - 1) / SWEEP_THREADS, i0 = slice * SWEEP_THREADS;
    /* what slices of this strip hand on */
    T *const sums = sent + (2 * (int64_t)me.strips + (int64_t)strip * (slices - 1)) * STRIP * NR;
    if (slice == 0 && kept) copy_square_async(kept_square<T>(s, me, strip), m.M);
    load_chain(t, s, me, chain);
    if (tid < STRIP) {
        int b;
        if constexpr (MODE == READ_HALF_COPY) {
            const lower_strip<MODE, T> own(s, me, top.a, top.e, strip);
            b = describe_columns(me, chain, strip, (strip_columns<T> *)0, &others);
            mine.column[tid] = own.a + tid * own.ld, mine.segment[tid] = 0;
        } else {
            b = describe_columns(me, chain, strip, &mine, &others);
        }
        position[tid] = others.position[tid];
        if (tid == 0) own_size = b;
    }
    __syncthreads();
    const int b = own_size;
    if (one && beyond > i0)
        prefetch_columns(mine.column[0] + top.e + i0, (int)(mine.column[1] - mine.column[0]),
                         beyond - i0 < SWEEP_THREADS ? beyond - i0 : SWEEP_THREADS, b);
    if constexpr (MODE == READ_PANEL) {
        if (slice == 0 && !kept) {
            find_rows(me, chain, strip, end, others, b, at);
            __syncthreads();
            load_square(mine, at, b, m.M);
            invert_square(m.M, b);
            if (s.square) store_square(m.M, kept_square<T>(s, me, strip));
        }
    }
    T sum[NR][COLUMNS]; /* a warp takes 8 columns */
#pragma unroll
    for (int r = 0; r < NR; ++r)
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) sum[r][q] = make<T>(0);
    /* a warp's columns in 32 rows: places from i0 on of a list of `rows` for each segment */
    const auto fetch = [&](const int32_t *place, int rows, int i0, E(&l)[COLUMNS]) {
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
            const int col = warp * COLUMNS + q;
            const int k = col < b ? place[mine.segment[col] * rows + i0 + lane] : -1;
            l[q] = k >= 0 ? mine.column[col][k] : make<E>(0);
        }
    };
    const auto add = [&](const E(&l)[COLUMNS], const T *x) {
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
            for (int r = 0; r < NR; ++r)
                pfma(sum[r][q], cj<H>(as_read<MODE, T>(l[q])), x[lane * NR + r]);
    };
    int count = 0; /* rows of the slice, a thread each */
    if (beyond > i0) {
        count = describe_rows(top, me.top, top.e + i0, &low);
        const int at_row = low.position[tid];
        if (tid < count) where[tid] = at_row >= 0 ? at_row : ridx[top.m + at_row];
        __syncthreads();
        find_rows(me, chain, strip, end, low, count, at);
    }
    __syncthreads();
    for (int k = tid; k < STRIP * NR && slice == 0; k += SWEEP_THREADS) {
        if (k / NR < b) {
            const strip_segment<T> own = segment_of(
                me, chain, range_of(me, chain.strip, strip).first + mine.segment[k / NR]);
            const panel<T> a(own.a, own.w, own.ld);
            int col = strip * STRIP + k / NR;
            if constexpr (MODE == READ_PANEL) col = (int)((mine.column[k / NR] - own.a) / own.ld);
            m.y[k] = begin_value<H, NR>(s, a, col, k % NR);
        } else {
            m.y[k] = make<T>(0);
        }
    }
    if constexpr (SMALL) {
        /* the last rows, which are those of the farthest ancestors, are there first: little is left
         * to be done when the nearest one is through. Columns and values of the next 32 are on
         * their way */
        E l[COLUMNS];
        T polled[NR];
        const auto request = [&](int i, E(&l)[COLUMNS], T(&polled)[NR]) {
            fetch(at, SWEEP_THREADS, i, l);
#pragma unroll
            for (int r = 0; r < NR; ++r)
                polled[r] =
                    i + lane < count ? poll(&x[(int64_t)where[i + lane] * NR + r]) : make<T>(0);
        };
        if (count > 0) request((count - 1) & ~31, l, polled);
        for (int i = (count - 1) & ~31; i >= 0; i -= 32) {
            E next[COLUMNS];
            T next_polled[NR];
            if (i > 0) request(i - 32, next, next_polled);
            const bool there = i + lane < count;
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                const T *from = &x[there ? (int64_t)where[i + lane] * NR + r : 0];
                const T value = receive_by_warp(from, polled[r], there);
#pragma unroll
                for (int q = 0; q < COLUMNS; ++q)
                    pfma(sum[r][q], cj<H>(as_read<MODE, T>(l[q])), value);
            }
            if (i == 0) break;
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q) l[q] = next[q];
#pragma unroll
            for (int r = 0; r < NR; ++r) polled[r] = next_polled[r];
        }
    } else {
        for (int k = tid; k < SWEEP_THREADS * NR; k += SWEEP_THREADS)
            m.x[k] =
                k / NR < count ? receive_far(&x[(int64_t)where[k / NR] * NR + k % NR]) : make<T>(0);
        __syncthreads();
#pragma unroll 2
        for (int i = 0; i < count; i += 32) {
            E l[COLUMNS];
            fetch(at, SWEEP_THREADS, i, l);
            add(l, m.x + i * NR);
        }
    }
    for (int k = tid; k < STRIP * NR && slice == 0; k += SWEEP_THREADS)
        for (int q = 0; q + 1 < slices; ++q)
            m.y[k] = m.y[k] - receive(sums + (int64_t)q * STRIP * NR + k);
    __syncthreads();
    for (int c = 0; c < after; ++c) { /* strips from the last on */
        const int which = me.strips - 1 - c, there = columns_of(me, chain, which);
        T *const values = m.x + (c & 1) * STRIP * NR;
        E l[STRIP / 32][COLUMNS];
        if (one) {
#pragma unroll
            for (int h = 0; h < STRIP / 32; ++h)
#pragma unroll
                for (int q = 0; q < COLUMNS; ++q) {
                    const int col = warp * COLUMNS + q, i = 32 * h + lane;
                    l[h][q] =
                        col < b && i < there ? mine.column[col][which * STRIP + i] : make<E>(0);
                }
            if (which >= strip + 3 && tid / 4 < b && tid % 4 * (LINE / (int)sizeof(E)) < STRIP)
                prefetch_l2(mine.column[tid / 4] + (which - 2) * STRIP +
                            tid % 4 * (LINE / (int)sizeof(E)));
        } else if constexpr (MODE == READ_PANEL) {
            int32_t *const place = at + (c & 1) * IN_STRIP * STRIP;
            if (tid < STRIP) describe_columns(me, chain, which, (strip_columns<T> *)0, &others);
            __syncthreads();
            find_rows(me, chain, strip, end, others, there, place);
            __syncthreads();
#pragma unroll
            for (int h = 0; h < STRIP / 32; ++h) fetch(place, STRIP, 32 * h, l[h]);
        }
        const T *const from =
            sent + (int64_t)(which == strip + 1 ? me.strips + which : which) * STRIP * NR;
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
            values[k] = k < there * NR ? receive(from + k) : make<T>(0);
        __syncthreads();
#pragma unroll
        for (int h = 0; h < STRIP / 32; ++h) add(l[h], values + 32 * h * NR);
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        const T z = sum_columns(sum[r]);
        if ((lane & 3) == 0) m.part[(warp * COLUMNS + lane / 4) * NR + r] = z;
    }
    if (slice > 0) {
        __syncthreads();
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
            send(sums + (int64_t)(slice - 1) * STRIP * NR + k, m.part[k]);
        return;
    }
    finish_strip(m, 1, true, true, H, [&](int i, int r, T value) {
        if (i >= b) return;
        send_entry<NR>(sent, me, strip, strip - 1, i * NR + r, value);
        send_solution<NR>(s, position[i], r, value);
    });
}

} // namespace mpki
#endif
