/* SPDX-License-Identifier: BSD-3-Clause */
/** metapack COMMAND ...: dispatch, --help, --version. */
#include "cli.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name;
    unsigned bit;
    int (*run)(cli_args *args);
    const char *use, *what;
} command_table[] = {
    {"solve", CLI_SOLVE, cmd_solve, "A [-b B] [-o X]", "solve A X = B, with a checked answer"},
    {"analyse", CLI_ANALYSE, cmd_analyse, "A", "order A, predict flops and memory"},
    {"inertia", CLI_INERTIA, cmd_inertia, "A", "count positive, negative, zero eigenvalues"},
    {"inverse", CLI_INVERSE, cmd_inverse, "A [--pattern] [-o FILE]",
     "the diagonal of A^-1, or its entries where A has some"},
    {"schur", CLI_SCHUR, cmd_schur, "A --variables WHICH [-o S]",
     "the Schur complement on some variables"},
    {"systems", CLI_SYSTEMS, cmd_systems, "A --values V | A1 A2 ... [-b B] [-o X]",
     "many systems at once"},
    {"doctor", CLI_DOCTOR, cmd_doctor, "A [-o PAGE.html]",
     "say what A is, what makes it hard, what its answer is worth"},
    {"info", CLI_INFO, cmd_info, "A", "say what a matrix file holds"},
    {"generate", CLI_GENERATE, cmd_generate, "FAMILY [PARAMETERS] [-o FILE]", "make a test matrix"},
    {"stats", CLI_STATS, cmd_stats, "A", "what blockings of A cost, by level of fill"},
    {"vsim", CLI_VSIM, cmd_vsim, "KERNEL --matrix A | --input FILE",
     "simulate a kernel of irregular warps on a vector core"},
    {"convert", CLI_CONVERT, cmd_convert, "A FILE", "write A in another format"},
    {"bench", CLI_BENCH, cmd_bench, "dense | batch",
     "rates of dense and batched methods, checked first"},
    {"devices", CLI_DEVICES, cmd_devices, "", "list the GPUs that --device can name"},
    {"accelerators", CLI_ACCELERATORS, cmd_accelerators, "KERNEL [-n N] [--jobs T]",
     "a kernel as a pipeline, on an array and on a GPU"},
    {"synthesize", CLI_SYNTHESIZE, cmd_synthesize, "-o DIR",
     "write a solver of your own from a short description"},
    {"ipopt-env", CLI_IPOPT, cmd_ipopt_env, "", "say how Ipopt finds METAPACK"},
    {"petsc-env", CLI_PETSC, cmd_petsc_env, "[BUILD]", "say how PETSc finds METAPACK"},
};
enum { COMMANDS = sizeof command_table / sizeof *command_table };

static void print_help(void) {
    printf("metapack: symmetric indefinite linear systems, with checked answers\n\n"
           "  metapack COMMAND ... [OPTIONS]\n\n");
    for (int k = 0; k < COMMANDS; k++)
        printf("  %-12s %s\n", command_table[k].name, command_table[k].what);
    printf("\nA is a file (Matrix Market, Rutherford-Boeing, .npy; also .gz, .xz), - for standard\n"
           "input, or --generate SPEC. Results go to standard output, the report of solve to\n"
           "standard error; --json is for programs.\n\n"
           "  metapack solve A.mtx -b b.mtx -o x.mtx\n"
           "  metapack solve --generate \"nlpkkt 20\" --json\n\n"
           "Exit codes: 0 good, 1 usage, 2 input, 3 singular, 4 not converged, 5 accuracy not\n"
           "reached, 6 memory, 7 device, 128 + N stopped by signal N.\n\n"
           "metapack COMMAND --help lists the options, metapack help the topics of the manual, "
           "metapack\n"
           "help report explains the words of a report, metapack --version tells the version.\n");
}

/* Words of a text of so many bytes, broken before column `width`; lines but the first begin with so
 * many spaces. column: where the first one begins */
static void print_wrapped(const char *text, int length, int column, int indent, int width) {
    bool first = true;
    for (const char *word = text; word < text + length;) {
        while (*word == ' ') word++;
        const int size = (int)strcspn(word, " \n"), left = (int)(text + length - word);
        const int take = size < left ? size : left;
        if (!first && column + 1 + take > width)
            column = printf("\n%*s", indent, "") - 1;
        else if (!first)
            column += printf(" ");
        column += printf("%.*s", take, word);
        word += take;
        first = false;
    }
    printf("\n");
}

/* "family parameters: what it is": the parameters, and below them, what it is. */
static void print_families(void) {
    enum { INDENT = 6, WIDTH = 80, WIDEST = 99 };
    for (const char *line = mpk_generators(); *line;) {
        int length = (int)strcspn(line, "\n"), head = (int)strcspn(line, ":");
        if (head > length) head = length;
        printf("  ");
        print_wrapped(line, head, 2, 2 * INDENT, WIDEST);
        if (head < length) {
            printf("%*s", INDENT, "");
            print_wrapped(line + head + 1, length - head - 1, INDENT, INDENT, WIDTH);
        }
        line += length + (line[length] == '\n');
    }
}

static void print_command_help(const cli_args *args, const struct command *c) {
    printf("metapack %s %s\n\n%s\n\n", c->name, c->use, c->what);
    cli_print_options(args);
    if (c->bit & CLI_GENERATE) {
        printf("\nFamilies (parameters in brackets may be left out):\n\n");
        print_families();
    }
    printf("\nMore: man metapack-%s\n", c->name);
}

