#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Approximate inverses in place of triangular solves: iterations, time, bytes (docs/guide/isai.md).

    bench/isai.py [--part sqmr idr apart frames] [--build build] [--report bench/results/isai.md] [--device cuda]

sqmr: indefinite LDLT factors on blocks, exact / Jacobi sweeps / ISAI(1..3) with 0 to 3 sweeps of relaxation, on 20
matrices. idr: the setting of the paper's Table II (ILU(0), IDR(4), natural or RCM order, unit diagonal, 1e-10) on
generated siblings of its matrices. apart: how far one application by products is from an exact one, which option triangular
auto measures, beside the iterations. frames: approximate inverses by frames beside those by columns. Each section is written anew when it is run, a matrix at a time, so that
`flock LOCK bench/isai.py --part sqmr --only NAME` measures one; the rows are kept in BUILD/bench."""
import fnmatch, json, math, os, statistics, subprocess, tempfile

from incomplete import arguments, converged, find, iterations, machine, solve, version
from page import put_section

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

def siblings():
    """Name: title, order, spec of bench/cuda/siblings.txt."""
    with open(os.path.join(HERE, "cuda/siblings.txt"), encoding="utf-8") as file:
        rows = [line.split(None, 3) for line in file if not line.startswith("#")]
    return {name: (title, order, spec.strip()) for name, title, order, spec in rows}


def scaled(spec, scale):
    """Its sides, those that are at least 32, times `scale`."""
    return " ".join(str(max(4, round(int(w) * scale))) if w.isdigit() and int(w) >= 32 else w for w in spec.split())


def generated(options, spec, path):
    """What the generator makes of a spec, with a unit diagonal, both triangles in a file."""
    subprocess.run([os.path.join(options.build, "metapack"), "generate", *spec.split(), "-q", "-o", path], check=True)
    import numpy as np
    from scipy import io, sparse
    a = io.mmread(path).tocsc()
    scale = sparse.diags(1 / np.sqrt(np.abs(a.diagonal())))
    a = (scale @ a @ scale).tocsc()
    write_matrix(path, a)
    return a


SIBLINGS = siblings()
PUBLISHED = {"AF3": (329, 1588), "ECO": (954, 2933), "OFF": (148, 440), "PARA": (139, 730), "THM": (873, 1755),
             "TMT": (755, 1881)}  # iterations of Table II: exact, ISAI(1)
SIDES = [("exact", [])] + [(f"ISAI({k})+{r}", ["--triangular", "isai", "--isai-pattern", "matrix", "--isai-power", str(k),
                                               "--isai-relax", str(r)]) for k in (1, 2, 3) for r in (0, 1)]


def write_matrix(path, a):
    import numpy as np
    a = a.tocoo()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{a.shape[0]} {a.shape[1]} {a.nnz}\n")
        np.savetxt(file, np.column_stack([a.row + 1, a.col + 1, a.data]), "%d %d %.17g")


def idr(options, name):
    _, order, spec = SIBLINGS[name]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, rhs = os.path.join(folder, "a.mtx"), os.path.join(folder, "b.mtx")
        a = generated(options, scaled(spec, options.scale), path)
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


# ---- by frames: one system for the columns of a block ------------------------------------------------------------------

FRAMES = MATRICES + ["generate elements shell 40", "generate elements tetrahedra 16", "generate optimal-control 60 states=16"]
ON_DEVICE = ["generate nlpkkt 24", "generate elements tetrahedra 24", "generate optimal-control 3000 states=16", "generate stokes mac 120",
             "generate helmholtz 2d 250 shift=0.05"]
FRAME_CASES = [(f"ISAI({k})+{r}{' by frames' if on else ''}", k, r, on) for k in (1, 2) for r in (0, 1) for on in (0, 1)]


def frames(options, name):
    source = find(options, name)
    rows = []
    device = ["--device", "cuda"] if options.device == "cuda" else []
    for case, power, relax, on in FRAME_CASES if source else []:
        if device and relax:
            continue
        words = [*ISAI, *device, "--isai-power", str(power), "--isai-relax", str(relax), *(["--isai-frames"] if on else [])]
        setting = ["--method", "ildlt", "--krylov", "sqmr", "--tolerance", "1e-8", "--max-iterations"]
        row = solve(options, source, [*setting, "1000", *words], timeout=60)
        auto = solve(options, source, [*setting, "1", *("auto" if w == "isai" else w for w in words)], timeout=60)
        measured = (auto.get("blocks") or {}).get("triangular") or {}
        if "failed" in row or not measured.get("isai_s"):
            rows.append({"case": case, "failed": row.get("failed") or auto.get("failed")})
        else:
            isai = row["blocks"]["isai"]
            rows.append({"case": case, "iterations": iterations(row) if converged(row, 1e-8) else None,
                         "pattern": isai["time_pattern_s"], "values": isai["time_values_s"], "entries": isai["entries"],
                         "bytes": isai["bytes"], "apply": measured["isai_s"]})
        print(name, rows[-1], flush=True)
    return rows


def frames_on_device(options):
    """The same on a GPU, to standard output."""
    held = {n: frames(options, n) for n in ON_DEVICE if fnmatch.fnmatch(n, options.only)}
    print("\n".join(frames_lines(held, list(held), (0,))))
    print("| matrix | case | pattern, ms | values, ms | application, ms | iterations |\n|---|---|---:|---:|---:|---:|")
    for name, rows in held.items():
        for r in rows:
            told = r.get("failed") and "failed: " + r["failed"]
            print(f"| {name} | {r['case']} | " + (told or " | ".join(f"{1e3 * r[k]:.3g}" for k in ("pattern", "values", "apply"))
                                                 + f" | {r['iterations'] or '–'}") + " |")


def frames_lines(held, names=FRAMES, relaxed=(0, 1)):
    """Per matrix, by frames over by columns: entries, bytes, set-up, application, iterations; and medians."""
    for power, relax in [(k, r) for k in (1, 2) for r in relaxed]:
        title = f"ISAI({power})+{relax}"
        yield f"| {title} | entries, by frames × | bytes × | pattern × | values × | application × | iterations: columns, frames |"
        yield "|---|---:|---:|---:|---:|---:|---:|"
        ratios = []
        for name in names:
            rows = {r["case"]: r for r in held.get(name, [])}
            one, two = rows.get(title), rows.get(title + " by frames")
            if not one or not two or "failed" in one or "failed" in two:
                continue
            keys = ("entries", "bytes", "pattern", "values", "apply")
            ratio = [two[k] / max(one[k], 1e-9) for k in keys]
            ratios.append(ratio)
            yield (f"| {name.replace('generate ', '')} | " + " | ".join(f"{x:.2g}" for x in ratio) +
                   f" | {one['iterations'] or '–'}, {two['iterations'] or '–'} |")
        if ratios:
            yield ("| **median** | " + " | ".join(f"**{statistics.median(x):.2g}**" for x in zip(*ratios)) + " | |")
        yield ""


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
        mean = math.exp(statistics.mean(math.log(q) for q, _ in ratios)) if ratios else 0
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
    for name, (title, _, _) in SIBLINGS.items():
        exact, published = None, PUBLISHED[name]
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


TEXTS = {
    "sqmr": ("SQMR with indefinite factors", sqmr_lines, """
