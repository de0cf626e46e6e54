/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_TOGETHER_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_TOGETHER_CUH
/** Sweeps over a chain in strips for several sheets of right-hand sides at once, in real doubles: a block
 *  reads a square of L of 64 x 64 once and multiplies it by the values of all its sheets, by tensor cores.
 *  What is done is that of strips.cuh. Of the square's eight warps two have 16 rows of the product (on the
 *  way back: columns of L), each of them with half of the other side. */
#include "strips.cuh"
#ifdef __CUDACC__
#include "engines/cuda/dense/kernels/mma.cuh"
#endif

namespace mpki {

/** Right-hand sides of a sheet here; sheets that a block sweeps at once. */
static const int SHEET = MPKI_CUDA_RHS, TOGETHER = MPKI_CUDA_SHEETS_TOGETHER;
static const int SHEET_ENTRIES = STRIP * SHEET, SHARE = SHEET_ENTRIES / SWEEP_THREADS;

/** Shared memory of a strip of several sheets: M, the inverse of its square; values of rows of L, of this
 *  square and of the next one. It is no more than that of strip_smem. */
struct together_smem {
    double *M, *values[2];
    static const int VALUES = TOGETHER * SHEET_ENTRIES;
    __device__ together_smem(char *smem) : M((double *)smem) {
        values[0] = M + STRIP * SQUARE, values[1] = values[0] + VALUES;
    }
};

/** The sheets of a block: sweep `s` is the first one's. */
struct some_sheets {
    const mpki_cuda_sweep &s;
    int count, n;
    int64_t by; /* from a sheet's values to the next one's */
    __device__ some_sheets(const mpki_cuda_tree &t, const mpki_cuda_sweep &sweep, int sheets)
        : s(sweep), count(sheets), n(t.n), by(sweep.sheet / (int64_t)sizeof(double)) {}
    __device__ double *y(int k) const { return (double *)s.y + (int64_t)k * n * SHEET; }
    __device__ double *u(int k) const { return (double *)s.u + k * by; }
    __device__ double *x(int k) const { return (double *)s.x + k * by; }
    __device__ double *sent(int k, const mpki_cuda_chain &me) const {
        return (double *)s.sent + k * by + me.sent * SHEET;
    }
    __device__ double *sent_back(int k, const mpki_cuda_chain &me) const {
        return (double *)s.sent_back + k * by + me.sent * SHEET;
    }
    __device__ int32_t *finished(int k) const {
        return (int32_t *)((char *)s.finished + k * s.sheet);
    }
};

/** Where a thread works in products of a square: `g` and `t` as in mma.cuh; rows band + g and band + g + 8 of
 *  the product, of which it ends with `row`, entries 2 t and 2 t + 1; it has 32 of the other side, from
 *  `from` on. */
struct square_part {
    int g, t, half, band, from, row;
    __device__ square_part() {
        const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
        g = lane / 4, t = lane % 4, half = warp / 4;
        band = 16 * (warp % 4), from = 32 * half, row = band + 8 * half + g;
    }
};

/** A thread: where entry r of a row of values lies; no two lanes of a half warp meet. */
__device__ inline int value_place(int sheet, int row, int r) {
    return sheet * SHEET_ENTRIES + row * SHEET + (r ^ ((row & 2) << 1));
}

/** A block: `to` := the values at from(sheet, row, r) of some sheets, as they arrive; 0 where that is NULL.
 *  What a thread waits for is asked for at once. Barriers: none; the caller meets the block. */
template <class FROM>
__device__ inline void receive_values(double *to, int sheets, unsigned pause, const FROM &from) {
    const double *at[TOGETHER * SHARE];
    double x[TOGETHER * SHARE];
#pragma unroll
    for (int k = 0; k < TOGETHER * SHARE; ++k) {
        const int entry = (int)threadIdx.x + k % SHARE * SWEEP_THREADS, sheet = k / SHARE;
        at[k] = sheet < sheets ? from(sheet, entry / SHEET, entry % SHEET) : NULL;
        x[k] = at[k] ? poll(at[k]) : 0;
    }
#pragma unroll
    for (int k = 0; k < TOGETHER * SHARE; ++k) {
        const int entry = (int)threadIdx.x + k % SHARE * SWEEP_THREADS, sheet = k / SHARE;
        if (sheet < sheets)
            to[value_place(sheet, entry / SHEET, entry % SHEET)] =
                at[k] ? receive(at[k], x[k], pause) : 0;
    }
}

/** A warp: c += its part of a square, which it has in registers, times the values of each sheet: a[8 step +
 *  2 i + h] is row band + g + 8 h, column from + 16 step + 4 i + t. Barriers: those of mma16(). */
__device__ inline void multiply(const square_part &me, const double (&a)[16], const double *values,
                                int sheets, double (&c)[TOGETHER][4]) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
        double part[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) part[k] = a[8 * step + k];
#pragma unroll
        for (int sheet = 0; sheet < TOGETHER; ++sheet) {
            if (sheet >= sheets) break;
            double b[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                b[i] = values[value_place(sheet, me.from + 16 * step + 4 * i + me.t, me.g)];
            mma16(c[sheet], part, b);
        }
    }
}

