/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve --backend: another machine, behind the accelerator interface. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef METAPACK_SIM
#include "sim/accelerator/accelerator.h"
#endif

/* Blocks of a pipeline: each operation on one is a unit. */
enum { PIPE_BLOCK = 8, SYSTOLIC_BLOCK = 32, PHASES = 6 };
static const char *const names[PHASES] = {"factorize", "solve",    "downdate",
                                          "transpose", "zero out", "permute"};

static bool is_typed(const cli_args *args, const char *key) {
    for (int k = 0; mpk_option_at(k); k++)
        if (!strcmp(mpk_option_at(k)->key, key)) return cli_typed(args, k);
    return false;
}

/* Options that the interface asks for, or that tell what the machine does, where the caller said
 * nothing. */
static void set_defaults(cli_args *args, const mpk_accelerator *table, int block) {
    mpk_options *o = &args->options;
    if (!is_typed(args, "schedule"))
        o->schedule = table->atomics ? MPK_SCHEDULE_ATOMIC : MPK_SCHEDULE_SUBSETS;
    if (!is_typed(args, "pivoting"))
        o->pivoting = table->pivoting ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    if (!is_typed(args, "butterfly") && !table->pivoting &&
        !(is_typed(args, "stages") && o->stages == 1))
        o->butterfly = MPK_ON;
    if (!is_typed(args, "method")) o->method = MPK_METHOD_ILDLT;
    if (!is_typed(args, "level")) o->level = -1;
    if (!is_typed(args, "fill_factor")) o->fill_factor = 0;
    if (!is_typed(args, "drop_tolerance")) o->drop_tolerance = 0;
    if (!is_typed(args, "stages")) o->stages = 0;
    if (!is_typed(args, "block") && block) o->block = block;
}

static int refuse(const cli_args *args, const char *text) {
    fprintf(stderr, "metapack %s: --backend: %s\n", args->name, text);
    cli_print_failure(args, MPK_ERR_ARGUMENT, text);
    return CLI_EXIT_USAGE;
}

static int use(cli_args *args, const mpk_accelerator *table) {
    if (mpk_context_use_accelerator(args->ctx, table) == MPK_OK) return 0;
    return refuse(args, "no memory");
}

#ifdef METAPACK_SIM
static int use_systolic(cli_args *args, const char *size, cli_backend *b) {
    char text[SIM_TEXT], end;
    int rows, columns;
    if (sscanf(size, "%dx%d%c", &rows, &columns, &end) != 2)
        return refuse(args, "expected systolic:ROWSxCOLUMNS, as in systolic:32x32");
    b->machine = sim_systolic_new(rows, columns, text);
    if (!b->machine) return refuse(args, *text ? text : "no memory");
    const int most = b->machine->table.largest_block;
    set_defaults(args, &b->machine->table, most < SYSTOLIC_BLOCK ? most : SYSTOLIC_BLOCK);
    return use(args, &b->machine->table);
}

static int use_pipe(cli_args *args, const char *file, cli_backend *b) {
    char text[SIM_TEXT];
    char *source = *file ? cli_read_text(file) : NULL;
    if (*file && !source) {
        snprintf(text, sizeof text, "%s: %s", file, strerror(errno));
        refuse(args, text);
        return CLI_EXIT_FILE;
    }
    const int block = is_typed(args, "block") ? args->options.block : PIPE_BLOCK;
    b->machine = sim_pipe_new(file, source, block, NULL, text);
    free(source);
    if (!b->machine) return refuse(args, *text ? text : "no memory");
    set_defaults(args, &b->machine->table, block);
    return use(args, &b->machine->table);
}

