/* SPDX-License-Identifier: BSD-3-Clause */
/* info of a matrix that LDLT never breaks down at: its outcome and inertia, from `finite` and the
 * numbers `positive` and `zero`. */
if (LANE == 0) {
    info[4 * GROUP] = !finite ? 3 : zero > 0 ? 1 : 0;
    info[4 * GROUP + 1] = !finite ? 0 : positive;
    info[4 * GROUP + 2] = !finite ? 0 : N - positive - zero;
    info[4 * GROUP + 3] = !finite ? 0 : zero;
}
