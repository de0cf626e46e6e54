/* SPDX-License-Identifier: BSD-3-Clause */
/** mpk_krylov_solve: checks arguments, finds memory, calls the method. */
#include "../../core/floats.h"
#include "../../core/sizes.h"
#include "config.h"
#include "krylov.h"

#include <string.h>

static const char STAGE[] = "solve";

void mpk_krylov_task_init(mpk_krylov_task *task) {
    if (!task) return;
    *task = (mpk_krylov_task){.struct_size = sizeof *task,
                              .method = MPK_KRYLOV_SQMR,
                              .scalar = MPK_D,
                              .symmetry = MPK_SYMMETRIC,
                              .tolerance = 1e-6,
                              .max_iterations = 1000,
                              .restart = 50,
                              .shadow = 4,
                              .check = 8,
                              .seed = 1};
}

static mpk_status bad(mpk_context *ctx, const char *what) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s", what);
}

static mpk_status untouched(mpk_context *ctx) {
    return bad(ctx, "the task was not set up by mpk_krylov_task_init()");
}

static mpk_status check(mpk_context *ctx, const mpk_krylov_task *t, const void *b, const void *x) {
    if (t->method < MPK_KRYLOV_SQMR || t->method > MPK_KRYLOV_IDR)
        return bad(ctx, "the task names no Krylov method");
    if ((unsigned)t->scalar > MPK_Z) return bad(ctx, "unknown scalar");
    if ((unsigned)t->symmetry > MPK_GENERAL) return bad(ctx, "unknown symmetry");
    if (t->n < 0) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, t->n, "n = %d is negative", t->n);
    if (t->n > 0 && (!b || !x)) return bad(ctx, "right-hand side and solution must not be NULL");
    if (!t->a.apply) return bad(ctx, "the operator A is missing");
    if (!(t->tolerance >= 0 && t->tolerance <= 1)) return bad(ctx, "tolerance must be in [0, 1]");
    if (t->max_iterations < 0) return bad(ctx, "max_iterations is negative");
    if (t->restart < 1) return bad(ctx, "restart must be at least 1");
    if (t->shadow < 1 || t->shadow > 64) return bad(ctx, "shadow must be in 1 .. 64");
    if (t->check < 1) return bad(ctx, "check must be at least 1");
    if (t->history_size < 0 || (t->history_size > 0 && !t->history))
        return bad(ctx, "the history has no room");
    const bool complex_symmetric = t->scalar >= MPK_C && t->symmetry == MPK_SYMMETRIC;
    if (complex_symmetric && t->method >= MPK_KRYLOV_MINRES && t->method <= MPK_KRYLOV_CG)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "%s needs a real or Hermitian matrix; for a complex symmetric one: sqmr",
                          mpki_krylov_name(t->method));
    if (t->symmetry == MPK_GENERAL && t->method <= MPK_KRYLOV_CG)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "%s needs a symmetric or Hermitian matrix; for a general one: gmres, "
                          "fgmres, bicgstab or idr",
                          mpki_krylov_name(t->method));
    return MPK_OK;
}

/* How many vectors of n entries, and how many doubles, a method needs; at least two vectors, for
 * the restarts. */
static void wants(const mpki_krylov *k, int64_t *vectors, int64_t *doubles) {
    const mpk_krylov_task *t = &k->task;
    const int64_t m = t->restart, s = t->shadow;
    *doubles = 0;
    switch (t->method) {
    case MPK_KRYLOV_SQMR:
        *vectors = 6;
        break;
    case MPK_KRYLOV_CG:
        *vectors = 4;
        break;
    case MPK_KRYLOV_MINRES:
        *vectors = 8;
        break;
    case MPK_KRYLOV_SYMMLQ:
        *doubles = 1;
        *vectors = 6;
        break;
    case MPK_KRYLOV_BICGSTAB:
        *vectors = 7;
        break;
    case MPK_KRYLOV_IDR:
        *vectors = 3 * s + 4;
        *doubles = 2 * (s * s + 2 * s);
        break;
    default: /* basis, its preconditioned twin, the iterate; H, g, y, rotations and what is
                projected, complex */
        *vectors = m + 1 + (t->method == MPK_KRYLOV_FGMRES ? m : 1) + 1;
        *doubles = 2 * (m * (m + 1) + 5 * (m + 1));
        if (mpki_krylov_cycles(k)) { /* what batches work on, and what they leave */
            *vectors += t->method == MPK_KRYLOV_FGMRES ? 3 : 2;
            *doubles += 2 * (m + 1) * (m + 1);
        }
        break;
    }
}

