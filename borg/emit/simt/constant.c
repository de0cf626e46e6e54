/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants: literals, and what each thread of a group has of a table. */
#include "borg/emit/simt/core.h"
#include <inttypes.h>
#include <string.h>

const char *simt_literal(simt *e, borg_type type, uint64_t bits) {
    return ctext_literal(&e->c, type, bits);
}

static const char *truth_by_lane(simt *e, const uint64_t *bits) {
    int32_t n = e->lanes, count = 0, low = n, high = -1;
    uint64_t mask = 0;
    for (int32_t l = 0; l < n; ++l) {
        if (!bits[l]) continue;
        ++count;
        high = l;
        if (low == n) low = l;
        if (l < 64) mask |= (uint64_t)1 << l;
    }
    if (count == high - low + 1) {
        if (low == high) return borg_format(e->arena, "(b_l == %d)", low);
        if (low == 0) return borg_format(e->arena, "(b_l <= %d)", high);
        if (high == n - 1) return borg_format(e->arena, "(b_l >= %d)", low);
        return borg_format(e->arena, "((b_l >= %d) & (b_l <= %d))", low, high);
    }
    if (count == n - 1)
        for (int32_t l = 0; l < n; ++l)
            if (!bits[l]) return borg_format(e->arena, "(b_l != %d)", l);
    if (n <= 32) return borg_format(e->arena, "(b_bool)(0x%" PRIx64 "u >> b_l & 1u)", mask);
    if (n <= 64)
        return borg_format(e->arena, "(b_bool)((b_i64)0x%" PRIx64 "u%s >> b_l & 1u)", mask,
                           e->target->opencl ? "l" : "ll");
    return NULL;
}

/* a * x + b with x = thread, or its work-item. */
static const char *affine_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    for (int32_t clamp = 0; clamp < 2; ++clamp) {
        uint64_t a = bits[1] - bits[0], cut = type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
        bool good = true;
        for (int32_t l = 0; l < e->lanes && good; ++l) {
            int32_t x = clamp && l >= e->m->size ? e->m->size - 1 : l;
            good = ((bits[0] + a * (uint64_t)x) & cut) == (bits[l] & cut);
        }
        if (!good) continue;
        const char *x = clamp ? "b_w0" : "b_l", *t = e->target->types[type];
        a &= cut;
        if (a == 1 && bits[0] == 0) return borg_format(e->arena, "(%s)%s", t, x);
        return borg_format(e->arena, "(%s * (%s)%s + %s)", simt_literal(e, type, a), t, x,
                           simt_literal(e, type, bits[0]));
    }
    return NULL;
}

/* a * (x / d) + b * (x % d) + c: places in tiles. */
static const char *tile_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    uint64_t cut = type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
    for (int32_t d = 2; d < e->m->size && d < e->lanes; ++d) {
        uint64_t a = bits[d] - bits[0], b = bits[1] - bits[0];
        bool good = true;
        for (int32_t l = 0; l < e->lanes && good; ++l) {
            int32_t x = l >= e->m->size ? e->m->size - 1 : l;
            good = ((bits[0] + a * (uint64_t)(x / d) + b * (uint64_t)(x % d)) & cut) ==
                   (bits[l] & cut);
        }
        if (!good) continue;
        const char *t = e->target->types[type];
        return borg_format(e->arena, "(%s * (%s)(b_w0 / %d) + %s * (%s)(b_w0 %% %d) + %s)",
                           simt_literal(e, type, a & cut), t, d, simt_literal(e, type, b & cut), t,
                           d, simt_literal(e, type, bits[0]));
    }
    return NULL;
}

