/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a command line names, whatever the command: what they may be called, that no output
 * takes the place of an input; and all of one as text. */
#define _GNU_SOURCE
#include "cli.h"
#include "core/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MOST = 32 };

typedef struct named {
    const char *path, *what; /* "--plot", or what a word is */
    cli_kind kind;
} named;

typedef struct files {
    named in[MOST], out[MOST];
    int ins, outs;
} files;

static bool is_output(cli_kind kind) {
    return kind >= CLI_VECTORS && kind <= CLI_TABLE;
}

static void add(files *f, cli_kind kind, const char *what, const char *path) {
    if (!path) return;
    if (is_output(kind) && f->outs < MOST) f->out[f->outs++] = (named){path, what, kind};
    if (kind == CLI_INPUT && f->ins < MOST) f->in[f->ins++] = (named){path, what, kind};
}

/* Inputs first by words, then all by options. */
static void gather(const cli_args *args, files *f) {
    const unsigned matrix = CLI_SOLVE | CLI_ANALYSE | CLI_INERTIA | CLI_INVERSE | CLI_SCHUR |
                            CLI_SYSTEMS | CLI_DOCTOR | CLI_INFO | CLI_STATS | CLI_CONVERT;
    static const char pipe[] = "pipe:";
    *f = (files){.ins = 0};
    if (args->command & (matrix | CLI_VSIM | CLI_ACCELERATORS) && args->nwords && !args->generate)
        for (int k = 0; k < (args->command == CLI_SYSTEMS ? args->nwords : 1); k++)
            add(f, CLI_INPUT, args->command & matrix ? "the matrix" : "the kernel", args->words[k]);
    if (args->command == CLI_VSIM && args->generate && args->nwords)
        add(f, CLI_INPUT, "the kernel", args->words[0]);
    const int target = args->generate ? 0 : 1;
    if (args->command == CLI_CONVERT && !args->output && args->nwords == target + 1)
        add(f, CLI_MATRIX, "the target", args->words[target]);
    if (args->command == CLI_GENERATE && !args->output) add(f, CLI_MATRIX, "--output", "-");
    if (args->backend && !strncmp(args->backend, pipe, strlen(pipe)))
        add(f, CLI_INPUT, "--backend", args->backend + strlen(pipe));
    for (const cli_flag *flag = cli_flags; flag->name; flag++)
        if (flag->commands & args->command && flag->kind >= CLI_INPUT && flag->kind <= CLI_TABLE)
            add(f, flag->kind, flag->name,
                *(const char *const *)((const char *)args + flag->offset));
}

/* "--plot p.svg", "the matrix A.mtx" */
static const char *call(const named *n, char out[320]) {
    const bool option = !strchr(n->what, ' ') && n->what[0] != '-';
    snprintf(out, 320, "%s%s %.280s", option ? "--" : "", n->what, n->path);
    return out;
}

/* ---- endings --------------------------------------------------------------------------------- */

/* What a file of each kind may end in, the first where a name has no ending. */
static const struct {
    cli_kind kind;
    const char *noun, *endings[10];
} kinds[] = {
    {CLI_VECTORS, "a solution", {".mtx", ".mtx.gz", ".mtx.xz", ".npy", ".npy.gz", ".npy.xz"}},
    {CLI_MATRIX,
     "a matrix",
     {".mtx", ".mtx.gz", ".mtx.xz", ".rb", ".rb.gz", ".rb.xz", ".npy", ".npy.gz", ".npy.xz"}},
    {CLI_PICTURE, "a picture", {".svg", ".svg.gz", ".svg.xz", ".png", ".pdf"}},
    {CLI_TRACE,
     "a trace",
     {".json", ".json.gz", ".json.xz", ".svg", ".svg.gz", ".svg.xz", ".png", ".pdf"}},
    {CLI_EVENTS, "a trace of cycles", {".json", ".json.gz", ".json.xz"}},
    {CLI_TREE, "a tree", {".txt", ".txt.gz", ".txt.xz"}},
    {CLI_PAGE, "a page", {".html", ".html.gz", ".html.xz"}},
    {CLI_TABLE, "a table", {".csv", ".csv.gz", ".csv.xz"}}};
enum { KINDS = sizeof kinds / sizeof *kinds, ENDINGS = 10 };

static const char *const *endings_of(cli_kind kind, const char **noun) {
    int k = 0;
    while (k < KINDS - 1 && kinds[k].kind != kind) k++;
    *noun = kinds[k].noun;
    return kinds[k].endings;
}

static bool ends(const char *name, const char *ending) {
    const size_t length = strlen(name), tail = strlen(ending);
    return length > tail && !strcasecmp(name + length - tail, ending);
}

static bool known_ending(const named *n) {
    const char *noun, *slash = strrchr(n->path, '/'), *name = slash ? slash + 1 : n->path;
    const char *const *endings = endings_of(n->kind, &noun);
    struct stat info;
    if (n->kind == CLI_SAVED) return true; /* there is one format, by any name */
    if (!strcmp(n->path, "-") || (!stat(n->path, &info) && !S_ISREG(info.st_mode))) return true;
    for (int e = 0; e < ENDINGS && endings[e]; e++)
        if (ends(name, endings[e])) return true;
    size_t length = strlen(name);
    if (ends(name, ".gz") || ends(name, ".xz")) length -= strlen(".gz");
    const bool has_ending = length > 1 && memchr(name + 1, '.', length - 1);
    return !has_ending && n->kind != CLI_MATRIX; /* that has two formats */
}

