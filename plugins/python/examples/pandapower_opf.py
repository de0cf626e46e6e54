# SPDX-License-Identifier: BSD-3-Clause
"""AC optimal power flow with pandapower: the KKT systems of its interior-point method.

    python pandapower_opf.py

pandapower hands each system to SciPy's ``spsolve``; here ``pymetapack.ldl`` takes its place, with
the matrices as they come, whose mirror images differ by rounding.  The optimum must be the same.
"""

import logging

import numpy as np
import pandapower
import pandapower.networks
from pandapower.pypower import pips

import pymetapack

logging.getLogger("pandapower").setLevel(logging.ERROR)  # it would advise numba
seen = []  # of each system: its inertia, and how far mirror images differ, relative to their rows


def spsolve(a, b):
    factor = pymetapack.ldl(a)
    gap, rows = abs(a - a.T).tocoo(), abs(a).max(axis=1).toarray().ravel()
    share = gap.data / np.maximum(rows[gap.row], rows[gap.col])
    seen.append((factor.inertia, share.max(initial=0.0)))
    return factor.solve(b)


def optimum(make):
    net = make()
    pandapower.runopp(net)
    return net.res_cost, net.res_bus.vm_pu.to_numpy()


def main():
    for make in (pandapower.networks.case9, pandapower.networks.case30, pandapower.networks.case118):
        cost, voltages = optimum(make)
        old, pips.spsolve = pips.spsolve, spsolve
        seen.clear()
        try:
            ours, others = optimum(make)
        finally:
            pips.spsolve = old
        inertia = seen[-1][0]
        print(f"{make.__name__}: cost {ours:.6f} (SuperLU: {cost:.6f}), {len(seen)} systems of "
              f"{sum(inertia)} rows, the last inertia {tuple(inertia)}, mirror images differ by up to "
              f"{max(gap for _, gap in seen):.1e}")  # fmt: skip
        assert len(seen) > 5 and abs(ours - cost) <= 1e-6 * abs(cost)
        assert np.abs(voltages - others).max() <= 1e-5
        assert inertia.zero == 0


if __name__ == "__main__":
    main()
