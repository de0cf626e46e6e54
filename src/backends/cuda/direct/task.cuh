/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_TASK_CUH
#define MPKI_CUDA_DIRECT_TASK_CUH
/** Small fronts: a thread block takes those of a task one after the other, each as a whole in shared
 *  memory: what A and the children give, the elimination, then panel and contribution go out. */
#include "threshold.cuh"
#include "tile.cuh"

namespace mpki {

/** A front in shared memory: its lower triangle by columns. */
template <class T> struct packed_front {
    T *f;
    int n;
    __device__ T *column(int j) const { return f + (int64_t)j * (2 * n - j - 1) / 2; }
    __device__ T &at(int i, int j) const { return column(j)[i]; }
};

/** Shared memory of a task. */
template <class T> struct task_room {
    T *S, *work, *d, *dinv, *X, *F;
    int32_t *perm, *row; /* row: where a child's rows go; as many as the front has */
    int *word;
    search_space<typename scalar_of<T>::real> *space;
    static __host__ __device__ int64_t bytes(int n, int w) {
        const int64_t b = w < TILE ? w : TILE;
        return ((int64_t)LDS_ * TILE + 6 * TILE + b * n + (int64_t)n * (n + 1) / 2) *
                   (int64_t)sizeof(T) +
               (TILE + 16 + (int64_t)n) * 4 + (int64_t)sizeof *((task_room *)0)->space + 64;
    }
    __device__ task_room(char *room, int n, int w) {
        const int b = w < TILE ? w : TILE;
        S = (T *)room;
        work = S + LDS_ * TILE;
        d = work + 2 * TILE;
        dinv = d + 2 * TILE;
        X = dinv + 2 * TILE;
        F = X + b * n;
        space = (search_space<typename scalar_of<T>::real> *)(F + (int64_t)n * (n + 1) / 2);
        perm = (int32_t *)(space + 1);
        word = perm + TILE;
        row = word + 16;
    }
};

/** All threads: what a child gives. At: front_at(i, j) of the parent. */
template <bool H, class T, class F>
__device__ void add_child(const mpki_cuda_tree &t, const F &f, int child, int own, int late,
                          int offset, int32_t *id, int32_t *row) {
    const mpki_cuda_node &c = t.node[child];
    const mpki_cuda_now now = t.now[child];
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32,
              warps = (int)blockDim.x / 32;
    const int m = c.rows, gone = now.w - now.nelim;
    const int32_t *rel = t.rel + c.rel;
    const T *C = (const T *)t.contribution + c.contribution;
    for (int i = tid; i < m; i += (int)blockDim.x) {
        const int r = rel[i];
        row[i] = r < own ? r : r + late;
    }
    __syncthreads();
    for (int j = warp; j < m; j += warps) {
        const T *from = contribution_column(C, m, j);
        const int to = row[j];
        for (int i = j + lane; i < m; i += 32) {
            T &x = f.at(row[i], to);
            x = x + from[i];
        }
    }
    if (gone > 0) { /* columns that it delayed: own + offset and on */
        const panel<T> g(now.a, now.w, now.ld);
        for (int k = warp; k < gone; k += warps) {
            const int at = own + offset + k, s = now.nelim + k;
            if (lane == 0) id[at] = g.id[s];
            for (int i = s + lane; i < now.w; i += 32) {
                T &x = f.at(own + offset + i - now.nelim, at);
                x = x + g.at(i, s);
            }
            for (int i = lane; i < m; i += 32) {
                const T y = g.at(now.w + i, s);
                if (row[i] < own) {
                    T &x = f.at(at, row[i]);
                    x = x + cj<H>(y);
                } else {
                    T &x = f.at(row[i], at);
                    x = x + y;
                }
            }
        }
    }
    __syncthreads();
}

/** All threads: rows below a tile at p: X of the first `pivots` columns. Returns to room.word[0] the
 *  first column that fails. */
template <bool H, int B, class T>
__device__ void task_rows(const packed_front<T> &f, const task_room<T> &m, int p, int b, int pivots,
                          typename scalar_of<T>::real limit, bool test) {
    for (int i = p + b + (int)threadIdx.x; i < f.n; i += (int)blockDim.x) {
        T x[B];
#pragma unroll
        for (int k = 0; k < B; ++k) x[k] = k < b ? f.at(i, p + m.perm[k]) : make<T>(0);
        row_eliminate<H>(x, m.S, b, pivots);
        if (test) {
            const int good = row_test<H>(x, m.dinv, pivots, limit);
            if (good < pivots) atomicMin(&m.word[0], good);
        }
#pragma unroll
        for (int k = 0; k < B; ++k)
            if (k < b) m.X[i + k * f.n] = x[k];
    }
}

template <bool H, class T>
__device__ void task_rows_of(const packed_front<T> &f, const task_room<T> &m, int p, int b,
                             int pivots, typename scalar_of<T>::real limit, bool test) {
    if (b <= 2)
        task_rows<H, 2>(f, m, p, b, pivots, limit, test);
    else if (b <= 4)
        task_rows<H, 4>(f, m, p, b, pivots, limit, test);
    else if (b <= 8)
        task_rows<H, 8>(f, m, p, b, pivots, limit, test);
    else if (b <= 16)
        task_rows<H, 16>(f, m, p, b, pivots, limit, test);
    else
        task_rows<H, 32>(f, m, p, b, pivots, limit, test);
}

/** All threads: F(i, j) -= L X^H for i >= j >= first, the ne pivots at p. A warp takes 32 rows and 8
 *  columns at once. */
template <bool H, class T>
__device__ void task_update(const packed_front<T> &f, const task_room<T> &m, int p, int first,
                            int ne) {
    const int n = f.n, lane = (int)threadIdx.x & 31, warps = (int)blockDim.x / 32;
    const int left = n - first, columns = (left + 7) / 8;
    int piece = 0;
    for (int h = 0; h < columns; ++h)
        for (int g = h / 4; 32 * g < left; ++g, ++piece) {
            if (piece % warps != (int)threadIdx.x / 32) continue;
            const int i = first + 32 * g + lane, j0 = first + 8 * h;
            const int safe = i < n ? i : n - 1;
            T c[8];
#pragma unroll
            for (int y = 0; y < 8; ++y) c[y] = make<T>(0);
            const int width = n - j0 < 8 ? n - j0 : 8;
            for (int k = 0; k < ne; ++k) {
                const T l = f.at(safe, p + k);
                const T *x = m.X + j0 + k * n;
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

/** All threads: a tile of b columns at p. Returns how many of them passed; the others stand behind
 *  them. All entries after it are up to date then. */
template <bool H, class T>
__device__ int task_tile(const packed_front<T> &f, const task_room<T> &m, const panel<T> &out,
                         int p, int b, const pivot_rules<typename scalar_of<T>::real> &rules) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int n = f.n, warps = nt / 32;
    if (warp == 0) {
        for (int j = 0; j < b; ++j)
            if (lane < b)
                m.S[lane + j * LDS_] =
                    lane >= j ? f.at(p + lane, p + j) : cj<H>(f.at(p + j, p + lane));
        __syncwarp();
        const int np = tile_factor<H>(m.S, b, m.perm, m.d, m.dinv, rules.least(), m.work);
        if (lane == 0) m.word[0] = m.word[1] = np;
    }
    __syncthreads();
    const int np = m.word[1];
    task_rows_of<H>(f, m, p, b, np, 1 / rules.u, true);
    __syncthreads();
    const int ne = whole_pairs(m.d, m.word[0]);
    __syncthreads();
    if (ne < np) task_rows_of<H>(f, m, p, b, ne, 0, false);
    /* the block: L of what passed in its lower triangle; what is left goes through the upper one */
    for (int t = tid; t < b * b; t += nt) {
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
    for (int t = tid; t < b * b; t += nt) {
        const int i = t % b, j = t / b;
        if (i < j) continue;
        if (j >= ne)
            f.at(p + i, p + j) = m.S[j + i * LDS_];
        else if (i > j)
            f.at(p + i, p + j) = m.S[i + j * LDS_];
    }
    for (int k = tid; k < 2 * b; k += nt) {
        out.d[2 * p + k] = k < 2 * ne ? m.d[k] : make<T>(0);
        out.dinv[2 * p + k] = k < 2 * ne ? m.dinv[k] : make<T>(0);
    }
    for (int i = p + b + tid; i < n; i += nt) {
        T before = make<T>(0);
        for (int k = 0; k < b; ++k) {
            const T x = m.X[i + k * n];
            f.at(i, p + k) =
                k < ne ? times_inverse<H>(before, x, k + 1 < ne ? m.X[i + (k + 1) * n] : make<T>(0),
                                          m.dinv, k)
                       : x;
            before = x;
        }
    }
    __syncthreads();
    if (ne > 0) task_update<H>(f, m, p, p + b, ne);
    __syncthreads();
    return ne;
}

/** All threads: eliminate what can be. Returns nelim. */
template <bool H, class T>
__device__ int task_eliminate(const mpki_cuda_tree &t, const packed_front<T> &f,
                              const task_room<T> &m, const panel<T> &out, int w, bool root) {
    const pivot_rules<typename scalar_of<T>::real> rules(t);
    const int n = f.n;
    int p = 0, pass = 0;
    for (;;) {
        const int start = p;
        int end = w;
        while (p < end) {
            const int b = end - p < TILE ? end - p : TILE;
            const int ne = task_tile<H>(f, m, out, p, b, rules);
            const int left = b - ne, untried = end - (p + b);
            for (int k = 0; k < left && k < untried; ++k)
                front_exchange<H>(f, out.id, n, p + ne + k, end - 1 - k);
            if (left && pass == 0 && threadIdx.x == 0)
                atomicAdd(&t.flags->rejected, (unsigned long long)left);
            end -= left;
            p += ne;
        }
        const int left = w - p;
        if (left == 0) return p;
        if (pass > 0 && p - start < (left + p - start) / 8 + 1) break;
        if (left <= 4 || w == 1) break;
        ++pass;
    }
    bool over;
    int search = p;
    return threshold_columns<H, T>(f, out.d, out.dinv, out.id, n, w, n, p, w, root, rules, t.flags,
                                   &search, &over, m.space);
}

/** All threads: front s. False: it has no place; nothing was written. */
template <bool H, class T>
__device__ bool task_front(const mpki_cuda_tree &t, char *room, int64_t room_bytes, int s,
                           int level) {
    const mpki_cuda_node &node = t.node[s];
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int warps = nt / 32, own = node.own;
    int late = 0;
    for (int k = 0; k < node.children; ++k) {
        const mpki_cuda_now &c = t.now[t.child[node.child + k]];
        late += c.w - c.nelim;
    }
    const int w = own + late, n = w + node.rows, ld = leading(n);
    if (task_room<T>::bytes(n, w) > room_bytes) {
        if (tid == 0) {
            atomicMax(&t.flags->stuck, level + 1);
            atomicMax(&t.flags->reason, (int)MPKI_CUDA_TOO_LARGE);
        }
        return false;
    }
    const task_room<T> m(room, n, w);
    const packed_front<T> f = {m.F, n};
    char *place = t.arena + node.panel;
    if (late > 0) {
        __shared__ unsigned long long grown;
        __syncthreads();
        if (tid == 0) {
            const unsigned long long bytes = (unsigned long long)panel_bytes<T>(n, w);
            const unsigned long long at = atomicAdd(&t.flags->used, bytes);
            const bool fits = at + bytes <= t.flags->end;
            grown = fits ? at : 0;
            if (!fits) {
                atomicMax(&t.flags->stuck, level + 1);
                atomicMax(&t.flags->reason, (int)MPKI_CUDA_NO_ROOM);
            }
        }
        __syncthreads();
        place = (char *)grown;
        __syncthreads();
        if (!place) return false;
    }
    const panel<T> out(place, w, ld);
    for (int64_t k = tid; k < (int64_t)n * (n + 1) / 2; k += nt) m.F[k] = make<T>(0);
    for (int k = tid; k < 2 * w; k += nt) out.d[k] = out.dinv[k] = make<T>(0);
    for (int k = tid; k < own; k += nt) out.id[k] = node.first + k;
    __syncthreads();
    for (int64_t e = node.scatter + tid; e < node.scatter_end; e += nt) {
        const entry_of_a<T> a(t, node, e);
        f.at(a.row < own ? a.row : a.row + late, a.col) = a.value;
    }
    __syncthreads();
    int offset = 0;
    for (int k = 0; k < node.children; ++k) {
        const int c = t.child[node.child + k];
        add_child<H, T>(t, f, c, own, late, offset, out.id, m.row);
        offset += t.now[c].w - t.now[c].nelim;
    }
    const int nelim = own > 0 ? task_eliminate<H>(t, f, m, out, w, node.root != 0) : 0;
    for (int j = warp; j < w; j += warps)
        for (int i = j + lane; i < n; i += 32) out.a[i + (int64_t)j * ld] = f.at(i, j);
    T *C = (T *)t.contribution + node.contribution;
    for (int j = warp; j < node.rows; j += warps) {
        T *to = contribution_column(C, node.rows, j);
        for (int i = j + lane; i < node.rows; i += 32) to[i] = f.at(w + i, w + j);
    }
    if (tid == 0) {
        const mpki_cuda_now now = {place, w, nelim, ld, 1};
        t.now[s] = now;
    }
    __syncthreads();
    return true;
}

/** A block for each task. */
template <bool H, class T>
__global__ void __launch_bounds__(256)
    task_kernel(mpki_cuda_tree t, mpki_cuda_task *task, int level, int64_t room_bytes) {
    MPKI_ROOM;
    mpki_cuda_task &me = task[blockIdx.x];
    __shared__ int begin;
    if (threadIdx.x == 0) begin = t.flags->stuck > level + 1 ? me.last + 1 : me.next;
    __syncthreads();
    for (int s = begin; s <= me.last; ++s) {
        if (!task_front<H, T>(t, room, room_bytes, s, level)) break;
        if (threadIdx.x == 0) me.next = s + 1;
        __threadfence_block();
        __syncthreads();
    }
}

} // namespace mpki
#endif
