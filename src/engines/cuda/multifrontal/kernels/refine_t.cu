/* SPDX-License-Identifier: BSD-3-Clause */
/** Residuals in twice or four times the precision of double, and the backward errors of a solution,
 *  by some lanes a row. A row is added up in a fixed order, and blocks are added in theirs: the
 *  sums do not depend on who is first. */
#include "engines/interface/rows.h"
#include "null_vectors.cuh"

#include <string.h>

using namespace mpki;

static const double SMALL = sizeof(R) == sizeof(float) ? 1e-30 : 1e-270;
static const double LARGE = sizeof(R) == sizeof(float) ? 1e37 : 1e300;
enum { THREADS = 32 * MPKI_CUDA_REFINE_ROWS, SUM_THREADS = 1024 };

/** A thread: the bits of x >= 0, which compare as x does. */
__device__ static unsigned long long bits(double x) {
    return (unsigned long long)__double_as_longlong(x);
}
/** A thread: the number with these bits. */
__device__ static double number_of(unsigned long long x) {
    return __longlong_as_double((long long)x);
}
/** A thread: *most := max(*most, x), by an atomic if need be. */
__device__ static void raise_to(unsigned long long *most, unsigned long long x) {
    if (x > *most) atomicMax(most, x);
}
/** A thread: is there nothing to be done? */
__device__ static bool unwanted(const unsigned long long *wanted) {
    return wanted && *wanted == 0;
}
/** A thread: is x 0, or so far from the ends of the range that products with it are accurate? */
__device__ static bool inside(double x) {
    return x == 0 || (x > SMALL && x < LARGE);
}

/** A thread: what is measured in the place of this block. */
__device__ static mpki_cuda_refine own_place(const mpki_cuda_refine &a,
                                             const mpki_cuda_columns &c) {
    mpki_cuda_refine own = a;
    const int place = c.place[share(c).column];
    own.errors += place;
    if (own.report) own.report += place;
    own.partial += place * a.partials, own.piece += place * a.sums;
    if (own.w) own.w += (int64_t)c.number[share(c).column] * a.a.n;
    return own;
}

/** A thread: |v| as a step is measured, in double: the sum of both parts. */
template <class E> __device__ static double taxi(E v) {
    const number a = to_number(v);
    return scalar_of<E>::complex ? fabs(a.x) + fabs(a.y) : fabs(a.x);
}

/** A thread for some entries: errors->x_norm and b_norm := the largest |x_i| and |b_i|. step: x :=
 *  x + r first, what it was goes to `before`, and errors->step and stepped are the largest entries
 *  of r and of that over scale_i; NaN is left to others. b NULL: x_norm of |x_i| / scale_i
 *  instead, and b_norm of |x_i|. Barriers: it meets the block. */
template <class E>
__global__ void extremes_kernel(int n, const mpki_cuda_columns columns, int step, const E *r,
                                E *before, E *x, const E *b, const double *scale,
                                const unsigned long long *wanted, mpki_cuda_errors *errors) {
    __shared__ unsigned long long warps[4][8];
    unsigned long long most[4] = {0, 0, 0, 0};
    double taken[2] = {0, 0};
    const share me(columns);
    const int place = columns.place[me.column], number = columns.number[me.column];
    after_previous();
    if (unwanted(wanted)) return;
    x += number * columns.x_step, errors += place;
    if (b) b += number * columns.b_step;
    if (step) r += place * columns.r_step, before += number * columns.before_step;
    for (int i = me.block * (int)blockDim.x + (int)threadIdx.x; i < n;
         i += me.blocks * (int)blockDim.x) {
        E v = x[i];
        if (step) {
            const double unit = 1 / scale[i], d = taxi(r[i]) * unit, was = taxi(v) * unit;
            if (d > taken[0]) taken[0] = d;
            if (was > taken[1]) taken[1] = was;
            before[i] = v, x[i] = v = v + r[i];
        }
        const unsigned long long p = bits(b ? length(v) : length(v) / scale[i]);
        const unsigned long long q = bits(length(b ? b[i] : v));
        if (p > most[0]) most[0] = p;
        if (q > most[1]) most[1] = q;
    }
    most[2] = bits(taken[0]), most[3] = bits(taken[1]);
    const int kinds = step ? 4 : 2;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (k >= kinds) continue;
        for (int o = 16; o; o /= 2) {
            const unsigned long long other = __shfl_xor_sync(0xffffffffu, most[k], o);
            if (other > most[k]) most[k] = other;
        }
        if (threadIdx.x % 32 == 0) warps[k][threadIdx.x / 32] = most[k];
    }
    __syncthreads();
    const int mine = (int)threadIdx.x;
    if (mine >= kinds) return;
    unsigned long long all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
        if (warps[mine][w] > all) all = warps[mine][w];
    raise_to(mine == 0   ? &errors->x_norm
             : mine == 1 ? &errors->b_norm
             : mine == 2 ? &errors->step
                         : &errors->stepped,
             all);
}

