/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_INVERSE_H
#define MPKI_CUDA_INVERSE_INVERSE_H
/** Incomplete sparse approximate inverses on a device: what libmetapack asks of its CUDA module.
 *  Plain C. All pointers are device memory unless said otherwise; all is queued in cuda->sparse.
 *  As on the processor (src/engines/cpu/inverse/inverse.h) a triangle is diag(1 / dinv) + a strict
 *  triangle, and its approximate inverse has the diagonal dinv; dinv NULL: the unit diagonal. */
#include "engines/cuda/block_factor/kernels/store.h"
#include "engines/cuda/inverse/tuning.h"
#include <metapack/options.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /** columns of a frame that are computed together, at most */
    MPKI_ISAI_PORTION = 8,
    /** classes of columns that are: up to 1024 entries */
    MPKI_ISAI_PORTIONED = 9
};

/** A square sparse matrix by columns, or by rows; indices ascend. */
typedef struct mpki_isai_matrix {
    int64_t *ptr;   /**< n + 1 */
    int32_t *index; /**< ptr[n] */
    void *val;
} mpki_isai_matrix;

/** The matrix by columns turned into the one by rows: where each of its entries comes from. */
typedef struct mpki_isai_turning {
    int32_t n;
    int64_t entries;
    const int64_t *ptr; /**< of the matrix that is given */
    const int32_t *index;
    int64_t *to_ptr; /**< n + 1: written, and so are the next two */
    int32_t *to_index;
    int64_t *from;       /**< entries: entry e of the result is entry from[e] of the given one */
    int64_t *next;       /**< n + 1: work space, and so are the next four */
    int32_t *other;      /**< entries */
    int64_t *other_from; /**< entries */
    int32_t *longs;      /**< n + 1 */
    int64_t *sums;       /**< mpki_isai_sums(n) */
} mpki_isai_turning;

/** Entries of work space of a sum over n + 1 numbers. */
static inline int64_t mpki_isai_sums(int32_t n) {
    return ((int64_t)n + 1) / 1024 + 2;
}

/** A triangle taken apart. */
typedef struct mpki_isai_splitting {
    mpk_scalar scalar;
    int32_t n, upper;
    const int64_t *ptr; /**< of the matrix that is given, by columns */
    const int32_t *index;
    const void *val;
    const int32_t *disordered; /**< what `check` has found: below n nothing is counted */
    int64_t *to_ptr;           /**< n + 1: the strict triangle; written */
    int32_t *to_index; /**< NULL: counts and their sums; else, with these, the entries, and: */
    int64_t *from;     /**< where its entries come from */
    int64_t *diagonal; /**< n: entry of the diagonal; -1: there is none */
    void *dinv;        /**< n */
    int32_t *bad; /**< the first column whose diagonal is zero, missing or not finite; n: none */
    int64_t *sums;
} mpki_isai_splitting;

/** Columns by the number of their entries, the diagonal counted: which kernel computes them. */
typedef struct mpki_isai_classes {
    int32_t n;
    const int64_t *ptr; /**< of M without its diagonal */
    int64_t *count; /**< MPK_ISAI_CLASSES + 1: columns of each class; then entries of the longest */
    int64_t *next;  /**< MPK_ISAI_CLASSES: work space */
    int64_t first[MPK_ISAI_CLASSES]; /**< host: where each class begins in: */
    int32_t *list;                   /**< n; NULL: count */
} mpki_isai_classes;

/** How the columns of a triangle's approximate inverse are found. */
typedef enum mpki_isai_way {
    MPKI_ISAI_STREAMED = 0, /**< one kernel a class; rows are read while the system is solved */
    MPKI_ISAI_HELD = 1,     /**< up to 32 entries: rows are first gathered in registers */
    MPKI_ISAI_BASELINE = 2  /**< four kernels, through memory; up to 32 entries only */
} mpki_isai_way;

/** M->val := the columns of the approximate inverse of a triangle. */
typedef struct mpki_isai_inversion {
    mpk_scalar scalar;
    int32_t n, upper;
    mpki_isai_matrix rows, columns;           /**< the strict triangle */
    const void *dinv;                         /**< n, or NULL */
    mpki_isai_matrix m;                       /**< by columns, without diagonal */
    const int32_t *list;                      /**< of mpki_isai_classes, and so is: */
    int64_t count[MPK_ISAI_CLASSES], longest; /**< host */
    int32_t *bad; /**< the first column that is not finite; n: none. Set before */
    mpki_isai_way way;
    /* of the baseline: */
    int32_t portion;  /**< columns at a time */
    int32_t *sizes;   /**< portion */
    int32_t *rows_of; /**< 32 portion */
    void *systems;    /**< 1024 portion entries */
    void *solutions;  /**< 32 portion entries */
} mpki_isai_inversion;

