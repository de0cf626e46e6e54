/* SPDX-License-Identifier: BSD-3-Clause */
/* Interleaved groups, consecutive work-items: blocks of as many groups as work-items are transposed
 * between memory and registers.
 *   A register is read, or written, as two halves: of two groups at once, so that one exchange is
 * done by loads and stores, and work-items that nobody asks for cost nothing. What is left are
 * exchanges that processors do by one shuffle: of single lanes and of pairs of lanes within 128
 * bits, then of pieces of 128 bits. With the bits of a lane's number, highest first, and those of a
 * register's, eight lanes of 64 bits (g: group, w: work-item) go from (g1 w1 w0), (g2 g0) to
 * (g1 w1 g0), (g2 w0) to (g2 g1 g0), (w1 w0). */
#include "borg/emit/simd/move.h"
#include "borg/emit/simd/transpose.h"
#include <inttypes.h>

enum { UNIT = 16 }; /* bytes */

typedef struct block {
    simd *e;
    borg_type type;
    int32_t lanes, unit; /* of a register, of 128 bits */
} block;

static const char *pick(const block *b, const char *x, const char *y, const int32_t *at) {
    const char *pair[] = {x, y};
    int32_t from[BORG_MAX_VECTOR], index[BORG_MAX_VECTOR];
    for (int32_t l = 0; l < b->lanes; ++l) {
        from[l] = at[l] / b->lanes;
        index[l] = at[l] % b->lanes;
    }
    return simd_move(b->e, b->type, pair, from, index);
}

/* Registers that differ in `bit`, within 128 bits: runs of `width` lanes of the lower (upper) half
 * of each unit, in turn from both. */
static void unpack(const block *b, const char **x, int32_t count, int32_t bit, int32_t width) {
    for (int32_t i = 0; i < count; ++i) {
        if (i & bit || !x[i]) continue;
        const char *pair[2];
        for (int32_t half = 0; half < 2; ++half) {
            int32_t at[BORG_MAX_VECTOR];
            for (int32_t l = 0; l < b->lanes; ++l) {
                int32_t in = l % b->unit, run = in / width;
                at[l] = l - in + half * b->unit / 2 + run / 2 * width + in % width +
                        (run & 1) * b->lanes;
            }
            pair[half] = pick(b, x[i], x[i | bit], at);
        }
        x[i] = pair[0];
        x[i | bit] = pair[1];
    }
}

/* The same with whole units: even (odd) ones, all of the one register before all of the other
 * (`in_turn` false), or in turn. */
static void units(const block *b, const char **x, int32_t count, int32_t bit, bool in_turn) {
    int32_t most = b->lanes / b->unit;
    for (int32_t i = 0; i < count; ++i) {
        if (i & bit || !x[i]) continue;
        const char *pair[2];
        for (int32_t half = 0; half < 2; ++half) {
            int32_t at[BORG_MAX_VECTOR];
            for (int32_t l = 0; l < b->lanes; ++l) {
                int32_t u = l / b->unit, second = in_turn ? u & 1 : u / (most / 2);
                int32_t from = (in_turn ? u & ~1 : u % (most / 2) * 2) + half;
                at[l] = from * b->unit + l % b->unit + second * b->lanes;
            }
            pair[half] = pick(b, x[i], x[i | bit], at);
        }
        x[i] = pair[0];
        x[i | bit] = pair[1];
    }
}

/* x[0 .. lanes-1] := its transpose, by log2(lanes) steps of exchanges: any kind of register. */
static void butterfly(const block *b, const char **x) {
    for (int32_t step = 1; step < b->lanes; step *= 2) {
        for (int32_t i = 0; i < b->lanes; ++i) {
            if (i & step) continue;
            const char *low = x[i], *high = x[i + step];
            int32_t at[BORG_MAX_VECTOR];
            for (int32_t half = 0; half < 2; ++half) {
                for (int32_t l = 0; l < b->lanes; ++l)
                    at[l] = (l & ~step) + half * step + (l & step ? b->lanes : 0);
                x[i + half * step] = pick(b, low, high, at);
            }
        }
    }
}

static block block_of(simd *e, borg_type type) {
    block b = {.e = e, .type = type, .lanes = e->lanes};
    b.unit = UNIT / borg_type_bytes(type);
    return b;
}

static bool by_halves(const block *b) {
    return b->unit > 1 && (b->lanes == 2 * b->unit || b->lanes == 4 * b->unit);
}

static const char *hex(simd *e, uint64_t bits) {
    return borg_format(e->arena, "0x%" PRIx64, bits);
}

/* ---- halves in memory ------------------------------------------------------------------------ */

/* Half a register from `at`, of which the lanes of `bits` are there. */
static const char *half_at(const block *b, const char *at, uint64_t bits) {
    int32_t count = b->lanes / 2;
    const char *suffix = simd_suffix(b->type);
    if (bits == simd_bits(count)) return borg_format(b->e->arena, "b_half_%s(%s)", suffix, at);
    if (b->e->target->masked)
        return borg_format(b->e->arena, "b_halfm_%s(%s, %s)", suffix, hex(b->e, bits), at);
    borg_sink text = {.arena = b->e->arena};
    for (int32_t l = 0; l < count; ++l)
        borg_put(&text, "%s%s", l ? ", " : borg_format(b->e->arena, "(h%s){", suffix),
                 bits >> l & 1 ? borg_format(b->e->arena, "(%s)[%d]", at, l) : "0");
    borg_put(&text, "}");
    return text.text;
}

