#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time pymetapack beside SciPy's SuperLU and, where they are installed, PARDISO (pypardiso) and QDLDL.

    PYTHONPATH=build/python bench/python.py [--report bench/results/clients.md] [--repeat 7]

What a call costs on small matrices, and whole solutions of real and generated ones, one thread each, every solver
in a process of its own. The best of the repetitions counts; an answer is right if its normwise backward error
max |b - A x| / (norm A norm x + norm b) is at most 1e-12. The report's section "## Python" is replaced."""
import argparse, datetime, glob, json, os, platform, re, subprocess, sys, time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BOUND = 1e-12
REAL = ["definite/1138_bus", "acopf/case118_ieee_it09", "acopf/ACTIVSg200_AC_02", "lp_kkt/25fv47_it04",
        "lp_kkt/25fv47_it26", "qp_kkt/cvxqp1_m", "qp_kkt/cont-050", "qp_kkt/hues-mod", "least_squares/HB_well1033",
        "saddle/Lshape_matrices2", "helmholtz/m2d100-001", "helmholtz/sandwich_beam_3360", "helmholtz/concrete_50Hz"]
GENERATED = ["nlpkkt 10", "stokes mac 48", "helmholtz 2d 120 0.3"]
SMALL = [5, 20, 100, 500]
SOLVERS = ["pymetapack", "SuperLU", "SuperLU symmetric", "PARDISO", "PARDISO matching", "QDLDL"]


def matrix(name):
    import pymetapack
    files = glob.glob(os.path.join(ROOT, "data", name + ".mtx*"))
    return pymetapack.read(files[0]) if files else pymetapack.generate(name)


def small(n):
    """A saddle point of order n with some five entries in a row."""
    import numpy as np, scipy.sparse as sp
    rng = np.random.default_rng(n)
    m = n // 3
    h = sp.diags(rng.random(n - m) + 1)
    off = sp.random(n - m, n - m, min(1, 2 / n), random_state=1)
    b = sp.eye(m, n - m) + sp.random(m, n - m, min(1, 2 / n), random_state=2)
    return sp.bmat([[h + off + off.T, b.T], [b, None]], format="csc")


def best(function, repeat, least=0.3, most=4.0):
    """Seconds of the fastest call: at least so many calls and so many seconds, but `most` ends it."""
    fastest, spent, count = float("inf"), 0.0, 0
    while spent < most and (count < repeat or spent < least):
        start = time.perf_counter()
        function()
        last = time.perf_counter() - start
        fastest, spent, count = min(fastest, last), spent + last, count + 1
    return fastest


def open_solver(solver):
    """(factor(A) -> handle, solve(handle, b) -> x, again(handle, A) -> handle or None)"""
    import scipy.sparse as sp
    if solver == "pymetapack":
        import pymetapack
        return (lambda a: pymetapack.ldl(a, threads=1, singular="ignore"), lambda f, b: f.solve(b),
                lambda f, a: f.refactor(a))
    if solver.startswith("SuperLU"):
        from scipy.sparse.linalg import splu
        how = {} if solver == "SuperLU" else dict(permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01,
                                                  options=dict(SymmetricMode=True))
        return lambda a: splu(a, **how), lambda f, b: f.solve(b), None
    if solver.startswith("PARDISO"):
        import pypardiso
        s = pypardiso.PyPardisoSolver(mtype=-2)  # one: it searches the disk for MKL when it is made
        if solver == "PARDISO matching":
            for number, value in {1: 1, 2: 2, 8: 2, 10: 8, 11: 1, 13: 1, 21: 1}.items():
                s.set_iparm(number, value)

        def factor(a):
            upper = sp.triu(with_diagonal(a), format="csr")
            s.free_memory(everything=True)
            s.factorize(upper)
            return upper

        return factor, lambda upper, b: s.solve(upper, b), None
    import qdldl
    return (lambda a: qdldl.Solver(with_diagonal(a)), lambda f, b: f.solve(b),
            lambda f, a: (f.update(with_diagonal(a)), f)[1])


def with_diagonal(a):
    """a with every diagonal entry stored, zero or not."""
    import numpy as np, scipy.sparse as sp
    a, every = a.tocoo(), np.arange(a.shape[0])
    parts = (np.r_[a.data, 0 * every], (np.r_[a.row, every], np.r_[a.col, every]))
    return sp.csc_matrix(parts, shape=a.shape)


def error(a, x, b):
    import numpy as np
    scale = abs(a).sum(axis=1).max() * abs(x).max() + abs(b).max()
    found = float(abs(b - a @ x).max() / scale)
    return found if np.isfinite(found) else float("inf")


def worker(solver, repeat):
    """Rows as JSON lines on standard output."""
    import numpy as np
    factor, solve, again = open_solver(solver)
    for n in SMALL:
        a = small(n)
        row = {"small": n, "nnz": a.nnz}
        try:
            f, b = factor(a), np.ones(n)
            row["error"] = error(a, solve(f, b), b)
            row["factor"] = best(lambda: factor(a), 20, 0.2)
            row["solve"] = best(lambda: solve(f, b), 20, 0.1)
            if again:
                row["again"] = best(lambda: again(f, a), 20, 0.1)
        except Exception as failure:
            row["failure"] = str(failure)
        print(json.dumps(row), flush=True)
    for name in REAL + GENERATED:
        a = matrix(name)
        b = a @ np.ones(a.shape[0])
        row = {"name": name, "n": a.shape[0], "nnz": a.nnz}
        try:
            row["all"] = best(lambda: solve(factor(a), b), repeat)
            row["error"] = error(a, solve(factor(a), b), b)
            if again:
                f = factor(a)
                row["again"] = best(lambda: solve(again(f, a), b), repeat)
        except Exception as failure:
            row["failure"] = str(failure)
        print(json.dumps(row), flush=True)


