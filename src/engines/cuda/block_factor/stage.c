/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of a factor on blocks on the device: the arena, level sets, sweeps, and what is taken back
 * for factor/stages.c. */
#include "core/trace.h"
#include "state.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* ---- the arena ------------------------------------------------------------------------------- */

/* Memory for `words` in all; what is used stays. */
static mpk_status grow_words(mpki_blocks *f, int64_t words) {
    if (words <= f->job.words && f->words.at) return MPK_OK;
    mpki_piece more = {0};
    mpk_status status = mpki_blocks_take(f, &more, words * 4 + 256);
    if (!mpk_failed(status) && f->words.at) {
        status = mpki_blocks_status(
            f, f->module->move(f->device->cuda, more.at, f->words.at, 4 * f->notes.used));
        if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    }
    if (mpk_failed(status)) {
        mpki_blocks_give(f, &more);
        return status;
    }
    mpki_blocks_give(f, &f->words);
    f->words = more;
    f->job.words = words;
    f->job.to.words = (uint32_t *)(void *)more.at;
    return MPK_OK;
}

static mpk_status read_notes(mpki_blocks *f) {
    mpk_status status =
        mpki_blocks_copy(f, &f->notes, f->job.notes, (int64_t)sizeof f->notes, false);
    return mpk_failed(status) ? status : mpki_blocks_wait(f);
}

static mpk_status write_notes(mpki_blocks *f) {
    f->notes.broken = f->notes.failed = INT32_MAX;
    f->notes.stop = f->notes.overflow = 0;
    return mpki_blocks_copy(f, f->job.notes, &f->notes, (int64_t)sizeof f->notes, true);
}

/* ---- a stage --------------------------------------------------------------------------------- */

/* Options and bounds of the stage. */
static void mpki_blocks_describe(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    j->pivoting = (int32_t)s->pivoting;
    j->last = s->last;
    j->by_frame = s->by_frame;
    j->floor = s->floor;
    j->bound = s->bound;
    j->diagonal_shift = s->diagonal_shift;
}

/* Which blocks are stored is asked for by a next stage alone. */
static mpk_status take_back(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    const int64_t m = j->m, n = s->index.nblocks;
    mpk_status status = mpki_blocks_copy(f, s->final, j->final, m, false);
    if (!mpk_failed(status)) status = mpki_blocks_copy(f, s->reject, j->reject, m, false);
    if (!mpk_failed(status)) status = read_notes(f);
    if (mpk_failed(status) || !memchr(s->reject, 1, (size_t)m)) return status;
    status = mpki_blocks_copy(f, s->stored_blocks, j->stored, n, false);
    return mpk_failed(status) ? status : mpki_blocks_wait(f);
}

/* The status that the kernels' notes stand for. */
static mpk_status judge(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    const mpki_cuda_notes *t = &f->notes;
    s->broken_frame = t->broken < INT32_MAX ? t->broken : -1;
    if (t->broken < INT32_MAX) return MPK_ERR_NUMERIC;
    if (t->failed < INT32_MAX)
        return mpki_error(f->ctx, MPK_ERR_NUMERIC, STAGE, t->failed,
                          "block %d: its pivots overflow", t->failed);
    if (t->overflow)
        return mpki_error(f->ctx, MPK_ERR_INTERNAL, STAGE, -1, "the arena was too small");
    return MPK_OK;
}

