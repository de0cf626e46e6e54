/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BORG_VARIANTS_H
#define TESTS_BORG_VARIANTS_H
/** Kernels in variants of size, pack, order and precision: compiled for a backend, run and compared
 * with the interpreter, bit for bit (all NaN are equal). Behind cmocka.h. */
#include "emitted.h"
#include "library.h"

enum { MOST_PARAMS = 16, MOST_CASES = 64 };

typedef struct variant {
    const char *kernel;
    int size, pack, lanes, disable, flat;
    int items; /* work-items that share `size` rows; 0: as many */
    borg_order order;
    bool single, fused; /* fused: not strict */
    bool is_complex;    /* -D COMPLEX */
    bool hermitian;     /* and -D HERMITIAN */
    const char *stage;  /* with a group in each thread */
    borg_loops loops;
    bool large; /* left out: its code is beyond BORG_MOST_BYTES, or others take it */
    char ld[16], stride[24], rows[16];
    const char *defines[5], *set[3];
    borg_program *program;
} variant;

/* Compilers take most of the time: a run takes a part of the shapes that sizes, packs, orders and
 * precisions make together, each of these at least once; BORG_SHAPES=all (tools/check-all) takes
 * all of them. */
static inline bool all_shapes(void) {
    const char *shapes = getenv("BORG_SHAPES");
    return shapes && strcmp(shapes, "all") == 0;
}

/* A warp of staged groups, and some more. */
static inline int64_t groups_of(const variant *v) {
    return v->stage ? 43 : 11;
}

typedef struct arguments {
    uint64_t scalar[MOST_PARAMS];
    void *data[MOST_PARAMS];
    size_t bytes[MOST_PARAMS];
    int64_t count[MOST_PARAMS];
} arguments;

static inline double noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 8388608.0 - 1;
}

/* Matrices well and badly conditioned, some with a NaN off the diagonal or on it, one that is
 * zero. */
static inline double entry(int n, int64_t i, uint32_t *state) {
    int64_t group = i / (n * n), place = i % (n * n);
    double x = noise(state);
    if (group == 2 && place == n / 2) return (double)NAN;
    if (group == 6 && place == n / 2 * (n + 1)) return (double)NAN;
    if (group == 8 && place == n * n - 1) return (double)NAN;
    if (group == 3) return 0;
    if (group % 2 && place % (n + 1) == 0) return x + n + 1;
    return *state >> 8 & 7 ? x : 0;
}

static inline void fill_array(const variant *v, const borg_param *p, arguments *a, int i) {
    int n = v->size;
    bool lu = strncmp(v->kernel, "ldu", 3) == 0;
    uint32_t state = (uint32_t)(17 * n + i);
    a->count[i] = (groups_of(v) + 2) * (n * n + 10 * n + 4);
    a->bytes[i] = (size_t)a->count[i] * (size_t)borg_type_bytes(p->elem);
    a->data[i] = malloc(a->bytes[i]);
    for (int64_t k = 0; k < a->count[i]; ++k) {
        double x = entry(n, k, &state);
        float f = (float)x;
        int32_t pivot = (int32_t)(k % n);
        if (!lu && n > 2 && (pivot == 1 || pivot == 2)) pivot = ~pivot;
        if (p->elem == BORG_F64) memcpy((char *)a->data[i] + 8 * k, &x, 8);
        if (p->elem == BORG_F32) memcpy((char *)a->data[i] + 4 * k, &f, 4);
        if (p->elem == BORG_I32) memcpy((char *)a->data[i] + 4 * k, &pivot, 4);
        if (borg_is_narrow(p->elem)) { /* any bits */
            const int bytes = borg_type_bytes(p->elem);
            memcpy((char *)a->data[i] + bytes * k, &state, (size_t)bytes);
        }
    }
}

static inline void fill(const variant *v, arguments *a) {
    const borg_module *m = v->program->units[0].module;
    memset(a, 0, sizeof *a);
    assert_true(m->nparams <= MOST_PARAMS);
    for (int i = 0; i < m->nparams; ++i) {
        const borg_param *p = &m->params[i];
        double tol = 1e-12;
        float tolf = 1e-6f;
        if (p->type == BORG_PTR) fill_array(v, p, a, i);
        if (p->type == BORG_F64) memcpy(&a->scalar[i], &tol, sizeof tol);
        if (p->type == BORG_F32) memcpy(&a->scalar[i], &tolf, sizeof tolf);
        if (p->type == BORG_I32) a->scalar[i] = (uint64_t)v->size;
        if (p->type == BORG_I64) a->scalar[i] = (uint64_t)v->size * (uint64_t)v->size;
        if (strcmp(p->name, "nrhs") == 0) a->scalar[i] = v->size < 3 ? 1 : 3;
        if (strcmp(p->name, "total") == 0) a->scalar[i] = (uint64_t)(v->size * groups_of(v));
    }
}

