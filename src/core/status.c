/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, sentences and order of the statuses; the version. */
#include <metapack/status.h>

#include "config.h"

static const struct {
    mpk_status status;
    const char *name, *text;
} table[] = {
    {MPK_OK, "ok", "solved"},
    {MPK_SINGULAR, "singular", "the matrix is singular: zero pivots were met"},
    {MPK_PERTURBED, "perturbed", "pivots were perturbed, as asked"},
    {MPK_INACCURATE, "inaccurate", "the accuracy asked for was not reached"},
    {MPK_NOT_CONVERGED, "not_converged", "the iteration stopped at its limit"},
    {MPK_PARTIAL, "partial", "some matrices of the batch have no result"},
    {MPK_ERR_ARGUMENT, "argument", "an argument is not valid"},
    {MPK_ERR_FILE, "file", "a file cannot be opened, read or written"},
    {MPK_ERR_FORMAT, "format", "the file is not in a format METAPACK knows"},
    {MPK_ERR_INPUT, "input", "the matrix or right-hand side is not valid"},
    {MPK_ERR_SIZE, "size", "a size does not fit its type"},
    {MPK_ERR_MEMORY, "memory", "there is not enough memory"},
    {MPK_ERR_DEVICE, "device", "a backend is absent or failed"},
    {MPK_ERR_CANCELLED, "cancelled", "stopped on request"},
    {MPK_ERR_UNSUPPORTED, "unsupported", "not available in this build"},
    {MPK_ERR_NUMERIC, "numeric", "overflow: the factors are not finite"},
    {MPK_ERR_INTERNAL, "internal", "a check found a defect of METAPACK; please report it"},
};

const char *mpk_status_name(mpk_status status) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (table[k].status == status) return table[k].name;
    return "unknown";
}

const char *mpk_status_text(mpk_status status) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (table[k].status == status) return table[k].text;
    return "unknown status";
}

mpk_status mpki_worse(mpk_status a, mpk_status b) {
    static const mpk_status order[] = {MPK_SINGULAR, MPK_NOT_CONVERGED, MPK_INACCURATE,
                                       MPK_PERTURBED};
    if (mpk_failed(a) || mpk_failed(b)) return mpk_failed(a) ? a : b;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (a == order[k] || b == order[k]) return order[k];
    return MPK_OK;
}

const char *mpk_version(void) {
    return MPKI_VERSION;
}

const char *mpk_build_config(void) {
    return MPKI_BUILD_CONFIG;
}