static mpk_status stopped(mpki_blocks *f) {
    mpki_blocks_wait(f);
    return mpki_error(f->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
}

/* All portions, where the arena is large enough for whatever they give. */
static mpk_status run_all(mpki_blocks *f, int32_t levels) {
    const bool traced = mpki_trace_of(f->ctx) != NULL; /* then each is waited for */
    const int32_t each = traced ? 1 : PORTIONS_QUEUED;
    mpk_status status = traced ? mpki_blocks_wait(f) : MPK_OK;
    for (int32_t k = 0; k < f->job.portions && !mpk_failed(status); k += each) {
        const int32_t end = f->job.portions - k < each ? f->job.portions : k + each;
        const double began = mpki_trace_begin(f->ctx);
        status = mpki_blocks_status(f, f->module->run(f->device->cuda, &f->job, k, end));
        if (traced && !mpk_failed(status)) status = mpki_blocks_wait(f);
        mpki_trace_end(f->ctx, MPKI_LANE_CALLER, "portion", f->job.portion[k].level, began);
        if (!mpk_failed(status) && levels &&
            mpki_progress(f->ctx, STAGE, (f->job.portion[end - 1].level + 1.0) / levels))
            status = stopped(f);
    }
    return status;
}

/* Portions, the arena growing before those that might not fit. */
static mpk_status run_growing(mpki_blocks *f) {
    mpk_status status = MPK_OK;
    int64_t sure = f->notes.used; /* no more is in use */
    for (int32_t k = 0; k < f->job.portions && !mpk_failed(status); k++) {
        const int64_t words = f->job.portion[k].words;
        if (sure + words > f->job.words) {
            status = read_notes(f);
            if (mpk_failed(status) || f->notes.stop) break;
            sure = f->notes.used;
            if (sure + words > f->job.words) status = grow_words(f, sure + words + sure / 4);
            if (status == MPK_ERR_MEMORY && sure / 4 > 0) {
                mpki_clear_error(f->ctx);
                status = grow_words(f, sure + words);
            }
            f->job.from = f->job.to;
        }
        sure += words;
        if (!mpk_failed(status))
            status = mpki_blocks_status(f, f->module->run(f->device->cuda, &f->job, k, k + 1));
        if (!mpk_failed(status) && mpki_progress(f->ctx, STAGE, (k + 1.0) / f->job.portions))
            status = stopped(f);
    }
    return status;
}

/* The arena for what is due: for all of it where there is room, else as it comes. */
static mpk_status make_words(mpki_blocks *f, bool *grows) {
    const bool known = f->stages->same_capacity && f->plan->words;
    const int64_t due =
        known ? f->plan->words : mpki_blocks_words_due(f->stages, f->notes.leftover);
    const int64_t all = f->notes.used + due;
    f->plan->words = f->stages->plan ? due : 0;
    *grows = false;
    if (4 * all + 256 <= mpki_blocks_left(f)) {
        const mpk_status status = grow_words(f, all);
        if (status != MPK_ERR_MEMORY) return status;
        mpki_clear_error(f->ctx);
    }
    *grows = true;
    return MPK_OK;
}

mpk_status mpki_cuda_blocks_stage(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    const bool border = s->border < s->index.m;
    bool grows = false;
    mpki_blocks_describe(f);
    f->job.sweep = 0;
    mpk_status status = border ? mpki_blocks_border_begin(f) : MPK_OK;
    if (!mpk_failed(status))
        status = mpki_blocks_prepare(f, s->levels.count, s->levels.ptr, s->levels.frame);
    if (!mpk_failed(status)) status = write_notes(f);
    if (!mpk_failed(status)) status = make_words(f, &grows);
    f->job.from = f->job.to;
    if (!mpk_failed(status)) status = grows ? run_growing(f) : run_all(f, s->levels.count);
    const double began = mpki_trace_begin(f->ctx);
    if (!mpk_failed(status)) status = take_back(f);
    mpki_blocks_spent(f, "result", began);
    if (!mpk_failed(status)) status = judge(f);
    return mpk_failed(status) || !border ? status : mpki_blocks_border_end(f);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* A second generation of values beside the factor's own. */
static mpk_status make_spare(mpki_blocks *f, int64_t words, mpki_cuda_values *v) {
    const mpki_stages *s = f->stages;
    const int64_t n = s->index.nblocks, size = (int64_t)mpk_scalar_size(s->stored);
    const mpki_array arrays[] = {
        {&v->words, NULL, words * 4},
        {&v->lower, NULL, n * 8},
        {&v->upper, NULL, s->ldu ? n * 8 : 0},
        {&v->d, NULL, 2 * (int64_t)f->job.n * size},
        {&v->dinv, NULL, 2 * (int64_t)f->job.n * size},
    };
    mpk_status status = mpki_blocks_lay_out(f, &f->spare, arrays, MPKI_COUNT(arrays));
    if (!s->ldu) v->upper = v->lower;
    v->pivot = f->job.to.pivot, v->pivot_n = f->job.to.pivot_n;
    if (!mpk_failed(status))
        status = mpki_blocks_status(f, f->module->set(f->device->cuda, v->lower, 0xff, n * 8));
    if (!mpk_failed(status) && s->ldu)
        status = mpki_blocks_status(f, f->module->set(f->device->cuda, v->upper, 0xff, n * 8));
    return status;
}

/* What earlier stages stored is in the spare generation, too. */
static mpk_status show_kept(mpki_blocks *f, const mpki_cuda_values *own,
                            const mpki_cuda_values *spare) {
    const mpki_stages *s = f->stages;
    const int64_t n = s->index.nblocks, size = (int64_t)mpk_scalar_size(s->stored);
    const struct {
        void *to;
        const void *from;
        int64_t bytes;
    } parts[] = {{spare->words, own->words, 4 * f->notes.used},
                 {spare->lower, own->lower, n * 8},
                 {spare->upper, own->upper, s->ldu ? n * 8 : 0},
                 {spare->d, own->d, 2 * (int64_t)f->job.n * size},
                 {spare->dinv, own->dinv, 2 * (int64_t)f->job.n * size}};
    mpk_status status = MPK_OK;
    for (int k = 0; k < MPKI_COUNT(parts) && !mpk_failed(status); k++)
        if (parts[k].bytes > 0)
            status = mpki_blocks_status(
                f, f->module->move(f->device->cuda, parts[k].to, parts[k].from, parts[k].bytes));
    return status;
}

/* A sweep has its generation to itself, but for what earlier stages stored. */
static mpk_status empty(mpki_blocks *f, const mpki_cuda_notes *kept) {
    f->notes.used = kept->used;
    f->notes.leftover = kept->leftover;
    f->notes.dropped = kept->dropped;
    return write_notes(f);
}

/* What the kernels are told before a sweep. reject [in] by frame, or NULL: none */
static mpk_status begin_sweep(mpki_blocks *f, const mpki_cuda_notes *kept,
                              const unsigned char *reject) {
    const mpki_cuda_stage *j = &f->job;
    const int32_t m = f->stages->index.m;
    mpk_status status = empty(f, kept);
    if (!mpk_failed(status))
        status = reject ? mpki_blocks_copy(f, j->reject, reject, m, true)
                        : mpki_blocks_status(f, f->module->set(f->device->cuda, j->reject, 0, m));
    return mpk_failed(status) ? status : mpki_blocks_copy(f, j->final, f->stages->final, m, true);
}

/* A sweep from `from` to `to`: 1, or 2 where it is stored. reject: as begin_sweep() has it */
static mpk_status sweep(mpki_blocks *f, int kind, const mpki_cuda_values *from,
                        const mpki_cuda_values *to, const mpki_cuda_notes *kept,
                        const unsigned char *reject) {
    mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    mpki_blocks_describe(f);
    j->from = *from, j->to = *to;
    j->sweep = kind;
    mpk_status status = begin_sweep(f, kept, reject);
    if (!mpk_failed(status)) status = run_all(f, 0);
    if (!mpk_failed(status)) status = mpki_blocks_copy(f, s->reject, j->reject, s->index.m, false);
    return mpk_failed(status) ? status : read_notes(f);
}

static mpk_status run_sweeps(mpki_blocks *f, double push, int32_t due, unsigned char *failed,
                             int32_t *fail) {
    mpki_stages *s = f->stages;
    const mpk_options *o = s->options;
    mpki_cuda_stage *j = &f->job;
    const int32_t m = s->index.m;
    const int at = o->jacobi_judge == MPK_JACOBI_JUDGE_LAST ? o->sweeps : 1;
    const mpki_cuda_notes kept = f->notes;
    mpki_cuda_values own = j->to, spare = {0}, *const two[] = {&own, &spare};
    mpk_status status = make_spare(f, j->words, &spare);
    if (!mpk_failed(status) && due < m) status = show_kept(f, &own, &spare);
    if (!mpk_failed(status) && !(f->norm1 >= 0))
        status = mpki_blocks_status(f, f->module->norm(f->device->cuda, j, &f->norm1));
    /* the last sweep ends in the factor's own values */
    j->sweep = 1;
    j->to = *two[o->sweeps % 2];
    if (!mpk_failed(status)) status = begin_sweep(f, &kept, NULL);
    if (!mpk_failed(status)) status = mpki_blocks_status(f, f->module->start(f->device->cuda, j));
    double epsilon = o->jacobi_epsilon;
    bool some = false;
    for (int i = 1; !mpk_failed(status) && i <= o->sweeps; i++, epsilon *= o->jacobi_decay) {
        const mpki_cuda_values *const from = two[(o->sweeps - i + 1) % 2];
        const mpki_cuda_values *const to = two[(o->sweeps - i) % 2];
        if (push >= 0 && i == at) { /* what else it computes is overwritten */
            s->by_frame = true, s->floor = push, s->last = false;
            const unsigned long long flops = f->notes.flops;
            status = sweep(f, 1, from, to, &kept, NULL);
            f->notes.flops = flops; /* what only looks does not count */
            if (!mpk_failed(status) && o->factor_type == MPK_TYPE_LLT) status = judge(f);
            for (int32_t k = 0; k < m; k++) *fail += s->reject[k];
            some = *fail > 0 && *fail < due;
            if (mpk_failed(status) || (some && at == 1)) break;
            memcpy(failed, s->reject, (size_t)m);
            if (some) mpki_reject_dependents(s);
        }
        s->by_frame = o->jacobi_norm == MPK_JACOBI_NORM_FRAME;
        s->floor = s->by_frame ? epsilon : epsilon * f->norm1;
        s->last = true;
        const bool ends = i == o->sweeps;
        status = sweep(f, ends ? 2 : 1, from, to, &kept, some ? s->reject : NULL);
        if (!mpk_failed(status)) status = judge(f);
        if (!mpk_failed(status) && mpki_progress(f->ctx, STAGE, (double)i / o->sweeps))
            status = stopped(f);
    }
    j->to = own;
    f->job.from = own;
    if (!mpk_failed(status) && !(some && at == 1)) status = take_back(f);
    if (some && at != 1) memcpy(s->reject, failed, (size_t)m);
    return status;
}

mpk_status mpki_cuda_blocks_sweeps(mpki_blocks *f, double push, int32_t *fail) {
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    int32_t *due = MPKI_NEW(f->ctx, STAGE, x->m, int32_t), count = 0;
    unsigned char *failed = MPKI_NEW(f->ctx, STAGE, x->m, unsigned char);
    mpk_status status = due && failed ? MPK_OK : mpki_failed(f->ctx);
    *fail = 0;
    mpki_blocks_describe(f);
    for (int32_t k = 0; due && k < x->m; k++)
        if (!s->final[x->frame[k]]) due[count++] = x->frame[k];
    if (count == x->m) f->notes.used = 0; /* what is left over stays, as on the processor */
    memset(s->want, 1, (size_t)x->nblocks);
    const int32_t ptr[2] = {0, count};
    if (!mpk_failed(status)) status = mpki_blocks_prepare(f, 1, ptr, due);
    int64_t words = 4 + f->notes.used;
    for (int32_t k = 0; k < f->job.portions && !mpk_failed(status); k++)
        words += f->job.portion[k].words; /* sweeps keep what is zero later */
    if (!mpk_failed(status)) status = mpki_blocks_check(f, 8 * words - f->words.bytes);
    if (!mpk_failed(status)) status = grow_words(f, words);
    if (!mpk_failed(status)) status = run_sweeps(f, push, count, failed, fail);
    mpki_blocks_give(f, &f->spare);
    mpki_release(f->ctx, due);
    mpki_release(f->ctx, failed);
    if (!mpk_failed(status)) s->last = true;
    return status;
}
