/* SPDX-License-Identifier: BSD-3-Clause */
/* AddressSanitizer's check of an access to a whole vector, quicker: what all is addressable is told
 * by a glance at its shadow; of all else AddressSanitizer itself judges and reports. The linker
 * puts these before its own (--wrap, cmake/sanitize.cmake). */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern uintptr_t __asan_shadow_memory_dynamic_address; /* of the shadow of address 0 */
void __real___asan_loadN(uintptr_t p, size_t bytes);
void __real___asan_storeN(uintptr_t p, size_t bytes);
void __wrap___asan_loadN(uintptr_t p, size_t bytes);
void __wrap___asan_storeN(uintptr_t p, size_t bytes);

/* Eight bytes have one of shadow, which is 0 where all of them may be touched. */
static inline int clean(uintptr_t p, size_t bytes) {
    const uint8_t *first = (const uint8_t *)((p >> 3) + __asan_shadow_memory_dynamic_address);
    const uint8_t *last =
        (const uint8_t *)(((p + bytes - 1) >> 3) + __asan_shadow_memory_dynamic_address);
    uint64_t most;
    uint32_t half;
    if (bytes == 64) {
        memcpy(&most, first, sizeof most);
        return !(most | *last);
    }
    if (bytes == 32) {
        memcpy(&half, first, sizeof half);
        return !(half | *last);
    }
    return 0;
}

void __wrap___asan_loadN(uintptr_t p, size_t bytes) {
    if (!clean(p, bytes)) __real___asan_loadN(p, bytes);
}

void __wrap___asan_storeN(uintptr_t p, size_t bytes) {
    if (!clean(p, bytes)) __real___asan_storeN(p, bytes);
}
