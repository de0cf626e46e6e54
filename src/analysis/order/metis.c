/* SPDX-License-Identifier: BSD-3-Clause */
/* Nested dissection by METIS 5. METIS draws from the C library's rand(), one stream for the whole
 * process: a lock keeps two orderings from mixing theirs, so that equal seeds give equal
 * permutations. */
#include "../../core/lock.h"
#include "config.h"
#include "order.h"

#if MPKI_HAVE_METIS
#include <metis.h>

static const char STAGE[] = "order";
static mpki_lock rand_lock = MPKI_LOCK_OPEN;

mpk_status mpki_order_metis(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                            int32_t *perm) {
    int32_t n = graph->n;
    int64_t edges = graph->xadj[n];
    /* METIS also stores coarser graphs: indices must reach beyond the size of the graph itself */
    if (sizeof(idx_t) == 4 && edges > INT32_MAX / 2)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, edges,
                          "%lld edges are too many for the 32-bit METIS of this build",
                          (long long)edges);
    if (edges == 0) {
        for (int32_t k = 0; k < n; k++) perm[k] = k;
        return MPK_OK;
    }
    mpk_status status = MPK_OK;
    bool narrow = sizeof(idx_t) == sizeof(int32_t);
    idx_t *xadj = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, idx_t);
    idx_t *adj = narrow ? (idx_t *)graph->adj : MPKI_NEW(ctx, STAGE, edges, idx_t);
    idx_t *weight = narrow ? (idx_t *)graph->weight : NULL;
    idx_t *order = MPKI_NEW(ctx, STAGE, n, idx_t);
    idx_t *inverse = MPKI_NEW(ctx, STAGE, n, idx_t);
    if (!narrow && graph->weight) weight = MPKI_NEW(ctx, STAGE, n, idx_t);
    if (!xadj || !adj || !order || !inverse || (graph->weight && !weight)) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t v = 0; v <= n; v++) xadj[v] = (idx_t)graph->xadj[v];
    for (int64_t k = 0; !narrow && k < edges; k++) adj[k] = graph->adj[k];
    for (int32_t v = 0; !narrow && weight && v < n; v++) weight[v] = graph->weight[v];

    idx_t options[METIS_NOPTIONS], vertices = n;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_SEED] = (idx_t)(seed & 0x7fffffff);
    mpki_lock_take(&rand_lock);
    int code = METIS_NodeND(&vertices, xadj, adj, weight, options, order, inverse);
    mpki_lock_give(&rand_lock);
    if (code == METIS_ERROR_MEMORY)
        status = mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "METIS ran out of memory");
    else if (code != METIS_OK)
        status = mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, code, "METIS failed (code %d)", code);
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) perm[k] = (int32_t)order[k];
done:
    mpki_release(ctx, xadj);
    if (!narrow) {
        mpki_release(ctx, adj);
        mpki_release(ctx, weight);
    }
    mpki_release(ctx, order);
    mpki_release(ctx, inverse);
    return status;
}
#else
mpk_status mpki_order_metis(mpk_context *ctx, const mpki_graph *graph, int64_t seed,
                            int32_t *perm) {
    (void)graph, (void)seed, (void)perm;
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "order", -1,
                      "ordering = metis: this build of METAPACK has no METIS");
}
#endif
