# SPDX-License-Identifier: BSD-3-Clause
"""Threads, Ctrl-C, progress, fork: the library at work beside a living interpreter."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack
from support import kkt


def problem(seed, n=60, m=30):
    rng = np.random.default_rng(seed)
    return sp.csc_matrix(kkt(rng, n, m)), rng.standard_normal(n + m)


def residual(a, x, b):
    return np.abs(a @ x - b).max() / (abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())


def test_many_threads_with_factors_of_their_own():
    def work(seed):
        a, b = problem(seed)
        worst = 0.0
        for k in range(10):
            factor = pymetapack.ldl(a, threads=1 + seed % 2)
            worst = max(worst, residual(a, factor.solve(b), b))
            factor.refactor((k + 2) * a)
            worst = max(worst, residual((k + 2) * a, factor.solve(b), b))
            worst = max(worst, residual(a, pymetapack.spsolve(a, b), b))
            worst = max(worst, residual(a, pymetapack.sqmr(a, b, M=factor, rtol=1e-12)[0], b))
        return worst

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(16))) < 1e-11


def test_many_threads_share_a_factor():
    a, b = problem(0)
    factor = pymetapack.ldl(a)
    want = factor.solve(b)
    op = factor.aspreconditioner()
    want_op = op.matvec(b)

    def work(k):
        for _ in range(50):
            scale = 1 + k
            assert np.allclose(factor.solve(scale * b), scale * want, rtol=1e-10)
            assert np.allclose(op.matvec(b), want_op, rtol=1e-10)
            assert factor.inertia == (60, 30, 0) and factor.stats()["n"] == 90

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, k) for k in range(8)]:
            done.result()


def test_solve_while_another_thread_refactors():
    """Takes turns: every solution belongs to one of the matrices."""
    a, b = problem(1)
    factor = pymetapack.ldl(a)
    stop = threading.Event()

    def change():
        k = 1
        while not stop.is_set():
            k = 3 - k
            factor.refactor(k * a)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            x = factor.solve(b)
            assert min(residual(k * a, x, b) for k in (1, 2)) < 1e-12
    finally:
        stop.set()
        thread.join()


def big():
    """Some seconds of factorization."""
    return pymetapack.generate("nlpkkt 24")


def test_others_run_meanwhile():
    """The interpreter's lock is free: this thread counts while another factorizes."""
    a = big()
    done, ticks = [], 0
    thread = threading.Thread(target=lambda: done.append(pymetapack.ldl(a, threads=1)))
    thread.start()
    while thread.is_alive():
        time.sleep(0.002)
        ticks += 1
    assert done and ticks > 20


def test_progress():
    a = big()
    told = []
    factor = pymetapack.ldl(a, progress=lambda stage, part: told.append((stage, part)))
    stages = [stage for stage, _ in told]
    assert "analyse" in stages and "factorize" in stages
    assert all(0 <= part <= 1 for _, part in told)
    told.clear()
    factor.solve(np.ones(a.shape[0]))
    assert any(stage == "solve" for stage, _ in told)


def test_progress_can_end_it():
    a = big()
    with pytest.raises(pymetapack.CancelledError):
        pymetapack.ldl(a, progress=lambda stage, part: stage == "factorize")

    stop = False
    factor = pymetapack.ldl(a, progress=lambda stage, part: stop)
    stop = True
    with pytest.raises(pymetapack.CancelledError):
        factor.refactor(a)
    stop = False
    assert factor.status != "ok" and "without values" in repr(factor)
    for ask in (lambda: factor.solve(np.ones(a.shape[0])), lambda: factor.inertia):
        with pytest.raises(pymetapack.ArgumentError):
            ask()
    factor.refactor(a)
    assert factor.status == "ok"

    def wrong(stage, part):
        raise KeyError("mine")

    for threaded in (False, True):  # in the main thread and in another one
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit if threaded else None
            with pytest.raises(KeyError, match="mine"):
                if run:
                    run(pymetapack.ldl, a, progress=wrong).result()
                else:
                    pymetapack.ldl(a, progress=wrong)
    small, b = problem(3)
    assert residual(small, pymetapack.spsolve(small, b), b) < 1e-12


