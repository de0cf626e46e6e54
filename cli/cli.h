/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_H
#define MPK_CLI_H
/** The command `metapack`: what its files share. */
#include <metapack/metapack.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/** Sub-commands as bits, so that a flag can belong to several. */
enum {
    CLI_SOLVE = 1,
    CLI_ANALYSE = 2,
    CLI_INERTIA = 4,
    CLI_INFO = 8,
    CLI_GENERATE = 16,
    CLI_CONVERT = 32,
    CLI_STATS = 64,
    CLI_IPOPT = 128,
    CLI_PETSC = 256,
    CLI_BENCH = 512,
    CLI_DEVICES = 1024,
    CLI_ACCELERATORS = 2048,
    CLI_SYNTHESIZE = 4096,
    CLI_VSIM = 8192,
    CLI_INVERSE = 16384,
    CLI_SCHUR = 32768,
    CLI_DOCTOR = 65536,
    CLI_SYSTEMS = 131072
};

enum { CLI_WORDS_MAX = 4096, CLI_EXIT_USAGE = 1, CLI_EXIT_FILE = 2 };
enum { CLI_SIGNALLED = 128 };         /* and the number of the signal, as the shell has it */
enum { CLI_MOST_BYTES = 1000000000 }; /* of a file that is written without --force */

/** Options of vsim alone. */
typedef struct cli_vsim {
    const char *matrix, *input, *machine, *set, *warps, *rows, *cols, *slots, *threshold, *orders;
    const char *sort, *csv, *trace_cycles, *max_steps, *masks, *estimate;
    bool print;
} cli_vsim;

/** What the command line says. Strings belong to argv. */
typedef struct cli_args {
    mpk_context *ctx;
    unsigned command;
    const char *name; /* of the sub-command */
    mpk_options options;
    const char *words[CLI_WORDS_MAX]; /* what is not an option */
    int nwords;
    const char *dense;     /* method of a dense solve, "off": none */
    const char *variables; /* of schur */
    const char *values;    /* of systems */
    const char *seconds;   /* of doctor */
    const char *generate, *rhs, *output, *plot, *trace, *perm, *given_blocks, *given_pivots;
    const char *analysis, *factor, *given_tree, *save, *tree;        /* as mpk_job has them */
    const char *strategies, *orderings, *blocks, *levels, *scalar;   /* lists of stats */
    const char *backend;                                             /* of solve */
    const char *size, *jobs, *warps, *kernel, *cells, *units, *draw; /* of accelerators */
    /* of synthesize, with size and output */
    const char *type, *fill, *way, *target, *order, *match, *butterfly, *krylov;
    bool minimum_norm, json, progress, energy, quiet, force, help, all_options, version;
    bool pattern;      /* of inverse */
    uint64_t typed[2]; /* bit k % 64 of word k / 64: mpk_option_at(k) was given */
    cli_vsim vsim;
} cli_args;

/** What follows a flag, and where it goes. */
typedef enum cli_kind {
    CLI_HEADING,      /**< no flag: what stands above those that follow in the help of solve */
    CLI_SWITCH,       /**< nothing: a bool of cli_args */
    CLI_STRING,       /**< a value: a const char * of cli_args */
    CLI_INPUT,        /**< the same: a file that is read */
    CLI_VECTORS,      /**< the same: a file that is written, with right-hand sides */
    CLI_MATRIX,       /**< likewise a matrix */
    CLI_PICTURE,      /**< likewise a picture */
    CLI_TRACE,        /**< likewise a picture or events */
    CLI_EVENTS,       /**< likewise events */
    CLI_SAVED,        /**< likewise an analysis or a factor, in binary */
    CLI_TREE,         /**< likewise an order with its tree */
    CLI_PAGE,         /**< likewise a page for a browser */
    CLI_TABLE,        /**< likewise a table */
    CLI_OPTION,       /**< a value for mpk_options_set() */
    CLI_OPTION_ON,    /**< the same; without =VALUE it means "on" */
    CLI_OPTION_BYTES, /**< the same; the value may end in K, M, G, T or Ki, Mi, ... */
    CLI_OPTION_OFF    /**< nothing: --no-NAME sets NAME to "off" */
} cli_kind;

typedef struct cli_flag {
    const char *name;
    char letter; /* 0: none */
    cli_kind kind;
    unsigned commands; /* that take it */
    size_t offset;     /* of kinds from CLI_SWITCH to CLI_TABLE */
    const char *value; /* name of the value in the help; NULL: none, or it may be left out */
    const char *help;  /* NULL: the text of the table of options */
} cli_flag;

extern const cli_flag cli_flags[]; /* ends with name NULL */
/** The row of the table of options behind a flag, or NULL. */
const mpk_option *cli_flag_option(const cli_flag *flag);

/** Read the options of `command` from argv[0 .. argc-1] (the words after the sub-command).
 *  Returns 0, or the exit code after telling what is wrong. */
int cli_parse(cli_args *args, int argc, char **argv);
/** Were options given that nothing reads? Method auto is ldlt where nothing is solved. Returns 0, or
 *  the exit code after an error message. */
int cli_check_read(const cli_args *args);
/** Print the options of args->command, in at most 100 columns; of solve those under the first
 *  heading alone unless args->all_options, and the names of the others. */
void cli_print_options(const cli_args *args);
/** Print what the words of a report mean. */
void cli_print_report_words(void);
/** Show the manual page of a command, if standard output is a terminal. Returns whether it did. */
bool cli_show_command(const char *command);
/** Show a topic that is no command: a page of docs/ as text, in a pager on a terminal; or a manual
 *  page, by its name or by that of something in the C library. commands [in] names to suggest where
 *  there is no such topic, NULL at the end. Returns 0, or the exit code after an error message. */
