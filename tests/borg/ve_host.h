/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BORG_VE_HOST_H
#define TESTS_BORG_VE_HOST_H
/** The intrinsics of velintrin.h that the backend `ve` emits, as C for any processor (BORG_HOST):
 *  256 lanes of 64 bits, a length with each instruction, mask registers. Lanes at and beyond the
 *  length have a pattern that spoils whatever uses it. VE_BUSY counts, for each kind of unit, the
 *  instructions and the cycles that they keep it busy, and tells them at the end: bench/borg_ve.py.
 *
 *  No SX-Aurora has run beside it: an intrinsic does what its name says, as LLVM's and NCC's
 *  documentation list them; what an operation does is told where it is not plain. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- registers: a new one for each value, freed by host_ve_reset ----------------------------- */

typedef const uint64_t *__vr;
typedef struct __vm256 {
    uint64_t word[4];
} __vm256;

static struct {
    uint64_t **block, *at;
    size_t blocks, left, used;
} host_ve;

enum { HOST_VE_BLOCK = 1 << 17 };

static inline __attribute__((unused)) void host_ve_reset(void) {
    host_ve.used = host_ve.left = 0;
}

static inline uint64_t *host_ve_new(void) {
    if (host_ve.left == 0) {
        if (host_ve.used == host_ve.blocks) {
            host_ve.block = realloc(host_ve.block, ++host_ve.blocks * sizeof *host_ve.block);
            host_ve.block[host_ve.used] = malloc(HOST_VE_BLOCK * sizeof(uint64_t));
            if (!host_ve.block[host_ve.used]) abort();
        }
        host_ve.at = host_ve.block[host_ve.used++];
        host_ve.left = HOST_VE_BLOCK / 256;
    }
    uint64_t *made = host_ve.at;
    host_ve.at += 256, --host_ve.left;
    memset(made, 0xa5, 256 * sizeof *made);
    return made;
}

/* ---- what a run costs ------------------------------------------------------------------------ */

enum host_ve_unit { VE_FMA, VE_ALU, VE_DIV, VE_LOAD, VE_STORE, VE_MOVE, VE_MASK, VE_UNITS };
#ifdef VE_BUSY
#include <stdio.h>
static uint64_t host_ve_busy[VE_UNITS], host_ve_count[VE_UNITS], host_ve_groups;
static __attribute__((destructor)) void host_ve_tell(void) {
    fprintf(stderr, "ve groups %llu", (unsigned long long)host_ve_groups);
    for (int k = 0; k < VE_UNITS; ++k)
        fprintf(stderr, " %llu:%llu", (unsigned long long)host_ve_count[k],
                (unsigned long long)host_ve_busy[k]);
    fputc('\n', stderr);
}
/* per: lanes of the unit in a cycle */
#define BUSY(unit, n, per)                                                                         \
    (host_ve_busy[unit] += (uint64_t)(((n) + (per)-1) / (per)), ++host_ve_count[unit])
#else
#define BUSY(unit, n, per) ((void)(n))
#endif
#define VEL static inline __attribute__((unused))

/* ---- lanes ----------------------------------------------------------------------------------- */

VEL double host_f64(uint64_t x) {
    double y;
    memcpy(&y, &x, 8);
    return y;
}
VEL uint64_t host_of_f64(double x) {
    uint64_t y;
    memcpy(&y, &x, 8);
    return y;
}
VEL float host_f32(uint64_t x) {
    const uint32_t z = (uint32_t)(x >> 32);
    float y;
    memcpy(&y, &z, 4);
    return y;
}
VEL uint64_t host_of_f32(float x) {
    uint32_t y;
    memcpy(&y, &x, 4);
    return (uint64_t)y << 32;
}
VEL bool host_bit(__vm256 m, int i) {
    return m.word[i / 64] >> i % 64 & 1;
}

/* lists of macros without semicolons: the formatter takes them for one declaration */
/* clang-format off */
#define EACH(unit, per, e)                                                                         \
    uint64_t *z = host_ve_new();                                                                   \
    BUSY(unit, n, per);                                                                            \
    for (int i = 0; i < n; ++i) z[i] = (e);                                                        \
    return z;