/** A block: z := the sums of both halves, for the thread's row. space [work] of together_smem::VALUES.
 *  Barriers: it meets the block, also at the begin; the caller meets it before it writes `space`. */
__device__ inline void add_halves(const square_part &me, const double (&c)[TOGETHER][4],
                                  double *space, double (&z)[TOGETHER][2]) {
    const int tid = (int)threadIdx.x, other = tid ^ (SWEEP_THREADS / 2);
    __syncthreads();
#pragma unroll
    for (int sheet = 0; sheet < TOGETHER; ++sheet)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            space[(2 * sheet + e) * SWEEP_THREADS + tid] = me.half ? c[sheet][e] : c[sheet][2 + e];
            z[sheet][e] = me.half ? c[sheet][2 + e] : c[sheet][e];
        }
    __syncthreads();
#pragma unroll
    for (int sheet = 0; sheet < TOGETHER; ++sheet)
#pragma unroll
        for (int e = 0; e < 2; ++e)
            z[sheet][e] = z[sheet][e] + space[(2 * sheet + e) * SWEEP_THREADS + other];
}

/** A block: z := M z, or M^T z with `back`, for the thread's row; M is there when its copies are. Barriers:
 *  it meets the block. */
__device__ inline void by_inverse(const square_part &me, const together_smem &m, int sheets,
                                  bool back, double (&z)[TOGETHER][2]) {
    double a[16], c[TOGETHER][4];
#pragma unroll
    for (int sheet = 0; sheet < TOGETHER; ++sheet) {
#pragma unroll
        for (int e = 0; e < 4; ++e) c[sheet][e] = 0;
#pragma unroll
        for (int e = 0; e < 2; ++e)
            m.values[1][value_place(sheet, me.row, 2 * me.t + e)] = z[sheet][e];
    }
    wait_for_square();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        const int row = me.band + me.g + 8 * (k % 2),
                  col = me.from + k / 8 * 16 + k % 8 / 2 * 4 + me.t;
        a[k] = back ? m.M[col + row * SQUARE] : m.M[row + col * SQUARE];
    }
    multiply(me, a, m.values[1], sheets, c);
    add_halves(me, c, m.values[0], z);
}

/** A block: waits until the columns that children have delayed to a chain are there, in each sheet. Barriers:
 *  none; the caller meets the block. */
__device__ inline void wait_for_sheets(const mpki_cuda_tree &t, const some_sheets &sheets,
                                       const mpki_cuda_chain &me) {
    if (!me.delayed) return;
    for (int k = 0; k < sheets.count; ++k) {
        mpki_cuda_sweep s = sheets.s;
        s.finished = sheets.finished(k);
        wait_for_chain(t, s, me);
    }
}

/** A block: forward_strip() and forward_below() for some sheets. Called by forward_piece(). Barriers: it
 *  meets the block. */
