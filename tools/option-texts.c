/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told of the options in files, made from the table of options (src/core/options.c):
 *     option_texts ROOT [--write]
 * compares the parts between the lines "options: begin" and "options: end" of the header, the
 * manual pages, the completion and docs/reference/options.md, or writes them. Exit status 1: they
 * differ. */
#include "cli/cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

static const char *dashed(const char *key, char *out) {
    char *to = out;
    for (; *key; key++) *to++ = *key == '_' ? '-' : *key;
    *to = '\0';
    return out;
}

/* The bits as words of a choice: "ldlt, ildlt". */
static void bits(FILE *out, const char *key, unsigned set) {
    const char *before = "";
    for (int k = 0; k < 31; k++) {
        if (!(set >> k & 1) || !strcmp(mpk_option_word(key, k), "unknown")) continue;
        fprintf(out, "%s%s", before, mpk_option_word(key, k));
        before = ", ";
    }
}

static void value(FILE *out, const mpk_option *o, double x) {
    if (o->count)
        fprintf(out, "%s", o->words[(int)x]);
    else
        fprintf(out, "%.15g", x);
}

/* All that there is to say: sentences. */
static void tell(FILE *out, const mpk_option *o) {
    const char *end = o->text[strlen(o->text) - 1] == '?' ? "" : ".";
    fprintf(out, "%c%s%s", toupper((unsigned char)o->text[0]), o->text + 1, end);
    if (*o->more) fprintf(out, " %s", o->more);
    if (!o->count) {
        fprintf(out, " From %.15g to %.15g", o->least, o->most);
        if (*o->unit) fprintf(out, " %s", o->unit);
        fprintf(out, ".");
    }
    if (!strstr(o->text, "(default)")) {
        fprintf(out, " Default ");
        value(out, o, o->preset);
        fprintf(out, ".");
    }
}

/* Who reads it; nothing where all do. */
static void readers(FILE *out, const mpk_option *o) {
    unsigned all = 0;
    for (int k = 0; strcmp(mpk_option_word("method", k), "unknown"); k++) all |= 1u << k;
    const bool methods = (o->methods & all) != all;
    if (!methods && !o->krylov && !o->schedule) return;
    fprintf(out, "Read ");
    if (methods) {
        fprintf(out, "by method ");
        bits(out, "method", o->methods);
    }
    if (o->krylov) {
        fprintf(out, "%swith krylov ", methods ? ", " : "");
        bits(out, "krylov", o->krylov);
    }
    if (o->schedule) fprintf(out, o->schedule > 0 ? ", by sweeps" : ", but not by sweeps");
    if (o->methods & MPK_READ_DENSE) fprintf(out, ", and of dense matrices");
    fprintf(out, ".");
}

/* Words in lines of at most `width` columns, each after `first`, then `next`; sentences: a line of
 * its own for each. */
static void wrap(FILE *out, const char *first, const char *next, int width, bool sentences,
                 const char *text, const char *last) {
    int column = fprintf(out, "%s", first);
    bool fresh = true, ended = false;
    while (*text) {
        const int length = (int)strcspn(text, " ");
        const bool end = !text[length + (text[length] == ' ')];
        const int more = length + (end ? (int)strlen(last) : 0);
        if (!fresh && (column + 1 + more > width || (sentences && ended))) {
            column = fprintf(out, "\n%s", next) - 1;
            fresh = true;
        }
        column += fprintf(out, "%s%.*s", fresh ? "" : " ", length, text);
        fresh = false;
        ended = text[length - 1] == '.' || text[length - 1] == '?';
        text += length + (text[length] == ' ');
    }
    fprintf(out, "%s\n", last);
}

typedef struct text {
    char *start;
    size_t size;
    FILE *out;
} text;

/* The stream writes to the struct, which must stay where it is. */
static void text_open(text *t) {
    *t = (text){NULL, 0, NULL};
    t->out = open_memstream(&t->start, &t->size);
    if (!t->out) abort();
}

