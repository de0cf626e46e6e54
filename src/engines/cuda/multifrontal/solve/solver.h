/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_SOLVE_SOLVER_H
#define MPKI_CUDA_MULTIFRONTAL_SOLVE_SOLVER_H
/** What solves with a device's direct factor work in: lists, which are kept, and vectors. */
#include "lists.h"

/** Vectors of a solve: what is unset before sweeps; those by position; those of the host. */
enum { MPKI_CUDA_UNSET, MPKI_CUDA_BY_POSITION, MPKI_CUDA_STAGED, MPKI_CUDA_VECTORS };

/** Where vectors lie that nobody reads after their solve: in what factorizations work in, as long as
 * a solve has that for itself, or in memory of their own. */
typedef struct mpki_cuda_room {
    char *at;
    void *own; /* device; NULL: there is none */
    int64_t bytes;
    bool pooled; /* `own` is of the pool */
} mpki_cuda_room;

/** Have so many bytes in *room, which is empty. Returns a status of the module. */
int mpki_cuda_vector_room_make(const mpki_direct *f, int64_t bytes, mpki_cuda_room *room);
/** After a solve: larger ones than a factor keeps for its next solve go. one: bytes of what it keeps in any case,
 *  that of one right-hand side */
void mpki_cuda_vector_room_end(const mpki_direct *f, int64_t one, mpki_cuda_room *room);
/** Give it back; it is empty then. */
void mpki_cuda_vector_room_leave(const mpki_direct *f, mpki_cuda_room *room);

struct mpki_direct_solver {
    mpk_context *ctx;
    const mpki_direct *f;
    int32_t columns; /* right-hand sides of this solve, at most */
    int32_t block;   /* of them, most of a sheet: a power of two */
    int32_t sheets;  /* most that are swept side by side */
    int32_t asked;   /* columns of the solve that memory of its own was made for */
    uint64_t shape;  /* of the factor that the lists are for */
    int few;         /* solves in a row that have asked for far fewer */
    char *memory;    /* device: lists */
    int64_t bytes;   /* of that */
    mpki_cuda_room vectors[MPKI_CUDA_VECTORS];
    char *one;           /* room for one vector of the host, until s is freed */
    bool owns_idle;      /* what factorizations work in is this solve's */
    int64_t idle, swept; /* bytes of it that are taken, from its end: in all, by sweeps */
    int64_t rows, sent, squares, half_copy; /* as the lists have them */
    bool spills;
    mpki_cuda_sweep sweep;
    /* the lists of pieces, and those of many sheets (lists.h) */
    const mpki_cuda_piece *down[2], *up[2];
    int32_t downs[2], ups[2];
    int32_t *pivot;   /* device, n: number of the pivot at each position; NULL: never asked for */
    int64_t pivot_of; /* the factorization that these are of */
    bool by_pivots;   /* between parts vectors are in their order */
    const unsigned long long *wanted; /* as mpki_cuda_direct_apply_if() is given it */
    void *zero; /* device: so many bytes there are cleared with what comes next */
    int64_t zeros;
};

static inline int64_t mpki_cuda_padded(int64_t bytes) {
    return (bytes + 255) & ~(int64_t)255;
}

/** Did a call of the module succeed? A solve may have a context of its own, without a device. */
bool mpki_cuda_solver_did(const mpki_direct_solver *s, int status);
/** Where, from the first counter on, lies what is unset before a sweep of `nrhs` right-hand sides:
 *  at [out] 5: values sent forward and back, u, x, the end. together: what the way back sends, and
 *  x, lie where the way forward had what it sends, and u. */
void mpki_cuda_solver_unset(const mpki_direct_solver *s, int64_t nrhs, bool together, int64_t *at);
/** Do they, of so many sheets of a block of right-hand sides? Where all of it is little they do not. */
bool mpki_cuda_solver_shares(const mpki_direct_solver *s, int32_t block, int32_t sheets);
/** Bytes of vectors for so many sheets of so many right-hand sides. */
int64_t mpki_cuda_solver_vectors(const mpki_direct_solver *s, int which, int32_t block,
                                 int32_t sheets);
/** Have room for vectors. Returns false: there is no memory, which the module has told, or more than
 *  the limit; what was there is there. */
bool mpki_cuda_solver_room(mpki_direct_solver *s, int which, int64_t bytes);
/** Bytes of inverses of strips, which are kept where large fronts and contributions have done with
 *  their memory; of copies of chains behind them; 0: they are not worth it, or there is no memory
 *  for them. */
int64_t mpki_cuda_solver_squares(const mpki_direct_solver *s);
int64_t mpki_cuda_solver_half_copies(const mpki_direct_solver *s);

#endif
