/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_SMALL_FRONT_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_SMALL_FRONT_CUH
/** Small fronts: a thread block takes those of a task one after the other. Each is assembled and
 *  eliminated in shared memory; then its panel and its contribution go to global memory. If a front
 *  does not fit there, the block does only the columns that may be eliminated;
 *  update/part.cuh makes the contribution. */
#include "../assemble/children.cuh"
#include "row_test.cuh"
#include "tile_loop.cuh"

namespace mpki {

/** A warp: L D L^T of the tile in m.S, b columns; n, w, columns, outside: of the front, by which
 *  shared memory is laid out. quick: the quick way first. LOOPS: by tile_loop.cuh, else by
 *  tile.cuh. small, most: limits of a pivot and, in the quick way, of L. m.word [out] 0 and 1: the
 *  number of pivots, or -1; WORD_QUICK, WORD_PAIRS. Called by task_factor(). Barriers: it meets the
 *  warp; the caller meets the block. */
template <bool H, bool LOOPS, class T>
MPKI_APART __device__ void task_pivots(int n, int w, int columns, bool outside, int b, bool quick,
                                       typename scalar_of<T>::real small,
                                       typename scalar_of<T>::real most) {
    MPKI_SMEM;
    const task_smem<T> m(smem, n, w, columns, outside);
    const int lane = (int)threadIdx.x & 31;
    int found = 0, pairs = 0;
    quick = quick && b >= MPKI_QUICK_LEAST;
    if (quick) found = quick_pivots<H>(m.S, b, m.perm, m.d, m.dinv, small, most, m.work);
    if (lane == 0) m.word[WORD_QUICK] = found;
    if (found >= 0 && found < b) {
        const int begun = quick ? found : -1;
        found = LOOPS ? loop_factor<H>(m.S, b, m.perm, m.d, m.dinv, small, m.work, begun)
                      : tile_factor<H>(m.S, b, m.perm, m.d, m.dinv, small, m.work, begun);
        pairs = __any_sync(0xffffffffu, lane < found && !is_zero(m.d[2 * lane + 1]));
    }
    if (lane == 0) m.word[0] = m.word[1] = found, m.word[WORD_PAIRS] = pairs;
    if (found >= 0) prepare_rows(m.S, b, found);
}

/** A block: factors the tile of b columns at p and tests the rows below it. Returns how many pivots
 *  pass; *np [out] how many the tile has. *quick [inout] the quick way is tried first; if rows of
 *  columns that it did fail, the tile is done anew with a search, and the front no longer tries the
 *  quick way. Afterwards X of the rows of a whole front is in m.X; of a front whose columns alone
 *  are here L is in the front or, if the tile has all columns and all pass, in the panel `a`, which
 *  m.word[WORD_OUT] says. Called by task_tile(). Barriers: it meets the block, also before it
 *  returns. */
template <bool H, bool LOOPS, class F, class T>
__device__ int task_factor(const F &f, const task_smem<T> &m, const panel<T> &a, int p, int b,
                           const pivot_rules<typename scalar_of<T>::real> &rules, int *np,
                           bool *quick) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    const bool whole = f.columns == f.n;
    const R limit = 1 / rules.u;
    int ne = 0, what = whole ? ROWS_TRY : ROWS_TEST;
    bool all = false;
    /* Turn 0: quick; 1: with a search; 2: rows once more. A loop: rows are compiled once. */
#pragma unroll 1
    for (int turn = *quick ? 0 : 1; turn < 3; ++turn) {
        if (turn < 2) {
            const T *const row = lane < b ? f.column(p + lane) : NULL;
            for (int j = warp; j < b; j += warps)
                if (lane < b)
                    m.S[lane + j * LDS_] = lane >= j ? f.at(p + lane, p + j) : cj<H>(row[p + j]);
            __syncthreads();
            MPKI_STAMP(LOAD);
            if (warp == 0)
                task_pivots<H, LOOPS, T>(f.n, f.w, f.columns, !F::PACKED, b, turn == 0,
                                         rules.least(),
                                         limit < (R)QUICK_MOST ? limit : (R)QUICK_MOST);
            __syncthreads();
            if (turn == 0)
                MPKI_STAMP(TILE);
            else
                MPKI_STAMP(FULL);
            *np = ne = m.word[1];
            if (ne < 0) continue;
            all = F::PACKED && !whole && ne == a.w;
        }
        task_rows_of<H, T>(f, p, b, ne, limit, what, all && turn < 2 ? a.a : (T *)NULL, a.ld);
        __syncthreads(); /* rows have read what goes through the upper triangle of m.S otherwise */
        if (turn == 2) break;
        MPKI_STAMP(ROWS);
        ne = m.word[WORD_PAIRS] ? whole_pairs(m.d, m.word[0]) : m.word[0];
        __syncthreads();
        if (turn == 0 && ne < m.word[WORD_QUICK]) {
            *quick = false;
            continue;
        }
        if (threadIdx.x == 0) m.word[WORD_OUT] = all && ne == *np;
        if (ne == *np && (whole || all)) break;
        if (ne < *np) {
            if (warp == 0) prepare_rows(m.S, b, ne);
            __syncthreads();
        }
        what = whole ? ROWS_AGAIN : ROWS_STORE;
        turn = 1;
    }
    return ne;
}

