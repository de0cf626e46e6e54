#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Approximate inverses in place of triangular solves: iterations, time, bytes (docs/guide/isai.md).

    bench/isai.py [--part sqmr idr apart] [--build build] [--report bench/results/isai.md]

sqmr: indefinite LDLT factors on blocks, exact / Jacobi sweeps / ISAI(1..3) with 0 to 3 sweeps of relaxation, on 20
matrices. idr: the setting of the paper's Table II (ILU(0), IDR(4), natural or RCM order, unit diagonal, 1e-10) on
generated siblings of its matrices. apart: how far one application by products is from an exact one, which option triangular
auto measures, beside the iterations. Each section is written anew when it is run, a matrix at a time, so that
`flock LOCK bench/isai.py --part sqmr --only NAME` measures one; the rows are kept in BUILD/bench."""
import fnmatch, json, os, tempfile

import numpy as np
from scipy import sparse, spatial

from incomplete import arguments, converged, find, iterations, machine, solve, version

HERE = os.path.dirname(os.path.abspath(__file__))

# ---- SQMR -----------------------------------------------------------------------------------------------------------

MATRICES = ["generate helmholtz 2d 100 shift=0.05", "generate stokes mac 40", "generate nlpkkt 10",
            "generate quasi-definite 70", "generate optimal-control 300", "generate control-distributed 14",
            "helmholtz/rail_5177_shift", "helmholtz/concrete_50Hz", "helmholtz/bcsst10_shift", "helmholtz/rail_1357_shift",
            "suitesparse/stokes64", "lp_kkt/25fv47_it04", "lp_kkt/maros_r7_it03", "lp_kkt/bab5_it05",
            "qp_kkt/aug2dc", "qp_kkt/cont-050", "qp_kkt/cvxqp1_m", "qp_kkt/stcqp1", "suitesparse/aug3dcqp",
            "acopf/case2869_pegase_it01"]
ISAI = ["--triangular", "isai", "--isai-limit", "2000", "--isai-over", "less"]
CASES = [("exact", []), *((f"Jacobi {k}", ["--triangular", "jacobi", "--solve-sweeps", str(k)]) for k in (1, 2, 4)),
         *((f"ISAI({k})+{r}", [*ISAI, "--isai-power", str(k), "--isai-relax", str(r)])
           for k in (1, 2, 3) for r in (0, 1, 2, 3))]


def sqmr(options, name):
    source = find(options, name)
    rows = []
    for case, words in CASES if source else []:
        row = solve(options, source, ["--method", "ildlt", "--krylov", "sqmr", "--tolerance", "1e-8",
                                      "--max-iterations", "1000", *words], timeout=60)
        rows.append({"matrix": name, "case": case, "row": row})
        told = "failed: " + row["failed"] if "failed" in row else str(iterations(row))
        print(name, case, told, flush=True)
    return rows


# ---- the paper's Table II -------------------------------------------------------------------------------------------

def unit_diagonal(a):
    scale = sparse.diags(1 / np.sqrt(np.abs(a.diagonal())))
    return (scale @ a @ scale).tocsc()


def grid(side, wind=0.0):
    """Five points, with what is outside held at zero; a flow makes it unsymmetric."""
    ones = np.ones(side)
    line = sparse.diags([-(1 + wind) * ones[1:], 2 * ones, -(1 - wind) * ones[1:]], [-1, 0, 1])
    return unit_diagonal(sparse.kron(sparse.eye(side), line) + sparse.kron(line, sparse.eye(side)))


def triangles(n, mass):
    """Linear elements on the Delaunay triangles of random points: Laplace's operator, and `mass` times the mass matrix.
    In the order of the points, which is random."""
    points = np.random.default_rng(1).random((n, 2))
    t = spatial.Delaunay(points).simplices
    p = points[t]
    edge = p[:, [2, 0, 1]] - p[:, [1, 2, 0]]
    area = np.abs(edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0]) / 2
    local = np.einsum("tik,tjk->tij", edge, edge) / (4 * area)[:, None, None]
    local = local + mass * area[:, None, None] * (1 + np.eye(3)) / 12
    rows, cols = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    a = sparse.coo_matrix((local.ravel(), (rows, cols)), shape=(n, n)).tocsc()
    hull = np.unique(spatial.ConvexHull(points).vertices)
    inner = np.setdiff1d(np.arange(n), hull)
    return unit_diagonal(a[inner][:, inner])


SIBLINGS = {"ECO": ("ecology2", lambda f: grid(round(1000 * f)), "natural", (954, 2933)),
            "TMT": ("tmt_unsym", lambda f: grid(round(958 * f), 0.05), "natural", (755, 1881)),
            "THM": ("thermal2", lambda f: triangles(round(1228045 * f * f), 0), "natural", (873, 1755)),
            "PARA": ("parabolic_fem", lambda f: triangles(round(525825 * f * f), 1e3), "rcm", (139, 730))}
SIDES = [("exact", [])] + [(f"ISAI({k})+{r}", ["--triangular", "isai", "--isai-pattern", "matrix", "--isai-power", str(k),
                                               "--isai-relax", str(r)]) for k in (1, 2, 3) for r in (0, 1)]


def write_matrix(path, a):
    a = a.tocoo()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{a.shape[0]} {a.shape[1]} {a.nnz}\n")
        np.savetxt(file, np.column_stack([a.row + 1, a.col + 1, a.data]), "%d %d %.17g")


def idr(options, name):
    _, make, order, _ = SIBLINGS[name]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        a, path = make(options.scale), os.path.join(folder, "a.mtx")
        rhs = os.path.join(folder, "b.mtx")
        write_matrix(path, a)
        with open(rhs, "w", encoding="utf-8") as file:
            file.write(f"%%MatrixMarket matrix array real general\n{a.shape[0]} 1\n" + "1\n" * a.shape[0])
        for case, words in SIDES:
            row = solve(options, [path], ["--rhs", rhs, "--method", "ilu0", "--factor-type", "ldu", "--krylov", "idr",
                                          "--shadow", "4", "--tolerance", "1e-10", "--max-iterations", "20000",
                                          "--matching", "off", "--scaling", "off", "--ordering", order, *words],
                        timeout=300)
            rows.append({"matrix": name, "n": a.shape[0], "nnz": int(a.nnz), "case": case, "row": row})
            told = "failed: " + row["failed"] if "failed" in row else str(iterations(row))
            print(name, case, told, flush=True)
    return rows


# ---- how far products are from exact solves, which `triangular auto` measures, beside iterations ------------------------

def apart(options, name):
    source = find(options, name)
    words = ["--method", "ildlt", "--krylov", "sqmr", "--tolerance", "1e-8", "--max-iterations", "1000"]
    once = [*words[:-1], "1"]
    rows = []
    for case, isai in [c for c in CASES if not c[0].startswith("Jacobi")] if source else []:
        row = solve(options, source, [*words, *isai])
        auto = solve(options, source, [*once, *("auto" if w == "isai" else w for w in isai)]) if isai else {}
        rows.append({"case": case, "error": ((auto.get("blocks") or {}).get("triangular") or {}).get("error"),
                     "iterations": iterations(row) if "failed" not in row and converged(row, 1e-8) else None})
        print(name, rows[-1], flush=True)
    return rows


def apart_lines(held):
    yield "| apart by at most | settings | iterations / exact, geometric mean | largest | not converged |"
    yield "|---:|---:|---:|---:|---|"
    for bound in (1, 1e-1, 1e-2, 1e-3, 1e-4):
        ratios, lost = [], []
        for name, rows in held.items():
            exact = next((r["iterations"] for r in rows if r["case"] == "exact"), None)
            for r in rows if exact else []:
                if r["error"] is None or r["error"] > bound:
                    continue
                if r["iterations"] is None:
                    lost.append(f"{name.split('/')[-1].replace('generate ', '')} {r['case']}")
                else:
                    ratios.append((r["iterations"] / exact, f"{name.split('/')[-1].replace('generate ', '')} {r['case']}"))
        mean = np.exp(np.mean(np.log([q for q, _ in ratios]))) if ratios else 0
        most = max(ratios, default=(0, ""))
        yield (f"| {bound:g} | {len(ratios) + len(lost)} | {mean:.2f} | {most[0]:.2f} ({most[1]}) | "
               f"{len(lost)}{': ' + ', '.join(lost) if 0 < len(lost) <= 4 else ''} |")


# ---- the report -----------------------------------------------------------------------------------------------------

def stored(options, part, names, measure):
    """The rows of all matrices measured so far, those of `names` anew."""
    path = os.path.join(options.build, "bench", f"isai-{part}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    held = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
    for name in names:
        held[name] = measure(options, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(held, file)
    return held


def cell(row, tolerance):
    """Iterations / seconds of the solve / MB of the factor."""
    if "failed" in row:
        return "failed"
    count = str(iterations(row)) if converged(row, tolerance) else "–"
    return f"{count} / {row['time_s']['solve']:.2f} / {row['factor']['bytes'] / 1e6:.1f}"


def sqmr_lines(held):
    yield "| matrix | n | " + " | ".join(case for case, _ in CASES[:4]) + " |"
    yield "|---|---:|" + "---:|" * 4
    for part in (0, 1, 2, 3):
        columns = CASES[:4] if part == 0 else CASES[4 * part:4 * part + 4]
        if part:
            yield ""
            yield "| matrix | cut | " + " | ".join(case for case, _ in columns) + " |"
            yield "|---|---:|" + "---:|" * 4
        for name in MATRICES:
            rows = {r["case"]: r["row"] for r in held.get(name, [])}
            if not rows:
                continue
            first = rows[columns[0][0]]
            extra = first.get("n", "") if part == 0 else (first.get("blocks") or {}).get("isai", {}).get("over", "")
            yield f"| {name.replace('generate ', '')} | {extra} | " + " | ".join(
                cell(rows[case], 1e-8) for case, _ in columns) + " |"


def idr_lines(held):
    yield ("| sibling of | n | case | iterations | × exact | the paper's × | ILU(0) s | pattern s | values s | entries | "
           "longest | application ms | solve s |")
    yield "|---|---:|---|" + "---:|" * 10
    for name, (title, _, _, published) in SIBLINGS.items():
        exact = None
        for r in held.get(name, []):
            row, case = r["row"], r["case"]
            if "failed" in row:
                yield f"| {title} | {r['n']} | {case} | failed | | | | | | | | | |"
                continue
            isai = (row.get("blocks") or {}).get("isai", {})
            count = iterations(row)
            exact = count if case == "exact" else exact
            made = row["time_s"]["factorize"] - isai.get("time_pattern_s", 0) - isai.get("time_values_s", 0)
            theirs = f"{published[1] / published[0]:.2f}" if case == "ISAI(1)+0" else ""
            k = row["krylov"]
            yield (f"| {title} | {r['n']} | {case} | {count}{'' if converged(row, 1e-10) else ' †'} | "
                   f"{count / exact if exact else 0:.2f} | {theirs} | {made:.3f} | {isai.get('time_pattern_s', 0):.3f} | "
                   f"{isai.get('time_values_s', 0):.3f} | {isai.get('entries', '')} | {isai.get('longest', '')} | "
                   f"{1e3 * k['time_precondition_s'] / max(1, k['applications']):.3f} | {row['time_s']['solve']:.2f} |")


APART = """
## Apart, and iterations

