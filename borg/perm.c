/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the lanes of a value lie when it is moved between registers. */
#include "borg/perm.h"
#include "borg/borg.h"
#include <string.h>

int32_t borg_row_registers(const borg_module *m, const borg_inst *v, int32_t lanes) {
    return (borg_row_lanes(m, v) + lanes - 1) / lanes;
}

void borg_lane_place(const borg_module *m, const borg_inst *v, int32_t in, int32_t *wi,
                     int32_t *wg) {
    *wi = *wg = 0;
    if (v->spread == BORG_WG) {
        *wg = in;
    } else if (v->spread == BORG_WI) {
        bool wg_minor = m->order == BORG_WG_MINOR;
        *wi = wg_minor ? in / m->pack : in % m->size;
        *wg = wg_minor ? in % m->pack : in / m->size;
    }
}

/* Where lane (r, w, g) of v comes from. */
static int32_t origin(const borg_module *m, const borg_inst *v, int32_t *r, int32_t *w) {
    int32_t at;
    switch (v->op) {
    case BORG_ROWS:
        at = *r;
        *r = v->map[at];
        return at;
    case BORG_PERM:
        at = *r * m->size + *w;
        *r = v->map[2 * at];
        *w = v->map[2 * at + 1];
        return 0;
    case BORG_LANE:
        at = *r;
        *r = v->map[2 * at];
        *w = v->map[2 * at + 1];
        return 0;
    default:
        return 0;
    }
}

static bool power_of_two(int32_t x) {
    return x > 0 && (x & (x - 1)) == 0;
}

/* Runs of equal lanes of a power of two. */
static bool segmented(borg_move *k) {
    int32_t run = 1;
    while (run < k->used && k->index[run] == k->index[0]) ++run;
    for (; run > 1; --run) {
        if (!power_of_two(run)) continue;
        bool good = true;
        for (int32_t i = 0; i < k->used && good; ++i) good = k->index[i] == k->index[i / run * run];
        if (!good) continue;
        k->segment = run;
        return true;
    }
    return false;
}

/* A consecutive part repeated. */
static bool repeated(borg_move *k) {
    for (int32_t part = 2; part < k->used; part *= 2) {
        bool good = k->index[0] % part == 0;
        for (int32_t i = 0; i < k->used && good; ++i) good = k->index[i] == k->index[0] + i % part;
        if (!good) continue;
        k->segment = part;
        return true;
    }
    return false;
}

static void classify_one(borg_move *k, int32_t lanes) {
    bool copy = true, splat = true, rotated = true;
    for (int32_t i = 0; i < k->used; ++i) {
        copy = copy && k->index[i] == i;
        splat = splat && k->index[i] == k->index[0];
        rotated = rotated && k->index[i] == (k->index[0] + i) % lanes;
    }
    k->kind = copy           ? BORG_MOVE_COPY
              : splat        ? BORG_MOVE_SPLAT
              : repeated(k)  ? BORG_MOVE_VECTOR
              : segmented(k) ? BORG_MOVE_SEGMENTED
              : rotated      ? BORG_MOVE_ROTATE
                             : BORG_MOVE_ONE;
}

static void classify_two(borg_move *k, int32_t lanes) {
    bool blend = true, rotated = true;
    for (int32_t i = 0; i < k->used; ++i) blend = blend && k->index[i] == i;
    if (blend) {
        k->kind = BORG_MOVE_BLEND;
        return;
    }
    for (int32_t i = 0; i < k->used; ++i) {
        if (k->from[i] == k->source[1]) k->index[i] = (uint16_t)(k->index[i] + lanes);
        rotated = rotated && k->index[i] == k->index[0] + i;
    }
    k->kind = rotated ? BORG_MOVE_ROTATE : BORG_MOVE_TWO;
}

void borg_classify_move(const borg_module *m, const borg_inst *v, int32_t lanes, int32_t which,
                        borg_move *k) {
    int32_t per_row = borg_row_registers(m, v, lanes), row = which / per_row;
    int32_t first = which % per_row * lanes, nsources = 0, row_lanes = borg_row_lanes(m, v);
    memset(k, 0, sizeof *k);
    k->used = row_lanes - first < lanes ? row_lanes - first : lanes;
    for (int32_t i = 0; i < k->used; ++i) {
        int32_t r = row, w, g;
        borg_lane_place(m, v, first + i, &w, &g);
        k->operand = origin(m, v, &r, &w);
        const borg_inst *x = v->args[k->operand];
        int32_t in = borg_lane_number(m, x, r, w, g) - r * borg_row_lanes(m, x);
        k->from[i] = r * borg_row_registers(m, x, lanes) + in / lanes;
        k->index[i] = (uint16_t)(in % lanes);
        bool known = false;
        for (int32_t s = 0; s < nsources && s < 2; ++s) known = known || k->source[s] == k->from[i];
        if (known) continue;
        if (nsources < 2) k->source[nsources] = k->from[i];
        ++nsources;
    }
    if (nsources == 1) {
        classify_one(k, lanes);
    } else if (nsources == 2) {
        classify_two(k, lanes);
    } else {
        k->kind = BORG_MOVE_GATHER;
    }
}

bool borg_const_affine(const borg_module *m, const borg_inst *v, int64_t *a, int64_t *b) {
    if (v->op != BORG_CONST || v->rows != 1 || !borg_is_int(v->type)) return false;
    int64_t at[2] = {0, 0};
    for (int32_t w = 0; w < m->size; ++w) {
        uint64_t bits = borg_const_bits(m, v, 0, w);
        int64_t x = v->type == BORG_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
        if (w < 2) at[w] = x;
        if (w > 1 &&
            (uint64_t)x != (uint64_t)at[0] + (uint64_t)w * ((uint64_t)at[1] - (uint64_t)at[0]))
            return false;
    }
    *b = at[0];
    *a = m->size > 1 ? (int64_t)((uint64_t)at[1] - (uint64_t)at[0]) : 0;
    return true;
}

bool borg_const_range(const borg_module *m, const borg_inst *v, int32_t *low, int32_t *high) {
    if (v->op != BORG_CONST || v->rows != 1 || v->type != BORG_I1) return false;
    *low = m->size;
    *high = -1;
    int32_t count = 0;
    for (int32_t w = 0; w < m->size; ++w) {
        if (!borg_const_bits(m, v, 0, w)) continue;
        if (w < *low) *low = w;
        *high = w;
        ++count;
    }
    return count == 0 || *high - *low + 1 == count;
}

int32_t borg_move_option(borg_move_kind kind) {
    switch (kind) {
    case BORG_MOVE_COPY:
        return BORG_NO_REUSE;
    case BORG_MOVE_SPLAT:
        return BORG_NO_SCALAR;
    case BORG_MOVE_VECTOR:
        return BORG_NO_VECTOR;
    case BORG_MOVE_SEGMENTED:
        return BORG_NO_SEGMENTED;
    default:
        return BORG_NO_PERMUTE;
    }
}
