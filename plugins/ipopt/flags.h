/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_FLAGS_H
#define MPKI_IPOPT_FLAGS_H
/** METAPACK's statuses as the flags of an interface. */
#include <limits.h>
#include <metapack/status.h>

typedef struct ip_flags {
    int singular, size, pattern, memory, not_finite, other;
} ip_flags;

/** Positive outcomes other than singular are 0: the factor is what was asked for. An overflow in
 *  the factorization counts as singular: the caller's answer, a perturbation, is right for both. */
static inline int ip_flag(const ip_flags *flags, mpk_status status) {
    switch (status) {
    case MPK_SINGULAR:
    case MPK_ERR_NUMERIC:
        return flags->singular;
    case MPK_ERR_ARGUMENT:
    case MPK_ERR_SIZE:
        return flags->size;
    case MPK_ERR_INPUT:
        return flags->not_finite;
    case MPK_ERR_FORMAT:
        return flags->pattern;
    case MPK_ERR_MEMORY:
        return flags->memory;
    default:
        return !mpk_failed(status) ? 0 : flags->other;
    }
}

/** A count in an int that may be too small for it. */
static inline int ip_count(int64_t count) {
    return count < INT_MAX ? (int)count : INT_MAX;
}

#endif
