#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ParILU and ParILUT, the fixed-point methods that the papers compare with, beside ours.

    bench/parilu.py [MATRICES] [--rows] [--limit 20] [--build build] [--report bench/results/incomplete.md]

ParILU (Chow & Patel 2015): bench/peer_parilu.cpp, compiled here with ViennaCL (Debian: libviennacl-dev): 5 sweeps, as
published, levels of fill 0 to 2, triangular solves by 5 Jacobi sweeps. ParILUT (Anzt, Chow & Dongarra 2018):
bench/peer_parilut.cpp: 5 cycles, 1, 2 and 4 times the entries of A, exact triangular solves. Both under BiCGStab to 1e-6
on one thread. A zero on the diagonal ends them at once, so each matrix is also given with its rows permuted and scaled by
a maximum-product matching (SciPy), which is more than the papers did for them. --rows: what there is of the rows of Table I of
2018 instead. Each writes its section of the report; rows go to BUILD/bench/parilu.jsonl."""
import fnmatch, json, os, subprocess, sys, tempfile

from incomplete import ROOT, arguments, converged, find, iterations, keep, show, solve, write_section

MATRICES = ["generate helmholtz 2d 60 0", "generate quasi-definite 40", "generate nlpkkt 8", "generate lin nx=20 ny=20 nz=10",
            "lp_kkt/25fv47_it04", "qp_kkt/cont-050", "helmholtz/rail_5177_shift"]
# What there is of Table I, smallest first
ROWS = ["suitesparse/tuma1", "lp-published lp_kkt/bab5_it05", "qp_kkt/boyd1", "generate nlpkkt 20 boundary=dirichlet", "generate helmholtz 2d 300 0",
        "generate lin sigma=-0.6", "lp-published lp_kkt/map10_it00", "generate nlpkkt 80 boundary=dirichlet"]
LIMIT = 20  # seconds for a setting
MATCH = "--match"  # what this is called with by itself
# program: what its settings are called, and the settings
PEERS = {"parilu": ("level", [["0", "5", "5"], ["1", "5", "5"], ["2", "5", "5"]]), "parilut": ("fill", [["1", "5"], ["2", "5"], ["4", "5"]])}


def compiled(folder, name):
    to = os.path.join(folder, name)
    subprocess.run(["c++", "-O2", "-std=c++14", "-w", "-DNDEBUG", "-DVIENNACL_WITH_OPENMP", "-fopenmp",
                    os.path.join(ROOT, f"bench/peer_{name}.cpp"), "-o", to], check=True)
    return to


def matched(path, folder):
    """The matrix with rows permuted and scaled so that the diagonal is large; None: no SciPy, singular, or 30 s were not
    enough for SciPy's matching."""
    to = os.path.join(folder, "matched.mtx")
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), MATCH, path, to], timeout=30, capture_output=True)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else to


def match(path, to):
    import numpy as np
    from scipy.io import mmread, mmwrite
    from scipy.sparse import coo_matrix, csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching
    a = csr_matrix(mmread(path))
    a.eliminate_zeros()
    largest = np.maximum.reduceat(abs(a.data), a.indptr[:-1])
    cost = a.copy()
    cost.data = 1 + np.log(np.repeat(largest, np.diff(a.indptr)) / abs(a.data))
    row, col = min_weight_full_bipartite_matching(cost)
    order = np.empty_like(row)
    order[col] = row
    b = csr_matrix(coo_matrix(a.multiply(1 / largest[:, None])))[order]
    mmwrite(to, b, symmetry="general", precision=17)


def peer(program, path, setting):
    try:
        done = subprocess.run([program, path, *setting], capture_output=True, text=True, timeout=LIMIT,
                              env=dict(os.environ, OMP_NUM_THREADS="1"))
    except subprocess.TimeoutExpired:
        return {"failed": f"> {LIMIT:g} s"}
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"failed": done.stderr.strip().partition(": ")[2][:60] or f"exit {done.returncode}"}


