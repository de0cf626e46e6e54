/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the CUDA module when a device is first asked for, or says why there is none. */
#define _GNU_SOURCE
#include "load.h"

#include "core/lock.h"
#include "engines/cuda/multifrontal/kernels/multifrontal.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char module_name[] = "libmetapack_cuda.so";

/* The module in the folder of `file`. */
static void *load_beside(const char *file, int flags) {
    char path[4096];
    const char *slash = strrchr(file, '/');
    if (!slash) return NULL;
    const int length =
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - file), file, module_name);
    return length < (int)sizeof path ? dlopen(path, flags) : NULL;
}

/* Beside the library as it was found; else beside the file that a link of that name leads to. */
static void *load_near(int flags) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&mpki_cuda_open, &info) || !info.dli_fname) return NULL;
    void *module = load_beside(info.dli_fname, flags);
    char *real = module ? NULL : realpath(info.dli_fname, NULL);
    if (real) module = load_beside(real, flags);
    free(real);
    return module;
}

static const mpki_cuda_table *find(mpk_context *ctx) {
    const char *wish = getenv("METAPACK_CUDA_MODULE");
    void *module = NULL;
    /* never unloaded: CUDA's own threads may outlive a context */
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    if (wish && *wish) {
        module = dlopen(wish, flags);
    } else {
        module = load_near(flags);
        if (!module) module = dlopen(module_name, flags);
    }
    if (!module) {
        const char *reason = dlerror();
        if (wish && *wish && access(wish, R_OK)) {
            mpki_error(ctx, MPK_ERR_DEVICE, "device", -1,
                       "no CUDA backend: METAPACK_CUDA_MODULE in the environment names %.300s, "
                       "which cannot be read",
                       wish);
            return NULL;
        }
        const bool absent =
            !reason || (strstr(reason, module_name) == reason && strstr(reason, "No such file"));
        mpki_error(ctx, MPK_ERR_DEVICE, "device", -1, "no CUDA backend: %s%s",
                   absent
                       ? "this METAPACK has no module for NVIDIA GPUs: there was no CUDA when it "
                         "was built, or libmetapack_cuda.so does not lie beside the library"
                   : strstr(reason, "libcuda") || strstr(reason, "libnvidia")
                       ? "there is no NVIDIA driver here: "
                       : "its module cannot be loaded: ",
                   absent ? "" : reason);
        return NULL;
    }
    mpki_cuda_module_fn entry = NULL;
    void *symbol = dlsym(module, "mpki_cuda_module");
    memcpy(&entry, &symbol, sizeof entry);
    const mpki_cuda_table *table = entry ? entry() : NULL;
    if (table && table->version == MPKI_CUDA_VERSION) return table;
    mpki_error(ctx, MPK_ERR_DEVICE, "device", -1,
               "the CUDA module is not this library's: interface %d, wanted %d",
               table ? table->version : 0, MPKI_CUDA_VERSION);
    return NULL;
}

/* A device that a thread opens. */
typedef struct opening {
    pthread_t thread;
    int device;
    mpk_scalar scalar;
    const mpki_cuda_table *table;
    mpki_cuda *cuda; /* NULL: it has not opened it */
} opening;

typedef struct slot {
    mpki_device open;
    mpk_context *ctx;
    unsigned forks;   /* mpki_forks() where it was opened */
    opening *opening; /* not NULL: a thread is at it, and `open` is empty */
} slot;

/* 1 + mpki_forks() where this process, or one that it descends from, first opened a device. */
static _Atomic unsigned begun;

/* CUDA does not follow a fork: a child whose parent has begun with it is refused each call, and
 * may wait for ever. */
static bool follows(mpk_context *ctx, int device) {
    unsigned first = 0;
    const unsigned now = 1 + mpki_forks();
    if (atomic_compare_exchange_strong(&begun, &first, now) || first == now) return true;
    mpki_error(ctx, MPK_ERR_DEVICE, "device", device,
               "this process was forked from one that had opened a CUDA device, and CUDA does not "
               "follow a fork: open devices after it, or start a new program");
    return false;
}

