/* SPDX-License-Identifier: BSD-3-Clause */
/* The six functions that Ipopt's option linear_solver = ma86 calls, and the two of mc68 that it
 * asks for an order with. */
#include "abi.h"
#include "flags.h"
#include "handles.h"
#include "system.h"

#include <stdlib.h>

/* What the caller's one handle stands for. */
typedef struct keep {
    ip_pattern *pattern;
    ip_factor *fac;
} keep;

void ma86_default_control_d(ma86_control *control) {
    if (!control) return;
    *control = (ma86_control){.diagnostics_level = -1,
                              .unit_diagnostics = -1,
                              .unit_error = -1,
                              .unit_warning = -1,
                              .nemin = 32,
                              .nb = 256,
                              .action = 1,
                              .nbi = 16,
                              .pool_size = 25000,
                              .small = 1e-20,
                              .u = 0.01,
                              .umin = 0.01};
}

static int flag_of(mpk_status status) {
    static const ip_flags flags = {MA86_SINGULAR, MA86_SIZE,       MA86_PATTERN,
                                   MA86_MEMORY,   MA86_NOT_FINITE, MA86_OTHER};
    return ip_flag(&flags, status);
}

static void drop(void **handle) {
    if (handle && ip_handle_remove(*handle, IP_KEEP)) {
        keep *k = *handle;
        ip_factor_free(&k->fac);
        ip_pattern_release(k->pattern);
        free(k);
    }
    if (handle) *handle = NULL;
}

void ma86_analyse_d(int n, const int *ptr, const int *row, int *order, void **handle,
                    const ma86_control *control, ma86_info *info) {
    (void)order; /* METAPACK orders by itself, with the values */
    if (!info) return;
    *info = (ma86_info){.flag = MA86_NULL};
    if (!handle || !control || !ptr) return;
    drop(handle);
    keep *k = calloc(1, sizeof *k);
    mpk_status status = k ? ip_pattern_create(NULL, n, ptr, row, control->f_arrays ? 1 : 0,
                                              MPK_ORDERING_AUTO, &k->pattern)
                          : MPK_ERR_MEMORY;
    if (status == MPK_OK && !ip_handle_add(k, IP_KEEP)) {
        ip_pattern_release(k->pattern);
        status = MPK_ERR_MEMORY;
    }
    info->flag = flag_of(status);
    if (mpk_failed(status)) {
        free(k);
        return;
    }
    *handle = k;
    info->matrix_rank = n;
    info->num_factor = ptr[n] - ptr[0];
}

static void report(const ip_factor *fac, int n, double u, ma86_info *info) {
    mpk_factor_info f;
    mpk_analysis_info a;
    ip_factor_info(fac, &f, &a);
    info->matrix_rank = n - (int)f.inertia.zero;
    info->maxdepth = a.tree_height;
    info->num_delay = ip_count(f.rejected);
    info->num_factor = (long)f.nnz;
    info->num_flops = f.flops < 9e18 ? (long)f.flops : (long)9e18;
    info->num_neg = (int)f.inertia.negative;
    info->num_nodes = a.supernodes;
    info->num_perturbed = ip_count(f.perturbed);
    info->num_two = ip_count(f.two_by_two);
    info->usmall = u;
    info->detsign = f.inertia.zero ? 0 : f.inertia.negative % 2 ? -1 : 1;
    info->detlog = ip_factor_logdet(fac);
}

void ma86_factor_d(int n, const int *ptr, const int *row, const double *val, const int *order,
                   void **handle, const ma86_control *control, ma86_info *info,
                   const double *scale) {
    (void)order, (void)scale; /* METAPACK orders and scales by itself */
    if (!info) return;
    *info = (ma86_info){.flag = MA86_NULL};
    if (!handle || !control || !ptr || !val) return;
    info->flag = MA86_CALL_SEQUENCE;
    if (!ip_handle_is(*handle, IP_KEEP)) return;
    keep *k = *handle;
    info->flag = MA86_PATTERN;
    if (n != ip_pattern_n(k->pattern) ||
        !ip_pattern_equal(k->pattern, ptr, row, control->f_arrays ? 1 : 0))
        return;
    const ip_request request = {control->u, control->small, control->static_shift};
    mpk_status status = ip_factorize(k->pattern, val, &request, &k->fac);
    info->flag = flag_of(status);
    if (mpk_failed(status)) return;
    report(k->fac, n, control->u, info);
    if (status == MPK_SINGULAR && control->action) info->flag = MA86_WARN_SINGULAR;
}

void ma86_solve_d(int job, int nrhs, int ldx, double *x, const int *order, void **handle,
                  const ma86_control *control, ma86_info *info, const double *scale) {
    (void)order, (void)control, (void)scale; /* the factor knows its scaling */
    if (!info) return;
    info->flag = MA86_NULL;
    if (!handle || (!x && nrhs > 0)) return;
    info->flag = MA86_CALL_SEQUENCE;
    if (!ip_handle_is(*handle, IP_KEEP) || !((keep *)*handle)->fac) return;
    info->flag = MA86_JOB;
    if (job != 0) return;
    info->flag = flag_of(ip_solve(((keep *)*handle)->fac, 0, nrhs, x, ldx));
}

void ma86_factor_solve_d(int n, const int *ptr, const int *row, const double *val, const int *order,
                         void **handle, const ma86_control *control, ma86_info *info, int nrhs,
                         int ldx, double *x, const double *scale) {
    ma86_factor_d(n, ptr, row, val, order, handle, control, info, scale);
    if (!info || info->flag < 0) return;
    const int flag = info->flag;
    ma86_solve_d(0, nrhs, ldx, x, order, handle, control, info, scale);
    if (info->flag == 0) info->flag = flag;
}

void ma86_finalise_d(void **handle, const ma86_control *control) {
    (void)control;
    drop(handle);
}

/* ---- mc68 ------------------------------------------------------------------------------------ */

void mc68_default_control_i(mc68_control *control) {
    if (control) *control = (mc68_control){0, 0};
}

void mc68_order_i(int ord, int n, const int *ptr, const int *row, int *perm,
                  const mc68_control *control, mc68_info *info) {
    (void)ord, (void)ptr, (void)row;
    if (!info) return;
    *info = (mc68_info){.flag = -1};
    if (n < 0 || !control || (!perm && n > 0)) return;
    const int base = control->f_array_out ? 1 : 0;
    for (int i = 0; i < n; i++) perm[i] = i + base;
    info->flag = 0;
}
