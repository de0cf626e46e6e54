/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SYSTEMS_H
#define METAPACK_SYSTEMS_H
/** Many sparse systems of one pattern, or of a few: one analysis, values of their own, and an outcome
 *  for each.
 *  A system that is singular, or has a NaN, does not affect its neighbours, and each has the bits
 *  that it has alone. On the processor or a GPU; matrices that are not symmetric by LU, on the
 *  processor, one after another in each thread. What to expect:
 *  docs/guide/systems.md. Many small dense matrices: metapack/batch.h. Example:
 *  examples/systems.c. */
#include <metapack/batch.h>
#include <metapack/factor.h>
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The systems; each has a number, its slot. */
typedef struct mpk_systems mpk_systems;

/** Who factorized a system. */
typedef enum mpk_systems_tier {
    MPK_TIER_NONE = 0,     /**< nobody: it has no factors */
    MPK_TIER_TEMPLATE = 1, /**< several systems at once, with the pivots that suit the analysed
                                values, tested by its own */
    MPK_TIER_SINGLE = 2,   /**< mpk_factorize(), with pivots of its own */
    MPK_TIER_OWN = 3       /**< several systems at once, on the template's tree, each with pivots of
                                its own in each front; on the processor */
} mpk_systems_tier;

/** What is known of the systems beforehand. mpk_systems_options_init() first; later versions extend
 *  it. */
typedef struct mpk_systems_options {
    size_t struct_size;
    int64_t expected; /**< about how many systems there will be; 0 (default): the count at creation.
                           On the processor it changes the speed, not the bits. With device = cuda
                           it chooses the order of elimination, too, see mpk_systems_create() */
    int keep; /**< what becomes of systems that a mask leaves out of a factorization. 1 (default):
                   they keep their factors. 0: they lose them, and the others are packed anew, which
                   saves time where systems come to their end one by one */
} mpk_systems_options;

/** Fill with defaults. */
MPK_API void mpk_systems_options_init(mpk_systems_options *options);

/** What became of each system, in host memory; each pointer may be NULL. Only the systems that a
 *  call worked on are written, and only the fields that it has to say something about. */
typedef struct mpk_systems_results {
    int32_t *status;    /**< [out] count: an mpk_status, of the factorization or of the solve, as
                             mpk_factorize() and mpk_solve() would return it */
    int32_t *tier;      /**< [out] count: an mpk_systems_tier */
    int32_t *rank;      /**< [out] count: an mpk_rank */
    int64_t *inertia;   /**< [out] 3 count: positive, negative, zero; as in mpk_factor_info.
                             Zeros for a matrix that is not symmetric */
    int32_t *certified; /**< [out] count: 1: the inertia was examined, and is that of A
                             (mpk_certify); 0: it is not known, or there is none, as of a matrix
                             that is not symmetric. Only where this is given are
                             systems examined, for a product and a solve each in most cases */
    int32_t *steps;     /**< [out] count: of refinement, of the right-hand side with the most */
    double *growth;     /**< [out] count: max |D| / max |A|, both scaled */
    double *omega;    /**< [out] count: componentwise backward error (mpk_solve_info), the worst of
                             its right-hand sides; bare solves do not know it, nor the next */
    double *normwise; /**< [out] count: normwise backward error, likewise */
    double *logdet;   /**< [out] 3 count: log|det A|, and the sign or phase of det A (re, im) */
} mpk_systems_results;