/* x, y: lanes, or a scalar first */
#define TWO(name, unit, per, S, of, e)                                                             \
    VEL __vr _vel_##name##_vvvl(__vr a, __vr b, int n){                                            \
        EACH(unit, per, (of(a[i], b[i], e)))} VEL __vr _vel_##name##_vsvl(S s, __vr b, int n) {    \
        EACH(unit, per, (of##S(s, b[i], e)))                                                       \
    }
#define LINE32 32
#define AS_INT(a, b, e) host_int_##e(a, b)
#define AS_INTuint64_t(a, b, e) host_int_##e(a, b)
#define AS_F64(a, b, e) host_of_f64(host_real_##e(host_f64(a), host_f64(b)))
#define AS_F64double(a, b, e) host_of_f64(host_real_##e(a, host_f64(b)))
#define AS_F32(a, b, e) host_of_f32(host_single_##e(host_f32(a), host_f32(b)))
#define AS_F32float(a, b, e) host_of_f32(host_single_##e(a, host_f32(b)))
#define REAL(name, e)                                                                              \
    VEL double host_real_##name(double x, double y) {                                              \
        return e;                                                                                  \
    }                                                                                              \
    VEL float host_single_##name(float x, float y) {                                               \
        return (float)(e);                                                                         \
    }
REAL(add, x + y)
REAL(sub, x - y)
REAL(mul, x *y) REAL(div, x / y)
    /* of a comparison: a number whose sign, or that it is none, tells */
    REAL(cmp, x != x || y != y ? x + y
              : x > y          ? 1
              : x < y          ? -1
                               : 0)
#define INT(name, e)                                                                               \
    VEL uint64_t host_int_##name(uint64_t x, uint64_t y) {                                         \
        return e;                                                                                  \
    }
        INT(add, x + y) INT(sub, x - y) INT(mul, x *y) INT(and, x &y) INT(or, x | y) INT(
            xor, x ^ y) INT(udiv, x / y) INT(sdiv, (uint64_t)((int64_t)x /
                                                              (int64_t)y)) INT(ucmp,
                                                                               x > y   ? 1
                                                                               : x < y ? UINT64_MAX
                                                                                       : 0)
            INT(scmp,
                (int64_t)x >
                        (int64_t)y
                    ? 1
                : (int64_t)x <
                        (int64_t)y
                    ? UINT64_MAX
                    : 0) TWO(vfaddd, VE_FMA, 32, double, AS_F64,
                             add) TWO(vfadds, VE_FMA, 32, float, AS_F32,
                                      add) TWO(vfsubd, VE_FMA, 32, double, AS_F64,
                                               sub) TWO(vfsubs, VE_FMA, 32, float, AS_F32, sub)
                TWO(vfmuld, VE_FMA, 32, double, AS_F64, mul) TWO(
                    vfmuls,
                    VE_FMA,
                    32,
                    float, AS_F32,
                    mul) TWO(vfdivd, VE_DIV, 4, double, AS_F64,
                             div) TWO(vfdivs, VE_DIV, 4, float, AS_F32,
                                      div) TWO(vfcmpd, VE_FMA, 32, double, AS_F64,
                                               cmp) TWO(vfcmps, VE_FMA, 32, float, AS_F32, cmp)
                    TWO(vaddul, VE_ALU, 32, uint64_t, AS_INT,
                        add) TWO(vsubul, VE_ALU, 32, uint64_t, AS_INT,
                                 sub) TWO(vmulul, VE_ALU, 32, uint64_t, AS_INT,
                                          mul) TWO(vand, VE_ALU, 32, uint64_t, AS_INT,
                                                   and) TWO(vor, VE_ALU, 32, uint64_t, AS_INT, or)
                        TWO(vxor, VE_ALU, 32, uint64_t, AS_INT,
                            xor) TWO(vdivul, VE_DIV, 1, uint64_t, AS_INT,
                                     udiv) TWO(vdivsl, VE_DIV, 1, uint64_t, AS_INT,
                                               sdiv) TWO(vcmpul, VE_ALU, 32, uint64_t, AS_INT,
                                                         ucmp) TWO(vcmpsl, VE_ALU, 32, uint64_t,
                                                                   AS_INT,
                                                                   scmp)
/* under a mask; the others' lanes are p's */
#define UNDER(name, unit, of, e)                                                                   \
    VEL __vr _vel_##name##_vvvmvl(__vr a, __vr b, __vm256 m, __vr p, int n) {                      \
        EACH(unit, 32, (host_bit(m, i) ? of(a[i], b[i], e) : p[i]))                                \
    }
                            UNDER(vfaddd, VE_FMA, AS_F64, add) UNDER(vfadds, VE_FMA, AS_F32, add)
                                UNDER(vaddul, VE_ALU, AS_INT,
                                      add) UNDER(vor, VE_ALU, AS_INT,
                                                 or) UNDER(vand, VE_ALU, AS_INT,
                                                           and) UNDER(vxor, VE_ALU, AS_INT, xor)