static void store_half(const block *b, const char *at, uint64_t bits, const char *x, int32_t half) {
    int32_t count = b->lanes / 2;
    const char *suffix = simd_suffix(b->type), *name = half ? "high" : "low";
    if (!bits) return;
    if (bits == simd_bits(count)) {
        ctext_line(&b->e->c, "b_store_%s_%s(%s, %s);", name, suffix, at, x);
    } else if (b->e->target->masked) {
        ctext_line(&b->e->c, "b_storem_%s_%s(%s, %s, %s);", name, suffix, hex(b->e, bits), at, x);
    } else {
        for (int32_t l = 0; l < count; ++l)
            if (bits >> l & 1)
                ctext_line(&b->e->c, "(%s)[%d] = %s;", at, l,
                           simd_lane(b->e, b->type, x, half * count + l));
    }
}

static const char *behind(simd *e, const char *at, int32_t items) {
    return items ? borg_format(e->arena, "%s + %d", at, items) : at;
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static uint64_t any_bits(const simd *e, const uint64_t *bits) {
    uint64_t any = 0;
    for (int32_t g = 0; g < e->lanes; ++g) any |= bits[g];
    return any;
}

static void load_halves(const block *b, const char *const *at, uint64_t bits, const char **x) {
    simd *e = b->e;
    int32_t half = b->lanes / 2, quads = b->lanes / b->unit == 4;
    int32_t pair = quads ? b->lanes / 4 : b->lanes / 2;
    for (int32_t h = 0; h < 2; ++h) {
        uint64_t there = bits >> (h * half) & simd_bits(half);
        const char *reg[BORG_MAX_VECTOR] = {NULL};
        for (int32_t g = 0; g < b->lanes && there; ++g)
            if (!(g & pair))
                reg[g] =
                    simd_temp(e, b->type, false,
                              borg_format(e->arena, "b_join_%s(%s, %s)", simd_suffix(b->type),
                                          half_at(b, behind(e, at[g], h * half), there),
                                          half_at(b, behind(e, at[g | pair], h * half), there)));
        if (b->unit == 4) unpack(b, reg, b->lanes, 1, 1);
        unpack(b, reg, b->lanes, b->unit / 2, b->unit / 2);
        if (quads) units(b, reg, b->lanes, b->lanes / 2, false);
        for (int32_t w = 0; w < half; ++w) { /* bits of w, where they are now */
            int32_t i = b->unit == 4 ? (w & 1) << 1 | (w >> 1 & 1) : w & 1;
            if (quads && w & half / 2) i |= b->lanes / 2;
            x[h * half + w] = there ? reg[i] : simd_splat(e, b->type, "0");
        }
    }
}

static void store_halves(const block *b, const char *const *at, const uint64_t *bits,
                         const char *const *x) {
    int32_t half = b->lanes / 2, quads = b->lanes / b->unit == 4;
    uint64_t all = any_bits(b->e, bits);
    for (int32_t h = 0; h < 2; ++h) {
        uint64_t there = all >> (h * half) & simd_bits(half);
        const char *reg[BORG_MAX_VECTOR];
        if (!there) continue;
        int32_t any = 0;
        while (!(there >> any & 1)) ++any;
        for (int32_t w = 0; w < half; ++w) reg[w] = x[h * half + (there >> w & 1 ? w : any)];
        if (b->unit == 4) unpack(b, reg, half, 1, 1);
        unpack(b, reg, half, b->unit / 2, b->unit / 2);
        if (quads) units(b, reg, half, half / 2, true);
        for (int32_t i = 0; i < half; ++i) {
            int32_t low = b->unit == 4 ? (i & 1) << 1 | (i >> 1 & 1) : i & 1;
            if (quads) low |= i & half / 2;
            for (int32_t g = low; g < b->lanes; g += half)
                store_half(b, behind(b->e, at[g], h * half),
                           bits[g] >> (h * half) & simd_bits(half), reg[i], g >= half);
        }
    }
}

/* The butterfly's: whole registers under a mask. */
static const char *mask_text(simd *e, uint64_t bits) {
    return bits == simd_bits(e->lanes) ? NULL : hex(e, bits);
}

bool simd_transposes(const simd *e, borg_type type, uint64_t bits) {
    block b = block_of((simd *)(uintptr_t)e, type);
    return by_halves(&b) || e->target->masked || bits == simd_bits(e->lanes);
}

void simd_load_transposed(simd *e, borg_type type, const char *const *at, uint64_t bits,
                          const char **x) {
    block b = block_of(e, type);
    const char *suffix = simd_suffix(type), *mask = mask_text(e, bits);
    if (by_halves(&b)) {
        load_halves(&b, at, bits, x);
        return;
    }
    for (int32_t i = 0; i < e->lanes; ++i)
        x[i] = simd_temp(e, type, false,
                         !bits  ? simd_splat(e, type, "0")
                         : mask ? borg_format(e->arena, "b_loadm_%s(%s, %s)", suffix, mask, at[i])
                                : borg_format(e->arena, "b_load_%s(%s)", suffix, at[i]));
    if (bits) butterfly(&b, x);
}

void simd_store_transposed(simd *e, borg_type type, const char *const *at, const uint64_t *bits,
                           const char *const *x) {
    block b = block_of(e, type);
    const char *suffix = simd_suffix(type), *reg[BORG_MAX_VECTOR];
    if (by_halves(&b)) {
        store_halves(&b, at, bits, x);
        return;
    }
    if (!any_bits(e, bits)) return;
    for (int32_t i = 0; i < e->lanes; ++i) reg[i] = x[i];
    butterfly(&b, reg);
    for (int32_t i = 0; i < e->lanes; ++i) {
        const char *mask = mask_text(e, bits[i]);
        if (bits[i])
            ctext_line(&e->c, mask ? "b_storem_%s(%s, %s, %s);" : "b_store_%s(%s%s, %s);", suffix,
                       mask ? mask : "", at[i], reg[i]);
    }
}
