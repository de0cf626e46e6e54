/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_PANEL_CUH
#define MPKI_CUDA_BATCH_PANEL_CUH
/** LDLT of real matrices up to order 64, a warp for each: the decisions of symmetric.cuh, but only
 *  the columns that a step looks at are brought up to date (Bunch and Kaufman 1977 by panels, as
 *  LAPACK's xLASYF); the rest follows when a panel of eight columns is full, in double precision by
 *  the tensor cores. The lower triangle lies packed in shared memory. Rows never move: what row i
 *  and a row p, finished before it, have in common is L's entry, and the permutation is applied
 *  when L is written. The largest entry of a column is found by the upper half of doubles, to
 *  2^-20. */
#include "panel_parts.cuh"
#include "symmetric.cuh"

namespace mpki {

/** LDLT of a real matrix by W warps. ROWS: rows of a lane, lane and lane + 32. PIVOTING: as
 *  mpk_pivoting, but static. The warps share the columns that complete pivoting searches; all
 *  else each of them does, and the first one writes. */
template <class R, int ROWS, int PIVOTING, int W> struct panel {
    static const unsigned ALL = 0xffffffffu;
    static const bool COMPLETE = PIVOTING == 4;

    const part &job;
    const int lane, warp, n, rows, ld; /* ld: of the panel */
    R *w, *l, *m;        /* shared: the triangle, the panel's columns of L and of L D */
    unsigned char *perm; /* shared: old index at each place */
    unsigned *votes;     /* shared, W > 1: what each warp has found */
    int off[ROWS];       /* of this lane's columns in w */
    bool mine[ROWS];     /* this lane's rows are not finished */
    int width;           /* columns in the panel */
    bits left, pairs;
    R small, check; /* check: 0 as long as all is finite */
    bool broken;
    int zero, positive, negative;

    /** The parts of `memory`; nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ panel(const part &job_, char *memory)
        : job(job_), lane((int)(threadIdx.x % 32)), warp(W == 1 ? 0 : (int)(threadIdx.x / 32)),
          n(job_.n), rows(panel_rows(job_.n)), ld(panel_ld(job_.n)), w((R *)memory), width(0),
          left(all_below(job_.n)), pairs(0), small(0), check(0), broken(false), zero(0),
          positive(0), negative(0) {
        l = w + rows * (rows + 1) / 2;
        m = l + PANEL * ld;
        perm = (unsigned char *)(m + PANEL * ld);
        votes = (unsigned *)(perm + 64);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            off[r] = column(lane + 32 * r);
            mine[r] = lane + 32 * r < n;
        }
    }

    /** Where column j of the packed triangle begins, less j. By each thread for itself; no
     *  barrier. */
    __device__ int column(int j) const {
        return j * (2 * rows - j - 1) / 2;
    }
    /** The entry that row i of this lane (number r) has in common with row p. By each thread for
     *  itself; no barrier. */
    __device__ R &common(int r, int p, int of_p) const {
        const int i = lane + 32 * r;
        return w[i >= p ? i + of_p : p + off[r]];
    }

    /* ---- between the lanes, between the warps ---- */

    /** The matrix's barrier: __syncwarp(), or a block barrier where W > 1. */
    __device__ static void sync() {
        if (W == 1)
            __syncwarp();
        else
            __syncthreads();
    }
    /** Does this warp write? By each thread for itself; no barrier. */
    __device__ bool writes() const {
        return W == 1 || warp == 0;
    }

    /** Entry i of a column c that the lanes hold. By all lanes of a warp; a shuffle. */
    __device__ R of_row(const R *c, int i) const {
        const R x = ROWS == 1 || i < 32 ? c[0] : c[ROWS - 1];
        return __shfl_sync(ALL, x, i % 32);
    }
    /** The row that is left, except `but`, with the largest entry of c; -1: all are zero. By all
     *  lanes of a warp, in shuffles; no block barrier. */
    __device__ int largest(const R *c, int but, R *value) const {
        unsigned key[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            key[r] = mine[r] && lane + 32 * r != but ? size_key(c[r]) : 0;
        const int i = row_of_largest<ROWS>(key);
        *value = i < 0 ? (R)0 : abs1(of_row(c, i));
        return i;
    }

    /** Complete pivoting: the row *d of the largest diagonal entry, the largest key off the
     *  diagonal and its place, over all lanes and warps. By all threads of the matrix; contains
     *  their barrier. */
    __device__ void elect(const unsigned *diagonal, unsigned off_key, int off_place, int *d,
                          unsigned *most, int *place) const {
        *d = row_of_largest<ROWS>(diagonal);
        *most = __reduce_max_sync(ALL, off_key);
        const unsigned owners = __ballot_sync(ALL, off_key == *most);
        *place = __shfl_sync(ALL, off_place, __ffs((int)owners) - 1);
        if (W == 1) return;
        unsigned key = diagonal[0];
        if (ROWS > 1 && diagonal[ROWS - 1] > key) key = diagonal[ROWS - 1];
        key = __reduce_max_sync(ALL, key);
        if (lane == 0) {
            unsigned *const mine_ = votes + 4 * warp;
            mine_[0] = key, mine_[1] = (unsigned)*d, mine_[2] = *most, mine_[3] = (unsigned)*place;
        }
        sync();
        key = 0, *d = -1, *most = 0, *place = 0;
#pragma unroll
        for (int v = 0; v < W; ++v) {
            const unsigned *const x = votes + 4 * v;
            if (x[0] > key || (x[0] == key && key > 0 && (int)x[1] < *d))
                key = x[0], *d = (int)x[1];
            if (x[2] > *most) *most = x[2], *place = (int)x[3];
        }
    }

    /* ---- the matrix comes and goes ---- */

    /** Reads the lower triangle and sets the zero tolerance. By all threads of the matrix;
     *  contains their barrier. */
    __device__ void load(const view<R> &a) {
        for (int j = warp; j < n; j += W)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = lane + 32 * r;
                if (i >= j && i < n) fetch_entry(&w[i + column(j)], &a(i, j));
            }
        arrived();
        if (W > 1) sync();
        R most = 0;
        for (int j = 0; j < n; ++j)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = lane + 32 * r;
                if (i < j || i >= n) continue;
                const R x = w[i + column(j)];
                check += x * 0;
                if ((i == j || PIVOTING >= 2) && abs1(x) > most) most = abs1(x);
            }
#pragma unroll
        for (int h = 16; h > 0; h /= 2) {
            const R other = __shfl_xor_sync(ALL, most, h);
            if (other > most) most = other;
        }
        small = (R)(job.tolerance < 0 ? 4 * n * (double)epsilon<R>() : job.tolerance) * most;
        sync();
    }