/* the first operand is what is added */
#define FUSED(name, T, f, e)                                                                       \
    VEL __vr _vel_##name##_vvvvl(__vr c, __vr a, __vr b, int n) {                                  \
        EACH(VE_FMA, 32,                                                                           \
             (host_of_##f(__builtin_fma##T(host_##f(a[i]), host_##f(b[i]), e host_##f(c[i])))))    \
    }
                                    FUSED(vfmadd, , f64,
                                          +) FUSED(vfmads, f, f32, +)
                                        FUSED(vfmsbd, , f64,
                                              -) FUSED(vfmsbs, f, f32, -)
#define ONE(name, unit, per, e)                                                                    \
    VEL __vr _vel_##name##_vvl(__vr x, int n) {                                                    \
        EACH(unit, per, e)                                                                         \
    }
                                            ONE(vfsqrtd, VE_DIV, 4,
                                                (host_of_f64(__builtin_sqrt(host_f64(x[i])))))
                                                ONE(vfsqrts, VE_DIV, 4,
                                                    (host_of_f32(__builtin_sqrtf(host_f32(x[i])))))
                                                    ONE(vcvtdl, VE_FMA, 32,
                                                        (host_of_f64((double)(int64_t)x[i])))
                                                        ONE(vcvtsd, VE_FMA, 32,
                                                            (host_of_f32((float)host_f64(x[i]))))
                                                            ONE(vcvtds, VE_FMA, 32,
                                                                (host_of_f64((double)host_f32(
                                                                    x[i])))) VEL uint64_t
    host_sra(uint64_t x, uint64_t y) {
    return (uint64_t)((int64_t)x >> (y & 63));
}
#define SHIFT(name, e)                                                                             \
    VEL __vr _vel_##name##_vvvl(__vr a, __vr b, int n){EACH(                                       \
        VE_ALU, 32, (e(a[i], b[i])))} VEL __vr _vel_##name##_vvsl(__vr a, uint64_t s, int n) {     \
        EACH(VE_ALU, 32, (e(a[i], s)))                                                             \
    }
#define HOST_SLL(x, y) ((x) << ((y)&63))
#define HOST_SRL(x, y) ((x) >> ((y)&63))
SHIFT(vsll, HOST_SLL)
SHIFT(vsrl, HOST_SRL)
SHIFT(vsral, host_sra)

/* ---- masks ----------------------------------------------------------------------------------- */

#define MASK(name, unit, e)                                                                        \
    VEL __vm256 _vel_##name##_mvl(__vr a, int n) {                                                 \
        __vm256 z = {{0, 0, 0, 0}};                                                                \
        BUSY(unit, n, 32);                                                                         \
        for (int i = 0; i < n; ++i) z.word[i / 64] |= (uint64_t)(e) << i % 64;                     \
        return z;                                                                                  \
    }