/* No more is written; blanks at the end go. */
static void text_close(text *t) {
    fclose(t->out);
    while (t->size > 0 && t->start[t->size - 1] == ' ') t->start[--t->size] = '\0';
}

/* ---- the header ------------------------------------------------------------------------------ */

static void comment(FILE *out, const char *words) {
    wrap(out, "    /** ", "     *  ", 96, false, words, " */");
}

static void field(FILE *out, const mpk_option *o) {
    static const char *const types[] = {"", "int", "int64_t", "double"};
    text t;
    text_open(&t);
    tell(t.out, o);
    text_close(&t);
    comment(out, t.start);
    free(t.start);
    if (!o->count)
        fprintf(out, "    %s %s;\n", types[o->kind], o->key);
    else if (!strcmp(o->words[0], "off"))
        fprintf(out, "    mpk_switch %s;\n", o->key);
    else
        fprintf(out, "    mpk_%s %s;\n", o->key, o->key);
}

/* Fields that are arrays of the caller's. */
typedef struct given {
    size_t offset;
    const char *key, *text;
} given;

static const given arrays[] = {
    {offsetof(mpk_options, given_perm), "given_perm",
     "Size n, for ordering given: the old index at each new position; borrowed during mpk_analyse "
     "only."},
    {offsetof(mpk_options, given_blocks), "given_blocks",
     "For ordering given or natural, methods on blocks: the position at which each block begins, "
     "from 0 on, increasing, and at last n; no block has more than 128 rows. Borrowed likewise. "
     "NULL: by strategy."},
    {offsetof(mpk_options, given_pivots), "given_pivots",
     "Likewise the position at which each pivot of one or two rows begins, and at last n: these "
     "pairs instead of those of the matching stay together, and are the pivots of pivoting static. "
     "With given_blocks a pivot lies in one block. NULL: by matching."},
};

static void header(FILE *out, const char *name) {
    (void)name;
    size_t last = 0;
    for (;;) { /* in the order of the struct */
        const mpk_option *o, *next = NULL;
        for (int k = 0; (o = mpk_option_at(k)); k++)
            if (o->offset > last && (!next || o->offset < next->offset)) next = o;
        const given *array = NULL;
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
            if (arrays[k].offset > last && (!array || arrays[k].offset < array->offset))
                array = &arrays[k];
        if (array && (!next || array->offset < next->offset)) {
            comment(out, array->text);
            fprintf(out, "    const int32_t *%s;\n", array->key);
            last = array->offset;
            continue;
        }
        if (!next) return;
        field(out, next);
        last = next->offset;
    }
}

/* ---- manual pages ---------------------------------------------------------------------------- */

static unsigned bit_of(const char *command) {
    static const struct {
        const char *name;
        unsigned bit;
    } all[] = {{"solve", CLI_SOLVE},           {"analyse", CLI_ANALYSE},
               {"inertia", CLI_INERTIA},       {"inverse", CLI_INVERSE},
               {"schur", CLI_SCHUR},           {"systems", CLI_SYSTEMS},
               {"doctor", CLI_DOCTOR},         {"info", CLI_INFO},
               {"generate", CLI_GENERATE},     {"stats", CLI_STATS},
               {"convert", CLI_CONVERT},       {"bench", CLI_BENCH},
               {"ipopt-env", CLI_IPOPT},       {"petsc-env", CLI_PETSC},
               {"devices", CLI_DEVICES},       {"accelerators", CLI_ACCELERATORS},
               {"synthesize", CLI_SYNTHESIZE}, {"vsim", CLI_VSIM}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!strcmp(all[k].name, command)) return all[k].bit;
    return 0;
}

