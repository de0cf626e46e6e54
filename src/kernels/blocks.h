/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCKS_H
#define MPKI_BLOCKS_H
/** Kernels of the meta-algorithm on small blocks, for one precision and one instruction set. Blocks
 *  are at most MPKI_BLOCK_MAX rows and columns and ROW-major here: entry (r, c) of a dense one at
 *  [r * ld + c]. Work blocks have ld = mpki_block_ld(cols), a multiple of a vector, with zeros in
 *  the padding, 64-byte aligned; stored blocks are packed.
 *
 *  A frame i after its factorization is held by M (w x w, dense) and D: M C M^T = D (M C M^H when
 *  Hermitian) for the block C on the diagonal: M = L^-1 P. For LDU: M C N^T = D with M = L^-1 P and
 *  N^T = Q U^-1. Then the solve with a pivot block is a product, L_ji = C_ji M^T D^-1 (with N for
 *  LDU: L_ji = C_ji N^T D^-1 and, transposed, U_ij^T = C_ij^T M^T D^-1), and permutations need
 *  never touch another block. For LLT, D = I and M = L^-1 P. */
#include "../core/precision.h"
#include <stdbool.h>

enum { MPKI_BLOCK_MAX = 128 };

/** Formats of a stored block. Values lie row after row.
 *  DENSE   rows x cols values
 *  BITMAP  row_mask of the rows that hold anything, for each of these a mask of its columns, then
 *  the values of the set bits ROWS    row_mask, then cols values for each row in it */
typedef enum mpki_format {
    MPKI_EMPTY = 0,
    MPKI_DENSE = 1,
    MPKI_BITMAP = 2,
    MPKI_ROWS = 3
} mpki_format;

/** mpki_block.scalar of values in bfloat16, the upper halves of floats; complex ones: the next
 *  number. No kernel knows them: readers widen them first. */
enum { MPKI_BF16 = 4 };