/* a * (x / d) + h[x % d] + c with a few h: a place of its own for each thread of d. */
static const char *choice_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    enum { MOST_ITEMS = 8, MOST_CHOICES = 3 };
    uint64_t cut = type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
    for (int32_t d = 2; d <= MOST_ITEMS && d < e->m->size && d < e->lanes; ++d) {
        uint64_t a = bits[d] - bits[0];
        int32_t choices = 1;
        bool good = true;
        for (int32_t l = 0; l < e->lanes && good; ++l) {
            int32_t x = l >= e->m->size ? e->m->size - 1 : l;
            good = ((a * (uint64_t)(x / d) + bits[x % d]) & cut) == (bits[l] & cut);
        }
        for (int32_t i = 1; i < d; ++i) choices += bits[i] != bits[i - 1];
        if (!good || choices > MOST_CHOICES) continue;
        const char *h = simt_literal(e, type, (bits[d - 1] - bits[0]) & cut);
        for (int32_t i = d - 2; i >= 0; --i)
            if (bits[i] != bits[i + 1])
                h = borg_format(e->arena, "b_w0 %% %d < %d ? %s : %s", d, i + 1,
                                simt_literal(e, type, (bits[i] - bits[0]) & cut), h);
        return borg_format(e->arena, "(%s * (%s)(b_w0 / %d) + (%s) + %s)",
                           simt_literal(e, type, a & cut), e->target->types[type], d, h,
                           simt_literal(e, type, bits[0]));
    }
    return NULL;
}

/* A table of what each thread adds to the first thread's value, a few bits each. Constants that
 * differ from it by the same number in all threads share it. */
static const char *table_like(simt *e, borg_type type, const uint64_t *bits) {
    simt_table *t = e->shared;
    int32_t *more = BORG_NEW(e->arena, e->lanes, int32_t);
    for (int32_t l = 0; l < e->lanes; ++l) {
        int64_t difference = type == BORG_I32 ? (int32_t)(uint32_t)(bits[l] - bits[0])
                                              : (int64_t)(bits[l] - bits[0]);
        more[l] = (int32_t)difference;
        if (more[l] != difference) return NULL;
    }
    while (t && memcmp(t->more, more, (size_t)e->lanes * sizeof *more) != 0) t = t->next;
    if (!t) {
        t = BORG_NEW(e->arena, 1, simt_table);
        *t = (simt_table){.more = more, .number = e->tables++, .next = e->shared};
        e->shared = t;
        borg_put(e->head, "B_TABLE b_s32 b_table_%s_%d[%d] = {", e->name, t->number, e->lanes);
        for (int32_t l = 0; l < e->lanes; ++l)
            borg_put(e->head, "%s%" PRId32, l ? ", " : "", more[l]);
        borg_put(e->head, "};\n");
    }
    return borg_format(e->arena, "((%s)b_table_%s_%d[b_l] + %s)", e->target->types[type], e->name,
                       t->number, simt_literal(e, type, bits[0]));
}

const char *simt_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    bool equal = true;
    const char *text = NULL;
    for (int32_t l = 1; l < e->lanes; ++l) equal = equal && bits[l] == bits[0];
    if (equal) return simt_literal(e, type, bits[0]);
    if (type == BORG_I1) text = truth_by_lane(e, bits);
    if (borg_is_int(type)) text = affine_by_lane(e, type, bits);
    if (!text && borg_is_int(type)) text = tile_by_lane(e, type, bits);
    if (!text && borg_is_int(type)) text = choice_by_lane(e, type, bits);
    if (text) return text;
    const char *shared = borg_is_int(type) ? table_like(e, type, bits) : NULL;
    if (shared) return shared;
    borg_put(e->head, "B_TABLE %s b_table_%s_%d[%d] = {", e->target->types[type], e->name,
             e->tables, e->lanes);
    for (int32_t l = 0; l < e->lanes; ++l)
        borg_put(e->head, "%s%s", l ? ", " : "", simt_literal(e, type, bits[l]));
    borg_put(e->head, "};\n");
    return borg_format(e->arena, "b_table_%s_%d[b_l]", e->name, e->tables++);
}
