/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_STATE_H
#define MPKI_CUDA_TRIANGULAR_STATE_H
/** The device's solver with a factor on blocks: what making it (triangular/make.c) leaves
 *  for applying it (sweeps.c). */
#include "engines/cuda/module/load.h"
#include "solve.h"
#include "kernels/triangular.h"

enum {
    MPKI_SOLVER_BUFFERS = 64,
    MPKI_SOLVER_TRIALS = 9 /* applications that are timed: three numbers of warps, in turns */
};

struct mpki_block_solver {
    mpk_context *ctx;
    const mpki_device *d;
    const mpki_stages *stages;
    struct mpki_isai_factor
        *isai; /* the factor's, whose products take the place of all else; or NULL */
    mpk_scalar scalar, stored;
    mpki_kept_solver *home; /* where it goes at its end; NULL: it is freed */
    int32_t asked, takes;   /* vectors: at its making, and of one application */
    int32_t n, slot_width;  /* rows; most numbers by slot */
    int64_t task[3];        /* tickets: 0, end of forward ones, end */
    int64_t parts, tiles, full, bytes, packet_bytes;
    int32_t warps[4], most_warps[4]; /* of a launch with 1, 2, 4, 8 numbers by slot */
    /* how many warps are best is measured in the first applications */
    mpki_sweeps_clock *clock[MPKI_SOLVER_TRIALS];
    int trials, read; /* begun; whose time is known */
    double best_s[3];
    void *buffer[MPKI_SOLVER_BUFFERS]; /* all device memory */
    bool is_lot[MPKI_SOLVER_BUFFERS];  /* several arrays are in it, and it stays */
    int buffers;
    char *lot; /* what is left of the newest one */
    int64_t lot_left;
    /* device memory */
    char *packets;
    mpki_sweeps_task *tasks;
    void *vector[3]; /* by slot */
    void *part, *diagonal[2], *staging;
    int8_t *partner;
    int32_t *ticket, *position[2], *row, *ahead, *slot_at[2]; /* as in mpki_sweeps_maps */
    double *scale[2];
    /* the dense pivot that ends the stages: of the factor's store, and what `diagonal` and
     * `partner` are for it; rows 0: there is none */
    mpki_sweeps_border border;
    void *border_diagonal[2];
    int8_t *border_partner;
};

/* ---- sweeps.c: all return MPK_OK or the error that they recorded ---- */

/** The status of a call of the module, recorded where it failed. */
mpk_status mpki_solver_status(const mpki_block_solver *s, int status);
/** Refuse what is beyond device_memory_limit before anything is taken: so many bytes, in so many
 *  arrays. Small ones get their memory at once, since each call for some takes longer than its
 *  kernels. */
mpk_status mpki_solver_may_take(mpki_block_solver *s, int64_t more, int arrays);
mpk_status mpki_solver_take(mpki_block_solver *s, int64_t bytes, void **p);
/** bytes: as they were taken. What is in a lot stays until the solver goes. */
void mpki_solver_give(mpki_block_solver *s, void *p, int64_t bytes);
/** Queue a copy; host memory must stay until mpki_solver_wait. */
mpk_status mpki_solver_copy(const mpki_block_solver *s, void *to, const void *from, int64_t bytes,
                            bool up);
mpk_status mpki_solver_wait(const mpki_block_solver *s);
mpk_status mpki_solver_upload(mpki_block_solver *s, const void *from, int64_t bytes, void **to);
/** Bytes of a number by slot. */
int64_t mpki_solver_size(const mpki_block_solver *s);

/* ---- making ---- */

typedef struct mpki_solver_making {
    mpki_block_solver *s;
    const mpki_cuda_store *store;
    mpki_cuda_packing p; /* whose arrays are in: */
    void *piece[4];
    int64_t piece_bytes[4];
    int pieces;
    mpki_sweeps_summary summary;
    int32_t units[2];
    /* host; [2]: forward, backward */
    mpki_levels levels[2]; /* forward: the stages' */
    int32_t *unit[2], *slot[2], *level_of[2], *deferred[2], *level_slot[2];
    int32_t parts[2], *part_unit[2], *part_block[2];
} mpki_solver_making;

#endif
