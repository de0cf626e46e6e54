/* SPDX-License-Identifier: BSD-3-Clause */
/* The widest vectors of this processor; the library asks at run time, CMake for
 * METAPACK_ISAS=NATIVE. */
int mpki_cpu_widest(void);

int mpki_cpu_widest(void) {
    int level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = 1;
    if (level == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        level = 2;
#endif
    return level;
}

#ifdef MPKI_CPU_WIDEST_MAIN
int main(void) {
    return mpki_cpu_widest();
}
#endif
