/* SPDX-License-Identifier: BSD-3-Clause */
/** METAPACK as the direct solver of OSQP (1.x): the functions of an algebra that are not about vectors
 *  and matrices. docs/guide/optimisers.md.
 *
 *  The system is [P + sigma I, A'; A, -diag(1 / rho)], quasi-definite; OSQP's own functions form it
 *  and place new values in it. A new rho, P or A is a factorization with the old analysis. Solves are
 *  not refined: ADMM measures its residuals, and polishing refines by itself. */
#include <algebra_impl.h>
#include <kkt.h>
#include <lin_alg.h>
#include <osqp.h>
#include <printing.h>
#include <profilers.h>
#include <types.h>
#include <util.h>

typedef OSQPInt kkt_int;
#include "../kkt/kkt.h"

#include <stdio.h>

typedef struct metapack_solver {
    LinSysSolver calls; /* first: OSQP sees nothing else */
    kkt system;
    OSQPCscMatrix *K; /* its upper triangle */
    OSQPInt n, m, polishing;
    OSQPFloat sigma, rho_inv;
    OSQPFloat *rho_inv_vec; /* or NULL: rho_inv for all rows */
    OSQPFloat *solution;
    OSQPInt *P_to_K, *A_to_K, *rho_to_K;
} metapack_solver;

static const mpk_scalar scalar = sizeof(OSQPFloat) == sizeof(double) ? MPK_D : MPK_S;

static const char *solver_name(LinSysSolver *self) {
    OSQP_UnusedVar(self);
    return "METAPACK";
}

static void no_settings(LinSysSolver *self, const OSQPSettings *settings) {
    OSQP_UnusedVar(self);
    OSQP_UnusedVar(settings);
}

static void no_start(LinSysSolver *self, const OSQPVectorf *x) {
    OSQP_UnusedVar(self);
    OSQP_UnusedVar(x);
}

static void solver_free(LinSysSolver *self) {
    metapack_solver *s = (metapack_solver *)self;
    if (!s) return;
    kkt_free(&s->system);
    csc_spfree(s->K);
    c_free(s->rho_inv_vec);
    c_free(s->solution);
    c_free(s->P_to_K);
    c_free(s->A_to_K);
    c_free(s->rho_to_K);
    c_free(s);
}

/** 0, or what OSQP tells: a convex problem has as many positive pivots as variables. */
static OSQPInt factorize(metapack_solver *s) {
    int64_t positive = 0;
    osqp_profiler_sec_push(OSQP_PROFILER_SEC_LINSYS_NUM_FAC);
    const mpk_status status = kkt_factorize(&s->system, s->K->x, &positive);
    osqp_profiler_sec_pop(OSQP_PROFILER_SEC_LINSYS_NUM_FAC);
    if (mpk_failed(status)) {
        c_eprint("METAPACK: %s", kkt_text(&s->system, status));
        return OSQP_LINSYS_SOLVER_INIT_ERROR;
    }
    if (status == MPK_OK && positive == s->n) return 0;
    c_eprint(
        "The KKT matrix is singular or has the wrong inertia: the problem seems to be non-convex");
    return OSQP_NONCVX_ERROR;
}

static void set_rho(metapack_solver *s, const OSQPVectorf *rho_vec, OSQPFloat rho) {
    if (s->rho_inv_vec)
        for (OSQPInt i = 0; i < s->m; i++) s->rho_inv_vec[i] = 1 / rho_vec->values[i];
    else
        s->rho_inv = 1 / rho;
}

static OSQPInt update_rho(LinSysSolver *self, const OSQPVectorf *rho_vec, OSQPFloat rho) {
    metapack_solver *s = (metapack_solver *)self;
    set_rho(s, rho_vec, rho);
    update_KKT_param2(s->K, s->rho_inv_vec, s->rho_inv, s->rho_to_K, s->m);
    return factorize(s);
}

static OSQPInt update_matrices(LinSysSolver *self, const OSQPMatrix *P, const OSQPInt *P_which,
                               OSQPInt P_count, const OSQPMatrix *A, const OSQPInt *A_which,
                               OSQPInt A_count) {
    metapack_solver *s = (metapack_solver *)self;
    update_KKT_P(s->K, P->csc, P_which, P_count, s->P_to_K, s->sigma, 0);
    update_KKT_A(s->K, A->csc, A_which, A_count, s->A_to_K);
    return factorize(s);
}

/** b is (x, z) of the right-hand side; ADMM wants z of the constraints instead of the multipliers. */
static OSQPInt solve(LinSysSolver *self, OSQPVectorf *b, OSQPInt iteration) {
    metapack_solver *s = (metapack_solver *)self;
    OSQPFloat *x = b->values, *u = s->polishing ? x : s->solution;
    OSQP_UnusedVar(iteration);
    osqp_profiler_sec_push(OSQP_PROFILER_SEC_LINSYS_SOLVE);
    for (OSQPInt i = 0; u != x && i < s->n + s->m; i++) u[i] = x[i];
    osqp_profiler_sec_push(OSQP_PROFILER_SEC_LINSYS_BACKSOLVE);
    const mpk_status status = kkt_solve(&s->system, u);
    osqp_profiler_sec_pop(OSQP_PROFILER_SEC_LINSYS_BACKSOLVE);
    if (u != x && !mpk_failed(status)) {
        const OSQPFloat *v = u + s->n;
        for (OSQPInt i = 0; i < s->n; i++) x[i] = u[i];
        for (OSQPInt i = 0; i < s->m; i++)
            x[s->n + i] += (s->rho_inv_vec ? s->rho_inv_vec[i] : s->rho_inv) * v[i];
    }
    osqp_profiler_sec_pop(OSQP_PROFILER_SEC_LINSYS_SOLVE);
    if (!mpk_failed(status)) return 0;
    c_eprint("METAPACK: %s", kkt_text(&s->system, status));
    return 1;
}

