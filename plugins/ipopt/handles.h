/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_HANDLES_H
#define MPKI_IPOPT_HANDLES_H
/** Which handles are ours. Ipopt passes pointers that nobody has set (ma97_order best) and handles
 *  that are still alive (matched orderings), so a pointer is trusted only if it is listed here. */
#include <stdbool.h>

typedef enum ip_kind { IP_PATTERN = 1, IP_FACTOR = 2, IP_KEEP = 3 } ip_kind;

/** List a handle; false: out of memory. Thread-safe, as the others. */
bool ip_handle_add(const void *handle, ip_kind kind);
/** Is this a living handle of that kind? The pointer is compared, never followed. */
bool ip_handle_is(const void *handle, ip_kind kind);
/** Take it off the list; false if it was not there. */
bool ip_handle_remove(const void *handle, ip_kind kind);
/** Forks before this process since it was first asked: a child's number is another one. */
unsigned ip_forks(void);
/** How many are listed: for tests. */
int ip_handle_count(void);

#endif
