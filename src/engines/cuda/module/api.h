/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_API_H
#define MPKI_CUDA_MODULE_API_H
/** What libmetapack and its CUDA module (libmetapack_cuda.so) agree on: plain C, no CUDA type. The
 *  library loads the module when a device is first asked for (load.c); nothing else links to CUDA.
 *  All functions return an mpk_status; the text of the last failure is in the runtime. */
#include <metapack/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPKI_CUDA_VERSION 21

/** A device, its streams, events and cuBLAS handles: one for each mpk_context that asks. */
typedef struct mpki_cuda mpki_cuda;

/** How a dense matrix is factored. */
typedef enum mpki_cuda_method {
    MPKI_CUDA_TILE = 0, /**< tile LDLT, threshold tested afterwards */
    MPKI_CUDA_NONE = 1, /**< no pivoting */
    MPKI_CUDA_BUNCH_KAUFMAN = 2,
    MPKI_CUDA_ROOK = 3,
    MPKI_CUDA_AASEN = 4,
    MPKI_CUDA_BUTTERFLY = 5 /**< random butterflies, then no pivoting */
} mpki_cuda_method;

/** One dense matrix on the device, and how it is to be treated. */
typedef struct mpki_cuda_matrix {
    mpk_scalar scalar; /**< of the factor */
    int hermitian;     /**< complex only: A = A^H */
    int method;        /**< mpki_cuda_method */
    int n;             /**< order */
    int64_t lda;       /**< >= n */
    void *A;     /**< device; lower triangle by columns; out: L and D as LAPACK's sytrf, L in its
                      final order */
    int *perm;   /**< device, n: old index at new place */
    int *kind;   /**< device, n: 0 pivot of order 1; 1, 2: first, second of a pair */
    int *ipiv;   /**< device, n, Bunch-Kaufman and rook: LAPACK's ipiv */
    void *extra; /**< device: butterfly: its diagonals; Aasen: T, see dense/aasen.cuh */
    void *work;  /**< device, workspace() bytes, 64-aligned */
    int64_t work_bytes;
    double u;              /**< threshold: |L| <= 1/u */
    double zero_tolerance; /**< a column not above this times max |A| is a zero pivot */
    double most;           /**< max |A|, where it is known; 0: to be found */
    int block;             /**< columns of an outer block; 0: the best known */
    int tf32;  /**< s, c: trailing updates on tensor cores: 1 inputs rounded to TF32 (all products);
                    3 nearly single precision by three products, of half precision where entries
                    are real; s alone: 2 inputs in half precision, scaled by powers of two */
    int depth; /**< of the butterflies */
    int64_t seed;
    void *stream; /**< caller's cudaStream_t */
    /* out */
    int64_t zeros;      /**< pivots exactly zero */
    int64_t delayed;    /**< columns that failed the threshold test and were put off */
    int64_t stages;     /**< passes over what was put off, 1 if nothing was */
    int64_t restarts;   /**< times the pipeline was refilled */
    int64_t slow_tiles; /**< tiles that needed complete pivoting over all columns */
    double largest;     /**< max |A| (|re| + |im|), to 20 bits */
    double max_l;       /**< max |L| outside the diagonal tiles, likewise */
    double top;         /**< Aasen: max |T|, likewise */
} mpki_cuda_matrix;

/** Inertia and sizes of D. */
typedef struct mpki_cuda_pivots {
    int64_t positive, negative, zero, pairs;
    double least, most; /**< smallest |eigenvalue| of a pivot; largest entry of D */
} mpki_cuda_pivots;

/** Largest componentwise error, |r|, |x|, |b| of a right-hand side. */
typedef struct mpki_cuda_error {
    double omega, r, x, b;
} mpki_cuda_error;

/** What there is for one kind of entries. `upper`: the triangle that is stored. */
typedef struct mpki_cuda_entries {
    /** Bytes of workspace of factorize, and of solve for nrhs right-hand sides; of `extra`. */
    int (*workspace)(mpki_cuda *cuda, const mpki_cuda_matrix *d, int64_t nrhs, int64_t *factorize,
                     int64_t *solve, int64_t *extra);
    int (*factorize)(mpki_cuda *cuda, mpki_cuda_matrix *d);
    /** B (n x nrhs, device) becomes the solution. */
    int (*solve)(mpki_cuda *cuda, const mpki_cuda_matrix *d, int nrhs, void *B, int64_t ldb);
    int (*pivots)(mpki_cuda *cuda, const mpki_cuda_matrix *d, mpki_cuda_pivots *out);
    /** The lower triangle of `to` (this kind) from that of `from`; upper: in reverse order. back:
     *  the other way: to's upper triangle from from's lower one. */
    int (*triangle)(mpki_cuda *cuda, int n, mpk_scalar kind, const void *from, int64_t ldf,
                    int upper, double scale, void *to, int64_t ldt, int back, void *stream);
    /** Largest modulus, infinity for NaN; norm (largest row sum of moduli; work: residual's) may be
     *  NULL. */
    int (*largest)(mpki_cuda *cuda, int n, const void *A, int64_t lda, int upper, double *most,
                   double *norm, void *stream);
    /** rows x cols of this kind from entries of `kind`; from NULL: zeros. scale: a factor for each
     *  column, or NULL. */
    int (*copy)(mpki_cuda *cuda, int64_t rows, int64_t cols, mpk_scalar kind, const void *from,
                int64_t ldf, void *to, int64_t ldt, const double *scale, void *stream);
    int (*axpy)(mpki_cuda *cuda, int64_t n, int64_t cols, const double alpha[2], const void *x,
                int64_t ldx, void *y, int64_t ldy, void *stream);
    /** result: two numbers for each column. */
    int (*dot)(mpki_cuda *cuda, int64_t n, int64_t cols, const void *x, int64_t ldx, const void *y,
               int64_t ldy, double *result, void *stream);
    int64_t (*residual_bytes)(int64_t n, int64_t nrhs);
    int (*residual)(mpki_cuda *cuda, int n, int hermitian, int upper, const void *A, int64_t lda,
                    int nrhs, const void *x, int64_t ldx, const void *b, int64_t ldb, void *r,
                    int64_t ldr, mpki_cuda_error *error, void *work, void *stream);
    /** Rows of x in reverse order. */
    int (*reverse)(mpki_cuda *cuda, int n, int nrhs, void *x, int64_t ldx, void *stream);
    /** Columns of a block of Aasen's T for order n. */
    int (*width)(mpki_cuda *cuda, int n);
} mpki_cuda_entries;

