/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the command: which sub-commands take them, and their help; for fields of
 * mpk_options the help is made from the table of options. */
#include "cli.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ALL                                                                                        \
    (CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA | CLI_INFO | CLI_GENERATE | CLI_CONVERT | CLI_STATS)
#define READ (CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA | CLI_INFO | CLI_CONVERT | CLI_STATS)
#define ORDER (CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA)
#define FACTOR (CLI_SOLVE | CLI_INERTIA)
#define BLOCKS (CLI_SOLVE | CLI_ANALYSE)
#define AT(field) offsetof(cli_args, field)

const cli_flag cli_flags[] = {
    {"generate", 0, CLI_STRING, READ, AT(generate), "SPEC",
     "generate A, as in --generate \"nlpkkt 20\""},
    {"rhs", 'b', CLI_STRING, CLI_SOLVE, AT(rhs), "B", "right-hand sides; without it A times ones"},
    {"output", 'o', CLI_STRING, CLI_SOLVE, AT(output), "X", "write the solution (Matrix Market)"},
    {"output", 'o', CLI_STRING, CLI_GENERATE | CLI_CONVERT, AT(output), "FILE",
     "write to FILE: .mtx, .rb, each also .gz"},
    {"plot", 0, CLI_STRING, ORDER | CLI_INFO, AT(plot), "FILE.svg", "draw patterns and times"},
    {"plot", 0, CLI_STRING, CLI_STATS, AT(plot), "FILE.svg", "draw blocks and level sets"},
    {"trace", 0, CLI_STRING, FACTOR, AT(trace), "FILE",
     "what was done when: .svg draws, else JSON for a browser's tracing page"},
    {"dense", 0, CLI_STRING, CLI_SOLVE, AT(dense), "NAME",
     "dense: auto tile bunch-kaufman rook aasen butterfly none off"},
    {"backend", 0, CLI_STRING, CLI_SOLVE, AT(backend), "WHERE",
     "another machine for the factorization: cpu, cuda, systolic:ROWSxCOLUMNS, pipe[:FILE]"},
    {"size", 'n', CLI_STRING, CLI_ACCELERATORS, AT(size), "N", "work-items, rows of a block; 4"},
    {"jobs", 0, CLI_STRING, CLI_ACCELERATORS, AT(jobs), "T", "most jobs of the table; 100000"},
    {"warps", 0, CLI_STRING, CLI_ACCELERATORS, AT(warps), "W", "of the GPU; 32"},
    {"kernel", 0, CLI_STRING, CLI_ACCELERATORS, AT(kernel), "NAME", "which kernel of the file"},
    {"cells", 0, CLI_STRING, CLI_ACCELERATORS, AT(cells), "FILE",
     "a program of the array's cells, in place of that of the kernel's name"},
    {"units", 0, CLI_STRING, CLI_ACCELERATORS, AT(units), "FILE",
     "latencies and areas of units, in the form of borg/spatial/units.def"},
    {"plot", 0, CLI_STRING, CLI_ACCELERATORS, AT(plot), "FILE.svg", "draw cycles over jobs"},
    {"draw", 0, CLI_STRING, CLI_ACCELERATORS, AT(draw), "FILE.svg",
     "draw the array with the cycles of its links"},
    {"type", 0, CLI_STRING, CLI_SYNTHESIZE, AT(type), "NAME", "ldlt"},
    {"fill", 0, CLI_STRING, CLI_SYNTHESIZE, AT(fill), "WHICH", "full | level:K; full"},
    {"pivoting", 0, CLI_STRING, CLI_SYNTHESIZE, AT(way), "WHICH", "none | outer; outer"},
    {"block", 0, CLI_STRING, CLI_SYNTHESIZE, AT(size), "N", "rows of a block, 1 to 64; 16"},
    {"target", 0, CLI_STRING, CLI_SYNTHESIZE, AT(target), "WHAT", "c | hls | cuda; c"},
    {"output", 'o', CLI_STRING, CLI_SYNTHESIZE, AT(output), "DIR",
     "the folder, made if there is none; files that are there are not replaced"},
    {"methods", 0, CLI_STRING, CLI_BENCH, AT(strategies), "LIST",
     "of methods, see metapack-bench(1); all"},
    {"sizes", 0, CLI_STRING, CLI_BENCH, AT(blocks), "LIST",
     "of orders; 500,1000,2000, batch: 4 .. 64"},
    {"type", 0, CLI_STRING, CLI_BENCH, AT(scalar), "T", "s | d | c | z; d"},
    {"json", 0, CLI_SWITCH,
     ALL | CLI_BENCH | CLI_IPOPT | CLI_PETSC | CLI_DEVICES | CLI_ACCELERATORS, AT(json), NULL,
     "one JSON object on standard output"},
    {"quiet", 'q', CLI_SWITCH, ALL | CLI_IPOPT | CLI_PETSC | CLI_SYNTHESIZE, AT(quiet), NULL,
     "no report on standard error"},
    {"progress", 0, CLI_SWITCH, ALL, AT(progress), NULL, "show progress from the start"},
    {"matrix", 0, CLI_STRING, CLI_VSIM, AT(vsim.matrix), "A", "rows of a matrix as warps"},
    {"generate", 0, CLI_STRING, CLI_VSIM, AT(generate), "SPEC",
     "rows of a generated matrix as warps"},
    {"rows", 0, CLI_STRING, CLI_VSIM, AT(vsim.rows), "RANGE",
     "these rows of it, as FROM:TO, from 0; TO is behind the last"},
    {"cols", 0, CLI_STRING, CLI_VSIM, AT(vsim.cols), "RANGE", "these columns of it"},
    {"warps", 0, CLI_STRING, CLI_VSIM, AT(vsim.warps), "HOW",
     "threads of a row, rows | rows:MOST | fixed:N, or lanes:N, a thread a row; rows"},
    {"input", 0, CLI_STRING, CLI_VSIM, AT(vsim.input), "FILE", "sizes of warps and named arrays"},
    {"machine", 0, CLI_STRING, CLI_VSIM, AT(vsim.machine), "FILE",
     "the vector core; NEC SX-Aurora"},
    {"set", 0, CLI_STRING, CLI_VSIM, AT(vsim.set), "LIST",
     "name=value of the machine, over its file"},
    {"slots", 0, CLI_STRING, CLI_VSIM, AT(vsim.slots), "LIST",
     "partitions at once, or auto; 1,2,4,8"},
    {"threshold", 0, CLI_STRING, CLI_VSIM, AT(vsim.threshold), "LIST",
     "of packing: none, instructions, or auto; none,0,2,4,8"},
    {"orders", 0, CLI_STRING, CLI_VSIM, AT(vsim.orders), "N",
     "random orders of the warps; 0: as given"},
    {"sort", 0, CLI_STRING, CLI_VSIM, AT(vsim.sort), "HOW",
     "none | rising | falling sizes before packing"},
    {"csv", 0, CLI_STRING, CLI_VSIM, AT(vsim.csv), "FILE", "write a row for each setting"},
    {"plot", 0, CLI_STRING, CLI_VSIM, AT(plot), "FILE.svg",
     "draw sizes, cycles, utilisation, first cycles"},
    {"trace", 0, CLI_STRING, CLI_VSIM, AT(trace), "FILE",
     "first cycles of the fastest setting, JSON for a browser's tracing page"},
    {"trace-cycles", 0, CLI_STRING, CLI_VSIM, AT(vsim.trace_cycles), "N",
     "how many first cycles; 2000"},
    {"max-steps", 0, CLI_STRING, CLI_VSIM, AT(vsim.max_steps), "N",
     "most instructions of a partition; 2^32"},
    {"print", 0, CLI_SWITCH, CLI_VSIM, AT(vsim.print), NULL,
     "the kernel, disassembled, on standard output"},
    {"json", 0, CLI_SWITCH, CLI_VSIM, AT(json), NULL, "one JSON object on standard output"},
    {"quiet", 'q', CLI_SWITCH, CLI_VSIM, AT(quiet), NULL, "no report on standard error"},
    {"threads", 0, CLI_OPTION, CLI_VSIM, 0, "N", NULL},
    {"seed", 0, CLI_OPTION, CLI_VSIM, 0, "N", NULL},
    {"help", 'h', CLI_SWITCH, CLI_VSIM, AT(help), NULL, "this text"},
    {"method", 0, CLI_OPTION, ORDER, 0, "NAME", NULL},
    {"ordering", 0, CLI_OPTION, ORDER, 0, "NAME", NULL},
    {"strategy", 0, CLI_STRING, CLI_STATS, AT(strategies), "LIST", "br,rb,rbr or auto"},
    {"ordering", 0, CLI_STRING, CLI_STATS, AT(orderings), "LIST",
     "auto, amd, nd, metis, scotch, rcm, gmc, natural"},
    {"block", 0, CLI_STRING, CLI_STATS, AT(blocks), "LIST", "most rows of a block, 1 to 128; 32"},
    {"levels", 0, CLI_STRING, CLI_STATS, AT(levels), "LIST", "of fill: 0:5 or 0,1,full; 0:3"},
    {"scalar", 0, CLI_STRING, CLI_STATS, AT(scalar), "WHEN", "on | off: the scalar columns, too"},
    {"given-perm", 0, CLI_STRING, ORDER, AT(perm), "FILE", "the order for --ordering given"},
    {"given-blocks", 0, CLI_STRING, BLOCKS, AT(given_blocks), "FILE",
     "where each block of --ordering given or natural begins"},
    {"given-pivots", 0, CLI_STRING, BLOCKS, AT(given_pivots), "FILE",
     "where each pivot, of one or two rows, begins there"},
    {"matching", 0, CLI_OPTION, ORDER | CLI_STATS, 0, "WHEN", NULL},
    {"model-threads", 0, CLI_OPTION, ORDER, 0, "N", NULL},
    {"scaling", 0, CLI_OPTION, ORDER, 0, "WHEN", NULL},
    {"pivot-threshold", 0, CLI_OPTION, FACTOR, 0, "U", NULL},
    {"zero-tolerance", 0, CLI_OPTION, FACTOR, 0, "T", NULL},
    {"static-shift", 0, CLI_OPTION, FACTOR, 0, "E", NULL},
    {"refine", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"accuracy", 0, CLI_OPTION, CLI_SOLVE, 0, "E", NULL},
    {"condition", 0, CLI_OPTION_ON, CLI_SOLVE, 0, NULL, NULL},
    {"krylov", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"tolerance", 0, CLI_OPTION, CLI_SOLVE, 0, "E", NULL},
    {"max-iterations", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"restart", 0, CLI_OPTION, CLI_SOLVE, 0, "M", NULL},
    {"shadow", 0, CLI_OPTION, CLI_SOLVE, 0, "S", NULL},
    {"direct", 0, CLI_OPTION, CLI_SOLVE, 0, "WHEN", NULL},
    {"no-direct", 0, CLI_OPTION_OFF, CLI_SOLVE, 0, NULL, "the same as --direct off"},
    {"strategy", 0, CLI_OPTION, BLOCKS, 0, "NAME", NULL},
    {"block", 0, CLI_OPTION, BLOCKS, 0, "N", NULL},
    {"grid", 0, CLI_OPTION_ON, BLOCKS | CLI_STATS, 0, NULL, NULL},
    {"similarity", 0, CLI_OPTION, BLOCKS | CLI_STATS, 0, "C", NULL},
    {"joining", 0, CLI_OPTION, BLOCKS, 0, "WHEN", NULL},
    {"level", 0, CLI_OPTION, CLI_SOLVE, 0, "K", NULL},
    {"level-rule", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"fill-factor", 0, CLI_OPTION, CLI_SOLVE, 0, "F", NULL},
    {"capacity-rule", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"drop-tolerance", 0, CLI_OPTION, CLI_SOLVE, 0, "T", NULL},
    {"drop-norm", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"factor-type", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"pivoting", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"stages", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"butterfly", 0, CLI_OPTION_ON, CLI_SOLVE, 0, NULL, NULL},
    {"schedule", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"sweeps", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"jacobi-epsilon", 0, CLI_OPTION, CLI_SOLVE, 0, "E", NULL},
    {"jacobi-decay", 0, CLI_OPTION, CLI_SOLVE, 0, "D", NULL},
    {"shift", 0, CLI_OPTION, CLI_SOLVE, 0, "S", NULL},
    {"precision", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"solve-sweeps", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"triangular", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"isai-pattern", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"isai-power", 0, CLI_OPTION, CLI_SOLVE, 0, "K", NULL},
    {"isai-block", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"isai-limit", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"isai-over", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"isai-relax", 0, CLI_OPTION, CLI_SOLVE, 0, "N", NULL},
    {"isai-precision", 0, CLI_OPTION, CLI_SOLVE, 0, "NAME", NULL},
    {"omega", 0, CLI_OPTION, CLI_SOLVE, 0, "W", NULL},
    {"device", 0, CLI_OPTION, ORDER, 0, "WHERE", NULL},
    {"device-number", 0, CLI_OPTION, ORDER, 0, "N", NULL},
    {"device-memory-limit", 0, CLI_OPTION, ORDER, 0, "BYTES", NULL},
    {"symmetry-tolerance", 0, CLI_OPTION, READ, 0, "T", NULL},
    {"threads", 0, CLI_OPTION, ORDER | CLI_STATS | CLI_BENCH, 0, "N", NULL},
    {"deterministic", 0, CLI_OPTION_ON, ORDER, 0, NULL, NULL},
    {"memory-limit", 0, CLI_OPTION_BYTES, ORDER | CLI_STATS, 0, "BYTES", NULL},
    {"seed", 0, CLI_OPTION, ALL | CLI_BENCH, 0, "N", NULL},
    {"help", 'h', CLI_SWITCH,
     ALL | CLI_BENCH | CLI_IPOPT | CLI_PETSC | CLI_DEVICES | CLI_ACCELERATORS | CLI_SYNTHESIZE,
     AT(help), NULL, "this text"},
    {NULL, 0, CLI_SWITCH, 0, 0, NULL, NULL},
};

