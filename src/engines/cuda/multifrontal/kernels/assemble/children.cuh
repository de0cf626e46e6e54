/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_ASSEMBLE_CHILDREN_CUH
#define MPKI_CUDA_MULTIFRONTAL_ASSEMBLE_CHILDREN_CUH
/** What goes into the front of a task: entries of A, then the children's contributions and delayed
 *  columns. A child that another block works on is waited for by its state in global memory. */
#include "engines/cuda/module/fetch.cuh"
#include "front.cuh"

namespace mpki {

/** A block: f := the entries of A of a front, all others 0; delayed: rows that lie behind its own
 *  ones. Barriers: one inside; the caller meets the block before it reads. */
template <class T, class F>
__device__ void add_entries(const mpki_cuda_tree &t, const F &f, const mpki_cuda_node &node,
                            int delayed) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x;
    f.clear();
    __syncthreads();
    for (int64_t e = node.scatter + tid; e < node.scatter_end; e += nt) {
        const entry_of_a<T> a(t, node, e);
        f.at(a.row < node.own ? a.row : a.row + delayed, a.col) = a.value;
    }
}

static const int CHILDREN = 24; /* described together */

/** What is known of some children: where their row lists and contributions begin, rows, columns of
 *  the contribution that are taken, columns that they have delayed. */
struct children_of_task {
    int64_t rel[CHILDREN], contribution[CHILDREN];
    int32_t rows[CHILDREN], columns[CHILDREN], gone[CHILDREN];
};

/** A thread: the children that the block has described last, in shared memory. */
__device__ inline children_of_task &described() {
    __shared__ children_of_task some;
    return some;
}

/** A thread: a word that another block has stored with store_release(); what that block wrote
 *  before is visible then. Barriers: none. */
__device__ inline int load_acquire(const int32_t *flag) {
#ifdef __CUDA_ARCH__
    int x;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    return x;
#else
    return *(const volatile int32_t *)flag;
#endif
}

/** A thread: *flag := x, after all that it has written, and has seen written before a barrier.
 *  Barriers: none. */
__device__ inline void store_release(int32_t *flag, int32_t x) {
#ifdef __CUDA_ARCH__
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(flag), "r"(x) : "memory");
#else
    *(volatile int32_t *)flag = x;
#endif
}

/** A block: waits until children number from .. until - 1 of a front are done. Those that are
 *  fronts `first` and on are this block's own, and are. up: of a contribution that is made in parts
 *  only those with the front's own columns are waited for. delayed [inout] the columns that they
 *  have delayed are added. Returns false if one of them could not be done. Barriers: it meets the
 *  block, also before it returns: what the children have written is visible to all threads. */
__device__ inline bool wait_for_fronts(const mpki_cuda_tree &t, const mpki_cuda_node &node,
                                       int from, int until, int first, bool up, int *delayed) {
    __shared__ int left, bad;
    if (threadIdx.x == 0) left = bad = 0;
    __syncthreads();
    for (int k = from + (int)threadIdx.x; k < until; k += (int)blockDim.x) {
        const int c = t.child[node.child + k];
        const mpki_cuda_front_state *state = t.state + c;
        int done = MPKI_CUDA_DONE;
        if (c < first) {
            const int parts = up ? t.node[c].parts_up : t.node[c].parts;
            const int32_t *const there = up ? &state->parts_up : &state->parts;
            while ((done = load_acquire(&state->done)) == MPKI_CUDA_WAITING) __nanosleep(20);
            while (done > MPKI_CUDA_WAITING && load_acquire(there) < parts) __nanosleep(20);
        }
        if (done < MPKI_CUDA_WAITING)
            atomicMax(&bad, 1);
        else if (state->w != state->nelim)
            atomicAdd(&left, state->w - state->nelim);
    }
    __syncthreads();
    *delayed += left;
    const bool good = bad == 0;
    __syncthreads();
    return good;
}