`--method ildlt --krylov sqmr --tolerance 1e-8 --max-iterations 1000`, all else by default (blocks of up to 32 rows, level
1, thresholds). Cells: iterations / seconds of the solve / megabytes of the factor, with all that is applied; –: not
reached in 1000 iterations. ISAI(k)+r: pattern S(|L|^k), r sweeps of relaxation; columns of more than 2000 entries get the
largest power that fits (`cut`: how many). Jacobi k: k sweeps."""),
    "idr": ("ILU(0) and IDR(4)", idr_lines, """
The setting of Table II of Anzt et al.: ILU(0) in the order given (RCM for af_shell3 and parabolic_fem), unit diagonal, x = 0,
b = ones, a relative residual of 1e-10. The matrices are not theirs but generated siblings (`bench/cuda/siblings.txt`), here
with sides times the scale, so iterations cannot be compared with the published ones, only how they grow: "× exact" beside
the paper's. M_U is made by columns of U, as there. † not reached."""),
    "apart": ("Apart, and iterations", apart_lines, """
What option triangular `auto` measures: ‖x − y‖ / ‖x‖, x a random vector with the factor applied exactly, y by products. The
settings of the first table, on the matrices on which exact solves converge; all that are at most so far apart."""),
    "frames": ("By frames", frames_lines, """
Option `isai_frames`: the columns of a block have the same rows, whole blocks, and share one system. Each number is that of
the way by frames over that by columns, so below 1 frames are better; the settings of the first table, one thread.
An application is the best of four to twelve, as option triangular `auto` measures it; a set-up is a single one, and where other
programs run its ratio may be a wait (beyond 10, below 0.1 of values): medians count. With relaxation by frames the factor's
own blocks stay, where columns hold its triangles anew.""")}


def write(options, part, held):
    heading, lines, text = TEXTS[part]
    made = f"`bench/isai.py --part {part}`: METAPACK {version(options)}, {machine()}; {options.threads} thread. The machine had other work."
    put_section(options.report, heading, "\n".join([made, text, "", *lines(held), ""]))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--part", nargs="*", default=["sqmr", "idr", "apart", "frames"], help="what is measured: sqmr, idr, apart, frames")
    parser.add_argument("--scale", type=float, default=0.2, help="of the siblings' sides")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="frames: where; on a GPU the tables go to standard output")
    parser.set_defaults(report=os.path.join(HERE, "results/isai.md"), threads=1)
    options = parser.parse_args()
    if options.device == "cuda":
        return frames_on_device(options)
    parts = {"sqmr": (MATRICES, sqmr), "idr": (list(SIBLINGS), idr), "apart": (MATRICES, apart),
             "frames": (FRAMES, frames)}
    for part in options.part:
        names, measure = parts[part]
        write(options, part, stored(options, part, [n for n in names if fnmatch.fnmatch(n, options.only)], measure))


if __name__ == "__main__":
    main()
