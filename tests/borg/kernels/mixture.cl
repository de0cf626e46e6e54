/* SPDX-License-Identifier: BSD-3-Clause */
/* A mixture of everything: private and __local arrays, reductions, pointers to pointers. */
static double sq(double x) { return x * x; }
__kernel void f(__global double *p, __global const int *cnt, int m, __global double **lst) {
  double x = p[get_group_id() * WG_SIZE + get_local_id()];
  int n = cnt[get_group_id()];
  __local double d[WG_SIZE + 2];
  d[get_local_id()] = x;
  d[WG_SIZE] = x + 1;
  double s = 0;
  for (int i = 0; i < n; ++i) { s += x * d[i]; if (s > 10.0) break; if (i == 2) continue; s += 1; }
  int k = get_local_id();
  while (k < m) { x = x + s; k += 2; }
  if (n > 3) { x = sq(x) + 1; x *= 2; x = x > 3 && s < 100 ? x : s; x += lst[get_group_id()][get_local_id()]; x += 1; x += 2; }
  int piv = work_group_reduce_max_index(fabs(x));
  double top = shuffle(x, piv);
  do { x = x * 0.5; } while (any(x > 1));
  double arr[4] = {1, 2, x};
  arr[get_local_id() % 4] += top;
  arr[piv & 3] = arr[n & 3] + d[WG_SIZE + 1];
  p[get_group_id() * WG_SIZE + get_local_id()] = x + top + arr[0] + arr[3] + work_group_reduce_sum(x) + d[WG_SIZE];
}
