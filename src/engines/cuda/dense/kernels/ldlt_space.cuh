/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_LDLT_SPACE_CUH
#define MPKI_CUDA_DENSE_LDLT_SPACE_CUH
/** Where the parts of the workspace of ldlt.cuh lie, and which columns a block of it has. */
#include "blas.cuh"
#include "panel.cuh"
#include "tile.cuh"

namespace mpki {

static const int BLOCK_MAX = 768;
/* real doubles: up to this many rows, updates go through update_kernel: within a block, beyond
 * it */
static const int SMALL_PANEL = 6144, SMALL_TRAILING = 2560;
/* and up to this many, the chain's kernels are launched early: they find free multiprocessors to
 * wait in */
static const int SMALL_CHAIN = 3072;

/** Parts of the workspace. */
struct ldlt_space {
    int64_t ld;
    int tile;         /* its order */
    int tiles, gates; /* tiles of a block of columns; blocks that there may be */
    control *ctl;
    T *scalars, *N, *dinv, *corner, *save;
    int *orig[2];
    T *panel[2], *L[2], *W[2];
    /* `terms` times as wide; see split_kernel (same rows as L), halves_kernel (rows from where its
     * updates begin); 0: none */
    T *Ls[2], *Ws[2], *scaled;
    int terms, *exponents;
    bk_space bk; /* for what is left at the end, and for Bunch-Kaufman as a method */
    char *own;   /* Aasen's part */
};

static inline int64_t align_up(int64_t x) {
    return (x + 255) / 256 * 256;
}

/** Lay the parts out from `base`; base NULL: only count. Returns the bytes. */
static int64_t ldlt_layout(const mpki_cuda *cuda, const mpki_cuda_matrix *d, char *base,
                           ldlt_space *w) {
    const int B = w->tile = tile_of<T>(cuda), n = d->n;
    const int small = MPKI_PRECISION == 1 && n <= 2560 ? 128 : 256;
    int block = d->block > 0 ? d->block : n <= 3072 ? small : 512;
    if (block > BLOCK_MAX) block = BLOCK_MAX;
    w->tiles = (block + B - 1) / B;
    const int64_t width = w->tiles * B;
    w->ld = ((int64_t)n + 31) / 32 * 32;
    w->gates = n / (w->tiles * (B - KEEP)) + 2;
    int64_t at = 0;
    auto take = [&](int64_t bytes) {
        char *p = base ? base + at : NULL;
        at += align_up(bytes);
        return p;
    };
    w->ctl = (control *)take(sizeof(control));
    w->scalars = (T *)take(sizeof(T) * (GATES + w->gates));
    w->N = (T *)take(sizeof(T) * B * B);
    w->dinv = (T *)take(sizeof(T) * 2 * B);
    w->corner = (T *)take(sizeof(T) * KEEP * KEEP);
    w->save = (T *)take(sizeof(T) * w->ld * KEEP);
    at += bk_layout(n, cuda->sms, base ? base + at : NULL, &w->bk);
    w->Ls[0] = w->Ls[1] = w->Ws[0] = w->Ws[1] = w->scaled = NULL;
    w->terms = sizeof(R) == 8                             ? 0
               : d->tf32 == 3                             ? 3
               : d->tf32 == HALVES && MPKI_PRECISION == 0 ? 1
                                                          : 0;
    w->own = base ? base + at : NULL;
    if (d->method == MPKI_CUDA_BUNCH_KAUFMAN || d->method == MPKI_CUDA_ROOK ||
        d->method == MPKI_CUDA_AASEN)
        return at;
    for (int i = 0; i < 2; ++i) {
        w->orig[i] = (int *)take(sizeof(int) * (w->ld + B));
        w->panel[i] = (T *)take(sizeof(T) * w->ld * width);
        w->L[i] = (T *)take(sizeof(T) * w->ld * width);
        w->W[i] = (T *)take(sizeof(T) * w->ld * width);
        if (w->terms) {
            const int64_t bytes = (MPKI_PRECISION == 0 ? 2 : sizeof(T)) * w->ld * width * w->terms;
            w->Ls[i] = (T *)take(bytes), w->Ws[i] = (T *)take(bytes);
        }
    }
    if (w->terms) {
        w->scaled = (T *)take(sizeof(T) * w->gates);
        w->exponents = (int *)take(2 * sizeof(int) * width);
    }
    return at;
}

/** A block of columns: its first column, its candidates, its pivots, how many columns the block
 * before kept for it, and how many it keeps. The host counts as the kernels do. */
struct span {
    int c, columns, w, came, kept, q;
};

template <bool PIVOT>
static span next_span(const ldlt_space &s, int from, int end, const span *old) {
    const int B = s.tile, keep = PIVOT ? KEEP : 0, E = B - keep;
    span x;
    x.c = old ? old->c + old->w : from;
    x.q = old ? old->q ^ 1 : 0;
    x.came = old ? old->kept : 0;
    const int64_t full = (int64_t)s.tiles * E + keep;
    if (end - x.c <= full) {
        x.columns = x.w = end - x.c;
        x.kept = 0;
    } else {
        x.columns = (int)full, x.w = s.tiles * E, x.kept = keep;
    }
    return x;
}

static inline dim3 column_grid(int rows, int columns) {
    int x = (rows + 255) / 256;
    return dim3(x < 1 ? 1 : x > 64 ? 64 : x, columns);
}

} // namespace mpki
#endif