/** A block: adds the columns that front `child` has delayed to f, as columns own + offset and on,
 *  with their positions (id). row: where the child's other rows are in f. Rows of own columns come
 *  before them, so those entries go, conjugated, to rows of these columns. Barriers: none; the
 *  caller meets the block before and after. */
template <bool H, class T, class F>
__device__ void add_delayed(const mpki_cuda_tree &t, const F &f, int child, int own, int offset,
                            int32_t *id, const int32_t *row) {
    const mpki_cuda_front_state state = t.state[child];
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32, m = t.node[child].rows, gone = state.w - state.nelim;
    const panel<T> g(state.a, state.w, state.ld);
    for (int k = warp; k < gone; k += warps) {
        const int at = own + offset + k, s = state.nelim + k;
        T *const mine = f.delayed_column(at);
        if (lane == 0) id[at] = g.id[s];
        for (int i = s + lane; i < state.w; i += 32) {
            T &x = mine[own + offset + i - state.nelim];
            x = x + g.at(i, s);
        }
        for (int i = lane; i < m; i += 32) {
            const T y = g.at(state.w + i, s);
            if (row[i] < own) {
                T &x = f.at(at, row[i]);
                x = x + cj<H>(y);
            } else {
                T &x = mine[row[i]];
                x = x + y;
            }
        }
    }
}

/** A block: f(row[i], row[j]) += C(i, j), i >= j, for the first `columns` columns of a contribution
 *  of m rows. A warp reads 2 columns of up to 128 rows, and where they go, before it writes the
 *  first. Barriers: none; no two warps write to one entry. */
template <class T, class F>
__device__ void add_contribution(const F &f, const T *C, int m, int columns, const int32_t *row) {
    const int COLUMNS = 2, ROWS = sizeof(T) > 8 ? 2 : 4;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    for (int j0 = warp; j0 < columns; j0 += COLUMNS * warps) {
        const int j1 = j0 + warps < columns ? j0 + warps : j0;
        const T *from[COLUMNS] = {contribution_column(C, m, j0), contribution_column(C, m, j1)};
        T *const to[COLUMNS] = {f.column(row[j0]), f.column(row[j1])};
        for (int i0 = (j0 & ~31) + lane; i0 < m; i0 += 32 * ROWS) {
            T v[COLUMNS][ROWS], x[COLUMNS][ROWS];
            int at[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = i0 + 32 * r < m ? i0 + 32 * r : m - 1;
                at[r] = row[i];
#pragma unroll
                for (int q = 0; q < COLUMNS; ++q)
                    v[q][r] = (q ? j1 : j0) <= i ? from[q][i] : make<T>(0);
            }
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    x[q][r] =
                        (q ? j1 : j0) <= i0 + 32 * r && i0 + 32 * r < m ? to[q][at[r]] : make<T>(0);
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const int i = i0 + 32 * r;
                    if ((q == 0 || j1 > j0) && (q ? j1 : j0) <= i && i < m)
                        to[q][at[r]] = x[q][r] + v[q][r];
                }
        }
    }
}

static const int FEW_ROWS = 32; /* of a child that goes through shared memory, at most */

/** Entries that such a child takes there: its contribution as it lies in global memory, and where its
 *  rows are in the front. */
template <class T> __host__ __device__ inline int few_rows_entries(int rows) {
    return rows * leading(rows) + (rows * 4 + (int)sizeof(T) - 1) / (int)sizeof(T);
}

/** A warp: begins to copy a child of at most FEW_ROWS rows to shared memory; it is there after
 *  fetched(). Barriers: none. */
template <class T>
__device__ inline void fetch_few_rows(const mpki_cuda_tree &t, int64_t contribution, int64_t rel,
                                      int rows, T *to) {
    const T *const from = (const T *)t.contribution + contribution;
    const int lane = (int)threadIdx.x & 31, entries = rows * leading(rows);
    for (int e = lane; e < entries; e += 32) fetch_entry(to + e, from + e);
    if (lane < rows) fetch_entry((int32_t *)(to + entries) + lane, t.rel + rel + lane);
}

