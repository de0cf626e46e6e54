/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SANITIZED_H
#define TEST_SANITIZED_H
#include "share.h"

/** TEST_EMULATED: 1 where an emulator runs the tests (CMAKE_CROSSCOMPILING_EMULATOR); else 0. */
#ifndef TEST_EMULATED
#define TEST_EMULATED 0
#endif
/** TEST_SANITIZED: 1 under AddressSanitizer or ThreadSanitizer, where code takes ten times as long
 *  and tests take fewer and smaller cases, and under an emulator, where it takes twenty times; else
 *  0. */
#if TEST_EMULATED
#define TEST_SANITIZED 1
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#if !defined(TEST_SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define TEST_SANITIZED 1
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif
/** TEST_THREAD_SANITIZED: 1 under ThreadSanitizer, which has to see each kind of work once. */
#define TEST_THREAD_SANITIZED 0
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#undef TEST_THREAD_SANITIZED
#define TEST_THREAD_SANITIZED 1
#endif
#endif

/** A loop over the scalars begins with the first and goes on by the step: under sanitizers those in
 *  double, whose code single precision is with other lengths. An emulated processor has its own. */
#define TEST_SCALAR_FIRST (TEST_SANITIZED && !TEST_EMULATED ? MPK_D : MPK_S)
#define TEST_SCALAR_STEP (TEST_SANITIZED && !TEST_EMULATED ? 2 : 1)

/** test_left_out under sanitizers; elsewhere all cases run. What is smaller there asks for case 1 of
 *  2. */
static inline bool test_sanitizer_skips(int k, int every) {
    return TEST_SANITIZED && test_left_out(k, every);
}

#endif
