/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TILE_CUH
#define MPKI_CUDA_TILE_CUH
/** LDLT of one diagonal tile by one thread block, in shared memory: of nb <= B candidate columns
 * the first `take` pivots are eliminated, the rest (KEEP, or none in the last tile) goes on to the
 * next tile with its Schur complement. So no pivot is ever the last one left, the weak spot of
 * pivoting inside tiles.
 *
 *  Inside the tile the same again in blocks of 32 candidates: their rows lie in the registers of
 * one warp, a row a lane, both triangles, so that a pivot's column is its row, which its lane
 * publishes through shared memory; nothing moves until the block is done (implicit pivoting). The
 * choice is rook pivoting (Ashcraft, Grimes & Lewis 1998) started from the largest diagonal entry,
 * with magnitudes compared by their upper 32 bits (`key`). The rows of the tile below the block are
 * then solved for and tested, |l| <= 1/u. Where that test fails, the tile is taken anew with
 * complete pivoting (Bunch & Parlett 1971) over all its columns. While one warp is at a block, the
 * others update what lies beyond the next one.
 *
 *  Out: L and D as LAPACK's sytrf leaves them, the order of the columns, D^-1 as a tridiagonal, and
 *  N = P [L11 0; Lk I]^-T (-H): the rows below the tile times N are W = L21 D, and the Schur
 *  complement's columns of what was kept. Real doubles leave N without P (panel.cuh). */
#include "../scalar.cuh"
#include "control.cuh"
#include "mma.cuh"

namespace mpki {

template <class T> struct tile_size { static const int B = sizeof(T) == 16 ? 64 : 128; };
static const int TILE_THREADS = 256;
static const int KEEP = 8;

/** Real doubles take tile_lanes.cuh's way. */
template <class T> struct by_lanes { static const bool value = false; };
template <> struct by_lanes<double> { static const bool value = true; };

template <class T> struct tile_memory {
    static const bool LANES = by_lanes<T>::value;
    /* 4 (mod 16): fragments of tensor cores without conflicts of banks */
    static const int B = tile_size<T>::B, LD = LANES ? B + 4 : B + 1, LT = 66, WL = 12;
    alignas(16) T S[B * LD]; /* the tile, by columns */
    alignas(
        16) T tmp[64 * LT]; /* W of a block, a column after the other; products of the inversion */
    alignas(16) T Lt[32 * 33]; /* L of the block, a column after the other, rows in final order */
    alignas(16) T rows[2][32]; /* published rows */
    /* see tile_lanes.cuh */
    alignas(16) T Mx[LANES ? 2 * 32 * 36 : 2], Wst[LANES ? 32 * WL : 2], Lc[LANES ? 8 * 36 : 2];
    T Lb[32 * 33];  /* multipliers as they come, rows in the lanes' order */
    T d[B], e[B];   /* D: diagonal; entry (k+1, k) of a pivot of order 2, else 0 */
    T di[B], ei[B]; /* D^-1 alike */
    int order[B], from[32];
    int zero[B]; /* 1: the pivot is exactly zero */
    unsigned best[2][TILE_THREADS / 32];
    int where[2][TILE_THREADS / 32];
    int failed, pairs;
};

/** 1 / a by the hardware's approximation and two Newton steps; odd becomes true where that is not
 *  safe and the true division must be taken. */
__device__ inline float quick_inverse(float a, bool &odd) {
    (void)odd;
    return 1.0f / a;
}
__device__ inline double quick_inverse(double a, bool &odd) {
    const int e = __double2hiint(a) >> 20 & 0x7ff;
    odd |= e < 64 || e > 1983;
    double x;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(a));
    x = fma(fma(-a, x, 1.0), x, x);
    return fma(fma(-a, x, 1.0), x, x);
}
template <class F> __device__ inline cx<F> quick_inverse(cx<F> a, bool &odd) {
    (void)odd;
    return inverse(a);
}

/** D^-1 of [d1 conj(b); b d2], scaled by |b| so that it overflows only where the result does. */
template <bool H, class T>
__device__ inline void inverse2(T d1, T b, T d2, T &i11, T &i21, T &i22) {
    T s = make<T>(1.0 / (double)abs1(b));
    T a = d1 * s, f = b * s, c = d2 * s;
    T g = s * inverse(a * c - f * cj<H>(f));
    i11 = diagonal<H>(c * g);
    i22 = diagonal<H>(a * g);
    i21 = -(f * g);
}

template <class T> __device__ inline void publish(T *row, const T (&a)[32], int lane, int from) {
    if (lane == from) {
#pragma unroll
        for (int j = 0; j < 32; ++j) row[j] = a[j];
    }
    __syncwarp();
}

/** The entry of the candidate with the largest diagonal entry, and its reciprocal. */
struct candidate {
    unsigned kd, m1; /* this lane's key, the largest */
    int r;           /* the lane that has it */
};
__device__ inline candidate largest_diagonal(bool live, unsigned k) {
    candidate c;
    c.kd = live ? k : 0;
    c.m1 = __reduce_max_sync(0xffffffffu, c.kd);
    c.r = __ffs(__ballot_sync(0xffffffffu, live && c.kd == c.m1)) - 1;
    return c;
}

/** One warp: of the nb <= 32 candidates at c0, `take` pivots by rook search; what is left follows
 *  them with its Schur complement. The next candidate and its reciprocal are sought while the rows
 *  are updated. The largest diagonal entry needs no search if it is a quarter of its row. */
