# SPDX-License-Identifier: BSD-3-Clause
"""Programs of model predictive control at once, on the processor or wholly on a GPU.

    python mpc.py [PROGRAMS] [numpy|cupy|torch] [ALONE]

min x'Qx/2 with Ax = b, |x| <= 1: two masses on springs are pushed to rest from where each program
finds them.  A primal-dual interior-point method takes its steps for all programs together, each of
which stops when it is done.  Arrays are those of the module that is named; with CuPy, or PyTorch
where it has a GPU, values, right-hand sides and solutions never leave the GPU: what comes back in
each step is who is done.  Then the first ALONE programs (default 20) one after another, by single
factors in the same place.
"""

import sys
import time

import numpy as np
import scipy.sparse as sp

import pymetapack as mp

STEPS, STATES, CONTROLS, MOST = 20, 4, 2, 60


class Arrays:
    """A module, and how NumPy's arrays come to it."""

    def __init__(self, name):
        self.name = name
        if name == "cupy":
            import cupy as xp

            self.xp, self.put, self.wait = xp, xp.asarray, xp.cuda.Device().synchronize
        elif name == "torch":
            import torch as xp

            where = "cuda" if xp.cuda.is_available() else "cpu"
            self.xp, self.put = xp, lambda a: xp.as_tensor(a, device=where)
            self.wait = xp.cuda.synchronize if where == "cuda" else lambda: None
        else:
            self.xp, self.put, self.wait = np, np.asarray, lambda: None


class Programs:
    """What all of them share: Q's diagonal, A, and the matrix [Q + Sigma, A'; A, 0] of a step."""

    def __init__(self, arrays):
        F = [[0.9, 0.2, 0.05, 0], [-0.3, 0.95, 0.1, 0], [0.05, 0, 0.9, 0.2], [0.1, 0, -0.3, 0.95]]
        G = [[0.05, 0], [0.4, 0.1], [0, 0.05], [0.1, 0.4]]
        later = sp.eye(STEPS, k=-1)
        move = sp.hstack([sp.csr_matrix((STATES, CONTROLS)), sp.csr_matrix(F)])
        hold = sp.hstack([-sp.csr_matrix(G), sp.eye(STATES)])
        A = sp.csr_matrix(sp.kron(sp.eye(STEPS), hold) - sp.kron(later, move))
        q = np.tile([0.1] * CONTROLS + [1.0] * STATES, STEPS)
        K = sp.csr_matrix(sp.bmat([[sp.diags(q), A.T], [A, None]]))
        K.sort_indices()
        rows = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
        self.vars, self.rows = len(q), A.shape[0]
        self.K, self.arrays = K, arrays
        self.data, self.q, self.A = map(arrays.put, (K.data, q, A.toarray()))
        self.diagonal = arrays.put(np.flatnonzero((rows == K.indices) & (rows < self.vars)))

    def starts(self, count):
        """b: the state that each program begins with."""
        b = np.zeros((count, self.rows))
        b[:, :STATES] = 0.9 * np.sin(1 + 0.7 * np.arange(count)[:, None] + np.arange(STATES))
        return self.arrays.put(b)


def optimise(programs, b, step):
    """x of each program and the steps it took.  step(values, right, active) solves their systems."""
    xp, vars_ = programs.arrays.xp, programs.vars
    x = 0 * (b @ programs.A)
    y, low, high = 0 * b, x + 1, x + 1  # multipliers of Ax = b, -1 <= x, x <= 1
    taken = 0 * b[:, 0]
    values = programs.data + 0 * b[:, :1]
    for _ in range(MOST):
        below, above = 1 + x, 1 - x
        dual = programs.q * x + y @ programs.A
        primal = b - x @ programs.A.T
        mu = (low * below + high * above).sum(1) / (2 * vars_)
        worst = xp.maximum(xp.amax(abs(dual - low + high), 1), xp.amax(abs(primal), 1))
        active = ~((worst < 1e-8) & (mu < 1e-9))
        if not bool(active.any()):
            break
        mark, target = active[:, None], 0.1 * mu[:, None]
        values[:, programs.diagonal] = programs.q + low / below + high / above
        right = xp.concatenate([target * (1 / below - 1 / above) - dual, primal], 1)
        d = step(values, right, active)
        d = xp.where(mark, d, 0 * right)  # NaN of those that are done
        dx = d[:, :vars_]
        dlow = xp.where(mark, (target - low * dx) / below - low, 0 * x)
        dhigh = xp.where(mark, (target + high * dx) / above - high, 0 * x)
        least = 1 + 0 * x
        for value, change in ((below, dx), (above, -dx), (low, dlow), (high, dhigh)):
            falls = change < 0
            far = -0.99 * value / xp.where(falls, change, -value)
            least = xp.where(falls, xp.minimum(least, far), least)
        far = xp.amin(least, 1)[:, None]
        x, y = x + far * dx, y + far * d[:, vars_:]
        low, high = low + far * dlow, high + far * dhigh
        taken = taken + active
    return x, taken


def together(programs, b):
    """All at once; systems of programs that are done are left out."""
    factor = None

    def step(values, right, active):
        nonlocal factor
        if factor is None:
            factor = mp.ldl_batch(programs.K, values, keep=False)
        else:
            factor.refactorize(values, mask=active)
        x = factor.solve(right, mask=active)
        if 2 * factor.info["by_single"] > int(active.sum()):
            factor.learn()  # late steps' values want other pivots: a template of these
        return x

    return optimise(programs, b, step)


def alone(programs, b, factors):
    """One program, by a single factor that is kept for the next one."""

    def step(values, right, active):
        if not factors:
            there = {} if programs.arrays.name == "numpy" else {"device": gpu(values)}
            factors.append(mp.ldl(programs.K, **there))
        factors[0].refactor(values[0])
        return factors[0].solve(right[0])[None, :]

    return optimise(programs, b, step)


def gpu(a):
    return "cpu" if str(getattr(a, "device", "")) == "cpu" else "cuda"


def main(count=1000, module="numpy", few=20):
    arrays = Arrays(module)
    programs = Programs(arrays)
    xp, b = arrays.xp, programs.starts(count)
    together(programs, b[:2]), alone(programs, b[:1], [])  # what is loaded the first time
    times = []
    for _ in range(3):
        arrays.wait()
        begin = time.perf_counter()
        x, taken = together(programs, b)
        arrays.wait()
        times.append(time.perf_counter() - begin)
    few, factors, apart = min(few, count), [], 0.0
    begin = time.perf_counter()
    for k in range(few):
        one, own = alone(programs, b[k : k + 1], factors)
        apart = max(apart, float(abs(one - x[k : k + 1]).max()))
    arrays.wait()
    each = (time.perf_counter() - begin) / max(1, few)
    slack = float(abs(x @ programs.A.T - b).max())
    print(f"{count} programs, order {programs.K.shape[0]}, {int(taken.min())} to {int(taken.max())} steps, "
          f"{module}")  # fmt: skip
    print(f"together    {1e3 * min(times):9.1f} ms, {1e6 * min(times) / count:8.1f} us each")
    print(f"one by one  {1e3 * each * count:9.1f} ms, {1e6 * each:8.1f} us each ({few} of them)")
    print(f"gain {each * count / min(times):.1f}, apart by {apart:.0e}, |Ax - b| {slack:.0e}")
    return int(taken.max()), apart, slack, each * count / min(times), bool(xp.amax(abs(x)) <= 1)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 1000, given[1] if len(given) > 1 else "numpy",
         int(given[2]) if len(given) > 2 else 20)  # fmt: skip