/* What rows have come to: sums of squares of r and b, relative; and largest ones, whose place is
 * that in mpki_cuda_errors. */
enum { R_NORM, NORM_INF, OMEGA1, OMEGA2, ODD, ROWS_R, ROWS_B, UNRESOLVED, MISSED, LARGEST };
/** Sums of squares of r and b, relative to the largest b, and the largest errors, of some rows. */
struct row_errors {
    double squares[2];
    unsigned long long largest[LARGEST];
    __device__ void clear() {
        squares[0] = squares[1] = 0;
        for (int k = 0; k < LARGEST; ++k) largest[k] = 0;
    }
    __device__ void raise(int which, double x) {
        if (bits(x) > largest[which]) largest[which] = bits(x);
    }
};

/** A thread: raises what is measured by rows likewise. Barriers: none. */
__device__ static void judge_beside(row_errors *mine, double r, double w, double own,
                                    double row_norm) {
    mpki_by_rows rows = {0, 0, 0, false};
    mpki_row_beside(r, own, w, row_norm, mpki_row_least(sizeof(R) == sizeof(float)), &rows);
    mine->raise(ROWS_R, rows.r);
    mine->raise(ROWS_B, rows.b);
    mine->raise(UNRESOLVED, rows.unresolved);
    if (rows.missed) mine->raise(MISSED, 1);
}

/** A thread: raises the errors of `mine` by a row with residual r, w = |A_i| |x| + |b_i|, own =
 *  |b_i| and row_norm, the sum of |A_i|, as problem/measure_t.c does. Barriers: none. */
__device__ static void judge(row_errors *mine, double x_norm, double tiny, double r, double w,
                             double own, double row_norm) {
    const double all = row_norm * x_norm + own;
    mine->raise(R_NORM, r);
    mine->raise(NORM_INF, row_norm);
    if (!inside(all) || !inside(row_norm) || (all == 0 && row_norm > 0 && x_norm > 0))
        mine->raise(ODD, 1);
    if (r == 0) return;
    if (w > tiny * all)
        mine->raise(OMEGA1, r / w);
    else
        mine->raise(OMEGA2, r / (w - own + row_norm * x_norm));
}

/* ---- sums of so many words: twice the precision of double, or four times where b is small beside
 * A x (K-fold summation: Ogita, Rump & Oishi 2005) ---- */

/** A thread: s += x from word `from` on; the rounding error of a word goes to the next one.
 *  Barriers: none. */
template <int WORDS> __device__ inline void add_to(double (&s)[WORDS], double x, int from) {
#pragma unroll
    for (int k = 0; k + 1 < WORDS; ++k) {
        if (k < from) continue;
        const double sum = __dadd_rn(s[k], x), t = __dsub_rn(sum, s[k]);
        x = __dadd_rn(__dsub_rn(s[k], __dsub_rn(sum, t)), __dsub_rn(x, t));
        s[k] = sum;
    }
    s[WORDS - 1] = __dadd_rn(s[WORDS - 1], x);
}
/** A thread: s += a b, with the rounding error of the product. Barriers: none. */
template <int WORDS> __device__ inline void add_product(double (&s)[WORDS], double a, double b) {
    const double p = __dmul_rn(a, b);
    add_to(s, p, 0);
    if (sizeof(R) == 8) add_to(s, __fma_rn(a, b, -p), WORDS == 2 ? 1 : 0);
}
/** A thread: the sum of the words, in double. */
template <int WORDS> __device__ inline double value_of(const double (&s)[WORDS]) {
    double x = s[WORDS - 1];
#pragma unroll
    for (int k = WORDS - 2; k >= 0; --k) x = __dadd_rn(x, s[k]);
    return x;
}