static inline void release(arguments *a) {
    for (int i = 0; i < MOST_PARAMS; ++i) free(a->data[i]);
}

/* The first entry that differs, -1 if there is none: any NaN is as good as another. */
static inline int64_t difference(const borg_param *p, const void *x, const void *y, size_t bytes) {
    int64_t size = borg_type_bytes(p->elem);
    if (memcmp(x, y, bytes) == 0) return -1;
    for (int64_t k = 0; k < (int64_t)bytes / size; ++k) {
        const char *a = (const char *)x + k * size, *b = (const char *)y + k * size;
        double d[2] = {0, 0};
        float f[2] = {0, 0};
        if (memcmp(a, b, (size_t)size) == 0) continue;
        if (p->elem == BORG_F64) memcpy(&d[0], a, 8), memcpy(&d[1], b, 8);
        if (p->elem == BORG_F16)
            for (int i = 0; i < 2; ++i)
                if ((*(const uint16_t *)(const void *)(i ? b : a) & 0x7fff) > 0x7c00)
                    d[i] = (double)NAN;
        if (p->elem == BORG_F32) {
            memcpy(&f[0], a, 4), memcpy(&f[1], b, 4);
            for (int i = 0; i < 2; ++i) d[i] = (double)f[i];
        }
        if (!isnan(d[0]) || !isnan(d[1])) return k;
    }
    return -1;
}

static inline void interpret(const variant *v, arguments *a) {
    borg_arg args[MOST_PARAMS] = {{0}};
    borg_program *p = v->program;
    for (int i = 0; i < MOST_PARAMS; ++i)
        args[i] = (borg_arg){.bits = a->scalar[i], .data = a->data[i], .count = a->count[i]};
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, groups_of(v), 0, &p->diags))
        fail_msg("%s: %s", v->kernel, borg_program_messages(p));
}

static inline bool agrees(const variant *v, const emitted *e, int which) {
    arguments want, got;
    void *args[MOST_PARAMS];
    const borg_module *m = v->program->units[0].module;
    bool good = true;
    fill(v, &want);
    fill(v, &got);
    interpret(v, &want);
    for (int i = 0; i < m->nparams; ++i)
        args[i] = got.data[i] ? got.data[i] : (void *)&got.scalar[i];
    emitted_call(e, which, 0, groups_of(v), args);
    for (int i = 0; i < m->nparams && good; ++i) {
        if (!got.data[i]) continue;
        int64_t at = difference(&m->params[i], want.data[i], got.data[i], got.bytes[i]);
        good = at < 0;
        if (good) continue;
        int size = borg_type_bytes(m->params[i].elem);
        print_message("%s[%lld]: ", m->params[i].name, (long long)at);
        for (int k = size; k-- > 0;)
            print_message("%02x", ((const unsigned char *)want.data[i])[at * size + k]);
        print_message(" became ");
        for (int k = size; k-- > 0;)
            print_message("%02x", ((const unsigned char *)got.data[i])[at * size + k]);
        print_message("; ");
    }
    release(&want);
    release(&got);
    return good;
}

static inline int number(const char *name, int otherwise) {
    return getenv(name) ? atoi(getenv(name)) : otherwise;
}

/* What tests/borg/matrix reads: a line for each of BORG_CASES. */
static inline void say(const variant *v, const char *result) {
    if (!getenv("BORG_CASES")) return;
    printf("case %d", v->size);
    if (v->items) printf("/%d", v->items);
    printf(":%d:%s:%c %s\n", v->pack, v->order == BORG_WG_MINOR ? "wg" : "wi",
           v->single ? 's' : 'd', result);
    fflush(stdout);
}

