/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes over the intermediate form, in their order, and how they are run. */
#include "borg/passes.h"
#include <string.h>

/* clang-format off */
const borg_pass borg_passes[] = {
    {"mma", borg_pass_mma, true},
    {"fold", borg_pass_fold, false},
    {"cse", borg_pass_cse, false},
    {"mask", borg_pass_mask, false},
    {"dce", borg_pass_dce, true},
    {"address", borg_pass_address, false},
    {"fold", borg_pass_fold, false},
    {"fma", borg_pass_fma, false},
    {"flat", borg_pass_flat, false},
    {"split", borg_pass_split, false},
    {"address", borg_pass_address, false}, /* rows that differ by what is known at run time only */
    {"flat", borg_pass_flat, false},       /* of those */
    {"fold", borg_pass_fold, false},
    {"cse", borg_pass_cse, false},
    {"dce", borg_pass_dce, true},
    {"schedule", borg_pass_schedule, false},
    {"join", borg_pass_join, false},
    {NULL, NULL, false},
};
/* clang-format on */

bool borg_run_passes(borg_module *m, const borg_options *options, borg_diags *diags) {
    const char *dump = options->dump ? options->dump : "";
    if (options->verify && !borg_verify(m, "lowering", diags)) return false;
    for (const borg_pass *p = borg_passes; p->name; ++p) {
        if (!p->needed && options->optimise < 0) continue;
        p->run(m, options);
        if (options->verify && !borg_verify(m, p->name, diags)) return false;
        if (strcmp(dump, p->name) == 0 && options->dump_to) {
            borg_put(options->dump_to, "; after %s\n", p->name);
            borg_print(m, options->dump_to);
        }
    }
    return true;
}
