/* SPDX-License-Identifier: BSD-3-Clause */
/** What a factor reports: inertia, MatInfo, and lines for -ksp_view. */
#include "plugin.h"

/* Direct factors only: the inertia of an incomplete D is not that of A. */
static PetscErrorCode get_inertia(Mat F, PetscInt *negative, PetscInt *zero, PetscInt *positive) {
    mpkp_solver *s = mpkp_solver_of(F);
    mpk_factor_info info;
    PetscFunctionBegin;
    PetscCheck(s->usable, PETSC_COMM_SELF, PETSC_ERR_ORDER,
               "METAPACK: inertia before a numeric factorization that succeeded");
    PetscCheck(s->choice.mpk.method == MPK_METHOD_LDLT, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "METAPACK: an incomplete factorization has not the matrix's inertia");
    PetscCheck(!PetscDefined(USE_COMPLEX) || s->symmetry == MPK_HERMITIAN, PETSC_COMM_SELF,
               PETSC_ERR_SUP,
               "METAPACK: a complex symmetric matrix has no inertia; is it Hermitian "
               "(MatSetOption(A,MAT_HERMITIAN,PETSC_TRUE), -mat_metapack_hermitian)?");
    mpk_factor_info_get(s->factor, &info);
    if (negative) *negative = (PetscInt)info.inertia.negative;
    if (zero) *zero = (PetscInt)info.inertia.zero;
    if (positive) *positive = (PetscInt)info.inertia.positive;
    PetscCall(PetscInfo(F,
                        "METAPACK: the inertia is that of the factors; whether rounding changed a "
                        "sign was not examined\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_info(Mat F, MatInfoType flag, MatInfo *info) {
    mpkp_solver *s = mpkp_solver_of(F);
    mpk_analysis_info analysis = {0};
    mpk_factor_info factor = {0};
    PetscFunctionBegin;
    (void)flag; /* sequential: local, sum and maximum are one */
    PetscCall(PetscMemzero(info, sizeof *info));
    info->block_size = 1;
    if (s->analysis) mpk_analysis_info_get(s->analysis, &analysis);
    if (s->usable) mpk_factor_info_get(s->factor, &factor);
    const double nnz = (double)(factor.nnz ? factor.nnz : analysis.factor_nnz);
    info->nz_allocated = info->nz_used = nnz;
    info->memory = (double)(factor.bytes ? factor.bytes : analysis.factor_bytes);
    info->fill_ratio_needed = analysis.nnz ? nnz / (double)analysis.nnz : 1;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_direct(mpkp_solver *s, PetscViewer viewer) {
    mpk_analysis_info a;
    mpk_factor_info f;
    PetscFunctionBegin;
    mpk_analysis_info_get(s->analysis, &a);
    mpk_factor_info_get(s->factor, &f);
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "L %lld entries (%.2f times the matrix's), %.3g flops, %.1f MiB, %d threads\n",
        (long long)f.nnz, a.nnz ? (double)f.nnz / (double)a.nnz : 1.0, f.flops,
        (double)f.bytes / 1048576, f.threads));
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "ordering %s, %s, %d supernodes, largest front %d; 2x2 pivots %lld, delayed %lld, "
        "perturbed %lld\n",
        mpk_ordering_name(a.ordering), a.matching ? "matched" : "not matched", (int)a.supernodes,
        (int)f.max_front, (long long)f.two_by_two, (long long)f.rejected, (long long)f.perturbed));
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "inertia: %lld positive, %lld negative, %lld zero (%s); analysis %.3g s, "
        "factorization %.3g s\n",
        (long long)f.inertia.positive, (long long)f.inertia.negative, (long long)f.inertia.zero,
        f.inertia.certified  ? "certified"
        : f.inertia.examined ? "not certified"
                             : "not examined",
        a.time_s, f.time_s));
    if (s->checked)
        PetscCall(PetscViewerASCIIPrintf(viewer,
                                         "backward error, componentwise, worst of the last "
                                         "factor's solves: %.2g%s%s (%" PetscInt_FMT " checked)\n",
                                         s->backward_error, s->inaccurate ? ", INACCURATE" : "",
                                         s->inconsistent ? ", INCONSISTENT" : "", s->checked));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_blocks(mpkp_solver *s, PetscViewer viewer) {
    const mpk_options *o = &s->choice.mpk;
    mpk_block_info b;
    mpk_factor_info f;
    PetscFunctionBegin;
    mpk_factor_block_info_get(s->factor, &b);
    mpk_factor_info_get(s->factor, &f);
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "%s: level %d, fill factor %g, drop tolerance %g, blocks up to %d, %s\n",
        mpk_method_name(o->method), o->level, o->fill_factor, o->drop_tolerance, o->block,
        mpk_option_word("factor_type", (int)o->factor_type)));
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "%d block rows by %s, %s; %lld blocks, L %lld entries, %.1f MiB; rejected %lld, "
        "perturbed %lld\n",
        (int)b.block_rows, mpk_option_word("strategy", (int)b.strategy),
        mpk_ordering_name(b.ordering), (long long)b.blocks, (long long)f.nnz,
        (double)f.bytes / 1048576, (long long)b.rejected, (long long)b.perturbed));
    if (b.isai.entries > 0)
        PetscCall(PetscViewerASCIIPrintf(
            viewer,
            "approximate inverses of the triangles: %lld entries, longest column %d, %d sweeps of "
            "relaxation, %.1f MiB, %.3g s\n",
            (long long)b.isai.entries, (int)b.isai.longest, o->isai_relax,
            (double)b.isai.bytes / 1048576, b.isai.time_pattern_s + b.isai.time_values_s));
    if (b.isai.entries > 0) { /* a line at once: each call is indented */
        static const char *const most[MPK_ISAI_CLASSES] = {"1",  "2",  "4",   "8",    "16",
                                                           "32", "64", "128", "1024", "more"};
        char text[512] = "";
        size_t used = 0;
        for (int k = 0; k < MPK_ISAI_CLASSES; k++)
            if (b.isai.columns[k])
                used += (size_t)snprintf(text + used, sizeof text - used, " %s: %lld,", most[k],
                                         (long long)b.isai.columns[k]);
        PetscCall(PetscViewerASCIIPrintf(viewer, "columns by length, up to%s over the limit %lld\n",
                                         text, (long long)b.isai.over));
    }
    if (b.exact_s > 0)
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "an application: %.3g s exactly, %.3g s by approximate inverses, %.2g apart\n",
            b.exact_s, b.inverses_s, b.inverses_error));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view(Mat F, PetscViewer viewer) {
    mpkp_solver *s = mpkp_solver_of(F);
    PetscBool ascii;
    PetscViewerFormat format;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL)
        PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "METAPACK %s, %s%s: %" PetscInt_FMT " analyses, %" PetscInt_FMT
        " factorizations, %" PetscInt_FMT " solves\n",
        mpk_version(), s->symmetry == MPK_HERMITIAN ? "Hermitian" : "symmetric",
        s->choice.absd ? ", |D|" : "", s->analyses, s->factorizations, s->solves));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    if (s->reason) PetscCall(PetscViewerASCIIPrintf(viewer, "failed: %s\n", s->reason));
    if (s->asymmetry.pairs > 0)
        PetscCall(PetscViewerASCIIPrintf(viewer,
                                         "%lld pairs of mirror images differ, by up to %.1e of the "
                                         "larger: their mean is factorized\n",
                                         (long long)s->asymmetry.pairs, s->asymmetry.apart));
    if (s->usable && s->choice.mpk.method == MPK_METHOD_LDLT)
        PetscCall(view_direct(s, viewer));
    else if (s->usable)
        PetscCall(view_blocks(s, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_set_views(Mat F) {
    PetscFunctionBegin;
    F->ops->view = view;
    F->ops->getinfo = get_info;
    F->ops->getinertia = get_inertia;
    PetscFunctionReturn(PETSC_SUCCESS);
}