def tried(program, name, path):
    """All settings on one file; a zero on the diagonal is one for all of them."""
    rows = []
    for setting in PEERS[name][1] if path else []:
        rows.append(dict(peer(program, path, setting), setting=f"{PEERS[name][0]} {setting[0]}"))
        if rows[-1].get("failed", "").startswith("a zero"):
            break
    return rows


def good(row):
    return "failed" not in row and row["relative_residual"] <= 1e-6


def told(rows):
    """The best of the settings: iterations, residual, which."""
    best = min((r for r in rows if "failed" not in r), key=lambda r: (not good(r), r["iterations"] if good(r) else
                                                                     r["relative_residual"]), default=None)
    if best is None:
        return "† " + (rows[0]["failed"] if rows else "no matching")
    mark = "" if good(best) else "† "
    if best["relative_residual"] >= 1e300:
        return "† not finite"
    return f"{mark}{best['iterations']}, {best['relative_residual']:.0e} ({best['setting']})"


def main():
    global LIMIT
    parser = arguments(__doc__)
    parser.add_argument("--rows", action="store_true", help="what there is of Table I of 2018")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a setting (default: %(default)s)")
    options = parser.parse_args()
    LIMIT = options.limit
    rows, lines, count = [], [], [0] * 5
    with tempfile.TemporaryDirectory() as folder:
        programs, path = {name: compiled(folder, name) for name in PEERS}, os.path.join(folder, "a.mtx")
        for name in ROWS if options.rows else MATRICES:
            source = find(options, name)
            if not source or not fnmatch.fnmatch(name, options.only):
                continue
            command = os.path.join(options.build, "metapack")
            words = ["generate", source[1]] if source[0] == "--generate" else ["convert", source[0]]
            subprocess.run([command, *words, "-o", path, "--quiet"], check=True)
            files = (path, matched(path, folder))
            runs = [tried(programs[peer_name], peer_name, file) for peer_name in PEERS for file in files]
            ours = solve(options, source, ["--method", "auto", "--no-direct", "--krylov", "sqmr", "--tolerance", "1e-6"], 60)
            rows.append({"matrix": name, "parilu": runs[:2], "parilut": runs[2:], "auto": ours})
            for k, mine in enumerate(runs):
                count[k] += any(map(good, mine))
            count[4] += converged(ours)
            lines.append(f"| {name.replace('generate ', '')} | {ours.get('n', '')} | {' | '.join(map(told, runs))} | "
                         f"{iterations(ours)}, {show(ours.get('relative_residual'), '.0e')} |")
            print(lines[-1], flush=True)
    keep(options, "parilu-rows" if options.rows else "parilu", rows)
    write_section(options, "parilu-rows" if options.rows else "parilu", "ParILU and ParILUT as peers" + (
        " on the rows of Table I (2018)" if options.rows else ""), [
        "ViennaCL's ParILU (5 sweeps), levels of fill 0 to 2, triangular solves by 5 Jacobi sweeps; ParILUT as the paper of Anzt,",
        "Chow & Dongarra (2018) has it (`bench/peer_parilut.cpp`; no package of the distribution has one), 5 cycles, 1, 2 and 4 times",
        f"the entries of A, exact triangular solves. Under BiCGStab, {LIMIT:g} s: of the settings the one with the fewest iterations, or the",
        "smallest residual (†: not 1e-6 in 1000 iterations, or why not). As given, and with rows permuted and scaled by a",
        "maximum-product matching. Published (2018, with MAGMA's ParILU): no convergence in 1000 iterations \"in all cases but one\";",
        "(2019, with ParILUT, too): not a single success.", "",
        f"Converged: ParILU {count[0]} as given, {count[1]} matched; ParILUT {count[2]} and {count[3]}; {count[4]} with `--method auto "
        f"--no-direct`; of {len(rows)}.", "",
        "| matrix | n | ParILU: iterations, residual (setting) | matched | ParILUT | matched | ours |", "|---|---|---|---|---|---|---|", *lines])


if __name__ == "__main__":
    match(*sys.argv[2:]) if sys.argv[1:2] == [MATCH] else main()