template <bool H, class T>
__device__ void block_rook(tile_memory<T> &m, int c0, int nb, int take,
                           typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const unsigned all = 0xffffffffu, tiny_key = key(tiny), quarter = key_quarter<R>::value;
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD;
    const R alpha = (R)0.6403882032022076; /* (1 + sqrt(17)) / 8 */
    T a[32];
    T *S = m.S + c0 + c0 * LD;
    const bool in = lane < nb;
#pragma unroll
    for (int j = 0; j < 32; ++j)
        a[j] = in && j < nb ? (j <= lane ? S[lane + j * LD] : cj<H>(S[j + lane * LD])) : make<T>(0);
    T dg = in ? diagonal<H>(S[lane + lane * LD]) : make<T>(0);
    const int mine = in ? m.order[c0 + lane] : 0;
    bool live = in, zero = false;
    int pos = lane, k = 0;
    T my_e = make<T>(0), my_di = make<T>(0), my_ei = make<T>(0);
    candidate c = largest_diagonal(live, key(dg));
    bool odd = false;
    T d = shfl(dg, c.r & 31), di = quick_inverse(d, odd);
    while (k < take) {
        int r = c.r, s = -1, buf = 0;
        publish(m.rows[0], a, lane, r);
        T wr = cj<H>(m.rows[0][lane]), ws = wr;
        unsigned kr = live && lane != r ? key(wr) : 0;
        unsigned m0 = __reduce_max_sync(all, kr);
        const bool none = max(c.m1, m0) <= tiny_key;
        const bool two = k + 1 < take || take == nb; /* room for a pivot of order 2 */
        if (!none && two && c.m1 + quarter < m0) {
            for (int turn = 0;; ++turn) {
                s = __ffs(__ballot_sync(all, live && lane != r && kr == m0)) - 1;
                publish(m.rows[buf ^ 1], a, lane, s);
                ws = cj<H>(m.rows[buf ^ 1][lane]);
                const unsigned ks = live && lane != s ? key(ws) : 0;
                const unsigned m2 = __reduce_max_sync(all, ks);
                const unsigned ds = __shfl_sync(all, c.kd, s);
                if (unkey<R>(ds) >= alpha * unkey<R>(m2)) { /* s alone */
                    r = s, wr = ws, buf ^= 1, s = -1;
                    d = shfl(dg, r);
                    odd = true;
                    break;
                }
                if (m2 <= m0 || turn == 32) break; /* r and s together */
                r = s, wr = ws, kr = ks, m0 = m2, buf ^= 1;
            }
        }
        if (s < 0) {
            const bool gone = none || is_zero(d);
            if (odd || gone) di = gone ? make<T>(0) : inverse(d);
            const T l = live && lane != r ? wr * di : make<T>(0);
            const T *row = m.rows[buf];
            nfma(dg, l, row[lane]);
            dg = diagonal<H>(dg);
            if (lane == r) {
                live = false, pos = k, zero = gone;
                my_di = di;
                if (gone) dg = make<T>(0);
            }
            ++k;
            odd = false;
            c = largest_diagonal(live, key(dg));
            d = shfl(dg, c.r & 31), di = quick_inverse(d, odd);
#pragma unroll
            for (int j = 0; j < 32; ++j) nfma(a[j], l, row[j]);
            m.Lb[(k - 1) * 33 + lane] = l;
        } else {
            const T *row1 = m.rows[buf], *row2 = m.rows[buf ^ 1];
            const T d1 = shfl(dg, r), d2 = shfl(dg, s), b = cj<H>(row1[s]);
            T i11, i21, i22;
            inverse2<H>(d1, b, d2, i11, i21, i22);
            const bool on = live && lane != r && lane != s;
            const T l1 = on ? wr * i11 + ws * i21 : make<T>(0);
            const T l2 = on ? wr * cj<H>(i21) + ws * i22 : make<T>(0);
            nfma(dg, l1, row1[lane]);
            nfma(dg, l2, row2[lane]);
            dg = diagonal<H>(dg);
            m.Lb[k * 33 + lane] = l1, m.Lb[(k + 1) * 33 + lane] = l2;
            if (lane == r || lane == s) {
                live = false, pos = k + (lane == s);
                my_e = lane == r ? b : make<T>(0);
                my_di = lane == r ? i11 : i22, my_ei = lane == r ? i21 : make<T>(0);
            }
            k += 2;
            odd = false;
            c = largest_diagonal(live, key(dg));
            d = shfl(dg, c.r & 31), di = quick_inverse(d, odd);
#pragma unroll
            for (int j = 0; j < 32; ++j) {
                nfma(a[j], l1, row1[j]);
                nfma(a[j], l2, row2[j]);
            }
        }
        __syncwarp();
    }
    if (in && !live) {
        m.d[c0 + pos] = dg, m.e[c0 + pos] = my_e;
        m.di[c0 + pos] = my_di, m.ei[c0 + pos] = my_ei;
        m.zero[c0 + pos] = zero;
    }
    const unsigned left = __ballot_sync(all, live);
    if (live) pos = take + __popc(left & ((1u << lane) - 1));
    if (in) m.order[c0 + pos] = mine;
    m.from[pos] = lane;
#pragma unroll 8
    for (int q = 0; q < take; ++q) {
        const T l = in && q < pos ? m.Lb[q * 33 + lane] : make<T>(0);
        m.Lt[q * 32 + pos] = l;
        if (in && q < pos) S[pos + q * LD] = l;
    }
    if (left) { /* the Schur complement of what is kept: at most KEEP rows of 32 */
        __syncwarp();
        T *kept = m.Lb;
        if (live) {
#pragma unroll
            for (int j = 0; j < 32; ++j) kept[(pos - take) * 33 + j] = a[j];
        }
        __syncwarp();
        if (live) {
            for (int q = take; q < pos; ++q) S[pos + q * LD] = kept[(pos - take) * 33 + m.from[q]];
            S[pos + pos * LD] = dg;
        }
    }
}

