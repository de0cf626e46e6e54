/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as a machine file: told what is wrong, or printed and read as the same machine. */
#include <stdlib.h>
#include <string.h>
#include "sim/vector/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, (size_t)64 << 20);
    borg_diags diags = {.arena = &arena};
    char *text = malloc(size + 1);
    if (text && size) memcpy(text, data, size);
    if (text && !setjmp(arena.oom)) {
        vs_machine m, again;
        borg_sink printed = {.arena = &arena}, told = printed;
        vs_machine_init(&m);
        vs_machine_init(&again);
        if (vs_machine_read(&m, "fuzz", text, size, &diags)) {
            vs_machine_print(&m, &printed);
            if (!vs_machine_read(&again, "again", printed.text, printed.length, &diags)) abort();
            if (strcmp(m.name, again.name) != 0) abort();
            memcpy(again.name, m.name, sizeof m.name);
            if (memcmp(&m, &again, sizeof m) != 0) abort();
        } else if (diags.errors == 0) {
            abort();
        }
        borg_diags_print(&diags, &told);
    }
    free(text);
    borg_arena_free(&arena);
    return 0;
}
