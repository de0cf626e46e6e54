/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the kernels on small blocks for this precision and instruction set. */
#include "block_isa.h"

const FN(block_kernels) ISA_FN(block_table) = {
    .isa = MPKI_STRING(MPKI_ISA),
    .factor = ISA_FN(block_factor),
    .solve = ISA_FN(block_solve),
    .right = ISA_FN(block_right),
    .downdate = ISA_FN(block_downdate),
    .apply = ISA_FN(block_apply),
    .apply_t = ISA_FN(block_apply_t),
    .multiply = ISA_FN(block_multiply),
    .multiply_t = ISA_FN(block_multiply_t),
    .diagonal = ISA_FN(block_diagonal),
    .drop = ISA_FN(block_drop),
    .bytes = ISA_FN(block_bytes),
    .smallest = ISA_FN(block_smallest),
    .pack = ISA_FN(block_pack),
    .unpack = ISA_FN(block_unpack),
};