/* What was made ahead is nobody's any more. */
static void *leave_ahead(slot *s) {
    void *ahead = s->open.ahead;
    s->open.ahead = NULL, s->open.ahead_of = NULL;
    return ahead;
}

static void release_ahead(slot *s) {
    void (*const end)(void *) = s->open.ahead_free;
    void *ahead = leave_ahead(s);
    if (ahead && s->forks == mpki_forks()) end(ahead);
}

/* The thread has ended, and the slot has what it opened, if it did. */
static void end_opening(slot *s) {
    opening *o = s->opening;
    s->opening = NULL;
    if (o && s->forks == mpki_forks()) {
        pthread_join(o->thread, NULL);
        s->open = (mpki_device){.table = o->table, .cuda = o->cuda, .device = o->device};
    }
    mpki_release(s->ctx, o);
}

static void close_slot(void *value) {
    slot *s = value;
    end_opening(s);
    const bool mine = s->forks == mpki_forks();
    release_ahead(s);
    if (s->open.accelerator && mine) s->open.accelerator_free(s->open.accelerator);
    if (s->open.cuda && mine) s->open.table->close(s->open.cuda);
    mpki_release(s->ctx, s);
}

/* Is this GPU one of those that the module was built for? */
static bool runs(mpk_context *ctx, const mpki_device *d) {
    const int has = d->table->capability(d->cuda), least = d->table->least;
    if (has >= least) return true;
    mpki_error(ctx, MPK_ERR_DEVICE, "device", d->device,
               "CUDA device %d has compute capability %d.%d; this CUDA module was built for %d.%d "
               "and later (METAPACK_CUDA_ARCHITECTURES)",
               d->device, has / 10, has % 10, least / 10, least % 10);
    return false;
}

static void *open_there(void *arg) {
    opening *o = arg;
    char text[512] = "";
    o->table = find(NULL);
    if (!o->table) return NULL;
    if (mpk_failed(o->table->open(o->device, &o->cuda, text, sizeof text)))
        o->cuda = NULL;
    else if (o->table->direct && o->table->capability(o->cuda) >= o->table->least)
        (void)o->table->direct->load(o->cuda, o->scalar);
    return NULL;
}

void mpki_cuda_open_ahead(mpk_context *ctx, int device, mpk_scalar scalar) {
    if (mpki_context_device(ctx)) return;
    slot *s = follows(ctx, device) ? MPKI_ZNEW(ctx, "device", 1, slot) : NULL;
    opening *o = s ? MPKI_ZNEW(ctx, "device", 1, opening) : NULL;
    if (o) *o = (opening){.device = device, .scalar = scalar};
    if (!o || pthread_create(&o->thread, NULL, open_there, o)) {
        mpki_release(ctx, o);
        mpki_release(ctx, s);
        mpki_clear_error(ctx);
        return;
    }
    s->ctx = ctx, s->forks = mpki_forks(), s->opening = o;
    mpki_context_set_device(ctx, s, close_slot);
}

/* The context's device, after a thread that opens it; NULL: it has none, or that thread has failed, which
 * who opens it now will be told. */
static slot *opened(mpk_context *ctx) {
    slot *s = mpki_context_device(ctx);
    if (!s || !s->opening) return s;
    end_opening(s);
    if (s->open.cuda && s->open.table->capability(s->open.cuda) >= s->open.table->least) return s;
    mpki_context_set_device(ctx, NULL, NULL);
    return NULL;
}