/** A block: F(i, j) -= L X^H for i >= j >= first, with the ne pivots at p; X in m.X. A warp takes
 *  32 rows and 8 columns at once. Called by task_tile(). Barriers: none; the caller meets the block
 *  before and after. */
template <bool H, class F, class T>
MPKI_APART __device__ void task_update(F front, const T *, int p, int first, int ne) {
    MPKI_SMEM;
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const int n = f.n, lane = (int)threadIdx.x & 31, warps = (int)blockDim.x / 32;
    const int left = n - first, columns = (f.columns - first + 7) / 8;
    int piece = 0;
    for (int h = 0; h < columns; ++h)
        for (int g = h / 4; 32 * g < left; ++g, ++piece) {
            if (piece % warps != (int)threadIdx.x / 32) continue;
            const int i = first + 32 * g + lane, j0 = first + 8 * h;
            const int safe = i < n ? i : n - 1;
            T c[8];
#pragma unroll
            for (int y = 0; y < 8; ++y) c[y] = make<T>(0);
            const int width = f.columns - j0 < 8 ? f.columns - j0 : 8;
            for (int k = 0; k < ne; ++k) {
                const T l = f.at(safe, p + k);
                const T *x = m.X + j0 + k * m.ldx;
#pragma unroll
                for (int y = 0; y < 8; ++y) pfma(c[y], l, cj<H>(x[y < width ? y : 0]));
            }
#pragma unroll
            for (int y = 0; y < 8; ++y)
                if (i < n && y < width && i >= j0 + y) {
                    T &x = f.at(i, j0 + y);
                    x = x - c[y];
                }
        }
}

/** A block: task_update() of real doubles by tensor cores: a warp takes 32 rows and 16 columns at
 *  once. Barriers: none; the caller meets the block before and after. */
template <bool H, class F>
MPKI_APART __device__ void task_update(F front, const double *, int p, int first, int ne) {
    MPKI_SMEM;
    const task_smem<double> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const int n = f.n, lane = (int)threadIdx.x & 31, warps = (int)blockDim.x / 32;
    const int g = lane / 4, t = lane % 4, left = n - first, w = f.columns;
    const int columns = (w - first + 15) / 16;
    int piece = 0;
    for (int h = 0; h < columns; ++h)
        for (int r = h / 2; 32 * r < left; ++r, ++piece) {
            if (piece % warps != (int)threadIdx.x / 32) continue;
            const int i0 = first + 32 * r + g, j0 = first + 16 * h;
            const int col = j0 + g < w ? j0 + g : w - 1, next = j0 + 8 + g < w ? 8 : 0;
            double c[2][2][4];
#pragma unroll
            for (int x = 0; x < 2; ++x)
#pragma unroll
                for (int y = 0; y < 2; ++y)
#pragma unroll
                    for (int z = 0; z < 4; ++z) c[x][y][z] = 0;
            for (int k0 = 0; k0 < ne; k0 += 16) {
                double a[2][8], b[2][4];
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    const int k = k0 + t + 4 * q;
                    const bool in = k < ne;
                    const double *l = f.column(p + (in ? k : 0)), *x = m.X + (in ? k : 0) * m.ldx;
#pragma unroll
                    for (int z = 0; z < 4; ++z) {
                        const int i = i0 + 8 * z;
                        a[z / 2][2 * q + z % 2] = in && i < n ? l[i] : 0;
                    }
                    b[0][q] = in ? x[col] : 0;
                    b[1][q] = in ? x[col + next] : 0;
                }
#pragma unroll
                for (int y = 0; y < 2; ++y) mma16(c[0][y], a[0], b[y]), mma16(c[1][y], a[1], b[y]);
            }
#pragma unroll
            for (int x = 0; x < 2; ++x)
#pragma unroll
                for (int y = 0; y < 2; ++y)
#pragma unroll
                    for (int z = 0; z < 4; ++z) {
                        const int i = i0 + 16 * x + z / 2 * 8, j = j0 + 8 * y + 2 * t + z % 2;
                        if (i < n && i >= j && j < w) f.at(i, j) -= c[x][y][z];
                    }
        }
}