/* Compile a variant's program for the backend; false: its code is beyond BORG_MOST_BYTES. */
static inline bool compile_variant(variant *v, borg_options *o, const borg_backend *backend,
                                   const char *name) {
    const char *text;
    size_t length, most = (size_t)number("BORG_MOST_BYTES", INT32_MAX);
    v->defines[0] = v->single ? "SINGLE" : "DOUBLE";
    v->defines[1] = v->stage ? "IN_LANES" : v->items ? v->rows : NULL;
    int defined = v->defines[1] ? 2 : 1;
    if (v->is_complex) v->defines[defined++] = "COMPLEX";
    if (v->hermitian) v->defines[defined] = "HERMITIAN";
    v->set[0] = v->ld;
    v->set[1] = v->stride;
    snprintf(v->ld, sizeof v->ld, "lda=%d", v->size);
    snprintf(v->stride, sizeof v->stride, "stride=%d", v->size * v->size);
    snprintf(v->rows, sizeof v->rows, "ORDER=%d", v->size);
    *o = (borg_options){.size = v->items ? v->items : v->size,
                        .pack = v->pack,
                        .order = !backend || backend->takes & BORG_TAKES_ORDER ? v->order
                                                                               : BORG_WI_MINOR,
                        .lanes = !backend || backend->takes & BORG_TAKES_LANES ? v->lanes : 0,
                        .disable = v->disable,
                        .strict = !v->fused,
                        .loops = v->loops,
                        .flat = v->flat,
                        .backend = backend,
                        .defines = v->defines,
                        .set = v->stage ? v->set : NULL,
                        .stage = v->stage,
                        .name = name};
    v->program = library_compile(v->kernel, o);
    if (most == INT32_MAX) return true;
    borg_status status = borg_program_emit(v->program, backend, o, &text, &length);
    if (status == BORG_ERR_MEMORY) length = SIZE_MAX;
    assert_true(status == BORG_OK || status == BORG_ERR_MEMORY);
    v->large = length > most;
    if (!v->large) return true;
    say(v, "large");
    borg_program_free(v->program);
    return false;
}

/* Without BORG_SHAPES=all a backend takes every third variant of a list, those that others leave
 * out, and every sixth of a longer one. */
static inline bool left_to_others(const borg_backend *backend, int i, int count) {
    const bool second = strcmp(backend->name, "avx512") == 0 || strcmp(backend->name, "cuda") == 0;
    const int which = strcmp(backend->name, "llvm") == 0 ? 2 : second;
    if (count <= 4 || all_shapes() || getenv("BORG_CASES")) return false;
    return (i + i / 6) % 3 != which || (count > 8 && i / 3 % 2);
}

/* One shared object: the variants, their programs compiled anew. */
static inline void check(const borg_backend *backend, variant *list, int count) {
    emitted e;
    bool good = true;
    char names[EMITTED_MAX][16];
    assert_true(emitted_start(&e));
    for (int i = 0, k = 0; i < count; ++i) {
        borg_options o;
        list[i].large = left_to_others(backend, i, count);
        if (list[i].large) continue;
        snprintf(names[k], sizeof names[k], "k%d", k);
        if (!compile_variant(&list[i], &o, backend, names[k])) continue;
        assert_int_equal(emitted_add(&e, list[i].program, backend, &o), k);
        ++k;
    }
    if (emitted_only()) {
        for (int i = 0; i < count; ++i)
            if (!list[i].large) borg_program_free(list[i].program);
        emitted_end(&e, false);
        return;
    }
    if (e.count && !emitted_build(&e, backend)) {
        for (int i = 0; i < count; ++i)
            if (!list[i].large) say(&list[i], "uncompiled");
        emitted_end(&e, true);
        fail();
    }
    for (int i = 0, k = 0; i < count; ++i) {
        variant *v = &list[i];
        if (v->large) continue;
        if (agrees(v, &e, k)) {
            say(v, "same");
        } else {
            print_message("%s: %s, size %d, pack %d, order %s, %s: other bits (k%d)\n",
                          backend->name, v->kernel, v->size, v->pack,
                          v->order == BORG_WG_MINOR ? "wg" : "wi", v->single ? "float" : "double",
                          k);
            say(v, "other");
            good = false;
        }
        borg_program_free(v->program);
        ++k;
    }
    emitted_end(&e, !good);
    assert_true(good);
}

/* Of a backend that runs here and that BORG_BACKEND does not leave out, by the variants. */
static inline bool is_wanted(const borg_backend *backend) {
    const char *only = getenv("BORG_BACKEND");
    return emitted_runs_here(backend) && (!only || strcmp(only, backend->name) == 0);
}

/* The backends that run here, each over the same variants. */
static inline void check_backends(variant *list, int count) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda", "ve"};
    for (int k = 0; k < 5; ++k) {
        const borg_backend *backend = borg_backend_find(backends[k]);
        if (is_wanted(backend)) check(backend, list, count);
    }
}

#endif
