/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory of the multifrontal LDLT by what lies there, as it is planned: no factorization is
 * made, and the module may be the one that has no device (METAPACK_CUDA_MODULE).
 *
 *   bytes [nrhs=K] MATRIX...
 *
 * A MATRIX is a file or a generator's spec. A line each, MB: entries of L; panels, room for panels
 * that grow, contributions and work space of large fronts behind the panels, values, tree; A by rows,
 * lists of sweeps, vectors of solves of one right-hand side with refinement beyond what is idle
 * then; all of these; all with K (64) right-hand sides. */
#include "../../src/engines/cuda/module/engine.h"
#include "../../src/engines/cuda/multifrontal/factor/walk.h"
#include "../../src/factor/direct_numbers.h"

#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(mpk_context *ctx, const char *what) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s: %s\n", what, text);
    return 1;
}

static int row(const char *what, int nrhs) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpki_direct *f = NULL;
    mpk_options o;
    mpk_analysis_info info;
    int64_t one[MPKI_CUDA_HELD_KINDS], many[MPKI_CUDA_HELD_KINDS], all = 0, all_many = 0;
    FILE *file = fopen(what, "r");
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device = MPK_ON_CUDA;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    if (!mpki_cuda_keep(ctx, 0)) return complain(ctx, "device");
    mpk_status status =
        file ? mpk_problem_read(ctx, what, &problem) : mpk_problem_generate(ctx, what, 1, &problem);
    if (file) fclose(file);
    if (mpk_failed(status) || mpk_failed(mpk_analyse(ctx, problem, &o, &an)))
        return complain(ctx, what);
    mpk_analysis_info_get(an, &info);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    if (mpk_failed(mpki_cuda_direct.make(ctx, &tree, &f)) ||
        mpk_failed(mpki_cuda_direct_host_arrays(f)))
        return complain(ctx, what);
    for (int32_t k = 0; k < f->plan.fronts; k++)
        f->state[k].w = f->state[k].nelim = f->plan.node[k].own;
    if (mpk_failed(mpki_cuda_direct_foretell(ctx, f, 1, one)) ||
        mpk_failed(mpki_cuda_direct_foretell(ctx, f, nrhs, many)))
        return complain(ctx, what);
    printf("%s: n %d nnz %lld L %.3f", what, tree.n, (long long)tree.nnz,
           (double)info.factor_nnz * (double)mpk_scalar_size(tree.scalar) / 1e6);
    for (int k = 0; k < MPKI_CUDA_HELD_KINDS; k++) {
        printf(" %.3f", (double)one[k] / 1e6);
        all += one[k], all_many += many[k];
    }
    printf(" all %.3f, %d: %.3f\n", (double)all / 1e6, nrhs, (double)all_many / 1e6);
    fflush(stdout);
    mpki_cuda_direct.free(&f);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return 0;
}

int main(int argc, char **argv) {
    int nrhs = 64, failed = 0;
    for (int k = 1; k < argc; k++)
        if (sscanf(argv[k], "nrhs=%d", &nrhs) != 1) failed += row(argv[k], nrhs);
    return failed > 0;
}
