/* SPDX-License-Identifier: BSD-3-Clause */
/** METAPACK as the direct linear solver of SCS (3.2, 3.3): the functions of SCS's linsys.h, compiled
 *  with SCS in place of its linsys/cpu/direct/private.c. docs/guide/optimisers.md.
 *
 *  The system is [R_x + P, A'; A, -R_y], quasi-definite; SCS's own function forms its upper triangle
 *  and says where R is. A new R is a factorization with the old analysis. */
#include <csparse.h>
#include <linsys.h>

typedef scs_int kkt_int;
#include "../kkt/kkt.h"

/* SCS 3.2 does not ask whether a new R could be factorized, and alone has this name in its headers */
#ifdef AA_REGULARIZATION_TYPE_1
#define TOLD_OF_R 0
#else
#define TOLD_OF_R 1
#endif

struct SCS_LIN_SYS_WORK {
    kkt system;
    scs_int n;     /* columns of A */
    ScsMatrix *K;  /* its upper triangle */
    scs_float *P;  /* the diagonal of P */
    scs_int *R_at; /* where entries of R are in K */
    mpk_status status;
};

static const mpk_scalar scalar = sizeof(scs_float) == sizeof(double) ? MPK_D : MPK_S;

/** Also keeps it: of a singular or failed system no solve is made. */
static mpk_status say(ScsLinSysWork *w, mpk_status status) {
    if (status != MPK_OK) scs_printf("METAPACK: %s\n", kkt_text(&w->system, status));
    return w->status = status;
}

ScsLinSysWork *scs_init_lin_sys_work(const ScsMatrix *A, const ScsMatrix *P,
                                     const scs_float *diag_r) {
    const size_t order = (size_t)A->n + (size_t)A->m;
    ScsLinSysWork *w = scs_calloc(1, sizeof *w);
    if (!w) return SCS_NULL;
    w->n = A->n;
    w->P = scs_calloc((size_t)A->n + 1, sizeof *w->P);
    w->R_at = scs_calloc(order + 1, sizeof *w->R_at);
    if (w->P && w->R_at) w->K = SCS(form_kkt)(A, P, w->P, diag_r, w->R_at, 1);
    mpk_status status = w->K ? MPK_OK : MPK_ERR_MEMORY;
    if (!mpk_failed(status))
        status = kkt_analyse(&w->system, scalar, w->K->n, w->K->p, w->K->i, w->K->x);
    if (!mpk_failed(status)) status = kkt_factorize(&w->system, w->K->x, NULL);
    if (say(w, status) == MPK_OK) return w;
    scs_free_lin_sys_work(w);
    return SCS_NULL;
}

#if TOLD_OF_R
scs_int
#else
void
#endif
scs_update_lin_sys_diag_r(ScsLinSysWork *w, const scs_float *diag_r) {
    for (scs_int i = 0; i < w->K->n; i++)
        w->K->x[w->R_at[i]] = i < w->n ? w->P[i] + diag_r[i] : -diag_r[i];
    say(w, kkt_factorize(&w->system, w->K->x, NULL));
#if TOLD_OF_R
    return w->status == MPK_OK ? 0 : -1;
#endif
}

/** Without refinement: SCS measures what it reaches, and asks some thousand times. */
scs_int scs_solve_lin_sys(ScsLinSysWork *w, scs_float *b, const scs_float *s, scs_float tol) {
    (void)s, (void)tol;
    if (w->status != MPK_OK) return -1;
    return say(w, kkt_solve(&w->system, b)) == MPK_OK ? 0 : -1;
}

void scs_free_lin_sys_work(ScsLinSysWork *w) {
    if (!w) return;
    kkt_free(&w->system);
    SCS(cs_spfree)(w->K);
    scs_free(w->P);
    scs_free(w->R_at);
    scs_free(w);
}

const char *scs_get_lin_sys_method(void) {
    return "sparse-direct-metapack";
}
