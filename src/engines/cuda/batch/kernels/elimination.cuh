/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_ELIMINATION_CUH
#define MPKI_CUDA_BATCH_ELIMINATION_CUH
/** What eliminations in shared memory have in common, symmetric or not: the matrix, its outcome,
 *  and the frame of a kernel: load, eliminate, store. */
#include "tile.cuh"

namespace mpki {

/** A small matrix in shared memory while it is eliminated, and its outcome so far. */
template <class T, class TILE> struct elimination {
    typedef typename scalar_of<T>::real R;
    static const int ROWS = TILE::ROWS, L = TILE::L, W = TILE::W;

    const TILE &t;
    const part &job;
    const int n, ld;
    T *w;             /* shared: n columns */
    const int *given; /* pivots of static pivoting */
    R small;
    bool singular, broken, bad;
    int zero;

    /** The matrix of the tile's threads; w_: its memory. By each thread for itself; no barrier. */
    __device__ elimination(const TILE &tile_, const part &job_, T *w_)
        : t(tile_), job(job_), n(job_.n), ld(shared_ld(job_.n)), w(w_), given(NULL), small(0),
          singular(false), broken(false), bad(false), zero(0) {}

    /** Entry (i, j) of the matrix. By each thread for itself; no barrier. */
    __device__ T &at(int i, int j) { return w[i + j * ld]; }

    /** The zero tolerance relative to `most`, the largest entry that counts for it. By each
     *  thread for itself; no barrier. */
    __device__ void set_small(R most) {
        small = (R)(job.tolerance < 0 ? 4 * n * (double)epsilon<R>() : job.tolerance) * most;
    }

    /** The `row` of the lane whose `column` is `where`. By all lanes of the matrix in a warp;
     *  shuffles. */
    __device__ int row_of_winner(int column, int where, int row) const {
        int mine = column == where ? row : -1;
#pragma unroll
        for (int h = L / 2; h > 0; h /= 2) {
            const int other = __shfl_xor_sync(t.mask, mine, h);
            if (other > mine) mine = other;
        }
        return mine;
    }

    /** The matrix's mpk_batch_outcome, from what all of its threads know. By each thread for
     *  itself; no barrier. */
    __device__ int outcome() const {
        return bad ? 3 : broken ? 2 : singular ? 1 : 0;
    }
    /** Are there no factors? By each thread for itself; no barrier. */
    __device__ bool none() const {
        return bad || broken;
    }
};

/** The thread's matrix in `memory`, of which each matrix takes `each` bytes. By each thread for
 *  itself; no barrier. */
template <class TILE> __device__ inline char *memory_of_matrix(char *memory, size_t each) {
    return memory + (TILE::W == 1 ? threadIdx.x / TILE::L : 0) * each;
}

/** Loads, eliminates and, if there are factors, stores. broken: the given pivots were not valid.
 *  By all threads of the matrix; contains their barrier. */
template <class E, class V, class F>
__device__ inline void run_elimination(E &e, const V &a, F eliminate) {
    e.load(a);
    const bool bad = e.bad;
    if (!bad && !e.broken) eliminate();
    e.bad = e.broken ? bad : e.t.any_of_all(e.bad);
    if (!e.none()) e.store(a);
}

} // namespace mpki
#endif
