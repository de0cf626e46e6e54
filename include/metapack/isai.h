/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_ISAI_H
#define METAPACK_ISAI_H
/** Incomplete sparse approximate inverses: M on a given pattern S with (A M - I)_ij = 0 for (i, j)
 *  in S. Each column is the solution of a small system of its own, A(J, J) m = e_j with J the rows
 *  of S(:, j); of a triangular matrix that system is triangular. A triangular solve then becomes a
 *  sparse product. docs/guide/isai.md
 *  Source: Anzt, Chow, Huckle & Dongarra 2016, "Batched generation of incomplete sparse approximate
 *  inverses on GPUs", Algorithm 1; Anzt, Huckle, Braeckle & Dongarra 2018,
 *  doi:10.1016/j.parco.2017.10.003. Departs from it: columns of any length, each exact on its
 *  pattern; a limit of the length only where one is asked for.
 *  Inside a factor on blocks the same is options.triangular = MPK_TRIANGULAR_ISAI. */
#include <metapack/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the matrix is taken for. */
typedef enum mpk_isai_kind {
    MPK_ISAI_LOWER = 0,   /**< its lower triangle L is inverted; entries above are not read */
    MPK_ISAI_UPPER = 1,   /**< its upper triangle U */
    MPK_ISAI_GENERAL = 2, /**< all of A, by small dense systems with partial pivoting */
    MPK_ISAI_DEFINITE = 3 /**< A symmetric or Hermitian positive definite, both triangles given:
                               A^-1 ~ G G^H with G upper triangular, as in FSPAI (Kolotilina &
                               Yeremin 1993, doi:10.1137/0614004) */
} mpk_isai_kind;

/** Where the pattern comes from. Of triangular and definite matrices it is cut to the triangle. The
 *  diagonal always belongs to it. */
typedef enum mpk_isai_source {
    MPK_ISAI_POWER = 0,  /**< S(|A|^power), of the matrix or of `ptr` and `row` */
    MPK_ISAI_BLOCKS = 1, /**< `block` rows each along the diagonal: block Jacobi; 1: Jacobi */
    MPK_ISAI_GIVEN = 2   /**< `ptr` and `row` as they are */
} mpk_isai_source;

/** How to make it. Call mpk_isai_options_init() first; later versions add fields at the end. */
typedef struct mpk_isai_options {
    size_t struct_size;
    mpk_isai_kind kind;     /**< default MPK_ISAI_LOWER */
    mpk_isai_source source; /**< default MPK_ISAI_POWER */
    int power;              /**< >= 0; default 1. 0: the diagonal alone */
    int block;              /**< >= 1; default 1 */
    int32_t limit;          /**< most entries of a column; default 0: no limit */
    mpk_isai_over over;     /**< what becomes of a longer one; default MPK_ISAI_REFUSE */
    int relax; /**< >= 0; default 0: x := M b, then so many times x := x + M (b - A x) */
    mpk_precision precision; /**< in which M is stored; default: that of the matrix */
    int threads;             /**< default 0: as options.threads */
    const int64_t *ptr; /**< n + 1: a pattern by columns, ascending, 0-based; NULL (default): that
                                  of the matrix. Read by mpk_isai_create() only */
    const int32_t *row; /**< ptr[n] */
    mpk_memory memory;  /**< MPK_DEVICE: all is done and held on the device below; each array and
                             vector of a call may then lie in its memory or in the host's. Default
                             MPK_HOST */
    int device;         /**< number of the device, for MPK_DEVICE */
} mpk_isai_options;

typedef struct mpk_isai mpk_isai;

/** Fill *options with the defaults. */
MPK_API void mpk_isai_options_init(mpk_isai_options *options);

