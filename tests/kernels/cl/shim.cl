/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels' language has and OpenCL C 1.2 has not: exchange between the work-items of a group, through
 * local memory and barriers. The test puts the declaration of shim_memory into each kernel, gives it to each function
 * as one more argument, and leaves the source as it is otherwise. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define SHIM_LANE ((int)get_local_id(0))
#define SHIM_DEFINE(type, lowest, highest)                                                         \
    __attribute__((overloadable)) type shim_shuffle(type x, int lane, __local double *memory)      \
    {                                                                                              \
        __local type *v = (__local type *)memory;                                                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        v[SHIM_LANE] = x;                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        return v[min((uint)lane, (uint)(WG_SIZE - 1))];                                            \
    }                                                                                              \
    __attribute__((overloadable)) int shim_max_index(type x, __local double *memory)               \
    {                                                                                              \
        __local type *v = (__local type *)memory;                                                  \
        int at = 0;                                                                                \
        type most = lowest;                                                                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        v[SHIM_LANE] = x;                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (int i = 0; i < WG_SIZE; i++)                                                          \
            if (v[i] > most) {                                                                     \
                most = v[i];                                                                       \
                at = i;                                                                            \
            }                                                                                      \
        return at;                                                                                 \
    }                                                                                              \
    __attribute__((overloadable)) type shim_max(type x, __local double *memory)                    \
    {                                                                                              \
        __local type *v = (__local type *)memory;                                                  \
        type most = lowest;                                                                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        v[SHIM_LANE] = x;                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (int i = 0; i < WG_SIZE; i++)                                                          \
            if (v[i] > most) most = v[i];                                                          \
        return most;                                                                               \
    }                                                                                              \
    __attribute__((overloadable)) type shim_sum(type x, __local double *memory)                    \
    {                                                                                              \
        __local type *v = (__local type *)memory;                                                  \
        int h = 1;                                                                                 \
        while (h < WG_SIZE)                                                                        \
            h *= 2;                                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        v[SHIM_LANE] = x;                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        type w[WG_SIZE];                                                                           \
        for (int i = 0; i < WG_SIZE; i++)                                                          \
            w[i] = v[i];                                                                           \
        for (h /= 2; h > 0; h /= 2)                                                                \
            for (int i = 0; i < h; i++)                                                            \
                if (i + h < WG_SIZE) w[i] += w[i + h];                                             \
        return w[0];                                                                               \
    }

SHIM_DEFINE(double, -INFINITY, INFINITY)
SHIM_DEFINE(float, -INFINITY, INFINITY)
SHIM_DEFINE(int, INT_MIN, INT_MAX)
SHIM_DEFINE(uint, 0, UINT_MAX)

__attribute__((overloadable)) uint magnitude(double x)
{
    return (uint)(as_ulong(x) >> 32) & 0x7fffffffu;
}
__attribute__((overloadable)) uint magnitude(float x)
{
    return as_uint(x) & 0x7fffffffu;
}

/* tiles: by the definition */
#define SHIM_TILE(type)                                                                            \
    __attribute__((overloadable)) type shim_tile(type a, type b, type c, int e,                    \
                                                 __local double *memory)                           \
    {                                                                                              \
        for (int k = 0; k < 4; k++) {                                                              \
            type x = shim_shuffle(a, SHIM_LANE / 4 * 4 + k, memory);                               \
            type y = shim_shuffle(b, (SHIM_LANE % 4 * 2 + e) * 4 + k, memory);                     \
            c = fma(x, y, c);                                                                      \
        }                                                                                          \
        return c;                                                                                  \
    }
SHIM_TILE(double)
SHIM_TILE(float)

#define shuffle(x, lane) shim_shuffle(x, lane, shim_memory)
#define mma8x8x4(a, b, c, e) shim_tile(a, b, c, e, shim_memory)
#define work_group_reduce_max(x) shim_max(x, shim_memory)
#define work_group_reduce_sum(x) shim_sum(x, shim_memory)
#define work_group_reduce_max_index(x) shim_max_index(x, shim_memory)
#define any(c) (shim_max((c) ? 1 : 0, shim_memory) > 0)
#define all(c) (shim_max((c) ? 0 : 1, shim_memory) == 0)
#define rcp(x) ((T)1 / (x))
