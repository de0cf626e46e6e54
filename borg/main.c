/* SPDX-License-Identifier: BSD-3-Clause */
/* borgc: options, files, exit status. Everything else is in the library. */
#include "borg/files.h"
#include "borg/options.h"
#include "borg/passes.h"
#include "borg/spatial/pipeline.h"
#include "core/output.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_SOURCE = 1, EXIT_USAGE = 2, EXIT_FILE = 3, EXIT_MEMORY = 4 };

typedef struct command {
    borg_options options;
    const char *input, *output, *emit, *units;
    const char **defines, **set;
    size_t ndefines, nset;
    int32_t sizes[BORG_MAX_SIZE + 1], nsizes; /* --sizes */
    bool ir, interpret;
    bool warnings_are_errors;
} command;

static const char usage[] =
    "usage: borgc -DWG_SIZE=n [options] kernel.cl\n"
    "  -D NAME[=text]       define a macro; WG_SIZE is required; WG_PACK is known,\n"
    "                       1 if not given, auto: chosen by the cost model\n"
    "  --emit=NAME          backend, or infreg: the intermediate form (default)\n"
    "  -o FILE              write there (default: standard output)\n"
    "  --kernel=NAME        only this kernel of the file\n"
    "  --name=NAME          name of the emitted function\n"
    "  --lane-order=ORDER   wi, wg or auto (default)\n"
    "  --lanes=N            cuda: threads of a work-group, 1, 2, 4, 8, 16 or 32 (chosen;\n"
    "                       1 with --lane-order=wg, where groups of a warp are interleaved)\n"
    "  --set=NAME=value     an integer parameter that is always this value\n"
    "  --stage=LIST         cuda, a group in each thread: these pointers by shared memory\n"
    "  --nontemporal=LIST   avx512: full registers of these pointers are stored past the caches;\n"
    "                       auto (default): what is only written, in large calls; never\n"
    "  --units=FILE         hls, pipe: latencies and areas of units, in the form of units.def\n"
    "  --budget=LIMITS      hls, pipe: lut=N,ff=N,dsp=N; what is larger is refused\n"
    "  --format=NAME        pipe: text (default), json or svg\n"
    "  --strict             no fused multiply-add: bits as in the source\n"
    "  --whole-packs        groups come in multiples of WG_PACK: no code for the rest (c, avx512,\n"
    "                       llvm, ve, hls)\n"
    "  --sizes=LIST         vrptx: a kernel for each of these WG_SIZEs, 4,8,16; any: one for\n"
    "                       warps of all other sizes\n"
    "  --fast-rcp           rcp() may be an approximation (cuda, avx512)\n"
    "  --unroll-budget=N    instructions that unrolling may make (200000)\n"
    "  --loops=auto|never|always  loops over arrays that registers cannot hold stay loops (c,\n"
    "                       avx512)\n"
    "  --flat=N|never       registers side by side where work-items are independent (c, avx512;\n"
    "                       cuda: items of a thread)\n"
    "  --no-vector          unroll loops over constants, do not run them as vectors\n"
    "  --optimise=0|1       without, with the passes (1)\n"
    "  --verify             check the intermediate form between passes\n"
    "  --disable=LIST       reuse,scalar,vector,segmented,permute,stream: for measurements (c,\n"
    "                       avx512, ve; cuda, opencl: reuse)\n"
    "  --dump=WHAT          ast, ssa, infreg or a pass: to standard error\n"
    "  --ir                 the input is InfReg-IR, not source\n"
    "  --interpret          run the kernel on arguments from standard input (see borgc(1))\n"
    "  -Werror              warnings fail\n"
    "  --help, --version\n"
    "What a backend or --ir leaves no place for is refused; what a kernel does not: "
    "--loops=always,\n"
    "--flat, --stage and named --nontemporal.\n";