/** A warp: where this lane's row of a child in shared memory is in the front, of which `delayed` rows
 *  lie behind the `own` ones. Barriers: none. */
template <class T> __device__ inline int row_of_few(const T *C, int rows, int own, int delayed) {
    const int lane = (int)threadIdx.x & 31;
    const int r = lane < rows ? ((const int32_t *)(C + rows * leading(rows)))[lane] : 0;
    return r < own ? r : r + delayed;
}

/** A warp: adds children number c .. c + 3 of at most 8 rows; arguments as those of
 *  add_few_rows(). What is not of the front is read for all of them at once. Barriers: it meets the
 *  warp. */
template <class T, class F>
__device__ inline void add_four(const F &f, const T *room, int rows, int up, int begin, int c,
                                int end, int own, int delayed, int warp, int warps) {
    const unsigned all = 0xffffffffu;
    const int row = (int)threadIdx.x & 7, column = ((int)threadIdx.x & 31) >> 3;
    T v[4][2], *at[4][2];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
        const int k = (c + q) & 31, its = __shfl_sync(all, rows, k);
        const int m = c + q < end ? its : 0, taken = __shfl_sync(all, up, k);
        const T *const C = room + __shfl_sync(all, begin, k);
        const int r = row_of_few(C, m, own, delayed), i = __shfl_sync(all, r, row);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int at_column = column + 4 * h, j = __shfl_sync(all, r, at_column);
            const bool in =
                row < m && at_column <= row && at_column < taken && (j & (warps - 1)) == warp;
            v[q][h] = in ? C[row + at_column * leading(m)] : make<T>(0);
            at[q][h] = in ? &f.at(i, j) : (T *)NULL;
        }
    }
#pragma unroll
    for (int q = 0; q < 4; ++q) {
        T x[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) x[h] = at[q][h] ? *at[q][h] + v[q][h] : make<T>(0);
#pragma unroll
        for (int h = 0; h < 2; ++h)
            if (at[q][h]) *at[q][h] = x[h];
        __syncwarp();
    }
}

/** A warp: adds one child of m rows, `taken` columns, at C. Barriers: it meets the warp. */
template <class T, class F>
__device__ inline void add_one(const F &f, const T *C, int m, int taken, int own, int delayed,
                               int warp, int warps) {
    const int AT_ONCE = 4;
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x & 31, ld = leading(m);
    const int r = row_of_few(C, m, own, delayed);
    unsigned left = __ballot_sync(all, lane < taken && (r & (warps - 1)) == warp);
    while (left) { /* its own columns, some at once */
        T x[AT_ONCE], *at[AT_ONCE];
#pragma unroll
        for (int h = 0; h < AT_ONCE; ++h) {
            const int column = left ? __ffs((int)left) - 1 : 32;
            left &= left - 1;
            const int j = __shfl_sync(all, r, column & 31);
            const bool in = column <= lane && lane < m;
            at[h] = in ? &f.at(r, j) : (T *)NULL;
            x[h] = in ? *at[h] + C[lane + column * ld] : make<T>(0);
        }
#pragma unroll
        for (int h = 0; h < AT_ONCE; ++h)
            if (at[h]) *at[h] = x[h];
    }
    __syncwarp();
}

/** A warp, number `warp` of `warps`, which are a power of two: adds children number from .. end - 1
 *  in shared memory to its columns of f, each warps-th one, in their order. A lane has of the child
 *  of its number: rows; up: columns that are taken; begin: where it begins at `room`. delayed: rows
 *  that lie behind the front's `own` ones. Barriers: it meets the warp, also before it returns. */
