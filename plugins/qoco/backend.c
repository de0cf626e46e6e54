/* SPDX-License-Identifier: BSD-3-Clause */
/** METAPACK as the linear solver of QOCO (0.3): the functions of its LinSysBackend. docs/guide/optimisers.md.
 *
 *  The system is [P, A', G'; A, -e I, 0; G, 0, -W'W - e I], quasi-definite; QOCO's own function forms
 *  it, and new scalings of the cones are new values. Pivots are chosen here, so that the shift that
 *  QOCO adds to small ones (kkt_dynamic_reg) is not; solutions are refined against the system
 *  without the shifts e, as QOCO's own backend does. */
#include <backend.h>

typedef QOCOInt kkt_int;
#include "../kkt/kkt.h"

#ifdef QOCO_LONG_DOUBLE_PRECISION
#error "METAPACK has no long double: leave QOCO_LONG_DOUBLE_PRECISION off"
#endif

struct LinSysData {
    kkt system;
    QOCOCscMatrix *K; /* its upper triangle */
    QOCOInt Wnnz;
    QOCOFloat shift_P;
    QOCOFloat *best, *residual, *product; /* of the order */
    QOCOInt *W_to_K, *diagonal_to_K, *P_to_K, *At_to_K, *Gt_to_K;
};

static const mpk_scalar scalar = sizeof(QOCOFloat) == sizeof(double) ? MPK_D : MPK_S;

static const char *name(void) {
    return "metapack";
}

static void cleanup(LinSysData *s) {
    if (!s) return;
    kkt_free(&s->system);
    if (s->K) free_qoco_csc_matrix(s->K);
    qoco_free(s->best);
    qoco_free(s->residual);
    qoco_free(s->product);
    qoco_free(s->W_to_K);
    qoco_free(s->diagonal_to_K);
    qoco_free(s->P_to_K);
    qoco_free(s->At_to_K);
    qoco_free(s->Gt_to_K);
    qoco_free(s);
}

static QOCOInt *indices(QOCOInt count) {
    return qoco_calloc((size_t)count + 1, sizeof(QOCOInt));
}

static void say(const LinSysData *s, mpk_status status) {
    printf("METAPACK: %s\n", kkt_text(&s->system, status));
}

static void set_nt_identity(LinSysData *s, QOCOInt m) {
    for (QOCOInt i = 0; i < s->Wnnz; i++) s->K->x[s->W_to_K[i]] = 0;
    for (QOCOInt i = 0; i < m; i++) s->K->x[s->diagonal_to_K[i]] = -1;
}

static LinSysData *setup(QOCOProblemData *data, QOCOSettings *settings, QOCOInt Wnnz,
                         QOCOFloat *seconds) {
    LinSysData *s = qoco_calloc(1, sizeof *s);
    const size_t n = (size_t)(data->n + data->m + data->p);
    if (!s) return NULL;
    s->Wnnz = Wnnz;
    s->shift_P = settings->kkt_static_reg_P;
    s->best = qoco_calloc(n + 1, sizeof(QOCOFloat));
    s->residual = qoco_calloc(n + 1, sizeof(QOCOFloat));
    s->product = qoco_calloc(n + 1, sizeof(QOCOFloat));
    s->W_to_K = indices(Wnnz);
    s->diagonal_to_K = indices(data->m);
    s->P_to_K = indices(data->P ? get_nnz(data->P) : 0);
    s->At_to_K = indices(get_nnz(data->A));
    s->Gt_to_K = indices(get_nnz(data->G));
    if (!s->best || !s->residual || !s->product || !s->W_to_K || !s->diagonal_to_K || !s->P_to_K ||
        !s->At_to_K || !s->Gt_to_K) {
        cleanup(s);
        return NULL;
    }
    s->K = construct_kkt(data->P ? get_csc_matrix(data->P) : NULL, get_csc_matrix(data->A),
                         get_csc_matrix(data->G), get_csc_matrix(data->At),
                         get_csc_matrix(data->Gt), settings->kkt_static_reg_A, data->n, data->m,
                         data->p, data->l, data->nsoc, get_data_vectori(data->q), s->P_to_K,
                         s->At_to_K, s->Gt_to_K, s->W_to_K, s->diagonal_to_K, Wnnz);
    set_nt_identity(s, data->m); /* the first that are factorized */
    QOCOTimer timer;
    start_timer(&timer);
    const mpk_status status = kkt_analyse(&s->system, scalar, s->K->n, s->K->p, s->K->i, s->K->x);
    stop_timer(&timer);
    if (seconds) *seconds = get_elapsed_time_sec(&timer);
    if (!mpk_failed(status)) return s;
    say(s, status);
    cleanup(s);
    return NULL;
}

