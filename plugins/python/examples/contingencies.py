# SPDX-License-Identifier: BSD-3-Clause
"""Power flow with each line of a network out of service in turn, all cases at once.

    python contingencies.py [BUSES]

Fast decoupled load flow (Stott & Alsac 1974): two symmetric matrices of one pattern for all cases,
B' for the angles and B'' for the voltages, factorized once; a line that is out has the value 0.
Each case stops when its mismatch is small; a mask leaves it out from then on.  A case that cuts the
network in two has a singular B', and is told so.  The answers are checked by the power that flows,
and against the same cases solved one after another.
"""

import sys
import time
import warnings

import numpy as np
import pymetapack as mp
import scipy.sparse as sp


class Network:
    """Lines (from, to, admittance), injections, and which buses hold their voltage; bus 0 is slack."""

    def __init__(self, buses, seed=0):
        rng = np.random.default_rng(seed)
        ring = np.arange(buses - 1)
        near = rng.integers(2, 12, buses // 2)
        start = rng.integers(0, buses - 13, buses // 2)
        pairs = {(a, a + 1) for a in ring} | set(zip(start.tolist(), (start + near).tolist()))
        pairs = np.array(sorted(pairs))  # without a line back: some lines are the only way
        self.n, self.m = buses, len(pairs)
        self.a, self.b = pairs.T
        x = 0.01 + 0.02 * rng.random(self.m)
        self.y = 1 / (0.15 * x + 1j * x)
        self.charging = 0.02 * rng.random(self.m)
        self.holds = rng.random(buses) < 0.3
        self.holds[0] = True
        self.p = np.where(self.holds, 0.6, -0.3) * rng.random(buses)
        self.q = -0.01 * rng.random(buses)
        self.v = np.where(self.holds, 1.02, 1.0)
        every = np.arange(self.m)
        self.incidence = [
            sp.csr_array((np.ones(self.m), (every, end)), (self.m, buses)) for end in (self.a, self.b)
        ]

    def power(self, v, on):
        """Complex power that each bus takes from the network; v (cases, n), on (cases, m)."""
        va, vb = v[:, self.a], v[:, self.b]
        half = 0.5j * self.charging
        ia = on * (self.y * (va - vb) + half * va)
        ib = on * (self.y * (vb - va) + half * vb)
        return (va * ia.conj()) @ self.incidence[0] + (vb * ib.conj()) @ self.incidence[1]

    def matrices(self, on, weight, diagonal, buses):
        """The pattern of sum of lines' weights on some buses, and values of each case."""
        place = np.full(self.n, -1)
        place[buses] = np.arange(len(buses))
        i, j = place[self.a], place[self.b]
        both = (i >= 0) & (j >= 0)
        size = len(buses)
        shape = (size, size)
        rows = np.concatenate([np.maximum(i, j)[both], np.arange(size)])
        cols = np.concatenate([np.minimum(i, j)[both], np.arange(size)])
        A = sp.coo_array((np.arange(len(rows)) + 1.0, (rows, cols)), shape).tocsc()
        order = A.data.astype(int) - 1  # of the values by columns
        ends = [end[:, buses] for end in self.incidence]
        on_diagonal = (on * weight) @ ends[0] + (on * weight) @ ends[1] + diagonal
        values = np.concatenate([-(on * weight)[:, both], on_diagonal], axis=1)[:, order]
        return sp.csc_array((values[0], A.indices, A.indptr), shape=shape), values


def cases_of(net):
    """Which lines are in service: all of them, then each one out."""
    return np.vstack([np.ones(net.m), 1 - np.eye(net.m)])


def flow(net, on, solvers, most=60):
    """Voltages, and the steps of each case; solvers: functions of right-hand sides and a mask."""
    free, loads = np.arange(1, net.n), np.flatnonzero(~net.holds)
    size, angle = np.tile(net.v, (len(on), 1)), np.zeros((len(on), net.n))
    steps, going = np.zeros(len(on), int), np.ones(len(on), bool)
    for _ in range(most):
        for solve, rows, target, part in (
            (solvers[0], free, angle, "real"), (solvers[1], loads, size, "imag"),
        ):  # fmt: skip
            gap = (net.p + 1j * net.q) - net.power(size * np.exp(1j * angle), on)
            error = np.maximum(
                np.abs(gap.real[:, free]).max(1), np.abs(gap.imag[:, loads]).max(1)
            )
            going &= ~(error < 1e-10) & (error < 1e3)
            right = getattr(gap, part)[:, rows] / size[:, rows]
            found = solve(right, going)
            going &= np.isfinite(found).all(1) | ~going
            target[np.ix_(going, rows)] += found[going]
        steps += going
        if not going.any():
            break
    return size * np.exp(1j * angle), steps, error


def main(buses=120):
    net = Network(buses)
    on = cases_of(net)
    free, loads = np.arange(1, net.n), np.flatnonzero(~net.holds)
    line, shunt = 1 / (1 / net.y).imag, np.zeros((len(on), net.n))
    for end in net.incidence:
        shunt -= (on * net.charging) @ end
    pair = [
        net.matrices(on, line, 0.0, free),
        net.matrices(on, -net.y.imag, shunt[:, loads], loads),
    ]

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.MetapackWarning)  # cases in two parts: see status
        at_once = [mp.ldl_batch(A, values, lower=True) for A, values in pair]
        cut = at_once[0].status != 0

        def solver(f):
            return lambda b, mask: f.solve(b, mask=mask & ~cut)

        v, steps, error = flow(net, on, [solver(f) for f in at_once])
    together = time.process_time() - start

    start = time.process_time()
    alone = np.empty_like(v)
    for k in np.flatnonzero(~cut):
        each = [
            mp.ldl(sp.csc_matrix((values[k], A.indices, A.indptr), A.shape), lower=True)
            for A, values in pair
        ]
        one = [lambda b, mask, f=f: f.solve(b[0])[None] for f in each]
        alone[k] = flow(net, on[k : k + 1], one)[0][0]
    in_turn = time.process_time() - start

    # a line is cut off where its ends are in two parts without it
    for k in range(1, len(on)):
        left = sp.csr_array((on[k], (net.a, net.b)), (net.n, net.n))
        left.eliminate_zeros()
        assert (sp.csgraph.connected_components(left, directed=False)[0] > 1) == cut[k]
    good = ~cut & (error < 1e-10)
    if not good.any():
        raise SystemExit(f"no power flows so far: fewer buses than {buses} are wanted")
    assert np.abs(v - alone)[good].max() < 1e-8
    worst = int(np.argmin(np.where(good, np.abs(v).min(1), 9)))
    print(f"{net.n} buses, {len(on)} cases, {int(cut.sum())} of them cut the network in two, "
          f"{int((~cut & ~good).sum())} have no flow")  # fmt: skip
    print(f"{steps[good].min()} to {steps[good].max()} steps; voltages are lowest, "
          f"{np.abs(v[worst]).min():.4f}, without line {net.a[worst - 1]} - {net.b[worst - 1]}")  # fmt: skip
    print(f"together {together:.2f} s, one after another {in_turn:.2f} s of the processor's time, "
          f"{len(on) - at_once[0].info['by_single']} cases by the template")  # fmt: skip
    return v, cut, good


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