    /** Writes L and D in pivots' order. By all threads of the matrix; no barrier. */
    __device__ void store(const view<R> &a) const {
        int row[ROWS], of_row[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int k = lane + 32 * r;
            row[r] = k < n ? perm[k] : 0;
            of_row[r] = column(row[r]);
        }
        for (int s = warp; s < n; s += W) {
            const int p = perm[s], of_p = column(p);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int k = lane + 32 * r;
                if (k >= s && k < n) a(k, s) = w[row[r] >= p ? row[r] + of_p : p + of_row[r]];
            }
        }
    }

    /** Did anything become infinite or no number? By all lanes of a warp; a vote. */
    __device__ bool bad() const {
        return __any_sync(ALL, !(check == 0));
    }

    /* ---- columns and updates ---- */

    /** c := column p of what is left, brought up to date; 0 in finished rows. By all lanes of a
     *  warp, in shuffles; no block barrier. */
    __device__ void fetch(int p, R *c) const {
        const int of_p = column(p);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) c[r] = mine[r] ? common(r, p, of_p) : (R)0;
#pragma unroll
        for (int h = 0; h < PANEL; h += 4) {
            if (h >= width) break;
            R x[4][ROWS], y[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const bool in = h + k < width;
                y[k] = in ? m[(h + k) * ld + p] : (R)0;
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    x[k][r] = in && mine[r] ? l[(h + k) * ld + lane + 32 * r] : (R)0;
            }
#pragma unroll
            for (int k = 0; k < 4; ++k)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) c[r] -= x[k][r] * y[k];
        }
    }

    /** The rest -= L D L^T of the panel, eight rows and columns at once, on tensor cores. By all
     *  lanes of a warp; no barrier. */
    __device__ void update(double *) {
        const int row = lane / 4, quad = lane % 4, tiles = rows / 8;
        for (int jt = 0; jt < tiles; ++jt) {
            if ((left >> 8 * jt & 255) == 0) continue;
            const int j = 8 * jt + 2 * quad, of_j = column(j), of_next = column(j + 1);
            const bool in = left >> (8 * jt + row) & 1;
            const double b0 = in && quad < width ? m[quad * ld + 8 * jt + row] : 0;
            const double b1 = in && quad + 4 < width ? m[(quad + 4) * ld + 8 * jt + row] : 0;
#pragma unroll 2
            for (int it = jt; it < tiles; ++it) {
                if ((left >> 8 * it & 255) == 0) continue;
                const int i = 8 * it + row;
                const bool on = left >> i & 1;
                const double a0 = on && quad < width ? -l[quad * ld + i] : 0;
                const double a1 = on && quad + 4 < width ? -l[(quad + 4) * ld + i] : 0;
                double x = i >= j ? w[i + of_j] : 0, y = i > j ? w[i + of_next] : 0;
                add_tiles(x, y, a0, b0);
                if (width > 4) add_tiles(x, y, a1, b1);
                if (i >= j) w[i + of_j] = x;
                if (i > j) w[i + of_next] = y;
            }
        }
    }

    /** The same, four columns at once, a lane its rows, without branches, so that loads go
     *  together. By all lanes of a warp; no barrier. */
    __device__ void update(float *) {
        R x[PANEL][ROWS];
#pragma unroll
        for (int k = 0; k < PANEL; ++k)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                x[k][r] = k < width && mine[r] ? l[k * ld + lane + 32 * r] : (R)0;
        for (int j0 = 0; j0 < n; j0 += 4) {
            if ((left >> j0 & 15) == 0) continue;
            R y[4][PANEL], z[4][ROWS];
            bool on[4][ROWS];
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int j = j0 + e, of_j = column(j);
#pragma unroll
                for (int k = 0; k < PANEL; ++k) y[e][k] = k < width ? m[k * ld + j] : (R)0;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    on[e][r] = (left >> j & 1) && mine[r] && lane + 32 * r >= j;
                    z[e][r] = on[e][r] ? w[lane + 32 * r + of_j] : (R)0;
                }
            }
