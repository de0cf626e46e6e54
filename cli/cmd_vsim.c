/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack vsim: a vrPTX kernel on a simulated vector core, in many settings. */
#include "cli.h"

#ifdef METAPACK_SIM
#include "vsim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Messages to standard error, and with --json an object; the exit code. */
static int fail(vsim *v) {
    borg_sink text = {.arena = &v->arena};
    borg_diags_print(&v->diags, &text);
    fputs(text.text ? text.text : "", stderr);
    size_t length = text.text ? strcspn(text.text, "\n") : 0;
    cli_print_failure(v->args, v->status,
                      borg_copy_text(&v->arena, text.text ? text.text : "", length));
    return mpk_exit_code(v->status);
}

static int fail_memory(const cli_args *args) {
    fprintf(stderr, "metapack vsim: not enough memory\n");
    cli_print_failure(args, MPK_ERR_MEMORY, "not enough memory");
    return mpk_exit_code(MPK_ERR_MEMORY);
}

static int write_file(const cli_args *args, const char *path, const borg_sink *text) {
    return cli_write_text(args, path, text->text, text->length);
}

static int tell(vsim *v, const vs_sweep *sweep) {
    const cli_args *a = v->args;
    borg_sink text = {.arena = &v->arena}, json = text, csv = text, svg = text, trace = text;
    const char *slash = strrchr(v->input, '/');
    int code = 0;
    vs_put_text(sweep, &text);
    vs_put_csv(sweep, &csv);
    vs_put_svg(sweep, slash && slash[1] ? slash + 1 : v->input, &svg);
    vs_put_chrome(sweep, &trace);
    if (a->vsim.csv) code = write_file(a, a->vsim.csv, &csv);
    if (!code && a->plot) code = write_file(a, a->plot, &svg);
    if (!code && a->trace) code = write_file(a, a->trace, &trace);
    if (code) return code;
    if (!a->quiet) fputs(text.text, cli_result(a));
    cli_tell_written(a, cli_result(a));
    if (a->json) {
        vs_put_json(sweep, v->input, &json);
        fputs(json.text, stdout);
    }
    return 0;
}

/* Slots or threshold that were left to us. */
static bool choose(vsim *v) {
    enum { SAMPLE = 2048 };
    if (v->thresholds[0] != VS_AUTO && v->slots[0] > 0) return true;
    int64_t threshold = v->thresholds[0];
    int32_t slots = v->slots[0];
    if (!vs_choose(&v->source, v->program, &v->o, SAMPLE, &threshold, &slots, &v->diags))
        return false;
    v->thresholds[0] = threshold;
    v->slots[0] = slots;
    if (v->args->quiet) return true;
    fprintf(stderr, "chosen on a sample of %d warps: slots %d, threshold ", SAMPLE, slots);
    fprintf(stderr, threshold < 0 ? "none\n" : "%lld\n", (long long)threshold);
    return true;
}

/* What the kernel has too many of goes into vector registers. */
static bool fit(vsim *v) {
    return vs_fit(&v->source, &v->program, &v->o.machine, &v->o.masks, &v->o.spills, &v->diags);
}

static int run(vsim *v) {
    if (!vsim_read_files(v)) return fail(v);
    if (v->args->vsim.masks && v->args->vsim.print && !fit(v)) return fail(v);
    if (v->args->vsim.print) {
        borg_sink text = {.arena = &v->arena};
        vr_print(v->program, &text);
        fputs(text.text, stdout);
        if (!v->source.make) return 0;
    }
    v->diags.source = (borg_text){.file = "metapack vsim"};
    v->status = MPK_ERR_INPUT;
    if (!v->o.spills.predicates && !fit(v)) return fail(v);
    if (!choose(v)) return fail(v);
    const bool log = v->args->trace || v->args->plot;
    vs_sweep *sweep =
        vs_run_sweep(&v->source, v->program, &v->o, log ? v->trace_cycles : 0, &v->diags);
    return sweep ? tell(v, sweep) : fail(v);
}

/** metapack vsim KERNEL: settings of a simulated vector core. */
int cmd_vsim(cli_args *args) {
    vsim *v = calloc(1, sizeof *v);
    if (!v) return fail_memory(args);
    v->args = args;
    volatile int code = vsim_read_words(v);
    if (code == 0) {
        borg_arena_init(&v->arena, NULL, 0);
        v->diags.arena = &v->arena;
        code = setjmp(v->arena.oom) ? fail_memory(args) : run(v);
        borg_arena_free(&v->arena);
    }
    free(v);
    return code;
}
#else
/** Of a build without METAPACK_SIM. */
int cmd_vsim(cli_args *args) {
    return cli_usage_error(args, "this build has no simulator (METAPACK_SIM=ON)");
}
#endif