int cli_show_topic(const cli_args *args, const char *topic, const char *const *commands);
/** Print which topics there are beside the commands; bare: all, each on a line, and nothing else. */
void cli_print_topics(const char *const *commands, bool bare);

/** Look at all files that the command line names, before any work: outputs have an ending that says
 *  what they become, can be written, and are no input and no other output; one input and one output
 *  is "-" at most. Returns 0, or the exit code after an error message. */
int cli_check_files(const cli_args *args);
/** Does a file go to standard output? Results and reports then do not. */
bool cli_is_piped(const cli_args *args);
/** Where a result as text goes: standard output, unless JSON or a file goes there. */
FILE *cli_result(const cli_args *args);
/** A line for each file that was written, unless args->quiet. */
void cli_tell_written(const cli_args *args, FILE *out);
/** Write a text to the file of an option, as mpk_text_write(). Returns 0 or the exit code after an
 *  error message. */
int cli_write_text(const cli_args *args, const char *path, const char *text, size_t size);
/** The end of a command that wrote to standard output: code, or that for files after a message. */
int cli_flush(const cli_args *args, int code);
/** Print an error of usage to standard error (with --json also to standard output); returns 1. */
int cli_usage_error(const cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** With --json: print an object with the failure alone. */
void cli_print_failure(const cli_args *args, mpk_status status, const char *message);
/** The word of `words` (NULL at the end) nearest to `word`, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *words);

/** Was option k, mpk_option_at(k), typed? */
static inline bool cli_typed(const cli_args *args, int k) {
    return args->typed[k / 64] >> k % 64 & 1;
}
/** The options that were typed and that a solver is to read, as args->typed. */
void cli_asked(const cli_args *args, uint64_t asked[2]);
/** The single matrix of a command: a file, "-" or --generate. Returns 0 or the exit code. */
int cli_matrix(const cli_args *args, mpk_job *job);
struct cli_backend;
/** Is it a file with a matrix as an array, Matrix Market's or NumPy's, uncompressed? */
bool cli_is_array(const char *path);
/** Run a job with progress and interruption, print its report; returns the exit code. there: what
 *  --backend names, or NULL */
int cli_run(const cli_args *args, const mpk_job *job, const struct cli_backend *there);

/** What --backend names: a simulated machine, or nothing where the library has it itself. */
typedef struct cli_backend {
    struct sim_machine *machine;
} cli_backend;

/** Have args->ctx use the machine that --backend names, and set options that it needs where none
 *  were given. Returns 0, or the exit code after an error message. */
int cli_backend_begin(cli_args *args, cli_backend *b);
/** What it did, on standard error: batches, cycles, utilisation, boundaries. */
void cli_backend_tell(const cli_args *args, const cli_backend *b);
/** The object of a run (docs/reference/json.md) with what the machine did as its last member,
 *  `machine`. */
void cli_backend_json(const cli_args *args, const cli_backend *b, const char *run, FILE *out);
void cli_backend_end(cli_args *args, cli_backend *b);

/** All of a file and a NUL, at most 16 MiB; the caller frees it. NULL: errno tells why. */
char *cli_read_text(const char *path);

/** Seconds of a clock that only goes forward. */
double cli_now_s(void);

/** Progress on standard error. */
typedef struct cli_progress {
    bool terminal, always, utf8, drawn;
    double start_s;
    char stage[16];
    double fraction;   /* of the stage, when it was last told */
    int tenth;         /* last tenth printed, without a terminal */
    double deadline_s; /* of cli_now_s(), when calls are to end; 0: none */
    bool late;         /* that is why the last one did */
} cli_progress;

/** Begin; `always`: also in the first two seconds and without a terminal. From now on SIGINT,
 *  SIGTERM and SIGHUP cancel, once; again they end the process. */
void cli_progress_begin(cli_progress *progress, mpk_context *ctx, bool always);
/** Wipe the bar; returns the signal that asked to stop, or 0. */
int cli_progress_end(cli_progress *progress, mpk_context *ctx);

/** The file that is loaded where a device is asked for: METAPACK_CUDA_MODULE, else beside the
 *  library. False: there is none. */
bool cli_cuda_module(char path[PATH_MAX]);

/** The folder of `file`: places[0 .. count-1], from that of the running command. */
bool cli_installed(const char *const *places, int count, const char *file, char folder[PATH_MAX]);
/** In single quotes, so that the shell takes every byte as it is. */
void cli_print_quoted(const char *text);
/** As a string of JSON; bytes that are no UTF-8 become U+FFFD. */
void cli_print_json_string(FILE *out, const char *text);

int cmd_solve(cli_args *args);
int cmd_analyse(cli_args *args);
int cmd_inertia(cli_args *args);
int cmd_inverse(cli_args *args);
int cmd_schur(cli_args *args);
int cmd_systems(cli_args *args);
int cmd_doctor(cli_args *args);
int cmd_info(cli_args *args);
int cmd_generate(cli_args *args);
int cmd_convert(cli_args *args);
int cmd_stats(cli_args *args);
int cmd_bench(cli_args *args);
int cmd_devices(cli_args *args);
int cmd_accelerators(cli_args *args);
int cmd_synthesize(cli_args *args);
int cmd_ipopt_env(cli_args *args);
int cmd_petsc_env(cli_args *args);
int cmd_vsim(cli_args *args);

#endif
