/* SPDX-License-Identifier: BSD-3-Clause */
/** KSPSQMR: simplified QMR for symmetric (bilinear) or Hermitian matrices with a preconditioner
 *  that is symmetric likewise, and may be indefinite. Freund & Nachtigal 1994, 1995 (alg. 3.2);
 *  Freund & Jarre 1997 for indefinite preconditioners. One product and one application an
 *  iteration. Ours departs from it in three things:
 *  - beside the recurrence goes the residual of the QMR iterate itself, s_n = (1 - c_n^2) s_{n-1}
 *    + c_n^2 r_n, preconditioned or not as the norm type asks, so that what monitors and tests see
 *    is a residual's norm and not the quasi-residual's bound;
 *  - convergence is confirmed by the true residual; if that has drifted off, iteration begins
 *    again from it;
 *  - a breakdown (r^T M^-1 r or q^T A q vanishes) is passed by two steps of GMRES, as long as they
 *    reduce the residual. */
#include "plugin.h"

#include <math.h>

typedef struct sqmr {
    PetscBool hermitian_set, hermitian;
    PetscBool confirm; /**< convergence by the true residual */
    PetscInt restarts; /**< of the last solve */
} sqmr;

/* Work vectors, in ksp->work. */
enum { R, Z, Q, T, D, S, WORK };

/* One run of the recurrence. */
typedef struct run {
    KSP ksp;
    Mat A;
    PetscBool hermitian, left, zs; /* zs: the norm is that of M^-1 s */
    PetscScalar rho;
    PetscReal theta, tau, norm;
} run;

