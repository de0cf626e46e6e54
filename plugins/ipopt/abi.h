/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_ABI_H
#define MPKI_IPOPT_ABI_H
/** The calling interface that Ipopt has for solvers it loads at run time: fifteen functions by
 *  three names, ma97 (7), ma86 (6) and mc68 (2); fortran.h has the older ones. The declarations are our own, from the binary
 *  layout that Ipopt 3.11 and 3.14 use on LP64 machines; what is behind them is METAPACK alone. It
 *  is neither HSL nor endorsed by anybody who makes HSL.
 *
 *  Arrays: the lower triangle by columns, ptr[n + 1], row[ptr[n] - ptr[0]], val likewise; rows
 *  increase within a column; indices begin at 1 where control->f_arrays is not 0, else at 0. */
#include <stddef.h>

#if defined(__GNUC__)
#define IP_EXPORT __attribute__((visibility("default")))
#else
#define IP_EXPORT
#endif

/* ---- ma97 ------------------------------------------------------------------------------------ */

/** What the caller chooses. Used here: f_arrays, action, ordering, scaling, small, u. */
typedef struct ma97_control {
    int f_arrays; /**< not 0: indices begin at 1 */
    int action;   /**< 0: a singular matrix is flag -7; else 7, and the factor can be used */
    int nemin;
    double multiplier;
    int ordering; /**< 1 AMD, 3 nested dissection, else METAPACK's choice */
    int print_level;
    int scaling;  /**< 0: scale[], if given, is applied; else it is overwritten by the one used */
    double small; /**< see ip_request (system.h) */
    double u;     /**< likewise */
    int unit_diagnostics, unit_error, unit_warning;
    long factor_min;
    int solve_blas3;
    long solve_min;
    int solve_mf;
    double consist_tol;
    int ispare[5];
    double rspare[10];
} ma97_control;

/** What the caller is told. */
typedef struct ma97_info {
    int flag; /**< ip_flag97 */
    int flag68, flag77;
    int matrix_dup, matrix_rank, matrix_outrange, matrix_missing_diag;
    int maxdepth, maxfront;
    int num_delay;
    long num_factor, num_flops;
    int num_neg; /**< negative eigenvalues */
    int num_sup, num_two;
    int ordering;
    int stat;
    int maxsupernode; /**< a spare in 3.11; always 0 */
    int ispare[4];
    double rspare[10];
} ma97_info;

/** Outcomes of ma97_*: negative ones are failures. Ipopt takes SINGULAR and WARN_SINGULAR as a
 *  matrix that it has to perturb, and ends the run at any other failure. */
enum ip_flag97 {
    MA97_WARN_SINGULAR = 7,
    MA97_CALL_SEQUENCE = -1, /**< no analysis or no factorization behind the handle */
    MA97_SIZE = -2,          /**< n < 0, nrhs < 0 or too small a leading dimension */
    MA97_PATTERN = -3,       /**< not a sorted lower triangle, or not the analysed pattern */
    MA97_TYPE = -5,          /**< matrix_type is not real symmetric (3 or 4) */
    MA97_SINGULAR = -7,
    MA97_NOT_FINITE = -9, /**< NaN or Inf among the values */
    MA97_NULL = -10,      /**< an array is NULL */
    MA97_JOB = -13,
    MA97_MEMORY = -50,
    MA97_OTHER = -99
};

IP_EXPORT void ma97_default_control_d(ma97_control *control);
IP_EXPORT void ma97_analyse_d(int check, int n, const int *ptr, const int *row, const double *val,
                              void **akeep, const ma97_control *control, ma97_info *info,
                              int *order);
IP_EXPORT void ma97_factor_d(int matrix_type, const int *ptr, const int *row, const double *val,
                             void **akeep, void **fkeep, const ma97_control *control,
                             ma97_info *info, double *scale);
IP_EXPORT void ma97_factor_solve_d(int matrix_type, const int *ptr, const int *row,
                                   const double *val, int nrhs, double *x, int ldx, void **akeep,
                                   void **fkeep, const ma97_control *control, ma97_info *info,
                                   double *scale);
IP_EXPORT void ma97_solve_d(int job, int nrhs, double *x, int ldx, void **akeep, void **fkeep,
                            const ma97_control *control, ma97_info *info);
IP_EXPORT void ma97_finalise_d(void **akeep, void **fkeep);
IP_EXPORT void ma97_free_akeep_d(void **akeep);

/* ---- ma86 ------------------------------------------------------------------------------------ */

typedef struct ma86_control {
    int f_arrays, diagnostics_level, unit_diagnostics, unit_error, unit_warning;
    int nemin, nb;
    int action; /**< 0: a singular matrix is flag -3; else 2, and the factor can be used */
    int nbi, pool_size;
    double small, static_shift, u, umin; /**< static_shift > 0: as METAPACK's option */
    int scaling;
} ma86_control;

typedef struct ma86_info {
    double detlog;
    int detsign;
    int flag; /**< ip_flag86 */
    int matrix_rank, maxdepth, num_delay;
    long num_factor, num_flops;
    int num_neg, num_nodes, num_nothresh, num_perturbed, num_two, pool_size, stat;
    double usmall;
} ma86_info;

