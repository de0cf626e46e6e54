/* SPDX-License-Identifier: BSD-3-Clause */
/* Links against what was installed; says the version, and fails where a call does. */
#include <metapack/metapack.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    mpk_context *ctx = NULL;
    mpk_options options;
    mpk_options_init(&options);
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (status == MPK_OK) status = mpk_options_set(ctx, &options, "pivot-threshold", "0.1");
    mpk_context_destroy(&ctx);
    printf("%s %s\n", mpk_version(), mpk_status_name(status));
    return status == MPK_OK && strlen(mpk_version()) > 0 ? 0 : 1;
}
