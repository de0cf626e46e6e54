/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_WARP_FRONT_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_WARP_FRONT_CUH
/** Fronts of at most 32 rows: a warp does all of one, a row in each lane's registers, from the
 *  entries of A to the contribution, so that a tile, the rows below it and what they leave to other
 *  columns are one loop. All columns become pivots here or none: where one fails, or a child has
 *  delayed columns, the front is left to task_front(), as if nothing had been done. */
#include "../assemble/children.cuh"
#include "tile.cuh"

namespace mpki {

static const int WARP_ROWS = MPKI_WARP_FRONT_ROWS;
static const int WARP_LD = WARP_ROWS + 1; /* of a front in shared memory: odd, so that rows and
                                             columns lie in all banks */
/** Entries of A that a lane reads at once. */
enum { WARP_ENTRIES = 4 };

/** What a warp's front has in shared memory: two rows of what a column gives to others, by turns;
 *  the front; L; the order of its pivots. */
template <class T> struct warp_smem {
    T *U, *F, *S;
    int32_t *perm;
    static __host__ __device__ int64_t bytes() {
        return (4 * WARP_ROWS + 2 * WARP_LD * WARP_ROWS) * (int64_t)sizeof(T) + WARP_ROWS * 4;
    }
    __device__ explicit warp_smem(char *smem)
        : U((T *)smem), F(U + 4 * WARP_ROWS), S(F + WARP_LD * WARP_ROWS),
          perm((int32_t *)(S + WARP_LD * WARP_ROWS)) {}
};

/** Is front `node` one of these? Entries of more than 8 bytes would take more registers than there
 *  are. */
template <class T> __device__ inline bool is_warp_front(const mpki_cuda_node &node) {
    return sizeof(T) <= 8 && node.own > 0 && node.own + node.rows <= WARP_ROWS && node.parts == 0;
}

/** A warp: F := the entries of A of a front of n rows, all others 0. Barriers: it meets the warp;
 *  the caller meets it before it reads. */
template <class T>
__device__ inline void warp_entries(const mpki_cuda_tree &t, const mpki_cuda_node &node, T *F) {
    const int lane = (int)threadIdx.x & 31, n = node.own + node.rows;
    for (int j = 0; j < n; ++j) F[lane + WARP_LD * j] = make<T>(0);
    __syncwarp();
    for (int64_t e0 = node.scatter; e0 < node.scatter_end; e0 += 32 * WARP_ENTRIES) {
        int at[WARP_ENTRIES];
        T value[WARP_ENTRIES];
#pragma unroll
        for (int q = 0; q < WARP_ENTRIES; ++q) {
            const int64_t e = e0 + 32 * q + lane;
            const bool in = e < node.scatter_end;
            const entry_of_a<T> a(t, node, in ? e : e0);
            at[q] = in ? a.row + WARP_LD * a.col : -1;
            value[q] = a.value;
        }
#pragma unroll
        for (int q = 0; q < WARP_ENTRIES; ++q)
            if (at[q] >= 0) F[at[q]] = value[q];
    }
}

/** F of a warp's front, for add_few_rows(). */
template <class T> struct warp_square {
    T *f;
    __device__ T &at(int i, int j) const { return f[i + WARP_LD * j]; }
};

/** A warp: waits for some children of a front, a lane each: child, of `rows` rows and `parts` parts,
 *  where the lane has one (mine). first: of the task. Returns false if one of them has delayed
 *  columns or could not be done. Barriers: it meets the warp; what the children wrote is visible to
 *  all lanes. */
__device__ inline bool warp_wait(const mpki_cuda_tree &t, bool mine, int child, int parts,
                                 int first) {
    bool good = true;
    if (mine) {
        const mpki_cuda_front_state *state = t.state + child;
        int done = MPKI_CUDA_DONE;
        if (child < first)
            while ((done = load_acquire(&state->done)) == MPKI_CUDA_WAITING) __nanosleep(20);
        while (done > MPKI_CUDA_WAITING && child < first && load_acquire(&state->parts) < parts)
            __nanosleep(20);
        good = done > MPKI_CUDA_WAITING && state->w == state->nelim;
    }
    return __all_sync(0xffffffffu, good);
}

/** A warp: waits for the children of a front and adds what they contribute to m.F, in their order.
 *  first: of the task. m.S [work]. Returns false if one of them has delayed columns or could not be
 *  done; m.F is of no use then. Barriers: it meets the warp, also before it returns. */
template <class T>
__device__ inline bool warp_children(const mpki_cuda_tree &t, const mpki_cuda_node &node, int first,
                                     const warp_smem<T> &m) {
    const int ROOM = WARP_LD * WARP_ROWS, lane = (int)threadIdx.x & 31;
    static_assert(WARP_ROWS <= FEW_ROWS, "a child has no more rows than its parent");
    const warp_square<T> f = {m.F};
    for (int base = 0; base < node.children; base += 32) {
        const int count = node.children - base < 32 ? node.children - base : 32;
        const bool mine = lane < count;
        const int child = t.child[node.child + base + (mine ? lane : 0)];
        const mpki_cuda_node *const of = t.node + child;
        const int rows = mine ? of->rows : 0, size = few_rows_entries<T>(rows);
        const int64_t rel = of->rel, contribution = of->contribution;
        if (!warp_wait(t, mine, child, of->parts, first)) return false;
        if (base + 32 >= node.children) MPKI_STAMP(WAIT);
        for (int from = 0, number; from < count; from += number) {
            const int end = sum_up_to_lane(lane >= from ? size : 0), begin = end - size;
            number = __popc(__ballot_sync(0xffffffffu, mine && lane >= from && end <= ROOM));
            for (int k = from; k < from + number; ++k)
                fetch_few_rows(t, __shfl_sync(0xffffffffu, contribution, k),
                               __shfl_sync(0xffffffffu, rel, k), __shfl_sync(0xffffffffu, rows, k),
                               m.S + __shfl_sync(0xffffffffu, begin, k));
            arrived();
            add_few_rows(f, m.S, rows, rows, begin, from, from + number, WARP_ROWS, 0, 0, 1);
        }
    }
    return true;
}

/** A warp: of a front of n rows and w columns: x[j] := the entry of this lane's row, order[lane], in
 *  column order[j]; order: the first w of both, the others follow as they are. */
template <bool H, int W, class T>
__device__ inline void warp_load(T (&x)[W], const T *F, int n, int w, const int32_t *order) {
    const int lane = (int)threadIdx.x & 31, row = lane < w ? order[lane] : lane;
#pragma unroll
    for (int j = 0; j < W; ++j) {
        const int column = j < w ? order[j] : j;
        const bool low = row >= column;
        const T y = F[low ? row + WARP_LD * column : column + WARP_LD * row];
        x[j] = j < n && lane < n ? (low ? y : cj<H>(y)) : make<T>(0);
    }
}

/** Of a warp's front: what a lane knows of the pivot of its number: D and D^-1, and what couples it
 *  to the next one; where the lane's row is in the order of the pivots. */
template <class T> struct warp_pivot {
    T d, dinv, off, off_inverse;
    int place;
};

/** A warp: eliminates w columns of a front of n rows in the order of the diagonal's sizes, without
 *  a search: no entry of L in their rows is above `most`, none below them above `limit`, and no
 *  pivot is of at most `small` or far smaller than it was before. x [out] entries 0 .. n - w - 1 of
 *  a row: what is left; m.S [out] L by columns, whose rows follow m.perm. Returns false where a
 *  pivot fails; m.F is as it was. Barriers: it meets the warp, also before it returns. */
template <bool H, int W, class T>
__device__ inline bool warp_quick(T (&x)[W], const warp_smem<T> &m, int n, int w,
                                  typename scalar_of<T>::real small,
                                  typename scalar_of<T>::real most,
                                  typename scalar_of<T>::real limit, warp_pivot<T> &mine) {
    typedef typename scalar_of<T>::real R;
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x & 31;
    const unsigned size = lane < w ? key(m.F[lane + WARP_LD * lane]) : 0;
    int rank = 0;
#pragma unroll 4
    for (int j = 0; j < w; ++j) {
        const unsigned other = __shfl_sync(all, size, j);
        rank += other > size || (other == size && j < lane);
    }
    if (lane < w) m.perm[rank] = lane;
    __syncwarp();
    warp_load<H>(x, m.F, n, w, m.perm);
    const quick_limits<R> limits(small, most);
    const unsigned large = key(lane < w ? most : limit);
    const unsigned first = __shfl_sync(all, size, lane < w ? m.perm[lane] : 0);
    const unsigned least = first > limits.pivot + limits.FALL ? first - limits.FALL : limits.pivot;
    bool bad = false;
#pragma unroll 1
    for (int k = 0; k < w; ++k) {
        T *const U = m.U + (k & 1) * 2 * WARP_ROWS;
        U[(lane - k) & 31] = cj<H>(x[0]);
        const T d = diagonal<H>(shfl(x[0], k)), dinv = quick_inverse(d), l = x[0] * dinv;
        __syncwarp();
        x[0] = x[1];
        nfma(x[0], l, U[1]);
#pragma unroll
        for (int j = 2; j < W; j += 2) {
            const two_of<T> u = two_at(U + j);
            x[j - 1] = x[j], x[j] = x[j + 1];
            nfma(x[j - 1], l, u.a);
            nfma(x[j], l, u.b);
        }
        x[W - 1] = make<T>(0);
        const unsigned big = key(l), pivot = key(d);
        bad = bad || (lane > k && lane < n && big > large) ||
              (lane == k && (pivot <= least || pivot >= limits.pivot_end));
        m.S[lane + WARP_LD * k] = l;
        mine.d = lane == k ? d : mine.d;
        mine.dinv = lane == k ? dinv : mine.dinv;
    }
    return !__any_sync(all, bad);
}

/** A thread: tile_row() of all W columns; the key of the largest entry of the first w. */
template <bool PAIR, int W, class T>
__device__ inline unsigned warp_row(T (&x)[W], int w, const T *U, const T *V, T l1, T l2) {
    unsigned most = 0;
#pragma unroll
    for (int j = 0; j < W; j += 2) {
        const two_of<T> u = two_at(U + j);
        nfma(x[j], l1, u.a);
        nfma(x[j + 1], l1, u.b);
        if (PAIR) {
            const two_of<T> v = two_at(V + j);
            nfma(x[j], l2, v.a);
            nfma(x[j + 1], l2, v.b);
        }
        const unsigned a = j < w ? key(x[j]) : 0, b = j + 1 < w ? key(x[j + 1]) : 0;
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    return most;
}

/** A warp: the same by complete pivoting among the w columns, as tile_factor() has it, with pivots of
 *  order 2. x [out] entries w .. n - 1 of a row. Barriers: as warp_quick(). */
template <bool H, int W, class T>
__device__ inline bool warp_search(T (&x)[W], const warp_smem<T> &m, int n, int w,
                                   typename scalar_of<T>::real small,
                                   typename scalar_of<T>::real limit, warp_pivot<T> &mine) {
    typedef typename scalar_of<T>::real R;
    const R alpha = (R)MPKI_ALPHA;
    const unsigned all = 0xffffffffu, none = key((R)INFINITY), large = key(limit);
    const int lane = (int)threadIdx.x & 31;
    const unsigned me = 31u - (unsigned)lane;
    const bool below = lane >= w && lane < n;
    T *const U = m.U, *const V = U + WARP_ROWS;
    if (lane < w) m.perm[lane] = lane;
    __syncwarp();
    warp_load<H>(x, m.F, n, w, m.perm);
    T own = lane < w ? diagonal<H>(m.F[lane + WARP_LD * lane]) : make<T>(0);
    bool live = lane < w, bad = false;
    unsigned most = 0; /* the key of the largest entry of this lane's row among the w columns */
#pragma unroll
    for (int j = 0; j < W; ++j) {
        const unsigned k = j < w ? key(x[j]) : 0;
        most = k > most ? k : most;
    }
    mine.place = lane;
    int p = 0;
#pragma unroll 1
    while (p < w) {
        const unsigned size = live ? key(own) & ~31u : 0;
        const unsigned best = __reduce_max_sync(all, live ? (most & ~31u) | me : me);
        const unsigned on = __reduce_max_sync(all, size | me);
        const R top = unkey<R>(best & ~31u), diag = unkey<R>(on & ~31u);
        if (best >= none || !(top > small)) return false;
        const bool pair = !(diag >= alpha * top);
        const int r = 31 - (int)((pair ? best : on) & 31);
        const T u = column_out<0, W>(x, r), dk = shfl(own, r);
        T l1, l2 = make<T>(0);
        if (!pair) {
            const T di = common_inverse(dk);
            l1 = u * di;
            mine.place = lane == r ? p : mine.place;
            live = live && lane != r;
            const bool active = live || below;
            U[lane] = active ? cj<H>(u) : make<T>(0);
            m.S[lane + WARP_LD * p] = l1;
            if (lane == p) mine.d = dk, mine.dinv = di, mine.off = mine.off_inverse = make<T>(0);
            bad = bad || (below && key(l1) > large);
            __syncwarp();
            most = warp_row<false>(x, w, U, V, l1, l1);
            nfma(own, l1, cj<H>(u));
            p += 1;
        } else {
            const bool may = live && lane != r;
            const unsigned in_row = may ? (key(u) & ~31u) | me : 0;
            const int c = 31 - (int)(__reduce_max_sync(all, in_row) & 31);
            const T v = column_out<0, W>(x, c), d22 = shfl(own, c), d21 = cj<H>(shfl(v, r));
            T i11, i21, i22;
            pair_inverse<H>(dk, d21, d22, i11, i21, i22);
            l1 = u * i11 + v * i21, l2 = u * cj<H>(i21) + v * i22;
            mine.place = lane == r ? p : lane == c ? p + 1 : mine.place;
            live = live && lane != r && lane != c;
            const bool active = live || below;
            U[lane] = active ? cj<H>(u) : make<T>(0), V[lane] = active ? cj<H>(v) : make<T>(0);
            m.S[lane + WARP_LD * p] = lane == c ? make<T>(0) : l1;
            m.S[lane + WARP_LD * (p + 1)] = l2;
            if (lane == p) mine.d = dk, mine.dinv = i11, mine.off = d21, mine.off_inverse = i21;
            if (lane == p + 1)
                mine.d = d22, mine.dinv = i22, mine.off = mine.off_inverse = make<T>(0);
            bad = bad || (below && (key(l1) > large || key(l2) > large));
            __syncwarp();
            most = warp_row<true>(x, w, U, V, l1, l2);
            nfma(own, l1, cj<H>(u));
            nfma(own, l2, cj<H>(v));
            p += 2;
        }
        own = diagonal<H>(own);
        __syncwarp(); /* U and V have been read */
    }
    if (lane < w) m.perm[mine.place] = lane;
    return !__any_sync(all, bad);
}

/** A warp: eliminates front s, which is in m.F; searching: without the quick way. Returns false, and
 *  has written nothing that others read, where a column fails. Barriers: it meets the warp. */
template <bool H, int W, class T>
__device__ inline bool warp_eliminate(const mpki_cuda_tree &t, const mpki_cuda_node &node, int s,
                                      bool searching, const warp_smem<T> &m) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)threadIdx.x & 31, w = node.own, n = w + node.rows;
    const pivot_rules<R> rules(t);
    const R limit = 1 / rules.u;
    const R most = limit < (R)QUICK_MOST ? limit : (R)QUICK_MOST;
    T x[W];
    warp_pivot<T> mine = {make<T>(0), make<T>(0), make<T>(0), make<T>(0), lane};
    int begin = 0; /* of what is left in x */
    if (searching || !warp_quick<H>(x, m, n, w, rules.least(), most, limit, mine)) {
        MPKI_STAMP(TILE);
        if (!warp_search<H>(x, m, n, w, rules.least(), limit, mine)) return false;
        if (!searching && lane == 0) t.way[s] = MPKI_CUDA_SEARCHING;
        begin = w;
        MPKI_STAMP(FULL);
    } else {
        MPKI_STAMP(TILE);
    }
    /* others read the contribution alone: it goes first */
    T *const C = (T *)t.contribution + node.contribution;
    const int ldc = leading(node.rows), i = lane - w;
#pragma unroll
    for (int j = 0; j < W; ++j)
        if (j >= begin && i >= j - begin && lane < n) C[i + (j - begin) * ldc] = x[j];
    const panel<T> out(t.arena + node.panel, w, leading(n));
    __syncwarp();
    if (lane == 0) task_done(t, s, t.arena + node.panel, w, w, leading(n));
    if (lane < w) {
        out.d[2 * lane] = mine.d, out.d[2 * lane + 1] = mine.off;
        out.dinv[2 * lane] = mine.dinv, out.dinv[2 * lane + 1] = mine.off_inverse;
        out.id[lane] = node.first + m.perm[lane];
    }
#pragma unroll 4
    for (int k = 0; k < w; ++k)
        if (mine.place > k && lane < n) out.a[mine.place + k * out.ld] = m.S[lane + WARP_LD * k];
    return true;
}

