/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PERM_H
#define MPKI_PERM_H
#include "stream.h"

/** Read a permutation of n from a text file, plain, .gz or .xz, or standard input: n integers
 * separated by blanks, counted from 0 or from 1 (told apart by which of 0 and n occurs); lines that
 * begin with % or # are comments, the size line of a Matrix Market array is understood. perm [out]
 * n entries counted from 0, freed with mpki_release(). Returns MPK_OK | MPK_ERR_FILE, _FORMAT,
 * _INPUT (with the line), _MEMORY. */
mpk_status mpki_perm_read(mpk_context *ctx, const char *path, int32_t n, int32_t **perm);
/** The same from an open stream. */
mpk_status mpki_perm_read_stream(mpk_context *ctx, mpki_stream *stream, int32_t n, int32_t **perm);

/** Read where the blocks or pivots of an order of n rows begin, in the same form: positions,
 *  increasing, counted from 0 or from 1 as the first one says; that after the last may be there or
 *  not. start [out] they, from 0, and n; freed with mpki_release(). */
mpk_status mpki_starts_read(mpk_context *ctx, const char *path, int32_t n, int32_t **start);
mpk_status mpki_starts_read_stream(mpk_context *ctx, mpki_stream *stream, int32_t n,
                                   int32_t **start);

/** Is options.given_perm (n entries, or NULL) a permutation? MPK_ERR_ARGUMENT with the first entry
 * that is not right. */
mpk_status mpki_perm_check(mpk_context *ctx, const char *stage, int32_t n, const int32_t *given);

#endif
