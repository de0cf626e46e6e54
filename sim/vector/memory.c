/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of memory that controllers serve in turn, and the cache before it. */
#include "sim/vector/core.h"
#include <math.h>
#include <string.h>

/* In the cache? If not, it is from now on: least recently used ones go. */
static bool look_up(vs_core *c, int64_t line) {
    const int32_t ways = c->m->cache_ways;
    uint64_t tag = (uint64_t)line + 1, *set = &c->chip->tags[(line % c->chip->sets) * ways];
    int32_t k = 0;
    while (k < ways - 1 && set[k] != tag) ++k;
    bool hit = set[k] == tag;
    memmove(set + 1, set, (size_t)k * sizeof *set);
    set[0] = tag;
    ++c->times->lookups;
    c->times->misses += !hit;
    return hit;
}

static int32_t at_least(int32_t bytes, int32_t granule) {
    return (bytes + granule - 1) / granule * granule;
}

int64_t vs_line_cost(const vs_machine *m, int32_t bytes) {
    return llround(bytes * 256.0 * m->controllers / m->bandwidth);
}

int64_t vs_span_cost(const vs_machine *m, const vs_span *span) {
    int64_t at = span->address, end = at + span->bytes, total = 0;
    while (at < end) {
        int64_t to = (at / m->line_bytes + 1) * m->line_bytes;
        if (to > end) to = end;
        int32_t bytes = at_least((int32_t)(to - at), m->granule_bytes);
        total += vs_line_cost(m, bytes < m->line_bytes ? bytes : m->line_bytes);
        at = to;
    }
    return total;
}

int64_t vs_transfer(vs_core *c, const vs_step *step, int64_t from, int32_t cycles) {
    const vs_machine *m = c->m;
    int64_t finish = from * 256;
    bool missed = false;
    for (uint32_t k = 0; k < step->nspans; ++k) {
        const vs_span *span = &c->trace->spans[step->span + k];
        int64_t leaves = from + (int64_t)k * cycles / step->nspans + 1;
        for (int64_t at = span->address, end = at + span->bytes; at < end;) {
            int64_t line = at / m->line_bytes, to = (line + 1) * m->line_bytes;
            if (to > end) to = end;
            int32_t bytes = at_least((int32_t)(to - at), m->granule_bytes);
            if (bytes > m->line_bytes) bytes = m->line_bytes;
            if (c->chip->sets && !look_up(c, line)) {
                missed = true;
                bytes = m->line_bytes;
            }
            int64_t *busy = &c->chip->controller[line % m->controllers];
            if (*busy < leaves * 256) *busy = leaves * 256;
            *busy += c->line_cost[bytes];
            c->times->bytes += bytes;
            if (*busy > finish) finish = *busy;
            at = to;
        }
    }
    return (finish + 255) / 256 + (missed ? m->miss_latency : 0);
}
