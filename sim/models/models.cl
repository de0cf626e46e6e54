/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels that `metapack accelerators` knows by name, as the systolic programs of the same name compute
 * them; work-item i holds row i. */
#define N WG_SIZE
#define LANE get_local_id()
#define GROUP get_group_id()

/* L D L^T of a symmetric matrix, without pivoting, L below and D on the diagonal. */
__kernel void ldlt(__global double *a) {
    double row[N];
    for (int j = 0; j < N; ++j) row[j] = a[GROUP * (N * N) + LANE * N + j];
    for (int k = 0; k < N; ++k) {
        double d = shuffle(row[k], k);
        double l = row[k];
        for (int j = k + 1; j < N; ++j) {
            double u = shuffle(row[j], k) / d;
            if (LANE > k) row[j] -= l * u;
        }
        if (LANE > k) row[k] = l / d;
    }
    for (int j = 0; j < N; ++j)
        if (j <= LANE) a[GROUP * (N * N) + LANE * N + j] = row[j];
}

/* Two triangular solves, L x = b and U y = d, both lower. */
__kernel void trsv(__global const double *l, __global const double *u, __global double *b,
                   __global double *d) {
    double x = b[GROUP * N + LANE];
    double y = d[GROUP * N + LANE];
    double p = l[GROUP * (N * N) + LANE * (N + 1)];
    double q = u[GROUP * (N * N) + LANE * (N + 1)];
    for (int k = 0; k < N; ++k) {
        double s = shuffle(x, k) / shuffle(p, k);
        double t = shuffle(y, k) / shuffle(q, k);
        if (LANE > k) {
            x -= l[GROUP * (N * N) + LANE * N + k] * s;
            y -= u[GROUP * (N * N) + LANE * N + k] * t;
        }
        x = LANE == k ? s : x;
        y = LANE == k ? t : y;
    }
    b[GROUP * N + LANE] = x;
    d[GROUP * N + LANE] = y;
}

/* C -= A W */
__kernel void gemm(__global const double *a, __global const double *w, __global double *c) {
    double z[N];
    for (int j = 0; j < N; ++j) z[j] = c[GROUP * (N * N) + LANE * N + j];
    for (int k = 0; k < N; ++k) {
        double x = a[GROUP * (N * N) + LANE * N + k];
        double y = w[GROUP * (N * N) + k * N + LANE];
        for (int j = 0; j < N; ++j) z[j] -= x * shuffle(y, j);
    }
    for (int j = 0; j < N; ++j) c[GROUP * (N * N) + LANE * N + j] = z[j];
}
