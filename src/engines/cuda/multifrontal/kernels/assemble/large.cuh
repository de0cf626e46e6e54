/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_ASSEMBLE_LARGE_CUH
#define MPKI_CUDA_MULTIFRONTAL_ASSEMBLE_LARGE_CUH
/** The assembly of large fronts: entries of A, the children's contributions, and the columns that
 *  they have delayed. A thread block makes 16 columns of one front. */
#include "../pivot/large_front.cuh"

namespace mpki {

/** A large front: its columns in a panel, the others in a contribution c of m rows. */
template <class T> struct split_front {
    panel<T> a;
    T *c;
    int m;
    /** A thread: column j, so that [i] is its entry in row i >= j. */
    __device__ T *column(int j) const {
        return j < a.w ? a.a + (int64_t)j * a.ld : contribution_column(c, m, j - a.w) - a.w;
    }
};

static const int FIRST_CHILDREN =
    MPKI_FRONT_FIRST_CHILDREN; /* children that are added up together, at most */

/** What a thread block knows of the first children, whose contributions it takes a few columns
 *  of. */
template <class T> struct first_children {
    /* where a child's rows lie among these of the front, row of the child or -1 */
    int32_t row[FIRST_CHILDREN][256];
    /* by column of the front: so that [r] is the child's entry in its row r; NULL: it has none */
    const T *column[FIRST_CHILDREN][MPKI_FRONT_COLUMNS];
    int32_t low[FIRST_CHILDREN]; /* the child's first row that is not above the next ones in work */
};

/** A block of 256 threads: columns c0 .. c1 - 1 of front f := the sum of the contributions of its
 *  first COUNT children, in their order; to: where each column lies. An entry is one thread's,
 *  which writes it once, so it need not be 0 before. Barriers: it meets the block; the caller meets
 *  it before it reads. */
template <int COUNT, class T>
__device__ void add_first_children(const mpki_cuda_tree &t, const mpki_cuda_front &f, int c0,
                                   int c1, T *const *to, first_children<T> &m) {
    const int own = f.own, delayed = f.w - own, n = f.nrows, tid = (int)threadIdx.x;
    const mpki_cuda_node &node = t.node[f.index];
    const int32_t *rel[COUNT + 1]; /* one more: COUNT may be 0 */
    int rows[COUNT + 1], low[COUNT + 1], mine[COUNT + 1];
    /* low: of a child, its first row that is not above those in work */
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const mpki_cuda_node &c = t.node[t.child[node.child + k]];
        rel[k] = t.rel + c.rel, rows[k] = c.rows;
    }
    const int mine_is = tid / 32,
              at_column = tid % 32; /* a warp a child, a lane a column: all searches at once */
    if (mine_is < COUNT && at_column <= MPKI_FRONT_COLUMNS) {
        const mpki_cuda_node &c = t.node[t.child[node.child + mine_is]];
        const int column = at_column < MPKI_FRONT_COLUMNS ? c0 + at_column : c0;
        const bool is_delayed = column >= own && column < f.w;
        const int j = column < own ? column : is_delayed ? own : column - delayed;
        const int at = first_not_below(t.rel + c.rel, c.rows, j);
        if (at_column == MPKI_FRONT_COLUMNS) {
            m.low[mine_is] = at;
        } else {
            const bool has = column < c1 && !is_delayed && at < c.rows && t.rel[c.rel + at] == j;
            m.column[mine_is][at_column] =
                has ? contribution_column((const T *)t.contribution + c.contribution, c.rows, at)
                    : (const T *)0;
        }
    }
    if (COUNT > 0) __syncthreads();
#pragma unroll
    for (int k = 0; k < COUNT; ++k) low[k] = m.low[k];
    for (int i0 = c0; i0 < n; i0 += 256) {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) m.row[k][tid] = -1;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            const auto place = [&](int r) {
                const int to = r < rows[k] ? rel[k][r] : n;
                return (to < own ? to : to + delayed) - i0;
            };
            const int r = low[k] + tid, at = place(r);
            if (at < 256 && r < rows[k]) {
                m.row[k][at] = r;
                if (tid == 255 || r + 1 == rows[k] || place(r + 1) >= 256) m.low[k] = r + 1;
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < COUNT; ++k) mine[k] = m.row[k][tid], low[k] = m.low[k];
        const int i = i0 + tid, AT_ONCE = sizeof(T) > 8 ? 4 : 8;
#pragma unroll
        for (int j0 = 0; j0 < MPKI_FRONT_COLUMNS; j0 += AT_ONCE) {
            T x[AT_ONCE];
#pragma unroll
            for (int q = 0; q < AT_ONCE; ++q) {
                const int j = c0 + j0 + q;
                const bool in = j < c1 && i >= j && i < n;
                x[q] = make<T>(0);
#pragma unroll
                for (int k = 0; k < COUNT; ++k) {
                    const T *from = m.column[k][j0 + q];
                    if (in && from && mine[k] >= 0) x[q] = x[q] + from[mine[k]];
                }
            }
#pragma unroll
            for (int q = 0; q < AT_ONCE; ++q) {
                const int j = c0 + j0 + q;
                if (j < c1 && i >= j && i < n) to[j0 + q][i] = x[q];
            }
        }
    }
}

