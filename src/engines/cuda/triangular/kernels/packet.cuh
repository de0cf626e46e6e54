/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_PACKET_CUH
#define MPKI_CUDA_TRIANGULAR_PACKET_CUH
/** A segment of a unit as it lies in memory, a multiple of 16 bytes:
 *
 *      packet                      32 bytes
 *      uint32_t fold[32]           where flags has FOLDED, a lane: 0-7 the step with which its own
 *                                  entries begin, 8-15 and 16-23 first and last + 1 of the sums
 *                                  that belong to its row, 24-31 the number of its sum of others'
 *                                  entries
 *      steps / 4 times
 *          uint8_t column[32][4]   of four entries of each lane
 *          T value[32][4]          in units of 16 bytes: the lanes' first one, their second one, ..
 *      and, where two steps are left, the same with 2 in place of 4
 *      uint32_t slot[columns]      as they fall due
 *
 *  M of a unit, where entries are real and M, its rows and columns put in a certain order, is lower
 *  triangular (as it is without butterflies), has a packet of its own kind, the task's first:
 *
 *      packet                      32 bytes
 *      uint8_t in[32], out[32]     where column k stands in that order; the row that stands at k
 *      T value[tiles][32]          in units of 16 bytes as above: M in tiles of 8 rows and 4
 *                                  columns, those of the first 8 rows first, a lane for each entry
 *                                  as tensor cores take them; as many of them as the unit's rows
 *                                  need
 *
 *  Lanes hold it in registers from the beginning, so that between a row's last column and its
 *  result there are 20 products of tiles and no packet.
 *
 *  In level sets of few units a real block of the set before, which falls due last and has entries
 *  enough, is a packet in full:
 *
 *      packet                      32 bytes; steps: its columns, in fours
 *      uint32_t slot[32]           of its columns; where there are fewer, the first one again
 *      T value[columns / 4][32][4] in units of 16 bytes as above, a lane for each row, 0 where
 *      there is no entry
 *
 *  and the last packet of a unit whose M is in tiles is M times that block, likewise but in double
 *  precision, so that both directions stay transposes of each other; lane l has row 8 (l % 4) + l /
 *  4 of M's order. Then all but one product is done before the last results come (joined.cuh).
 *
 *  Lane k has the entries of row k of the unit, those that fall due last at its end. Rows longer
 *  than all lanes' share give their first entries to lanes with room before their own. Column
 *  NOTHING is that of padding.
 *
 *  T is what the factor is stored in. Vectors by slot, and all sums, are in double precision
 *  whatever T is: then a factor in single precision is one linear operator, symmetric to 1e-16,
 *  which takes SQMR fewer iterations than one whose results are rounded anew in each
 *  application. */
#include "engines/cuda/module/scalar.cuh"
#include "triangular.h"