#define MASKS(type, value)                                                                         \
    MASK(vfmk##type##lt, VE_ALU, value < 0)                                                        \
    MASK(vfmk##type##le, VE_ALU, value <= 0)                                                       \
    MASK(vfmk##type##gt, VE_ALU, value > 0) MASK(vfmk##type##ge, VE_ALU, value >= 0)               \
        MASK(vfmk##type##eq, VE_ALU, value == 0)
    MASKS(l, (int64_t)a[i]) MASKS(d, host_f64(a[i])) MASKS(s, host_f32(a[i]))
        MASK(vfmklne, VE_ALU, a[i] != 0) MASK(vfmkdnenan, VE_ALU, host_f64(a[i]) != 0)
            MASK(vfmksnenan, VE_ALU, host_f32(a[i]) != 0)
#define LOGIC(name, e)                                                                             \
    VEL __vm256 _vel_##name##_mmm(__vm256 x, __vm256 y) {                                          \
        __vm256 z;                                                                                 \
        BUSY(VE_MASK, 1, 1);                                                                       \
        for (int i = 0; i < 4; ++i) z.word[i] = (e);                                               \
        return z;                                                                                  \
    }
                LOGIC(andm, x.word[i] & y.word[i]) LOGIC(orm, x.word[i] | y.word[i])
                    LOGIC(xorm, x.word[i] ^ y.word[i])
                        LOGIC(nndm, ~x.word[i] & y.word[i]) VEL __vm256 _vel_negm_mm(__vm256 x) {
    BUSY(VE_MASK, 1, 1);
    for (int i = 0; i < 4; ++i) x.word[i] = ~x.word[i];
    return x;
}
VEL uint64_t _vel_pcvm_sml(__vm256 m, int n) {
    uint64_t count = 0;
    BUSY(VE_MASK, 1, 1);
    for (int i = 0; i < n; ++i) count += host_bit(m, i);
    return count;
}
/* where the mask is 1 the second one */
VEL __vr _vel_vmrg_vvvml(__vr x, __vr y, __vm256 m,
                         int n){EACH(VE_ALU, 32, (host_bit(m, i) ? y[i] : x[i]))}

/* ---- between lanes: a lane in a cycle -------------------------------------------------------- */

VEL __vr _vel_vmv_vsvl(int shift, __vr x, int n){EACH(VE_MOVE, 1, x[(i + shift) & 255])} VEL __vr
    _vel_vmv_vsvmvl(int shift, __vr x, __vm256 m, __vr p, int n){
        EACH(VE_MOVE, 1, (host_bit(m, i) ? x[(i + shift) & 255] : p[i]))} VEL __vr
    _vel_vbrdl_vsl(int64_t s, int n){EACH(VE_ALU, 32, (uint64_t)s)} VEL __vr
    _vel_vbrdd_vsl(double s, int n){EACH(VE_ALU, 32, host_of_f64(s))} VEL __vr
    _vel_vbrds_vsl(float s, int n){EACH(VE_ALU, 32, host_of_f32(s))} VEL uint64_t
    _vel_lvsl_svs(__vr x, int i) {
    BUSY(VE_MOVE, 1, 1);
    return x[i];
}
VEL double _vel_lvsd_svs(__vr x, int i) {
    BUSY(VE_MOVE, 1, 1);
    return host_f64(x[i]);
}
VEL float _vel_lvss_svs(__vr x, int i) {
    BUSY(VE_MOVE, 1, 1);
    return host_f32(x[i]);
}

/* ---- memory: 16 lanes in a cycle at distances that memory likes, a lane where they are gathered - */

VEL uint64_t host_get8(const char *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}
VEL uint64_t host_get4(const char *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}
VEL uint64_t host_getu(const char *p) {
    return host_get4(p) << 32;
}
VEL void host_put8(char *p, uint64_t x) {
    memcpy(p, &x, 8);
}
VEL void host_put4(char *p, uint64_t x) {
    const uint32_t y = (uint32_t)x;
    memcpy(p, &y, 4);
}
VEL void host_putu(char *p, uint64_t x) {
    host_put4(p, x >> 32);
}
#define LANE_AT ((char *)p + (int64_t)step * i)
#define LANE_OF ((char *)(uintptr_t)at[i])
#define MEMORY(load, store, gather, scatter, get, put)                                             \
    VEL __vr _vel_##load##_vssl(uint64_t step, void *p, int n){                                    \
        EACH(VE_LOAD, 16, get(LANE_AT))} VEL void _vel_##store##_vssl(__vr x, uint64_t step,       \
                                                                      void *p, int n) {            \
        BUSY(VE_STORE, n, 16);                                                                     \
        for (int i = 0; i < n; ++i) put(LANE_AT, x[i]);                                            \
    }                                                                                              \
    VEL void _vel_##store##_vssml(__vr x, uint64_t step, void *p, __vm256 m, int n) {              \
        BUSY(VE_STORE, n, 16);                                                                     \
        for (int i = 0; i < n; ++i)                                                                \
            if (host_bit(m, i)) put(LANE_AT, x[i]);                                                \
    }                                                                                              \
    VEL __vr _vel_##gather##_vvssl(__vr at, uint64_t y, uint64_t w, int n) {                       \
        (void)y, (void)w;                                                                          \
        EACH(VE_MOVE, 1, get(LANE_OF))                                                             \
    }                                                                                              \
    VEL __vr _vel_##gather##_vvssmvl(__vr at, uint64_t y, uint64_t w, __vm256 m, __vr p, int n) {  \
        (void)y, (void)w;                                                                          \
        EACH(VE_MOVE, 1, (host_bit(m, i) ? get(LANE_OF) : p[i]))                                   \
    }                                                                                              \
    VEL void _vel_##scatter##_vvssl(__vr x, __vr at, uint64_t y, uint64_t w, int n) {              \
        (void)y, (void)w;                                                                          \
        BUSY(VE_MOVE, n, 1);                                                                       \
        for (int i = 0; i < n; ++i) put(LANE_OF, x[i]);                                            \
    }                                                                                              \
    VEL void _vel_##scatter##_vvssml(__vr x, __vr at, uint64_t y, uint64_t w, __vm256 m, int n) {  \
        (void)y, (void)w;                                                                          \
        BUSY(VE_MOVE, n, 1);                                                                       \
        for (int i = 0; i < n; ++i)                                                                \
            if (host_bit(m, i)) put(LANE_OF, x[i]);                                                \
    }
MEMORY(vld, vst, vgt, vsc, host_get8, host_put8)
MEMORY(vldu, vstu, vgtu, vscu, host_getu, host_putu)
MEMORY(vldlzx, vstl, vgtlzx, vscl, host_get4, host_put4)
/* clang-format on */

#endif