static const int FURTHER_CHILDREN =
    64; /* children beyond FIRST_CHILDREN that are looked up together */

/** What a thread block knows of the children beyond the first ones. */
template <class T> struct further_children {
    /* by column of the front: 1 + the child's column; 0: it has none */
    int32_t column[MPKI_FRONT_COLUMNS][FURTHER_CHILDREN];
    int32_t rows[FURTHER_CHILDREN];
    const int32_t *rel[FURTHER_CHILDREN];
    const T *contribution[FURTHER_CHILDREN];
};

/** A block: adds the contributions of children number first .. first + count - 1 of front f, at
 *  most FURTHER_CHILDREN, each of which has few of its rows, to columns c0 .. c1 - 1. A column is
 *  one warp's. It takes four children at a time, 32 rows of each and then what is left: the order
 *  of a sum is the same in each run, though not the children's. to: where each column lies.
 *  Barriers: it meets the block, also before it returns. */
template <class T>
__device__ void add_further_children(const mpki_cuda_tree &t, const mpki_cuda_front &f, int first,
                                     int count, int c0, int c1, T *const *to,
                                     further_children<T> &m) {
    const int AT_ONCE = 4;
    const int own = f.own, delayed = f.w - own, tid = (int)threadIdx.x, nt = (int)blockDim.x;
    const int lane = tid & 31, warp = tid / 32, warps = nt / 32;
    const mpki_cuda_node &node = t.node[f.index];
    for (int k = tid; k < MPKI_FRONT_COLUMNS * FURTHER_CHILDREN; k += nt)
        m.column[k / FURTHER_CHILDREN][k % FURTHER_CHILDREN] = 0;
    __syncthreads();
    for (int k = tid; k < count; k += nt) {
        const mpki_cuda_node &c = t.node[t.child[node.child + first + k]];
        const int32_t *rel = t.rel + c.rel;
        const int low = c0 < own ? c0 : c0 - delayed < own ? own : c0 - delayed;
        for (int j = first_not_below(rel, c.rows, low); j < c.rows; ++j) {
            const int at = rel[j] < own ? rel[j] : rel[j] + delayed;
            if (at >= c1) break;
            m.column[at - c0][k] = 1 + j;
        }
        m.rows[k] = c.rows, m.rel[k] = rel;
        m.contribution[k] = (const T *)t.contribution + c.contribution;
    }
    __syncthreads();
    const auto place = [&](const int32_t *rel, int i) {
        const int r = rel[i];
        return r < own ? r : r + delayed;
    };
    for (int c = warp; c < c1 - c0; c += warps) {
        T *const x = to[c];
        for (int base = 0; base < count; base += 32) {
            const int mine = base + lane < count ? m.column[c][base + lane] : 0;
            unsigned left = __ballot_sync(0xffffffffu, mine > 0);
            while (left) {
                const T *from[AT_ONCE];
                const int32_t *rel[AT_ONCE];
                int rows[AT_ONCE], j[AT_ONCE], at[AT_ONCE];
                T v[AT_ONCE];
#pragma unroll
                for (int g = 0; g < AT_ONCE; ++g) {
                    const int q = left ? __ffs((int)left) - 1 : 0, k = base + q;
                    rows[g] = left ? m.rows[k] : 0;
                    left &= left - 1;
                    j[g] = __shfl_sync(0xffffffffu, mine, q) - 1;
                    rel[g] = m.rel[k], from[g] = m.contribution[k];
                    if (rows[g] > 0) from[g] = contribution_column(from[g], rows[g], j[g]);
                    const bool in = rows[g] > 0 && j[g] + lane < rows[g];
                    v[g] = in ? from[g][j[g] + lane] : make<T>(0);
                    at[g] = in ? place(rel[g], j[g] + lane) : -1;
                }
#pragma unroll
                for (int g = 0; g < AT_ONCE; ++g) {
                    if (at[g] >= 0) x[at[g]] = x[at[g]] + v[g];
                    __syncwarp();
                }
#pragma unroll
                for (int g = 0; g < AT_ONCE; ++g) { /* of long ones */
                    for (int i0 = j[g] + 32 + lane; i0 - lane < rows[g]; i0 += 32 * AT_ONCE) {
                        T y[AT_ONCE];
                        int where[AT_ONCE];
#pragma unroll
                        for (int h = 0; h < AT_ONCE; ++h) {
                            const int i = i0 + 32 * h;
                            where[h] = i < rows[g] ? place(rel[g], i) : -1;
                            y[h] = i < rows[g] ? from[g][i] + x[where[h]] : make<T>(0);
                        }
#pragma unroll
                        for (int h = 0; h < AT_ONCE; ++h)
                            if (where[h] >= 0) x[where[h]] = y[h];
                    }
                    __syncwarp();
                }
            }
        }
    }
    __syncthreads();
}