/** Create `count` systems without values. Where that will be faster, and the analysed values have
 *  pivots that suit them, a template of these is made: that is a factorization of them, and up to
 *  twelve of values near them, for columns that may have to wait. Neither the count of a call nor a
 *  mask nor the number of threads changes any bit of what is computed.
 *  an       [in] borrowed: must outlive *out; of method ldlt, and with values like those to come
 *  options  [in] as for mpk_factorize() and mpk_solve(), for all calls; NULL: defaults. `threads`
 *                systems or packs of them are worked on at the same time. device = cuda: systems
 *                with the template's pivots are factorized and solved on GPU device_number, which
 *                keeps their factors, in one kernel for a call; what they leave goes to the single
 *                engine on the processor. auto is the processor. An analysis for the processor is
 *                the better one for many of them. Few of them wait for the longest path of the
 *                tree: where `expected` systems are expected to be done sooner in it, minimum degree
 *                is replaced by nested dissection, or that by minimum degree, for another
 *                analysis and factorization of the analysed values. So with device = cuda bits
 *                depend on `expected`, or the count at creation where it is 0. ordering other than
 *                auto: the analysis's order stays, whatever `expected` is
 *  how      [in] NULL: defaults
 *  out      [out] created; *out must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _SIZE, _MEMORY, _CANCELLED
 *          | MPK_ERR_UNSUPPORTED: a method on blocks, an interior (metapack/schur.h)
 *          | MPK_ERR_DEVICE: device = cuda, and there is none */
MPK_API mpk_status mpk_systems_create(mpk_context *ctx, const mpk_analysis *an,
                                      const mpk_options *options, const mpk_systems_options *how,
                                      int64_t count, mpk_systems **out);

/** Create systems of several patterns, one for each problem: of any orders and symmetries, but of
 *  one scalar type. Problems with the same pattern are analysed once, with the values of the first
 *  of them, and share a template; a system whose pattern no other has is factorized by the single
 *  engine. So bits depend on which problems there are, but neither on a mask nor on the number of
 *  threads. All calls below take such systems but mpk_systems_resize(): with ax, b and x of layout
 *  MPK_BATCH_POINTERS or _STRIDED, n being that of each system; ld is not read where there is one
 *  right-hand side, else it is at least the largest n, or 0 with pointers: columns of each system
 *  follow each other. A stride has room for the largest system. With device = cuda the systems of
 *  each template are on the GPU, those of several patterns at the same time, in as many streams as
 *  there are threads.
 *  problems [in] count; may be destroyed afterwards. They have no factors yet: their values are
 *                given again, as ax
 *  options  [in] as above, and for the analyses; ordering = given is not for these
 *  Returns as mpk_systems_create(), and what mpk_analyse() does
 *          | MPK_ERR_UNSUPPORTED: also ordering = given */
MPK_API mpk_status mpk_systems_create_mixed(mpk_context *ctx, int64_t count,
                                            const mpk_problem *const *problems,
                                            const mpk_options *options,
                                            const mpk_systems_options *how, mpk_systems **out);

/** Change the number of systems: those that stay keep their factors, new ones have none.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _UNSUPPORTED (several patterns): nothing was
 *  changed */
MPK_API mpk_status mpk_systems_resize(mpk_context *ctx, mpk_systems *systems, int64_t count);

/** Make a new template, of the values of one system that the single engine has factorized: where
 *  values have changed so much since the analysis that the old one serves few (mpk_systems_info), as
 *  in late steps of an interior-point method, the new one mostly serves all. From their next
 *  factorization on all systems begin with it, by mpk_systems_refactorize(), too: their bits depend
 *  on the values it was made from. Factors by the old template are lost, those of the single engine
 *  stay until then. Costs an analysis of
 *  these values and what mpk_systems_create() does with them.
 *  slot [in] a system with factors; of tier template: nothing is changed
 *  Returns MPK_OK
 *          | MPK_ERR_ARGUMENT: it has none | MPK_ERR_UNSUPPORTED: systems of several patterns, or
 *            there is no such template (the text says why) | MPK_ERR_MEMORY, _DEVICE: nothing was
 *            changed */
MPK_API mpk_status mpk_systems_learn(mpk_context *ctx, mpk_systems *systems, int64_t slot);