/** Entry r of a lane's row, r the same for all lanes: by halves, as registers have no index. */
template <class T> __device__ inline T select_entry(const T (&a)[32], int r) {
    T b[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) b[j] = r & 16 ? a[j + 16] : a[j];
#pragma unroll
    for (int j = 0; j < 8; ++j) b[j] = r & 8 ? b[j + 8] : b[j];
#pragma unroll
    for (int j = 0; j < 4; ++j) b[j] = r & 4 ? b[j + 4] : b[j];
#pragma unroll
    for (int j = 0; j < 2; ++j) b[j] = r & 2 ? b[j + 2] : b[j];
    return r & 1 ? b[1] : b[0];
}

/** One warp: of the 32 candidates at c0, 32 - KEEP pivots of order 1, each the largest entry left
 * on the diagonal: rook search without the search, for as long as |l| <= 4. False: it was not so,
 * and nothing was written. */
template <bool H, class T>
__device__ bool block_diagonal(tile_memory<T> &m, int c0, typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const unsigned all = 0xffffffffu, most = key((R)4);
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD, STEP = 32 - KEEP;
    T a[32];
    T *S = m.S + c0 + c0 * LD;
#pragma unroll
    for (int j = 0; j < 32; ++j) a[j] = j <= lane ? S[lane + j * LD] : cj<H>(S[j + lane * LD]);
    T dg = diagonal<H>(S[lane + lane * LD]);
    const int mine = m.order[c0 + lane];
    const unsigned tiny_key = key(tiny);
    bool live = true, odd = false;
    int pos = lane;
    unsigned top = 0;
    T my_di = make<T>(0);
#pragma unroll 1
    for (int k = 0; k < STEP; ++k) {
        const candidate c = largest_diagonal(live, key(dg));
        const int r = c.r & 31;
        odd |= c.m1 <= tiny_key;
        const T d = shfl(dg, r), di = quick_inverse(d, odd);
        const T w = select_entry(a, r); /* a(lane, r); the row of r is its conjugate */
        T *row = m.rows[k & 1];
        row[lane] = cj<H>(w);
        const bool on = live && lane != r;
        const T l = on ? w * di : make<T>(0);
        nfma(dg, l, cj<H>(w));
        dg = diagonal<H>(dg);
        if (lane == r) live = false, pos = k, my_di = di;
        top = max(top, key(l));
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 32; ++j) nfma(a[j], l, row[j]);
        m.Lb[k * 33 + lane] = l;
        if ((k & 7) == 7 && __any_sync(all, odd || !(top <= most))) return false;
    }
    if (!live) {
        m.d[c0 + pos] = dg, m.e[c0 + pos] = m.ei[c0 + pos] = make<T>(0);
        m.di[c0 + pos] = my_di, m.zero[c0 + pos] = 0;
    }
    const unsigned left = __ballot_sync(all, live);
    if (live) pos = STEP + __popc(left & ((1u << lane) - 1));
    m.order[c0 + pos] = mine;
    m.from[pos] = lane;
    __syncwarp();
#pragma unroll
    for (int q = 0; q < STEP; ++q) {
        const T l = q < pos ? m.Lb[q * 33 + lane] : make<T>(0);
        m.Lt[q * 32 + pos] = l;
        if (q < pos) S[pos + q * LD] = l;
    }
    __syncwarp();
    if (live) {
#pragma unroll
        for (int j = 0; j < 32; ++j) m.Lb[(pos - STEP) * 33 + j] = a[j];
    }
    __syncwarp();
    if (live) {
#pragma unroll
        for (int q = 0; q < KEEP; ++q)
            if (STEP + q < pos)
                S[pos + (STEP + q) * LD] = m.Lb[(pos - STEP) * 33 + m.from[STEP + q]];
        S[pos + pos * LD] = dg;
    }
    return true;
}

/** The same in the order given: pivots of order 1, tested by nobody but the residual. The next
 *  pivot's reciprocal is on its way while the columns beyond it are updated. False: a pivot was out
 *  of the quick reciprocal's range and nothing was written. */
