/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as vrPTX: told what is wrong, or printed and assembled to the same text again, run for
 * some instructions on two small arrays, alone and packed, and replayed within its bounds. */
#include <stdlib.h>
#include <string.h>
#include "sim/vector/timing.h"

enum { ELEMENTS = 64, MOST_REGISTERS = 4096 };

static void check(bool good) {
    if (!good) abort();
}

static void replay(const vr_program *p, const vs_trace *trace, borg_diags *diags) {
    vs_machine m;
    vs_times t;
    vs_machine_init(&m);
    m.lanes = 8;
    for (int32_t slots = 1; slots <= 2; ++slots) {
        check(vs_replay(&m, p, trace, NULL, 0, slots, &t, NULL, diags));
        check(t.cycles >= t.bound_work && t.cycles >= t.bound_memory && t.cycles >= t.bound_path);
    }
}

static void run(const vr_program *p, borg_diags *diags) {
    static const vs_warp warps[] = {{0, 3}, {1, 5}, {2, 11}};
    vs_array *arrays = BORG_NEW(diags->arena, p->nparams + 1, vs_array);
    vs_arg *args = BORG_NEW(diags->arena, p->nparams + 1, vs_arg);
    vs_memory memory = {0, arrays};
    for (int32_t i = 0; i < p->nparams; ++i) {
        args[i].bits = vr_bytes(p->params[i].type) == 4 ? (uint32_t)(7 * i) : (uint64_t)i * 5;
        if (!p->params[i].array) continue;
        args[i].array = memory.count;
        arrays[memory.count++] = (vs_array){p->params[i].name, p->params[i].type, ELEMENTS,
                                            borg_alloc(diags->arena, ELEMENTS, 8), 0};
    }
    vs_place_arrays(&memory);
    for (int round = 0; round < 2; ++round) {
        vs_trace trace = {0};
        vs_engine *e = vs_engine_new(p, 8, 19, &memory, args, diags);
        vs_limit_steps(e, 20000);
        if (round == 0) {
            if (vs_run(e, &warps[0], 2, &trace) < 0 || vs_run(e, &warps[2], 1, &trace) < 0) return;
        } else {
            for (int i = 0; i < 3; ++i)
                if (vs_run(e, &warps[i], 1, &trace) < 0) return;
        }
        replay(p, &trace, diags);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, (size_t)256 << 20);
    borg_diags diags = {.arena = &arena};
    char *text = malloc(size + 1); /* exactly as long, so that a read beyond it is found */
    if (text && size) memcpy(text, data, size);
    if (text && !setjmp(arena.oom)) {
        vr_program *p = vr_assemble("fuzz", text, size, &diags);
        borg_sink once = {.arena = &arena}, twice = once, told = once;
        if (p) {
            vr_print(p, &once);
            vr_program *q = vr_assemble("again", once.text, once.length, &diags);
            check(q != NULL);
            vr_print(q, &twice);
            check(strcmp(once.text, twice.text) == 0);
            int64_t elements = 0;
            for (int32_t i = 0; i < p->nshared; ++i) elements += p->shared[i].count;
            if (p->nregisters < MOST_REGISTERS && elements < 1 << 16) run(p, &diags);
        } else {
            check(diags.errors > 0);
        }
        borg_diags_print(&diags, &told);
    }
    free(text);
    borg_arena_free(&arena);
    return 0;
}