static void update_nt(LinSysData *s, QOCOVectorf *WtW, QOCOFloat shift, QOCOInt m) {
    const QOCOFloat *w = get_data_vectorf(WtW);
    for (QOCOInt i = 0; i < s->Wnnz; i++) s->K->x[s->W_to_K[i]] = -w[i];
    for (QOCOInt i = 0; i < m; i++) s->K->x[s->diagonal_to_K[i]] -= shift;
}

static void update_data(LinSysData *s, QOCOProblemData *data) {
    QOCOFloat *x = s->K->x;
    if (data->P) {
        const QOCOCscMatrix *P = get_csc_matrix(data->P);
        for (QOCOInt i = 0; i < P->nnz; i++) x[s->P_to_K[i]] = P->x[i];
    }
    const QOCOCscMatrix *A = get_csc_matrix(data->A), *G = get_csc_matrix(data->G);
    for (QOCOInt i = 0; i < A->nnz; i++) x[s->At_to_K[data->AtoAt[i]]] = A->x[i];
    for (QOCOInt i = 0; i < G->nnz; i++) x[s->Gt_to_K[data->GtoGt[i]]] = G->x[i];
}

static void factor(LinSysData *s, QOCOInt n, QOCOFloat shift) {
    (void)n, (void)shift;
    const mpk_status status = kkt_factorize(&s->system, s->K->x, NULL);
    if (mpk_failed(status)) say(s, status); /* solves give no number then */
}

/** The residual of x against the system without shifts, in s->residual; its largest entry. */
static QOCOFloat residual(LinSysData *s, QOCOWorkspace *work, const QOCOFloat *b, QOCOFloat *x) {
    const QOCOInt n = work->data->n, order = s->K->n;
#ifdef METAPACK_QOCO_FULL_SCALINGS
    QOCOFloat *scaling = get_data_vectorf(work->Wfull);
    QOCOInt *parts = NULL, *cones = NULL;
#else
    QOCOFloat *scaling = get_data_vectorf(work->nt_scaling);
    QOCOInt *parts = get_data_vectori(work->nt_scaling_soc_idx);
    QOCOInt *cones = get_data_vectori(work->soc_idx);
#endif
    kkt_multiply(x, s->product, work->data, scaling, parts, cones, get_data_vectorf(work->xbuff),
                 get_data_vectorf(work->ubuff1), get_data_vectorf(work->ubuff2));
    for (QOCOInt k = 0; k < n; k++) s->product[k] -= s->shift_P * x[k];
    for (QOCOInt k = 0; k < order; k++) s->residual[k] = b[k] - s->product[k];
    return inf_norm(s->residual, order);
}

/** x takes steps while its residual becomes smaller; the best one stays. */
static void solve(LinSysData *s, QOCOWorkspace *work, QOCOVectorf *b_vec, QOCOVectorf *x_vec,
                  QOCOFloat tolerance, QOCOInt steps) {
    const QOCOFloat *b = get_data_vectorf(b_vec);
    QOCOFloat *x = get_data_vectorf(x_vec);
    const QOCOInt order = s->K->n;
    copy_arrayf(b, x, order);
    if (mpk_failed(kkt_solve(&s->system, x))) { /* QOCO ends with a numerical error */
        for (QOCOInt k = 0; k < order; k++) x[k] = (QOCOFloat)NAN;
        return;
    }
    QOCOFloat last = residual(s, work, b, x);
    for (QOCOInt step = 0; step < steps && !(last < tolerance); step++) {
        copy_arrayf(x, s->best, order);
        if (mpk_failed(kkt_solve(&s->system, s->residual))) return;
        qoco_axpy(s->residual, x, x, 1, order);
        const QOCOFloat now = residual(s, work, b, x);
        if (!(now < last)) {
            copy_arrayf(s->best, x, order);
            return;
        }
        last = now;
        work->ir_iters++;
    }
}

LinSysBackend backend = {.linsys_name = name,
                         .linsys_setup = setup,
                         .linsys_set_nt_identity = set_nt_identity,
                         .linsys_update_nt = update_nt,
                         .linsys_update_data = update_data,
                         .linsys_factor = factor,
                         .linsys_solve = solve,
                         .linsys_cleanup = cleanup};