template <bool H, bool QUICK, class T>
__device__ bool block_plain(tile_memory<T> &m, int c0, int nb) {
    const int lane = threadIdx.x & 31, LD = tile_memory<T>::LD;
    T a[32];
    T *S = m.S + c0 + c0 * LD;
    bool odd = false, none = false;
    T my_d = make<T>(0), my_di = make<T>(0);
#pragma unroll
    for (int j = 0; j < 32; ++j) a[j] = j <= lane ? S[lane + j * LD] : make<T>(0);
    auto reciprocal = [&](T d) {
        T x;
        if (QUICK)
            x = quick_inverse(d, odd);
        else
            x = is_zero(d) ? make<T>(0) : inverse(d);
        return x;
    };
    T d = diagonal<H>(shfl(a[0], 0));
    m.rows[0][lane] = cj<H>(a[0]);
    T di = reciprocal(d);
#pragma unroll
    for (int k = 0; k < 32; ++k) {
        const T *w = m.rows[k & 1];
        __syncwarp();
        if (lane == k) my_d = d, my_di = di;
        const T l = lane > k ? a[k] * di : make<T>(0);
        a[k] = l;
        if (k < 31) {
            nfma(a[k < 31 ? k + 1 : 31], l, w[k < 31 ? k + 1 : 31]);
            d = diagonal<H>(shfl(a[k < 31 ? k + 1 : 31], k + 1));
            m.rows[(k + 1) & 1][lane] = cj<H>(a[k < 31 ? k + 1 : 31]);
            if (k < 31) di = reciprocal(d);
#pragma unroll
            for (int j = k + 2; j < 32; ++j) nfma(a[j], l, w[j]);
        }
        m.Lt[k * 32 + lane] = l;
    }
    none = is_zero(my_d) && lane < nb;
    if (QUICK && __any_sync(0xffffffffu, odd || !(abs1(my_d) >= 0))) return false;
    m.d[c0 + lane] = my_d, m.di[c0 + lane] = is_zero(my_d) ? make<T>(0) : my_di;
    m.e[c0 + lane] = m.ei[c0 + lane] = make<T>(0);
    m.zero[c0 + lane] = none;
#pragma unroll
    for (int k = 0; k < 32; ++k)
        if (k < lane) S[lane + k * LD] = a[k];
    return true;
}

/** Entry k of a row of L = W D^-1; w holds the row of W. */
template <bool H, class T>
__device__ inline T times_dinv(T before, T w, T after, T ei_before, T di, T ei) {
    T l = w * di;
    pfma(l, after, ei);
    pfma(l, before, cj<H>(ei_before));
    return l;
}

/** Candidates a block takes of its 32. */
template <bool PIVOT> struct block_step { static const int STEP = PIVOT ? 32 - KEEP : 32; };

/** All threads: rows of the tile below the factored block at c0: L in place, W in tmp, and what was
 *  kept of the block up to date. Rows of finished columns follow the block's order. */
template <bool H, bool PIVOT, class T, bool FOLLOW = true>
__device__ void block_below(tile_memory<T> &m, int c0, typename scalar_of<T>::real limit,
                            typename scalar_of<T>::real tiny) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, tid = threadIdx.x;
    const int STEP = block_step<PIVOT>::STEP, LW = B - 32;
    T *S = m.S;
    const int rest = B - c0 - 32;
    if (tid < rest) {
        const int i = c0 + 32 + tid;
        const bool pairs = m.pairs;
        T w[32];
#pragma unroll
        for (int k = 0; k < 32; ++k) w[k] = S[i + (c0 + (PIVOT ? m.from[k] : k)) * LD];
#pragma unroll
        for (int k = 0; k < (STEP < 31 ? STEP : 31); ++k) {
#pragma unroll
            for (int j = k + 1; j < 32; ++j) nfma(w[j], w[k], cj<H>(m.Lt[k * 32 + j]));
        }
        bool bad = false;
#pragma unroll
        for (int k = 0; k < 32; ++k) {
            T l = w[k];
            if (PIVOT && k < STEP && pairs) {
                l = times_dinv<H>(k ? w[k ? k - 1 : 0] : make<T>(0), w[k], w[k < 31 ? k + 1 : 31],
                                  k ? m.ei[c0 + k - 1] : make<T>(0), m.di[c0 + k], m.ei[c0 + k]);
                bad |= !(abs1(l) <= limit) || (m.zero[c0 + k] && !(abs1(w[k]) <= tiny));
            } else if (k < STEP) {
                l = w[k] * m.di[c0 + k];
                if (PIVOT) bad |= !(abs1(l) <= limit);
            }
            S[i + (c0 + k) * LD] = l;
            if (k < STEP) m.tmp[k * LW + tid] = w[k];
        }
        if (PIVOT && bad) m.failed = 1;
    }
    if (PIVOT && FOLLOW && tid >= TILE_THREADS - c0) {
        const int j = tid - (TILE_THREADS - c0);
        T v[32];
#pragma unroll
        for (int k = 0; k < 32; ++k)
            if (c0 + k < B) v[k] = S[c0 + m.from[k] + j * LD];
#pragma unroll
        for (int k = 0; k < 32; ++k)
            if (c0 + k < B) S[c0 + k + j * LD] = v[k];
    }
}

/** One warp: 32 rows x 8 columns of the tile's trailing part, rows 32 g and columns 8 h beyond the
 *  block at c0 and its neighbour's 32. */
template <bool H, bool PIVOT, class T>
__device__ inline void trailing_piece(tile_memory<T> &m, int c0, int g, int h) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, LW = B - 32;
    const int STEP = block_step<PIVOT>::STEP, lane = threadIdx.x & 31;
    const int i = c0 + 32 + 32 * g + lane, j0 = c0 + 32 + 8 * h;
    T c[8];
    if (i >= B) return;
#pragma unroll
    for (int y = 0; y < 8; ++y) c[y] = make<T>(0);
    const T *l = m.S + i + c0 * LD, *w = m.tmp + 8 * h;
#pragma unroll 8
    for (int k = 0; k < STEP; ++k) {
        const T lk = l[k * LD];
#pragma unroll
        for (int y = 0; y < 8; ++y) pfma(c[y], lk, cj<H>(w[k * LW + y]));
    }
