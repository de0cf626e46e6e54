/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_UPDATE_EMULATED_CUH
#define MPKI_CUDA_MULTIFRONTAL_UPDATE_EMULATED_CUH
/** The update of a large front in real doubles by emulated doubles: products of 8-bit integers on
 *  tensor cores (the Ozaki scheme: Ootomo, Ozaki & Yokota 2024, Int. J. High Perform. Comput. Appl.
 *  38(4)). An entry x of row i is 2^(e_i - 55) (sum of d_s 256^(6 - s), s = 0 .. 6) with digits from
 *  -128 to 127, so 55 bits of the row's largest entry; of the 49 products of digits of two entries
 *  the 28 with s + t <= 6 count. Sums of digits' products are exact, in any order.
 *
 *  Column k of L is multiplied by a power of 2 before, s_k, and W = L D divided by it, s_k about
 *  sqrt |d_k|, so that rows of both are as large as what they contribute to the diagonal. With
 *  x_i = max |l_ik| s_k and y_j = max |w_jk| / s_k over the K pivots of a block, entry (i, j) of the
 *  sum differs from the exact one by at most K 2^-50.9 x_i y_j, and a rounding. The bound:
 *  of the products that do not count those with s + t = 7 are six, each at most 2^14 256^5, those
 *  with s + t > 7 a 300th of it; the entries are rounded to 2^-56 2^e each, so K 8.05 2^-56 2^(e_i +
 *  e_j); and 2^e is at most 2.016 times the row's largest entry. */
#include "large.cuh"

