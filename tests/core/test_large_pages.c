/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of memory where the system's pages have 64 KiB, as on some 64-bit Arm machines: what is
 * mapped begins with such a page, and what is given back or moved must be whole ones. The linker puts
 * these functions in the place of the C library's. */
#define _GNU_SOURCE
#include "test_context.c"

#include <stdarg.h>
#include <sys/mman.h>

static const size_t LARGE_PAGE = 1 << 16;

long __real_sysconf(int name);
void *__real_mmap(void *at, size_t size, int access, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t size);
void *__real_mremap(void *at, size_t had, size_t size, int flags, ...);
long __wrap_sysconf(int name);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int file, off_t offset);
int __wrap_munmap(void *at, size_t size);
void *__wrap_mremap(void *at, size_t had, size_t size, int flags, ...);

static size_t whole(size_t size) {
    return (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

static void begins_a_page(const void *at) {
    if ((uintptr_t)at % LARGE_PAGE) fail_msg("%p begins no page", at);
}

long __wrap_sysconf(int name) {
    return name == _SC_PAGESIZE ? (long)LARGE_PAGE : __real_sysconf(name);
}

void *__wrap_mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
    assert_null(at);
    char *more = __real_mmap(at, whole(size) + LARGE_PAGE, access, flags, file, offset);
    if (more == MAP_FAILED) return more;
    const size_t before = (LARGE_PAGE - (uintptr_t)more % LARGE_PAGE) % LARGE_PAGE;
    if (before > 0) __real_munmap(more, before);
    __real_munmap(more + before + whole(size), LARGE_PAGE - before);
    return more + before;
}

int __wrap_munmap(void *at, size_t size) {
    begins_a_page(at);
    return __real_munmap(at, whole(size));
}

void *__wrap_mremap(void *at, size_t had, size_t size, int flags, ...) {
    va_list list;
    va_start(list, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    begins_a_page(at);
    begins_a_page(to);
    if (!to) to = __wrap_mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return to == MAP_FAILED
               ? to
               : __real_mremap(at, whole(had), whole(size), MREMAP_MAYMOVE | MREMAP_FIXED, to);
}