#pragma unroll
    for (int y = 0; y < 8; ++y)
        if (i >= j0 + y) m.S[i + (j0 + y) * LD] = m.S[i + (j0 + y) * LD] - c[y];
}

/** The trailing part after the block at c0. first: the pieces that the next block needs, by the
 * first warps; else the others, by all warps but the first. */
template <bool H, bool PIVOT, class T>
__device__ void trailing(tile_memory<T> &m, int c0, bool first) {
    const int rest = tile_memory<T>::B - c0 - 32, warp = threadIdx.x >> 5;
    const int STEP = block_step<PIVOT>::STEP, soon = STEP / 8, groups = (rest + 31) / 32;
    if (rest <= 0) return;
    if (first) {
        for (int h = warp; h < soon && 8 * h < rest; h += TILE_THREADS / 32)
            trailing_piece<H, PIVOT>(m, c0, 0, h);
        return;
    }
    int t = 0;
    for (int g = groups - 1; g >= 0; --g)
        for (int h = 0; h < 4 * (g + 1) && 8 * h < rest; ++h) {
            if (g == 0 && h < soon) continue;
            if (t++ % (TILE_THREADS / 32 - 1) == warp - 1) trailing_piece<H, PIVOT>(m, c0, g, h);
        }
}

} // namespace mpki
#include "tile_lanes.cuh"
namespace mpki {

/** All threads: the largest of (k, position) pairs; ties to the lowest position. */
template <class T>
__device__ void block_argmax(tile_memory<T> &m, int slot, unsigned &k, int &where) {
    for (int o = 16; o; o >>= 1) {
        const unsigned ok = __shfl_xor_sync(0xffffffffu, k, o);
        const int ow = __shfl_xor_sync(0xffffffffu, where, o);
        if (ok > k || (ok == k && ow < where)) k = ok, where = ow;
    }
    if ((threadIdx.x & 31) == 0) {
        m.best[slot][threadIdx.x >> 5] = k;
        m.where[slot][threadIdx.x >> 5] = where;
    }
    __syncthreads();
    k = 0, where = 0x7fffffff;
    for (int w = 0; w < TILE_THREADS / 32; ++w) {
        const unsigned ok = m.best[slot][w];
        const int ow = m.where[slot][w];
        if (ok > k || (ok == k && ow < where)) k = ok, where = ow;
    }
}

template <class T> __device__ inline void swap_values(T &a, T &b) {
    T t = a;
    a = b, b = t;
}

/** All threads: complete pivoting over the nb columns of the tile, both triangles in S. Slow and
 *  rare. */
template <bool H, class T>
__device__ void tile_complete(tile_memory<T> &m, int nb, int take,
                              typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const int LD = tile_memory<T>::LD, tid = threadIdx.x;
    const R alpha = (R)0.6403882032022076;
    T *S = m.S;
    for (int t = tid; t < nb * nb; t += TILE_THREADS) {
        const int i = t % nb, j = t / nb;
        if (i < j) S[i + j * LD] = cj<H>(S[j + i * LD]);
        if (i == j) S[i + j * LD] = diagonal<H>(S[i + j * LD]);
    }
    if (tid < nb) m.order[tid] = tid;
    __syncthreads();
    for (int k = 0; k < take;) {
        unsigned k1 = 0, k0 = 0;
        int w1 = 0x7fffffff, w0 = 0x7fffffff;
        for (int t = tid; t < (nb - k) * (nb - k); t += TILE_THREADS) {
            const int i = k + t % (nb - k), j = k + t / (nb - k);
            if (i < j) continue;
            const unsigned q = key(S[i + j * LD]);
            if (i == j) {
                if (q > k1 || w1 == 0x7fffffff) k1 = q, w1 = i;
            } else if (q > k0) {
                k0 = q, w0 = i + 256 * j;
            }
        }
        block_argmax(m, 0, k1, w1);
        block_argmax(m, 1, k0, w0);
        const bool nothing = unkey<R>(max(k0, k1)) <= tiny;
        const bool one = nothing || k0 == 0 || (k + 1 == take && take < nb) || w0 == 0x7fffffff ||
                         unkey<R>(k1) >= alpha * unkey<R>(k0);
        const int steps = one ? 1 : 2;
        for (int q = 0; q < steps; ++q) { /* bring pivots r > = k + q to the front: columns, rows */
            const int to = k + q, r = one ? w1 : q == 0 ? w0 / 256 : w0 % 256;
            /* the first swap may have moved the second pivot */
            const int from = q == 1 && r == k ? w0 / 256 : r;
            __syncthreads();
            if (from != to) {
                if (tid < nb) swap_values(S[to + tid * LD], S[from + tid * LD]);
                __syncthreads();
                if (tid >= k && tid < nb) swap_values(S[tid + to * LD], S[tid + from * LD]);
                if (tid == 0) swap_values(m.order[to], m.order[from]);
            }
            __syncthreads();
        }
        if (one) {
            const bool none = nothing || is_zero(S[k + k * LD]);
            const T d = none ? make<T>(0) : S[k + k * LD];
            const T di = none ? make<T>(0) : inverse(d);
            if (tid < nb - k - 1) m.tmp[tid] = S[k + 1 + tid + k * LD];
            __syncthreads();
            const int rest = nb - k - 1;
            for (int t = tid; t < rest * rest; t += TILE_THREADS) {
                const int i = t % rest, j = t / rest;
                nfma(S[k + 1 + i + (k + 1 + j) * LD], m.tmp[i] * di, cj<H>(m.tmp[j]));
            }
            if (tid < rest) {
                const T l = m.tmp[tid] * di;
                S[k + 1 + tid + k * LD] = l;
                S[k + 1 + tid + (k + 1 + tid) * LD] =
                    diagonal<H>(S[k + 1 + tid + (k + 1 + tid) * LD]);
            }
            if (tid == 0) {
                m.d[k] = d, m.e[k] = make<T>(0), m.di[k] = di, m.ei[k] = make<T>(0);
                m.zero[k] = none;
            }
        } else {
            const T d1 = S[k + k * LD], b = S[k + 1 + k * LD], d2 = S[k + 1 + (k + 1) * LD];
            T i11, i21, i22;
            inverse2<H>(d1, b, d2, i11, i21, i22);
            const int rest = nb - k - 2;
            if (tid < rest) {
                m.tmp[tid] = S[k + 2 + tid + k * LD];
                m.tmp[128 + tid] = S[k + 2 + tid + (k + 1) * LD];
            }
            __syncthreads();
            for (int t = tid; t < rest * rest; t += TILE_THREADS) {
                const int i = t % rest, j = t / rest;
                const T w1i = m.tmp[i], w2i = m.tmp[128 + i];
                T &c = S[k + 2 + i + (k + 2 + j) * LD];
                nfma(c, w1i * i11 + w2i * i21, cj<H>(m.tmp[j]));
                nfma(c, w1i * cj<H>(i21) + w2i * i22, cj<H>(m.tmp[128 + j]));
                if (i == j) c = diagonal<H>(c);
            }
            if (tid < rest) {
                const T w1i = m.tmp[tid], w2i = m.tmp[128 + tid];
                S[k + 2 + tid + k * LD] = w1i * i11 + w2i * i21;
                S[k + 2 + tid + (k + 1) * LD] = w1i * cj<H>(i21) + w2i * i22;
            }
            if (tid == 0) {
                m.d[k] = d1, m.d[k + 1] = d2, m.e[k] = b, m.e[k + 1] = make<T>(0);
                m.di[k] = i11, m.di[k + 1] = i22, m.ei[k] = i21, m.ei[k + 1] = make<T>(0);
                m.zero[k] = m.zero[k + 1] = 0;
                S[k + 1 + k * LD] = make<T>(0);
            }
        }
        k += steps;
        __syncthreads();
    }
}

/** The lower left block of an inverse, from the inverses of the two diagonal blocks of order h at
 *  s: tmp = L21 M11, then S21 = -M22 tmp. A warp: 32 or 64 rows, 8 columns. S has ones on the
 *  diagonal and zeros above. */
template <class T, int h> __device__ void inverse_merge(tile_memory<T> &m) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, LT = tile_memory<T>::LT, Y = 4;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, X = h / 32, pieces = h / Y;
    for (int pass = 0; pass < 2; ++pass) {
        for (int t = warp, turn = 0; t < B / (2 * h) * pieces; t += TILE_THREADS / 32, ++turn) {
            /* short and long columns take turns */
            const int pair = t / pieces, p = t % pieces,
                      piece = turn & 1 ? p / 8 * 8 + 7 - p % 8 : p;
            const int j0 = piece * Y, s = pair * 2 * h;
            T *S = m.S + s * (LD + 1), *tmp = m.tmp + pair * h;
            T c[X][Y];
#pragma unroll
            for (int x = 0; x < X; ++x)
#pragma unroll
                for (int y = 0; y < Y; ++y) c[x][y] = make<T>(0);
            if (pass == 0) {
#pragma unroll 8
                for (int k = j0 / 8 * 8; k < h; ++k) { /* a multiple of 8: no remainder */
                    T l[X];
#pragma unroll
                    for (int x = 0; x < X; ++x) l[x] = S[h + lane + 32 * x + k * LD];
#pragma unroll
                    for (int y = 0; y < Y; ++y) {
                        const T w = S[k + (j0 + y) * LD];
#pragma unroll
                        for (int x = 0; x < X; ++x) pfma(c[x][y], l[x], w);
                    }
                }
#pragma unroll
                for (int x = 0; x < X; ++x)
#pragma unroll
                    for (int y = 0; y < Y; ++y) tmp[lane + 32 * x + (j0 + y) * LT] = c[x][y];
            } else {
#pragma unroll
                for (int part = 0; part < X; ++part) { /* rows of part x have k < 32 (x + 1) */
#pragma unroll 8
                    for (int k = 32 * part; k < 32 * part + 32; ++k) {
                        T w[Y];
#pragma unroll
                        for (int y = 0; y < Y; ++y) w[y] = tmp[k + (j0 + y) * LT];
#pragma unroll
                        for (int x = part; x < X; ++x) {
                            const T l = S[h + lane + 32 * x + (h + k) * LD];
#pragma unroll
                            for (int y = 0; y < Y; ++y) nfma(c[x][y], l, w[y]);
                        }
                    }
                }
#pragma unroll
                for (int x = 0; x < X; ++x)
#pragma unroll
                    for (int y = 0; y < Y; ++y) S[h + lane + 32 * x + (j0 + y) * LD] = c[x][y];
            }
        }
        __syncthreads();
    }
}