template <class T, class F>
__device__ inline void add_few_rows(const F &f, const T *room, int rows, int up, int begin,
                                    int from, int end, int own, int delayed, int warp, int warps) {
    const unsigned all = 0xffffffffu, larger = __ballot_sync(all, rows > 8);
    for (int c = from; c < end;) {
        if ((larger >> c & 15) == 0) {
            add_four(f, room, rows, up, begin, c, end, own, delayed, warp, warps);
            c += 4;
        } else {
            add_one(f, room + __shfl_sync(all, begin, c), __shfl_sync(all, rows, c),
                    __shfl_sync(all, up, c), own, delayed, warp, warps);
            ++c;
        }
    }
}

/** A warp: the sum of x over the lanes up to this one. Barriers: it meets the warp. */
__device__ inline int sum_up_to_lane(int x) {
    const int lane = (int)threadIdx.x & 31;
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
        const int before = __shfl_sync(0xffffffffu, x, lane >= o ? lane - o : lane);
        x += lane >= o ? before : 0;
    }
    return x;
}

/** Has child k of those in `some` few rows, and has it delayed nothing? */
__device__ inline bool has_few_rows(const children_of_task &some, int k) {
    return some.rows[k] <= FEW_ROWS && some.gone[k] == 0;
}

/** A block: adds the contributions of described children number `first` and on, all with few rows,
 *  as far as shared memory holds them, where tiles are afterwards. Returns how many were added, at
 *  least one. Barriers: it meets the block, also before it returns. */
template <class T, class F>
MPKI_APART __device__ int add_through_shared(const mpki_cuda_tree &t, F front, int first, int stop,
                                             int own, int delayed) {
    MPKI_SMEM;
    const children_of_task &some = described();
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32, k = first + lane;
    const int rows = k < stop ? some.rows[k] : 0, up = k < stop ? some.columns[k] : 0;
    const int size = few_rows_entries<T>(rows), end = sum_up_to_lane(size), begin = end - size;
    const int number = __popc(__ballot_sync(0xffffffffu, k < stop && end <= (int)(m.F - m.S)));
    for (int c = warp; c < number; c += warps)
        fetch_few_rows(t, some.contribution[first + c], some.rel[first + c], some.rows[first + c],
                       m.S + __shfl_sync(0xffffffffu, begin, c));
    fetched();
    __syncthreads();
    add_few_rows(f, m.S, rows, up, begin, 0, number, own, delayed, warp, warps);
    __syncthreads();
    return number;
}

static const int TOGETHER = 8, TOGETHER_ROWS = 128; /* children; rows of such a front, below 255 */

/** A block: adds the contributions of children first .. first + count - 1 of those in `some`, at
 *  most TOGETHER, none of which has delayed columns, to a front of at most TOGETHER_ROWS rows. An
 *  entry is one thread's, which adds them in their order. map [work] TOGETHER bytes for each row of
 *  the front. Barriers: it meets the block, also before it returns. */
template <class T, class F>
__device__ void add_together(const mpki_cuda_tree &t, const F &f, const children_of_task &some,
                             int first, int count, int own, int delayed, unsigned char *map) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, n = f.n;
    for (int k = tid; k < TOGETHER * n; k += nt) map[k] = 0;
    __syncthreads();
    for (int s = tid; s < count * n; s += nt) {
        const int k = first + s / n, i = s % n;
        if (i >= some.rows[k]) continue;
        const int r = t.rel[some.rel[k] + i];
        map[s / n * n + (r < own ? r : r + delayed)] = (unsigned char)(1 + i);
    }
    __syncthreads();
    const int entries = f.columns * n - f.columns * (f.columns - 1) / 2;
    for (int e = tid; e < entries; e += nt) {
        int i, j;
        place_in_packed(n, e, &i, &j);
        T v[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            const int r = map[k * n + i], c = map[k * n + j], at = first + k;
            v[k] = r && c && k < count
                       ? contribution_column((const T *)t.contribution + some.contribution[at],
                                             some.rows[at], c - 1)[r - 1]
                       : make<T>(0);
        }
        T x = f.at(i, j);
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) x = x + v[k];
        f.at(i, j) = x;
    }
    __syncthreads();
}