static int complain(const char *reason, const char *what) {
    fprintf(stderr, "borgc: %s%s%s\n", reason, what ? ": " : "", what ? what : "");
    return EXIT_USAGE;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Whole or not at all. */
static int write_whole(const char *path, const char *text, size_t length) {
    if (!path || strcmp(path, "-") == 0)
        return fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0 ? 0 : EXIT_FILE;
    mpki_output output;
    int error = mpki_output_open(&output, path);
    if (!error) {
        error = mpki_output_write(&output, text, length);
        const int closing = mpki_output_close(&output, !error);
        if (!error) error = closing;
    }
    if (error) fprintf(stderr, "borgc: cannot write %s: %s\n", path, strerror(error));
    return error ? EXIT_FILE : 0;
}

/* ---- options --------------------------------------------------------------------------------- */

static const char *value_of(const char *argument, const char *name) {
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                           : NULL;
}

static bool to_int(const char *text, long low, long high, int32_t *value) {
    char *rest;
    errno = 0;
    long v = strtol(text, &rest, 10);
    if (!*text || *rest || errno || v < low || v > high) return false;
    *value = (int32_t)v;
    return true;
}

static int add_define(command *c, const char *text) {
    const char *value;
    int32_t number;
    if ((value = value_of(text, "WG_SIZE"))) {
        if (!to_int(value, 1, BORG_MAX_SIZE, &c->options.size))
            return complain("WG_SIZE must be 1 to 256", value);
    } else if ((value = value_of(text, "WG_PACK"))) {
        if (strcmp(value, "auto") == 0)
            number = BORG_PACK_AUTO;
        else if (!to_int(value, 1, BORG_MAX_PACK, &number))
            return complain("WG_PACK must be 1 to 64 or auto", value);
        c->options.pack = number;
    } else {
        c->defines[c->ndefines++] = text;
    }
    return 0;
}

static int set_disable(command *c, const char *list) {
    while (*list) {
        size_t length = strcspn(list, ",");
        const char *name;
        int32_t bit = 1;
        while ((name = borg_disable_text(bit)) &&
               !(strlen(name) == length && strncmp(name, list, length) == 0))
            bit *= 2;
        if (!name) return complain("nothing of this name can be disabled", list);
        c->options.disable |= bit;
        list += length + (list[length] == ',');
    }
    return 0;
}

static int set_sizes(command *c, const char *list) {
    for (const char *next = list; *next;) {
        char word[16];
        int32_t size;
        size_t length = strcspn(next, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), next);
        if (strcmp(word, "any") == 0)
            size = BORG_ANY_SIZE;
        else if (!to_int(word, 1, BORG_MAX_SIZE, &size))
            return complain("--sizes needs sizes from 1 to 256, as 4,8,16, or any", list);
        for (int32_t i = 0; i < c->nsizes; ++i)
            if (c->sizes[i] == size) return complain("--sizes has a size twice", list);
        c->sizes[c->nsizes++] = size;
        next += length + (next[length] == ',');
    }
    return c->nsizes ? 0 : complain("--sizes needs a list", NULL);
}

static int set_dump(command *c, const char *what) {
    static const char *const forms[] = {"ast", "ssa", "infreg"};
    bool known = false;
    for (int k = 0; k < 3; ++k) known |= strcmp(what, forms[k]) == 0;
    for (const borg_pass *p = borg_passes; p->name; ++p) known |= strcmp(what, p->name) == 0;
    if (!known) return complain("nothing of this name can be dumped", what);
    c->options.dump = what;
    return 0;
}

