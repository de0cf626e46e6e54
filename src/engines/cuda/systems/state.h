/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_STATE_H
#define MPKI_CUDA_SYSTEMS_STATE_H
/** The object of the engine for many systems, and its parts. */
#include "engines/interface/systems.h"
#include "engines/cuda/module/load.h"
#include "kernels/systems.h"
#include "parts.h"

/** Memory of the device that is kept and grows. */
typedef struct mpki_cuda_room {
    void *p;
    int64_t bytes;
} mpki_cuda_room;

/** Homes of some places. */
typedef struct mpki_cuda_slab {
    void *p;
    int64_t first, count;
} mpki_cuda_slab;

struct mpki_many {
    const mpki_device *device;
    mpk_scalar scalar;
    int32_t n;
    mpki_cuda_systems_plan plan;
    mpki_cuda_room lists; /* of the plan */
    mpki_expected expected;
    mpki_cuda_slab *slab;
    int64_t slabs, places;
    mpki_cuda_systems_shape shape; /* of a call with so many systems and right-hand sides */
    int64_t shaped_for;            /* 0: of none */
    int32_t shaped_nrhs;
    mpki_cuda_systems_item *item; /* what `items` has; as many as were sent */
    int64_t sent;
    mpki_cuda_room work, items, found, ax, b, x; /* of calls; the last three for host arrays */
};

/** many->plan and its lists from a view. MPK_OK | MPK_ERR_MEMORY, _DEVICE, _SIZE */
mpk_status mpki_cuda_systems_plan_make(mpk_context *ctx, mpki_many *many,
                                       const mpki_systems_view *view, const mpki_cuda_parts *parts);
/** At least so many bytes; what was there is lost if it grows. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_cuda_room_make(mpk_context *ctx, mpki_many *many, mpki_cuda_room *room,
                               int64_t bytes);
void mpki_cuda_room_free(const mpki_many *many, mpki_cuda_room *room);
/** Bytes between host and device, in order; from the device they are there on return. */
mpk_status mpki_cuda_systems_copy(mpk_context *ctx, const mpki_many *many, void *to,
                                  const void *from, int64_t bytes, bool to_device);

#endif