static int refuse_ending(const cli_args *args, const named *n) {
    char who[320], list[160] = "";
    const char *noun;
    const char *const *endings = endings_of(n->kind, &noun);
    const bool entries = args->command == CLI_INVERSE && n->kind == CLI_VECTORS;
    const int count = entries && args->pattern ? 3 : ENDINGS; /* no .npy */
    if (entries) noun = args->pattern ? "a matrix of entries" : "a diagonal";
    for (int e = 0; e < count && endings[e]; e++)
        strcat(strcat(list, !e ? "" : e + 1 < count && endings[e + 1] ? ", " : " or "), endings[e]);
    return cli_usage_error(args, "%s: the name says no format: %s is written as %s", call(n, who),
                           noun, list);
}

/* ---- before any work ------------------------------------------------------------------------- */

static int check_output(const cli_args *args, const files *f, int k) {
    char one[320], two[320], why[400];
    const named *n = &f->out[k];
    if (!known_ending(n)) return refuse_ending(args, n);
    if (n->kind == CLI_SAVED && !strcmp(n->path, "-"))
        return cli_usage_error(args, "%s: what is saved goes to a file, not to standard output",
                               call(n, one));
    for (int i = 0; i < f->ins; i++)
        if (mpki_output_same(n->path, f->in[i].path, true))
            return cli_usage_error(args, "%s is %s, which is read: it is not written over",
                                   call(n, one), call(&f->in[i], two));
    for (int i = 0; i < k; i++)
        if (mpki_output_same(n->path, f->out[i].path, false))
            return cli_usage_error(args, "%s and %s are one file: it cannot be both",
                                   call(&f->out[i], one), call(n, two));
    if (!mpki_output_look(n->path, why, sizeof why)) return 0;
    fprintf(stderr, "metapack %s: %s: %s\n", args->name, n->path, why);
    snprintf(one, sizeof one, "%.100s: %.200s", n->path, why);
    cli_print_failure(args, MPK_ERR_FILE, one);
    return CLI_EXIT_FILE;
}

int cli_check_files(const cli_args *args) {
    files f;
    char one[320], two[320];
    const named *input = NULL;
    gather(args, &f);
    if (args->force && f.outs == 0)
        return cli_usage_error(args, "option --force is read where a file is written: -o FILE");
    for (int k = 0; k < f.ins; k++) {
        if (mpki_output_same("-", f.in[k].path, true))
            return cli_usage_error(args, "standard output is %s, which is read",
                                   call(&f.in[k], one));
        if (strcmp(f.in[k].path, "-")) continue;
        if (input)
            return cli_usage_error(args, "standard input cannot be both %s and %s",
                                   call(input, one), call(&f.in[k], two));
        input = &f.in[k];
    }
    for (int k = 0; k < f.outs; k++) {
        const int code = check_output(args, &f, k);
        if (code) return code;
        if (args->json && !strcmp(f.out[k].path, "-"))
            return cli_usage_error(args,
                                   "standard output cannot take both --json and the data: -o FILE");
    }
    return 0;
}

/* ---- after it -------------------------------------------------------------------------------- */

bool cli_is_piped(const cli_args *args) {
    files f;
    gather(args, &f);
    for (int k = 0; k < f.outs; k++)
        if (mpki_output_same("-", f.out[k].path, false)) return true;
    return false;
}

FILE *cli_result(const cli_args *args) {
    return args->json || cli_is_piped(args) ? stderr : stdout;
}

void cli_tell_written(const cli_args *args, FILE *out) {
    files f;
    gather(args, &f);
    for (int k = 0; k < f.outs && !args->quiet; k++)
        if (strcmp(f.out[k].path, "-")) fprintf(out, "%-13s %s\n", "Written", f.out[k].path);
}

int cli_write_text(const cli_args *args, const char *path, const char *text, size_t size) {
    const char *why;
    const mpk_status status = mpk_text_write(args->ctx, path, text, (int64_t)size);
    if (!mpk_failed(status)) return 0;
    mpk_last_error(args->ctx, NULL, NULL, &why);
    fprintf(stderr, "metapack %s: %s\n", args->name, why);
    cli_print_failure(args, status, why);
    return mpk_exit_code(status);
}

int cli_flush(const cli_args *args, int code) {
    if (!fflush(stdout) && !ferror(stdout)) return code;
    fprintf(stderr, "metapack%s%s: standard output cannot be written\n", args->name ? " " : "",
            args->name ? args->name : "");
    return code ? code : CLI_EXIT_FILE;
}

char *cli_read_text(const char *path) {
    enum { MOST = 16 << 20, CHUNK = 1 << 16 };
    FILE *f = fopen(path, "rb");
    size_t count = 0, room = CHUNK, got = 1;
    char *text = f ? malloc(room + 1) : NULL;
    while (text && got) {
        got = fread(text + count, 1, room - count, f);
        count += got;
        if (count < room) continue;
        char *more = room < MOST ? realloc(text, 2 * room + 1) : NULL;
        if (!more) {
            errno = room < MOST ? ENOMEM : EFBIG;
            free(text);
        }
        text = more;
        room *= 2;
    }
    const bool bad = text && ferror(f);
    const int error = errno;
    if (f) fclose(f);
    errno = error;
    if (bad) {
        free(text);
        return NULL;
    }
    if (text) text[count] = 0;
    return text;
}

bool cli_is_array(const char *path) {
    char line[128] = "";
    struct stat there;
    if (!path || !strcmp(path, "-")) return false;
    if (stat(path, &there) || !S_ISREG(there.st_mode)) return false; /* a pipe is read once */
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool array = fgets(line, sizeof line, file) &&
                       (!strncmp(line, "\x93NUMPY", 6) ||
                        (!strncmp(line, "%%MatrixMarket", 14) && strstr(line, " array ") != NULL));
    fclose(file);
    return array;
}