/** All threads: the lower triangle of S, taken as unit, becomes its inverse, in place, with ones on
 *  the diagonal and zeros above. */
template <class T> __device__ void tile_inverse(tile_memory<T> &m) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, warp = threadIdx.x >> 5,
              lane = threadIdx.x & 31;
    if (warp < B / 32) { /* lane j: column j of the inverse of block `warp` */
        T *S = m.S + warp * 32 * (LD + 1);
        T x[32];
#pragma unroll
        for (int i = 0; i < 32; ++i) x[i] = make<T>(i == lane ? 1 : 0);
#pragma unroll
        for (int k = 0; k < 31; ++k) {
#pragma unroll
            for (int i = k + 1; i < 32; ++i) nfma(x[i], S[i + k * LD], x[k]);
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 32; ++i) S[i + lane * LD] = x[i];
    }
    __syncthreads();
    inverse_merge<T, 32>(m);
    if (B == 128) inverse_merge<T, (B == 128 ? 64 : 32)>(m);
}

/** All threads: the tile block by block; m.failed where a threshold test failed. */
template <bool H, bool PIVOT, class T>
__device__ void tile_blocks(tile_memory<T> &m, int nb, int take, typename scalar_of<T>::real limit,
                            typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const int tid = threadIdx.x;
    int before = -1;
    for (int c0 = 0; c0 < take;) {
        const int here = min(32, nb - c0);
        const int step = !PIVOT                          ? 32
                         : take == nb && here == nb - c0 ? here
                                                         : min(32 - KEEP, take - c0);
        if (tid < 32) {
            bool done = false;
            if (PIVOT && here == 32 && step == 32 - KEEP) done = block_diagonal<H>(m, c0, tiny);
            if (tid == 0) m.pairs = !done;
            if (PIVOT && !done)
                block_rook<H>(m, c0, here, step, tiny);
            else if (PIVOT)
                ;
            else if (!block_plain < H, sizeof(R) == 8 && !scalar_of<T>::complex > (m, c0, here))
                block_plain<H, false>(m, c0, here);
        } else if (before >= 0) {
            trailing<H, PIVOT>(m, before, false);
        }
        __syncthreads();
        block_below<H, PIVOT>(m, c0, limit, tiny);
        __syncthreads();
        if (PIVOT && m.failed) return;
        trailing<H, PIVOT>(m, c0, true);
        __syncthreads();
        before = c0;
        c0 += step;
    }
}