/* Cycles, and how well the units were used. */
static void print_cycles(const cli_backend *b, const mpk_accelerator_report *r) {
    const sim_cycles *c = &b->machine->count;
    int64_t all = 0;
    double busy = 0, there = 0;
    fprintf(stderr, "              %-10s %9s %10s %14s %11s\n", "phase", "batches", "blocks",
            "cycles", "utilisation");
    for (int k = 0; k < SIM_KERNELS; k++) {
        if (!r->calls[k]) continue;
        const double units = c->units[k] * (double)c->cycles[k];
        fprintf(stderr, "              %-10s %9lld %10lld %14lld", names[k], (long long)r->calls[k],
                (long long)r->items[k], (long long)c->cycles[k]);
        if (units > 0 && c->busy[k] > 0)
            fprintf(stderr, " %9.1f %%\n", 100 * c->busy[k] / units);
        else
            fprintf(stderr, " %11s\n", "moves");
        all += c->cycles[k];
        busy += c->busy[k];
        there += units;
    }
    fprintf(stderr, "              %-10s %9s %10s %14lld %9.1f %%\n", "all", "", "", (long long)all,
            there > 0 ? 100 * busy / there : 0);
}
#endif

/* Of a table, with blocks that rest in a form of its own: "", or its name. */
static int use_in_form(cli_args *args, const mpk_accelerator *table, const char *form) {
    mpk_accelerator own = *table;
    if (*form && mpk_accelerator_use_form(&own, form) != MPK_OK)
        return refuse(args, "blocks rest dense, compressed, single or bf16: cpu:FORM, "
                            "cuda-interface:NUMBER:FORM");
    return use(args, &own);
}

/* cuda-interface[:NUMBER[:FORM]] */
static int use_cuda(cli_args *args, const char *number) {
    const mpk_accelerator *table = NULL;
    char *end = (char *)number;
    const long device = *number ? strtol(number, &end, 10) : 0;
    if ((*end && *end != ':') || device < 0 || device > INT32_MAX)
        return refuse(args, "expected cuda-interface, cuda-interface:NUMBER or "
                            "cuda-interface:NUMBER:FORM");
    const mpk_status status = mpk_accelerator_cuda(args->ctx, (int)device, &table);
    if (mpk_failed(status)) {
        const char *text = "";
        mpk_last_error(args->ctx, NULL, NULL, &text);
        fprintf(stderr, "metapack %s: --backend: %s\n", args->name, text);
        cli_print_failure(args, status, text);
        return mpk_exit_code(status);
    }
    set_defaults(args, table, table->largest_block < 32 ? table->largest_block : 0);
    /* several warps add to one block in an order of their own */
    if (!is_typed(args, "schedule") && args->options.deterministic == MPK_ON)
        args->options.schedule = MPK_SCHEDULE_SUBSETS;
    return use_in_form(args, table, *end ? end + 1 : "");
}

static void print_calls(const mpk_accelerator_report *r) {
    for (int k = 0; k < PHASES; k++)
        if (r->calls[k])
            fprintf(stderr, "              %-10s %9lld batches %10lld blocks %10.3f ms\n", names[k],
                    (long long)r->calls[k], (long long)r->items[k], 1e3 * r->time_s[k]);
}

int cli_backend_begin(cli_args *args, cli_backend *b) {
    const char *name = args->backend, *colon = strchr(name, ':');
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
#define IS(word) (length == strlen(word) && !strncmp(name, word, length))
    if (args->dense && strcmp(args->dense, "off"))
        return cli_usage_error(args, "option --backend is not read by --dense %s", args->dense);
    static const char *const idle[] = {"device", "device_number", "device_memory_limit"};
    for (int k = 0; k < (IS("cuda") ? 2 : 3); k++)
        if (is_typed(args, idle[k]))
            return cli_usage_error(args, "option --%s is not read by --backend, which says where",
                                   k == 0   ? "device"
                                   : k == 1 ? "device-number"
                                            : "device-memory-limit");
    if (IS("cuda")) {
        if (mpk_options_set(args->ctx, &args->options, "device", name) == MPK_OK) return 0;
        return refuse(args, "expected cuda or cuda:NUMBER");
    }
    if (IS("cpu")) {
        set_defaults(args, mpk_accelerator_cpu(), 0);
        return use_in_form(args, mpk_accelerator_cpu(), colon ? colon + 1 : "");
    }
    if (IS("cuda-interface")) return use_cuda(args, colon ? colon + 1 : "");
#ifdef METAPACK_SIM
    if (IS("systolic")) return use_systolic(args, colon ? colon + 1 : "", b);
    if (IS("pipe")) return use_pipe(args, colon ? colon + 1 : "", b);
#else
    (void)b;
    if (IS("systolic") || IS("pipe"))
        return refuse(args, "this command was built without simulators (METAPACK_SIM)");
#endif
    return refuse(args, "expected cpu, cuda, cuda-interface, systolic:ROWSxCOLUMNS, pipe or "
                        "pipe:FILE");
}

