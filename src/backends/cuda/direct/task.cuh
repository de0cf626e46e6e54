/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_TASK_CUH
#define MPKI_CUDA_DIRECT_TASK_CUH
/** Small fronts: a thread block takes those of a task one after the other, each as a whole in shared
 *  memory: what A and the children give, the elimination, then panel and contribution go out. */
#include "product.cuh"
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
    int32_t *perm, *row; /* row: where rows of two children go; each as many as the front has */
    int *word;
    search_space<typename scalar_of<T>::real> *space;
    int ldx; /* of X; 4 or 12 beyond a multiple of 16: a warp's 4 x 8 entries lie in all banks */
    static __host__ __device__ int leading_of(int n) { return (n + 3) / 8 * 8 + 4; }
    static __host__ __device__ int64_t bytes(int n, int w) {
        const int64_t b = w < TILE ? w : TILE;
        return ((int64_t)LDS_ * TILE + 6 * TILE + b * leading_of(n) + (int64_t)n * (n + 1) / 2) *
                   (int64_t)sizeof(T) +
               (TILE + 16 + 2 * (int64_t)n) * 4 + (int64_t)sizeof *((task_room *)0)->space + 64;
    }
    __device__ task_room(char *room, int n, int w) : ldx(leading_of(n)) {
        const int b = w < TILE ? w : TILE;
        S = (T *)room;
        work = S + LDS_ * TILE;
        d = work + 2 * TILE;
        dinv = d + 2 * TILE;
        X = dinv + 2 * TILE;
        F = X + b * ldx;
        space = (search_space<typename scalar_of<T>::real> *)(F + (int64_t)n * (n + 1) / 2);
        perm = (int32_t *)(space + 1);
        word = perm + TILE;
        row = word + 16;
    }
};

/* ---- what the children give ---- */

static const int CHILDREN = 32; /* described together */

/** What is known of some children, in shared memory. */
struct children_of_task {
    int64_t rel[CHILDREN], contribution[CHILDREN];
    int32_t rows[CHILDREN], gone[CHILDREN];
};

/** The word of another block. */
__device__ inline int seen(const int32_t *flag) {
#ifdef __CUDA_ARCH__
    int x;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    return x;
#else
    return *(const volatile int32_t *)flag;
#endif
}

/** All threads: wait until the children of a front are done. Those from `first` on are this block's.
 *  late [out] the columns that they leave. False: one of them could not be done. */
__device__ inline bool wait_for_fronts(const mpki_cuda_tree &t, const mpki_cuda_node &node,
                                       int first, int *late) {
    __shared__ int left, bad;
    if (threadIdx.x == 0) left = bad = 0;
    __syncthreads();
    for (int k = (int)threadIdx.x; k < node.children; k += (int)blockDim.x) {
        const int c = t.child[node.child + k];
        const mpki_cuda_now *now = t.now + c;
        int done = 1;
        if (c < first)
            while ((done = seen(&now->done)) == 0) __nanosleep(20);
        if (done < 0)
            atomicMax(&bad, 1);
        else if (now->w != now->nelim)
            atomicAdd(&left, now->w - now->nelim);
    }
    __syncthreads();
    *late = left;
    const bool good = bad == 0;
    __syncthreads();
    return good;
}

