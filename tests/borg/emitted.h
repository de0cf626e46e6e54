/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BORG_EMITTED_H
#define TESTS_BORG_EMITTED_H
/** Emitted C, compiled by a compiler of the machine, loaded and run beside the interpreter. Many
 * programs go into one shared object, those with vectors of one length into one file. The compiler:
 * BORG_CC (default: the build's; none: what is emitted is neither compiled nor run), with
 * BORG_CFLAGS behind ours; BORG_MACHINE: the flags that choose
 * the backend c's machine. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "borg/borg.h"

#ifndef BORG_CC_DEFAULT
#define BORG_CC_DEFAULT "cc"
#endif

#ifndef BORG_LLVM /* folder of opt and llc */
#define BORG_LLVM "/nowhere"
#endif

enum { EMITTED_MAX = 256 };

typedef void emitted_function(int64_t first, int64_t last, void *const *args);

typedef struct emitted {
    char folder[64];
    int count;
    void *object;
} emitted;

static const char *emitted_flags(const borg_backend *backend) {
    if (strcmp(backend->name, "avx512") == 0)
        return "-mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma";
    if (strcmp(backend->name, "cuda") == 0)
        return "-ffp-contract=off -Wno-unused-function -Wno-unused-variable "
               "-Wno-unused-parameter -Wno-tautological-bitwise-compare -Wno-tautological-compare "
               "-Wno-type-limits";
    if (strcmp(backend->name, "ve") == 0)
        return "-ffp-contract=off -Wno-unused-parameter -Wno-unused-function -Wno-type-limits "
               "-Wno-bool-compare -Wno-bool-operation -Wno-unknown-warning-option";
    if (strcmp(backend->name, "hls") == 0) return "-std=c11 -ffp-contract=off";
    if (getenv("BORG_MACHINE")) return getenv("BORG_MACHINE");
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "-mavx2 -mfma";
#endif
    return "";
}

