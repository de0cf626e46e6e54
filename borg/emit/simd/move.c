/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one register of lanes that lie in others, wherever they are. */
#include "borg/emit/simd/move.h"

/* What gcc (12, at least) takes for a vpermilpd of eight 64-bit lanes though it is none: it does
 * not look whether lanes 2 and 3 come from the upper half. */
static bool mistaken(borg_type type, int32_t lanes, const int32_t *at) {
    static const int32_t low[8] = {0, 0, 2, 2, 4, 4, 6, 6}, high[8] = {1, 1, 7, 7, 5, 5, 7, 7};
    if (lanes != 8 || borg_type_bytes(type) != 8) return false;
    for (int32_t i = 0; i < 8; ++i)
        if (at[i] < low[i] || at[i] > high[i]) return false;
    return at[2] > 3 || at[3] > 3;
}

/* A register made of lanes of one or two. at[i]: lane of x, or of y + lanes; below 0: any. */
static const char *shuffle(simd *e, borg_type type, const char *x, const char *y,
                           const int32_t *at) {
    borg_sink text = {.arena = e->arena};
    int32_t lanes = e->lanes, first = 0;
    uint64_t wide[BORG_MAX_VECTOR];
    bool copy = true, splat = true;
    while (first < lanes && at[first] < 0) ++first;
    if (first == lanes) return x;
    for (int32_t i = first; i < lanes; ++i) {
        copy = copy && (at[i] < 0 || at[i] == i);
        splat = splat && (at[i] < 0 || at[i] == at[first]);
    }
    if (copy) return x;
    if (splat) {
        const char *from = at[first] < lanes ? x : y;
        return simd_temp(
            e, type, false,
            borg_format(e->arena, "b_lane_%s(%s, %d)", simd_suffix(type), from, at[first] % lanes));
    }
    int32_t all[BORG_MAX_VECTOR];
    for (int32_t i = 0; i < lanes; ++i)
        all[i] = at[i] < 0 ? (at[first] - first + i) & (lanes - 1) : at[i];
    if (e->target->masked && mistaken(type, lanes, all)) {
        for (int32_t i = 0; i < lanes; ++i) wide[i] = (uint64_t)all[i];
        return simd_temp(e, type, false,
                         borg_format(e->arena, "b_permute_%s(%s, %s)", simd_suffix(type), x,
                                     simd_literals(e, BORG_I32, wide, lanes)));
    }
    bool spread = type == BORG_I1 && e->target->bits;
    borg_put(&text,
             spread ? "b_gather_bits(__builtin_shufflevector(b_spread(%s), b_spread(%s)"
                    : "__builtin_shufflevector(%s, %s",
             x, y);
    for (int32_t i = 0; i < lanes; ++i) borg_put(&text, ", %d", all[i]);
    borg_put(&text, spread ? "))" : ")");
    return simd_temp(e, type, false, text.text);
}

/* Sources are taken in pairs, which bring each lane to its final place at once; then the halves are
 * put together. */
const char *simd_move(simd *e, borg_type type, const char *const *source, const int32_t *from,
                      const int32_t *index) {
    const char *part[BORG_MAX_VECTOR];
    int32_t list[BORG_MAX_VECTOR], owner[BORG_MAX_VECTOR], at[BORG_MAX_VECTOR];
    int32_t count = 0, lanes = e->lanes;
    for (int32_t i = 0; i < lanes; ++i) {
        int32_t s = 0;
        owner[i] = -1;
        if (from[i] < 0) continue;
        while (s < count && list[s] != from[i]) ++s;
        if (s == count) list[count++] = from[i];
        owner[i] = s;
    }
    for (int32_t s = 0; s < count; s += 2) {
        for (int32_t i = 0; i < lanes; ++i)
            at[i] = owner[i] == s ? index[i] : owner[i] == s + 1 ? lanes + index[i] : -1;
        part[s / 2] =
            shuffle(e, type, source[list[s]], source[list[s + 1 < count ? s + 1 : s]], at);
    }
    for (int32_t width = 2; width < count; width *= 2) {
        for (int32_t s = 0; s + width < count; s += 2 * width) {
            for (int32_t i = 0; i < lanes; ++i)
                at[i] = owner[i] < s || owner[i] >= s + 2 * width ? -1
                        : owner[i] < s + width                    ? i
                                                                  : lanes + i;
            part[s / 2] = shuffle(e, type, part[s / 2], part[(s + width) / 2], at);
        }
    }
    return count ? part[0] : source[0];
}
