/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_SAVE_H
#define METAPACK_SAVE_H
/** An analysis or a factor in a file, for other processes on machines of the same kind. The file
 *  tells which version of METAPACK wrote it, and is read by that one alone; it ends with a checksum.
 *  It does not hold A's pattern: who loads it has the matrix. What it holds is checked: a file that
 *  is cut off, changed or made up is refused, and never a wrong factor.
 *  docs/guide/saving.md, docs/reference/formats.md; example: examples/nightly.c */
#include <metapack/factor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Save an analysis, of any method but the direct one for matrices that are not symmetric.
 *  path [in] a new file takes its place once it is whole; else what was there stays
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _CANCELLED
 *          | MPK_ERR_FILE: it cannot be written, or not to its end; the text has the path
 *          | MPK_ERR_UNSUPPORTED: of that one, or of the interior beside a Schur complement
 *            (metapack/schur.h) */
MPK_API mpk_status mpk_analysis_save(mpk_context *ctx, const mpk_analysis *an, const char *path);

/** Load an analysis in place of mpk_analyse(). Factors of it have the bits of those that the one
 *  which was saved gives for the same values.
 *  problem [in]  of the pattern, scalar and symmetry that was analysed; its values may be others,
 *                and are those that mpk_factorize() takes where it is given none
 *  path    [in]  a regular file, by mpk_analysis_save() or mpk_factor_save()
 *  an      [out] created; *an must be NULL before. Its info has the predictions for this machine,
 *                and the time of loading; its threads are at most those that there are here
 *  Returns MPK_OK | MPK_SINGULAR: structurally, as mpk_analyse()
 *          | MPK_ERR_ARGUMENT: the problem has another pattern, scalar or symmetry
 *          | MPK_ERR_FILE: it cannot be read | MPK_ERR_FORMAT: not such a file, or damaged
 *          | MPK_ERR_UNSUPPORTED: of another version or machine
 *          | MPK_ERR_MEMORY: also where the factor would not fit here, _CANCELLED */
MPK_API mpk_status mpk_analysis_load(mpk_context *ctx, const mpk_problem *problem, const char *path,
                                     mpk_analysis **an);

/** Save a factor by the direct method that lies in host memory, with its analysis and the values of
 *  A that it was made of.
 *  fac  [in] holds a factorization, in the precision of A or in single
 *  path [in] as for mpk_analysis_save()
 *  Returns as mpk_analysis_save() | MPK_ERR_UNSUPPORTED: on blocks, by method none, on a device,
 *          or of an interior */
MPK_API mpk_status mpk_factor_save(mpk_context *ctx, const mpk_factor *fac, const char *path);

/** Load a factor. Solves with it, mpk_get(), mpk_certify(), mpk_null_space(),
 *  mpk_selected_inverse() and mpk_refactorize() work as with the one that was saved, and give the
 *  same bits on processors with the same instruction set.
 *  an   [in]  the factor's analysis: by mpk_analysis_load() from the same file, or by mpk_analyse()
 *             with the same matrix and options; borrowed: must outlive *fac
 *  fac  [out] created; *fac must be NULL before. It lies on the processor, with the options of the
 *             one that was saved, and at most as many threads as there are here
 *  Returns MPK_OK | MPK_SINGULAR, MPK_PERTURBED: as the factorization did
 *          | MPK_ERR_ARGUMENT: the file has the factor of another analysis, or none
 *          | MPK_ERR_FILE, _FORMAT, _UNSUPPORTED, _MEMORY, _CANCELLED: as mpk_analysis_load() */
MPK_API mpk_status mpk_factor_load(mpk_context *ctx, const mpk_analysis *an, const char *path,
                                   mpk_factor **fac);

#ifdef __cplusplus
}
#endif
#endif