/* Below the least |A_i| |x| that is not 0 products may have underflowed; what these leave in it. */
static const double LEAST = 1e-280, UNDERFLOWN = 1e-300;

/** Sums over a row, or a piece of one: minus A x in WORDS words, |A| |x|, |A|. */
template <class E, int WORDS> struct sums_of {
    double re[WORDS], im[WORDS], w, norm;
    __device__ sums_of() : w(0), norm(0) {
#pragma unroll
        for (int k = 0; k < WORDS; ++k) re[k] = im[k] = 0;
    }
    /** A thread: the entry a of the row, with the x that it meets; unit: its own in |A|. Barriers:
     *  none. */
    __device__ void subtract(E a, E x, double unit) {
        const number p = to_number(a), q = to_number(x);
        const double size = length(a);
        add_product(re, -p.x, q.x);
        if (scalar_of<E>::complex) {
            add_product(re, p.y, q.y);
            add_product(im, -p.x, q.y);
            add_product(im, -p.y, q.x);
        }
        norm += size * unit;
        w += size * length(x);
    }
    /** A thread: subtract() of entries begin, begin + step, ... before `end`. FLAT: |A| has columns
     *  scaled, and |A| |x| is not 0 where a product has underflowed. Barriers: none. */
    template <bool FLAT>
    __device__ void add_entries(const mpki_cuda_refine &a, int64_t begin, int64_t end, int step,
                                const E *x) {
        const E *ax = (const E *)a.ax;
#pragma unroll 2
        for (int64_t e = begin; e < end; e += step) {
            const int32_t at = a.a.src[e], col = a.a.col[e];
            const E entry = at >= 0 ? ax[at] : a.a.hermitian ? conj(ax[~at]) : ax[~at];
            subtract(entry, x[col], FLAT ? a.scale[col] : 1);
            if (FLAT && length(entry) > 0 && length(x[col]) > 0) w += UNDERFLOWN;
        }
    }
    /** A thread: *this += z. Barriers: none. */
    __device__ void join(const sums_of &z) {
#pragma unroll
        for (int k = 0; k < WORDS; ++k) {
            add_to(re, z.re[k], WORDS == 2 ? k : 0);
            if (scalar_of<E>::complex) add_to(im, z.im[k], WORDS == 2 ? k : 0);
        }
        w += z.w, norm += z.norm;
    }
    /** A warp: each LANES lanes side by side get the sums of all of them. Barriers: it meets the
     *  warp. */
    template <int LANES = 32> __device__ void join_lanes() {
#pragma unroll
        for (int o = LANES / 2; o; o /= 2) {
            sums_of z;
#pragma unroll
            for (int k = 0; k < WORDS; ++k) {
                z.re[k] = shfl_xor(re[k], o);
                if (scalar_of<E>::complex) z.im[k] = shfl_xor(im[k], o);
            }
            z.w = shfl_xor(w, o), z.norm = shfl_xor(norm, o);
            join(z);
        }
    }
    /** A thread: minus A x, rounded to the type of the entries. */
    __device__ E value() const {
        return to_entry<E>(value_of(re), value_of(im));
    }
};

/** A warp: the sums over entries begin .. end - 1, for all its lanes. Barriers: it meets the
 *  warp. */