static void manual(FILE *out, const char *command) {
    const unsigned bit = bit_of(command);
    for (const cli_flag *f = cli_flags; f->name; f++) {
        const mpk_option *o = cli_flag_option(f);
        if (!o || !(f->commands & bit)) continue;
        if (!strcmp(f->name, "seed") && bit != CLI_BENCH) continue; /* in metapack(1) */
        fprintf(out, ".It Fl -%s", f->name);
        if (f->kind != CLI_OPTION_OFF) {
            fprintf(out, f->kind == CLI_OPTION_ON ? " Ns Op = Ns" : "");
            if (!o->count) fprintf(out, " Ar %s", f->value);
            for (int c = 0; c < o->count; c++)
                fprintf(out, "%s%s", c ? " | " : " Cm ", o->words[c]);
        }
        fprintf(out, "\n");
        text t;
        text_open(&t);
        if (f->help) { /* --no-NAME, or what an option means to this command alone */
            fprintf(t.out, "%c%s.", toupper((unsigned char)f->help[0]), f->help + 1);
        } else {
            tell(t.out, o);
            fprintf(t.out, " ");
            readers(t.out, o);
        }
        text_close(&t);
        wrap(out, "", "", 78, true, t.start, "");
        free(t.start);
    }
}

/* ---- the completion -------------------------------------------------------------------------- */

static const char *const all_commands[] = {
    "solve",   "analyse",      "inertia",    "inverse",   "schur",     "systems",
    "doctor",  "info",         "generate",   "stats",     "convert",   "bench",
    "devices", "accelerators", "synthesize", "ipopt-env", "petsc-env", "vsim"};

static void completion(FILE *out, const char *name) {
    (void)name;
    fprintf(out, "_metapack_options() # COMMAND -> its options\n{\n    case $1 in\n");
    for (size_t k = 0; k < sizeof all_commands / sizeof *all_commands; k++) {
        text t;
        text_open(&t);
        for (const cli_flag *f = cli_flags; f->name; f++)
            if (f->commands & bit_of(all_commands[k])) fprintf(t.out, "--%s ", f->name);
        text_close(&t);
        fprintf(out, "        %s%s)\n", all_commands[k], k == 1 ? " | analyze" : "");
        wrap(out, "            echo '", "                ", 96, false, t.start, "' ;;");
        free(t.start);
    }
    fprintf(out, "    esac\n}\n\n_metapack_words() # OPTION -> the words it takes, or nothing\n{\n"
                 "    case $1 in\n");
    const mpk_option *o;
    char key[64];
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        if (!o->count) continue;
        fprintf(out, "        --%s) echo '", dashed(o->key, key));
        for (int c = 0; c < o->count; c++) fprintf(out, "%s%s", c ? " " : "", o->words[c]);
        fprintf(out, "' ;;\n");
    }
    fprintf(out, "    esac\n}\n\n_metapack_optional() # OPTION: may its value be left out?\n{\n"
                 "    case $1 in\n        ");
    const char *before = "";
    for (const cli_flag *f = cli_flags; f->name; f++)
        if (f->kind == CLI_OPTION_ON) {
            fprintf(out, "%s--%s", before, f->name);
            before = " | ";
        }
    fprintf(out, ") return 0 ;;\n        *) return 1 ;;\n    esac\n}\n\n"
                 "_metapack_number() # OPTION: is its value a number?\n{\n    case $1 in\n");
    int column = 0;
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        if (o->count) continue;
        if (column > 70) column = 0 * fprintf(out, ") return 0 ;;\n");
        column += fprintf(out, "%s--%s", column ? " | " : "        ", dashed(o->key, key));
    }
    fprintf(out, ") return 0 ;;\n        *) return 1 ;;\n    esac\n}\n");
}

/* ---- zsh and fish ---------------------------------------------------------------------------- */

enum { COMMANDS = sizeof all_commands / sizeof *all_commands };

/* The sentence of a flag up to its first stop, without what shells and _arguments read. */
static void sentence(FILE *out, const cli_flag *f) {
    const mpk_option *o = cli_flag_option(f);
    const char *p = f->help ? f->help : o ? o->text : "";
    for (; *p && *p != ';' && *p != ':' && *p != '\''; p++)
        fputc(*p == '[' ? '(' : *p == ']' ? ')' : *p == '"' ? ' ' : *p, out);
}