/** Factorize. Systems whose pivots fail the test of the template choose their own; those that fail
 *  again are done by the single engine, in the same call.
 *  ax      [in]  one column of values for each system, in the order of the problem's entries, as
 *                mpk_factorize() takes them: entry k is (k, 0) of its matrix; ld is not read. In host
 *                memory, or, where device = cuda, in that of the device: all work that was queued
 *                there, in whatever stream, is waited for
 *  mask    [in]  count bytes, 0: leave this system alone; NULL: none
 *  results [out] may be NULL; status to certified, growth and logdet
 *  Returns MPK_OK
 *          | MPK_SINGULAR, MPK_PERTURBED: some are, all have factors
 *          | MPK_PARTIAL: some have no factors: their status is MPK_ERR_INPUT (NaN, Inf, triangles
 *            that differ), MPK_ERR_NUMERIC or MPK_ERR_INTERNAL
 *          | MPK_ERR_ARGUMENT: nothing was changed
 *          | MPK_ERR_DEVICE: ax lies on a device, and the systems do not, and nothing was changed;
 *            or the device failed
 *          | MPK_ERR_MEMORY, _CANCELLED, _DEVICE: the systems of the call have no factors any more
 *  Threads: options.threads; a context and its systems serve one caller at a time. */
MPK_API mpk_status mpk_systems_factorize(mpk_context *ctx, mpk_systems *systems,
                                         const mpk_batch_array *ax, const uint8_t *mask,
                                         const mpk_systems_results *results);

/** The same with new values: each system begins with who factorized it last, and with what was
 *  learned then, as mpk_refactorize(); mpk_systems_factorize() begins anew. */
MPK_API mpk_status mpk_systems_refactorize(mpk_context *ctx, mpk_systems *systems,
                                           const mpk_batch_array *ax, const uint8_t *mask,
                                           const mpk_systems_results *results);

/** Solve. Refined as mpk_solve() does it; a system whose solution is not accurate, or in doubt, is
 *  factorized by the single engine, in the same call, and solved by it.
 *  nrhs    [in]  right-hand sides of each system
 *  b       [in]  n x nrhs each; b and x in host memory or, where device = cuda, in the device's
 *  x       [out] n x nrhs each; the same array as b is allowed, any other overlap is not. Columns
 *                of systems that have no solution are left as they are
 *  bare    [in]  1: no refinement, and no errors: a system is then solved as it was factorized
 *  mask    [in]  as above
 *  results [out] may be NULL; status, tier, steps, omega and normwise; all of a system whose tier
 *                was 1 and is 2, for its factors are others
 *  Returns MPK_OK
 *          | MPK_SINGULAR, MPK_PERTURBED, MPK_INACCURATE: some are, all have solutions
 *          | MPK_PARTIAL: some have none: their status is MPK_ERR_INPUT (b is not finite, or their
 *            values were not), MPK_ERR_NUMERIC, MPK_ERR_INTERNAL, or MPK_ERR_ARGUMENT (no factors)
 *          | MPK_ERR_ARGUMENT: nothing was written
 *          | MPK_ERR_DEVICE: b or x lies on a device, and the systems do not, and nothing was
 *            written; or the device failed
 *          | MPK_ERR_MEMORY, _CANCELLED, _DEVICE: x is undefined; factors stay */
MPK_API mpk_status mpk_systems_solve(mpk_context *ctx, mpk_systems *systems, int32_t nrhs,
                                     const mpk_batch_array *b, const mpk_batch_array *x, int bare,
                                     const uint8_t *mask, const mpk_systems_results *results);

/** mpk_systems_factorize(), then mpk_systems_solve(), pack by pack (on a device, system by system):
 *  factors are solved with while they are still in a cache. Systems without factors are not solved, and their status is that of
 *  the factorization. */
MPK_API mpk_status mpk_systems_factorize_solve(mpk_context *ctx, mpk_systems *systems,
                                               const mpk_batch_array *ax, int32_t nrhs,
                                               const mpk_batch_array *b, const mpk_batch_array *x,
                                               int bare, const uint8_t *mask,
                                               const mpk_systems_results *results);