template <bool FLAT, int WORDS, class E>
__device__ sums_of<E, WORDS> add_up(const mpki_cuda_refine &a, int64_t begin, int64_t end,
                                    const E *x) {
    sums_of<E, WORDS> z;
    z.template add_entries<FLAT>(a, begin + ((int)threadIdx.x & 31), end, 32, x);
    __syncwarp();
    z.join_lanes();
    return z;
}

/** A thread: r_i := b_i - (A x)_i from the sums z of row i, and its errors go to *mine; FLAT: how
 *  small |A x|_i is beside |A| |x|, roughly and in this row alone. Barriers: none. */
template <bool FLAT, int WORDS, class E>
__device__ void finish_row(const mpki_cuda_refine &a, double tiny, sums_of<E, WORDS> &z, int i,
                           const E *b, E *r, row_errors *mine) {
    const double most = number_of(a.errors->x_norm);
    if (FLAT) {
        const double scale = a.scale[i], w = z.w * scale;
        const double size = length(z.value());
        const double q = size * scale / (w > tiny * most ? w : w + most);
        if (size > 0 || size != size) mine->raise(OMEGA1, q);
        if (z.w > LEAST && z.w < (double)INFINITY) {
            mine->raise(OMEGA2, size / z.w);
            if (z.w > MPKI_CUDA_TOUCHED * most * z.norm) mine->raise(ROWS_R, size / z.w);
        } else if (!(z.w == 0 && size == 0)) {
            mine->raise(ODD, 1);
        }
        if (r) r[i] = z.value();
        return;
    }
    const double unit = 1 / number_of(a.errors->b_norm);
    const number own = to_number(b[i]);
    add_to(z.re, own.x, 0);
    add_to(z.im, own.y, 0);
    const E v = z.value();
    const double size = length(v), bi = length(b[i]);
    r[i] = v;
    judge(mine, most, tiny, size, z.w + bi, bi, z.norm);
    if (a.by_rows) judge_beside(mine, size, z.w + bi, bi, z.norm);
    if (a.w) a.w[i] = z.w + bi;
    mine->squares[0] = size * unit * (size * unit), mine->squares[1] = bi * unit * (bi * unit);
}

/** A block: partial := its sums of squares, in the order of its rows, and its largest errors go to
 *  *errors. Barriers: it meets the block at the start. */
__device__ static void add_rows(const row_errors *row, int rows, double *partial,
                                mpki_cuda_errors *errors) {
    const int k = (int)threadIdx.x;
    __syncthreads();
    if (k < 2) {
        double sum = 0;
        for (int i = 0; i < rows; ++i) sum += row[i].squares[k];
        partial[k] = sum;
    } else if (k >= 32 && k < 32 + LARGEST) {
        unsigned long long most = 0;
        for (int i = 0; i < rows; ++i)
            if (row[i].largest[k - 32] > most) most = row[i].largest[k - 32];
        unsigned long long *const to[LARGEST] = {
            &errors->r_norm, &errors->norm_inf, &errors->omega1,     &errors->omega2, &errors->odd,
            &errors->rows_r, &errors->rows_b,   &errors->unresolved, &errors->missed};
        if (most > 0) raise_to(to[k - 32], most);
    }
}

/** A thread: does the solution want another step, as the host judges it (../solve/refine.c)? */
__device__ static bool asks_for_more(const mpki_cuda_errors &e, double accuracy, double lost) {
    const double x = number_of(e.x_norm), b = number_of(e.b_norm), r = number_of(e.r_norm);
    const double omega = number_of(e.omega1) + number_of(e.omega2);
    return !e.odd && x > SMALL && x < LARGE && b > SMALL && b < LARGE && r < (double)INFINITY &&
           omega < (double)INFINITY && number_of(e.norm_inf) * (x / b) <= lost && omega > accuracy;
}

/** A block of COUNT threads, when all others have written: adds up the sums of squares of `blocks`
 *  blocks, in a fixed order, and forms the verdict in *a.errors and *a.report. Barriers: it meets
 *  the block. */