static int take_option(command *c, const char *a) {
    const char *v;
    borg_options *o = &c->options;
    if ((v = value_of(a, "--emit"))) {
        c->emit = v;
    } else if ((v = value_of(a, "--kernel"))) {
        o->kernel = v;
    } else if ((v = value_of(a, "--name"))) {
        o->name = v;
    } else if ((v = value_of(a, "--sizes"))) {
        return set_sizes(c, v);
    } else if ((v = value_of(a, "--dump"))) {
        return set_dump(c, v);
    } else if ((v = value_of(a, "--lane-order"))) {
        if (strcmp(v, "wi") && strcmp(v, "wg") && strcmp(v, "auto"))
            return complain("the lane order is wi, wg or auto", v);
        o->order = strcmp(v, "wi") == 0   ? BORG_WI_MINOR
                   : strcmp(v, "wg") == 0 ? BORG_WG_MINOR
                                          : BORG_ORDER_AUTO;
    } else if ((v = value_of(a, "--lanes"))) {
        if (!to_int(v, 1, 32, &o->lanes) || (o->lanes & (o->lanes - 1)))
            return complain("--lanes is 1, 2, 4, 8, 16 or 32", v);
    } else if ((v = value_of(a, "--set"))) {
        c->set[c->nset++] = v;
    } else if ((v = value_of(a, "--stage"))) {
        o->stage = v;
    } else if ((v = value_of(a, "--nontemporal"))) {
        o->nontemporal = v;
    } else if ((v = value_of(a, "--units"))) {
        c->units = v;
    } else if ((v = value_of(a, "--budget"))) {
        o->budget = v;
    } else if ((v = value_of(a, "--format"))) {
        if (strcmp(v, "text") && strcmp(v, "json") && strcmp(v, "svg"))
            return complain("--format is text, json or svg", v);
        o->format = v;
    } else if ((v = value_of(a, "--unroll-budget"))) {
        if (!to_int(v, 1, 100000000, &o->unroll_budget)) return complain("not a number", v);
    } else if ((v = value_of(a, "--optimise"))) {
        if (!to_int(v, 0, 1, &o->optimise)) return complain("--optimise is 0 or 1", v);
        if (o->optimise == 0) o->optimise = -1;
    } else if ((v = value_of(a, "--disable"))) {
        return set_disable(c, v);
    } else if ((v = value_of(a, "--flat"))) {
        if (strcmp(v, "never") == 0) {
            o->flat = -1;
        } else if (!to_int(v, 1, 8, &o->flat)) {
            return complain("--flat is a number from 1 to 8, or never", v);
        }
    } else if (strcmp(a, "--strict") == 0) {
        o->strict = true;
    } else if (strcmp(a, "--whole-packs") == 0) {
        o->whole_packs = true;
    } else if (strcmp(a, "--fast-rcp") == 0) {
        o->fast_rcp = true;
    } else if ((v = value_of(a, "--loops"))) {
        if (strcmp(v, "auto") && strcmp(v, "never") && strcmp(v, "always"))
            return complain("--loops is auto, never or always", v);
        o->loops = v[1] == 'u'   ? BORG_LOOPS_AUTO
                   : v[0] == 'n' ? BORG_LOOPS_NEVER
                                 : BORG_LOOPS_ALWAYS;
    } else if (strcmp(a, "--no-vector") == 0) {
        o->no_vector = true;
    } else if (strcmp(a, "--verify") == 0) {
        o->verify = true;
    } else if (strcmp(a, "--ir") == 0) {
        c->ir = true;
    } else if (strcmp(a, "--interpret") == 0) {
        c->interpret = true;
    } else if (strcmp(a, "-Werror") == 0) {
        c->warnings_are_errors = true;
    } else {
        return complain("no such option", a);
    }
    return 0;
}

static int take_arguments(command *c, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        int status = 0;
        if (strncmp(a, "-D", 2) == 0) {
            const char *text = a[2] ? a + 2 : i + 1 < argc ? argv[++i] : NULL;
            status = text ? add_define(c, text) : complain("-D needs a name", NULL);
        } else if (strcmp(a, "-o") == 0) {
            if (i + 1 == argc) return complain("-o needs a file", NULL);
            c->output = argv[++i];
        } else if (a[0] == '-' && a[1]) {
            status = take_option(c, a);
        } else if (c->input) {
            status = complain("one file at a time", a);
        } else {
            c->input = a;
        }
        if (status) return status;
    }
    if (!c->input) return complain("no input (borgc --help)", NULL);
    if (c->output && mpki_output_same(c->output, c->input, true))
        return complain("the output is the input, which is not written over", c->output);
    if (c->ir && (c->options.size || c->options.pack || c->ndefines))
        return complain("-D, WG_SIZE and WG_PACK: for a source, the text of --ir says it itself",
                        NULL);
    if (c->interpret && c->output)
        return complain("--interpret prints arrays, -o is for what is emitted", NULL);
    if (c->nsizes && (strcmp(c->emit, "vrptx") || c->options.size || c->ir || c->interpret))
        return complain("--sizes is for --emit=vrptx and source, in place of WG_SIZE", NULL);
    if (!c->ir && !c->options.size && !c->nsizes)
        return complain("WG_SIZE is not given (-DWG_SIZE=n)", NULL);
    return 0;
}

static void print_help(void) {
    fputs(usage, stdout);
    fputs("backends:\n  infreg     InfReg-IR as text\n", stdout);
    for (const borg_backend *const *b = borg_backends(); *b; ++b)
        printf("  %-10s %s\n", (*b)->name, (*b)->summary);
}

/* ---- output ---------------------------------------------------------------------------------- */

static borg_status emit(command *c, borg_program *p, const char **text, size_t *length) {
    if (c->options.backend)
        return borg_program_emit(p, c->options.backend, &c->options, text, length);
    borg_sink *volatile sink = NULL;
    if (setjmp(p->arena.oom)) return BORG_ERR_MEMORY;
    sink = BORG_NEW(&p->arena, 1, borg_sink);
    sink->arena = &p->arena;
    for (int32_t i = 0; i < p->nunits; ++i) {
        borg_unit *u = &p->units[i];
        u->module->name = u->name;
        borg_print(u->module, sink);
        if (u->tail) u->tail->name = u->name, borg_print(u->tail, sink);
    }
    *text = sink->text ? sink->text : "";
    *length = sink->length;
    return BORG_OK;
}

