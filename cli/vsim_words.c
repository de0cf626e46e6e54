/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of metapack vsim: lists and numbers. */
#include "vsim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_number(const char *text, int64_t least, int64_t most, int64_t *value) {
    char *rest;
    errno = 0;
    *value = strtoll(text, &rest, 10);
    return rest != text && !*rest && !errno && *value >= least && *value <= most;
}

/* One number behind an option that has a default. */
static int take_number(vsim *v, const char *name, const char *text, int64_t least, int64_t most,
                       int64_t *value) {
    if (!text || read_number(text, least, most, value)) return 0;
    return cli_usage_error(v->args, "--%s = '%s': expected an integer from %lld to %lld", name,
                           text, (long long)least, (long long)most);
}

/* The next part of "a,b,c"; *list moves on, NULL after the last. */
static void next_word(const char **list, char *word, size_t room) {
    size_t length = strcspn(*list, ",");
    snprintf(word, room, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
}

static int read_slots(vsim *v) {
    const char *list = v->args->vsim.slots ? v->args->vsim.slots : "1,2,4,8";
    char word[32];
    int64_t x;
    v->o.slots = v->slots;
    if (!strcmp(list, "auto")) {
        v->o.nslots = 1; /* 0: to be chosen */
        return 0;
    }
    while (list) {
        next_word(&list, word, sizeof word);
        if (v->o.nslots == VSIM_LIST)
            return cli_usage_error(v->args, "--slots: at most %d of them", VSIM_LIST);
        if (!read_number(word, 1, 64, &x))
            return cli_usage_error(v->args, "--slots '%s': expected numbers from 1 to 64, or auto",
                                   word);
        v->slots[v->o.nslots++] = (int32_t)x;
    }
    return 0;
}

static int read_thresholds(vsim *v) {
    const char *list = v->args->vsim.threshold ? v->args->vsim.threshold : "none,0,2,4,8";
    char word[32];
    v->o.thresholds = v->thresholds;
    if (!strcmp(list, "auto")) {
        v->thresholds[0] = VS_AUTO;
        v->o.nthresholds = 1;
        return 0;
    }
    while (list) {
        next_word(&list, word, sizeof word);
        if (v->o.nthresholds == VSIM_LIST)
            return cli_usage_error(v->args, "--threshold: at most %d of them", VSIM_LIST);
        int64_t *x = &v->thresholds[v->o.nthresholds++];
        if (!strcmp(word, "none"))
            *x = VS_NO_PACKING;
        else if (!read_number(word, 0, 1000000000, x))
            return cli_usage_error(v->args,
                                   "--threshold '%s': expected none, or instructions from 0 on, "
                                   "or auto",
                                   word);
    }
    return 0;
}

/* rows, rows:MOST, fixed:N, lanes:N */
static int read_warps(vsim *v) {
    const char *text = v->args->vsim.warps, *colon = text ? strchr(text, ':') : NULL;
    vs_rows *rows = &v->source.rows;
    int64_t x = 0;
    if (!text || !strcmp(text, "rows")) return 0;
    if (colon && read_number(colon + 1, 1, 32767, &x)) {
        if (!strncmp(text, "rows:", 5)) {
            rows->most = (int32_t)x;
            return 0;
        }
        rows->threads = (int32_t)x;
        rows->by_lane = !strncmp(text, "lanes:", 6);
        if (rows->by_lane || !strncmp(text, "fixed:", 6)) return 0;
    }
    return cli_usage_error(
        v->args, "--warps '%s': expected rows, rows:MOST, fixed:N or lanes:N, up to 32767", text);
}

static int read_sort(vsim *v) {
    static const char *const words[] = {"none", "rising", "falling"};
    for (int k = 0; k < 3; k++)
        if (!v->args->vsim.sort || !strcmp(v->args->vsim.sort, words[k])) {
            v->o.sort = (vs_sort)k;
            return 0;
        }
    return cli_usage_error(v->args, "--sort '%s': expected none, rising or falling",
                           v->args->vsim.sort);
}

static int read_estimate(vsim *v) {
    static const char *const words[] = {"lot", "all", "first"};
    const char *text = v->args->vsim.estimate;
    for (int k = 0; k < 3; k++)
        if (!text || !strcmp(text, words[k])) {
            v->o.estimate = (vs_estimate)k;
            return 0;
        }
    return cli_usage_error(v->args, "--estimate '%s': expected lot, all or first", text);
}

/* As the option says where it is not given. */
static int32_t all_threads(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    int64_t x = 0;
    if (text && read_number(text, 1, 1024, &x)) return (int32_t)x;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int32_t)cores : 1;
}

int vsim_read_words(vsim *v) {
    const cli_args *a = v->args;
    int64_t orders = 0, masks = 0;
    int code = 0;
    if (a->nwords != 1)
        return cli_usage_error(a,
                               a->nwords ? "one kernel at a time: unexpected '%s'"
                                         : "no kernel: give a file of vrPTX%s",
                               a->nwords ? a->words[1] : "");
    if (!a->vsim.print && !a->vsim.input && !a->vsim.matrix && !a->generate)
        return cli_usage_error(a, "nothing to run on: --matrix A, --generate SPEC or --input FILE");
    if ((a->vsim.input != NULL) + (a->vsim.matrix != NULL) + (a->generate != NULL) > 1)
        return cli_usage_error(a, "--matrix, --generate and --input: one of them");
    if (a->vsim.input && (a->vsim.warps || a->vsim.rows || a->vsim.cols))
        return cli_usage_error(a, "--warps, --rows and --cols are for a matrix");
    if (a->vsim.trace_cycles && !a->trace && !a->plot)
        return cli_usage_error(a, "--trace-cycles is for --trace and --plot");
    v->trace_cycles = 2000;
    code = take_number(v, "orders", a->vsim.orders, 0, 100000, &orders);
    if (!code)
        code = take_number(v, "trace-cycles", a->vsim.trace_cycles, 1, 10000000, &v->trace_cycles);
    if (!code)
        code = take_number(v, "max-steps", a->vsim.max_steps, 1, INT64_C(1) << 40, &v->o.max_steps);
    if (!code) code = take_number(v, "masks", a->vsim.masks, 2, 1 << 20, &masks);
    if (!code) code = read_slots(v);
    if (!code) code = read_thresholds(v);
    if (!code) code = read_warps(v);
    if (!code) code = read_sort(v);
    if (!code) code = read_estimate(v);
    v->o.orders = (int32_t)orders;
    v->o.masks = (int32_t)masks;
    v->o.seed = (uint64_t)a->options.seed;
    v->o.threads = a->options.threads > 0 ? a->options.threads : all_threads();
    return code;
}
