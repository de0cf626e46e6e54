/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of kernels for the instruction set in use. */
#include "level.h"
#include "core/cpu.h"

int mpki_cpu_level(void) {
    int level;
    (void)mpki_cpu_wish(&level, NULL); /* a word that is none was refused with the context */
    return level;
}

const char *mpki_cpu_name(void) {
#define NAME(word) "cpu-" #word,
    static const char *const names[] = {MPKI_LEVELS(NAME)};
    return names[mpki_cpu_level()];
}
