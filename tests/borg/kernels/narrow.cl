/* SPDX-License-Identifier: BSD-3-Clause */
/* char, short and half: loads, stores under a mask and by an index from memory, wrapping, saturating and rounding, exchanged. */
__kernel void narrow(__global char *c, __global uchar *u, __global short *s, __global const ushort *w, __global half *h, __global float *f,
                     __global double *d, int m)
{
    long i = get_group_id() * WG_SIZE + get_local_id();
    char x = c[i];
    unsigned char y = u[i];
    short z = s[i];
    half q = h[i];
    half a[3] = {0};
    x += y * 3;
    y <<= 1;
    ++z;
    z *= w[i];
    q = q * f[i] + d[i];
    a[1] = d[i];
    a[2] = (half)(f[i] * 1e-6f);
    for (int k = 0; k < 3; ++k) {
        short other = shuffle(z, k);
        if (get_local_id() != k)
            c[i] = (char)(x + other);
        a[k] -= shuffle(q, k);
    }
    u[i] = (uchar)(d[i] * 300);
    s[i] = x < 0 ? convert_short(f[i] * 1e6f) : z;
    h[i] = get_local_id() == 1 ? a[0] * a[1] : a[2];
    f[i] = (float)q + w[(i * 7 + m) % WG_SIZE] * (half)0.1;
    d[i] = isnan(q) ? 1 : max(x, y) + (z > 5 ? a[1] : 2);
}