/** The same for real doubles, with L^-1. Rows that are final are written out on the way. */
template <bool PIVOT, class T>
__device__ void tile_lanes(tile_memory<T> &m, int nb, int take, T limit, T tiny, T *L, int64_t ldl,
                           const int *orig, T *N) {
    const int tid = threadIdx.x;
    int before = -1, turn = 0;
    for (int c0 = 0; c0 < take; turn ^= 1) {
        const int here = min(32, nb - c0);
        const int step = !PIVOT                          ? 32
                         : take == nb && here == nb - c0 ? here
                                                         : min(32 - KEEP, take - c0);
        T *Mx = m.Mx + turn * 32 * MX, *old = m.Mx + (turn ^ 1) * 32 * MX;
        if (tid < 32) {
            bool done = false;
            if (!PIVOT)
                done = block_given<true>(m, Mx, c0, here) || block_given<false>(m, Mx, c0, here);
            else if (here == 32 && step == 32 - KEEP)
                done = block_lanes(m, Mx, c0, tiny);
            if (tid == 0) m.pairs = !done;
            if (PIVOT && !done) {
                block_rook<false>(m, c0, here, step, tiny);
                block_invert(m, Mx, step);
            }
        } else if (before >= 0 && helper() >= 0) {
            inverse_rows(m, old, before, helper(), HELPERS);
            lanes_trailing<PIVOT>(m, before, false);
            helpers_barrier();
            inverse_update<PIVOT>(m, before);
            inverse_out(m, before, c0, N, helper(), HELPERS);
            rows_out(m, before, c0, take, L, ldl, orig, helper(), HELPERS);
        }
        __syncthreads();
        rows_moved<T> moved;
        if (PIVOT) rows_take(m, c0, moved);
        if (PIVOT && m.pairs)
            block_below<false, PIVOT, T, false>(m, c0, limit, tiny);
        else
            lanes_below<PIVOT>(m, Mx, c0, limit);
        __syncthreads();
        if (PIVOT && m.failed) return;
        if (PIVOT) rows_put(m, c0, moved);
        lanes_trailing<PIVOT>(m, c0, true);
        __syncthreads();
        before = c0;
        c0 += step;
    }
    inverse_rows(m, m.Mx + (turn ^ 1) * 32 * MX, before, tid >> 5, TILE_THREADS / 32);
    rows_out(m, before, min(nb, before + 32), take, L, ldl, orig, tid >> 5, TILE_THREADS / 32);
    __syncthreads();
    inverse_out(m, before, tile_memory<T>::B, N, tid >> 5, TILE_THREADS / 32);
}

/** In: candidates j .. j + nb - 1, the lower triangle at A. orig[p]: where in the workspace's rows
 * a row of L goes that now stands at j + p. corner: KEEP x KEEP, the Schur complement of what is
 * kept. */
