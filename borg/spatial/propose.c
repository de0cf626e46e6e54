/* SPDX-License-Identifier: BSD-3-Clause */
/* What would fit a budget: sec. 10.2.4 of the thesis says that look-up tables are limited, and
 * complex pivoting may not be a good fit. */
#include "borg/spatial/pipeline.h"
#include <string.h>

/* Does the file fit with this size? */
static bool fits(const char *file, const char *source, size_t length, const borg_options *options,
                 int32_t size) {
    borg_options o = *options;
    borg_program *p = NULL;
    const char *text;
    size_t bytes;
    o.size = size;
    o.dump = NULL;
    const bool good = borg_compile(file, source, length, &o, NULL, &p) == BORG_OK &&
                      borg_program_emit(p, options->backend, &o, &text, &bytes) == BORG_OK;
    borg_program_free(p);
    return good;
}

static void propose_size(const char *file, const char *source, size_t length,
                         const borg_options *options, borg_sink *sink) {
    int32_t good = 0, bad = options->size;
    while (bad - good > 1) {
        const int32_t middle = good + (bad - good) / 2;
        if (fits(file, source, length, options, middle))
            good = middle;
        else
            bad = middle;
    }
    if (good) borg_put(sink, "borgc: WG_SIZE=%d fits\n", good);
}

static void propose_pivoting(const char *file, const borg_options *options, borg_sink *sink) {
    static const char *const kinds[] = {"_complete.cl", "_rook.cl", "_partial.cl", "_static.cl",
                                        ".cl"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const size_t whole = strlen(file);
    int k = 0;
    while (k < KINDS - 1 &&
           !(whole > strlen(kinds[k]) && strcmp(file + whole - strlen(kinds[k]), kinds[k]) == 0))
        ++k;
    for (int weaker = k + 1; weaker < KINDS && options->reader; ++weaker) {
        const char *reason,
            *path = borg_format(sink->arena, "%.*s%s", (int)(whole - strlen(kinds[k])), file,
                                kinds[weaker]);
        size_t length = 0;
        const char *text =
            options->reader->read(options->reader->self, sink->arena, path, &length, &reason);
        borg_options o = *options;
        o.kernel = NULL; /* it has another name there */
        if (!text || !fits(path, text, length, &o, options->size)) continue;
        borg_put(sink, "borgc: with weaker pivoting %s fits with WG_SIZE=%d\n", path,
                 options->size);
        return;
    }
}

void borg_propose(const char *file, const char *source, size_t length, const borg_options *options,
                  borg_sink *sink) {
    propose_size(file, source, length, options, sink);
    propose_pivoting(file, options, sink);
}
