/* SPDX-License-Identifier: BSD-3-Clause */
/* What all methods ask of a run. */
#include "krylov.h"

const char *mpki_krylov_name(mpk_krylov method) {
    return mpk_option_word("krylov", (int)method);
}

bool mpki_krylov_cycles(const mpki_krylov *k) {
    return k->ops->batch && k->task.restart <= k->ops->cycle_most;
}

bool mpki_krylov_lost(mpki_krylov *k) {
    if (!mpk_failed(k->status)) {
        const mpk_status status = k->ops->status(k->space);
        if (mpk_failed(status)) k->status = status;
    }
    return mpk_failed(k->status);
}
