/* SPDX-License-Identifier: BSD-3-Clause */
/* What the simulated machines share. */
#include "sim/accelerator/accelerator.h"
#include <stdlib.h>
#include <string.h>

mpk_status sim_allocate(void *self, int64_t bytes, void **p) {
    (void)self;
    *p = malloc((size_t)bytes);
    return *p ? MPK_OK : MPK_ERR_MEMORY;
}

void sim_release(void *self, void *p) {
    (void)self;
    free(p);
}

mpk_status sim_copy(void *self, void *to, const void *from, int64_t bytes) {
    (void)self;
    memcpy(to, from, (size_t)bytes);
    return MPK_OK;
}

void sim_machine_free(sim_machine **machine) {
    if (*machine) (*machine)->free(*machine);
    *machine = NULL;
}