/* Does the value name a file, or the folder of synthesize? */
static bool takes_file(const cli_flag *f) {
    return (f->kind >= CLI_INPUT && f->kind <= CLI_TABLE) || !strcmp(f->name, "output");
}

static void words_of(FILE *out, const cli_flag *f) {
    const mpk_option *o = cli_flag_option(f);
    for (int c = 0; o && f->kind != CLI_OPTION_OFF && c < o->count; c++)
        fprintf(out, "%s%s", c ? " " : "", o->words[c]);
}

static bool has_words(const cli_flag *f) {
    const mpk_option *o = cli_flag_option(f);
    return o && o->count > 0 && f->kind != CLI_OPTION_OFF;
}

/* '--level=[of fill]:K:' as _arguments of zsh reads it; '-b+' takes its value as the next word. */
static void zsh_flag(FILE *out, const cli_flag *f, bool letter) {
    const bool optional = f->kind == CLI_OPTION_ON;
    const bool value = f->kind != CLI_SWITCH && f->kind != CLI_OPTION_OFF;
    fprintf(out, "                '");
    if (letter)
        fprintf(out, "-%c%s[", f->letter, value ? "+" : "");
    else
        fprintf(out, "--%s%s[", f->name, optional ? "=-" : value ? "=" : "");
    sentence(out, f);
    fprintf(out, "]");
    if (value) {
        fprintf(out, "%s%s:", optional ? "::" : ":", f->value ? f->value : "WHEN");
        if (takes_file(f)) fprintf(out, "_files");
        if (has_words(f)) {
            fprintf(out, "(");
            words_of(out, f);
            fprintf(out, ")");
        }
    }
    fprintf(out, "'\n");
}

static void zsh(FILE *out, const char *name) {
    (void)name;
    fprintf(out, "_metapack_specs() # COMMAND: its options as _arguments takes them\n{\n"
                 "    case $1 in\n");
    for (int k = 0; k < COMMANDS; k++) {
        fprintf(out, "        %s%s)\n            specs=(\n", all_commands[k],
                k == 1 ? " | analyze" : "");
        for (const cli_flag *f = cli_flags; f->name; f++) {
            if (!(f->commands & bit_of(all_commands[k]))) continue;
            zsh_flag(out, f, false);
            if (f->letter) zsh_flag(out, f, true);
        }
        fprintf(out, "            ) ;;\n");
    }
    fprintf(out, "    esac\n}\n");
}

static void fish(FILE *out, const char *name) {
    (void)name;
    for (const cli_flag *f = cli_flags; f->name; f++) {
        const bool value = f->kind != CLI_SWITCH && f->kind != CLI_OPTION_OFF;
        if (f->kind == CLI_HEADING) continue;
        fprintf(out, "complete -c metapack -n '__fish_seen_subcommand_from");
        for (int k = 0; k < COMMANDS; k++)
            if (f->commands & bit_of(all_commands[k])) fprintf(out, " %s", all_commands[k]);
        fprintf(out, "' -l %s", f->name);
        if (f->letter) fprintf(out, " -s %c", f->letter);
        if (value && f->kind != CLI_OPTION_ON) fprintf(out, takes_file(f) ? " -r -F" : " -x");
        if (has_words(f)) {
            fprintf(out, " -a '");
            words_of(out, f);
            fprintf(out, "'");
        }
        fprintf(out, " -d '");
        sentence(out, f);
        fprintf(out, "'\n");
    }
}

/* ---- docs/reference/options.md --------------------------------------------------------------- */

static void cell(FILE *out, const char *words) {
    for (; *words; words++) {
        if (*words == '|') fputc('\\', out);
        fputc(*words, out);
    }
}