/** A block: eliminates what passes of the tile of b columns at p, writes L, D and D^-1, brings all
 *  entries after the tile up to date, and lets the rows of columns before it follow the tile's
 *  order. Columns that fail stand behind those that pass. quick: as task_factor(). Returns how many
 *  columns passed. Called by task_eliminate(). Barriers: it meets the block, also before it
 *  returns. */
template <bool H, bool LOOPS, class F, class T>
__device__ int task_tile(const F &f, const task_smem<T> &m, const panel<T> &out, int p, int b,
                         const pivot_rules<typename scalar_of<T>::real> &rules, bool *quick) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int n = f.n, warps = nt / 32;
    int np;
    const int ne = task_factor<H, LOOPS>(f, m, out, p, b, rules, &np, quick);
    /* the block: L of what passed in its lower triangle; what is left goes through the upper one */
    for (int t = tid; t < b * b && ne < b; t += nt) {
        const int i = t % b, j = t / b;
        if (i < j || j < ne) continue;
        const int gi = p + m.perm[i], gj = p + m.perm[j];
        T x = gi >= gj ? f.at(gi, gj) : cj<H>(f.at(gj, gi));
        for (int k = 0; k < ne; ++k) { /* X(j, k) = (L D)(j, k) */
            T y = m.S[j + k * LDS_] * m.d[2 * k];
            pfma(y, k + 1 < ne ? m.S[j + (k + 1) * LDS_] : make<T>(0), m.d[2 * k + 1]);
            if (k > 0) pfma(y, m.S[j + (k - 1) * LDS_], cj<H>(m.d[2 * k - 1]));
            nfma(x, m.S[i + k * LDS_], cj<H>(y));
        }
        m.S[j + i * LDS_] = x;
    }
    /* rows of finished columns follow */
    __syncthreads();
    for (int c = warp; c < p; c += warps) {
        const T x = lane < b ? f.at(p + m.perm[lane], c) : make<T>(0);
        __syncwarp();
        if (lane < b) f.at(p + lane, c) = x;
    }
    if (warp == 0) {
        const int id = lane < b ? out.id[p + m.perm[lane]] : 0;
        __syncwarp();
        if (lane < b) out.id[p + lane] = id;
    }
    for (int j = warp; j < b; j += warps) {
        if (lane < j || lane >= b) continue;
        if (j >= ne)
            f.at(p + lane, p + j) = m.S[j + lane * LDS_];
        else if (lane > j)
            f.at(p + lane, p + j) = m.S[lane + j * LDS_];
    }
    for (int k = tid; k < 2 * b; k += nt) {
        out.d[2 * p + k] = k < 2 * ne ? m.d[k] : make<T>(0);
        out.dinv[2 * p + k] = k < 2 * ne ? m.dinv[k] : make<T>(0);
    }
    const bool single = m.word[WORD_PAIRS] == 0;
    for (int k = warp; k < b && f.columns == n; k += warps) { /* L of what is in m.X */
        const T *const x = m.X + k * m.ldx;
        T *const l = f.column(p + k);
        for (int i = p + b + lane; i < n; i += 32) {
            if (k >= ne)
                l[i] = x[i];
            else if (single)
                l[i] = x[i] * m.dinv[2 * k];
            else
                l[i] = times_inverse<H>(k > 0 ? x[i - m.ldx] : make<T>(0), x[i],
                                        k + 1 < ne ? x[i + m.ldx] : make<T>(0), m.dinv, k);
        }
    }
    __syncthreads();
    MPKI_STAMP(BACK);
    if (ne > 0 && p + b < f.columns) task_update<H>(f, m.F, p, p + b, ne);
    __syncthreads();
    MPKI_STAMP(UPDATE);
    return ne;
}