/** Make the approximate inverse of a matrix given by columns.
 *  scalar  [in]  of val, M and all vectors
 *  ptr     [in]  n + 1; row [in] ptr[n], 0-based, ascending within a column; val [in] ptr[n].
 *                All of them are copied
 *  options [in]  NULL: the defaults
 *  isai    [out] must point to NULL; freed with mpk_isai_destroy()
 *  Returns MPK_OK | MPK_SINGULAR: a small system of a general or definite matrix was singular, or
 *          not definite; its column is the diagonal alone (1 where that is zero); mpk_last_error()
 *          names the first one, mpk_isai_info counts them; *isai is usable
 *          | MPK_ERR_ARGUMENT: also a column over the limit, which is named
 *          | MPK_ERR_INPUT: indices; NaN or infinities; a zero on the diagonal of a triangle: the
 *            column is named
 *          | MPK_ERR_NUMERIC: a column of M overflows: it is named | MPK_ERR_MEMORY, _CANCELLED,
 *            _DEVICE
 *  Threads: options.threads; the bits of M do not depend on them. */
MPK_API mpk_status mpk_isai_create(mpk_context *ctx, mpk_scalar scalar, int32_t n,
                                   const int64_t *ptr, const int32_t *row, const void *val,
                                   const mpk_isai_options *options, mpk_isai **isai);

/** The same for other values of the same pattern; that of M stays as it is.
 *  val [in] ptr[n], in the order given to mpk_isai_create()
 *  Returns as mpk_isai_create(); after a failure there are no numbers until an update succeeds. */
MPK_API mpk_status mpk_isai_update(mpk_context *ctx, const void *val, mpk_isai *isai);

/** Which product: with M, its transpose, or its conjugate transpose. */
typedef enum mpk_isai_side {
    MPK_ISAI_AS_IS = 0,
    MPK_ISAI_TRANSPOSED = 1,
    MPK_ISAI_ADJOINT = 2
} mpk_isai_side;

/** x := M b, or M^T b, M^H b (definite: G G^H b), and the sweeps of relaxation that were asked for,
 *  with A, A^T or A^H.
 *  b [in], x [out] n x nrhs, leading dimensions ldb, ldx >= n; b == x is allowed, with ldb == ldx
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE. Threads: options.threads, the same bits for
 *  any; on a device the same bits in every run. It begins when all that was queued there is
 *  done. */
MPK_API mpk_status mpk_isai_apply(mpk_context *ctx, mpk_isai *isai, mpk_isai_side side,
                                  int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx);

/** Copy M (definite: G) by columns; ascending, diagonal included.
 *  ptr [out] n + 1; row [out], val [out] info.entries each, in the scalar of the matrix; any may be
 *  NULL. Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE. */
MPK_API mpk_status mpk_isai_get(mpk_context *ctx, const mpk_isai *isai, int64_t *ptr, int32_t *row,
                                void *val);

/** Copy the numbers; all zero for isai NULL. */
MPK_API void mpk_isai_info_get(const mpk_isai *isai, mpk_isai_info *info);
MPK_API void mpk_isai_destroy(mpk_isai **isai);

/** The function of this name, with n in 64 bits: metapack.h, Orders.
 *  Returns as it does | MPK_ERR_SIZE: n is above 2147483647 */
MPK_API mpk_status mpk_isai_create_wide(mpk_context *ctx, mpk_scalar scalar, int64_t n,
                                        const int64_t *ptr, const int32_t *row, const void *val,
                                        const mpk_isai_options *options, mpk_isai **isai);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_isai_options_init_sized(size_t size, mpk_isai_options *options);
MPK_API void mpk_isai_info_get_sized(size_t size, const mpk_isai *isai, mpk_isai_info *info);
#ifndef MPKI_LIBRARY
#define mpk_isai_create(...) mpk_isai_create_wide(__VA_ARGS__)
#define mpk_isai_options_init(...)                                                                 \
    mpk_isai_options_init_sized(sizeof(mpk_isai_options), __VA_ARGS__)
#define mpk_isai_info_get(...) mpk_isai_info_get_sized(sizeof(mpk_isai_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
