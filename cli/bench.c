/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods at orders, each checked before it is timed. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char method_name[32];

/* The next word of a list with commas; false at its end. */
static bool next_name(const char **list, method_name name) {
    if (!**list) return false;
    const int length = (int)strcspn(*list, ",");
    snprintf(name, sizeof(method_name), "%.*s", length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

/* The next order: 1: found, 0: end of the list, -1: not an order. */
static int next_size(const char **list, int64_t most, int64_t *n) {
    if (!**list) return 0;
    char *end;
    *n = strtoll(*list, &end, 10);
    if (end == *list || *n < 1 || *n > most || (*end && *end != ',')) return -1;
    *list = *end ? end + 1 : end;
    return 1;
}

static void put_row(const cli_args *args, const cli_bench *bench, const char *name, int64_t n,
                    mpk_status status, const cli_bench_row *row, bool first) {
    const char *message = NULL;
    if (mpk_failed(status) &&
        (mpk_last_error(args->ctx, NULL, NULL, &message) != status || !message || !*message))
        message = mpk_status_text(status);
    if (args->json) {
        printf("%s{\"method\": \"%s\", \"n\": %lld, \"status\": \"%s\"", first ? "" : ",\n ", name,
               (long long)n, mpk_status_name(status));
        if (mpk_failed(status)) {
            printf(", \"message\": ");
            cli_print_json_string(stdout, message);
        } else {
            printf(", \"factorize_s\": %.6g, \"gflops\": %.6g, \"%s\": %.3g%s", row->seconds,
                   row->gflops, bench->error_name, row->error, row->more_json);
        }
        printf("}");
    } else if (!mpk_failed(status)) {
        printf("%-14s %7lld  %9.3f ms %8.2f GFLOP/s  %s %.1e%s%s\n", name, (long long)n,
               row->seconds * 1e3, row->gflops, bench->error_sign, row->error, row->more,
               status == MPK_OK ? "" : "  NOT GOOD");
    }
    if (mpk_failed(status))
        fprintf(stderr, "metapack bench: %s, n = %lld: %s\n", name, (long long)n, message);
    fflush(stdout);
}

int cli_bench_run(cli_args *args, const cli_bench *bench, void *work) {
    const char *const methods = args->strategies ? args->strategies : bench->methods;
    const char *const sizes = args->blocks ? args->blocks : bench->sizes;
    const char *m = methods, *s = sizes;
    method_name name;
    int64_t n;
    int found, worst = 0;
    bool first = true;
    while (next_name(&m, name))
        if (!bench->choose(work, name))
            return cli_usage_error(args, "--methods: there is no '%s', but %s", name,
                                   bench->expected);
    while ((found = next_size(&s, bench->most, &n)))
        if (found < 0)
            return cli_usage_error(args, "--sizes is a list of orders from 1 to %lld, not '%s'",
                                   (long long)bench->most, sizes);
    if (args->json) printf("[");
    for (m = methods; next_name(&m, name);) {
        bench->choose(work, name);
        for (s = sizes; next_size(&s, bench->most, &n);) {
            cli_bench_row row = {0};
            const mpk_status status = bench->measure(args, work, n, &row);
            const int code = mpk_exit_code(status);
            put_row(args, bench, name, n, status, &row, first);
            if (code > worst) worst = code;
            first = false;
        }
    }
    if (args->json) printf("]\n");
    return worst;
}
