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
void mpki_meter_close(mpki_meter **meter);

#endif