const mpki_device *mpki_cuda_open(mpk_context *ctx, int device) {
    char text[512] = "";
    slot *s = mpki_context_device(ctx);
    if (s && s->forks != mpki_forks() && !follows(ctx, device)) return NULL;
    s = opened(ctx);
    if (s && s->open.device == device) return &s->open;
    if (s && s->open.kept) {
        mpki_error(ctx, MPK_ERR_DEVICE, "device", device,
                   "this context works with CUDA device %d; device %d needs a context of its own",
                   s->open.device, device);
        return NULL;
    }
    const mpki_cuda_table *table = s ? s->open.table : find(ctx);
    if (!table || !follows(ctx, device)) return NULL;
    mpki_cuda *cuda = NULL;
    int status = table->open(device, &cuda, text, sizeof text);
    if (mpk_failed(status)) {
        mpki_error(ctx, (mpk_status)status, "device", device, "%s", text);
        return NULL;
    }
    const mpki_device open = {.table = table, .cuda = cuda, .device = device};
    s = runs(ctx, &open) ? MPKI_ZNEW(ctx, "device", 1, slot) : NULL;
    if (!s) {
        table->close(cuda);
        return NULL;
    }
    s->open = open;
    s->ctx = ctx;
    s->forks = mpki_forks();
    mpki_context_set_device(ctx, s, close_slot); /* closes the one before */
    return &s->open;
}

const mpki_device *mpki_cuda_keep(mpk_context *ctx, int device) {
    if (!mpki_cuda_open(ctx, device)) return NULL;
    slot *s = mpki_context_device(ctx);
    if (!s->open.kept && s->open.table->describe) {
        char text[256] = "";
        s->open.table->describe(s->open.cuda, text, sizeof text, NULL, NULL);
        text[strcspn(text, ",")] = '\0';
        snprintf(s->open.name, sizeof s->open.name, "cuda: %.50s", text);
    }
    s->open.kept = true;
    return &s->open;
}

mpk_status mpki_cuda_set_stream(mpk_context *ctx, int device, bool follows, void *stream) {
    if (!mpki_cuda_open(ctx, device)) return mpki_failed(ctx);
    slot *s = mpki_context_device(ctx);
    s->open.follows = follows;
    s->open.stream = stream;
    return MPK_OK;
}

void mpki_cuda_set_ahead(mpk_context *ctx, void *ahead, const void *of, void (*end)(void *)) {
    slot *s = mpki_context_device(ctx);
    release_ahead(s);
    s->open.ahead = ahead, s->open.ahead_of = of, s->open.ahead_free = end;
}

void *mpki_cuda_take_ahead(mpk_context *ctx, const void *of) {
    slot *s = mpki_context_device(ctx);
    if (s->open.ahead_of == of && s->forks == mpki_forks()) return leave_ahead(s);
    release_ahead(s);
    return NULL;
}

void mpki_cuda_drop_ahead(mpk_context *ctx, const void *of) {
    slot *s = mpki_context_device(ctx);
    if (s && s->open.ahead && (!of || s->open.ahead_of == of)) release_ahead(s);
}

void mpki_cuda_waits_for_all(mpk_context *ctx) {
    slot *s = mpki_context_device(ctx);
    s->open.waits = true;
}

int mpki_cuda_begin(const mpki_device *d) {
    return mpki_cuda_follows(d) ? d->table->follow(d->cuda, d->stream) : d->table->settle(d->cuda);
}

int mpki_cuda_copy(const mpki_device *d, void *to, int64_t to_pitch, const void *from,
                   int64_t from_pitch, int64_t width, int64_t columns, bool to_device) {
    void *stream =
        mpki_cuda_follows(d) ? d->table->own_stream(d->cuda) : NULL; /* which waits for others */
    int status = mpki_cuda_begin(d);
    if (!mpk_failed(status))
        status = d->table->copy(d->cuda, to, to_pitch, from, from_pitch, width, columns, to_device,
                                stream);
    return mpk_failed(status) ? status : d->table->synchronize(d->cuda, stream);
}

const mpki_device *mpki_cuda_kept(const mpk_context *ctx) {
    const slot *s = mpki_context_device(ctx);
    return &s->open;
}

mpk_status mpki_cuda_status(mpk_context *ctx, const char *stage, int status) {
    if (!mpk_failed(status)) return (mpk_status)status;
    const mpki_device *d = mpki_cuda_kept(ctx);
    return mpki_error(ctx, (mpk_status)status, stage, -1, "%s", d->table->last_error(d->cuda));
}