/** Small dense systems A(J, J) m = e_j, a column each: see mpki_isai_small of the processor. */
typedef struct mpki_isai_dense {
    mpk_scalar scalar;
    int32_t n, definite;
    mpki_isai_matrix a;    /**< all of A by columns */
    mpki_isai_matrix m;    /**< the pattern of M without its diagonal; values are written */
    void *diagonal;        /**< n: written */
    unsigned char *failed; /**< n: 1 singular, 2 not finite */
    const int32_t *list;   /**< of mpki_isai_classes */
    int64_t count[MPK_ISAI_CLASSES], longest; /**< host; longest: entries of a column */
    void *work; /**< columns of more than 32 entries: slots x longest (longest + 1) entries */
    int32_t slots;
} mpki_isai_dense;

/** y := (diag + a) x and kin, by rows; as mpki_isai_product of the processor, vectors by
 *  columns. */
typedef struct mpki_isai_times {
    mpk_scalar scalar;
    int32_t n;
    int64_t entries;
    const int64_t *ptr;
    const int32_t *index;
    const void *val;
    int32_t single, conjugate; /**< val in single precision; val and diagonal conjugated */
    const void *diagonal;      /**< n, or NULL: ones */
    int32_t no_diagonal, inverse_diagonal;
    const void *b; /**< not NULL: y := b - (diag + a) x */
    int32_t add;   /**< y += */
    const void *x;
    void *y; /**< not x */
    int32_t nrhs;
    int64_t ldb, ldx, ldy;
    int32_t lanes; /**< of a row: a power of two up to 32; 0: what suits the mean length */
} mpki_isai_times;

/** What of a column a pattern keeps. */
enum { MPKI_ISAI_BELOW, MPKI_ISAI_ABOVE, MPKI_ISAI_ALL };

/** What the search for a pattern reports to the host. */
typedef struct mpki_isai_notes {
    int32_t first_over; /**< the first column over the limit; n, which is set before: none */
    int32_t cut;        /**< columns that got a smaller power */
    int32_t mid;        /**< columns that meet too many rows for the first kernel */
    int32_t far;        /**< columns left for mpki_cuda_isai_table.far */
} mpki_isai_notes;

/** The pattern of M, from a pattern by columns whose power is taken. Two passes: counts into
 *  to_ptr[j + 1], then, with sums there, the rows. */
typedef struct mpki_isai_powers {
    int32_t n, keep, power; /**< keep: MPKI_ISAI_BELOW .. */
    int32_t block;          /**< > 0: diagonal blocks, no power */
    int32_t limit,
        less;        /**< of a column with its diagonal, 0: none; less: a smaller power fits it */
    int64_t entries; /**< of the pattern whose power is taken */
    const int64_t *ptr;
    const int32_t *index;
    const int32_t *group; /**< n, or NULL: rows of the column's group are left out */
    int64_t *to_ptr;
    int32_t *to_index; /**< NULL: the first pass */
    mpki_isai_notes *notes;
    int32_t *mid, *far; /**< n: columns with many rows; the first pass lists them */
    int32_t *found;     /**< n x found_each: room where the first pass leaves the rows of columns */
    /** that have no more than found_each, for the second one to copy; 0: none */
    int32_t found_each;
    /* of `far`: */
    int32_t slots;
    int32_t *seen;  /**< slots x n: set to -1 */
    int32_t *reach; /**< slots x n */
} mpki_isai_powers;

/** How many rows within `power` steps a column meets, within a third of it on grids and meshes. */
static inline double mpki_isai_met(int32_t n, int64_t entries, int power) {
    return 0.7 * (double)entries / (n > 0 ? n : 1) * power * power;
}

/** What found_each should be: more than most columns of a grid or a mesh keep, which of a triangle
 *  is all they meet, else about half of it. */
static inline int32_t mpki_isai_found_each(int32_t n, int64_t entries, int power, int triangle) {
    enum { MOST = 512 };
    const double each = (triangle ? 1.6 : 0.8) * mpki_isai_met(n, entries, power);
    return each > MOST ? MOST : ((int32_t)each + 15) / 8 * 8;
}

/** Columns cut to their largest entries. */
typedef struct mpki_isai_pruning {
    mpk_scalar scalar;
    int32_t n, limit; /**< of a column with its diagonal */
    const int64_t *ptr;
    const int32_t *index;
    const void *val;
    int64_t *to_ptr;      /**< n + 1: counts, then sums of them */
    int32_t *to_index;    /**< NULL: count */
    unsigned char *stays; /**< ptr[n] */
} mpki_isai_pruning;

/** A factor on blocks as a unit triangle by columns, in the order of places, and pivot blocks. */
typedef struct mpki_isai_gathering {
    mpki_cuda_store store;
    const int32_t *start; /**< m: the first row of each frame in the order of places */
    int32_t half, fill;   /**< fill 0: counts into to_ptr[column + 1] */
    int64_t *to_ptr;
    int32_t *to_index;
    void *to_val;
    int32_t *mixed; /**< of `identity`: set to 0 before */
} mpki_isai_gathering;