/** Where a caller has device memory from: mpk_device_allocator, field by field. */
typedef struct mpki_cuda_allocator {
    void *(*alloc)(void *user, size_t size, int number, void *stream);
    void (*release)(void *user, void *ptr, size_t size, int number, void *stream);
    void *user;
} mpki_cuda_allocator;

typedef struct mpki_cuda_table {
    int version; /**< MPKI_CUDA_VERSION */
    /** Open device `device` (-1: the current one). Needs a driver and a GPU: else MPK_ERR_DEVICE
     *  and the reason in text[size]. */
    int (*open)(int device, mpki_cuda **cuda, char *text, size_t size);
    void (*close)(mpki_cuda *cuda);
    const char *(*last_error)(const mpki_cuda *cuda);
    /** Name, driver and runtime versions, bytes of memory free and in all. */
    int (*describe)(mpki_cuda *cuda, char *text, size_t size, int64_t *free_bytes,
                    int64_t *total_bytes);
    int (*alloc)(mpki_cuda *cuda, int64_t bytes, void **ptr);
    void (*release)(mpki_cuda *cuda, void *ptr);
    /** 1 if ptr is device (or managed) memory, 0 if host memory. */
    int (*is_device)(mpki_cuda *cuda, const void *ptr);
    /** Columns of `width` bytes, in the stream; to_device 1, to_host 0. */
    int (*copy)(mpki_cuda *cuda, void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                int64_t width, int64_t columns, int to_device, void *stream);
    int (*synchronize)(mpki_cuda *cuda, void *stream);
    /** Until all streams of the device have come to rest. */
    int (*settle)(mpki_cuda *cuda);

    /** pivots[k] = perm[k] (kind 0) or ~perm[k], and back; upper: places and indices from the end.
     */
    int (*pivots_out)(mpki_cuda *cuda, int n, int upper, const int *perm, const int *kind,
                      int *pivots, void *stream);
    int (*pivots_in)(mpki_cuda *cuda, int n, int upper, const int *pivots, int *perm, int *kind,
                     void *stream);
    const mpki_cuda_entries *entries[4];           /**< s d c z */
    const struct mpki_cuda_batch_table *batch;     /**< engines/cpu/batch/batch.h */
    const struct mpki_cuda_vectors_table *vectors; /**< vectors/vectors.h */
    const struct mpki_cuda_blocks_table
        *blocks; /**< engines/cpu/block_factor/block_factor.h: factorization */
    const struct mpki_cuda_sweeps_table
        *sweeps; /**< triangular/triangular.h: triangular solves on blocks */
    const struct mpki_cuda_direct_table *direct; /**< engines/cpu/multifrontal/multifrontal.h */
    /** Compute capability of the device: 90 for 9.0. */
    int (*capability)(const mpki_cuda *cuda);
    /** The least one that the module was compiled for. */
    int least;
    const struct mpki_cuda_isai_table *isai; /**< engines/cpu/inverse/inverse.h */
    /** As alloc and release, for memory that the stream of engines for sparse matrices alone works
     *  with: by a pool, which waits for nothing and keeps up to a 32nd of the device's memory for
     *  the next one who asks. */
    int (*take)(mpki_cuda *cuda, int64_t bytes, void **ptr);
    void (*give)(mpki_cuda *cuda, void *ptr);
    const struct mpki_cuda_accelerator_table *accelerator; /**< accelerator/kernels/accelerator.h */
    const struct mpki_cuda_systems_table *systems;         /**< systems/kernels/systems.h */
    /** What the engines for sparse matrices queue from now on comes after what is in the caller's
     *  stream. MPK_ERR_UNSUPPORTED: that one is being captured. */
    int (*follow)(mpki_cuda *cuda, void *stream);
    /** The stream that these engines queue in. */
    void *(*own_stream)(mpki_cuda *cuda);
    /** Where alloc and take have memory from; NULL: CUDA. MPK_ERR_ARGUMENT: some is held. */
    int (*set_allocator)(mpki_cuda *cuda, const mpki_cuda_allocator *allocator);
} mpki_cuda_table;

/** The module's one exported symbol: "mpki_cuda_module". */
typedef const mpki_cuda_table *(*mpki_cuda_module_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