/** A block: threshold_columns() on columns p .. w - 1 of a task's front. root: nothing can be
 *  delayed. Returns the first column that is not eliminated. Barriers: it meets the block, also
 *  before it returns. */
template <bool H, class T, class F>
MPKI_APART __device__ int task_search(F front, T *d, T *dinv, int32_t *id, int p, bool root,
                                      pivot_rules<typename scalar_of<T>::real> rules,
                                      mpki_cuda_flags *flags) {
    MPKI_SMEM;
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    bool over;
    int search = p;
    return threshold_columns<H, T>(f, d, dinv, id, f.n, f.w, f.columns, p, f.w, root, rules, flags,
                                   &search, &over, m.space);
}

/** A block: rest_is_zero() on columns p .. w - 1 of a task's front. Barriers: it meets the block, also
 *  before it returns. */
template <bool H, class T, class F>
MPKI_APART __device__ bool task_rest_is_zero(F front, T *d, T *dinv, int p,
                                             typename scalar_of<T>::real small) {
    MPKI_SMEM;
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const bool zero = rest_is_zero<T>(f, d, dinv, f.n, f.w, p, small, m.space);
    __syncthreads();
    return zero;
}

/** A block: eliminates what can be: tiles first, over and over while a pass still eliminates a good
 *  part of the columns, then column by column. w: columns that may be eliminated; own: those that
 *  are not delayed ones; root: what becomes of columns that fail (MPKI_CUDA_INNER, ...): where they
 *  go on to the next columns of the same front, the own ones alone are tried. counted: the delayed
 *  ones were counted as rejected before. way: of the front, as in the tree. Returns the number of
 *  pivots. Called by task_columns(). Barriers: it meets the block. */
template <bool H, bool LOOPS, class F, class T>
__device__ int task_eliminate(const mpki_cuda_tree &t, const F &f, const task_smem<T> &m,
                              const panel<T> &out, int w, int root, int own, bool counted,
                              uint8_t *way) {
    const pivot_rules<typename scalar_of<T>::real> rules(t);
    const int n = f.n;
    int p = 0, pass = 0;
    int rejected = counted && root != MPKI_CUDA_NOT_LAST ? own - w : 0;
    /* tiles before these are tried without a search */
    const int quick_tiles =
        *way >= MPKI_CUDA_BY_BLOCK_SEARCHING ? *way - MPKI_CUDA_BY_BLOCK_SEARCHING : w;
    int tiles = 0;
    bool quick = true;
    for (;;) {
        const int start = p;
        int end = root == MPKI_CUDA_NOT_LAST ? own : w;
        while (p < end) {
            const int b = end - p < TILE ? end - p : TILE;
            quick = quick && tiles < quick_tiles;
            const bool tried = quick;
            const int ne = task_tile<H, LOOPS>(f, m, out, p, b, rules, &quick);
            if (tried && !quick && threadIdx.x == 0)
                *way = (uint8_t)(MPKI_CUDA_BY_BLOCK_SEARCHING + (tiles < 252 ? tiles : 252));
            ++tiles;
            const int left = b - ne, untried = end - (p + b);
            for (int k = 0; k < left && k < untried; ++k)
                front_exchange<H>(f, out.id, n, p + ne + k, end - 1 - k);
            rejected += left;
            end -= left;
            p += ne;
            /* of a front of low rank the other tiles would be zero, too */
            if (ne == 0 && root != MPKI_CUDA_NOT_LAST &&
                task_rest_is_zero<H, T>(f, out.d, out.dinv, p, rules.small))
                p = end = w;
        }
        if (pass == 0 && threadIdx.x == 0) {
            m.word[WORD_REJECTED] = rejected;
            if (rejected > 0) atomicAdd(&t.flags->rejected, (unsigned long long)rejected);
        }
        const int left = w - p;
        if (left == 0 || root == MPKI_CUDA_NOT_LAST) return p;
        if (pass > 0 && p - start < (left + p - start) / 8 + 1) break;
        if (left <= 4 || w == 1) break;
        ++pass, quick = false;
    }
    return task_search<H, T>(f, out.d, out.dinv, out.id, p, root == MPKI_CUDA_ROOT, rules, t.flags);
}

