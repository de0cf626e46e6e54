/* SPDX-License-Identifier: BSD-3-Clause */
/* The widest vectors of this processor; the library asks at run time, CMake for
 * METAPACK_ISAS=NATIVE. */
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

int mpki_cpu_widest(void);

int mpki_cpu_widest(void) {
    int level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = 1;
    if (level == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        level = 2;
#elif defined(__aarch64__)
    level = 1;
#if defined(__linux__) && defined(HWCAP_SVE) && defined(PR_SVE_GET_VL)
    if (getauxval(AT_HWCAP) & HWCAP_SVE) { /* the kernels are for one length of registers */
        const int length = prctl(PR_SVE_GET_VL);
        if (length >= 0 && (length & PR_SVE_VL_LEN_MASK) == 32) level = 2;
    }
#endif
#endif
    return level;
}

#ifdef MPKI_CPU_WIDEST_MAIN
int main(void) {
    return mpki_cpu_widest();
}
#endif
