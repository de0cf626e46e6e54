/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_SYSTEM_H
#define MPKI_IPOPT_SYSTEM_H
/** What stands behind all interfaces: a pattern with its analysis, and factorizations of matrices
 *  with that pattern. */
#include <metapack/metapack.h>
#include <stdbool.h>

/** The pattern of a sequence of matrices. The analysis wants values, to tell weak pivots from
 *  strong ones, and Ipopt has none yet when it hands over the pattern: it is made when the first
 *  matrix is factorized. Shared by its factors; freed with the last of them. */
typedef struct ip_pattern ip_pattern;
/** One factorization, with its context: any number of them may be in use at once. */
typedef struct ip_factor ip_factor;

/** Make a pattern; everything is copied.
 *  allocator [in]  NULL: the C library's
 *  n         [in]  order
 *  ptr       [in]  n + 1
 *  row       [in]  ptr[n] - base: rows >= their column, increasing
 *  base      [in]  0 or 1: what ptr and row count from
 *  ordering  [in]  AUTO, AMD or ND
 *  pattern   [out] created
 *  Returns MPK_OK | MPK_ERR_ARGUMENT (NULL, n < 0), _FORMAT (not such a pattern), _MEMORY. */
mpk_status ip_pattern_create(const mpk_allocator *allocator, int n, const int *ptr, const int *row,
                             int base, mpk_ordering ordering, ip_pattern **pattern);
/** NULL is fine; what factors still use is freed with the last of them. */
void ip_pattern_release(ip_pattern *pattern);
int ip_pattern_n(const ip_pattern *pattern);
/** The same pattern? ptr and row NULL: yes. */
bool ip_pattern_equal(const ip_pattern *pattern, const int *ptr, const int *row, int base);

/** Analyse with these values (nnz, as row), in place of any analysis made before.
 *  Returns what mpk_analyse does. */
mpk_status ip_pattern_analyse(ip_pattern *pattern, const double *val);

/** What a factorization is asked for, in the caller's terms.
 *  u, from 1e-8 (Ipopt's start) upwards: the caller's wish for stability; docs/guide/ipopt.md has
 *  how it becomes METAPACK's pivot threshold. small: pivot columns not above
 *  it, or not above the rounding errors, are zero. */
typedef struct ip_request {
    double u, small, static_shift;
} ip_request;

/** Factorize. *fac NULL: created. val [in] nnz, as row.
 *  Returns what mpk_factorize does; after MPK_SINGULAR the factor can be used. */
mpk_status ip_factorize(ip_pattern *pattern, const double *val, const ip_request *request,
                        ip_factor **fac);
void ip_factor_free(ip_factor **fac);
void ip_factor_info(const ip_factor *fac, mpk_factor_info *info, mpk_analysis_info *analysis);
/** log |det A|, of the nonzero pivots. */
double ip_factor_logdet(const ip_factor *fac);
/** The scaling in force, n. */
void ip_factor_scale(ip_factor *fac, double *scale);

/** X := A^-1 X, or a part of it: job 0 all, 1 L, 2 D, 3 L^T, 4 D and L^T.
 *  x [inout] n x nrhs, ldx >= n. Returns what mpk_solve_part does. */
mpk_status ip_solve(ip_factor *fac, int job, int nrhs, double *x, int ldx);

#endif
