/* SPDX-License-Identifier: BSD-3-Clause */
/** Any text as a kernel, and as InfReg-IR: compiled or refused with a message, within memory, and
 * what comes out has passed the checker. What was printed is read again and printed the same. Each
 * backend emits it or says why not. */
#include "borg/borg.h"
#include "fuzz.h"
#include <string.h>

static void check_round_trip(borg_program *p) {
    if (setjmp(p->arena.oom)) return;
    for (int32_t i = 0; i < p->nunits; ++i) {
        borg_sink first = {.arena = &p->arena}, second = {.arena = &p->arena};
        borg_print(p->units[i].module, &first);
        borg_diags diags = {.arena = &p->arena};
        borg_module *m = borg_parse(&p->arena, first.text, first.length, &diags, NULL);
        FUZZ_ASSERT(m);
        borg_print(m, &second);
        FUZZ_ASSERT(strcmp(first.text, second.text) == 0);
    }
}

static void check_emission(borg_program *p, const borg_options *options) {
    const borg_diags before = p->diags;
    for (const borg_backend *const *backend = borg_backends(); *backend; ++backend) {
        const char *text = NULL;
        size_t length = 0;
        p->diags = before; /* what one backend said, another one says again */
        if (before.last) before.last->next = NULL;
        borg_status status = borg_program_emit(p, *backend, options, &text, &length);
        FUZZ_ASSERT(status != BORG_ERR_INTERNAL);
        if (status == BORG_ERR_MEMORY) return;
        FUZZ_ASSERT(status == BORG_OK ? text && length == strlen(text)
                                      : p->diags.errors > before.errors);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool ir = size > 6 && memcmp(data, "kernel", 6) == 0;
    borg_options options = {.size = 3, .pack = 2, .verify = true, .unroll_budget = 2000};
    options.order = size % 2 ? BORG_WG_MINOR : BORG_WI_MINOR;
    borg_program *p = NULL;
    borg_status status =
        (ir ? borg_compile_ir : borg_compile)("fuzz", (const char *)data, size, &options, NULL, &p);
    FUZZ_ASSERT(status == BORG_ERR_MEMORY || p);
    FUZZ_ASSERT(status != BORG_ERR_INTERNAL);
    if (p) {
        FUZZ_ASSERT((status == BORG_OK) == (p->diags.errors == 0));
        FUZZ_ASSERT(borg_program_messages(p));
    }
    if (status == BORG_OK) check_round_trip(p);
    if (status == BORG_OK) check_emission(p, &options);
    borg_program_free(p);
    return 0;
}