/** A block: adds the contributions of described children number `first` and on, as many as a tile's
 *  shared memory can describe. A column of the front is one warp's, which adds the children in
 *  their order, so that no warp waits for another. Delayed columns are left out. Returns how many
 *  children were added; 0: it does not pay, and nothing was added. Barriers: it meets the block,
 *  also before it returns. */
template <class T, class F>
MPKI_APART __device__ int add_by_columns(const mpki_cuda_tree &t, F front, int first, int count,
                                         int own, int delayed) {
    MPKI_SMEM;
    const children_of_task &some = described();
    const int AT_ONCE = 4, BYTES = (LDS_ * TILE + 8 * TILE) * (int)sizeof(T);
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int warps = nt / 32, columns = f.columns;
    const int rows_of_mine = first + lane < count ? some.rows[first + lane] : 0;
    const int end = sum_up_to_lane(rows_of_mine), begin = end - rows_of_mine;
    const unsigned fit = __ballot_sync(
        0xffffffffu, first + lane < count && (lane + 1) * columns + 4 + 2 * end <= BYTES);
    const int number = __popc(fit);
    if (columns > 254 || number < 2) return 0;
    unsigned char *const map = (unsigned char *)m.S; /* 1 + a child's column */
    unsigned short *const rel = (unsigned short *)(map + ((number * columns + 3) & ~3));
    for (int i = tid; i < (number * columns + 3) / 4; i += nt) ((unsigned *)map)[i] = 0;
    __syncthreads();
    for (int c = warp; c < number; c += warps) {
        const int32_t *from = t.rel + some.rel[first + c];
        const int rows = some.rows[first + c], up = some.columns[first + c];
        const int at = __shfl_sync(0xffffffffu, begin, c);
        for (int i = lane; i < rows; i += 32) {
            const int r = from[i], to = r < own ? r : r + delayed;
            rel[at + i] = (unsigned short)to;
            if (i < up) map[c * columns + to] = (unsigned char)(1 + i);
        }
    }
    __syncthreads();
    for (int c = warp; c < columns; c += warps) {
        T *const to = f.column(c);
        const int mine = lane < number ? map[lane * columns + c] : 0;
        unsigned left = __ballot_sync(0xffffffffu, mine > 0);
        while (left) {
            int q[AT_ONCE], j[AT_ONCE], at[AT_ONCE];
            const T *from[AT_ONCE];
            T v[AT_ONCE];
#pragma unroll
            for (int g = 0; g < AT_ONCE; ++g) {
                q[g] = left ? __ffs((int)left) - 1 : -1;
                left &= left - 1;
                const int k = q[g] < 0 ? 0 : q[g], rows = some.rows[first + k];
                j[g] = __shfl_sync(0xffffffffu, mine, k) - 1;
                const int i = j[g] + lane, list = __shfl_sync(0xffffffffu, begin, k);
                from[g] = (const T *)t.contribution + some.contribution[first + k];
                if (q[g] >= 0) from[g] = contribution_column(from[g], rows, j[g]);
                const bool in = q[g] >= 0 && i < rows;
                v[g] = in ? from[g][i] : make<T>(0);
                at[g] = in ? rel[list + i] : -1;
            }
#pragma unroll
            for (int g = 0; g < AT_ONCE; ++g) {
                if (at[g] >= 0) to[at[g]] = to[at[g]] + v[g];
                __syncwarp();
            }
#pragma unroll
            for (int g = 0; g < AT_ONCE; ++g) { /* of long ones */
                if (q[g] < 0) continue;
                const int rows = some.rows[first + q[g]];
                const int list = __shfl_sync(0xffffffffu, begin, q[g]);
                for (int i0 = j[g] + 32 + lane; i0 - lane < rows; i0 += 32 * AT_ONCE) {
                    T x[AT_ONCE];
                    int where[AT_ONCE];
#pragma unroll
                    for (int h = 0; h < AT_ONCE; ++h) {
                        const bool in = i0 + 32 * h < rows;
                        x[h] = in ? from[g][i0 + 32 * h] : make<T>(0);
                        where[h] = in ? rel[list + i0 + 32 * h] : -1;
                    }
#pragma unroll
                    for (int h = 0; h < AT_ONCE; ++h)
                        if (where[h] >= 0) to[where[h]] = to[where[h]] + x[h];
                }
                __syncwarp();
            }
        }
    }
    __syncthreads();
    return number;
}

