// SPDX-License-Identifier: BSD-3-Clause
// b = A x as figure 9.1 of the thesis of 2021 has it, in a kernel's head and braces. One kernel for warps of
// any size: borgc --emit=vrptx --sizes=any spmv.cl; in double: -Dfloat=double.
__kernel void spmv(__global const int *csr_row, __global const int *csr_col, __global const float *csr_val,
                   __global const float *x, __global float *b)
{
    float a_val, x_val, res;
    int a_ix, col;

    a_ix = csr_row[wid] + tid;
    a_val = csr_val[a_ix];
    col = csr_col[a_ix];
    x_val = x[col];
    res = a_val * x_val;

    for(int s = 1; s < ntids; s *= 2)
    {
        if(tid + s < ntids)
            res += shuffle_down(res, s);
    }

    if(tid == 0)
        b[wid] = res;
}