/* x^T y or x^H y, and whether it is nothing but rounding. */
static PetscErrorCode product(const run *p, Vec x, Vec y, PetscScalar *dot, PetscBool *vanishes) {
    PetscReal norm_x, norm_y;
    PetscFunctionBegin;
    if (p->hermitian)
        PetscCall(VecDotBegin(y, x, dot));
    else
        PetscCall(VecTDotBegin(y, x, dot));
    PetscCall(VecNormBegin(x, NORM_2, &norm_x));
    PetscCall(VecNormBegin(y, NORM_2, &norm_y));
    if (p->hermitian)
        PetscCall(VecDotEnd(y, x, dot));
    else
        PetscCall(VecTDotEnd(y, x, dot));
    PetscCall(VecNormEnd(x, NORM_2, &norm_x));
    PetscCall(VecNormEnd(y, NORM_2, &norm_y));
    *vanishes = (PetscBool)(PetscAbsScalar(*dot) <= 10 * PETSC_MACHINE_EPSILON * norm_x * norm_y);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual in R begins a recurrence. */
static PetscErrorCode begin(run *p, PetscBool *broken) {
    KSP ksp = p->ksp;
    Vec *w = ksp->work;
    PetscFunctionBegin;
    PetscCall(KSP_PCApply(ksp, w[R], w[Z]));
    PetscCall(VecCopy(p->zs ? w[Z] : w[R], w[S]));
    PetscCall(VecCopy(w[Z], w[Q]));
    PetscCall(VecSet(w[D], 0));
    PetscCall(VecNorm(p->left ? w[Z] : w[R], NORM_2, &p->tau));
    PetscCall(VecNorm(w[S], NORM_2, &p->norm));
    p->theta = 0;
    PetscCall(product(p, w[R], w[Z], &p->rho, broken));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* One iteration; broken: nothing was changed but R, Z, T. */
static PetscErrorCode step(run *p, PetscBool *broken) {
    KSP ksp = p->ksp;
    Vec *w = ksp->work;
    PetscScalar sigma;
    PetscReal norm;
    PetscFunctionBegin;
    PetscCall(KSP_MatMult(ksp, p->A, w[Q], w[T]));
    PetscCall(product(p, w[Q], w[T], &sigma, broken));
    KSPCheckDot(ksp, sigma);
    if (*broken) PetscFunctionReturn(PETSC_SUCCESS);
    const PetscScalar alpha = p->rho / sigma;
    PetscCall(VecAXPY(w[R], -alpha, w[T]));
    PetscCall(KSP_PCApply(ksp, w[R], w[Z]));
    PetscCall(VecNorm(p->left ? w[Z] : w[R], NORM_2, &norm));
    KSPCheckNorm(ksp, norm);
    const PetscReal before = p->theta;
    p->theta = p->tau > 0 ? norm / p->tau : 0;
    const PetscReal c2 = 1 / (1 + p->theta * p->theta);
    p->tau *= p->theta * PetscSqrtReal(c2);
    PetscCall(VecAXPBY(w[D], c2 * alpha, c2 * before * before, w[Q]));
    PetscCall(VecAXPY(ksp->vec_sol, 1, w[D]));
    if (ksp->normtype != KSP_NORM_NONE) {
        PetscCall(VecAXPBY(w[S], c2, 1 - c2, p->zs ? w[Z] : w[R]));
        PetscCall(VecNorm(w[S], NORM_2, &p->norm));
        KSPCheckNorm(ksp, p->norm);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next direction. */
static PetscErrorCode turn(run *p, PetscBool *broken) {
    Vec *w = p->ksp->work;
    PetscScalar rho;
    PetscFunctionBegin;
    PetscCall(product(p, w[R], w[Z], &rho, broken));
    if (*broken) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(VecAYPX(w[Q], rho / p->rho, w[Z]));
    p->rho = rho;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The true residual into R and, in the norm that counts, *norm. */
static PetscErrorCode residual(run *p, PetscReal *norm) {
    KSP ksp = p->ksp;
    Vec *w = ksp->work;
    PetscFunctionBegin;
    PetscCall(KSP_MatMult(ksp, p->A, ksp->vec_sol, w[R]));
    PetscCall(VecAYPX(w[R], -1, ksp->vec_rhs));
    if (p->zs) PetscCall(KSP_PCApply(ksp, w[R], w[Z]));
    PetscCall(VecNorm(p->zs ? w[Z] : w[R], NORM_2, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += omega z with the smallest ||r - omega t||, r likewise; t = A z. */
static PetscErrorCode descend(KSP ksp, Vec z, Vec t) {
    Vec r = ksp->work[R];
    PetscScalar dot;
    PetscReal size;
    PetscFunctionBegin;
    PetscCall(VecNorm(t, NORM_2, &size));
    if (!(size > 0) || PetscIsInfOrNanReal(size)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(VecDot(r, t, &dot));
    PetscCall(VecAXPY(ksp->vec_sol, dot / (size * size), z));
    PetscCall(VecAXPY(r, -dot / (size * size), t));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Past a breakdown: the x of the smallest residual in x + span{z, M^-1 A z}, z = M^-1 r, as two
 * steps of GMRES find it. *passed: the residual got smaller. Q and D are of no more use. */
static PetscErrorCode leap(run *p, PetscBool *passed) {
    KSP ksp = p->ksp;
    Vec *w = ksp->work;
    PetscReal before, after, size;
    PetscScalar dot;
    PetscFunctionBegin;
    PetscCall(residual(p, &before));
    PetscCall(KSP_PCApply(ksp, w[R], w[Z]));
    PetscCall(KSP_MatMult(ksp, p->A, w[Z], w[T]));
    PetscCall(KSP_PCApply(ksp, w[T], w[Q]));
    PetscCall(KSP_MatMult(ksp, p->A, w[Q], w[D]));
    PetscCall(descend(ksp, w[Z], w[T]));
    PetscCall(VecNorm(w[T], NORM_2, &size));
    if (size > 0 && !PetscIsInfOrNanReal(size)) { /* the second direction, made orthogonal */
        PetscCall(VecDot(w[D], w[T], &dot));
        PetscCall(VecAXPY(w[D], -dot / (size * size), w[T]));
        PetscCall(VecAXPY(w[Q], -dot / (size * size), w[Z]));
        PetscCall(descend(ksp, w[Q], w[D]));
    }
    PetscCall(residual(p, &after));
    *passed = (PetscBool)(after < (PetscReal)0.999 * before);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode report(run *p) {
    KSP ksp = p->ksp;
    PetscFunctionBegin;
    PetscCall(PetscObjectSAWsTakeAccess((PetscObject)ksp));
    ksp->rnorm = ksp->normtype == KSP_NORM_NONE ? 0 : p->norm;
    PetscCall(PetscObjectSAWsGrantAccess((PetscObject)ksp));
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, ksp->rnorm));
    PetscCall((*ksp->converged)(ksp, ksp->its, ksp->rnorm, &ksp->reason, ksp->cnvP));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The recurrence says converged: check the true residual. If it is not, R holds it and ksp->reason
 * is 0. */
static PetscErrorCode confirm(run *p, PetscReal *last) {
    KSP ksp = p->ksp;
    PetscReal norm;
    const KSPConvergedReason said = ksp->reason;
    PetscFunctionBegin;
    if (ksp->normtype == KSP_NORM_NONE || said == KSP_CONVERGED_ITS)
        PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(residual(p, &norm));
    PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
    ksp->rnorm = norm;
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(
        PetscInfo(ksp, "true residual norm %g, recurred %g\n", (double)norm, (double)p->norm));
    if (norm > *last / 2) { /* a further restart would gain nothing */
        ksp->reason = norm <= 10 * PetscMax(ksp->ttol, ksp->abstol) ? said : KSP_DIVERGED_BREAKDOWN;
    }
    *last = norm;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode is_hermitian(KSP ksp, Mat A, PetscBool *hermitian) {
    const sqmr *own = (const sqmr *)ksp->data;
    PetscBool set, flag;
    PetscFunctionBegin;
    *hermitian = PETSC_FALSE;
    if (!PetscDefined(USE_COMPLEX)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatIsHermitianKnown(A, &set, &flag));
    *hermitian = own->hermitian_set ? own->hermitian : (PetscBool)(set && flag);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Past a breakdown, or the end. */
static PetscErrorCode cure(run *p, PetscBool *broken) {
    KSP ksp = p->ksp;
    PetscBool passed = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscInfo(ksp, "breakdown at iteration %" PetscInt_FMT "\n", ksp->its));
    PetscCall(leap(p, &passed));
    if (passed)
        PetscCall(begin(p, broken));
    else
        ksp->reason = KSP_DIVERGED_BREAKDOWN;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode iterate(run *p, PetscBool broken) {
    KSP ksp = p->ksp;
    sqmr *own = (sqmr *)ksp->data;
    PetscReal last = PETSC_MAX_REAL;
    PetscFunctionBegin;
    while (!ksp->reason) {
        PetscBool fresh = broken;
        if (ksp->its >= ksp->max_it) {
            ksp->reason = KSP_DIVERGED_ITS;
            break;
        }
        if (broken)
            PetscCall(cure(p, &broken));
        else
            PetscCall(step(p, &broken));
        if (ksp->reason) break;
        own->restarts += fresh;
        if (!fresh && broken) continue;
        ksp->its++;
        PetscCall(report(p));
        if (ksp->reason > 0 && own->confirm) {
            PetscCall(confirm(p, &last));
            if (ksp->reason) break;
            own->restarts++;
            fresh = PETSC_TRUE;
            PetscCall(begin(p, &broken));
        }
        if (!ksp->reason && !fresh) PetscCall(turn(p, &broken));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(KSP ksp) {
    run p = {.ksp = ksp,
             .left = (PetscBool)(ksp->pc_side == PC_LEFT),
             .zs = (PetscBool)(ksp->normtype == KSP_NORM_PRECONDITIONED)};
    PetscBool broken;
    PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 24, 0) /* 3.26 has no such scaling; 3.24 and 3.25 were not looked at */
    PetscBool diagonal_scale;
    PetscCall(PCGetDiagonalScale(ksp->pc, &diagonal_scale));
    PetscCheck(!diagonal_scale, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "KSP type %s does not support diagonal scaling", ((PetscObject)ksp)->type_name);
#endif
    PetscCall(PCGetOperators(ksp->pc, &p.A, NULL));
    PetscCall(is_hermitian(ksp, p.A, &p.hermitian));
    ((sqmr *)ksp->data)->restarts = 0;
    ksp->its = 0;
    if (ksp->guess_zero)
        PetscCall(VecCopy(ksp->vec_rhs, ksp->work[R]));
    else
        PetscCall(residual(&p, &p.norm));
    PetscCall(begin(&p, &broken));
    KSPCheckNorm(ksp, p.norm);
    PetscCall(report(&p));
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
    KSPCheckDot(ksp, p.rho);
    PetscCall(iterate(&p, broken));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode setup(KSP ksp) {
    PetscFunctionBegin;
    PetscCall(KSPSetWorkVecs(ksp, WORK));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_from_options(KSP ksp, mpkp_items PetscOptionsObject) {
    sqmr *own = (sqmr *)ksp->data;
    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "KSP SQMR options");
#if defined(PETSC_USE_COMPLEX)
    PetscCall(PetscOptionsBool(
        "-ksp_sqmr_hermitian", "A = A^H (yes) or A = A^T (no); default: by the matrix's flag",
        "docs/guide/petsc.md", own->hermitian, &own->hermitian, &own->hermitian_set));
#endif
    PetscCall(PetscOptionsBool("-ksp_sqmr_confirm",
                               "confirm convergence by the true residual, else restart from it",
                               "docs/guide/petsc.md", own->confirm, &own->confirm, NULL));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view(KSP ksp, PetscViewer viewer) {
    const sqmr *own = (const sqmr *)ksp->data;
    PetscBool ascii;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (ascii)
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "  simplified QMR; restarts in the last solve: %" PetscInt_FMT "%s\n",
            own->restarts, own->confirm ? "" : "; convergence is not confirmed"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_sqmr_create(KSP ksp) {
    sqmr *own;
    PetscFunctionBegin;
    PetscCall(PetscCalloc1(1, &own));
    own->confirm = PETSC_TRUE;
    ksp->data = own;
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 4));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_RIGHT, 2));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
    ksp->ops->setup = setup;
    ksp->ops->solve = solve;
    ksp->ops->view = view;
    ksp->ops->setfromoptions = set_from_options;
    ksp->ops->destroy = KSPDestroyDefault;
    ksp->ops->buildsolution = KSPBuildSolutionDefault;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    PetscFunctionReturn(PETSC_SUCCESS);
}
