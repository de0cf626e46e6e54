/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_BLOCK_FACTOR_H
#define MPKI_CPU_BLOCK_FACTOR_BLOCK_FACTOR_H
/** The engine of the processor for factors on blocks, from inside: Meta-algorithm 12 of Thuerck
 * 2021 for one assignment of its parameters. With 𝓛 and 𝓓 by frames in the order of places, S
 *  P-permuted:  A ~ 𝓛 𝓓 𝓛^T,  𝓛_ii = M_i^-1,  𝓛_ji = lower block (j, i);  LDU: A ~ 𝓛 𝓓 𝓤 with
 *  𝓤_ii = N_i^-T and 𝓤_ij = the transpose of the upper block (j, i). */
#include "analysis/schedule/inspector.h"
#include "engines/interface/engine.h"
#include "core/arena.h"
#include "kernels/blocks.h"

/** A frame after its factorization. M is often sparse, so it is stored as blocks are, and negated:
 *  the kernel that applies a block, y -= (-M) x, then applies it too. */
typedef struct mpki_frame {
    mpki_block m, n; /* -M and, for LDU, -N; else n is m */
    void *d, *dinv;  /* 2 w, entries of the stored precision; NULL before */
} mpki_frame;

/** The portions of the first stage, for other values. */
struct mpki_block_plan {
    mpki_portions portions;
};

struct mpki_blocks {
    mpk_scalar scalar; /* of the stored factor */
    mpki_stages *stages;
    mpki_frame *frame; /* by frame */
    mpki_block *lower; /* by block, rows of the frame with the later place; EMPTY: no entries */
    mpki_block *upper; /* LDU: U^T, as lower; else == lower */
    int64_t capacity;  /* lengths of lower and upper */
    mpki_arena arena;  /* of all values */
    bool have_arena;
    struct mpki_border *border;   /* the dense pivot that ends the stages; NULL: there is none */
    struct mpki_meta *meta;       /* work space of the factorization; NULL after it */
    bool narrow;                  /* some blocks are in fewer bits than `scalar` has */
    bool in_blocks;               /* a solver does not turn them into rows */
    struct mpki_rows *rows;       /* rows.h: instead of all of the above from `frame` on, or NULL */
    struct mpki_block_isai *isai; /* isai.h: instead of lower, upper and arena, or NULL */
    struct mpki_offload *offload; /* accelerator/: values during a factorization there, or NULL */
};

/** Jacobi sweeps that replace a triangular solve; 0: none do. */
static inline int mpki_jacobi_sweeps(const mpk_options *o) {
    enum { USUAL = 3 };
    if (o->triangular == MPK_TRIANGULAR_ISAI || o->triangular == MPK_TRIANGULAR_AUTO) return 0;
    return o->triangular == MPK_TRIANGULAR_JACOBI && o->solve_sweeps == 0 ? USUAL : o->solve_sweeps;
}

/** Blocks of the finished factor f in fewer bits, by options.block_tolerance (narrow_t.c).
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_s_blocks_narrow(mpki_blocks *f);
mpk_status mpki_d_blocks_narrow(mpki_blocks *f);
mpk_status mpki_c_blocks_narrow(mpki_blocks *f);
mpk_status mpki_z_blocks_narrow(mpki_blocks *f);

/** Release all blocks off the diagonal and all values; `frames`: the frames stay, with values of
 *  their own. */
void mpki_blocks_keep_frames(mpki_blocks *f, bool frames);

/** Release all blocks and pivots; f->rows has what is needed of them. */
void mpki_blocks_drop(mpki_blocks *f);
/** The slot mpki_block_engine.finish without any conversion to rows, now or in a solve, and with
 *  one at once wherever it pays: for what wants to see the blocks, or the rows, of any factor. */
mpk_status mpki_block_finish_as_rows(mpki_blocks *f, mpki_block_counts *counts);
mpk_status mpki_block_finish_as_blocks(mpki_blocks *f, mpki_block_counts *counts);

#endif
