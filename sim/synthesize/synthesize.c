/* SPDX-License-Identifier: BSD-3-Clause */
/* The description checked, templates filled in, kernels compiled, files written. */
#include "sim/synthesize/synthesize.h"
#include "sim/synthesize/texts.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRONG = 1, FILES = 2, MEMORY = 6, MOST_BLOCK = 64, MOST_LEVEL = 1000, STAGES = 20 };

enum { LDLT, LLT, LDU };
static const char *const types[] = {"ldlt", "llt", "ldu", NULL};
static const char *const pivotings[] = {"none", "inner", "outer", "both", NULL};
static const char *const targets[] = {"c", "hls", "cuda", NULL};
static const char *const orderings[] = {"rcm", "amd", "nd", NULL};
static const char *const switches[] = {"off", "on", NULL};
static const char *const krylovs[] = {"none", "sqmr", "gmres", NULL};

typedef struct writer {
    const sim_description *d;
    const char *folder, *suffix;
    long level;
    int type, pivoting, ordering, matching, butterfly, krylov; /* numbers of their words */
    char *text;
    borg_arena arena;
    struct {
        const char *name, *content;
        size_t length;
        bool written;
    } file[SIM_SYNTHESIZE_FILES];
    int files;
    bool made; /* the folder */
} writer;

sim_description sim_description_default(const char *type) {
    const bool llt = strcmp(type, "llt") == 0, ldu = strcmp(type, "ldu") == 0;
    return (sim_description){.type = type,
                             .fill = "full",
                             .pivoting = llt ? "none" : "both",
                             .target = "c",
                             .block = 8,
                             .ordering = "amd",
                             .matching = llt ? "off" : "on",
                             .butterfly = llt ? "off" : "on",
                             .krylov = ldu ? "gmres" : "sqmr"};
}

static int wrong(writer *w, const char *what, const char *value, const char *want) {
    snprintf(w->text, SIM_SYNTHESIZE_TEXT, "--%s %s: expected %s", what, value, want);
    return WRONG;
}

/* The number of a word; -1: it is none of them, which is said. */
static int word(writer *w, const char *what, const char *value, const char *const *words) {
    char want[80] = "";
    for (int k = 0; words[k]; ++k) {
        if (strcmp(words[k], value) == 0) return k;
        strcat(strcat(want, k == 0 ? "" : words[k + 1] ? ", " : " or "), words[k]);
    }
    wrong(w, what, value, want);
    return -1;
}

static int check_fill(writer *w) {
    const char *fill = w->d->fill;
    char *rest = NULL;
    w->level = -1;
    if (strcmp(fill, "full") == 0) return 0;
    if (strncmp(fill, "level:", 6) == 0) w->level = strtol(fill + 6, &rest, 10);
    if (w->level < 0 || w->level > MOST_LEVEL || *rest || rest == fill + 6)
        return wrong(w, "fill", fill, "full or level:K, K from 0 to 1000");
    return 0;
}

/* What the words do not go together with. */
static int check_pairs(writer *w) {
    const sim_description *d = w->d;
    if (w->type == LLT && w->pivoting)
        return wrong(w, "pivoting", d->pivoting, "none with --type llt, which needs no pivoting");
    if (w->type == LLT && w->matching)
        return wrong(w, "matching", d->matching, "off with --type llt, whose diagonal is large");
    if (w->butterfly && w->pivoting < 2)
        return w->type == LLT
                   ? wrong(w, "butterfly", d->butterfly, "off with --type llt")
                   : wrong(w, "butterfly", d->butterfly,
                           "off without outer pivoting: rejected blocks are transformed");
    if (w->type == LDU && w->krylov == 1)
        return wrong(w, "krylov", d->krylov, "none or gmres with --type ldu: sqmr is symmetric");
    return 0;
}

/* Every operation of a block is written out. */
static int check_block(writer *w) {
    const sim_description *d = w->d;
    const bool inner = w->pivoting & 1, hls = strcmp(d->target, "hls") == 0;
    const int most = !inner ? MOST_BLOCK : hls ? MOST_BLOCK / 8 : MOST_BLOCK / 4;
    if (d->block >= 1 && d->block <= most) return 0;
    return wrong(w, "block", borg_format(&w->arena, "%d", d->block),
                 borg_format(&w->arena, "1 to %d%s; every operation of a block is written out",
                             most,
                             !inner ? ""
                             : hls  ? " with inner pivoting and target hls"
                                    : " with inner pivoting"));
}