template <int COUNT> __device__ void conclude(const mpki_cuda_refine &a, int blocks) {
    __shared__ double warps[2][COUNT / 32];
    const int tid = (int)threadIdx.x;
    double sum[2] = {0, 0};
#pragma unroll 8
    for (int k = tid; k < blocks; k += COUNT)
        sum[0] += __ldcg(a.partial + 2 * (int64_t)k),
            sum[1] += __ldcg(a.partial + 2 * (int64_t)k + 1);
    for (int o = 16; o; o /= 2)
        sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], o),
            sum[1] += __shfl_xor_sync(0xffffffffu, sum[1], o);
    if (tid % 32 == 0) warps[0][tid / 32] = sum[0], warps[1][tid / 32] = sum[1];
    __syncthreads();
    if (tid > 0) return;
    for (int k = 0; k < 2; ++k) {
        sum[k] = warps[k][0];
        for (int w = 1; w < COUNT / 32; ++w) sum[k] += warps[k][w];
    }
    mpki_cuda_errors e;
    e.x_norm = __ldcg(&a.errors->x_norm), e.b_norm = __ldcg(&a.errors->b_norm);
    e.r_norm = __ldcg(&a.errors->r_norm), e.norm_inf = __ldcg(&a.errors->norm_inf);
    e.omega1 = __ldcg(&a.errors->omega1), e.omega2 = __ldcg(&a.errors->omega2);
    e.odd = __ldcg(&a.errors->odd), e.ended = 0;
    e.rows_r = __ldcg(&a.errors->rows_r), e.rows_b = __ldcg(&a.errors->rows_b);
    e.unresolved = __ldcg(&a.errors->unresolved), e.missed = __ldcg(&a.errors->missed);
    e.step = __ldcg(&a.errors->step), e.stepped = __ldcg(&a.errors->stepped);
    e.r2 = sum[0], e.b2 = sum[1];
    e.more = asks_for_more(e, a.accuracy, a.lost);
    *a.errors = e;
    if (a.report) *a.report = e;
}

/** One block, behind a kernel for rows of which some are long: conclude(). */
static __global__ void squares_kernel(const mpki_cuda_refine all_places,
                                      const mpki_cuda_columns columns, int blocks) {
    const mpki_cuda_refine a = own_place(all_places, columns);
    after_previous();
    if (!unwanted(a.wanted)) conclude<SUM_THREADS>(a, blocks);
}

/* Does the last block of a kernel for rows conclude? Of many blocks each would wait for what it has
 * written. */
__host__ __device__ static inline bool ends_alone(int longs, int blocks) {
    return longs == 0 && blocks <= 1024;
}

/** A block, at the end of a kernel: the last of `all` blocks to come here concludes; a counter
 *  behind a fence finds it. Barriers: it meets the block. */
__device__ static void end_rows(const mpki_cuda_refine &a, int blocks, int all) {
    __shared__ int last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&a.errors->ended, 1ull) == (unsigned)all - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) conclude<THREADS>(a, blocks);
}

/** LANES lanes for each row that is not long, a warp if it has many more entries than lanes; then a
 *  warp for each piece of the long rows, whose sums go to a.piece. rows: blocks of rows. Barriers:
 *  it meets the block. */
