/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_RELAX_H
#define MPKI_RELAX_H
/** Between two looks at what another thread will write: the processor waits some tens of cycles, and
 *  leaves what it shares to its neighbours. */
static inline void mpki_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* its yield costs nothing, and waits as little */
#endif
}

#endif