static int check(writer *w) {
    const sim_description *d = w->d;
    if ((w->type = word(w, "type", d->type, types)) < 0 ||
        (w->pivoting = word(w, "pivoting", d->pivoting, pivotings)) < 0 ||
        (w->ordering = word(w, "ordering", d->ordering, orderings)) < 0 ||
        (w->matching = word(w, "matching", d->matching, switches)) < 0 ||
        (w->butterfly = word(w, "butterfly", d->butterfly, switches)) < 0 ||
        (w->krylov = word(w, "krylov", d->krylov, krylovs)) < 0 ||
        word(w, "target", d->target, targets) < 0)
        return WRONG;
    w->suffix = strcmp(d->target, "cuda") == 0 ? "cu" : "c";
    int code = check_fill(w);
    if (!code) code = check_pairs(w);
    return code ? code : check_block(w);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *number(writer *w, long value) {
    return borg_format(&w->arena, "%ld", value);
}

static const char *value_of(writer *w, const char *name, size_t length) {
    static const char *const formulas[] = {"L D L^T", "L L^T", "L D U"};
    const sim_description *d = w->d;
    const struct {
        const char *name, *value;
    } list[] = {
        {"TYPE", number(w, w->type)},
        {"BLOCK", number(w, d->block)},
        {"LEVEL", number(w, w->level)},
        {"STAGES", number(w, w->pivoting & 2 ? STAGES : 1)},
        {"PIVOTING", number(w, w->pivoting & 1)},
        {"ORDERING", number(w, w->ordering)},
        {"MATCHING", number(w, w->matching)},
        {"BUTTERFLY", number(w, w->butterfly)},
        {"KRYLOV", number(w, w->krylov)},
        {"TARGET", d->target},
        {"SUFFIX", w->suffix},
        {"DESCRIPTION",
         borg_format(&w->arena,
                     "%s, fill %s, pivoting %s,\n * blocks of %d rows, ordering %s, matching %s, "
                     "butterfly %s, krylov %s, kernels in %s",
                     formulas[w->type], d->fill, d->pivoting, d->block, d->ordering, d->matching,
                     d->butterfly, d->krylov, d->target)},
        {"RULE", *w->suffix == 'c' && w->suffix[1] == 0
                     ? "\t$(CC) $(CFLAGS) $(FLAGS) -o $@ $(HOST) kernels.c -lm"
                     : "\t$(CC) $(CFLAGS) $(FLAGS) -c $(HOST)\n\t$(NVCC) $(NVFLAGS) -fmad=false "
                       "-o $@ $(HOST:.c=.o) kernels.cu -lm"}};
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k)
        if (strlen(list[k].name) == length && memcmp(list[k].name, name, length) == 0)
            return list[k].value;
    return NULL;
}

static const struct {
    const char *name, *text;
} templates[] = {{"solver.h", sim_template_solver_h}, {"parts.h", sim_template_parts_h},
                 {"solver.c", sim_template_solver_c}, {"values.c", sim_template_values_c},
                 {"match.c", sim_template_match_c},   {"order.c", sim_template_order_c},
                 {"dense.c", sim_template_dense_c},   {"solve.c", sim_template_solve_c},
                 {"main.c", sim_template_main_c},     {"Makefile", sim_template_makefile}};

/* A template with what stands between XX_ and _XX filled in. */
static void fill_in(writer *w, const char *text, borg_sink *out) {
    for (const char *at; (at = strstr(text, "XX_"));) {
        const char *end = strstr(at + 3, "_XX");
        const char *value = end ? value_of(w, at + 3, (size_t)(end - at - 3)) : NULL;
        borg_put_text(out, text, (size_t)(at - text));
        borg_put(out, "%s", value ? value : "XX_");
        text = value ? end + 3 : at + 3;
    }
    borg_put(out, "%s", text);
}

static void add_file(writer *w, const char *name, const borg_sink *out) {
    w->file[w->files].name = name;
    w->file[w->files].content = out->text ? out->text : "";
    w->file[w->files++].length = out->length;
}

static void add_template(writer *w, const char *name, const char *text) {
    borg_sink out = {.arena = &w->arena};
    fill_in(w, text, &out);
    add_file(w, name, &out);
}

