# SPDX-License-Identifier: BSD-3-Clause
"""A whole loop on a GPU with CuPy and PyTorch, against SciPy: to be run where there is one.

    PYTHONPATH=build/python python3 plugins/python/tests/device_check.py [--method ldlt,ildlt] [--n 12]

For each method that the device has, and for the processor's factor with arrays on the GPU: factors of
CuPy's and PyTorch's sparse matrices in all their formats and of all four types, new values by pointer
and by matrix, solutions of b's kind, shape and order, dense matrices by every method, streams of the arrays' makers, operators under
CuPy's own Krylov methods, wrong arrays.  Prints a line for each; exit code 1 if one is wrong, 77 if
there is no GPU.  METAPACK_CUDA_MODULE names the module, if it does not lie beside the library.
"""

import argparse
import sys
import time
import traceback

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import pymetapack as mp

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def matrix(n, dtype, seed=3):
    """A saddle point of n * n unknowns and n constraints, complex symmetric where dtype is complex."""
    rng = np.random.default_rng(seed)
    m = n * n
    grid = sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
    h = sp.kron(grid, sp.identity(n)) + sp.kron(sp.identity(n), grid) + sp.identity(m)
    if np.dtype(dtype).kind == "c":
        h = h + 0.3j * sp.diags(rng.standard_normal(m))
    b = sp.random(n, m, 0.1, random_state=5) + sp.eye(n, m)
    return sp.bmat([[h, b.T], [b, None]], format="csr").astype(dtype)


