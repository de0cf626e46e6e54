/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack bench: which methods, on what. */
#include "bench.h"

#include <string.h>

/** metapack bench dense, batch. */
int cmd_bench(cli_args *args) {
    static const char *const types[] = {"s", "d", "c", "z"};
    const char *type = args->scalar ? args->scalar : "d";
    const char *what = args->nwords == 1 ? args->words[0] : "";
    int kind = -1;
    for (int k = 0; k < 4; k++)
        if (!strcmp(type, types[k])) kind = k;
    if (kind < 0) return cli_usage_error(args, "--type is s, d, c or z, not '%s'", type);
    const mpk_option *o;
    for (int k = 0; (o = mpk_option_at(k)) && !strcmp(what, "batch"); k++)
        if (cli_typed(args, k) && !strncmp(o->key, "device", strlen("device")))
            return cli_usage_error(args, "option --device is read by metapack bench dense alone");
    if (!strcmp(what, "dense")) return cli_bench_dense(args, (mpk_scalar)kind);
    if (!strcmp(what, "batch")) return cli_bench_batch(args, (mpk_scalar)kind);
    return cli_usage_error(args,
                           "what is to be measured: metapack bench dense, metapack bench batch");
}