static mpk_status allocate(mpki_krylov *k) {
    enum { OWN = 4, RESTART_MOST = 1 << 24 }; /* b, x, best, r */
    int64_t vectors, doubles;
    if (k->task.restart > RESTART_MOST)
        return mpki_error(k->ctx, MPK_ERR_SIZE, STAGE, k->task.restart,
                          "restart = %d: so many directions fit no memory", k->task.restart);
    wants(k, &vectors, &doubles);
    k->small = MPKI_ZNEW(k->ctx, STAGE, doubles, double);
    k->all = MPKI_ZNEW(k->ctx, STAGE, OWN + vectors, void *);
    if (!k->small || !k->all) return mpki_failed(k->ctx);
    const mpk_status status = k->ops->make(k->ctx, k->task.scalar, k->n, OWN + vectors,
                                           k->task.stream, k->extra.limit, &k->space, k->all);
    k->b = k->all[0];
    k->x = k->all[1];
    k->best = k->all[2];
    k->r = k->all[3];
    k->v = k->all + OWN;
    return status;
}

static void release(mpki_krylov *k) {
    k->ops->free(k->ctx, &k->space);
    mpki_release(k->ctx, k->all);
    mpki_release(k->ctx, k->small);
}

mpk_status mpki_krylov_run(mpk_context *ctx, const mpki_vector_engine *engine,
                           const mpk_krylov_task *task, const mpki_krylov_extra *extra,
                           const void *b, void *x, mpk_krylov_info *info, char *message) {
    const double start_s = mpki_now_s();
    mpk_status status = check(ctx, task, b, x);
    if (mpk_failed(status)) return status;
    mpki_krylov k = {.ctx = ctx,
                     .task = *task,
                     .extra = extra ? *extra : (mpki_krylov_extra){.share = 1},
                     .ops = engine->ops[task->scalar],
                     .n = task->n,
                     .hermitian = task->symmetry != MPK_SYMMETRIC || task->scalar <= MPK_D,
                     .random = (uint64_t)task->seed,
                     .info = {.method = task->method, .tolerance = task->tolerance}};
    /* no method uses more directions than there are dimensions */
    if (k.task.restart > k.n) k.task.restart = k.n > 0 ? k.n : 1;
    if (k.task.restart > k.task.max_iterations && k.task.max_iterations > 0)
        k.task.restart = k.task.max_iterations;
    if (k.task.shadow > k.n) k.task.shadow = k.n > 0 ? k.n : 1;
    status = k.n > 0 ? allocate(&k) : MPK_OK;
    if (!mpk_failed(status) && k.n > 0) status = MPKI_DISPATCH(task->scalar, krylov)(&k, b, x);
    k.info.time_s = mpki_now_s() - start_s;
    if (!mpk_failed(status) && info) *info = k.info;
    if (message) memcpy(message, k.message, sizeof k.message);
    release(&k);
    return status;
}

/* Where the vectors of a caller's task lie, and in which stream a device works: the default one has
 * a name that is not NULL (cudaStreamLegacy), and NULL is the engines' own. */
static const mpki_vector_engine *engine_of(mpk_context *ctx, mpk_krylov_task *task) {
    static const uintptr_t default_stream = 1;
    if (task->memory == MPK_HOST) {
        task->stream = NULL;
        return &mpki_cpu_vectors;
    }
    if (task->memory != MPK_DEVICE) {
        bad(ctx, "memory is neither MPK_HOST nor MPK_DEVICE");
        return NULL;
    }
#if MPKI_HAVE_CUDA
    const mpki_engine *engine = mpki_cuda_engine(ctx, task->device);
    if (engine && !engine->vectors)
        mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1, "the device has no vectors");
    if (!task->stream) task->stream = (void *)default_stream;
    return engine ? engine->vectors : NULL;
#else
    (void)default_stream;
    mpki_error(ctx, MPK_ERR_DEVICE, "device", task->device, "METAPACK was built without CUDA");
    return NULL;
#endif
}

mpk_status mpk_krylov_solve(mpk_context *ctx, const mpk_krylov_task *task, const void *b, void *x,
                            mpk_krylov_info *info) {
    MPKI_CALM;
    char message[MPKI_KRYLOV_MESSAGE] = "";
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_krylov_task own;
    mpk_krylov_task_init(&own);
    if (!mpki_read_struct(&own, sizeof own, task, offsetof(mpk_krylov_task, memory)))
        return untouched(ctx);
    const mpki_vector_engine *engine = engine_of(ctx, &own);
    if (!engine) return mpki_failed(ctx);
    const mpki_krylov_extra extra = {.share = 1, .theirs = &mpki_theirs};
    mpk_status status = mpki_krylov_run(ctx, engine, &own, &extra, b, x, info, message);
    if (status > 0) mpki_error(ctx, status, STAGE, -1, "%s", message);
    return status;
}