namespace mpki {

struct alignas(16) packet { /* two reads of 16 bytes */
    uint32_t next;          /* as mpki_sweeps_place */
    uint16_t columns;
    uint8_t steps, flags;
    int32_t slot, part, first_part, parts;
    uint16_t rows, size;
    uint32_t unused;
};

enum { FOLDED = 1, BACKWARD = 2, OF_M = 4, IN_TILES = 8, DENSE = 16, JOINED = 32 };
static const int NOTHING = MPKI_SWEEPS_COLUMNS;

template <class S> struct packing {
    static const int QUAD = 128 + 128 * (int)sizeof(S); /* bytes */
    static const int SPARSE =
        32 + 128 + MPKI_SWEEPS_STEPS / 4 * QUAD + 4 * (MPKI_SWEEPS_COLUMNS + 1);
    static const bool IN_TILES_TOO = !scalar_of<S>::complex;
    static const int DENSE_AT = 32 + 128, FULL = DENSE_AT + 32 * 32 * 8;
    static const int MOST = SPARSE > FULL || !IN_TILES_TOO ? SPARSE : FULL;
    static const int BY_16 = sizeof(S) > 16 ? 1 : 16 / (int)sizeof(S);

    /** Bytes from a packet's beginning to its entries. By each thread for itself; no barrier. */
    __host__ __device__ static int entries_at(int flags) { return 32 + (flags & FOLDED ? 128 : 0); }
    /** Bytes from a packet's beginning to its list of columns, after `steps` steps of entries.
     *  By each thread for itself; no barrier. */
    __host__ __device__ static int list_at(int flags, int steps) {
        return entries_at(flags) + steps / 2 * (QUAD / 2);
    }
    /** The size of a packet of entries, a multiple of 16 bytes. By each thread for itself; no
     *  barrier. */
    __host__ __device__ static int bytes(int flags, int steps, int columns) {
        return (list_at(flags, steps) + 4 * columns + 15) / 16 * 16;
    }
    /** The size of a packet of a block in full, of so many columns. By each thread for itself;
     *  no barrier. */
    __host__ __device__ static int dense_bytes(int columns) {
        return DENSE_AT + (columns + 3) / 4 * 4 * 32 * (int)sizeof(S);
    }
    /** Bytes from the first value of such a packet to that of a lane's row in `column`. By each
     *  thread for itself; no barrier. */
    __host__ __device__ static int dense_at(int lane, int column) {
        const int j = column % 4, by = BY_16 < 4 ? BY_16 : 4;
        return (column / 4 * 128 + (j / by * 32 + lane) * by + j % by) * (int)sizeof(S);
    }
    /* M in tiles: rows 8 T to 8 T + 7 have the columns before 8 T + 8 */
    static const int TILES = 20, TILES_AT = 32 + 64;
    static_assert(TILES_AT + TILES * 32 * (int)sizeof(S) <= MOST || !IN_TILES_TOO,
                  "a packet like others");
    /** The size of the packet of M in tiles, of a unit of so many rows: the last tiles are left
     *  out where they hold no row of it. By each thread for itself; no barrier. */
    __host__ __device__ static int tiles_bytes(int rows) {
        const int high = (rows + 7) / 8, tiles = high * (high + 1);
        return TILES_AT + (tiles + BY_16 - 1) / BY_16 * BY_16 * 32 * (int)sizeof(S);
    }
    /** Bytes from the first value of M's packet to entry (i, j), in M's own order. By each
     *  thread for itself; no barrier. */
    __host__ __device__ static int tile_at(int i, int j) {
        const int tile = i / 8 * (i / 8 + 1) + j / 4, lane = i % 8 * 4 + j % 4;
        return ((tile / BY_16 * 32 + lane) * BY_16 + tile % BY_16) * (int)sizeof(S);
    }

    /** Bytes from the first entry of a packet of `steps` steps to the column of a lane's entry
     *  `step`. By each thread for itself; no barrier. */
    __host__ __device__ static int column_at(int lane, int step, int steps) {
        return step / 4 * QUAD + lane * (step / 4 < steps / 4 ? 4 : 2) + step % 4;
    }
    /** Bytes from the first entry of a packet of `steps` steps to the value of a lane's entry
     *  `step`. By each thread for itself; no barrier. */
    __host__ __device__ static int value_at(int lane, int step, int steps) {
        const bool half = step / 4 == steps / 4;
        const int j = step % 4, by = half && BY_16 > 2 ? 2 : BY_16;
        return step / 4 * QUAD + (half ? 64 : 128) +
               ((j / by * 32 + lane) * by + j % by) * (int)sizeof(S);
    }
};

/* ---- numbers of vectors ---- */

/** a in double precision. By each thread for itself; no barrier. */
template <class S> struct widened_of { typedef double type; };
template <class F> struct widened_of<cx<F>> { typedef cx<double> type; };
__device__ inline double widen(float a) {
    return (double)a;
}
__device__ inline double widen(double a) {
    return a;
}
template <class F> __device__ inline cx<double> widen(cx<F> a) {
    return {(double)a.x, (double)a.y};
}

/* ---- results that are waited for: an entry is there when none of its parts is this NaN. The
 * vectors are read and written in L2, entry by entry ---- */

static const unsigned long long ABSENT = 0x7ffd5eed7ffd5eedull;

/** Is x the mark of a result that is not there yet? By each thread for itself; no barrier. */
__device__ inline bool is_absent(double x) {
    return (unsigned long long)__double_as_longlong(x) == ABSENT;
}
__device__ inline bool is_absent(cx<double> x) {
    return is_absent(x.x) || is_absent(x.y);
}

/** x := the mark of a result that is not there yet. By each thread for itself; no barrier. */
__device__ inline void mark(double &x) {
    x = __longlong_as_double((long long)ABSENT);
}
__device__ inline void mark(cx<double> &x) {
    mark(x.x), mark(x.y);
}
/** x, or another NaN where x happens to be the mark. Single precision has no mark. By each
 *  thread for itself; no barrier. */
__device__ inline double unmarked(double x) {
    return is_absent(x) ? __longlong_as_double((long long)(ABSENT ^ 1)) : x;
}
__device__ inline float unmarked(float x) { /* no mark is in single precision */
    return x;
}
__device__ inline cx<float> unmarked(cx<float> x) {
    return x;
}
__device__ inline cx<double> unmarked(cx<double> x) {
    return {unmarked(x.x), unmarked(x.y)};
}

#ifdef __CUDA_ARCH__

/** *p from the L2 cache, where other blocks' stores arrive; of types that nobody waits for, *p.
 *  By each thread for itself; no barrier. */
__device__ inline double load_now(const double *p) {
    double x;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(x) : "l"(p));
    return x;
}
__device__ inline cx<double> load_now(const cx<double> *p) {
    cx<double> x;
    asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];" : "=d"(x.x), "=d"(x.y) : "l"(p));
    return x;
}
/** x := *p as load_now() reads it, where `wanted`, without a branch. By each thread for itself;
 *  no barrier. */
__device__ inline void load_if(bool wanted, const double *p, double &x) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n"
                 "@p ld.relaxed.gpu.global.f64 %0, [%1];\n}"
                 : "+d"(x)
                 : "l"(p), "r"((unsigned)wanted));
}
__device__ inline void load_if(bool wanted, const cx<double> *p, cx<double> &x) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n"
                 "@p ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];\n}"
                 : "+d"(x.x), "+d"(x.y)
                 : "l"(p), "r"((unsigned)wanted));
}

/** *p := x, so that load_now() of other blocks finds it whole. By each thread for itself; no
 *  barrier. */
__device__ inline void store_now(double *p, double x) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(x));
}
__device__ inline void store_now(cx<double> *p, cx<double> x) {
    asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(x.x), "d"(x.y));
}
#else
template <class S> __device__ inline S load_now(const S *p) {
    return *p;
}
template <class S> __device__ inline void load_if(bool wanted, const S *p, S &x) {
    if (wanted) x = *p;
}
template <class S> __device__ inline void store_now(S *p, S x) {
    *p = x;
}
#endif

} // namespace mpki

#endif