/** A block of 256 threads for each 16 columns of each large front: contributions, entries of A,
 *  delayed columns, positions, and zeros for D and D^-1. level: of the step; if one below it has
 *  stopped, nothing is done. Barriers: it meets the block. */
template <bool H, class T>
__global__ void __launch_bounds__(256)
    assemble_kernel(mpki_cuda_tree t, mpki_cuda_large large, int level) {
    union known {
        first_children<T> first;
        further_children<T> others;
    };
    __shared__ __align__(16) char space[sizeof(known)];
    __shared__ T *columns[MPKI_FRONT_COLUMNS];
    first_children<T> &m = ((known *)space)->first;
    after_previous();
    int part;
    const mpki_cuda_front &f = large.front[front_of_block(large.assembly, large.count, &part)];
    const mpki_cuda_node &node = t.node[f.index];
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int warps = (int)blockDim.x / 32, own = f.own, delayed = f.w - own;
    const int c0 = part * MPKI_FRONT_COLUMNS;
    const int c1 = c0 + MPKI_FRONT_COLUMNS < f.nrows ? c0 + MPKI_FRONT_COLUMNS : f.nrows;
    if (t.flags->stuck > level + 1) return;
    const split_front<T> to = {panel<T>(f.a, f.w, f.ld), (T *)f.c, node.rows};
    if (tid < MPKI_FRONT_COLUMNS && c0 + tid < c1) {
        const int j = c0 + tid;
        columns[tid] = to.column(j);
        if (j < own) to.a.id[j] = node.first + j;
        if (j < f.w && f.nrows < f.ld)
            columns[tid][f.nrows] = make<T>(0); /* rows are read by two */
        for (int s = 0; j < f.w && s < 2; ++s)
            to.a.d[2 * j + s] = to.a.dinv[2 * j + s] = make<T>(0);
    }
    switch (node.children) {
    case 0:
        add_first_children<0>(t, f, c0, c1, columns, m);
        break;
    case 1:
        add_first_children<1>(t, f, c0, c1, columns, m);
        break;
    case 2:
        add_first_children<2>(t, f, c0, c1, columns, m);
        break;
    case 3:
        add_first_children<3>(t, f, c0, c1, columns, m);
        break;
    default:
        add_first_children<FIRST_CHILDREN>(t, f, c0, c1, columns, m);
    }
    __syncthreads();
    for (int k = FIRST_CHILDREN; k < node.children; k += FURTHER_CHILDREN)
        add_further_children(
            t, f, k, node.children - k < FURTHER_CHILDREN ? node.children - k : FURTHER_CHILDREN,
            c0, c1, columns, ((known *)space)->others);
    if (c0 < own) { /* entries lie by column */
        int64_t low = node.scatter, high = node.scatter_end;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (listed_entry(t, middle).col - node.shift < c0)
                low = middle + 1;
            else
                high = middle;
        }
        for (int64_t e = low + tid;
             e < node.scatter_end && listed_entry(t, e).col - node.shift < c1;
             e += (int)blockDim.x) {
            const entry_of_a<T> a(t, node, e);
            T &x = columns[a.col - c0][a.row < own ? a.row : a.row + delayed];
            x = x + a.value;
        }
    }
    if (delayed == 0) return;
    int offset = own;
    for (int k = 0; k < node.children; ++k) {
        const int index = t.child[node.child + k];
        const mpki_cuda_node &c = t.node[index];
        const mpki_cuda_front_state state = t.state[index];
        const int rows = c.rows, gone = state.w - state.nelim;
        const int32_t *rel = t.rel + c.rel;
        if (gone == 0) continue;
        __syncthreads();
        const panel<T> g(state.a, state.w, state.ld);
        /* its delayed columns as rows of own columns */
        for (int j = warp; j < rows; j += warps) {
            const int r = rel[j];
            if (r >= own || r < c0 || r >= c1) continue;
            T *x = columns[r - c0];
            for (int s = lane; s < gone; s += 32)
                x[offset + s] = x[offset + s] + cj<H>(g.at(state.w + j, state.nelim + s));
        }
        for (int s = warp; s < gone; s += warps) {
            const int at = offset + s, source = state.nelim + s;
            if (at < c0 || at >= c1) continue;
            T *x = columns[at - c0];
            if (lane == 0) to.a.id[at] = g.id[source];
            for (int i = source + lane; i < state.w; i += 32) {
                T &y = x[offset + i - state.nelim];
                y = y + g.at(i, source);
            }
            for (int i = lane; i < rows; i += 32)
                if (rel[i] >= own) {
                    T &y = x[rel[i] + delayed];
                    y = y + g.at(state.w + i, source);
                }
        }
        offset += gone;
    }
}

} // namespace mpki
#endif
