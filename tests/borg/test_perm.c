/* SPDX-License-Identifier: BSD-3-Clause */
/* Reorderings: every register that a class describes holds the lanes that the instruction says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "borg/perm.h"

enum { LANES = 8 };

/* What a class says that lane i holds: register * lanes + lane of the operand. */
static int32_t described(const borg_move *k, int32_t i) {
    switch (k->kind) {
    case BORG_MOVE_COPY:
        return k->source[0] * LANES + i;
    case BORG_MOVE_SPLAT:
        return k->source[0] * LANES + k->index[0];
    case BORG_MOVE_SEGMENTED:
        return k->source[0] * LANES + k->index[i / k->segment * k->segment];
    case BORG_MOVE_VECTOR:
        return k->source[0] * LANES + k->index[0] + i % k->segment;
    case BORG_MOVE_ROTATE: {
        int32_t at = k->index[0] + i;
        if (at < LANES) return k->source[0] * LANES + at;
        return (k->from[i] == k->source[0] ? k->source[0] : k->source[1]) * LANES + at - LANES;
    }
    case BORG_MOVE_BLEND:
        return k->from[i] * LANES + i;
    case BORG_MOVE_ONE:
        return k->source[0] * LANES + k->index[i];
    case BORG_MOVE_TWO:
        return k->source[k->index[i] / LANES] * LANES + k->index[i] % LANES;
    default:
        return k->from[i] * LANES + k->index[i];
    }
}

static void check(const borg_module *m, const borg_inst *v, int *seen) {
    int32_t per_row = borg_row_registers(m, v, LANES);
    for (int32_t which = 0; which < v->rows * per_row; ++which) {
        borg_move k;
        borg_classify_move(m, v, LANES, which, &k);
        ++seen[k.kind];
        for (int32_t i = 0; i < k.used; ++i) {
            int32_t w, g, row = which / per_row;
            borg_lane_place(m, v, which % per_row * LANES + i, &w, &g);
            const borg_inst *x = v->args[0];
            int32_t r = row, u = w;
            if (v->op == BORG_PERM) {
                r = v->map[2 * (row * m->size + w)];
                u = v->map[2 * (row * m->size + w) + 1];
            } else if (v->op == BORG_LANE) {
                r = v->map[2 * row];
                u = v->map[2 * row + 1];
            }
            int32_t in = borg_lane_number(m, x, r, u, g) - r * borg_row_lanes(m, x);
            int32_t want = (r * borg_row_registers(m, x, LANES) + in / LANES) * LANES + in % LANES;
            assert_int_equal(described(&k, i), want);
        }
    }
}

static void many_moves(borg_arena *arena) {
    static const int sizes[] = {1, 2, 3, 4, 8, 12, 16, 32}, packs[] = {1, 2, 3, 4, 8};
    int seen[BORG_MOVE_GATHER + 1] = {0};
    uint32_t random = 1;
    for (int round = 0; round < 400; ++round) {
        int32_t size = sizes[round % 8], map[2 * 2 * 32];
        borg_module *m = borg_module_new(arena, "k", size, packs[round / 8 % 5],
                                         round & 1 ? BORG_WG_MINOR : BORG_WI_MINOR);
        borg_builder b = {.module = m, .block = m->body};
        borg_inst *x = borg_emit_const(&b, BORG_F64, BORG_WI, 2, 0);
        for (int32_t i = 0; i < 2 * size; ++i) {
            random = random * 1664525 + 1013904223;
            uint32_t kind = (random >> 8) % 5, any = random >> 16;
            map[2 * i] = (int32_t)(kind == 0 ? any % 2 : (uint32_t)i / (uint32_t)size);
            map[2 * i + 1] = (int32_t)(round % 3 == 0   ? any % (uint32_t)size
                                       : round % 3 == 1 ? (uint32_t)(i + round) % (uint32_t)size
                                                        : (uint32_t)round % (uint32_t)size);
        }
        check(m, borg_emit_perm(&b, x, 2, map), seen);
        check(m, borg_emit_lane(&b, x, 2, map), seen);
        borg_inst *wg = borg_emit_const(&b, BORG_F64, BORG_WG, 1, 0);
        check(m, borg_emit_bcast(&b, wg, BORG_WI), seen);
    }
    for (int k = 0; k <= BORG_MOVE_GATHER; ++k) assert_true(seen[k] > 0);
}

static void test_moves(void **state) {
    (void)state;
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    many_moves(&arena);
    borg_arena_free(&arena);
}

static void test_constants(void **state) {
    (void)state;
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_module *m = borg_module_new(&arena, "k", 4, 1, BORG_WI_MINOR);
    borg_builder b = {.module = m, .block = m->body};
    int64_t a, c;
    int32_t low, high;
    uint64_t steps[4] = {5, 2, 0xffffffff, 0xfffffffc}, other[4] = {0, 1, 2, 4};
    assert_true(borg_const_affine(m, borg_emit_table(&b, BORG_I32, BORG_WI, 1, steps), &a, &c));
    assert_int_equal(a, -3);
    assert_int_equal(c, 5);
    assert_false(borg_const_affine(m, borg_emit_table(&b, BORG_I32, BORG_WI, 1, other), &a, &c));
    uint64_t run[4] = {0, 1, 1, 0}, holes[4] = {1, 0, 1, 1};
    assert_true(borg_const_range(m, borg_emit_table(&b, BORG_I1, BORG_WI, 1, run), &low, &high));
    assert_int_equal(low, 1);
    assert_int_equal(high, 2);
    assert_false(borg_const_range(m, borg_emit_table(&b, BORG_I1, BORG_WI, 1, holes), &low, &high));
    borg_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves),
                                       cmocka_unit_test(test_constants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