/* ---- --interpret ----------------------------------------------------------------------------- */

/* The next word of standard input, comments skipped. */
static bool next_word(char *word, size_t room) {
    int c = getchar();
    size_t length = 0;
    while (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '#') {
        if (c == '#')
            while (c != '\n' && c != EOF) c = getchar();
        if (c != EOF) c = getchar();
    }
    for (; c != EOF && c != ' ' && c != '\n' && c != '\t' && c != '\r'; c = getchar())
        if (length + 1 < room) word[length++] = (char)c;
    word[length] = 0;
    return length > 0;
}

static bool next_bits(borg_type type, uint64_t *bits) {
    char word[128], *rest;
    if (!next_word(word, sizeof word)) return false;
    *bits = 0;
    if (type == BORG_F16) {
        *bits = borg_half_bits(strtod(word, &rest));
    } else if (type == BORG_F64) {
        double x = strtod(word, &rest);
        memcpy(bits, &x, sizeof x);
    } else if (type == BORG_F32) {
        float x = strtof(word, &rest);
        memcpy(bits, &x, sizeof x);
    } else {
        *bits = (uint64_t)strtoll(word, &rest, 0);
        if (type == BORG_I32) *bits = (uint32_t)*bits;
    }
    return *rest == 0;
}

static bool next_argument(borg_arena *arena, const borg_param *p, borg_arg *arg) {
    if (p->type != BORG_PTR) return next_bits(p->type, &arg->bits);
    uint64_t count;
    size_t bytes = (size_t)borg_type_bytes(p->elem);
    if (p->depth != 1 || !next_bits(BORG_I64, &count) || count > (uint64_t)1 << 28) return false;
    arg->count = (int64_t)count;
    arg->data = borg_alloc(arena, count + 1, bytes);
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t bits;
        if (!next_bits(p->elem, &bits)) return false;
        memcpy((char *)arg->data + i * bytes, &bits, bytes);
    }
    return true;
}

static void print_array(const borg_param *p, const borg_arg *arg) {
    printf("%s %lld", p->name, (long long)arg->count);
    for (int64_t i = 0; i < arg->count; ++i) {
        if (p->elem == BORG_F64) printf(" %a", ((const double *)arg->data)[i]);
        if (p->elem == BORG_F32) printf(" %a", (double)((const float *)arg->data)[i]);
        if (p->elem == BORG_I32) printf(" %d", ((const int32_t *)arg->data)[i]);
        if (p->elem == BORG_F16) printf(" %a", borg_half_value(((const uint16_t *)arg->data)[i]));
        if (p->elem == BORG_I8 && !p->uns) printf(" %d", ((const int8_t *)arg->data)[i]);
        if (p->elem == BORG_I8 && p->uns) printf(" %d", ((const uint8_t *)arg->data)[i]);
        if (p->elem == BORG_I16 && !p->uns) printf(" %d", ((const int16_t *)arg->data)[i]);
        if (p->elem == BORG_I16 && p->uns) printf(" %d", ((const uint16_t *)arg->data)[i]);
        if (p->elem == BORG_I64) printf(" %lld", (long long)((const int64_t *)arg->data)[i]);
    }
    putchar('\n');
}

static int interpret(borg_program *p) {
    if (setjmp(p->arena.oom)) return EXIT_MEMORY;
    if (p->nunits != 1) return complain("one kernel at a time (--kernel)", NULL);
    borg_module *m = p->units[0].module;
    borg_arg *args = BORG_NEW(&p->arena, m->nparams + 1, borg_arg);
    uint64_t groups;
    if (!next_bits(BORG_I64, &groups) || groups > (uint64_t)1 << 40)
        return complain("expected the number of groups", NULL);
    for (int32_t i = 0; i < m->nparams; ++i)
        if (!next_argument(&p->arena, &m->params[i], &args[i]))
            return complain("no such argument can be read", m->params[i].name);
    bool good = borg_interpret(m, p->units[0].tail, args, 0, (int64_t)groups, 0, &p->diags);
    if (!good) fputs(borg_program_messages(p), stderr);
    for (int32_t i = 0; good && i < m->nparams; ++i)
        if (m->params[i].type == BORG_PTR) print_array(&m->params[i], &args[i]);
    return good && fflush(stdout) == 0 ? 0 : EXIT_SOURCE;
}