__device__ inline void forward_together(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                        int count_of_sheets, const mpki_cuda_chain &me, int strip,
                                        char *smem) {
    __shared__ strip_chain<double> chain;
    __shared__ strip_columns<double> mine, other[2];
    __shared__ strip_rows<STRIP> rows;
    __shared__ int32_t at[2][IN_STRIP * STRIP];
    __shared__ int size;
    const some_sheets sheets(t, s, count_of_sheets);
    const swept_front<double> top(t, me.top);
    const together_smem m(smem);
    const square_part my;
    const int tid = (int)threadIdx.x, end = top.node.first + top.own;
    const bool solves = strip < me.strips, one = me.pieces == 1;
    const int before = solves ? strip : me.strips; /* strips whose values it needs */
    strip_rows<STRIP> *const none = (strip_rows<STRIP> *)0;
    if (solves && s.squared) copy_square_async(kept_square<double>(s, me, strip), m.M);
    load_chain(t, s, me, chain);
    const int i0 = solves ? STRIP * strip : top.e + (strip - me.strips) * STRIP; /* one: its rows */
    for (int c = 0; one && c < before && c < 2; ++c)
        lower_strip<READ_PANEL, double>(s, me, top.a, top.e, c)
            .prefetch_rows_of(i0, STRIP < top.n - i0 ? STRIP : top.n - i0, top.e - c * STRIP);
    if (tid < STRIP) {
        const int b = solves ? describe_columns(me, chain, strip, &mine, &rows)
                             : describe_rows(top, me.top, i0, &rows);
        if (!one && before > 0) describe_columns(me, chain, 0, &other[0], none);
        if (tid == 0) size = b;
    }
    __syncthreads();
    const int b = size;
    /* where the children's contributions to the thread's row begin, and where its own one goes */
    const int columns = chain_columns(t, me), first = t.node[me.low].first;
    const int position = my.row < b ? rows.position[my.row] : 0;
    int contribution = 0, contributions_end = 0;
    if (my.row < b) {
        const int at_row = position < 0 ? columns + top.m + position : position - first;
        if (position < 0 || (at_row >= 0 && at_row < columns))
            contribution = s.contribution[me.contribution + at_row],
            contributions_end = s.contribution[me.contribution + at_row + 1];
    }
    const int64_t to =
        my.row >= b || position >= 0 ? 0 : contribution_places(s, me.top).of(top.m + position);
    if (solves && !s.squared) find_rows(me, chain, strip, end, rows, b, at[1]);
    if (!one && before > 0) find_rows(me, chain, 0, end, rows, b, at[0]);
    __syncthreads();
    if (solves && !s.squared) {
        load_square(mine, at[1], b, m.M);
        invert_square(m.M, b);
        if (s.square) store_square(m.M, kept_square<double>(s, me, strip));
    }
    wait_for_sheets(t, sheets, me);
    __syncthreads();
    double own[TOGETHER][2], c[TOGETHER][4]; /* what the row begins with, less what is solved */
    const int entry = 2 * my.t;
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 2; ++e)
            own[k][e] = k < sheets.count && my.row < b && position >= 0
                            ? -load_from_l2(&sheets.y(k)[(int64_t)position * SHEET + entry + e])
                            : 0;
    for (; contribution < contributions_end; ++contribution) {
        const int64_t place = (int64_t)contribution * SHEET + entry;
        double x[TOGETHER][2];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
            for (int e = 0; e < 2; ++e)
                x[k][e] = k < sheets.count ? poll(sheets.u(k) + place + e) : 0;
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
            for (int e = 0; e < 2; ++e)
                if (k < sheets.count)
                    own[k][e] = own[k][e] - receive(sheets.u(k) + place + e, x[k][e], 60);
    }
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            c[k][e] = my.half ? 0 : own[k][e];
            c[k][2 + e] = my.half ? own[k][e] : 0;
        }
    for (int q = 0; q < before; ++q) {
        const strip_columns<double> &x = other[q & 1];
        const int count = columns_of(me, chain, q);
        double a[16];
        if (one) {
            const double *L = top.a.a + i0 + (int64_t)(q * STRIP) * top.a.ld;
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                const int row = my.band + my.g + 8 * (k % 2),
                          col = my.from + k / 8 * 16 + k % 8 / 2 * 4 + my.t;
                a[k] = row < b && col < count ? L[row + (int64_t)col * top.a.ld] : 0;
            }
            if (q + 2 < before) /* what comes after the next ones */
                lower_strip<READ_PANEL, double>(s, me, top.a, top.e, q + 2)
                    .prefetch_rows_of(i0, b, top.e - (q + 2) * STRIP);
        } else {
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                const int row = my.band + my.g + 8 * (k % 2),
                          col = my.from + k / 8 * 16 + k % 8 / 2 * 4 + my.t;
                const int i = col < count ? at[q & 1][x.segment[col] * STRIP + row] : -1;
                a[k] = i >= 0 ? x.column[col][i] : 0;
            }
            if (q + 1 < before) {
                if (tid < STRIP) describe_columns(me, chain, q + 1, &other[(q + 1) & 1], none);
                find_rows(me, chain, q + 1, end, rows, b, at[(q + 1) & 1]);
            }
        }
        const int from = solves && q + 1 == strip ? me.strips + q : q;
        receive_values(m.values[q & 1], sheets.count, 20, [&](int sheet, int row, int r) {
            return row < count
                       ? sheets.sent(sheet, me) + (int64_t)from * SHEET_ENTRIES + row * SHEET + r
                       : (const double *)NULL;
        });
        __syncthreads();
        multiply(my, a, m.values[q & 1], sheets.count, c);
    }
    double z[TOGETHER][2];
    add_halves(my, c, m.values[0], z);
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 2; ++e) z[k][e] = -z[k][e];
    if (solves) by_inverse(my, m, sheets.count, false, z);
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            if (k >= sheets.count || my.row >= b) continue;
            if (solves)
                send_entry<SHEET>(sheets.sent(k, me), me, strip, strip + 1,
                                  my.row * SHEET + entry + e, z[k][e]);
            if (position >= 0)
                sheets.y(k)[(int64_t)position * SHEET + entry + e] = z[k][e];
            else
                send(sheets.u(k) + to * SHEET + entry + e, z[k][e]);
        }
    if (top.w > top.e) {
        __syncthreads();
        if (tid < sheets.count) {
            __threadfence();
            atomicAdd(sheets.finished(tid) + me.top, 1);
        }
    }
}