def collect(options):
    rows = {}
    for solver in SOLVERS:
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
        print(solver, file=sys.stderr, flush=True)
        command = [sys.executable, os.path.abspath(__file__), "--worker", solver, "--repeat", str(options.repeat)]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in run.stdout.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                rows[solver, row.get("small") or row["name"]] = row
    return {s: {k[1]: r for k, r in rows.items() if k[0] == s} for s in SOLVERS if any(k[0] == s for k in rows)}


def microseconds(row, key):
    if not row or "failure" in row or key not in row:
        return "–"
    return f"{row[key] * 1e6:.0f}" + ("" if row["error"] <= BOUND else " ✗")


def seconds(row, key="all"):
    if not row or "failure" in row:
        return "fails"
    if key not in row:
        return "–"
    if row["error"] > BOUND:
        return f"wrong ({row['error']:.0e})"
    return f"{row[key] * 1e3:.1f}" if row[key] < 1 else f"{row[key] * 1e3:.0f}"


def section(found):
    import numpy, scipy, pymetapack
    ours = found["pymetapack"]
    lu = found["SuperLU"]
    load = os.getloadavg()[1]
    peers = [s for s in SOLVERS[1:] if s in found]
    text = f"""## Python

`bench/python.py`, {datetime.date.today()}: {processor()}, one thread, Python {platform.python_version()}, NumPy
{numpy.__version__}, SciPy {scipy.__version__}, METAPACK {pymetapack.version()}; load of the machine {load:.1f}; best of the
repetitions, every solver in a process of its own. Beside us: SciPy's `splu` (SuperLU) with its defaults and in its
symmetric mode (minimum degree on A + Aᵀ, threshold 0.01); MKL PARDISO for symmetric indefinite matrices (pypardiso,
mtype −2) with its defaults and with scaling and matching (iparm 11 and 13); QDLDL, which does not pivot and is made for
quasi-definite matrices.

What a call costs: a saddle point of order n, microseconds.

| n | entries | `F.solve(b)` | splu's | `F.refactor(A)` | `F.refactor(A.data)` | `ldl(A)` | `splu(A)` | QDLDL update |
|---|---|---|---|---|---|---|---|---|
"""
    for n in SMALL:
        q = found.get("QDLDL", {}).get(n)
        text += (f"| {n} | {ours[n]['nnz']} | {microseconds(ours[n], 'solve')} | {microseconds(lu[n], 'solve')} | "
                 f"{microseconds(ours[n], 'again')} | {values_alone(n):.0f} | {microseconds(ours[n], 'factor')} | "
                 f"{microseconds(lu[n], 'factor')} | {microseconds(q, 'again')} |\n")
    text += """
`F.solve` holds the residual and its componentwise backward error, and refines where that asks for it; splu's `solve` is the
two triangular solves alone. ✗: the answer is wrong.

Whole solutions, milliseconds: analysis, factorization, solution and, with us, refinement and the check; "again": new values
of the same pattern, `refactor` and `solve`. Wrong: the normwise backward error, in brackets, exceeds 1e-12; fails: an error
instead of an answer.

"""
    text += "| matrix | n | entries | pymetapack | again | " + " | ".join(peers) + " |\n"
    text += "|" + "---|" * (5 + len(peers)) + "\n"
    for name in REAL + GENERATED:
        row = ours[name]
        text += (f"| {name} | {row['n']} | {row['nnz']} | {seconds(row)} | {seconds(row, 'again')} | "
                 + " | ".join(seconds(found[s].get(name)) for s in peers) + " |\n")
    beaten = [name for name in REAL + GENERATED for s in peers
              if seconds(found[s].get(name))[0].isdigit() and found[s][name]["all"] < ours[name]["all"]]
    text += "\n" + (f"Slower than one of them: {', '.join(sorted(set(beaten)))}.\n" if beaten
                    else "None of them is faster on any of these with a right answer.\n")
    return text


def values_alone(n):
    import pymetapack
    a = small(n)
    f = pymetapack.ldl(a, threads=1)
    return 1e6 * best(lambda: f.refactor(a.data), 20, 0.1)


def processor():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return re.sub(r"\s*@.*|\(R\)|\(TM\)|CPU ", "", found[1]) if found else platform.processor()


def write(path, text):
    """Replace the section, or append it."""
    whole = open(path, encoding="utf-8").read() if os.path.exists(path) else "# METAPACK in programs people have\n"
    parts = re.split(r"(?m)^(?=## )", whole)
    kept = [p for p in parts if not p.startswith("## Python\n")]
    place = next((k for k, p in enumerate(parts) if p.startswith("## Python\n")), len(kept))
    kept.insert(place, text)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(part.strip("\n") + "\n" for part in kept))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.repeat)
    else:
        text = section(collect(options))
        if options.report:
            write(options.report, text)
        print(text)