/* What fits the budget instead. */
static void propose(const command *c, const char *source, size_t length) {
    borg_arena arena;
    borg_sink text = {.arena = &arena};
    borg_arena_init(&arena, NULL, 0);
    if (!setjmp(arena.oom)) {
        borg_propose(c->input, source, length, &c->options, &text);
        if (text.text) fputs(text.text, stderr);
    }
    borg_arena_free(&arena);
}

/* What is made is added to `out`. */
static int compile(command *c, const char *source, size_t length, borg_sink *out) {
    borg_program *p = NULL;
    const char *text = "";
    size_t size = 0;
    borg_status status =
        (c->ir ? borg_compile_ir : borg_compile)(c->input, source, length, &c->options, NULL, &p);
    if (status == BORG_OK && c->warnings_are_errors && p->diags.warnings) status = BORG_ERR_SOURCE;
    if (status == BORG_OK && !c->interpret) status = emit(c, p, &text, &size);
    volatile int code = 0;
    if (p) fputs(borg_program_messages(p), stderr);
    if (c->options.dump_to && c->options.dump_to->text) fputs(c->options.dump_to->text, stderr);
    if (status == BORG_ERR_BUDGET && !c->ir) propose(c, source, length);
    if (status == BORG_ERR_MEMORY) {
        code = complain("out of memory", NULL) ? EXIT_MEMORY : 0;
    } else if (status != BORG_OK) {
        code = status == BORG_ERR_OPTION ? EXIT_USAGE : EXIT_SOURCE;
    } else if (c->interpret) {
        code = interpret(p);
    } else {
        jmp_buf outer; /* the program must not be lost where the sink has no room */
        memcpy(&outer, &out->arena->oom, sizeof outer);
        if (setjmp(out->arena->oom))
            code = complain("out of memory", NULL) ? EXIT_MEMORY : 0;
        else
            borg_put_text(out, text, size);
        memcpy(&out->arena->oom, &outer, sizeof outer);
    }
    borg_program_free(p);
    return code;
}

/* Once, or once for each of --sizes. */
static int compile_all(command *c, const char *source, size_t length, borg_sink *out) {
    int code = c->nsizes ? 0 : compile(c, source, length, out);
    for (int32_t i = 0; i < c->nsizes && code == 0; ++i) {
        c->options.size = c->sizes[i];
        code = compile(c, source, length, out);
    }
    return code || c->interpret ? code
                                : write_whole(c->output, out->text ? out->text : "", out->length);
}

/* All of a file, which the caller frees; NULL after a complaint. */
static char *read_whole(const char *path, size_t *length) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *text = file ? borg_read_all(file, length) : NULL;
    if (file && file != stdin) fclose(file);
    if (!text) fprintf(stderr, "borgc: cannot read %s: %s\n", path, strerror(errno));
    return text;
}

static int run(command *c) {
    size_t length = 0, ignored;
    char *source = read_whole(c->input, &length);
    char *units = source && c->units ? read_whole(c->units, &ignored) : NULL;
    if (!source || (c->units && !units)) {
        free(source);
        return EXIT_FILE;
    }
    c->options.units = units;
    borg_arena arena;
    borg_sink dump = {.arena = &arena}, out = {.arena = &arena};
    borg_arena_init(&arena, NULL, 0);
    int code = EXIT_MEMORY;
    if (!setjmp(arena.oom)) {
        c->options.dump_to = &dump;
        code = compile_all(c, source, length, &out);
    }
    borg_arena_free(&arena);
    free(source);
    free(units);
    return code;
}

int main(int argc, char **argv) {
    command c = {.emit = "infreg"};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return print_help(), 0;
        if (strcmp(argv[i], "--version") == 0) return puts("borgc " BORG_VERSION), 0;
    }
    c.options.order = BORG_ORDER_AUTO;
    c.options.reader = &borg_file_reader;
    c.defines = calloc(2 * (size_t)argc + 2, sizeof *c.defines);
    if (!c.defines) return EXIT_MEMORY;
    c.set = c.defines + argc + 1;
    c.options.defines = c.defines;
    c.options.set = c.set;
    int status = take_arguments(&c, argc, argv);
    if (!status && strcmp(c.emit, "infreg") != 0) {
        c.options.backend = borg_backend_find(c.emit);
        if (!c.options.backend) status = complain("no such backend (borgc --help)", c.emit);
    }
    if (!status) status = run(&c);
    free(c.defines);
    return status;
}
