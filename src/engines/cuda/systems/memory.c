/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the device that is kept from call to call, and what goes there and back. */
#include "state.h"

static const char STAGE[] = "systems";

void mpki_cuda_room_free(const mpki_many *many, mpki_cuda_room *room) {
    many->device->table->release(many->device->cuda, room->p);
    *room = (mpki_cuda_room){0};
}

mpk_status mpki_cuda_room_make(mpk_context *ctx, mpki_many *many, mpki_cuda_room *room,
                               int64_t bytes) {
    const mpki_device *d = many->device;
    if (room->p && room->bytes >= bytes) return MPK_OK;
    mpki_cuda_room_free(many, room);
    const int status = d->table->alloc(d->cuda, bytes > 0 ? bytes : 1, &room->p);
    if (mpk_failed(status)) return room->p = NULL, mpki_cuda_status(ctx, STAGE, status);
    room->bytes = bytes;
    return MPK_OK;
}

mpk_status mpki_cuda_systems_copy(mpk_context *ctx, const mpki_many *many, void *to,
                                  const void *from, int64_t bytes, bool to_device) {
    const mpki_device *d = many->device;
    int status = d->table->systems->copy(d->cuda, to, from, bytes, to_device);
    if (!mpk_failed(status) && !to_device) status = d->table->systems->wait(d->cuda);
    return mpki_cuda_status(ctx, STAGE, status);
}
