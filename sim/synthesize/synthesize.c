/* SPDX-License-Identifier: BSD-3-Clause */
/* The description checked, templates filled in, kernels compiled, files written. */
#include "sim/synthesize/synthesize.h"
#include "sim/accelerator/texts.h"
#include "sim/synthesize/texts.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRONG = 1, FILES = 2, MEMORY = 6, MOST_BLOCK = 64, MOST_LEVEL = 1000 };

typedef struct writer {
    const sim_description *d;
    const char *folder, *suffix;
    long level;
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

static int wrong(writer *w, const char *what, const char *value, const char *want) {
    snprintf(w->text, SIM_SYNTHESIZE_TEXT, "--%s %s: expected %s", what, value, want);
    return WRONG;
}

static int check(writer *w) {
    const sim_description *d = w->d;
    char *rest = NULL;
    if (strcmp(d->type, "ldlt") != 0)
        return wrong(w, "type", d->type, "ldlt; kernels for llt and ldu are not written yet");
    if (strcmp(d->fill, "full") == 0) {
        w->level = -1;
    } else {
        w->level = strncmp(d->fill, "level:", 6) == 0 ? strtol(d->fill + 6, &rest, 10) : -1;
        if (w->level < 0 || w->level > MOST_LEVEL || *rest || rest == d->fill + 6)
            return wrong(w, "fill", d->fill, "full or level:K, K from 0 to 1000");
    }
    if (strcmp(d->pivoting, "inner") == 0)
        return wrong(
            w, "pivoting", d->pivoting,
            "none or outer: inner pivoting moves rows by indices that are known at run time "
            "alone, which kernels with static control flow cannot; outer stages do without");
    if (strcmp(d->pivoting, "none") != 0 && strcmp(d->pivoting, "outer") != 0)
        return wrong(w, "pivoting", d->pivoting, "none or outer");
    if (strcmp(d->target, "c") != 0 && strcmp(d->target, "hls") != 0 &&
        strcmp(d->target, "cuda") != 0)
        return wrong(w, "target", d->target, "c, hls or cuda");
    w->suffix = strcmp(d->target, "cuda") == 0 ? "cu" : "c";
    if (d->block >= 1 && d->block <= MOST_BLOCK) return 0;
    return wrong(w, "block", borg_format(&w->arena, "%d", d->block),
                 "1 to 64; 32 is much, every operation of a block is written out");
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *value_of(writer *w, const char *name, size_t length) {
    const sim_description *d = w->d;
    const struct {
        const char *name, *value;
    } list[] = {
        {"BLOCK", borg_format(&w->arena, "%d", d->block)},
        {"LEVEL", borg_format(&w->arena, "%ld", w->level)},
        {"STAGES", strcmp(d->pivoting, "none") == 0 ? "1" : "20"},
        {"TARGET", d->target},
        {"SUFFIX", w->suffix},
        {"DESCRIPTION",
         borg_format(&w->arena, "L D L^T, fill %s, pivoting %s, blocks of %d rows, kernels in %s",
                     d->fill, d->pivoting, d->block, d->target)},
        {"RULE",
         *w->suffix == 'c' && w->suffix[1] == 0
             ? "\t$(CC) $(CFLAGS) $(FLAGS) -o $@ main.c solver.c kernels.c -lm"
             : "\t$(CC) $(CFLAGS) $(FLAGS) -c main.c solver.c\n\t$(NVCC) $(NVFLAGS) -fmad=false "
               "-o $@ main.o solver.o kernels.cu -lm"}};
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k)
        if (strlen(list[k].name) == length && memcmp(list[k].name, name, length) == 0)
            return list[k].value;
    return NULL;
}

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
    borg_status status =
        borg_compile("blocks.cl", sim_blocks_cl, strlen(sim_blocks_cl), &o, NULL, &p);
    if (status == BORG_OK) status = borg_program_emit(p, backend, &o, &text, &length);
    int code = status == BORG_OK ? 0 : p && status != BORG_ERR_MEMORY ? WRONG : MEMORY;
    if (code) {
        snprintf(w->text, SIM_SYNTHESIZE_TEXT, "%s", p ? borg_program_messages(p) : "no memory");
    } else {
        borg_sink out = {.arena = &w->arena};
        borg_put_text(&out, text, length);
        const bool cuda = *w->suffix == 'c' && w->suffix[1] == 'u';
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
        add_template(&w, "solver.h", sim_template_solver_h);
        add_template(&w, "solver.c", sim_template_solver_c);
        add_template(&w, "main.c", sim_template_main_c);
        add_template(&w, "Makefile", sim_template_makefile);
        code = write_files(&w);
        if (code) take_back(&w);
    }
    borg_arena_free(&w.arena);
    return code;
}