What option triangular `auto` measures: ‖x − y‖ / ‖x‖, x a random vector with the factor applied exactly, y by products. The
settings of the first table, on the matrices on which exact solves converge; all that are at most so far apart.

"""


def write(options, held):
    with open(options.report, "w", encoding="utf-8") as file:
        file.write(f"""# Approximate inverses in place of triangular solves

Made by `bench/isai.py`: METAPACK {version(options)}, {machine()}; {options.threads} thread. The machine had other work.

## SQMR with indefinite factors

`--method ildlt --krylov sqmr --tolerance 1e-8 --max-iterations 1000`, all else by default (blocks of up to 32 rows, level
1, thresholds). Cells: iterations / seconds of the solve / megabytes of the factor, with all that is applied; –: not
reached in 1000 iterations. ISAI(k)+r: pattern S(|L|^k), r sweeps of relaxation; columns of more than 2000 entries get the
largest power that fits (`cut`: how many). Jacobi k: k sweeps.

""")
        file.writelines(line + "\n" for line in sqmr_lines(held["sqmr"]))
        file.write(f"""
## ILU(0) and IDR(4)

The setting of Table II of Anzt et al.: ILU(0) in the order given (RCM for parabolic_fem), unit diagonal, x = 0,
b = ones, a relative residual of 1e-10. The matrices are not theirs but generated siblings of the same structure (five points
on a square; the same with a flow; linear elements on unstructured triangles, their points in random order) with fewer
rows, so iterations cannot be compared with the published ones, only how they grow: "× exact" beside the paper's. M_U is made
by columns of U, as there. † not reached.

""")
        file.writelines(line + "\n" for line in idr_lines(held["idr"]))
        file.write(APART)
        file.writelines(line + "\n" for line in apart_lines(held["apart"]))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--part", nargs="*", default=["sqmr", "idr", "apart"], help="what is measured: sqmr, idr, apart")
    parser.add_argument("--scale", type=float, default=0.2, help="of the siblings' sides")
    parser.set_defaults(report=os.path.join(HERE, "results/isai.md"), threads=1)
    options = parser.parse_args()
    parts = {"sqmr": (MATRICES, sqmr), "idr": (list(SIBLINGS), idr), "apart": (MATRICES, apart)}
    held = {}
    for part, (names, measure) in parts.items():
        chosen = [n for n in names if fnmatch.fnmatch(n, options.only)] if part in options.part else []
        held[part] = stored(options, part, chosen, measure)
    write(options, held)


if __name__ == "__main__":
    main()
