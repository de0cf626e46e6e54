/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_API_H
#define MPKI_CUDA_API_H
/** What libmetapack and its CUDA module (libmetapack_cuda.so) agree on: plain C, no CUDA type. The
 *  library loads the module when a device is first asked for (load.c); nothing else links to CUDA.
 *  All functions return an mpk_status; the text of the last failure is in the runtime. */
#include <metapack/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPKI_CUDA_VERSION 1

/** A device, its streams, events and cuBLAS handles: one for each mpk_context that asks. */
typedef struct mpki_cuda mpki_cuda;

/** One dense matrix on the device, and how it is to be treated. */
typedef struct mpki_cuda_dense {
    mpk_scalar scalar;
    int hermitian;     /**< complex only: A = A^H */
    int method;        /**< mpki_cuda_method */
    int n;             /**< order */
    int64_t lda;       /**< >= n */
    void *A;           /**< device; lower triangle by columns; out: L and D as LAPACK's sytrf */
    int *perm;         /**< device, n: old index at new place */
    int *kind;         /**< device, n: 0 pivot of order 1; 1, 2: first, second of a pair */
    void *work;        /**< device, workspace() bytes, 256-aligned */
    int64_t work_bytes;
    double u;          /**< threshold: |L| <= 1/u */
    double zero_tolerance; /**< a column not above this times max |A| is a zero pivot */
    int block;         /**< outer block of columns, multiple of 128; 0: the best known */
    int tf32;          /**< s, c: products on tensor cores in TF32 (3: three-fold, near single) */
    void *stream;      /**< caller's cudaStream_t */
    /* out */
    int64_t zeros;      /**< pivots exactly zero */
    int64_t delayed;    /**< columns that failed the threshold test and were put off */
    int64_t stages;     /**< passes over what was put off, 1 if nothing was */
    int64_t restarts;   /**< times the pipeline was refilled */
    int64_t slow_tiles; /**< tiles that needed complete pivoting over all columns */
    double largest;     /**< max |A| (|re| + |im|), to 20 bits */
    double max_l;       /**< max |L| outside the diagonal tiles, likewise */
} mpki_cuda_dense;

typedef enum mpki_cuda_method {
    MPKI_CUDA_TILE = 0,  /**< tile LDLT, threshold tested afterwards */
    MPKI_CUDA_NONE = 1,  /**< no pivoting */
    MPKI_CUDA_BUNCH_KAUFMAN = 2,
    MPKI_CUDA_ROOK = 3,
    MPKI_CUDA_AASEN = 4
} mpki_cuda_method;

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

    /** Bytes of workspace that factorize and solve want (for nrhs right-hand sides). */
    int (*dense_workspace)(mpki_cuda *cuda, const mpki_cuda_dense *d, int64_t nrhs, int64_t *bytes);
    int (*dense_factorize)(mpki_cuda *cuda, mpki_cuda_dense *d);
    /** B (n x nrhs, device) becomes the solution. */
    int (*dense_solve)(mpki_cuda *cuda, const mpki_cuda_dense *d, int nrhs, void *B, int64_t ldb);
} mpki_cuda_table;

/** The module's one exported symbol: "mpki_cuda_module". */
typedef const mpki_cuda_table *(*mpki_cuda_module_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