/** A warp: does front s of a task whose first front is `first`, as t.way[s], `way`, says; smem:
 *  warp_smem<T>::bytes(). Returns false, and has written nothing that others read, where a column
 *  fails or a child has delayed some. Called by task_kernel(), by the first warp of a block.
 *  Barriers: it meets the warp. */
template <bool H, class T>
MPKI_APART __device__ bool warp_front(const mpki_cuda_tree &t, int s, int first, int way) {
    MPKI_SMEM;
    const warp_smem<T> m(smem);
    const mpki_cuda_node node = t.node[s];
    const int n = node.own + node.rows;
    MPKI_STAMP_BEGIN(s);
    warp_entries(t, node, m.F);
    __syncwarp();
    MPKI_STAMP(ENTRIES);
    if (node.children == 0)
        MPKI_STAMP(WAIT);
    else if (!warp_children(t, node, first, m))
        return false;
    MPKI_STAMP(GATHER);
    const bool searching = way == MPKI_CUDA_SEARCHING;
    const bool good = n <= WARP_ROWS / 2
                          ? warp_eliminate<H, WARP_ROWS / 2>(t, node, s, searching, m)
                          : warp_eliminate<H, WARP_ROWS>(t, node, s, searching, m);
    MPKI_STAMP(OUT);
    return good;
}

} // namespace mpki
#endif