/** A block: a place for a panel of so many bytes in the arena; NULL, with the reason in the flags,
 *  if there is none. level: of the step. Barriers: it meets the block, also before it returns. */
__device__ inline char *place_in_arena(const mpki_cuda_tree &t, int64_t panel, int level) {
    __shared__ unsigned long long grown;
    if (threadIdx.x == 0) {
        const unsigned long long bytes = (unsigned long long)panel;
        const unsigned long long at = atomicAdd(&t.flags->used, bytes);
        const bool fits = at + bytes <= t.flags->end;
        grown = fits ? at : 0;
        if (!fits) {
            atomicMax(&t.flags->stuck, level + 1);
            atomicMax(&t.flags->reason, (int)MPKI_CUDA_NO_MEMORY);
        }
    }
    __syncthreads();
    char *const place = (char *)grown;
    __syncthreads();
    return place;
}

/** A block: eliminates the columns of an assembled front f; `out`: its panel, whose D, D^-1 and
 *  positions are written. LOOPS: tiles by tile_loop.cuh. Returns the number of pivots. Called by
 *  task_front() and task_outside(). Barriers: it meets the block; the caller meets it before
 *  positions are read. */
template <bool H, bool LOOPS, class F, class T>
__device__ int task_columns(const mpki_cuda_tree &t, const F &f, const task_smem<T> &m,
                            const mpki_cuda_node &node, const panel<T> &out, uint8_t *way) {
    for (int k = (int)threadIdx.x; k < 2 * out.w; k += (int)blockDim.x)
        out.d[k] = out.dinv[k] = make<T>(0);
    panel<T> here = out; /* with its positions in shared memory */
    here.id = m.row;
    for (int k = (int)threadIdx.x; k < out.w; k += (int)blockDim.x)
        here.id[k] = k < node.own ? node.first + k : out.id[k];
    __syncthreads();
    /* columns before these have left the delayed ones, and counted them */
    const int nelim = node.own > 0 ? task_eliminate<H, LOOPS>(t, f, m, here, out.w, node.root,
                                                              node.own, node.shift > 0, way)
                                   : 0;
    for (int k = (int)threadIdx.x; k < out.w; k += (int)blockDim.x) out.id[k] = here.id[k];
    return nelim;
}

/** A block: assembles and eliminates front s in global memory, at `place`, since it has grown
 *  beyond shared memory: n rows, `columns` columns, `delayed` of them delayed ones. Returns the
 *  number of pivots. Called by task_front(). Barriers: it meets the block. */
template <bool H, class T>
MPKI_APART __device__ int task_outside(const mpki_cuda_tree &t, int s, char *place, int n,
                                       int columns, int delayed) {
    MPKI_SMEM;
    const mpki_cuda_node node = t.node[s];
    const int w = node.own + delayed, ld = leading(n);
    const task_smem<T> m(smem, n, w, columns, true);
    const panel<T> out(place, w, ld);
    const outside_front<T> f = {out.a, (T *)t.contribution + node.contribution, n, columns, ld, w};
    add_entries<T>(t, f, node, delayed);
    __syncthreads();
    add_children<H, T>(t, f, node, 0, node.children, delayed, out.id);
    MPKI_STAMP(GATHER);
    return task_columns<H, false>(t, f, m, node, out, t.way + s);
}

/** A block: F(i, j) -= L D L^H for the delayed columns j from front.columns to w - 1, which lie in
 *  the panel; ne pivots, all of one tile, with L in the front. Called by task_front(). Barriers: it
 *  meets the block; the caller meets it afterwards. */