/** A pattern of frames, by columns of frames, as one of columns and rows: those of a frame follow one
 *  another. Two passes: counts into to_ptr[column + 1], then, with sums there, the rows. */
typedef struct mpki_isai_spreading {
    int32_t m;            /**< frames */
    const int32_t *first; /**< m + 1: first row of each */
    const int64_t *ptr;   /**< m + 1 */
    const int32_t *index; /**< the frames of a column's rows; ascending */
    int64_t *to_ptr;
    int32_t *to_index; /**< NULL: the first pass */
} mpki_isai_spreading;

/** Columns that share their rows, up to MPKI_ISAI_PORTION of a frame each. */
typedef struct mpki_isai_portions {
    int64_t count;
    const int32_t *first, *columns;    /**< count: the first column, how many */
    int64_t *ptr;                      /**< count + 1: written by `portions`: sums are to come */
    const int32_t *list;               /**< portions by class, of mpki_isai_classes, and so is: */
    int64_t many[MPKI_ISAI_PORTIONED]; /**< host */
    int64_t longest;                   /**< host: entries of the longest column */
    int32_t widest;                    /**< host: columns of the widest portion */
} mpki_isai_portions;

typedef struct mpki_cuda_isai_table {
    /** *bad := the first column whose pointers or rows are not as they must be; set before. */
    int (*check)(mpki_cuda *cuda, int32_t n, int64_t entries, const int64_t *ptr,
                 const int32_t *index, int32_t *bad);
    /** The transpose of a pattern; the bits do not depend on the run. */
    int (*turn)(mpki_cuda *cuda, const mpki_isai_turning *t);
    /** Counts in ptr[1 .. n] become sums. */
    int (*sum)(mpki_cuda *cuda, int32_t n, int64_t *ptr, int64_t *sums);
    /** to[e] := from[which[e]] */
    int (*move)(mpki_cuda *cuda, mpk_scalar scalar, int64_t count, const int64_t *which,
                const void *from, void *to);
    /** to[which[e]] := e, for a permutation. */
    int (*reverse)(mpki_cuda *cuda, int64_t count, const int64_t *which, int64_t *to);
    /** The pattern, in two passes, then the values, of a triangle taken apart. */
    int (*split)(mpki_cuda *cuda, const mpki_isai_splitting *s);
    int (*split_values)(mpki_cuda *cuda, const mpki_isai_splitting *s);
    int (*classes)(mpki_cuda *cuda, const mpki_isai_classes *c);
    /** One pass; far columns of a power are left to `far`. */
    int (*powers)(mpki_cuda *cuda, const mpki_isai_powers *p);
    int (*far)(mpki_cuda *cuda, const mpki_isai_powers *p);
    int (*prune)(mpki_cuda *cuda, const mpki_isai_pruning *p);
    /** Bytes of value `byte`. */
    int (*set)(mpki_cuda *cuda, void *to, int byte, int64_t bytes);
    /** Bytes from one place on the device to another. */
    int (*clone)(mpki_cuda *cuda, void *to, const void *from, int64_t bytes);
    /** cuda->sparse. */
    void *(*stream)(mpki_cuda *cuda);
    int (*invert)(mpki_cuda *cuda, const mpki_isai_inversion *v);
    /** One pass of a pattern of frames. */
    int (*spread)(mpki_cuda *cuda, const mpki_isai_spreading *s);
    /** g->ptr, of the pattern by columns whose pointers these are. */
    int (*portions)(mpki_cuda *cuda, const mpki_isai_portions *g, const int64_t *ptr);
    /** Columns by portions, of the classes that these have. */
    int (*invert_portions)(mpki_cuda *cuda, const mpki_isai_inversion *v,
                           const mpki_isai_portions *g);
    int (*dense)(mpki_cuda *cuda, const mpki_isai_dense *d);
    int (*multiply)(mpki_cuda *cuda, const mpki_isai_times *p);
    int (*gather)(mpki_cuda *cuda, const mpki_isai_gathering *g);
    /** *mixed := 1 where a pivot block is not the identity. */
    int (*identity)(mpki_cuda *cuda, const mpki_isai_gathering *g);
    /** x, in the order of places, := M x, or N^T x (Hermitian: N^H x). */
    int (*pivots)(mpki_cuda *cuda, const mpki_isai_gathering *g, int backward, void *x);
    /** to (single precision) := from; *bad := 1 where one is too large for that. */
    int (*to_single)(mpki_cuda *cuda, mpk_scalar scalar, int64_t count, const void *from, void *to,
                     int32_t *bad);
    /** *bad := the first entry that is NaN or infinite; set before. */
    int (*finite)(mpki_cuda *cuda, mpk_scalar scalar, int64_t count, const void *val, int64_t *bad);
} mpki_cuda_isai_table;

extern const mpki_cuda_isai_table mpki_cuda_isai_functions;

#ifdef __cplusplus
}
#endif
#endif
