/* SPDX-License-Identifier: BSD-3-Clause */
/* The back ends by name. */
#include "borg/borg.h"
#include "borg/emit/list.h"
#include <string.h>

#define X(name) extern const borg_backend borg_backend_##name;
BORG_BACKENDS(X)
#undef X

static const borg_backend *const list[] = {
#define X(name) &borg_backend_##name,
    BORG_BACKENDS(X)
#undef X
        NULL,
};

const borg_backend *const *borg_backends(void) {
    return list;
}

const borg_backend *borg_backend_find(const char *name) {
    for (const borg_backend *const *b = list; *b; ++b)
        if (strcmp((*b)->name, name) == 0) return *b;
    return NULL;
}
