/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_LOAD_H
#define MPKI_CUDA_MODULE_LOAD_H
/** The CUDA module found, loaded and opened, once for each context. */
#include "core/core.h"
#include "api.h"

typedef struct mpki_device {
    const mpki_cuda_table *table;
    mpki_cuda *cuda;
    int device;
    bool kept; /* what is made with it lives on, so another one must not take its place */
    char name[64];
    bool follows; /* calls are ordered in this stream of the caller's, */
    bool waits;   /* but the context solves with factors of others */
    void *stream;
    void *accelerator; /* the device's table for the accelerator interface, once it was asked for */
    void (*accelerator_free)(void *);
    /* a factor that was made ahead, for the analysis that this names; NULL: there is none */
    void *ahead;
    const void *ahead_of;
    void (*ahead_free)(void *);
} mpki_device;

/** The device `device` of this context, opened on the first call; NULL with MPK_ERR_DEVICE and the
 *  reason recorded: no module, no driver, no such device. The module is libmetapack_cuda.so beside
 *  the library, or on the loader's path, or what METAPACK_CUDA_MODULE in the environment names. */
const mpki_device *mpki_cuda_open(mpk_context *ctx, int device);
/** Begin to open it by a thread of its own, which whoever opens it waits for, and to load the kernels for
 *  factors with such entries. Nothing is recorded where that fails: who opens it is told. Not where the
 *  context has a device open. */
void mpki_cuda_open_ahead(mpk_context *ctx, int device, mpk_scalar scalar);
/** What was made ahead of the call that it is for, in place of what was before; the device is open. `of`: what
 *  that call names it by */
void mpki_cuda_set_ahead(mpk_context *ctx, void *ahead, const void *of, void (*free)(void *));
/** It, for who asks by that name, and who then owns it. NULL: there is none; what is there for another
 *  name is released, for its memory may be wanted. */
void *mpki_cuda_take_ahead(mpk_context *ctx, const void *of);
/** Release it where it has that name; NULL: any. */
void mpki_cuda_drop_ahead(mpk_context *ctx, const void *of);
/** The device `device`, opened and kept as long as the context: NULL with MPK_ERR_DEVICE where the
 *  context keeps another one already. */
const mpki_device *mpki_cuda_keep(mpk_context *ctx, int device);
/** The device that the context keeps. */
const mpki_device *mpki_cuda_kept(const mpk_context *ctx);
/** Order later calls of the context in a stream; `follows` false: they wait for all of the device. MPK_OK |
 *  MPK_ERR_DEVICE */
mpk_status mpki_cuda_set_stream(mpk_context *ctx, int device, bool follows, void *stream);
/** From now on calls of the context wait for all of its device. */
void mpki_cuda_waits_for_all(mpk_context *ctx);
/** Is there a stream that they are ordered in? */
static inline bool mpki_cuda_follows(const mpki_device *d) {
    return d->follows && !d->waits;
}
/** Before a call reads what the caller has queued: after it in its stream, or when the device is at
 *  rest. Returns a status of the module. */
int mpki_cuda_begin(const mpki_device *d);
/** Between host and device, when that has begun: returns when the bytes are there. */
int mpki_cuda_copy(const mpki_device *d, void *to, int64_t to_pitch, const void *from,
                   int64_t from_pitch, int64_t width, int64_t columns, bool to_device);
/** The status of a call of the module; a failure is recorded with the module's text. */
mpk_status mpki_cuda_status(mpk_context *ctx, const char *stage, int status);

#endif