class Cupy:
    name = "cupy"

    def __init__(self):
        import cupy
        from cupyx.scipy import sparse

        self.cupy, self.sparse = cupy, sparse
        self.forms = {f: getattr(sparse, f"{f}_matrix") for f in ("csr", "csc", "coo")}

    def array(self, x, order="C"):
        return self.cupy.array(x, order=order)

    def host(self, x):
        assert isinstance(x, self.cupy.ndarray), type(x)
        return x.get()

    def matrix(self, a, form):
        return self.forms[form](a.asformat(form))

    def values(self, A):
        return A.data

    def by_columns(self, x):
        return x.flags.f_contiguous

    def by_rows(self, x):
        return x.flags.c_contiguous

    def busy(self, x):
        """x, written in a stream of its own, late."""
        stream = self.cupy.cuda.Stream(non_blocking=True)
        y = self.cupy.zeros_like(x)
        big = self.cupy.ones((3000, 3000), np.float32)
        self.cupy.cuda.Device().synchronize()
        with stream:
            for _ in range(20):
                big = big @ big * 1e-4
            y[...] = x
        return y, (stream, big)


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.torch = torch
        if not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")

    def array(self, x, order="C"):
        t = self.torch.as_tensor(np.ascontiguousarray(x)).cuda()
        return t.t().contiguous().t() if order == "F" and t.dim() == 2 else t

    def host(self, x):
        assert isinstance(x, self.torch.Tensor) and x.is_cuda, type(x)
        return x.resolve_conj().cpu().numpy()

    def matrix(self, a, form):
        torch = self.torch
        a = a.asformat(form)
        if form == "coo":
            at = np.vstack([a.row, a.col])
            return torch.sparse_coo_tensor(torch.as_tensor(at), torch.as_tensor(a.data), a.shape).cuda()
        make = torch.sparse_csr_tensor if form == "csr" else torch.sparse_csc_tensor
        parts = (torch.as_tensor(x.copy()).cuda() for x in (a.indptr, a.indices, a.data))
        return make(*parts, size=a.shape)

    def values(self, A):
        return A.values()

    def by_columns(self, x):
        return x.t().is_contiguous()

    def by_rows(self, x):
        return x.is_contiguous()

    def busy(self, x):
        torch = self.torch
        stream, y = torch.cuda.Stream(), torch.zeros_like(x)
        big = torch.ones((3000, 3000), device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for _ in range(20):
                big = big @ big * 1e-4
            y.copy_(x)
        return y, (stream, big)


class Check:
    def __init__(self):
        self.wrong = self.done = 0

    def __call__(self, name, test):
        self.done += 1
        start = time.perf_counter()
        try:
            more = test() or ""
            print(f"ok    {name} {1e3 * (time.perf_counter() - start):.0f} ms {more}", flush=True)
        except Exception:
            self.wrong += 1
            print(f"WRONG {name}\n{traceback.format_exc()}", flush=True)


def close(a, x, b, incomplete):
    eps = np.finfo(a.dtype).eps
    r = np.abs(b - a @ x).max() / (abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())
    assert r <= (1e4 if incomplete else 1e2) * eps, f"backward error {r:.1e}"


def loop(lib, n, dtype, form, make, place, incomplete):
    """Factorize, refactorize twice by pointer and twice by matrix, solve: every b there is."""
    a = matrix(n, dtype)
    rng = np.random.default_rng(1)
    A = lib.matrix(a, form)
    F = make(A, device=place)
    assert F.engine.startswith("cuda" if place == "cuda" else "cpu"), F.engine
    if np.dtype(dtype) == np.float64 and not incomplete:
        assert F.inertia == mp.ldl(a).inertia
    for k in (1, 2, 3):
        now = (k * a).astype(dtype)
        if form != "coo" and k < 3:
            F.refactor(lib.values(lib.matrix(now, form)))
        else:
            F.refactor(lib.matrix(now, form))
        for shape, order in (((), "C"), ((3,), "C"), ((3,), "F")):
            b = rng.standard_normal((a.shape[0], *shape)).astype(dtype)
            there = lib.array(b, order)
            x = F.solve(there)
            got = lib.host(x)
            assert got.shape == b.shape and got.dtype == b.dtype
            assert not shape or (lib.by_columns(x) if order == "F" else lib.by_rows(x))
            close(now, got, b, incomplete)
            assert np.array_equal(lib.host(there), b)
        if np.dtype(dtype) == np.float64 and not incomplete:
            exact = sla.spsolve(now.tocsc(), b)
            assert np.allclose(got, exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())
    return F.engine


def streams(lib, n, make, place):
    a = matrix(n, np.float64)
    b = np.random.default_rng(2).standard_normal(a.shape[0])
    F = make(lib.matrix(a, "csr"), device=place)
    for _ in range(5):
        late, keep = lib.busy(lib.array(b))
        close(a, lib.host(F.solve(late)), b, True)
        late, keep = lib.busy(lib.values(lib.matrix(2 * a, "csr")))
        F.refactor(late)
        close(2 * a, lib.host(F.solve(lib.array(b))), b, True)
        F.refactor(lib.values(lib.matrix(a, "csr")))
    assert keep


def operators(lib, n, make, place):
    a = matrix(n, np.float64)
    b = np.random.default_rng(2).standard_normal(a.shape[0])
    F = make(lib.matrix(a, "csr"), device=place)
    there = lib.array(b)
    close(a, lib.host(F.aslinearoperator("always") @ there), b, True)
    M = F.aspreconditioner()
    near = lib.host(M.matvec(there))
    assert near.shape == b.shape and np.isfinite(near).all()
    assert np.allclose(near, M.matvec(b), rtol=1e-6, atol=1e-6 * np.abs(near).max())
    if lib.name == "cupy":
        from cupyx.scipy.sparse import linalg

        op = linalg.LinearOperator(a.shape, matvec=M.matvec, dtype=a.dtype)
        x, info = linalg.gmres(lib.matrix(a, "csr"), there, M=op, rtol=1e-8, restart=50)
        assert info == 0
        assert np.linalg.norm(a @ lib.host(x) - b) <= 1e-6 * np.linalg.norm(b)


def dense(lib, n, dtype, hermitian, place):
    """One dense matrix of a library's arrays: factors and solutions where they are asked for."""
    rng = np.random.default_rng(4)
    parts = [rng.uniform(-1, 1, (n, n)) for _ in range(2)]
    a = parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0)
    a = ((a + (a.conj().T if hermitian else a.T)) / 2).astype(dtype)
    close_to = 1e2 * n * np.finfo(dtype).eps
    engines = []
    for method in ("tile", "bunch-kaufman", "rook", "aasen", "auto"):
        F = mp.ldl_dense(lib.array(a), hermitian=hermitian, method=method, device=place)
        engines.append(F.stats()["engine"] if "engine" in F.stats() else place)
        for shape in ((), (1,), (7,)):
            b = rng.uniform(-1, 1, (n, *shape)).astype(dtype)
            for x in (F.solve(lib.array(b)),
                      mp.solve_dense(lib.array(a), lib.array(b), hermitian=hermitian, method=method,
                                     device=place)):  # fmt: skip
                got = lib.host(x)
                assert got.shape == b.shape and got.dtype == b.dtype
                r = np.abs(b - a @ got).max() / (np.abs(a).sum(axis=1).max() * np.abs(got).max())
                assert r <= close_to, f"{method}: backward error {r:.1e}"
        if np.dtype(dtype).kind == "f" or hermitian:
            w = np.linalg.eigvalsh(a)
            assert tuple(F.inertia)[:2] == (int((w > 0).sum()), int((w < 0).sum())), method
    return " ".join(sorted(set(map(str, engines))))


