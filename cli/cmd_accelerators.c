/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack accelerators: one kernel as a pipeline, on an array and on a GPU (fig. 8.5 of the
 * thesis). */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef METAPACK_SIM
#include "sim/models/models.h"
#include "sim/systolic/array.h"
#include "sim/systolic/programs.h"

enum { MOST_N = 64, MOST_WARPS = 64, USUAL_N = 4, USUAL_WARPS = 32 };
static const int64_t MOST_JOBS = INT64_C(1) << 40, USUAL_JOBS = 100000;

/* A whole number of an option; false after a message. */
static bool number(const cli_args *args, const char *name, const char *text, int64_t most,
                   int64_t usual, int64_t *value) {
    char *end;
    *value = usual;
    if (!text) return true;
    errno = 0;
    const double x = strtod(text, &end); /* 1e6 is one, too */
    if (end != text && !*end && x >= 1 && x <= (double)most && x == (double)(int64_t)x) {
        *value = (int64_t)x;
        return true;
    }
    cli_usage_error(args, "--%s = '%s': expected a whole number from 1 to %lld", name, text,
                    (long long)most);
    return false;
}

static int tell_failure(const cli_args *args, int code, const char *text) {
    fprintf(stderr, "metapack %s: %s\n", args->name, text);
    cli_print_failure(args, code == CLI_EXIT_FILE ? MPK_ERR_FILE : MPK_ERR_ARGUMENT, text);
    return code;
}

/* The text of a file, or NULL after a message; NULL without one: there is no name. */
static char *text_of(const cli_args *args, const char *file, int *code) {
    char text[300];
    char *content = file ? cli_read_text(file) : NULL;
    if (!file || content) return content;
    snprintf(text, sizeof text, "%s: %s", file, strerror(errno));
    *code = tell_failure(args, CLI_EXIT_FILE, text);
    return NULL;
}

static int write_file(const cli_args *args, const char *path, const borg_sink *out) {
    return cli_write_text(args, path, out->text, out->length);
}

/* The array's links, drawn or listed. */
static int show_cells(const cli_args *args, const sim_models_request *q, borg_arena *arena,
                      borg_sink *out) {
    const char *cells = q->cells ? q->cells : sim_cells_find(q->kernel ? q->kernel : "");
    if (!cells)
        return cli_usage_error(args, "--draw draws cells: there is no program '%s'; --cells FILE",
                               q->kernel);
    borg_diags diags = {.arena = arena,
                        .source = {q->cells ? q->cells_file : q->kernel, cells, strlen(cells)}};
    const cells_program *p = cells_parse(arena, cells, strlen(cells), &diags);
    const sim_setup setup = {.n = q->n, .m = q->n, .record = true};
    const sim_array *a = p ? sim_array_new(arena, p, &setup, &diags) : NULL;
    if (a) {
        sim_array_svg(a, out);
        return write_file(args, args->draw, out);
    }
    borg_diags_print(&diags, out);
    return tell_failure(args, CLI_EXIT_USAGE, out->text ? out->text : "");
}

static int show(const cli_args *args, const sim_models_request *q) {
    char text[SIM_MODELS_TEXT];
    sim_models m;
    borg_arena arena;
    if (!sim_models_make(q, &m, text)) return tell_failure(args, CLI_EXIT_USAGE, text);
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) {
        borg_arena_free(&arena);
        return tell_failure(args, 6, "no memory");
    }
    borg_sink out = {.arena = &arena}, plot = out, cells = out;
    (args->json ? sim_models_json : sim_models_text)(&m, &out);
    int code = 0;
    if (args->plot) {
        sim_models_svg(&m, &plot);
        code = write_file(args, args->plot, &plot);
    }
    if (!code && args->draw) code = show_cells(args, q, &arena, &cells);
    if (!code) fputs(out.text, args->json ? stdout : cli_result(args));
    if (!code) cli_tell_written(args, cli_result(args));
    borg_arena_free(&arena);
    return code;
}

int cmd_accelerators(cli_args *args) {
    sim_models_request q = {0};
    int64_t n, warps;
    int code = 0;
    if (args->nwords != 1)
        return cli_usage_error(args, "which kernel: ldlt, trsv, gemm, or a file of OpenCL C");
    if (!number(args, "size", args->size, MOST_N, USUAL_N, &n) ||
        !number(args, "warps", args->warps, MOST_WARPS, USUAL_WARPS, &warps) ||
        !number(args, "jobs", args->jobs, MOST_JOBS, USUAL_JOBS, &q.jobs))
        return CLI_EXIT_USAGE;
    q.n = (int32_t)n, q.warps = (int32_t)warps;
    const char *word = args->words[0];
    const bool known = !strcmp(word, "ldlt") || !strcmp(word, "trsv") || !strcmp(word, "gemm");
    char *source = known ? NULL : text_of(args, word, &code);
    char *cells = code ? NULL : text_of(args, args->cells, &code);
    char *units = code ? NULL : text_of(args, args->units, &code);
    q.kernel = known ? word : args->kernel;
    q.source = source, q.file = word;
    q.cells = cells, q.cells_file = args->cells;
    q.units = units;
    if (!code && known && args->kernel)
        code = cli_usage_error(args, "--kernel is for files of several");
    if (!code) code = show(args, &q);
    free(source);
    free(cells);
    free(units);
    return code;
}
#else
int cmd_accelerators(cli_args *args) {
    return cli_usage_error(args, "this command was built without simulators (METAPACK_SIM)");
}
#endif
