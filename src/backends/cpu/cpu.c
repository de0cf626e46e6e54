/* SPDX-License-Identifier: BSD-3-Clause */
#include "level.h"

#include <stdlib.h>
#include <string.h>

int mpki_cpu_level(void) {
    int level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = 1;
    if (level == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        level = 2;
    const char *wish = getenv("METAPACK_CPU");
    if (wish && !strcmp(wish, "generic")) level = 0;
    if (wish && !strcmp(wish, "avx2") && level > 1) level = 1;
#endif
    return level;
}

const char *mpki_cpu_name(void) {
    static const char *const names[] = {"cpu-generic", "cpu-avx2", "cpu-avx512"};
    return names[mpki_cpu_level()];
}