/** A block: row[i] := where row i of described child k is in the front; delayed: rows that lie
 *  behind its `own` ones. Barriers: none; the caller meets the block. */
__device__ inline void children_rows(const mpki_cuda_tree &t, int k, int own, int delayed,
                                     int32_t *row) {
    const children_of_task &some = described();
    for (int i = (int)threadIdx.x; i < some.rows[k]; i += (int)blockDim.x) {
        const int r = t.rel[some.rel[k] + i];
        row[i] = r < own ? r : r + delayed;
    }
}

/** A block: describes child number k of a front before it is done, as described child 0, and writes
 *  to `row` where its rows are if no column is delayed. up: the front's own columns alone are
 *  taken. Barriers: it meets the block, before and after. */
__device__ inline void expect_child(const mpki_cuda_tree &t, const mpki_cuda_node &node, int k,
                                    bool up, int32_t *row) {
    children_of_task &some = described();
    const int c = t.child[node.child + k], rows = t.node[c].rows;
    const int32_t *const rel = t.rel + t.node[c].rel;
    __syncthreads(); /* the children that were described before, and their rows, have been read */
    if (threadIdx.x == 0) {
        some.contribution[0] = t.node[c].contribution, some.rows[0] = rows;
        some.columns[0] = up ? t.node[c].up : rows;
    }
    for (int i = (int)threadIdx.x; i < rows; i += (int)blockDim.x) row[i] = rel[i];
    __syncthreads();
}

/** A warp, each of a block for itself: waits until child number k of a front is done; arguments and
 *  result as those of wait_for_fronts(). Barriers: it meets the warp; what the child has written is
 *  visible to all its lanes. */
__device__ inline bool wait_for_child(const mpki_cuda_tree &t, const mpki_cuda_node &node, int k,
                                      int first, bool up, int *delayed) {
    const int c = t.child[node.child + k];
    const mpki_cuda_front_state *state = t.state + c;
    int done = MPKI_CUDA_DONE;
    if (c < first && (threadIdx.x & 31) == 0) {
        const int parts = up ? t.node[c].parts_up : t.node[c].parts;
        const int32_t *const there = up ? &state->parts_up : &state->parts;
        while ((done = load_acquire(&state->done)) == MPKI_CUDA_WAITING) __nanosleep(20);
        while (done > MPKI_CUDA_WAITING && load_acquire(there) < parts) __nanosleep(20);
    }
    done = __shfl_sync(0xffffffffu, done, 0);
    __syncwarp(); /* what lane 0 has seen is visible to all of them */
    if (done < MPKI_CUDA_WAITING) return false;
    *delayed += state->w - state->nelim;
    return true;
}

/** Has child k of those in `some`, and the one after it? */
__device__ inline bool several_have_few_rows(const children_of_task &some, int k, int count) {
    return k + 1 < count && has_few_rows(some, k) && has_few_rows(some, k + 1);
}

/** A block: add_children() of described children number first .. stop - 1; child: the list of which
 *  they are entries first .. stop - 1; offset: delayed columns that are there. It chooses between
 *  add_together(), add_by_columns() and add_contribution(). Returns the offset of what follows.
 *  Barriers: it meets the block, also before it returns. */