#pragma unroll
            for (int e = 0; e < 4; ++e)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
#pragma unroll
                    for (int k = 0; k < PANEL; ++k) z[e][r] -= x[k][r] * y[e][k];
                    if (on[e][r]) w[lane + 32 * r + column(j0 + e)] = z[e][r];
                }
        }
    }

    /** Complete pivoting: brings all that is left up to date, by at most two columns, and finds
     *  the largest entries on the diagonal and off it. The last six bits of a size off it name
     *  its column, so that one maximum keeps both; sizes are told apart to 2^-14, those in
     *  single precision to 2^-17. Branches are faster here, where many rows are finished. By all
     *  threads of the matrix; no barrier. */
    __device__ void search(unsigned *diagonal, unsigned *off_key, int *off_place) {
        R x[2][ROWS];
        unsigned best[ROWS];
        int until[ROWS]; /* columns before this row's own; none where it is finished */
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = lane + 32 * r;
            best[r] = 0, until[r] = mine[r] ? i : 0;
#pragma unroll
            for (int k = 0; k < 2; ++k) x[k][r] = k < width && mine[r] ? l[k * ld + i] : (R)0;
            if (!mine[r] || (W > 1 && i / 4 % W != warp)) continue;
            R z = w[i + off[r]];
            if (width > 0) z -= x[0][r] * m[i];
            if (width > 1) z -= x[1][r] * m[ld + i];
            w[i + off[r]] = z;
            diagonal[r] = size_key(z);
        }
        for (int j0 = 4 * warp; j0 < n; j0 += 4 * W) {
            if ((left >> j0 & 15) == 0) continue;
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int j = j0 + e, of_j = column(j);
                if (!(left >> j & 1)) continue;
                const R y0 = width > 0 ? m[j] : (R)0, y1 = width > 1 ? m[ld + j] : (R)0;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    if (until[r] <= j) continue;
                    R *const at = w + lane + 32 * r + of_j;
                    const R z = *at - x[0][r] * y0 - x[1][r] * y1;
                    *at = z;
                    const unsigned key = (size_key(z) & ~63u) | (unsigned)j;
                    best[r] = key > best[r] ? key : best[r];
                }
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (best[r] > *off_key)
                *off_key = best[r], *off_place = (lane + 32 * r) << 8 | (int)(best[r] & 63);
    }

    /** Brings all that is left up to date when two more columns would not fit into the panel. By
     *  all lanes of a warp; contains __syncwarp(). */
    __device__ void flush() {
        if (COMPLETE || width + (PIVOTING >= 2 ? 2 : 1) <= PANEL) return;
        __syncwarp();
        update((R *)NULL);
        width = 0;
        __syncwarp();
    }

    /* ---- which pivot: its width, 0 where only zeros are left. c1, c2: columns *p, *q ---- */

    /** Column p is the pivot. Returns its order, 0: zero. c1: its column. By all lanes of a
     *  warp, in shuffles; no block barrier. */
    __device__ int choose_none(int p, R *c1) {
        R most;
        fetch(p, c1);
        if (abs1(of_row(c1, p)) > small) return 1;
        largest(c1, -1, &most);
        broken = most > small;
        return 0;
    }

    /** The next pivot by Bunch and Kaufman's choice; returns its order, 0: zero. c1, c2: its
     *  columns. By all lanes of a warp, in shuffles; no block barrier. */
    __device__ int choose_partial(int *p, int *q, R *c1, R *c2) {
        R lambda, sigma;
        const int first = *p;
        fetch(first, c1);
        const int s = largest(c1, first, &lambda);
        const R diag = abs1(of_row(c1, first));
        if (!(diag > small) && !(lambda > small)) return 0;
        if (s < 0 || diag >= alpha() * lambda) return 1;
        fetch(s, c2);
        largest(c2, s, &sigma);
        if (diag >= alpha() * lambda * (lambda / sigma)) return 1; /* squares could vanish */
        *q = s;
        if (!(abs1(of_row(c2, s)) >= alpha() * sigma)) return 2;
        *p = s;
        take<ROWS>(c1, c2);
        return 1;
    }

    /** The same by rook pivoting. By all lanes of a warp, in shuffles; no block barrier. */
    __device__ int choose_rook(int *p, int *q, R *c1, R *c2) {
        R lambda, sigma;
        fetch(*p, c1);
        int s = largest(c1, *p, &lambda);
        const R diag = abs1(of_row(c1, *p));
        if (!(diag > small) && !(lambda > small)) return 0;
        if (s < 0 || diag >= alpha() * lambda) return 1;
        for (int step = 0;; ++step) {
            fetch(s, c2);
            const int next = largest(c2, s, &sigma);
            if (abs1(of_row(c2, s)) >= alpha() * sigma) {
                *p = s;
                take<ROWS>(c1, c2);
                return 1;
            }
            if (next == *p || !(sigma > lambda) || step >= n) break;
            *p = s, s = next, lambda = sigma;
            take<ROWS>(c1, c2);
        }
        *q = s;
        return 2;
    }

    /** The same by complete pivoting. By all threads of the matrix; contains their barrier. */
    __device__ int choose_complete(int *p, int *q, R *c1, R *c2) {
        unsigned diagonal[ROWS], off_key = 0;
        int off_place = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) diagonal[r] = 0;
        int d, place;
        unsigned most;
        sync();
        search(diagonal, &off_key, &off_place);
        width = 0;
        if (W == 1) sync();
        elect(diagonal, off_key, off_place, &d, &most, &place);
        const int i = place >> 8, j = place & 255;
        if (d >= 0) *p = d;
        fetch(*p, c1);
        const R diag = abs1(of_row(c1, *p));
        if (most == 0) return diag > small ? 1 : 0;
        fetch(j, c2);
        const R off = abs1(of_row(c2, i));
        if (!(diag > small) && !(off > small)) return 0;
        if (diag >= alpha() * off) return 1;
        *p = j, *q = i;
        take<ROWS>(c1, c2);
        fetch(i, c2);
        return 2;
    }

    /** (1 + sqrt(17)) / 8. By each thread for itself; no barrier. */
    static __device__ R alpha() {
        return (R)MPKI_ALPHA;
    }

    /* ---- a pivot is finished ---- */

    /** Row p is the pivot of step s. By each thread for itself; no barrier. */
    __device__ void finish(int s, int p) {
        left &= ~bit(p);
        if (lane == 0 && writes()) perm[s] = (unsigned char)p;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) mine[r] = mine[r] && lane + 32 * r != p;
    }

    /** Column k of the panel := x (of L) and c (of L D); what the lane's rows have in common
     *  with p is L's, too. By all lanes of a warp; the caller needs the matrix's barrier. */
    __device__ void put(int k, int p, const R *x, const R *c) {
        const int of_p = column(p);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = lane + 32 * r;
            if (!mine[r]) continue;
            check += x[r] * 0;
            if (!writes()) continue;
            l[k * ld + i] = x[r], m[k * ld + i] = c[r];
            common(r, p, of_p) = x[r];
        }
    }

    /** Row p is a zero pivot; c: its column. By all threads of the matrix; ends with their
     *  barrier. */
    __device__ void zero_pivot(int s, int p, const R *c) {
        finish(s, p);
        const int of_p = column(p);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            check += c[r] * 0; /* NaN must not pass for a zero */
            if (writes() && (mine[r] || lane + 32 * r == p)) common(r, p, of_p) = 0;
        }
        sync();
        ++zero;
    }

    /** Row p is a pivot of order 1 with column c. By all threads of the matrix; ends with their
     *  barrier. */
    __device__ void eliminate_one(int s, int p, const R *c) {
        const R d = of_row(c, p), r1 = 1 / d;
        R x[ROWS];
        finish(s, p);
        check += d * 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) x[r] = c[r] * r1;
        put(width++, p, x, c);
        if (lane == 0 && writes()) w[p + column(p)] = d;
        sync();
        if (d > 0)
            ++positive;
        else
            ++negative;
    }

    /** Rows p and q are a pivot of order 2; false: it is singular. By all threads of the matrix;
     *  ends with their barrier. */
    __device__ bool eliminate_two(int s, int p, int q, const R *c1, const R *c2) {
        const R d11 = of_row(c1, p), d21 = of_row(c1, q), d22 = of_row(c2, q);
        const two<R> z(d11, d21, d22, 0);
        if (!z.regular) return false;
        R x[ROWS], y[ROWS];
        finish(s, p);
        finish(s + 1, q);
        check += (d11 + d21 + d22) * 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            x[r] = c1[r] * z.i11 + c2[r] * z.i21;
            y[r] = c1[r] * z.i12 + c2[r] * z.i22;
        }
        put(width, p, x, c1);
        put(width + 1, q, y, c2);
        width += 2;
        if (lane == 0 && writes()) {
            const int low = p < q ? p : q, high = p < q ? q : p;
            w[p + column(p)] = d11, w[q + column(q)] = d22, w[high + column(low)] = d21;
        }
        pairs |= bit(s) | bit(s + 1);
        sync();
        if (z.det < 0)
            ++positive, ++negative;
        else if (d11 + d22 > 0)
            positive += 2;
        else
            negative += 2;
        return true;
    }

    /** Eliminates all columns. By all threads of the matrix; contains their barrier. */
    __device__ void ldlt() {
        for (int s = 0; s < n && !broken;) {
            int p = lowest(left), q = -1, columns;
            R c1[ROWS], c2[ROWS];
            flush();
            if (PIVOTING == 2)
                columns = choose_partial(&p, &q, c1, c2);
            else if (PIVOTING == 3)
                columns = choose_rook(&p, &q, c1, c2);
            else if (PIVOTING == 4)
                columns = choose_complete(&p, &q, c1, c2);
            else
                columns = choose_none(p, c1);
            sync();
            if (columns == 0) {
                zero_pivot(s++, p, c1);
            } else if (columns == 1) {
                eliminate_one(s++, p, c1);
            } else if (eliminate_two(s, p, q, c1, c2)) {
                s += 2;
            } else {
                broken = true;
            }
        }
    }
};

} // namespace mpki
#endif