template <bool FLAT, int WORDS, int LANES, class E>
__global__ void __launch_bounds__(THREADS)
    rows_kernel(const mpki_cuda_refine all_places, const mpki_cuda_columns columns, int rows,
                double tiny, const E *x, const E *b, E *r) {
    const mpki_cuda_refine a = own_place(all_places, columns);
    const int ROWS = THREADS / LANES, MANY = 16 * LANES;
    __shared__ row_errors errors[ROWS];
    after_previous();
    if (unwanted(a.wanted)) return;
    x += columns.number[share(columns).column] * columns.x_step;
    if (!FLAT) b += columns.number[share(columns).column] * columns.b_step;
    if (r) r += columns.place[share(columns).column] * columns.r_step;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int block = share(columns).block;
    if (block >= rows) {
        const int p = (block - rows) * MPKI_CUDA_REFINE_ROWS + warp;
        if (p >= a.a.pieces) return;
        const int k = a.a.piece_of[p], i = a.a.long_row[k];
        const int64_t begin = a.a.ptr[i] + (int64_t)(p - a.a.first[k]) * MPKI_CUDA_ROW_LONG;
        const int64_t end = begin + MPKI_CUDA_ROW_LONG;
        const sums_of<E, WORDS> z =
            add_up<FLAT, WORDS>(a, begin, end < a.a.ptr[i + 1] ? end : a.a.ptr[i + 1], x);
        double *to = a.piece + (int64_t)p * MPKI_CUDA_REFINE_SUMS;
        if (lane > 0) return;
        for (int w = 0; w < WORDS; ++w) to[w] = z.re[w], to[WORDS + w] = z.im[w];
        to[2 * WORDS] = z.w, to[2 * WORDS + 1] = z.norm;
        return;
    }
    const int i = block * ROWS + (int)threadIdx.x / LANES;
    const int64_t begin = i < a.a.n ? a.a.ptr[i] : 0, end = i < a.a.n ? a.a.ptr[i + 1] : 0;
    const bool here = i < a.a.n && end - begin <= MPKI_CUDA_ROW_LONG, first = lane % LANES == 0;
    const bool many = here && LANES < 32 && end - begin > MANY;
    row_errors mine;
    mine.clear();
    sums_of<E, WORDS> z;
    if (here && !many) z.template add_entries<FLAT>(a, begin + lane % LANES, end, LANES, x);
    __syncwarp();
    z.template join_lanes<LANES>();
    if (here && !many && first) finish_row<FLAT>(a, tiny, z, i, b, r, &mine);
    for (unsigned rest = __ballot_sync(0xffffffffu, many && first); rest; rest &= rest - 1) {
        const int from = __ffs((int)rest) - 1, row = __shfl_sync(0xffffffffu, i, from);
        sums_of<E, WORDS> all = add_up<FLAT, WORDS>(a, a.a.ptr[row], a.a.ptr[row + 1], x);
        if (lane == from) finish_row<FLAT>(a, tiny, all, row, b, r, &mine);
    }
    if (first) errors[threadIdx.x / LANES] = mine;
    add_rows(errors, ROWS, a.partial + 2 * (int64_t)block, a.errors);
    const int all = share(columns).blocks;
    if (!FLAT && ends_alone(a.a.longs, all)) end_rows(a, rows, all);
}

/** A warp for each long row: joins the sums of its pieces. partial: sums of squares of these
 *  blocks. Barriers: it meets the block. */
template <bool FLAT, int WORDS, class E>
__global__ void __launch_bounds__(THREADS)
    long_kernel(const mpki_cuda_refine all_places, const mpki_cuda_columns columns, int rows,
                double tiny, const E *b, E *r) {
    const mpki_cuda_refine a = own_place(all_places, columns);
    double *const partial = a.partial + 2 * (int64_t)rows;
    __shared__ row_errors errors[MPKI_CUDA_REFINE_ROWS];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int block = share(columns).block, k = block * MPKI_CUDA_REFINE_ROWS + warp;
    row_errors mine;
    mine.clear();
    after_previous();
    if (unwanted(a.wanted)) return;
    if (!FLAT) b += columns.number[share(columns).column] * columns.b_step;
    if (r) r += columns.place[share(columns).column] * columns.r_step;
    if (k < a.a.longs) {
        sums_of<E, WORDS> z;
        for (int p = a.a.first[k] + lane; p < a.a.first[k + 1]; p += 32) {
            const double *from = a.piece + (int64_t)p * MPKI_CUDA_REFINE_SUMS;
            sums_of<E, WORDS> piece;
            for (int w = 0; w < WORDS; ++w) piece.re[w] = from[w], piece.im[w] = from[WORDS + w];
            piece.w = from[2 * WORDS], piece.norm = from[2 * WORDS + 1];
            z.join(piece);
        }
        z.join_lanes();
        if (lane == 0) finish_row<FLAT>(a, tiny, z, a.a.long_row[k], b, r, &mine);
    }
    if (lane == 0) errors[warp] = mine;
    add_rows(errors, MPKI_CUDA_REFINE_ROWS, partial + 2 * (int64_t)block, a.errors);
}