template <bool H, class T, class F>
MPKI_APART __device__ int add_others(const mpki_cuda_tree &t, F front, const int32_t *child,
                                     int first, int stop, int own, int delayed, int offset,
                                     int32_t *id) {
    MPKI_SMEM;
    const children_of_task &some = described();
    const task_smem<T> m(smem, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    const int nt = (int)blockDim.x;
    int turn = 0;
    if (stop - first >= TOGETHER && f.n <= TOGETHER_ROWS) {
        bool left = false;
        for (int k = first; k < stop; ++k) left = left || some.gone[k] > 0;
        for (; first < stop && !left; first += TOGETHER)
            add_together<T>(t, f, some, first, stop - first < TOGETHER ? stop - first : TOGETHER,
                            own, delayed, (unsigned char *)m.row);
    }
    while (nt > 32 && first + 1 < stop) {
        const int number = add_by_columns<T>(t, f, first, stop, own, delayed);
        if (number == 0) break;
        for (int k = first; k < first + number && delayed > 0; ++k) {
            if (some.gone[k] == 0) continue;
            children_rows(t, k, own, delayed, m.row);
            __syncthreads();
            add_delayed<H, T>(t, f, child[k], own, offset, id, m.row);
            offset += some.gone[k];
            __syncthreads();
        }
        first += number;
    }
    /* a child's rows are read while the one before it is added */
    for (int k = first - 1; k < stop && first < stop; ++k) {
        int32_t *const mine = m.row + (turn & 1) * f.n, *const other = m.row + (~turn & 1) * f.n;
        if (k + 1 < stop) children_rows(t, k + 1, own, delayed, other);
        if (k >= first) {
            add_contribution(f, (const T *)t.contribution + some.contribution[k], some.rows[k],
                             some.columns[k], mine);
            if (some.gone[k] > 0) {
                __syncthreads();
                add_delayed<H, T>(t, f, child[k], own, offset, id, mine);
                offset += some.gone[k];
            }
        }
        ++turn;
        __syncthreads();
    }
    return offset;
}

/** A block: adds what children number from .. until - 1 of a front contribute and have delayed to
 *  f, in their order; id: positions of its columns. Only where these are the last children of the
 *  front may they have delayed columns, since delayed columns are numbered from `own` on. Barriers:
 *  it meets the block, also before it returns. */
template <bool H, class T, class F>
__device__ void add_children(const mpki_cuda_tree &t, const F &f, const mpki_cuda_node &node,
                             int from, int until, int delayed, int32_t *id) {
    children_of_task &some = described();
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, own = node.own;
    int offset = 0;
    for (int base = from; base < until; base += CHILDREN) {
        const int count = until - base < CHILDREN ? until - base : CHILDREN;
        if (base > from)
            __syncthreads(); /* the children that were described before have been read */
        for (int k = tid; k < count; k += nt) {
            const int c = t.child[node.child + base + k];
            some.rel[k] = t.node[c].rel, some.contribution[k] = t.node[c].contribution;
            some.rows[k] = t.node[c].rows, some.gone[k] = t.state[c].w - t.state[c].nelim;
            some.columns[k] = f.columns < f.n ? t.node[c].up : t.node[c].rows;
        }
        __syncthreads();
        for (int first = 0, stop; first < count; first = stop) {
            if (several_have_few_rows(some, first, count)) {
                for (stop = first; stop < count && has_few_rows(some, stop);) ++stop;
                for (int k = first; k < stop;)
                    k += add_through_shared<T>(t, f, k, stop, own, delayed);
            } else {
                for (stop = first + 1; stop < count && !several_have_few_rows(some, stop, count);)
                    ++stop;
                offset = add_others<H, T>(t, f, t.child + node.child + base, first, stop, own,
                                          delayed, offset, id);
            }
        }
    }
}

} // namespace mpki
#endif