/** All threads: columns that a child left, as own + offset and on. row: where its other rows go. */
template <bool H, class T, class F>
__device__ void add_delayed(const mpki_cuda_tree &t, const F &f, int child, int own, int offset,
                            int32_t *id, const int32_t *row) {
    const mpki_cuda_now now = t.now[child];
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32, m = t.node[child].rows, gone = now.w - now.nelim;
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

/** All threads: a contribution of m rows; AHEAD columns are read before the first is added. */
template <class T, class F>
__device__ void add_contribution(const F &f, const T *C, int m, const int32_t *row) {
    const int AHEAD = 4;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    for (int j0 = warp; j0 < m; j0 += AHEAD * warps)
        for (int i0 = j0 & ~31; i0 < m; i0 += 32) {
            const int i = i0 + lane;
            T v[AHEAD];
#pragma unroll
            for (int q = 0; q < AHEAD; ++q) {
                const int j = j0 + q * warps;
                v[q] = j <= i && i < m ? contribution_column(C, m, j)[i] : make<T>(0);
            }
#pragma unroll
            for (int q = 0; q < AHEAD; ++q) {
                const int j = j0 + q * warps;
                if (j <= i && i < m) {
                    T &x = f.at(row[i], row[j]);
                    x = x + v[q];
                }
            }
        }
}

/** All threads: all that the children give, in their order. row: room for two of them. */
template <bool H, class T, class F>
__device__ void add_children(const mpki_cuda_tree &t, const F &f, const mpki_cuda_node &node,
                             int late, int32_t *id, int32_t *row) {
    __shared__ children_of_task some;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, own = node.own;
    int offset = 0, turn = 0;
    for (int base = 0; base < node.children; base += CHILDREN) {
        const int count = node.children - base < CHILDREN ? node.children - base : CHILDREN;
        for (int k = tid; k < count; k += nt) {
            const int c = t.child[node.child + base + k];
            some.rel[k] = t.node[c].rel, some.contribution[k] = t.node[c].contribution;
            some.rows[k] = t.node[c].rows, some.gone[k] = t.now[c].w - t.now[c].nelim;
        }
        __syncthreads();
        /* a child's rows are read while the one before it is added */
        for (int k = -1; k < count; ++k) {
            int32_t *const mine = row + (turn & 1) * f.n, *const other = row + (~turn & 1) * f.n;
            if (k + 1 < count)
                for (int i = tid; i < some.rows[k + 1]; i += nt) {
                    const int r = t.rel[some.rel[k + 1] + i];
                    other[i] = r < own ? r : r + late;
                }
            if (k >= 0) {
                add_contribution(f, (const T *)t.contribution + some.contribution[k], some.rows[k],
                                 mine);
                if (some.gone[k] > 0) {
                    __syncthreads();
                    add_delayed<H, T>(t, f, t.child[node.child + base + k], own, offset, id, mine);
                    offset += some.gone[k];
                }
            }
            ++turn;
            __syncthreads();
        }
    }
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
            if (k < b) m.X[i + k * m.ldx] = x[k];
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

/** The same of real doubles by tensor cores: a warp takes 32 rows and 16 columns at once. */
template <bool H>
__device__ void task_update(const packed_front<double> &f, const task_room<double> &m, int p,
                            int first, int ne) {
    const int n = f.n, lane = (int)threadIdx.x & 31, warps = (int)blockDim.x / 32;
    const int g = lane / 4, t = lane % 4, left = n - first, columns = (left + 15) / 16;
    int piece = 0;
    for (int h = 0; h < columns; ++h)
        for (int r = h / 2; 32 * r < left; ++r, ++piece) {
            if (piece % warps != (int)threadIdx.x / 32) continue;
            const int i0 = first + 32 * r + g, j0 = first + 16 * h;
            const int col = j0 + g < n ? j0 + g : n - 1, next = j0 + 8 + g < n ? 8 : 0;
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
                for (int y = 0; y < 2; ++y)
                    product16(c[0][y], a[0], b[y]), product16(c[1][y], a[1], b[y]);
            }
#pragma unroll
            for (int x = 0; x < 2; ++x)
#pragma unroll
                for (int y = 0; y < 2; ++y)
#pragma unroll
                    for (int z = 0; z < 4; ++z) {
                        const int i = i0 + 16 * x + z / 2 * 8, j = j0 + 8 * y + 2 * t + z % 2;
                        if (i < n && i >= j) f.at(i, j) -= c[x][y][z];
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
            const T x = m.X[i + k * m.ldx];
            f.at(i, p + k) =
                k < ne ? times_inverse<H>(before, x,
                                          k + 1 < ne ? m.X[i + (k + 1) * m.ldx] : make<T>(0),
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

/** All threads: entries of A, in an empty front. */
template <class T>
__device__ void add_entries(const mpki_cuda_tree &t, const packed_front<T> &f,
                            const mpki_cuda_node &node, int late) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x;
    for (int k = tid; k < f.n * (f.n + 1) / 2; k += nt) f.f[k] = make<T>(0);
    __syncthreads();
    for (int64_t e = node.scatter + tid; e < node.scatter_end; e += nt) {
        const entry_of_a<T> a(t, node, e);
        f.at(a.row < node.own ? a.row : a.row + late, a.col) = a.value;
    }
}

/** All threads: a place for a panel of so many bytes; NULL: there is none. */
__device__ inline char *place_in_arena(const mpki_cuda_tree &t, int64_t panel, int level) {
    __shared__ unsigned long long grown;
    if (threadIdx.x == 0) {
        const unsigned long long bytes = (unsigned long long)panel;
        const unsigned long long at = atomicAdd(&t.flags->used, bytes);
        const bool fits = at + bytes <= t.flags->end;
        grown = fits ? at : 0;
        if (!fits) {
            atomicMax(&t.flags->stuck, level + 1);
            atomicMax(&t.flags->reason, (int)MPKI_CUDA_NO_ROOM);
        }
    }
    __syncthreads();
    char *const place = (char *)grown;
    __syncthreads();
    return place;
}

/** All threads: front s of a task that begins at front `first`. False: a front below it could not be
 *  done, or it has no place; then nothing was written. */
template <bool H, class T>
__device__ bool task_front(const mpki_cuda_tree &t, char *room, int64_t room_bytes, int s,
                           int first, int level) {
    const mpki_cuda_node node = t.node[s];
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int warps = nt / 32, own = node.own;
    int late = 0, w = own, n = own + node.rows;
    task_room<T> m(room, n, w);
    packed_front<T> f = {m.F, n};
    add_entries(t, f, node, 0); /* before the children are there; mostly they leave nothing */
    if (!wait_for_fronts(t, node, first, &late)) return false;
    char *place = t.arena + node.panel;
    if (late > 0) {
        w = own + late, n = w + node.rows;
        if (task_room<T>::bytes(n, w) > room_bytes) {
            if (tid == 0) {
                atomicMax(&t.flags->stuck, level + 1);
                atomicMax(&t.flags->reason, (int)MPKI_CUDA_TOO_LARGE);
            }
            return false;
        }
        place = place_in_arena(t, panel_bytes<T>(n, w), level);
        if (!place) return false;
        m = task_room<T>(room, n, w);
        f.f = m.F, f.n = n;
        add_entries(t, f, node, late);
    }
    const int ld = leading(n);
    const panel<T> out(place, w, ld);
    for (int k = tid; k < 2 * w; k += nt) out.d[k] = out.dinv[k] = make<T>(0);
    for (int k = tid; k < own; k += nt) out.id[k] = node.first + k;
    __syncthreads();
    add_children<H, T>(t, f, node, late, out.id, m.row);
    const int nelim = own > 0 ? task_eliminate<H>(t, f, m, out, w, node.root != 0) : 0;
    T *C = (T *)t.contribution + node.contribution;
    for (int j = warp; j < node.rows; j += warps) {
        T *to = contribution_column(C, node.rows, j);
        for (int i = j + lane; i < node.rows; i += 32) to[i] = f.at(w + i, w + j);
    }
    for (int j = warp; j < w; j += warps)
        for (int i = j + lane; i < n; i += 32) out.a[i + (int64_t)j * ld] = f.at(i, j);
    __syncthreads();
    if (tid == 0) {
        mpki_cuda_now *now = t.now + s;
        now->a = place, now->w = w, now->nelim = nelim, now->ld = ld;
        if (nelim < w) t.flags->late = 1;
        __threadfence();
        *(volatile int32_t *)&now->done = 1;
    }
    __syncthreads();
    return true;
}

/** Tasks in this order, each by one of the blocks. */
template <bool H, int THREADS, class T>
__global__ void __launch_bounds__(THREADS)
    task_kernel(mpki_cuda_tree t, const mpki_cuda_task *task, int count, int level,
                int64_t room_bytes, int32_t *ticket) {
    MPKI_ROOM;
    __shared__ int number;
    for (;;) {
        if (threadIdx.x == 0) number = t.flags->stuck > level + 1 ? count : atomicAdd(ticket, 1);
        __syncthreads();
        const int mine = number;
        if (mine >= count) return;
        const mpki_cuda_task me = task[mine];
        bool goes = true;
        for (int s = me.first; s <= me.last; ++s) {
            if (t.now[s].done == 1) continue; /* it goes on after a stop */
            goes = goes && task_front<H, T>(t, room, room_bytes, s, me.first, level);
            if (!goes && threadIdx.x == 0) *(volatile int32_t *)&t.now[s].done = -1;
        }
        __syncthreads();
    }
}

} // namespace mpki
#endif
