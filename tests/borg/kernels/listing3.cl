/* SPDX-License-Identifier: BSD-3-Clause */
/* Listing 3 of the thesis of 2021: its loop splits into three index sets. */
__kernel void f(__global float *p, int s) {
 float a[4], b[4], c[4];
 for (int i = 0; i < 4; ++i) { a[i] = p[get_local_id()*4+i]; b[i] = a[i]; c[i] = a[i]; }
for(int ix = 0; ix < 4; ++ix)
{
 a[ix] = a[ix] + 2 * (b[4 - ix - 1] + shuffle(c[ix], s));
 if(get_local_id() > s)
 b[ix / 2] += c[ix / 2];
}
 for (int i = 0; i < 4; ++i) p[get_local_id()*4+i] = a[i] + b[i];
}
