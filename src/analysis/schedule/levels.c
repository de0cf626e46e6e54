/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes level sets of frames, and checks them. */
#include "schedule.h"

#include <string.h>

static const char STAGE[] = "levels";

void mpki_levels_free(mpk_context *ctx, mpki_levels *levels) {
    mpki_release(ctx, levels->ptr);
    mpki_release(ctx, levels->frame);
    *levels = (mpki_levels){0};
}

/* Frames by place into the buckets of their levels. level: by place. */
static mpk_status bucket(mpk_context *ctx, const mpki_ibcsr *index, int32_t first,
                         const int32_t *level, int32_t count, mpki_levels *levels) {
    *levels = (mpki_levels){.count = count,
                            .ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)count + 1, int32_t),
                            .frame = MPKI_NEW(ctx, STAGE, index->m - first, int32_t)};
    if (!levels->ptr || !levels->frame) {
        mpki_levels_free(ctx, levels);
        return mpki_failed(ctx);
    }
    int32_t *ptr = levels->ptr;
    for (int32_t p = first; p < index->m; p++) ptr[level[p - first] + 1]++;
    for (int32_t k = 0; k < count; k++) ptr[k + 1] += ptr[k];
    for (int32_t p = first; p < index->m; p++)
        levels->frame[ptr[level[p - first]]++] = index->frame[p];
    for (int32_t k = count; k > 0; k--) ptr[k] = ptr[k - 1];
    ptr[0] = 0;
    return MPK_OK;
}

mpk_status mpki_levels_make(mpk_context *ctx, const mpki_ibcsr *index, int32_t first,
                            mpki_levels *levels) {
    int32_t m = index->m, count = 0;
    *levels = (mpki_levels){0};
    int32_t *level = MPKI_NEW(ctx, STAGE, (int64_t)m - first, int32_t);
    if (!level) return mpki_failed(ctx);
    for (int32_t p = first; p < m; p++) {
        int32_t f = index->frame[p], above = 0;
        for (int64_t e = index->diagonal[f] - 1; e >= index->ptr[f]; e--) {
            int32_t q = index->place[index->entry[e].other];
            if (q < first) break;
            if (level[q - first] >= above) above = level[q - first] + 1;
        }
        level[p - first] = above;
        if (above >= count) count = above + 1;
    }
    mpk_status status = bucket(ctx, index, first, level, count, levels);
    mpki_release(ctx, level);
    return status;
}

mpk_status mpki_levels_append(mpk_context *ctx, mpki_levels *a, const mpki_levels *b) {
    const int32_t na = a->count ? a->ptr[a->count] : 0, nb = b->count ? b->ptr[b->count] : 0;
    int32_t *ptr = mpki_resize(ctx, STAGE, a->ptr, (int64_t)a->count + b->count + 1, sizeof *ptr);
    if (!ptr) return mpki_failed(ctx);
    a->ptr = ptr;
    int32_t *frame = mpki_resize(ctx, STAGE, a->frame, (int64_t)na + nb, sizeof *frame);
    if (!frame) return mpki_failed(ctx);
    a->frame = frame;
    for (int32_t l = 0; l <= b->count; l++) ptr[a->count + l] = na + (b->count ? b->ptr[l] : 0);
    if (nb) memcpy(frame + na, b->frame, (size_t)nb * sizeof *frame);
    a->count += b->count;
    return MPK_OK;
}

/* The set each frame is in, -1 for none; MPK_ERR_INTERNAL when one is listed twice. */
static mpk_status sets(mpk_context *ctx, const mpki_ibcsr *index, const mpki_levels *levels,
                       int32_t *set) {
    for (int32_t f = 0; f < index->m; f++) set[f] = -1;
    for (int32_t s = 0; s < levels->count; s++)
        for (int32_t k = levels->ptr[s]; k < levels->ptr[s + 1]; k++) {
            int32_t f = levels->frame[k];
            if (f < 0 || f >= index->m || set[f] >= 0)
                return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, f,
                                  "frame %d is no frame, or is in two sets", (int)f);
            set[f] = s;
        }
    return MPK_OK;
}

mpk_status mpki_levels_check(mpk_context *ctx, const mpki_ibcsr *index, const mpki_levels *levels) {
    int32_t *set = MPKI_NEW(ctx, STAGE, index->m, int32_t);
    if (!set) return mpki_failed(ctx);
    mpk_status status = sets(ctx, index, levels, set);
    for (int32_t f = 0; !mpk_failed(status) && f < index->m; f++) {
        if (set[f] < 0) continue;
        for (int64_t e = index->diagonal[f] + 1; !mpk_failed(status) && e < index->ptr[f + 1];
             e++) {
            int32_t g = index->entry[e].other;
            if (set[g] < 0 || set[g] > set[f]) continue;
            status =
                mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, f,
                           "frame %d depends on %d, but is not in a later set", (int)g, (int)f);
        }
    }
    mpki_release(ctx, set);
    return status;
}

mpk_status mpki_subsets_check(mpk_context *ctx, const mpki_ibcsr *index,
                              const mpki_levels *subsets) {
    mpk_status status = mpki_levels_check(ctx, index, subsets);
    if (mpk_failed(status)) return status;
    int32_t *last = MPKI_NEW(ctx, STAGE, 2 * (int64_t)index->m, int32_t);
    if (!last) return mpki_failed(ctx);
    int32_t *set = last + index->m; /* the last set that reached a successor, and from where */
    for (int32_t f = 0; f < index->m; f++) set[f] = -1;
    for (int32_t s = 0; s < subsets->count; s++)
        for (int32_t k = subsets->ptr[s]; !mpk_failed(status) && k < subsets->ptr[s + 1]; k++) {
            int32_t f = subsets->frame[k];
            for (int64_t e = index->diagonal[f] + 1; !mpk_failed(status) && e < index->ptr[f + 1];
                 e++) {
                int32_t g = index->entry[e].other;
                if (set[g] == s)
                    status = mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, f,
                                        "frames %d and %d of one subset both update %d",
                                        (int)last[g], (int)f, (int)g);
                set[g] = s;
                last[g] = f;
            }
        }
    mpki_release(ctx, last);
    return status;
}