template <bool H, bool PIVOT, class T>
__global__ void __launch_bounds__(TILE_THREADS, 1)
    tile_kernel(int nb, int take, const T *A, int64_t lda, T *L, int64_t ldl, const int *orig, T *N,
                T *dinv, T *corner, typename scalar_of<T>::real limit, control *ctl) {
    typedef typename scalar_of<T>::real R;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    tile_memory<T> &m = *reinterpret_cast<tile_memory<T> *>(shared_bytes);
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, tid = threadIdx.x;
    if constexpr (by_lanes<T>::value) launch_next(), wait_previous();
    if (ctl->failed) return;
    const R tiny = unkey<R>(ctl->largest) * (R)ctl->zero_tolerance;
    bool slow = false;
    for (;;) {
        {
            const int i = tid % B, j0 = tid / B, every = TILE_THREADS / B;
            if constexpr (by_lanes<T>::value) {
                const bool pairs = ((uintptr_t)A & 15) == 0 && lda % 2 == 0 && nb == B;
                if (pairs) { /* of rows: 16 bytes */
                    const int i2 = 2 * (tid % (B / 2)), last = i2 / 64 * 64 + 64;
#pragma unroll 8
                    for (int j = tid / (B / 2); j < last; j += 2 * every)
                        if (i2 + 1 >= j)
                            copy_async16(m.S + i2 + j * LD, A + i2 + j * lda);
                        else
                            *(double2 *)(m.S + i2 + j * LD) = make_double2(0, 0);
                    copy_commit();
                    for (int j = last + tid / (B / 2); j < B; j += 2 * every)
                        *(double2 *)(m.S + i2 + j * LD) = make_double2(0, 0);
                    copy_wait<0>();
                    if ((i2 + 1) % (2 * every) == tid / (B / 2)) m.S[i2 + (i2 + 1) * LD] = 0;
                } else {
                    const int last = i / 32 * 32 + 32; /* of this warp's rows */
#pragma unroll 8
                    for (int j = j0; j < last; j += every)
                        copy_async8(m.S + i + j * LD, A + (i >= j && i < nb ? i + j * lda : 0),
                                    i >= j && i < nb);
                    copy_commit();
                    for (int j = last + j0; j < B; j += every) m.S[i + j * LD] = make<T>(0);
                    copy_wait<0>();
                }
            } else {
#pragma unroll 32
                for (int q = 0; q < B / every; ++q) {
                    const int j = j0 + q * every;
                    m.S[i + j * LD] = i >= j && i < nb ? A[i + j * lda] : make<T>(0);
                }
            }
        }
        if (tid == 0) m.failed = 0;
        if (tid < B) {
            m.order[tid] = tid, m.zero[tid] = 0;
            m.d[tid] = m.e[tid] = m.di[tid] = m.ei[tid] = make<T>(0);
        }
        __syncthreads();
        if (slow) {
            tile_complete<H>(m, nb, take, tiny);
            break;
        }
        if constexpr (by_lanes<T>::value)
            tile_lanes<PIVOT>(m, nb, take, limit, tiny, L, ldl, orig, N);
        else
            tile_blocks<H, PIVOT>(m, nb, take, limit, tiny);
        if (!PIVOT || !m.failed) break;
        slow = true;
        __syncthreads();
    }
    __syncthreads();
    if (!by_lanes<T>::value || slow) {
        const int i = tid % B;
        T *to = L + (i < nb ? orig[m.order[i]] : 0);
        if (i < nb)
#pragma unroll 16
            for (int j = tid / B; j < min(take, i / 32 * 32 + 32); j += TILE_THREADS / B)
                if (i >= j) to[j * ldl] = i == j ? m.d[j] : m.S[i + j * LD];
        /* D's entries beside the diagonal, over L's zeros; the same thread wrote them */
        const int first = i - 1;
        if (i < nb && first >= 0 && first < take && first % (TILE_THREADS / B) == tid / B &&
            !is_zero(m.e[first]))
            to[first * ldl] = m.e[first];
    }
    if (tid < KEEP * KEEP && take < nb) {
        const int i = tid % KEEP, j = tid / KEEP;
        if (i >= j) corner[tid] = m.S[take + i + (take + j) * LD];
    }
    if (tid < B) {
        ctl->order[tid] = m.order[tid] | (is_zero(m.e[tid]) ? 0 : FIRST_OF_TWO) |
                          (tid && !is_zero(m.e[tid - 1]) ? SECOND_OF_TWO : 0);
        dinv[tid] = m.di[tid], dinv[B + tid] = m.ei[tid];
        ctl->zero[tid] = m.zero[tid], ctl->bad[tid] = 0;
    }
    if (tid == 0 && slow) atomicAdd(&ctl->slow_tiles, 1);
    if (by_lanes<T>::value && !slow) return;
    __syncthreads();
    if (slow) /* whole squares were in use */
        for (int t = tid; t < B * B; t += TILE_THREADS)
            if (t % B < t / B) m.S[t % B + t / B * LD] = make<T>(0);
    if (tid < B) {
        for (int j = max(take, tid - KEEP); j < tid; ++j) m.S[tid + j * LD] = make<T>(0);
        m.S[tid + tid * LD] = make<T>(1);
    }
    __syncthreads();
    tile_inverse(m);
    {
        const int i = tid % B, j0 = tid / B, every = TILE_THREADS / B;
        T *to = N + (by_lanes<T>::value ? i : m.order[i]);
#pragma unroll 16
        for (int q = 0; q < B / every; ++q)
            to[(j0 + q * every) * B] = cj<H>(m.S[j0 + q * every + i * LD]);
    }
}

} // namespace mpki
#endif
