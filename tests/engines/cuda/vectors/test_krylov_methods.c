/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of tests/solve/krylov/test_methods.c with all vectors on a device. */
#include "device_krylov.h"

#define main cases
#include "solve/krylov/test_methods.c"
#undef main

int main(void) {
    return device_lacks(DEVICE_ANY) ? 0 : cases();
}
