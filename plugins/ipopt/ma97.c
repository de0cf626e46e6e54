/* SPDX-License-Identifier: BSD-3-Clause */
/* The seven functions that Ipopt's option linear_solver = ma97 calls. */
#include "abi.h"
#include "flags.h"
#include "handles.h"
#include "system.h"

#include <string.h>

void ma97_default_control_d(ma97_control *control) {
    if (!control) return;
    *control = (ma97_control){.action = 1,
                              .nemin = 8,
                              .multiplier = 1.1,
                              .ordering = 5,
                              .print_level = -1,
                              .small = 1e-20,
                              .u = 0.01,
                              .unit_diagnostics = -1,
                              .unit_error = -1,
                              .unit_warning = -1,
                              .factor_min = 20000000,
                              .solve_min = 100000,
                              .consist_tol = 0x1p-52};
}

static int flag_of(mpk_status status) {
    static const ip_flags flags = {MA97_SINGULAR, MA97_SIZE,       MA97_PATTERN,
                                   MA97_MEMORY,   MA97_NOT_FINITE, MA97_OTHER};
    return ip_flag(&flags, status);
}

static mpk_ordering ordering_of(const ma97_control *control) {
    return control->ordering == 1   ? MPK_ORDERING_AMD
           : control->ordering == 3 ? MPK_ORDERING_ND
                                    : MPK_ORDERING_AUTO;
}

/* Release the pattern behind *akeep if it is ours; *akeep becomes NULL in any case. */
static void drop_pattern(void **akeep) {
    if (akeep && ip_handle_remove(*akeep, IP_PATTERN)) ip_pattern_release(*akeep);
    if (akeep) *akeep = NULL;
}

void ma97_analyse_d(int check, int n, const int *ptr, const int *row, const double *val,
                    void **akeep, const ma97_control *control, ma97_info *info, int *order) {
    ip_pattern *pattern = NULL;
    (void)check, (void)order; /* the pattern is always checked; the order is METAPACK's */
    if (!info) return;
    *info = (ma97_info){.flag = MA97_NULL};
    if (!akeep || !control || !ptr) return;
    drop_pattern(akeep);
    mpk_status status = ip_pattern_create(NULL, n, ptr, row, control->f_arrays ? 1 : 0,
                                          ordering_of(control), &pattern);
    if (status == MPK_OK && !ip_handle_add(pattern, IP_PATTERN)) status = MPK_ERR_MEMORY;
    if (!mpk_failed(status) && val) status = ip_pattern_analyse(pattern, val);
    info->flag = flag_of(status);
    if (status == MPK_SINGULAR) info->flag = 0; /* the factorization will tell */
    if (mpk_failed(status)) {
        ip_handle_remove(pattern, IP_PATTERN);
        ip_pattern_release(pattern);
        return;
    }
    *akeep = pattern;
    info->matrix_rank = n;
    info->ordering = control->ordering == 3 || control->ordering == 8 ? 3 : 1;
    info->num_factor = ptr[n] - ptr[0]; /* no more is known without values */
}

static void report(const ip_factor *fac, int n, ma97_info *info) {
    mpk_factor_info f;
    mpk_analysis_info a;
    ip_factor_info(fac, &f, &a);
    info->matrix_rank = n - (int)f.inertia.zero;
    info->maxdepth = a.tree_height;
    info->maxfront = f.max_front;
    info->num_delay = ip_count(f.rejected);
    info->num_factor = (long)f.nnz;
    info->num_flops = f.flops < 9e18 ? (long)f.flops : (long)9e18;
    info->num_neg = (int)f.inertia.negative;
    info->num_sup = a.supernodes;
    info->num_two = ip_count(f.two_by_two);
    info->ordering = a.ordering == MPK_ORDERING_AMD ? 1 : 3;
}

void ma97_factor_d(int matrix_type, const int *ptr, const int *row, const double *val, void **akeep,
                   void **fkeep, const ma97_control *control, ma97_info *info, double *scale) {
    if (!info) return;
    *info = (ma97_info){.flag = MA97_NULL};
    if (!akeep || !fkeep || !control || !val) return;
    info->flag = MA97_CALL_SEQUENCE;
    if (!ip_handle_is(*akeep, IP_PATTERN)) return;
    ip_pattern *pattern = *akeep;
    ip_factor *fac = ip_handle_is(*fkeep, IP_FACTOR) ? *fkeep : NULL, *before = fac;
    info->flag = MA97_TYPE;
    if (matrix_type != 3 && matrix_type != 4) return;
    info->flag = MA97_PATTERN;
    if (!ip_pattern_equal(pattern, ptr, row, control->f_arrays ? 1 : 0)) return;
    const ip_request request = {control->u, control->small, 0};
    mpk_status status = ip_factorize(pattern, val, &request, &fac);
    if (before && fac != before) ip_handle_remove(before, IP_FACTOR);
    if (fac && fac != before && !ip_handle_add(fac, IP_FACTOR)) {
        status = MPK_ERR_MEMORY;
        ip_factor_free(&fac);
    }
    *fkeep = fac;
    info->flag = flag_of(status);
    if (mpk_failed(status)) return;
    report(fac, ip_pattern_n(pattern), info);
    if (status == MPK_SINGULAR && control->action) info->flag = MA97_WARN_SINGULAR;
    if (control->scaling && scale) ip_factor_scale(fac, scale);
}

void ma97_solve_d(int job, int nrhs, double *x, int ldx, void **akeep, void **fkeep,
                  const ma97_control *control, ma97_info *info) {
    (void)control, (void)akeep; /* the factor knows its pattern */
    if (!info) return;
    info->flag =
        MA97_NULL; /* and nothing else: Ipopt reads num_neg of the factorization after it */
    if (!fkeep || (!x && nrhs > 0)) return;
    info->flag = MA97_CALL_SEQUENCE;
    if (!ip_handle_is(*fkeep, IP_FACTOR)) return;
    info->flag = MA97_JOB;
    if (job < 0 || job > 4) return;
    info->flag = flag_of(ip_solve(*fkeep, job, nrhs, x, ldx));
}

void ma97_factor_solve_d(int matrix_type, const int *ptr, const int *row, const double *val,
                         int nrhs, double *x, int ldx, void **akeep, void **fkeep,
                         const ma97_control *control, ma97_info *info, double *scale) {
    ma97_factor_d(matrix_type, ptr, row, val, akeep, fkeep, control, info, scale);
    if (!info || info->flag < 0) return;
    const int flag = info->flag;
    ma97_solve_d(0, nrhs, x, ldx, akeep, fkeep, control, info);
    if (info->flag == 0) info->flag = flag;
}

void ma97_free_akeep_d(void **akeep) {
    drop_pattern(akeep);
}

void ma97_finalise_d(void **akeep, void **fkeep) {
    if (fkeep && ip_handle_remove(*fkeep, IP_FACTOR)) {
        ip_factor *fac = *fkeep;
        ip_factor_free(&fac);
    }
    if (fkeep) *fkeep = NULL;
    drop_pattern(akeep);
}