static bool emitted_runs_here(const borg_backend *backend) {
    if (strcmp(backend->name, "c") == 0 || strcmp(backend->name, "cuda") == 0 ||
        strcmp(backend->name, "hls") == 0 || strcmp(backend->name, "ve") == 0)
        return true;
    if (strcmp(backend->name, "llvm") == 0)
        return access(BORG_LLVM "/llc", X_OK) == 0 && access(BORG_LLVM "/opt", X_OK) == 0;
#if defined(__x86_64__)
    if (strcmp(backend->name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
    return false;
}

static inline bool emitted_only(void) {
    const char *cc = getenv("BORG_CC");
    return cc && strcmp(cc, "none") == 0;
}

static bool emitted_start(emitted *e) {
    memset(e, 0, sizeof *e);
    strcpy(e->folder, "/tmp/borg-emitted-XXXXXX");
    return mkdtemp(e->folder) != NULL;
}

static const char *emitted_cast(const borg_param *p) {
    static const char *const types[] = {"", "uint8_t", "int32_t", "int64_t", "float", "double", ""};
    return types[p->type];
}

/* The wrapper's arguments, and how often it calls: once, or once for each thread (cuda). */
static void emitted_wrap(FILE *file, const borg_module *m, int which, const char *text) {
    const char *launch = strstr(text, "borg-launch:");
    int threads = 0, groups = 0;
    bool cuda =
        launch && sscanf(launch, "borg-launch: threads=%d groups=%d", &threads, &groups) == 2;
    fprintf(file, "void run%d(int64_t, int64_t, void *const *);\n", which);
    fprintf(file, "%s(%sint64_t first, int64_t last%s) {\n    k%d(",
            cuda ? "static void call" : borg_format(m->arena, "void run%d", which),
            cuda ? "void *const *args, " : "", cuda ? "" : ", void *const *args", which);
    if (!cuda) fprintf(file, "first, last");
    for (int32_t i = 0; i < m->nparams; ++i) {
        const char *comma = cuda && i == 0 ? "" : ", ";
        if (m->params[i].type == BORG_PTR) {
            fprintf(file, "%sargs[%d]", comma, i);
        } else {
            fprintf(file, "%s*(%s *)args[%d]", comma, emitted_cast(&m->params[i]), i);
        }
    }
    fprintf(file, "%s);\n    (void)args;\n%s}\n", cuda ? ", first, last" : "",
            strstr(text, "velintrin.h") ? "    host_ve_reset();\n" : "");
    if (!cuda) return;
    fprintf(file, "void run%d(int64_t first, int64_t last, void *const *args) {\n", which);
    fprintf(file, "    host_launch(%d, %d, call, args, first, last);\n}\n", threads, groups);
}

/** Add a compiled program's only kernel, as function k<count>; its number, or -1. The function must
 * be named so (borg_options.name). */
static int emitted_add(emitted *e, borg_program *p, const borg_backend *backend,
                       const borg_options *options) {
    const char *text;
    size_t length;
    char path[128];
    if (borg_program_emit(p, backend, options, &text, &length) != BORG_OK) return -1;
    const borg_module *m = p->units[0].module;
    if (strcmp(backend->name, "llvm") == 0) { /* beside the wrapper */
        snprintf(path, sizeof path, "%s/k%d.ll", e->folder, e->count);
        FILE *other = fopen(path, "wb");
        if (!other) return -1;
        fwrite(text, 1, length, other);
        if (fclose(other) != 0) return -1;
        borg_sink declared = {.arena = m->arena};
        borg_put(&declared, "#include <stdint.h>\nvoid k%d(int64_t, int64_t", e->count);
        for (int32_t i = 0; i < m->nparams; ++i)
            borg_put(&declared, ", %s",
                     m->params[i].type == BORG_PTR ? "void *" : emitted_cast(&m->params[i]));
        borg_put(&declared, ");\n");
        text = declared.text;
        length = declared.length;
    }
    const char *lanes = strstr(text, "#define BORG_LANES ");
    if (lanes) {
        snprintf(path, sizeof path, "%s/kernels%d.c", e->folder, atoi(lanes + 19));
    } else {
        snprintf(path, sizeof path, "%s/k%d.c", e->folder, e->count);
    }
    FILE *file = fopen(path, "ab");
    if (!file) return -1;
    const bool ve = strcmp(backend->name, "ve") == 0;
    if (ve || strcmp(backend->name, "cuda") == 0)
        fprintf(file, "#define BORG_HOST \"%s/%s_host.h\"\n", BORG_TESTS, backend->name);
    fwrite(text, 1, length, file);
    emitted_wrap(file, m, e->count, text);
    if (fclose(file) != 0) return -1;
    return e->count++;
}

/** Compile a source and add its only kernel; its number, or -1. *p is the caller's. */
static inline int emitted_compile(emitted *e, const char *source, borg_options options,
                                  borg_program **p) {
    char name[16];
    snprintf(name, sizeof name, "k%d", e->count);
    options.name = name;
    *p = NULL;
    if (borg_compile("r.cl", source, strlen(source), &options, NULL, p) != BORG_OK) return -1;
    return emitted_add(e, *p, options.backend, &options);
}

static bool emitted_build(emitted *e, const borg_backend *backend) {
    char command[1024], path[128];
    const char *cc = getenv("BORG_CC") ? getenv("BORG_CC") : BORG_CC_DEFAULT;
    const char *flags = getenv("BORG_CFLAGS") ? getenv("BORG_CFLAGS") : "-O0";
    if (strcmp(backend->name, "llvm") == 0) {
        /* llc 16 cannot select some shuffles of 32-bit integers with AVX-512: those without it */
        snprintf(command, sizeof command,
                 "cd %s && for k in k*.ll; do c=\"%s/llc -O1 -mcpu=native "
                 "-relocation-model=pic -filetype=obj -o $k.o $k\"; "
                 "%s/opt -passes=verify -disable-output $k && { $c 2>one.log || "
                 "{ cat one.log; grep -q 'Cannot select' one.log && $c -mattr=-avx512f; }; } || "
                 "exit 1; done >llc.log 2>&1",
                 e->folder, BORG_LLVM, BORG_LLVM);
        if (system(command) != 0) {
            snprintf(command, sizeof command, "head -5 %s/llc.log", e->folder);
            if (system(command) != 0) fputs("llc failed\n", stderr);
            return false;
        }
    }
    snprintf(
        command, sizeof command,
        "%s -Wall -Wextra -Wno-unused-but-set-variable -Werror -fPIC -shared %s %s -o %s/all.so "
        "%s/k*.%s -lm >%s/log 2>&1",
        cc, emitted_flags(backend), flags, e->folder, e->folder,
        strcmp(backend->name, "llvm") == 0 ? "[co]" : "c", e->folder);
    if (system(command) != 0) {
        snprintf(command, sizeof command, "grep -m 20 -E 'error|warning' %s/log", e->folder);
        if (system(command) != 0) fputs("the compiler failed\n", stderr);
        return false;
    }
    snprintf(path, sizeof path, "%s/all.so", e->folder);
    e->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return e->object != NULL;
}

static void emitted_call(const emitted *e, int which, int64_t first, int64_t last,
                         void *const *args) {
    char name[32];
    emitted_function *f;
    snprintf(name, sizeof name, "run%d", which);
    void *symbol = dlsym(e->object, name);
    memcpy(&f, &symbol, sizeof f);
    f(first, last, args);
}

/** keep: leave the files for whoever looks for the fault. */
static void emitted_end(emitted *e, bool keep) {
    char command[128];
    if (e->object) dlclose(e->object);
    snprintf(command, sizeof command, "rm -rf %s", e->folder);
    if (keep) {
        fprintf(stderr, "emitted files: %s\n", e->folder);
    } else if (system(command) != 0) {
        fprintf(stderr, "not removed: %s\n", e->folder);
    }
}

#endif