enum { MOVE_THREADS = 128, MOVED_AT_ONCE = 8 };

/** A thread for an entry: what is left of it. Barriers: none. */
template <class E>
__global__ void __launch_bounds__(MOVE_THREADS)
    cut_kernel(int n, const mpki_cuda_columns columns, const mpki_cuda_least least, const E *x,
               E *to) {
    const share me(columns);
    const int i = me.block * MOVE_THREADS + (int)threadIdx.x, k = columns.number[me.column];
    after_previous();
    if (i >= n) return;
    const E v = x[k * columns.x_step + i];
    to[k * columns.before_step + i] = length(v) < least.of[k] ? to_entry<E>(0, 0) : v;
}

/** A thread for an entry of all vectors: reads several before it writes any, which no target that
 *  is another one's source minds, for that one was read before. Barriers: none. */
template <class E>
__global__ void __launch_bounds__(MOVE_THREADS)
    move_kernel(int n, const mpki_cuda_moves m, const E *from, E *to) {
    const int i = (int)(blockIdx.x * MOVE_THREADS + threadIdx.x);
    after_previous();
    if (i >= n) return;
    for (int first = 0; first < m.count; first += MOVED_AT_ONCE) {
        E v[MOVED_AT_ONCE];
#pragma unroll
        for (int k = 0; k < MOVED_AT_ONCE; ++k)
            if (first + k < m.count) v[k] = from[m.source[first + k] * m.from_step + i];
#pragma unroll
        for (int k = 0; k < MOVED_AT_ONCE; ++k)
            if (first + k < m.count) to[m.target[first + k] * m.to_step + i] = v[k];
    }
}

static int blocks_of(int count) {
    return (count + MPKI_CUDA_REFINE_ROWS - 1) / MPKI_CUDA_REFINE_ROWS;
}

template <bool FLAT, int WORDS, int LANES>
static mpk_status queue_rows(mpki_cuda *cuda, const mpki_cuda_refine *a, const mpki_cuda_columns *c,
                             double tiny, const T *x, const T *b, T *r) {
    const int each = THREADS / LANES, rows = (a->a.n + each - 1) / each;
    const int pieces = blocks_of(a->a.pieces), longs = blocks_of(a->a.longs);
    auto residual = rows_kernel<FLAT, WORDS, LANES, T>;
    auto rest = long_kernel<FLAT, WORDS, T>;
    const int all = (rows + pieces) * c->count, behind = longs * c->count;
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, residual, all, THREADS, 0, *a, *c, rows, tiny, x, b, r));
    if (longs > 0)
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, rest, behind, THREADS, 0, *a, *c, rows, tiny, b, r));
    if (!FLAT && !ends_alone(a->a.longs, rows + pieces))
        MPKI_TRY(
            MPKI_LAUNCH_NEXT(cuda, squares_kernel, c->count, SUM_THREADS, 0, *a, *c, rows + longs));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* The errors of x, as far as kernels form them; FLAT: its flatness, without b. */
template <bool FLAT, int WORDS>
static mpk_status queue(mpki_cuda *cuda, const mpki_cuda_refine *a, const mpki_cuda_columns *c,
                        double tiny, int step, T *before, T *x, const T *b, T *r) {
    const int n = a->a.n, blocks = (n + 255) / 256 < 1024 ? (n + 255) / 256 : 1024;
    auto extremes = extremes_kernel<T>;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, extremes, blocks * c->count, 256, 0, n, *c, step, r, before, x,
                              b, a->scale, a->wanted, a->errors));
    return a->lanes == 4   ? queue_rows<FLAT, WORDS, 4>(cuda, a, c, tiny, x, b, r)
           : a->lanes == 8 ? queue_rows<FLAT, WORDS, 8>(cuda, a, c, tiny, x, b, r)
                           : queue_rows<FLAT, WORDS, 32>(cuda, a, c, tiny, x, b, r);
}