static void markdown(FILE *out, const char *name) {
    const mpk_option *o;
    (void)name;
    fprintf(out, "| option | values | default | what, and who reads it |\n|---|---|---|---|\n");
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        fprintf(out, "| `%s` | ", o->key);
        for (int c = 0; c < o->count; c++) fprintf(out, "%s`%s`", c ? " " : "", o->words[c]);
        if (!o->count) fprintf(out, "%.15g … %.15g %s", o->least, o->most, o->unit);
        fprintf(out, " | ");
        value(out, o, o->preset);
        fprintf(out, " | ");
        text t;
        text_open(&t);
        fprintf(t.out, "%c%s%s %s%s", toupper((unsigned char)o->text[0]), o->text + 1,
                o->text[strlen(o->text) - 1] == '?' ? "" : ".", o->more, *o->more ? " " : "");
        readers(t.out, o);
        text_close(&t);
        cell(out, t.start);
        free(t.start);
        fprintf(out, " |\n");
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    text t;
    text_open(&t);
    for (int c; file && (c = getc(file)) != EOF;) putc(c, t.out);
    if (file) fclose(file);
    text_close(&t);
    return t.start;
}

/* The line after the one that has `mark`, the line itself, or NULL. */
static char *line_of(char *in, const char *mark, bool after) {
    char *at = strstr(in, mark);
    if (!at) return NULL;
    if (after) return at + strcspn(at, "\n") + 1;
    while (at > in && at[-1] != '\n') at--;
    return at;
}

static bool part(const char *root, const char *path, const char *name,
                 void (*make)(FILE *, const char *), bool write) {
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    char *now = read_file(whole), *begin = line_of(now, "options: begin", true);
    char *end = begin ? line_of(begin, "options: end", false) : NULL;
    bool same = false;
    if (!end) {
        fprintf(stderr, "%s: no lines \"options: begin\" and \"options: end\"\n", path);
        free(now);
        return false;
    }
    text t;
    text_open(&t);
    make(t.out, name);
    text_close(&t);
    same = t.size == (size_t)(end - begin) && !memcmp(t.start, begin, t.size);
    if (!same && write) {
        FILE *file = fopen(whole, "wb");
        same = file && fwrite(now, 1, (size_t)(begin - now), file) == (size_t)(begin - now) &&
               fwrite(t.start, 1, t.size, file) == t.size && fputs(end, file) >= 0;
        same = file && fclose(file) == 0 && same;
        printf("%s: written\n", path);
    } else if (!same) {
        const char *a = begin, *b = t.start;
        while (a < end && *a == *b) a++, b++;
        while (a > begin && a[-1] != '\n') a--, b--;
        fprintf(
            stderr,
            "%s differs from the table of options:\n  it says       %.*s\n  the table has %.*s\n",
            path, (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
    }
    free(t.start);
    free(now);
    return same;
}

int main(int argc, char **argv) {
    static const char *const pages[] = {"solve",   "analyse", "inertia", "inverse", "schur",
                                        "systems", "doctor",  "stats",   "bench"};
    const bool write = argc == 3 && !strcmp(argv[2], "--write");
    if (argc < 2 || (argc > 2 && !write)) {
        fprintf(stderr, "usage: option_texts ROOT [--write]\n");
        return 2;
    }
    bool good = part(argv[1], "include/metapack/options.h", NULL, header, write);
    for (size_t k = 0; k < sizeof pages / sizeof *pages; k++) {
        char path[64];
        snprintf(path, sizeof path, "man/metapack-%s.1", pages[k]);
        good &= part(argv[1], path, pages[k], manual, write);
    }
    good &= part(argv[1], "completions/metapack.bash", NULL, completion, write);
    good &= part(argv[1], "completions/metapack.zsh", NULL, zsh, write);
    good &= part(argv[1], "completions/metapack.fish", NULL, fish, write);
    good &= part(argv[1], "docs/reference/options.md", NULL, markdown, write);
    if (!good) fprintf(stderr, "option_texts %s --write puts that right\n", argv[1]);
    return !good;
}
