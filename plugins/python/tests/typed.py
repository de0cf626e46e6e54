# SPDX-License-Identifier: BSD-3-Clause
"""What mypy --strict must accept, and, where a line says `type: ignore`, must refuse: in strict mode
an ignore that is not needed is an error.  Also a program: python3 typed.py."""

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

import pymetapack as mp


class OnGpu:
    """An array of somebody's."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


def on_a_gpu(b: OnGpu) -> OnGpu:
    F = mp.ldl(b, device="cuda:1")
    F.refactor(b)
    words: str = F.engine + mp.devices().reason
    found: list[mp.Device] = mp.devices()
    x: OnGpu = F.solve(b, out=b, refine=0)
    F.solve(b, out=words)  # type: ignore[call-overload]
    return x if found else b


def accepted() -> None:
    A: NDArray[np.float64] = np.array([[0.0, 1], [1, 0]])
    with mp.ldl(A, ordering="metis", pivot_threshold=0.1, threads=1, condition=True) as F:
        assert isinstance(F, mp.Factor)
        x: NDArray[Any] = F.solve([3.0, 4.0], refine=0, accuracy=1e-8)
        shape: tuple[int, int] = F.shape
        counts: tuple[int, int, int] = F.inertia
        nneg: int = F.nneg
        perm: NDArray[Any] = F.perm
        again: mp.Factor = F.refactor(2 * A)
        words: str = F.status + F.method + repr(again)
        numbers: dict[str, Any] = F.stats()
        entries: NDArray[Any] = F.inverse_diagonal(accuracy=1e-6)
        F.aslinearoperator(check="always")
        few: NDArray[Any] = F.solve_sparse(A, [0], check="rows")
        kernel: NDArray[Any] = F.null_space(most=1, orthonormal=False)
        shortest: NDArray[Any] = F.lstsq([3.0, 4.0], None)
        assert few.shape == (1, 2) and kernel.shape == (2, 0) and shortest.shape == (2,)
    solve: Callable[..., NDArray[Any]] = mp.factorized([[0, 1], [1, 0]], given_perm=[1, 0])
    y, info = mp.minres(A, np.ones(2), M=mp.ildl(A, method="none"), callback=print)
    iterations: int = info.iterations
    many: NDArray[Any] = mp.ldl_batch(A[None]).solve(np.ones((1, 2)))
    part: mp.SchurComplement = mp.schur(A + 2 * np.eye(2), [1]).refactor(A + 3 * np.eye(2))
    inner: tuple[int, int, int] = part.inertia
    small: NDArray[Any] = part.expand(np.ones(2), part.condense([1, 2])) + part.solve([1, 2])
    assert part.S.shape == (1, 1) and sum(inner) == 1 and small.shape == (2,)
    dense: NDArray[Any] = mp.ldl_dense(A, tile=32).solve([1, 2])
    product: NDArray[Any] = mp.batch_gemm(A[None], A[None])
    assert x.shape == y.shape == dense.shape and (shape, nneg, len(perm)) == ((2, 2), 1, 2)
    assert counts == (1, 1, 0) and entries.shape == (2,) and words and numbers and iterations >= 0
    assert many.shape == (1, 2) and product.shape == (1, 2, 2) and (solve([1, 2]) == [2, 1]).all()


def refused(A: NDArray[np.float64]) -> None:
    F = mp.ldl(A, lower="yes")  # type: ignore[arg-type]
    mp.ldl(A, progress=3)  # type: ignore[arg-type]
    mp.ldl(A, ordering=print)  # type: ignore[arg-type]
    F.marginal_variances(accuracy="high")  # type: ignore[arg-type]
    F.solve(A, out=[1.0])  # type: ignore[call-overload]
    F.solve(A, refine="none")  # type: ignore[call-overload]
    F.solve_sparse(A, check=1)  # type: ignore[arg-type]
    F.null_space(most="all")  # type: ignore[arg-type]
    F.aslinearoperator(check=1)  # type: ignore[arg-type]
    F.nneg = 3  # type: ignore[misc]
    words: str = F.inertia  # type: ignore[assignment]
    mp.ldl_dense(A, tile="wide")  # type: ignore[arg-type]
    mp.spsolve(A, None)  # type: ignore[arg-type]
    print(words)


if __name__ == "__main__":
    accepted()
