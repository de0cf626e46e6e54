/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CUDA_DEVICE_SYSTEMS_H
#define TESTS_CUDA_DEVICE_SYSTEMS_H
/** Systems of tests/systems/cases.h on a device: made there, arrays in its memory. */
#include "../device_there.h"
#include "../../../systems/cases.h"

static inline cases device_cases(enum support_family family, int n, mpk_scalar scalar,
                                 mpk_symmetry symmetry, int64_t count, int32_t nrhs,
                                 double spread) {
    cases c = cases_make(NULL, family, n, scalar, symmetry, count, nrhs, spread);
    c.o.device = MPK_ON_CUDA;
    return c;
}

/** A copy of host memory on the device; free with device_leave(). */
static inline void *device_copy(mpk_context *ctx, const void *p, int64_t bytes) {
    void *q = NULL;
    assert_int_equal(mpk_device_alloc(ctx, 0, bytes, &q), MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, q, bytes, p, bytes, bytes, 1), MPK_OK);
    return q;
}
static inline void device_read(mpk_context *ctx, void *p, const void *q, int64_t bytes) {
    assert_int_equal(mpk_device_copy(ctx, 0, p, bytes, q, bytes, bytes, 1), MPK_OK);
}
static inline void device_leave(mpk_context *ctx, void *q) {
    assert_int_equal(mpk_device_free(ctx, 0, &q), MPK_OK);
}

/** The array with a copy of its data on the device. */
static inline mpk_batch_array device_array(mpk_context *ctx, const mpk_batch_array *a,
                                           int64_t bytes) {
    mpk_batch_array y = *a;
    y.memory = MPK_DEVICE;
    y.data = device_copy(ctx, a->data, bytes);
    return y;
}

#endif