def script(text, **kwargs):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **kwargs,
    )  # fmt: skip


@pytest.mark.parametrize("call", [
    "mp.ldl(a, threads=1)",
    "mp.spsolve(a, np.ones(a.shape[0]), threads=2)",
    "mp.sqmr(a, np.ones(a.shape[0]), rtol=1e-15, maxiter=10**7)",
    "mp.ldu(mp.generate('random 4000 0.002'), threads=1)",
    "mp.ildl(a, level=8, fill_factor=0, drop_tolerance=0, threads=1)",
])  # fmt: skip
def test_ctrl_c(call):
    child = script(f"""
        import time, numpy as np, pymetapack as mp
        a = mp.generate("nlpkkt 32" if "sqmr" not in {call!r} else "helmholtz 2d 200 0.3")
        print("ready", flush=True)
        start = time.perf_counter()
        try:
            while True:
                {call}
        except KeyboardInterrupt:
            print("interrupted", time.perf_counter() - start, flush=True)
        k = mp.generate("nlpkkt 4")
        x = mp.spsolve(k, np.ones(k.shape[0]))
        print("alive", abs(k @ x - 1).max() < 1e-8)
    """)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=150)
    assert child.returncode == 0, err
    word, seconds = out.splitlines()[0].split()
    assert word == "interrupted" and float(seconds) < 8
    assert out.splitlines()[1] == "alive True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork():
    """A child goes on with its parent's objects, to the same bits, while a thread of the parent works with
    them; multiprocessing's pools, too; and the parent is not disturbed."""
    child = script("""
        import multiprocessing, os, threading, warnings, numpy as np, pymetapack as mp
        warnings.simplefilter("ignore")
        k = mp.generate("nlpkkt 12")
        b = np.ones(k.shape[0])
        factors = [mp.ldl(k, threads=2), mp.ldl(k, threads=1), mp.ildl(k, threads=2)]
        dense, many = mp.ldl_dense(np.eye(300) + 1), mp.ldl_batch(np.stack([np.eye(3)] * 1000))
        want = [f.solve(b) for f in factors]

        def works(_=None):
            good = all(np.array_equal(f.solve(b), w) for f, w in zip(factors, want))
            factors[0].refactor(k.data)
            good &= np.array_equal(factors[0].solve(b), want[0])
            good &= bool(np.allclose(dense.solve(np.ones(300)), 1 / 301))
            return good & bool(np.allclose(many.solve(np.ones((1000, 3))), 1))

        def forked():
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    code = 0 if works() else 2
                    factors.pop().close()
                    own = mp.ldl(k, threads=2)
                    code += 0 if np.array_equal(own.solve(b), want[0]) else 4
                    del own, factors[:]
                finally:
                    os._exit(code)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

        codes = [forked()]
        stop = []
        def busy():
            while not stop:
                factors[1].solve(b)
        thread = threading.Thread(target=busy)
        thread.start()
        codes += [forked() for _ in range(4)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            codes.append(pool.map(works, range(4)))
        stop.append(1)
        thread.join()
        print(codes, works())
    """)
    out, err = child.communicate(timeout=150)
    assert out.strip() == "[0, 0, 0, 0, 0, [True, True, True, True]] True", err


def test_ends_with_the_interpreter():
    """Objects that live until the end, also in a daemon thread at work, do not disturb it."""
    child = script("""
        import threading, numpy as np, pymetapack as mp
        k = mp.generate("nlpkkt 10")
        keep = [mp.ldl(k), mp.ldl(k).aslinearoperator(), mp.ldl_batch(np.eye(3)[None])]
        cycle = []
        cycle.append((cycle, mp.ldl(k)))
        big = mp.generate("nlpkkt 24")
        threading.Thread(target=lambda: mp.ldl(big), daemon=True).start()
        print("end")
    """)
    out, err = child.communicate(timeout=150)
    assert child.returncode == 0 and out == "end\n" and err == ""