/** x rounded to bfloat16, to even; NaN stays NaN. And back. */
static inline uint16_t mpki_bf16_of(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits = x != x ? bits | UINT32_C(0x400000) : bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}
static inline float mpki_bf16_to(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/** A stored block; memory of `data`: masks of 32 bits (row mask first: roundup(rows,32)/32 words,
 * then column masks of roundup(cols,32)/32 words each), padded to the alignment of T, then the
 * values. */
typedef struct mpki_block {
    void *data;
    int32_t nnz;        /* values stored */
    uint8_t rows, cols; /* 1 .. 128 */
    uint8_t format;
    uint8_t scalar; /* mpk_scalar of the values, or MPKI_BF16 */
} mpki_block;

/** Leading dimension of a work block for entries of `size` bytes. */
static inline int mpki_block_ld(int cols, size_t size) {
    int v = (int)(64 / size);
    return (cols + v - 1) / v * v;
}
static inline size_t mpki_block_mask_bytes(int format, int rows, int cols, int held_rows) {
    size_t words = format == MPKI_DENSE ? 0 : (size_t)(rows + 31) / 32;
    if (format == MPKI_BITMAP) words += (size_t)held_rows * (size_t)((cols + 31) / 32);
    return (words * 4 + 15) / 16 * 16;
}

/** The outcome of a diagonal block. */
typedef struct FN(pivot_report) {
    int32_t positive, negative,
        zero; /* signs of D; complex symmetric, complex LDU: zero ones only */
    int32_t perturbed, two_by_two;
    R smallest, largest; /* |eigenvalue| of the blocks of D, before any is replaced */
    R norm_m;            /* largest entry of M in modulus: growth inside the block */
    int32_t failed;      /* rows from here on could not be pivoted (llt: a pivot <= 0), or -1 */
    int32_t indefinite;  /* llt: that pivot was finite */
} FN(pivot_report);

typedef struct FN(block_kernels) {
    const char *isa;

    /** Factor the w x w block c (both triangles, ld), destroyed.
     *  type, pivoting [in] mpk_factor_type, mpk_pivoting
     *  pair      [in]  w or NULL: pair[r] = the row that static pivoting couples r with, r itself
     *                  for 1x1
     *  floor     [in]  a pivot (1x1, or the eigenvalues of a 2x2) not above it in modulus is
     *                  replaced by one of that modulus and its sign (positive for what is nothing
     *                  beside it, MPKI_NOTHING), and counted;
     *                  0: zero pivots stay and are counted as zero, their rows of M D^-1 are taken
     *                  as 0
     *  butterfly [in]  NULL, or 2 w reals: the random diagonals of a depth-1 butterfly B (the first
     *                  w); B^T c B is then factored, M = L^-1 P B^T, and `pair` means nothing. LDU:
     *                  the other w are those of V, B^T c V is factored, and N = U^-T Q^T V^T
     *  m, n      [out] w x w, ld; n is written for LDU only
     *  d, dinv   [out] 2 w: D(k,k), then D(k+1,k) (0 where k is not the first of a 2x2)
     *  work      [out] 4 w ld entries
     *  report    [out] NaN anywhere: failed = 0
     *  Sources: Bunch & Kaufman 1977; Ashcraft, Grimes & Lewis 1998 (rook); Bunch & Parlett 1971;
     *  Baboulin et al. 2014 (butterflies). */
    void (*factor)(int w, T *c, int ld, int type, int pivoting, const int32_t *pair, R floor,
                   const R *butterfly, int hermitian, T *m, T *n, T *d, T *dinv, T *work,
                   FN(pivot_report) * report);

    /** c (rows x w, ld) := c M^T D^-1 (M^H when hermitian): L of a block below the pivot. M and
     * ld_m as factor left them; dinv of D. work: rows x ld. Adds the squared modulus of each result
     * to norm2[column] (w) and returns the largest modulus, NaN if there is one. */
    R(*solve)
    (int rows, int w, T *c, int ld, const T *m, int ld_m, const T *dinv, int hermitian, T *work,
     R *norm2);

    /** w := D B^T (D B^H): from the stored block b (rows x k) into k x rows, ld, zero-padded.
     *  d as factor left it; NULL: D = I. */
    void (*right)(const mpki_block *b, const T *d, int hermitian, T *w, int ld);

    /** C -= A W: A stored (rows x k, any format), W k x cols (ld_w), C rows x cols (ld_c). */
    void (*downdate)(const mpki_block *a, const T *w, int ld_w, int cols, T *c, int ld_c);

    /** y -= A x and x-side y -= A^T x (A^H when conjugate) for nrhs right-hand sides, entry
     *  (row, r) at [row * nrhs + r]. A stored. */
    void (*apply)(const mpki_block *a, const T *x, int nrhs, T *y);
    void (*apply_t)(const mpki_block *a, const T *x, int nrhs, int conjugate, T *y);

    /** y := M x and y := M^T x (M^H) for a dense w x w M (ld), nrhs as above; and x := E x, where E
     *  is what dinv holds: D^-1, or D itself to multiply by D (d is not read). absolute: |E| = (E^H
     *  E)^(1/2), by the eigenvalues of the 2x2 blocks. */
    void (*multiply)(int w, const T *m, int ld, const T *x, int nrhs, T *y);
    void (*multiply_t)(int w, const T *m, int ld, const T *x, int nrhs, int conjugate, T *y);
    void (*diagonal)(int w, const T *d, const T *dinv, int absolute, int hermitian, int nrhs, T *x);

    /** Dual threshold on the work block c (rows x cols, ld): entries with |c| <= drop[column]
     * become 0; if more than `capacity` are left (< 0: no bound), only the largest in modulus stay,
     * ties by place. Returns the number kept. count_only: nothing is changed by the capacity, the
     * number that the threshold leaves is returned. */
    int64_t (*drop)(int rows, int cols, T *c, int ld, const R *drop, int64_t capacity,
                    int count_only);

    /** Bytes of `data` for the nonzeros of c in this format, and in the smallest one
     *  (ties: DENSE, ROWS, BITMAP; EMPTY, without bytes, if nothing is held). */
    size_t (*bytes)(int rows, int cols, const T *c, int ld, int format);
    int (*smallest)(int rows, int cols, const T *c, int ld, size_t *bytes);
    /** Write c into block->data (of `bytes` bytes, 16-byte aligned) in block->format; sets nnz,
     * rows, cols and scalar. And back: c := the block, zeros elsewhere, padding included. */
    void (*pack)(int rows, int cols, const T *c, int ld, mpki_block *block);
    void (*unpack)(const mpki_block *block, T *c, int ld);
} FN(block_kernels);

#endif