/** The arrays, and K of an ADMM or of a polishing step (no rho, nothing to be updated). 0 or an error. */
static OSQPInt form(metapack_solver *s, const OSQPMatrix *P, const OSQPMatrix *A,
                    const OSQPVectorf *rho_vec, OSQPFloat rho) {
    const size_t entries_P = (size_t)P->csc->p[s->n], entries_A = (size_t)A->csc->p[s->n];
    const size_t rows = (size_t)s->m;
    s->solution = c_malloc(((size_t)s->n + rows + 1) * sizeof *s->solution);
    s->rho_inv = s->sigma;
    if (!s->solution) return OSQP_MEM_ALLOC_ERROR;
    if (!s->polishing) {
        s->P_to_K = c_malloc((entries_P + 1) * sizeof *s->P_to_K);
        s->A_to_K = c_malloc((entries_A + 1) * sizeof *s->A_to_K);
        s->rho_to_K = c_malloc((rows + 1) * sizeof *s->rho_to_K);
        if (rho_vec) s->rho_inv_vec = c_malloc((rows + 1) * sizeof *s->rho_inv_vec);
        if (!s->P_to_K || !s->A_to_K || !s->rho_to_K || (rho_vec && !s->rho_inv_vec))
            return OSQP_MEM_ALLOC_ERROR;
        set_rho(s, rho_vec, rho);
    }
    s->K = form_KKT(P->csc, A->csc, 0, s->sigma, s->rho_inv_vec, s->rho_inv, s->P_to_K, s->A_to_K,
                    s->rho_to_K);
    return s->K ? 0 : OSQP_LINSYS_SOLVER_INIT_ERROR;
}

OSQPInt osqp_algebra_init_linsys_solver(LinSysSolver **made, const OSQPMatrix *P,
                                        const OSQPMatrix *A, const OSQPVectorf *rho_vec,
                                        const OSQPSettings *settings, OSQPFloat *primal,
                                        OSQPFloat *dual, OSQPInt polishing) {
    metapack_solver *s = c_calloc(1, sizeof *s);
    OSQP_UnusedVar(primal);
    OSQP_UnusedVar(dual);
    *made = OSQP_NULL;
    if (!s) return OSQP_MEM_ALLOC_ERROR;
    s->calls.type = OSQP_DIRECT_SOLVER;
    s->calls.name = solver_name;
    s->calls.solve = solve;
    s->calls.update_settings = no_settings;
    s->calls.warm_start = no_start;
    s->calls.free = solver_free;
    s->calls.update_matrices = update_matrices;
    s->calls.update_rho_vec = update_rho;
    s->n = P->csc->n;
    s->m = A->csc->m;
    s->polishing = polishing;
    s->sigma = settings->sigma;

    osqp_profiler_sec_push(OSQP_PROFILER_SEC_LINSYS_INIT);
    OSQPInt error = form(s, P, A, rho_vec, settings->rho);
    if (!error) {
        osqp_profiler_sec_push(OSQP_PROFILER_SEC_LINSYS_SYM_FAC);
        const mpk_status status =
            kkt_analyse(&s->system, scalar, s->K->n, s->K->p, s->K->i, s->K->x);
        osqp_profiler_sec_pop(OSQP_PROFILER_SEC_LINSYS_SYM_FAC);
        if (mpk_failed(status)) {
            c_eprint("METAPACK: %s", kkt_text(&s->system, status));
            error = OSQP_LINSYS_SOLVER_INIT_ERROR;
        } else {
            error = factorize(s);
        }
    }
    osqp_profiler_sec_pop(OSQP_PROFILER_SEC_LINSYS_INIT);
    if (error) {
        solver_free(&s->calls);
        return error;
    }
    mpk_factor_info info;
    mpk_factor_info_get(s->system.fac, &info);
    s->calls.nthreads = info.threads;
    *made = &s->calls;
    return 0;
}

OSQPInt osqp_algebra_linsys_supported(void) {
    return OSQP_CAPABILITY_DIRECT_SOLVER;
}

enum osqp_linsys_solver_type osqp_algebra_default_linsys(void) {
    return OSQP_DIRECT_SOLVER;
}

OSQPInt osqp_algebra_init_libs(OSQPInt device) {
    OSQP_UnusedVar(device);
    return 0;
}

void osqp_algebra_free_libs(void) {}

OSQPInt osqp_algebra_name(char *name, OSQPInt size) {
    return snprintf(name, (size_t)size, "METAPACK %s", mpk_version());
}

OSQPInt osqp_algebra_device_name(char *name, OSQPInt size) {
    if (size > 0) name[0] = 0;
    return 0;
}