static const struct command *find(const char *name) {
    if (!strcmp(name, "analyze")) name = "analyse";
    for (int k = 0; k < COMMANDS; k++)
        if (!strcmp(name, command_table[k].name)) return &command_table[k];
    return NULL;
}

static void list_commands(const char *names[COMMANDS + 1]) {
    for (int k = 0; k < COMMANDS; k++) names[k] = command_table[k].name;
    names[COMMANDS] = NULL;
}

static int unknown(const cli_args *args, const char *name) {
    const char *names[COMMANDS + 1];
    list_commands(names);
    const char *near = cli_nearest(name, names);
    if (near) return cli_usage_error(args, "unknown command '%s'; did you mean '%s'?", name, near);
    if (access(name, F_OK) == 0)
        return cli_usage_error(args, "'%s' is no command; did you mean: metapack solve %s", name,
                               name);
    return cli_usage_error(args, "unknown command '%s'", name);
}

static int print_version(void) {
    char module[PATH_MAX];
    printf("metapack %s (%s)\n", mpk_version(), mpk_build_config());
    if (cli_cuda_module(module)) printf("CUDA module %s\n", module);
    return 0;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c) {
    return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

/* "metapack help ...", --help, -h: argv[1] is what about. */
static int dispatch_help(cli_args *args, int argc, char **argv) {
    const char *names[COMMANDS + 1];
    list_commands(names);
    if (argc == 1 || is_one_of(argv[1], "help", "--help", "-h")) {
        print_help();
        if (argv[0][0] != '-') cli_print_topics(names, false);
        return 0;
    }
    if (!strcmp(argv[1], "topics")) {
        cli_print_topics(names, true);
        return 0;
    }
    if (is_one_of(argv[1], "report", "reports", "words")) {
        cli_print_report_words();
        return 0;
    }
    const struct command *command = find(argv[1]);
    if (!command) {
        args->name = "help";
        return cli_show_topic(args, argv[1], names);
    }
    if (argc == 2 && cli_show_command(command->name)) return 0;
    args->command = command->bit;
    args->name = command->name;
    const int code = cli_parse(args, argc - 2, argv + 2);
    if (code) return code;
    for (int k = 0; k < args->nwords; k++)
        if (!strcmp(args->words[k], "all")) args->all_options = true;
    print_command_help(args, command);
    return 0;
}

/* Run the sub-command. wish [in] why nothing can be computed (METAPACK_CPU), or NULL. */
static int dispatch(cli_args *args, const char *wish, int argc, char **argv) {
    for (int k = 0; k < argc && argv[k][0] == '-'; k++)
        if (!strcmp(argv[k], "--json")) args->json = true;
    if (args->json && argc) argc -= !strcmp(argv[0], "--json"), argv += !strcmp(argv[0], "--json");
    if (!argc) return cli_usage_error(args, "no command");
    const char *name = argv[0];
    if (is_one_of(name, "--version", "version", "-V")) return print_version();
    if (!strcmp(name, "--help=all")) name = "--help";
    if (is_one_of(name, "help", "--help", "-h")) return dispatch_help(args, argc, argv);
    const struct command *command = find(name);
    for (int k = 1; k < argc; k++)
        if (!command && !strcmp(argv[k], "--json")) args->json = true;
    if (!command) return unknown(args, name);
    args->command = command->bit;
    args->name = command->name;
    int code = cli_parse(args, argc - 1, argv + 1);
    if (code) return code;
    if (args->version) return print_version();
    if (args->help || args->all_options) {
        print_command_help(args, command);
        return 0;
    }
    if (wish) return cli_usage_error(args, "%s", wish);
    code = cli_check_files(args);
    return code ? code : command->run(args);
}

/* What is wrong with METAPACK_CPU, or NULL. If something is, the context is created without it, so
 * that help and version work, and the failure can be printed as JSON. */
static const char *check_wish(void) {
    const char *wish = NULL;
    mpk_context *ctx = NULL;
    const mpk_status status = mpk_context_create(NULL, &ctx);
    mpk_context_destroy(&ctx);
    if (status != MPK_ERR_ARGUMENT && status != MPK_ERR_UNSUPPORTED) return NULL;
    mpk_last_error(NULL, NULL, NULL, &wish);
    unsetenv("METAPACK_CPU");
    return wish;
}

/* A standard stream that is closed is opened so that using it fails, as if it were: or the first
 * file that is opened takes its place, and gets what was meant for it. */
static void hold_streams(void) {
    for (int k = STDIN_FILENO; k <= STDERR_FILENO; k++)
        if (fcntl(k, F_GETFD) < 0 && open("/dev/null", k ? O_RDONLY : O_WRONLY) != k) return;
}

int main(int argc, char **argv) {
    cli_args args = {0};
    hold_streams();
    setlocale(LC_CTYPE, "");
    const char *wish = check_wish();
    if (mpk_failed(mpk_context_create(NULL, &args.ctx))) {
        fprintf(stderr, "metapack: not enough memory\n");
        return mpk_exit_code(MPK_ERR_MEMORY);
    }
    mpk_options_init(&args.options);
    int code = dispatch(&args, wish, argc - 1, argv + 1);
    code = cli_flush(&args, code);
    mpk_context_destroy(&args.ctx);
    return code;
}