template <bool H, class T>
MPKI_APART __device__ void update_delayed(packed_front<T> front, int w, int ne) {
    MPKI_SMEM;
    const int AT_ONCE = 8;
    const task_smem<T> m(smem, front.n, front.w, front.columns);
    const packed_front<T> f = front.here(m.F);
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int warps = nt / 32;
    for (int c0 = f.columns; c0 < w; c0 += TILE) { /* L D of so many rows goes to S */
        const int count = w - c0 < TILE ? w - c0 : TILE;
        __syncthreads();
        for (int s = tid; s < TILE * ne; s += nt) {
            const int c = s % TILE, k = s / TILE;
            T y = make<T>(0);
            if (c < count) {
                y = f.at(c0 + c, k) * m.d[2 * k];
                if (k + 1 < ne) pfma(y, f.at(c0 + c, k + 1), m.d[2 * k + 1]);
                if (k > 0) pfma(y, f.at(c0 + c, k - 1), cj<H>(m.d[2 * k - 1]));
            }
            m.S[c + k * LDS_] = cj<H>(y);
        }
        __syncthreads();
        const int groups = (count + AT_ONCE - 1) / AT_ONCE, pieces = (f.n - c0 + 31) / 32;
        for (int z = warp; z < groups * pieces; z += warps) {
            const int h = z % groups * AT_ONCE, i = c0 + z / groups * 32 + lane;
            const int safe = i < f.n ? i : f.n - 1;
            if (c0 + z / groups * 32 + 31 < c0 + h) continue; /* above the diagonal */
            T sum[AT_ONCE];
#pragma unroll
            for (int y = 0; y < AT_ONCE; ++y) sum[y] = make<T>(0);
            for (int k = 0; k < ne; ++k) {
                const T l = f.at(safe, k);
#pragma unroll
                for (int y = 0; y < AT_ONCE; ++y) pfma(sum[y], l, m.S[h + y + k * LDS_]);
            }
#pragma unroll
            for (int y = 0; y < AT_ONCE; ++y)
                if (i < f.n && h + y < count && i >= c0 + h + y) {
                    T &x = f.delayed_column(c0 + h + y)[i];
                    x = x - sum[y];
                }
        }
    }
}

/** A thread: publishes front s: its panel at `place`, w columns, nelim of them eliminated, leading
 *  dimension ld. The block has met after it wrote what others read. Barriers: none. */
__device__ inline void task_done(const mpki_cuda_tree &t, int s, char *place, int w, int nelim,
                                 int ld) {
    mpki_cuda_front_state *state = t.state + s;
    state->a = place, state->w = w, state->nelim = nelim, state->ld = ld;
    if (nelim < w) t.flags->delayed = 1;
    store_release(&state->done, MPKI_CUDA_DONE);
}

/** A block: front s, one of a task whose first front is `first`: it waits for the children,
 *  assembles the front, eliminates it and publishes it. alone: its columns without the others,
 *  since other blocks make its contribution. LARGEST: the block is of the largest class, where a
 *  front that has grown beyond shared memory is eliminated in global memory. level: of the step.
 *  Returns false, with the reason in the flags, where a front below it could not be done or there
 *  is no memory for it; then the state of s is as it was. Called by task_kernel() and, for leaves
 *  that fail, leaves_kernel(). Barriers: it meets the block, also before it returns true. It is one
 *  function: cut into wait, grow, assemble and store, the kernel of the largest class keeps its 128
 *  registers but reads 156 bytes more of what it has spilled (sm_90, doubles). */
