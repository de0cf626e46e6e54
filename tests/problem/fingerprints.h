/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* spec, 64-bit FNV-1a of ap, ai, ax with seed 42 (little-endian) */
{"nlpkkt 5", 0x493bd73ef17092d7u},
{"nlpkkt 4 1e-3 6", 0x676372d2fc19a25du},
{"control-distributed 6", 0xab55cd1461abebdeu},
{"lin 9 8 7", 0x62b14603cb44462bu},
{"helmholtz 2d 12", 0x688721901b68062eu},
{"helmholtz 3d 6 boundary=absorbing damping=0.1 k=4", 0xaebbc0504c90106du},
{"stokes mac 7", 0x246f181e2788810bu},
{"stokes q2q1 4", 0x8d08008ba15c559au},
{"lp-kkt 40 70", 0xd5f818688f972635u},
{"lp-kkt 40 70 8 4 random 1e-8", 0xa6bcd9d42cbc87b5u},
{"optimal-control 4 5 2", 0xc69774561ceb45e9u},
{"quasi-definite 7", 0xc54bca76307a402au},
{"random 60 0.1", 0xa8f244522a66b7c4u},
{"random 60 0.1 0.5 hermitian 3", 0x39e882f607fccb69u},