namespace mpki {

static const int SLICES = MPKI_CUDA_SLICES, SLICE_STEP = 32, SLICE_STAGES = 3;
static const int SLICE_ROWS = 32;                               /* of a block of slices_kernel() */
static const int SLICE_STAGE = SLICES * 2 * OUTER * SLICE_STEP; /* bytes: L's rows, then W's */
static const int EMULATED_THREADS = 256;
static const int SLICES_THREADS = 256, SLICES_SHARES = 8; /* blocks for MPKI_FRONT_ROWS rows */
/* the exponent of a row with an entry that is not finite */
static const int NOT_FINITE = 1 << 20;
static_assert(SLICES_SHARES * SLICE_ROWS == 2 * MPKI_FRONT_ROWS, "rows of L, and of W");
static_assert(SLICES_THREADS / SLICE_ROWS * SLICE_STEP == MPKI_FRONT_BLOCK, "all pivots");

/** A thread: where the slices of the block of columns in work lie, or of the one whose update is in
 *  work. */
struct slices_of_block {
    signed char *digits[2]; /* of L; of W */
    int *exponent[2];
    int64_t slice; /* bytes of one slice */
    __device__ slices_of_block(const mpki_cuda_front &f, const mpki_cuda_large &l) {
        slice = (int64_t)f.ldw * f.block;
        const int64_t turn = l.ahead ? l.turn & 1 : 0;
        digits[0] = (signed char *)f.slices + turn * mpki_cuda_slice_bytes(f.ldw, f.block);
        digits[1] = digits[0] + SLICES * slice;
        exponent[0] = (int *)(void *)(digits[1] + SLICES * slice);
        exponent[1] = exponent[0] + f.ldw;
    }
};

/** A finite double |x| = significand 2^(exponent - 1075), x 0: significand 0; and its sign. */
struct parts_of_double {
    unsigned long long significand;
    int exponent; /* 1 .. 2046; 2047: x is not finite */
    bool negative;
    __device__ explicit parts_of_double(double x) {
        const unsigned long long bits = (unsigned long long)__double_as_longlong(x);
        exponent = (int)(bits >> 52 & 2047), negative = bits >> 63;
        significand = bits & ((1ull << 52) - 1);
        if (exponent > 0)
            significand |= 1ull << 52;
        else
            exponent = 1;
    }
    /** An e, counted from -1022 on, for which seven digits hold x 2^(55 - e), if x is not 0: |x| < 2^e
     *  <= 2.016 |x|, or 2^e is twice the least power above |x|, whose first seven bits are ones. */
    __device__ int bound() const {
        const int zeros = __clzll((long long)significand) - 11; /* before 53 bits */
        return exponent - zeros + (significand << zeros >> 46 == 127);
    }
    /** x 2^(55 - e), rounded, in digits: a byte each, the last one lowest. shift: exponent + 2 - e, at
     *  most 2. */
    __device__ unsigned long long digits(int shift) const {
        unsigned long long whole;
        if (shift >= 0)
            whole = significand << shift;
        else
            whole = shift < -54 ? 0 : (significand + (1ull << (-shift - 1))) >> -shift;
        const unsigned long long middle = 0x80808080808080ull; /* of each digit's range */
        return ((negative ? 0 - whole : whole) + middle) ^ middle;
    }
};

/** A thread: half of the exponent of the block of D in which pivot k of `pivots` lies, rounded; d: D
 *  by twos: d_k, and what is beside it below. 0 where that is 0 or not finite. */
__device__ inline int half_exponent(const double *d, int k, int pivots) {
    double most = fabs(d[2 * k]);
    if (k + 1 < pivots) most = fmax(most, fabs(d[2 * k + 1]));
    if (k > 0) most = fmax(most, fabs(d[2 * k - 1]));
    if (!(most > 0) || !(most <= 1e308)) return 0;
    int e;
    (void)frexp(most, &e);
    return e / 2;
}

/** A block of 256 threads for each 32 rows of each front, of L or of W: slices of the pivots of the
 *  block of columns that the update `what` (OUTER_ALL, OUTER_NEXT) takes, rows from its first column
 *  on; zeros behind the last pivot, up to a multiple of SLICE_STEP. A thread has 32 pivots of a row.
 *  Barriers: it meets the block. */
static __global__ void __launch_bounds__(SLICES_THREADS, 2)
    slices_kernel(mpki_cuda_large large, int what) {
    after_previous();
    __shared__ int half[MPKI_FRONT_BLOCK], most[8][SLICE_ROWS];
    int part;
    const int number = (int)blockIdx.x / SLICES_SHARES, share = (int)blockIdx.x % SLICES_SHARES;
    const int side = share % 2;
    const mpki_cuda_front &f = large.front[front_at(large.rows, large.count, number, &part)];
    const outer_pivots<double> by(f, large, what);
    const int first = part * MPKI_FRONT_ROWS + share / 2 * SLICE_ROWS;
    if (by.pivots <= 0 || first >= f.nrows || first + SLICE_ROWS <= by.qe) return;
    const slices_of_block to(f, large);
    const int tid = (int)threadIdx.x, r = tid % SLICE_ROWS, group = tid / SLICE_ROWS;
    const int row = first + r, k0 = group * SLICE_STEP, left = by.pivots - k0;
    if (tid < by.pivots) {
        const panel<double> a(f.a, f.w, f.ld);
        const int64_t q = (by.L - (const double *)f.a) / f.ld;
        const int e = half_exponent(a.d + 2 * q, tid, by.pivots);
        half[tid] = side ? -e : e;
    }
    __syncthreads();
    const int64_t ld = side ? f.ldw : f.ld;
    const double *from = (side ? by.W : by.L) + row + k0 * ld;
    double x[SLICE_STEP];
    int e = 0;
#pragma unroll
    for (int k = 0; k < SLICE_STEP; ++k) x[k] = k < left && row < f.nrows ? from[k * ld] : 0;
#pragma unroll
    for (int k = 0; k < SLICE_STEP; ++k) {
        if (k >= left || x[k] == 0) continue;
        const parts_of_double p(x[k]);
        const int b = p.exponent == 2047 ? NOT_FINITE : p.bound() + half[k0 + k];
        /* counted from far below, so that 0 is none */
        e = e > b + 4096 ? e : b + 4096;
    }
    most[group][r] = e;
    __syncthreads();
#pragma unroll
    for (int g = 0; g < 8; ++g) e = e > most[g][r] ? e : most[g][r];
    if (row >= f.nrows) return;
    const bool finite = e < NOT_FINITE;
    e -= 4096;
    /* of the 256^12 that the first digits of two entries have in common, 256^6 is counted here */
    if (group == 0) to.exponent[side][row] = finite ? e - 1022 - 55 + 24 : NOT_FINITE;
    if (left <= 0) return;
    unsigned long long word[SLICE_STEP];
#pragma unroll
    for (int k = 0; k < SLICE_STEP; ++k) {
        word[k] = 0;
        if (k >= left || x[k] == 0 || !finite) continue;
        const parts_of_double p(x[k]);
        word[k] = p.digits(p.exponent + half[k0 + k] + 2 - e);
    }
    signed char *const at = to.digits[side] + (int64_t)row * f.block + k0;
#pragma unroll
    for (int s = 0; s < SLICES; ++s) {
        const auto four = [&](int k) {
            unsigned z = 0;
#pragma unroll
            for (int b = 0; b < 4; ++b)
                z |= (unsigned)(word[k + b] >> 8 * (SLICES - 1 - s) & 255) << 8 * b;
            return (int)z;
        };
        int4 *const where = (int4 *)(void *)(at + s * to.slice);
        where[0] = int4{four(0), four(4), four(8), four(12)};
        where[1] = int4{four(16), four(20), four(24), four(28)};
    }
}

/** A thread: x 2^e. Where that is a normal number its exponent alone changes. */
__device__ inline double times_power(double x, int e) {
    const long long bits = __double_as_longlong(x);
    const int exponent = (int)(bits >> 52 & 2047) + e;
    if (bits == 0) return x; /* a sum of integers is not -0 */
    if (exponent > 0 && exponent < 2047)
        return __longlong_as_double(bits + (long long)((unsigned long long)(long long)e << 52));
    return scalbn(x, e);
}

/** A thread: the sum of sums[d] 256^(6 - d), rounded once. */
__device__ inline double of_digits(const int (&sums)[SLICES]) {
    const long long high = ((long long)sums[0] << 16) + ((long long)sums[1] << 8) + sums[2];
    const long long low = ((long long)sums[3] << 24) + ((long long)sums[4] << 16) +
                          ((long long)sums[5] << 8) + sums[6];
    return fma((double)high, 4294967296.0, (double)low);
}

/** A block of 256 threads: C -= L W^T on tile u, entries i >= j of columns by.qe and on, from
 *  slices; eight warps, 32 x 16 entries each. stage [work] SLICE_STAGES steps of 32 pivots. A row's
 *  32 bytes of a step are two halves, which change places in every other four rows, so that no bank
 *  is asked twice. Rows outside the tile give entries that are not stored. Called by
 *  outer_emulated_kernel(). Barriers: it meets the block; the caller meets it before the next
 *  tile. */
__device__ inline void update_tile_emulated(const mpki_cuda_front &f,
                                            const outer_pivots<double> &by,
                                            const outer_tile<double> &u, const slices_of_block &of,
                                            char *stage) {
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32, g = lane / 4, t = lane % 4;
    const int wi = warp % 2 * 32, wj = warp / 2 * 16, qe = by.qe;
    const int steps = (by.pivots + SLICE_STEP - 1) / SLICE_STEP;
    const int r = tid / 2, side = r / OUTER, i0 = (side ? u.j0 : u.i0) + r % OUTER;
    const signed char *from =
        of.digits[side] + (int64_t)(i0 < f.nrows ? i0 : f.nrows - 1) * f.block + tid % 2 * 16;
    char *const to = stage + r * SLICE_STEP + (tid % 2 ^ (r >> 2 & 1)) * 16;
    auto load = [&](int s) {
        char *const at = to + s % SLICE_STAGES * SLICE_STAGE;
#pragma unroll
        for (int z = 0; z < SLICES; ++z)
            copy_async16((double *)(void *)(at + z * 2 * OUTER * SLICE_STEP),
                         (const double *)(const void *)(from + z * of.slice + s * SLICE_STEP));
    };
#pragma unroll
    for (int s = 0; s < SLICE_STAGES - 1; ++s) {
        if (s < steps) load(s);
        copy_commit();
    }
    int c[SLICES][2][2][4]; /* by s + t */
#pragma unroll
    for (int d = 0; d < SLICES; ++d)
#pragma unroll
        for (int x = 0; x < 2; ++x)
#pragma unroll
            for (int y = 0; y < 2; ++y)
#pragma unroll
                for (int z = 0; z < 4; ++z) c[d][x][y][z] = 0;
    const int i = u.i0 + wi, j = u.j0 + wj; /* of the warp */
    const int first = j > qe ? j : qe;
    const bool none = i >= u.i1 || first >= u.j1 || first >= j + 16 || i + 31 < first;
    const int half = g >> 2 & 1;
    for (int s = 0; s < steps; ++s) {
        copy_wait<SLICE_STAGES - 2>();
        __syncthreads();
        if (s + SLICE_STAGES - 1 < steps) load(s + SLICE_STAGES - 1);
        copy_commit();
        if (none) continue;
        const char *at = stage + s % SLICE_STAGES * SLICE_STAGE + g * SLICE_STEP + 4 * t;
        const auto word = [&](int z, int row, int h) {
            return *(const unsigned *)(const void *)(at + (z * 2 * OUTER + row) * SLICE_STEP +
                                                     (h ^ half) * 16);
        };
        unsigned b[SLICES][2][2];
#pragma unroll
        for (int z = 0; z < SLICES; ++z)
#pragma unroll
            for (int y = 0; y < 2; ++y)
#pragma unroll
                for (int h = 0; h < 2; ++h) b[z][y][h] = word(z, OUTER + wj + 8 * y, h);
#pragma unroll
        for (int z = 0; z < SLICES; ++z) {
            unsigned a[2][4];
#pragma unroll
            for (int x = 0; x < 2; ++x)
#pragma unroll
                for (int h = 0; h < 4; ++h) a[x][h] = word(z, wi + 16 * x + h % 2 * 8, h / 2);
#pragma unroll
            for (int v = 0; v < SLICES - z; ++v)
#pragma unroll
                for (int x = 0; x < 2; ++x)
#pragma unroll
                    for (int y = 0; y < 2; ++y) mma32(c[z + v][x][y], a[x], b[v][y]);
        }
    }
    copy_wait<0>();
    if (none) return;
    /* all that is read, before the first entry is written: a read waits long */
    const auto row_of = [&](int x, int z) { return i + 16 * x + g + z / 2 * 8; };
    const auto column_of = [&](int y, int z) { return j + 8 * y + 2 * t + z % 2; };
    const auto stored = [&](int row, int column) {
        return column >= qe && column < u.j1 && row >= column && row < u.i1;
    };
    double *const C = u.c - (int64_t)u.j0 * u.ld;
    int of_row[2][2], of_column[2][2];
    double v[2][2][4];
#pragma unroll
    for (int x = 0; x < 2; ++x)
#pragma unroll
        for (int z = 0; z < 2; ++z) {
            const int row = row_of(x, 2 * z), column = column_of(x, z);
            of_row[x][z] = row < u.i1 ? of.exponent[0][row] : 0;
            of_column[x][z] = column >= qe && column < u.j1 ? of.exponent[1][column] : 0;
        }
#pragma unroll
    for (int y = 0; y < 2; ++y)
#pragma unroll
        for (int x = 0; x < 2; ++x)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int row = row_of(x, z), column = column_of(y, z);
                v[x][y][z] = stored(row, column) ? C[row + (int64_t)column * u.ld] : 0;
            }
#pragma unroll
    for (int y = 0; y < 2; ++y)
#pragma unroll
        for (int x = 0; x < 2; ++x)
#pragma unroll
            for (int z = 0; z < 4; ++z) {
                const int row = row_of(x, z), column = column_of(y, z);
                const int e = of_row[x][z / 2] + of_column[y][z % 2];
                int sums[SLICES];
#pragma unroll
                for (int d = 0; d < SLICES; ++d) sums[d] = c[d][x][y][z];
                const double to = e < NOT_FINITE / 2 ? v[x][y][z] - times_power(of_digits(sums), e)
                                                     : v[x][y][z] - NAN;
                if (stored(row, column)) C[row + (int64_t)column * u.ld] = to;
            }
}

/** A block for each `share` tiles of the update `what` of each large front, in real doubles, after
 *  slices_kernel(). Barriers: it meets the block. */
static __global__ void __launch_bounds__(EMULATED_THREADS, 1)
    outer_emulated_kernel(mpki_cuda_large large, int what, int share) {
    after_previous();
    MPKI_SMEM;
    int part, blocks;
    const mpki_cuda_front &f = large.front[front_of_update(large, share, &part, &blocks)];
    for (int k = part;; k += blocks) {
        const outer_pivots<double> by(f, large, what);
        if (by.pivots <= 0 || k >= by.all) return;
        const outer_tile<double> u(f, by, k);
        if (u.j1 > by.qe) update_tile_emulated(f, by, u, slices_of_block(f, large), smem);
        __syncthreads();
    }
}

} // namespace mpki
#endif