void cli_backend_tell(const cli_args *args, const cli_backend *b) {
    mpk_accelerator_report r = {.struct_size = sizeof r};
    if (args->quiet || mpk_accelerator_report_get(args->ctx, &r) != MPK_OK || !r.calls[0]) return;
    fprintf(stderr,
            "Backend       %lld blocks up, %lld down, %.3g MB; %lld butterflies, %lld pivot "
            "blocks by the host\n",
            (long long)r.uploads, (long long)r.downloads, 1e-6 * (double)r.bytes,
            (long long)r.butterflies, (long long)r.host_pivots);
#ifdef METAPACK_SIM
    if (b->machine)
        print_cycles(b, &r);
    else
#endif
        print_calls(&r);
    (void)b;
    if (r.waits)
        fprintf(stderr, "Waits         %lld for results, %.3f ms in all\n", (long long)r.waits,
                1e3 * r.wait_s);
    fprintf(stderr, "Boundaries    %lld between stages: the machine waited %.3f ms for the host\n",
            (long long)r.boundaries, 1e3 * r.boundary_s);
    if (r.solves)
        fprintf(stderr,
                "Solves        %lld right-hand sides on the machine, %lld batches, %.3f ms\n",
                (long long)r.solves, (long long)r.solve_calls, 1e3 * r.solve_s);
}

void cli_backend_json(const cli_args *args, const cli_backend *b, const char *run, FILE *out) {
    static const char end[] = "\n}\n"; /* of the run's object, which this goes on */
    const size_t length = strlen(run), rest = sizeof end - 1;
    mpk_accelerator_report r = {.struct_size = sizeof r};
    if (mpk_accelerator_report_get(args->ctx, &r) != MPK_OK || !r.calls[0] || length < rest ||
        strcmp(run + length - rest, end)) {
        fputs(run, out);
        return;
    }
    fprintf(out,
            "%.*s,\n  \"machine\": { \"uploads\": %lld, \"downloads\": %lld, \"bytes\": %lld, "
            "\"butterflies\": %lld, \"host_pivots\": %lld, \"boundaries\": %lld, "
            "\"time_boundary_s\": %.6f, \"waits\": %lld, \"time_waits_s\": %.6f, "
            "\"solves\": %lld, \"solve_batches\": %lld, \"time_solves_s\": %.6f",
            (int)(length - rest), run, (long long)r.uploads, (long long)r.downloads,
            (long long)r.bytes, (long long)r.butterflies, (long long)r.host_pivots,
            (long long)r.boundaries, r.boundary_s, (long long)r.waits, r.wait_s,
            (long long)r.solves, (long long)r.solve_calls, r.solve_s);
    for (int k = 0; k < PHASES; k++) {
        if (!r.calls[k]) continue;
        fprintf(out, ", \"%s\": { \"batches\": %lld, \"blocks\": %lld",
                k == 4 ? "zero_out" : names[k], (long long)r.calls[k], (long long)r.items[k]);
#ifdef METAPACK_SIM
        const sim_cycles *c = b->machine ? &b->machine->count : NULL;
        if (c) fprintf(out, ", \"cycles\": %lld", (long long)c->cycles[k]);
        if (c && c->units[k] * (double)c->cycles[k] > 0 && c->busy[k] > 0)
            fprintf(out, ", \"utilisation\": %.6g",
                    c->busy[k] / (c->units[k] * (double)c->cycles[k]));
#endif
        fprintf(out, ", \"time_s\": %.6f }", r.time_s[k]);
    }
    fprintf(out, " }%s", end);
    (void)b;
}

void cli_backend_end(cli_args *args, cli_backend *b) {
    mpk_context_use_accelerator(args->ctx, NULL);
#ifdef METAPACK_SIM
    sim_machine_free(&b->machine);
#endif
    (void)b;
}
