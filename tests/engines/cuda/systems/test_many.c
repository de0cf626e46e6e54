/* SPDX-License-Identifier: BSD-3-Clause */
/* Many small systems on a device (many.h): a few where its kernels run on the host. */
#define MANY_EACH 256
#include "../../../systems/many.h"
#include "device_systems.h"

static void test_many(void **unused) {
    (void)unused;
    many(MPK_ON_CUDA, many_patterns(device_is_real() ? 200 : 8));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
