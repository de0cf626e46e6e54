/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the threads share a sweep, and how they wait for one another. */
#define _GNU_SOURCE
#include "core/relax.h"
#include "sweeps.h"

#include <sched.h>

bool mpki_sweep_share(const mpki_block_solver *s) {
    enum { TRIALS = 8, AGAIN = 128 };
    if (!s->pool) return false;
    if (s->runs < TRIALS) return s->runs / 2 % 2;
    const bool faster = s->time_s[1] <= s->time_s[0];
    return s->runs % AGAIN < 2 ? !faster : faster;
}

void mpki_sweep_note(mpki_block_solver *s, bool shared, double time_s) {
    double *best = &s->time_s[shared];
    *best = *best == 0 || time_s < *best ? time_s : 0.9 * *best + 0.1 * time_s;
    s->runs++;
}

void mpki_sweep_wait(int *spins) {
    enum { SPINS = 1 << 14 };
    if (++*spins >= SPINS) {
        sched_yield();
        return;
    }
    mpki_relax();
}