def refusals(lib, n):
    a = matrix(n, np.float64)
    F = mp.ldl(lib.matrix(a, "csr"))
    for bad, kind in (
        (lambda: F.solve(lib.array(np.ones(a.shape[0] + 1))), ValueError),
        (lambda: F.refactor(lib.array(np.ones(3))), mp.PatternError),
        (lambda: F.refactor(lib.matrix(sp.identity(a.shape[0]).tocsr(), "csr")), mp.PatternError),
        (lambda: F.refactor(lib.array(np.full(a.nnz, np.nan))), mp.InputError),
        (lambda: F.solve(lib.array(np.full(a.shape[0], np.nan))), mp.InputError),
        (lambda: F.solve(lib.array(np.ones(a.shape[0], np.float16))), TypeError),
        (lambda: mp.sqmr(a, lib.array(np.ones(a.shape[0]))), TypeError),
        (lambda: mp.ldl(a, device="cuda:99"), mp.DeviceError),
    ):
        try:
            bad()
        except kind:
            continue
        raise AssertionError(f"{kind.__name__} was expected")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", default="ldlt,ildlt")
    parser.add_argument("--n", type=int, default=12)
    o = parser.parse_args()
    found = mp.devices()
    if not found:
        print(f"no GPU: {found.reason}")
        return 77
    print(f"METAPACK {mp.version()}, {found[0].text}")
    check = Check()
    for kind in (Cupy, Torch):
        try:
            lib = kind()
        except ImportError as error:
            print(f"left out: {kind.name}: {error}")
            continue
        for method in o.method.split(","):
            incomplete = method != "ldlt"

            def make(A, device, method=method):
                build = mp.ldl if method == "ldlt" else mp.ildl
                return build(A, device=device, method=method)

            places = ["cpu"]
            try:
                make(matrix(4, np.float64), "cuda")
                places.append("cuda")
            except mp.UnsupportedError as error:
                print(f"left out: {method} on the device: {error}")
            for place in places:
                name = f"{lib.name} {method} {place}"
                for dtype in DTYPES:
                    for form in ("csr", "csc", "coo"):
                        check(f"{name} {np.dtype(dtype).name} {form}",
                              lambda: loop(lib, o.n, dtype, form, make, place, incomplete))  # fmt: skip
                check(f"{name} streams", lambda: streams(lib, o.n, make, place))
                check(f"{name} operators", lambda: operators(lib, o.n, make, place))
        for place in (None, "cuda", "cpu"):
            for dtype in DTYPES:
                for hermitian in (False, True)[: 1 + (np.dtype(dtype).kind == "c")]:
                    kind_of = "hermitian" if hermitian else "symmetric"
                    check(f"{lib.name} dense {place} {np.dtype(dtype).name} {kind_of}",
                          lambda: dense(lib, 150, dtype, hermitian, place))  # fmt: skip
        check(f"{lib.name} refusals", lambda: refusals(lib, o.n))
    print(f"{check.done - check.wrong} of {check.done} right")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