enum ip_flag86 {
    MA86_WARN_SINGULAR = 2,
    MA86_MEMORY = -1,
    MA86_CALL_SEQUENCE = -2,
    MA86_SINGULAR = -3,
    MA86_SIZE = -4,
    MA86_NOT_FINITE = -5,
    MA86_PATTERN = -6,
    MA86_NULL = -7,
    MA86_JOB = -8,
    MA86_OTHER = -99
};

IP_EXPORT void ma86_default_control_d(ma86_control *control);
IP_EXPORT void ma86_analyse_d(int n, const int *ptr, const int *row, int *order, void **keep,
                              const ma86_control *control, ma86_info *info);
IP_EXPORT void ma86_factor_d(int n, const int *ptr, const int *row, const double *val,
                             const int *order, void **keep, const ma86_control *control,
                             ma86_info *info, const double *scale);
IP_EXPORT void ma86_factor_solve_d(int n, const int *ptr, const int *row, const double *val,
                                   const int *order, void **keep, const ma86_control *control,
                                   ma86_info *info, int nrhs, int ldx, double *x,
                                   const double *scale);
IP_EXPORT void ma86_solve_d(int job, int nrhs, int ldx, double *x, const int *order, void **keep,
                            const ma86_control *control, ma86_info *info, const double *scale);
IP_EXPORT void ma86_finalise_d(void **keep, const ma86_control *control);

/* ---- mc68: an order for ma86 to ask for; METAPACK orders by itself --------------------------- */

/** Only what every known layout begins with. */
typedef struct mc68_control {
    int f_array_in, f_array_out;
} mc68_control;

typedef struct mc68_info {
    int flag; /**< 0, or -1: n < 0 or a NULL */
    int iostat, stat, out_range, duplicate, n_compressions, n_zero_eigs;
} mc68_info;

IP_EXPORT void mc68_default_control_i(mc68_control *control);
IP_EXPORT void mc68_order_i(int ord, int n, const int *ptr, const int *row, int *perm,
                            const mc68_control *control, mc68_info *info);

/* ---- the layout, as the callers were compiled for it ----------------------------------------- */

#define IP_AT(type, field, offset)                                                                 \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " is not where Ipopt has "  \
                                                            "it")
IP_AT(ma97_control, f_arrays, 0);
IP_AT(ma97_control, action, 4);
IP_AT(ma97_control, nemin, 8);
IP_AT(ma97_control, multiplier, 16);
IP_AT(ma97_control, ordering, 24);
IP_AT(ma97_control, print_level, 28);
IP_AT(ma97_control, scaling, 32);
IP_AT(ma97_control, small, 40);
IP_AT(ma97_control, u, 48);
IP_AT(ma97_control, unit_diagnostics, 56);
IP_AT(ma97_control, unit_error, 60);
IP_AT(ma97_control, unit_warning, 64);
IP_AT(ma97_control, factor_min, 72);
IP_AT(ma97_control, solve_blas3, 80);
IP_AT(ma97_control, solve_min, 88);
IP_AT(ma97_control, solve_mf, 96);
IP_AT(ma97_control, consist_tol, 104);
IP_AT(ma97_control, ispare, 112);
IP_AT(ma97_control, rspare, 136);
_Static_assert(sizeof(ma97_control) == 216, "ma97_control");
IP_AT(ma97_info, flag, 0);
IP_AT(ma97_info, flag68, 4);
IP_AT(ma97_info, flag77, 8);
IP_AT(ma97_info, matrix_dup, 12);
IP_AT(ma97_info, matrix_rank, 16);
IP_AT(ma97_info, matrix_outrange, 20);
IP_AT(ma97_info, matrix_missing_diag, 24);
IP_AT(ma97_info, maxdepth, 28);
IP_AT(ma97_info, maxfront, 32);
IP_AT(ma97_info, num_delay, 36);
IP_AT(ma97_info, num_factor, 40);
IP_AT(ma97_info, num_flops, 48);
IP_AT(ma97_info, num_neg, 56);
IP_AT(ma97_info, num_sup, 60);
IP_AT(ma97_info, num_two, 64);
IP_AT(ma97_info, ordering, 68);
IP_AT(ma97_info, stat, 72);
IP_AT(ma97_info, maxsupernode, 76);
IP_AT(ma97_info, ispare, 80);
IP_AT(ma97_info, rspare, 96);
_Static_assert(sizeof(ma97_info) == 176, "ma97_info");
IP_AT(ma86_control, f_arrays, 0);
IP_AT(ma86_control, nemin, 20);
IP_AT(ma86_control, action, 28);
IP_AT(ma86_control, pool_size, 36);
IP_AT(ma86_control, small, 40);
IP_AT(ma86_control, static_shift, 48);
IP_AT(ma86_control, u, 56);
IP_AT(ma86_control, umin, 64);
IP_AT(ma86_control, scaling, 72);
_Static_assert(sizeof(ma86_control) == 80, "ma86_control");
IP_AT(ma86_info, detsign, 8);
IP_AT(ma86_info, flag, 12);
IP_AT(ma86_info, matrix_rank, 16);
IP_AT(ma86_info, num_delay, 24);
IP_AT(ma86_info, num_factor, 32);
IP_AT(ma86_info, num_flops, 40);
IP_AT(ma86_info, num_neg, 48);
IP_AT(ma86_info, num_two, 64);
IP_AT(ma86_info, stat, 72);
IP_AT(ma86_info, usmall, 80);
_Static_assert(sizeof(ma86_info) == 88, "ma86_info");
_Static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(double) == 8, "LP64");

#endif