/* How the emitted kernels of a GPU want to be launched: their comments, as constants. */
static void put_launches(const char *text, borg_sink *out) {
    static const char *const names[] = {"factorize", "solve", "downdate"};
    for (int k = 0; k < 3; ++k) {
        int threads = 0, groups = 0, used = 0;
        /* the comment stands in front of its kernel */
        for (const char *at = text; (at = strstr(at, "borg-launch:")); ++at) {
            if (sscanf(at, "borg-launch: threads=%d groups=%d", &threads, &groups) != 2) continue;
            const char *kernel = strstr(at, "B_KERNEL");
            const char *next = strstr(at + 1, "borg-launch:");
            const char *name = kernel ? strstr(kernel, names[k]) : NULL;
            if (!name || (next && name > next)) continue;
            used = 1;
            break;
        }
        if (used)
            borg_put(out, "enum { %s_threads = %d, %s_groups = %d };\n", names[k], threads,
                     names[k], groups);
    }
}

static int add_kernels(writer *w) {
    borg_program *p = NULL;
    const char *text = NULL;
    size_t length = 0;
    const borg_backend *backend = borg_backend_find(w->d->target);
    const borg_options o = {
        .size = w->d->block, .strict = true, .backend = backend, .order = BORG_ORDER_AUTO};
    borg_sink source = {.arena = &w->arena};
    borg_put(&source, "#define TYPE %d\n#define PIVOTING %d\n#define MASKED %d\n#line 1\n%s",
             w->type, w->pivoting & 1, strcmp(w->d->target, "hls") == 0, sim_template_blocks_cl);
    borg_status status = borg_compile("blocks.cl", source.text, source.length, &o, NULL, &p);
    if (status == BORG_OK) status = borg_program_emit(p, backend, &o, &text, &length);
    int code = status == BORG_OK ? 0 : p && status != BORG_ERR_MEMORY ? WRONG : MEMORY;
    if (code) {
        snprintf(w->text, SIM_SYNTHESIZE_TEXT, "%s", p ? borg_program_messages(p) : "no memory");
    } else {
        borg_sink out = {.arena = &w->arena};
        const bool cuda = *w->suffix == 'c' && w->suffix[1] == 'u';
        if (cuda) /* kernels around them are in the template */
            borg_put(&out, "#define B_KERNEL(threads, lanes) static __device__ "
                           "__forceinline__ void\n");
        borg_put_text(&out, text, length);
        if (cuda) put_launches(text, &out);
        fill_in(w, cuda ? sim_template_run_cu : sim_template_run_c, &out);
        add_file(w, cuda ? "kernels.cu" : "kernels.c", &out);
    }
    borg_program_free(p);
    return code;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int file_error(writer *w, const char *path) {
    snprintf(w->text, SIM_SYNTHESIZE_TEXT, "cannot write %s: %s", path, strerror(errno));
    return FILES;
}

static const char *path_of(writer *w, int k) {
    return borg_format(&w->arena, "%s/%s", w->folder, w->file[k].name);
}

static int write_files(writer *w) {
    w->made = mkdir(w->folder, 0777) == 0;
    if (!w->made && errno != EEXIST) return file_error(w, w->folder);
    for (int k = 0; k < w->files; ++k) {
        const int fd = open(path_of(w, k), O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd < 0) return file_error(w, path_of(w, k));
        w->file[k].written = true;
        size_t done = 0;
        while (done < w->file[k].length) {
            const ssize_t got = write(fd, w->file[k].content + done, w->file[k].length - done);
            if (got < 0) break;
            done += (size_t)got;
        }
        const int error = done < w->file[k].length ? errno : 0;
        if (close(fd) != 0 || error) {
            if (error) errno = error;
            return file_error(w, path_of(w, k));
        }
    }
    return 0;
}

static void take_back(writer *w) {
    for (int k = 0; k < w->files; ++k)
        if (w->file[k].written) unlink(path_of(w, k));
    if (w->made) rmdir(w->folder);
}

int sim_synthesize(const sim_description *d, const char *folder, char *text) {
    writer w = {.d = d, .folder = folder, .text = text};
    volatile int code = MEMORY;
    *text = 0;
    borg_arena_init(&w.arena, NULL, 0);
    if (setjmp(w.arena.oom)) {
        borg_arena_free(&w.arena);
        snprintf(text, SIM_SYNTHESIZE_TEXT, "no memory");
        return MEMORY;
    }
    code = check(&w);
    if (!code) code = add_kernels(&w);
    if (!code) {
        for (size_t k = 0; k < sizeof templates / sizeof *templates; ++k)
            add_template(&w, templates[k].name, templates[k].text);
        code = write_files(&w);
        if (code) take_back(&w);
    }
    borg_arena_free(&w.arena);
    return code;
}
