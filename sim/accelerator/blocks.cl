/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the accelerator interface (metapack/accelerator.h) with static control flow: blocks of N x
 * N by rows, work-item i holds row i. The order of operations is that of mpk_accelerator_cpu(). A file of
 * the user's may have others of these names; parameters are found by name: block (block[0]), a, b
 * (block[1], block[2]), pivot, small, trouble, largest, and the names of the user's buffers. */
#define N WG_SIZE
#define LANE get_local_id()

/* L below, D on the diagonal; a pivot that is too small or not finite leaves the block as it was. */
__kernel void factorize(__global double **block, double small, __global int *trouble,
                        __global double *largest) {
    double row[N];
    double most = 0;
    int bad = 0;
    for (int j = 0; j < N; ++j) row[j] = block[get_group_id()][LANE * N + j];
    for (int k = 0; k < N; ++k) {
        double d = shuffle(row[k], k);
        double l = row[k];
        bool good = fabs(d) > small && d - d == 0;
        bad = bad == 0 && !good ? k + 1 : bad;
        for (int j = k + 1; j < N; ++j) {
            double u = shuffle(row[j], k) / d;
            if (LANE > k) row[j] -= l * u;
        }
        if (LANE > k) {
            row[k] = l / d;
            most = most != most || fabs(row[k]) <= most ? most : fabs(row[k]);
        }
    }
    for (int j = 0; j < N; ++j)
        if (bad == 0) block[get_group_id()][LANE * N + j] = row[j];
    double all = work_group_reduce_max(most);
    bool broken = any(most != most);
    if (LANE == 0) {
        trouble[get_group_id()] = bad;
        largest[get_group_id()] = broken ? (double)0 / 0 : all;
    }
}

/* Rows x of the block: (L D) x = row, forward. Work-item i has row i of the block, and of L D column by
 * column what it needs. */
__kernel void solve(__global double **block, __global const double **pivot,
                    __global double *largest) {
    double x[N];
    double most = 0;
    double d = pivot[get_group_id()][LANE * (N + 1)];
    for (int j = 0; j < N; ++j) x[j] = block[get_group_id()][LANE * N + j];
    for (int k = 0; k < N; ++k) {
        double own = shuffle(d, k);
        double m = pivot[get_group_id()][LANE * N + k] * own; /* L(i, k) D(k) in work-item i */
        x[k] = x[k] / own;
        most = most != most || fabs(x[k]) <= most ? most : fabs(x[k]);
        for (int j = k + 1; j < N; ++j) x[j] -= shuffle(m, j) * x[k];
    }
    for (int j = 0; j < N; ++j) block[get_group_id()][LANE * N + j] = x[j];
    double all = work_group_reduce_max(most);
    bool broken = any(most != most);
    if (LANE == 0) largest[get_group_id()] = broken ? (double)0 / 0 : all;
}

/* block -= a D b^T */
__kernel void downdate(__global double **block, __global const double **a,
                       __global const double **b, __global const double **pivot) {
    double c[N];
    for (int j = 0; j < N; ++j) c[j] = block[get_group_id()][LANE * N + j];
    for (int k = 0; k < N; ++k) {
        double l = a[get_group_id()][LANE * N + k];
        double w = pivot[get_group_id()][k * (N + 1)] * b[get_group_id()][LANE * N + k];
        for (int j = 0; j < N; ++j) c[j] -= l * shuffle(w, j);
    }
    for (int j = 0; j < N; ++j) block[get_group_id()][LANE * N + j] = c[j];
}

__kernel void transpose(__global double **block) {
    double row[N];
    for (int j = 0; j < N; ++j) row[j] = block[get_group_id()][LANE * N + j];
    for (int j = 0; j < N; ++j) block[get_group_id()][j * N + LANE] = row[j];
}

__kernel void zero_out(__global double **block) {
    for (int j = 0; j < N; ++j) block[get_group_id()][LANE * N + j] = 0;
}
