/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench/borg/device.c needs on the device beside the kernels that it times. */

#define KERNEL extern "C" __global__ void

/* `words` of each of `count` groups, of which every `period`th is the same: how many are not, into
 * *found. Two groups of each period are left out. */
KERNEL differ(const unsigned *array, long long words, long long period, long long count, long long but, long long and_but,
              unsigned long long *found) {
    const long long step = (long long)gridDim.x * blockDim.x, all = words * count, length = words * period;
    for (long long i = length + (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {
        const long long k = i % length;
        if (array[i] != array[k] && k / words != but && k / words != and_but) atomicAdd(found, 1ull);
    }
}

static __device__ uint4 at(const uint4 *p, long long n, long long i) {
    return i < n ? p[i] : make_uint4(1, 2, 3, 4);
}

/* Reads two arrays and writes two, 16 bytes at a time, and does nothing else: no kernel that has to
 * do so takes less. What is read and not written is used, too, where a condition holds that
 * compilers cannot tell. */
KERNEL copy(const uint4 *x, long long nx, const uint4 *y, long long ny, uint4 *u, long long nu, uint4 *v, long long nv) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    uint4 a = at(x, nx, i), b = at(y, ny, i);
    a.x ^= b.x, a.y += b.y, a.z ^= b.z, a.w += b.w;
    if (i < nu)
        u[i] = a;
    else if ((a.x ^ a.y ^ a.z ^ a.w) == 0x12345u && i < nx)
        u[0] = a;
    if (i < nv) v[i] = a;
}

KERNEL empty() {}