template <bool H, bool LARGEST, class T>
__device__ bool task_front(const mpki_cuda_tree &t, char *smem, int64_t smem_bytes, int s,
                           int first, bool alone, int level) {
    const mpki_cuda_node node = t.node[s];
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int warps = (int)blockDim.x / 32, own = node.own;
    int delayed = 0, w = own, n = own + node.rows, columns = alone ? w : n;
    task_smem<T> m(smem, n, w, columns);
    packed_front<T> f = {m.F, n, columns, w, NULL, 0};
    MPKI_STAMP_BEGIN(s);
    add_entries<T>(t, f, node, 0); /* before the children are there; mostly they delay nothing */
    MPKI_STAMP(ENTRIES);
    char *place = t.arena + node.panel;
    bool outside = false, apart = false;
    /* ---- wait and assemble: the last child is the one that is done last, as a rule, so the
     * others' contributions are added up meanwhile; but not by blocks below the largest class,
     * whose fronts wait less than that loop takes in registers. Children before `from` are added,
     * before `waited` waited for */
    int from = 0, waited = 0, until = node.children;
    if (LARGEST && until > 1 && t.child[node.child + until - 1] < first) --until;
#pragma unroll 1
    for (;; until = node.children) {
        if (node.children == 0) {
            __syncthreads();
            MPKI_STAMP(WAIT);
            break;
        }
        const bool all = until == node.children;
        const bool one = !LARGEST && until == from + 1 && waited == from;
        if (one) expect_child(t, node, from, alone, m.row);
        if (one ? !wait_for_child(t, node, from, first, alone, &delayed)
                : !wait_for_fronts(t, node, waited, until, first, alone, &delayed))
            return false;
        MPKI_STAMP(WAIT);
        waited = until;
        if (one && delayed == 0) {
            const children_of_task &some = described();
            add_contribution(f, (const T *)t.contribution + some.contribution[0], some.rows[0],
                             some.columns[0], m.row);
            __syncthreads();
            from = until;
            if (all) break;
            MPKI_STAMP(ENTRIES);
            continue;
        }
        if (one) __syncthreads();
        if (delayed > 0 && !all) continue;
        if (delayed > 0) { /* ---- grow */
            w = own + delayed, n = w + node.rows, columns = alone ? w : n;
            bool fits = task_smem<T>::bytes(n, w, columns) <= smem_bytes;
            if (LARGEST && !fits && alone && node.root == MPKI_CUDA_NOT_LAST && own <= TILE &&
                task_smem<T>::bytes(n, own, own) <= smem_bytes)
                apart = fits = true, columns = own; /* delayed ones are not tried here */
            outside = LARGEST && !fits;
            if (!fits && !(outside && task_smem<T>::bytes(n, w, columns, true) <= smem_bytes)) {
                if (tid == 0) {
                    atomicMax(&t.flags->stuck, level + 1);
                    atomicMax(&t.flags->reason, (int)MPKI_CUDA_TOO_LARGE);
                }
                return false;
            }
            place = place_in_arena(t, panel_bytes<T>(n, w), level);
            if (!place) return false;
            T *const old = m.F;
            const int old_n = f.n, old_columns = f.columns;
            f.w = apart ? own : w;
            m = task_smem<T>(smem, n, f.w, columns, outside);
            f.f = m.F, f.n = n, f.columns = columns, f.apart = (T *)place, f.ld = leading(n);
            for (int j = own + warp; apart && j < w; j += warps)
                for (int i = j + lane; i < n; i += 32) f.delayed_column(j)[i] = make<T>(0);
            if (outside) break;
            if (from > 0) { /* the others' contributions are there */
                front_spread<T>(f, old, old_n, old_columns, own, delayed);
            } else {
                add_entries<T>(t, f, node, delayed);
                __syncthreads();
            }
        }
        add_children<H, T>(t, f, node, from, until, delayed, panel<T>(place, w, leading(n)).id);
        from = until;
        if (all) break;
        MPKI_STAMP(ENTRIES);
    }
    MPKI_STAMP(GATHER);
    const int ld = leading(n);
    const panel<T> out(place, w, ld);
    int nelim;
    bool published = false;
    if (LARGEST && outside) { /* ---- eliminate, and publish */
        nelim = task_outside<H, T>(t, s, place, n, columns, delayed);
        MPKI_STAMP(SEARCH);
    } else {
        T *const C = (T *)t.contribution + node.contribution;
        nelim = task_columns<H, !LARGEST>(t, f, m, node, out, t.way + s);
        if (LARGEST && apart) update_delayed<H>(f, w, nelim);
        MPKI_STAMP(SEARCH);
        for (int j = warp; j < node.rows && !alone; j += warps) {
            T *to = contribution_column(C, node.rows, j);
            for (int i = j + lane; i < node.rows; i += 32) to[i] = f.at(w + i, w + j);
        }
        if (nelim == w && !alone) { /* others read nothing else of such a front: publish it */
            __syncthreads();
            if (tid == 0) task_done(t, s, place, w, nelim, ld);
            published = true;
        }
        const int last = nelim == w && m.word[WORD_OUT] ? w : n;
        for (int j = warp; j < (apart ? own : w); j += warps)
            for (int i = j + lane; i < last; i += 32) out.a[i + (int64_t)j * ld] = f.at(i, j);
    }
    __syncthreads();
    if (tid == 0 && !published) task_done(t, s, place, w, nelim, ld);
    /* it has become a front of those that a warp can do */
    if (tid == 0 && !outside && delayed == 0 && own > 0 && n <= MPKI_WARP_FRONT_ROWS &&
        nelim == w && m.word[WORD_REJECTED] == 0)
        t.way[s] = MPKI_CUDA_QUICKLY;
    MPKI_STAMP(OUT);
    __syncthreads();
    return true;
}

} // namespace mpki
#endif
