/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack devices: the GPUs that --device can name, or why there is none. */
#include "cli.h"

#include <stdio.h>

static void print(const cli_args *args, int number, const mpk_device_info *d) {
    const double gib = 0x1p-30;
    if (!args->json) {
        printf("cuda:%d  %s; %.1f of %.1f GiB free\n", number, d->text, (double)d->free_bytes * gib,
               (double)d->total_bytes * gib);
        return;
    }
    printf("%s{\"device\": \"cuda:%d\", \"name\": ", number ? ", " : "{\"devices\": [", number);
    cli_print_json_string(stdout, d->name);
    printf(", \"text\": ");
    cli_print_json_string(stdout, d->text);
    printf(", \"free_bytes\": %lld, \"total_bytes\": %lld}", (long long)d->free_bytes,
           (long long)d->total_bytes);
}

int cmd_devices(cli_args *args) {
    mpk_device_info info;
    mpk_status status = MPK_OK;
    const char *text = "";
    int count = 0;
    if (args->nwords) return cli_usage_error(args, "devices takes no arguments");
    while (!mpk_failed(status = mpk_device_info_get(args->ctx, count, &info)))
        print(args, count++, &info);
    if (count) {
        if (args->json) printf("]}\n");
        return 0;
    }
    mpk_last_error(args->ctx, NULL, NULL, &text);
    fprintf(stderr, "metapack devices: %s\n", text);
    if (args->json) cli_print_failure(args, status, text);
    return mpk_exit_code(status);
}
