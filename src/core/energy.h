/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ENERGY_H
#define MPKI_ENERGY_H
/** Counters of energy: RAPL's through powercap, NVML's, which is loaded where it is asked for. */
#include "core.h"

#include <stddef.h>

typedef struct mpki_meter mpki_meter;

/** The counters that this machine has.
 *  powercap [in]  NULL: /sys/class/powercap; another folder of that form, for tests
 *  gpu      [in]  the CUDA number of a GPU; -1: none
 *  no_cpu, no_gpu [out] `size` bytes each: why there is none; empty: there is one
 *  meter    [out] to be closed
 *  Returns MPK_OK, whatever there is | MPK_ERR_MEMORY */
mpk_status mpki_meter_open(mpk_context *ctx, const char *powercap, int gpu, char *no_cpu,
                           char *no_gpu, size_t size, mpki_meter **meter);
/** Joules since the last look, at first since the meter was opened; -1 where there is no counter,
 *  or where it could not be read, now or at the last look. NULL meter: -1. */
void mpki_meter_read(mpki_meter *meter, double *cpu_j, double *gpu_j);
/** Seconds that a look should be after the last one: a GPU's counter moves in steps of up to a tenth
 *  of a second, so that 1 s is known to a tenth. 0 without a GPU's, and for NULL. */
double mpki_meter_least(const mpki_meter *meter);
/** step(data) again and again until `least` seconds have passed: the mean joules of one run, as
 *  mpki_meter_read(), and of how many. Ends with the first run that fails, and leaves -1 then.
 *  Returns MPK_OK | what step() returns */
mpk_status mpki_meter_repeat(mpki_meter *meter, double least, mpk_status (*step)(void *data),
                             void *data, double *cpu_j, double *gpu_j, int64_t *runs);
void mpki_meter_close(mpki_meter **meter);

#endif
