/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TILE_H
#define TILE_H
#include "real.h"

/* TILE: how many columns at a time fill, with their rows, the registers of a vector machine;
 * otherwise all. */
#if WG_VECTOR_BYTES
#define REGISTERS ((N * WG_PACK + LANES - 1) / LANES)
#if WG_VECTOR_BYTES > 32
#define MOST 24
#else
#define MOST 12
#endif
#if WG_PACK >= LANES
#define TILE N
#elif REGISTERS * 8 <= MOST
#define TILE 8
#elif REGISTERS * 6 <= MOST
#define TILE 6
#elif REGISTERS * 4 <= MOST
#define TILE 4
#elif REGISTERS * 2 <= MOST
#define TILE 2
#else
#define TILE 1
#endif
#else
#define TILE N
#endif
#endif