static int clear(mpki_cuda *cuda, const mpki_cuda_refine *a, int32_t count) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(a->errors, 0, (size_t)count * sizeof *a->errors, cuda->sparse));
    return MPK_OK;
}

static int report_to_host(mpki_cuda *cuda, const mpki_cuda_refine *a, int32_t count,
                          mpki_cuda_errors *out) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (a->report) {
        MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
        memcpy(out, a->report, (size_t)count * sizeof *out);
        return MPK_OK;
    }
    MPKI_TRY(cudaMemcpyAsync(out, a->errors, (size_t)count * sizeof *out, cudaMemcpyDeviceToHost,
                             cuda->sparse));
    MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
    return MPK_OK;
}

static int measure(mpki_cuda *cuda, const mpki_cuda_refine *a, const mpki_cuda_columns *columns,
                   double tiny, int step, int deep, void *before, void *x, const void *b, void *r) {
    return deep ? queue<false, 4>(cuda, a, columns, tiny, step, (T *)before, (T *)x, (const T *)b,
                                  (T *)r)
                : queue<false, 2>(cuda, a, columns, tiny, step, (T *)before, (T *)x, (const T *)b,
                                  (T *)r);
}

static int flatness(mpki_cuda *cuda, const mpki_cuda_refine *a, const mpki_cuda_columns *columns,
                    double tiny, const void *x, void *r) {
    return queue<true, 2>(cuda, a, columns, tiny, 0, NULL, (T *)(uintptr_t)x, NULL, (T *)r);
}

/* Sums along the vectors of y, by place, or where w is there by number. */
static mpk_status queue_products(mpki_cuda *cuda, const mpki_cuda_null *z,
                                 const mpki_cuda_columns *c, const T *y, int64_t step,
                                 const double *w) {
    auto products = null_products_kernel<T>;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, products, z->chunks * c->count, NULL_THREADS, 0, *z, *c, y,
                              step, w));
    return MPK_OK;
}

static int deflate(mpki_cuda *cuda, const mpki_cuda_null *z, const mpki_cuda_columns *c, void *r) {
    auto subtract = null_subtract_kernel<T>;
    const mpk_status status = queue_products(cuda, z, c, (const T *)r, c->r_step, NULL);
    if (status) return status;
    MPKI_TRY(
        MPKI_LAUNCH_NEXT(cuda, subtract, z->chunks * c->count, NULL_THREADS, 0, *z, *c, (T *)r));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int in_range(mpki_cuda *cuda, const mpki_cuda_null *z, const mpki_cuda_columns *c,
                    double within, const void *b, const double *w) {
    const mpk_status status = queue_products(cuda, z, c, (const T *)b, c->b_step, w);
    if (status) return status;
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, null_range_kernel, c->count, NULL_THREADS, 0, *z, *c, within));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int cut(mpki_cuda *cuda, int32_t n, const mpki_cuda_columns *columns,
               const mpki_cuda_least *least, const void *x, void *to) {
    auto kernel = cut_kernel<T>;
    const int blocks = (n + MOVE_THREADS - 1) / MOVE_THREADS * columns->count;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, blocks, MOVE_THREADS, 0, n, *columns, *least,
                              (const T *)x, (T *)to));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int move(mpki_cuda *cuda, int32_t n, const mpki_cuda_moves *moves, const void *from,
                void *to) {
    auto kernel = move_kernel<T>;
    const int blocks = (n + MOVE_THREADS - 1) / MOVE_THREADS;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, blocks, MOVE_THREADS, 0, n, *moves, (const T *)from,
                              (T *)to));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int hold(mpki_cuda *cuda, int32_t count, mpki_cuda_errors **report) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (*report) {
        MPKI_TRY(cudaFreeHost(*report));
        *report = NULL;
    } else {
        MPKI_TRY(cudaMallocHost((void **)report, (size_t)count * sizeof **report));
    }
    return MPK_OK;
}

extern const mpki_cuda_refine_kind FN(cuda_refine) = {
    measure, clear, flatness, report_to_host, deflate, in_range, cut, move, hold};