const mpk_option *cli_flag_option(const cli_flag *f) {
    const mpk_option *o;
    if (f->kind < CLI_OPTION) return NULL;
    const char *name = f->kind == CLI_OPTION_OFF ? f->name + strlen("no-") : f->name;
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        const char *a = o->key, *b = name;
        while (*a && (*a == '_' ? '-' : *a) == *b) a++, b++;
        if (*a == *b) return o;
    }
    return NULL;
}

/* "ldlt | llt | ldu: what the factorization makes", "most rows of a block; 32" */
static void describe(const cli_flag *f, char *out, size_t size) {
    const mpk_option *o = cli_flag_option(f);
    size_t used = 0;
    out[0] = '\0';
    if (!o || f->help) {
        snprintf(out, size, "%s", f->help);
        return;
    }
    for (int c = 0; c < o->count && used < size; c++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", o->words[c],
                                 c + 1 < o->count ? " | " : ": ");
    if (used < size) used += (size_t)snprintf(out + used, size - used, "%s", o->text);
    if (used < size && !strstr(o->text, "(default)")) {
        if (o->count)
            snprintf(out + used, size - used, "; default %s", o->words[(int)o->preset]);
        else
            snprintf(out + used, size - used, "; default %g", o->preset);
    }
}

void cli_print_options(const cli_args *args) {
    enum { LEFT = 31, WIDTH = 100 };
    for (const cli_flag *f = cli_flags; f->name; f++) {
        if (!(f->commands & args->command)) continue;
        char left[64], letter[8] = "    ", text[512];
        if (f->letter) snprintf(letter, sizeof letter, "-%c, ", f->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, f->name,
                 f->kind == CLI_OPTION_ON ? "[=WHEN]"
                 : f->value               ? " "
                                          : "",
                 f->value ? f->value : "");
        describe(f, text, sizeof text);
        int column = printf("  %-28s", left);
        for (const char *word = text; *word;) {
            const int length = (int)strcspn(word, " ");
            if (column + 1 + length > WIDTH) column = printf("\n%*s", LEFT - 1, "") - 1;
            column += printf(" %.*s", length, word);
            word += length + strspn(word + length, " ");
        }
        printf("\n");
    }
}