/** A block: backward_strip() for some sheets. Called by backward_piece(). Barriers: it meets the block. */
__device__ inline void backward_together(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                         int count_of_sheets, const mpki_cuda_chain &me, int strip,
                                         int slice, char *smem) {
    __shared__ strip_chain<double> chain;
    __shared__ strip_columns<double> mine;
    __shared__ strip_rows<SWEEP_THREADS> low;
    __shared__ strip_rows<STRIP> others;
    __shared__ int32_t at[IN_STRIP * SWEEP_THREADS], position[STRIP], where[SWEEP_THREADS];
    __shared__ int own_size;
    const some_sheets sheets(t, s, count_of_sheets);
    const swept_front<double> top(t, me.top);
    const together_smem m(smem);
    const square_part my;
    const int tid = (int)threadIdx.x, end = top.node.first + top.own;
    const int32_t *ridx = t.ridx + top.node.ridx;
    const bool one = me.pieces == 1;
    /* rows beyond the pivots first: ancestors are done; then the strips after this one, from the last */
    const int beyond = top.n - top.e, after = slice > 0 ? 0 : me.strips - 1 - strip;
    const int slices = (beyond + SWEEP_THREADS - 1) / SWEEP_THREADS, i0 = slice * SWEEP_THREADS;
    /* what slices of this strip hand on */
    const int64_t sums = (2 * (int64_t)me.strips + (int64_t)strip * (slices - 1)) * SHEET_ENTRIES;
    if (slice == 0 && s.squared) copy_square_async(kept_square<double>(s, me, strip), m.M);
    load_chain(t, s, me, chain);
    if (tid < STRIP) {
        const int b = describe_columns(me, chain, strip, &mine, &others);
        position[tid] = others.position[tid];
        if (tid == 0) own_size = b;
    }
    __syncthreads();
    const int b = own_size;
    if (one && beyond > i0)
        prefetch_columns(mine.column[0] + top.e + i0, top.a.ld,
                         beyond - i0 < SWEEP_THREADS ? beyond - i0 : SWEEP_THREADS, b);
    if (slice == 0 && !s.squared) {
        find_rows(me, chain, strip, end, others, b, at);
        __syncthreads();
        load_square(mine, at, b, m.M);
        invert_square(m.M, b);
        if (s.square) store_square(m.M, kept_square<double>(s, me, strip));
    }
    double c[TOGETHER][4], z[TOGETHER][2];
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) c[k][e] = 0;
    int count = 0; /* rows of the slice */
    if (beyond > i0) {
        count = describe_rows(top, me.top, top.e + i0, &low);
        const int at_row = low.position[tid];
        if (tid < count) where[tid] = at_row >= 0 ? at_row : ridx[top.m + at_row];
        __syncthreads();
        find_rows(me, chain, strip, end, low, count, at);
    }
    __syncthreads();
    /* the last rows, which are those of the farthest ancestors, are there first */
    for (int q = (count - 1) / STRIP, turn = 0; count > 0 && q >= 0; --q, ++turn) {
        double a[16];
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const int col = my.band + my.g + 8 * (k % 2),
                      row = STRIP * q + my.from + k / 8 * 16 + k % 8 / 2 * 4 + my.t;
            const int i = col < b && row < count ? at[mine.segment[col] * SWEEP_THREADS + row] : -1;
            a[k] = i >= 0 ? mine.column[col][i] : 0;
        }
        receive_values(m.values[turn & 1], sheets.count, 60, [&](int sheet, int row, int r) {
            const int i = STRIP * q + row;
            return i < count ? sheets.x(sheet) + (int64_t)where[i] * SHEET + r
                             : (const double *)NULL;
        });
        __syncthreads();
        multiply(my, a, m.values[turn & 1], sheets.count, c);
    }
    __syncthreads();
    for (int q = 0; q < after; ++q) { /* strips from the last on */
        const int which = me.strips - 1 - q, there = columns_of(me, chain, which);
        double a[16];
        if (one) {
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                const int col = my.band + my.g + 8 * (k % 2),
                          row = my.from + k / 8 * 16 + k % 8 / 2 * 4 + my.t;
                a[k] = col < b && row < there ? mine.column[col][which * STRIP + row] : 0;
            }
            if (which >= strip + 3 && tid / 4 < b)
                prefetch_l2(mine.column[tid / 4] + (which - 2) * STRIP +
                            tid % 4 * (LINE / (int)sizeof(double)));
        } else {
            if (tid < STRIP)
                describe_columns(me, chain, which, (strip_columns<double> *)0, &others);
            __syncthreads();
            find_rows(me, chain, strip, end, others, there, at + (q & 1) * IN_STRIP * STRIP);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                const int col = my.band + my.g + 8 * (k % 2),
                          row = my.from + k / 8 * 16 + k % 8 / 2 * 4 + my.t;
                const int i =
                    col < b ? at[((q & 1) * IN_STRIP + mine.segment[col]) * STRIP + row] : -1;
                a[k] = i >= 0 ? mine.column[col][i] : 0;
            }
        }
        const int from = which == strip + 1 ? me.strips + which : which;
        receive_values(m.values[q & 1], sheets.count, 20, [&](int sheet, int row, int r) {
            return row < there ? sheets.sent_back(sheet, me) + (int64_t)from * SHEET_ENTRIES +
                                     row * SHEET + r
                               : (const double *)NULL;
        });
        __syncthreads();
        multiply(my, a, m.values[q & 1], sheets.count, c);
    }
    add_halves(my, c, m.values[0], z);
    const int entry = 2 * my.t;
    if (slice > 0) {
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
            for (int e = 0; e < 2; ++e)
                if (k < sheets.count)
                    send(sheets.sent_back(k, me) + sums + (int64_t)(slice - 1) * SHEET_ENTRIES +
                             my.row * SHEET + entry + e,
                         z[k][e]);
        return;
    }
    /* what the column begins with, less what is solved */
    const bool there = my.row < b;
    const int segment = there ? range_of(me, chain.strip, strip).first + mine.segment[my.row] : 0;
    const strip_segment<double> from = segment_of(me, chain, segment);
    const panel<double> a(from.a, from.w, from.ld);
    const int col = there ? (int)((mine.column[my.row] - from.a) / from.ld) : 0;
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            double begin = 0;
            if (k < sheets.count && there) {
                const double *y = sheets.y(k);
                begin = s.diagonal ? by_diagonal<false, SHEET>(a, y, col, entry + e)
                                   : y[(int64_t)a.id[col] * SHEET + entry + e];
            }
            z[k][e] = begin - z[k][e];
        }
    for (int q = 0; q + 1 < slices; ++q) {
        const int64_t place = sums + (int64_t)q * SHEET_ENTRIES + my.row * SHEET + entry;
        double x[TOGETHER][2];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
            for (int e = 0; e < 2; ++e)
                x[k][e] = k < sheets.count ? poll(sheets.sent_back(k, me) + place + e) : 0;
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
            for (int e = 0; e < 2; ++e)
                if (k < sheets.count)
                    z[k][e] = z[k][e] - receive(sheets.sent_back(k, me) + place + e, x[k][e], 60);
    }
    by_inverse(my, m, sheets.count, true, z);
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            if (k >= sheets.count || !there) continue;
            const int p = position[my.row], r = k * SHEET + entry + e;
            send_entry<SHEET>(sheets.sent_back(k, me), me, strip, strip - 1,
                              my.row * SHEET + entry + e, z[k][e]);
            send(sheets.x(k) + (int64_t)p * SHEET + entry + e, z[k][e]);
            if (s.out && r < s.columns)
                ((double *)s.out)[s.perm[p] + r * s.ldout] = z[k][e] * s.scale[p];
        }
}

} // namespace mpki
#endif