/** The same by mpk_systems_refactorize(). */
MPK_API mpk_status mpk_systems_refactorize_solve(mpk_context *ctx, mpk_systems *systems,
                                                 const mpk_batch_array *ax, int32_t nrhs,
                                                 const mpk_batch_array *b, const mpk_batch_array *x,
                                                 int bare, const uint8_t *mask,
                                                 const mpk_systems_results *results);

/** Copy a quantity of one system's factors: mpk_get().
 *  slot [in]  0 .. count - 1
 *  out  [out] `bytes` bytes, at least those that mpk_get_size() has for such a factor: inertia 24,
 *             perm 4 n, scale 8 n, D 2 n entries, logdet 24
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: also where it has no factors */
MPK_API mpk_status mpk_systems_get(mpk_context *ctx, const mpk_systems *systems, int64_t slot,
                                   mpk_quantity what, void *out, size_t bytes);

/** What a system was refused for. */
typedef enum mpk_refused {
    MPK_REFUSED_OTHERWISE =
        0,                 /**< triangles that differ, a Hermitian diagonal that is not real, sums
                                    that overflow */
    MPK_REFUSED_VALUE = 1, /**< a value that is NaN or infinite */
    MPK_REFUSED_SIDE = 2   /**< an entry of b that is */
} mpk_refused;

/** The first number that is NaN or infinite. */
typedef struct mpk_systems_refusal {
    int32_t what;        /**< an mpk_refused; where it is 0 the rest is, too */
    int32_t row, column; /**< of the matrix; of b, whose columns are its right-hand sides */
    int64_t entry;       /**< of a value: its number in ax of the system */
} mpk_systems_refusal;

/** Why the last call refused a system: its status is MPK_ERR_INPUT. mpk_last_error() tells the same
 *  of the first such system, in words.
 *  slot [in]  0 .. count - 1
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: also where the last call did not work on it, or did not
 *  refuse it */
MPK_API mpk_status mpk_systems_refused(mpk_context *ctx, const mpk_systems *systems, int64_t slot,
                                       mpk_systems_refusal *out);

/** What the systems are, and who works on them. */
typedef struct mpk_systems_info {
    int64_t count;
    int64_t by_template, by_single; /**< systems with factors, by tier */
    int32_t n;
    int32_t width;       /**< systems side by side in a pack; 1: there is no template, or they are
                              on a device */
    const char *reason;  /**< why there is no template; "" where there is one. Static */
    int32_t max_front;   /**< rows of its largest front; of the analysis where there is none */
    int64_t factor_nnz;  /**< entries of L, likewise */
    double flops;        /**< of a factorization, likewise */
    int64_t bytes;       /**< held, with the factors of the single engine */
    int64_t patterns;    /**< 1, or those of mpk_systems_create_mixed(): n, width and max_front are
                              the largest then, factor_nnz and flops those of all systems */
    int64_t by_own;      /**< as by_template: of tier own */
    int64_t ordering;    /**< an mpk_ordering: the template's, or the analysis's where there is
                              none; that of the first of several patterns */
    int64_t reserved[5]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_systems_info;

/** Copy the numbers; all zero, and reason "", for NULL. */
MPK_API void mpk_systems_info_get(const mpk_systems *systems, mpk_systems_info *info);

MPK_API void mpk_systems_destroy(mpk_systems **systems);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_systems_options_init_sized(size_t size, mpk_systems_options *options);
MPK_API void mpk_systems_info_get_sized(size_t size, const mpk_systems *systems,
                                        mpk_systems_info *info);
#ifndef MPKI_LIBRARY
#define mpk_systems_options_init(...)                                                              \
    mpk_systems_options_init_sized(sizeof(mpk_systems_options), __VA_ARGS__)
#define mpk_systems_info_get(...) mpk_systems_info_get_sized(sizeof(mpk_systems_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
