/* SPDX-License-Identifier: BSD-3-Clause */
/* The LDU factorization of the thesis of 2021, without pivoting: a work-item for each row. */
__kernel
void ldus_generic(double * mat_a) {
 double t_mat_a[get_local_size()];
 double t_piv_row[get_local_size()];
 for(int ix = 0; ix < get_local_size(); ix += 1) {
  t_mat_a[ix] = mat_a[get_group_id() * (get_local_size() * get_local_size()) + get_local_id() * get_local_size() + ix];
 }
 for(int s = 0; s < get_local_size(); s += 1) {
  for(int ix = s; ix < get_local_size(); ix += 1)
   t_piv_row[ix] = shuffle(t_mat_a[ix], s);
  if(get_local_id() > s)
   t_mat_a[s] = t_mat_a[s] / t_piv_row[s];
  for(int ix = s + 1; ix < get_local_size(); ix += 1) {
   if(get_local_id() >= s) {
    t_mat_a[ix] = (get_local_id() == s ? (t_mat_a[ix] / t_piv_row[s]) : (t_mat_a[ix] - t_mat_a[s] * t_piv_row[ix]));
   }
  }
 }
 for(int ix = 0; ix < get_local_size(); ix += 1) {
  mat_a[get_group_id() * (get_local_size() * get_local_size()) + get_local_id() * get_local_size() + ix] = t_mat_a[ix];
 }
}
