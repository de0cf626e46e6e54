#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of Thuerck, Naumov, Garland & Goesele 2018 (bench/ildlt.py) on a GPU.

    bench/ildlt_gpu.py table1|fig3|equal [MATRICES] [--build build] [--threads 2]

table1: the published settings, where the paper's matrix was preprocessed also with ours scaled so first, and other matrices with the setting that auto takes, beside our processor with --threads
threads and, where BUILD/bench/symildl is (METAPACK_SYMILDL), SYM-ILDL; by BUILD/bench/cuda-incomplete.
fig3: one parameter at a time there and on the processor; bench/results/ildlt-fig3-gpu.svg.
equal: is the factor the processor's? Every pivoting, one stage and four; by BUILD/bench/cuda-blocks.
Tables go to standard output, rows to BUILD/bench/ildlt-gpu-*.jsonl."""
import concurrent.futures, fnmatch, glob, json, math, os, re, subprocess, sys, tempfile

import chart
from ildlt import BASE, OURS, PREPROCESSED, PUBLISHED, SUBJECTS, VARIED, published_setting
from incomplete import arguments, case, find, finite, in_process, keep, megabytes, picture, show

# What is nearest to a row of Table I, where we have nothing of the same name.
SIBLINGS = {
    "mario001": [("tuma1 (of GHS_indef, too)", "suitesparse/tuma1", 20)],
    "G3_circuit": [("a grid of 1260²", "generate helmholtz 2d 1260 0", 60)],
    "nlpkkt120": [("nlpkkt120 (generated)", "generate nlpkkt 120", 0)],
}
# Other matrices, in the setting that `--method auto --no-direct` takes for each of them.
MORE = ["generate nlpkkt 24", "generate nlpkkt 40", "generate helmholtz 2d 300", "generate stokes mac 150", "generate optimal-control 5000",
        "generate quasi-definite 300", "generate lp-kkt 20000 40000", "qp_kkt/cont-201", "qp_kkt/aug2dc", "symildl/stokes_regularized",
        "symildl/m2d100-001", "culip/spmv_K", "helmholtz/NM1_shift2", "lp_kkt/maros_r7_it10", "lp_kkt/stocfor3_it23", "lp_kkt/bab5_it23", "lp_kkt/map10_it00",
        "qp_kkt/boyd1", "suitesparse/tuma1"]
AUTO = "level=-1,fill_factor=0,drop_tolerance=1e-4,pivoting=rook,krylov=sqmr,tolerance=1e-6"


def symildl_row(options, matrix, fill, timeout):
    """SYM-ILDL's seconds and iterations as it tells them, the residual computed anew."""
    driver = os.path.join(options.build, "bench/symildl")
    if not os.path.exists(driver):
        return {}
    try:
        text = subprocess.run([driver, matrix, str(fill), "1e-6", "1000"], capture_output=True, text=True, timeout=timeout).stdout
    except subprocess.TimeoutExpired:
        return {"failed": f"> {timeout:.0f} s"}
    factor, solved = re.search(r"Factorization.*?([\d.]+) seconds", text), re.search(r"Solve time:\s*([\d.]+) seconds", text)
    took = re.search(r"took (\d+) iterations? and got down to relative residual (\S+?)\.?\s", text)
    if not factor or not solved or not took:
        return {"failed": "no answer"}
    own = json.loads(text.strip().splitlines()[-1])
    return {"fill": fill, "factor_s": float(factor[1]), "solve_s": float(solved[1]), "iterations": int(took[1]), "told": float(took[2]),
            "relative_residual": own["relative_residual"], "entries": own["entries"]}


def good(row):
    return bool(row) and "failed" not in row and row["relative_residual"] <= 1e-6 * (1 + 1e-6)


def best_of(rows):
    """Of SYM-ILDL's, the fastest that says it converged."""
    there = [r for r in rows if r and "failed" not in r and r["told"] <= 1e-6]
    return min(there, key=lambda r: r["factor_s"] + r["solve_s"], default=None)


def together(row, key):
    return sum(row[key]) if good(row) else None


def milliseconds(pair):
    return " + ".join(show(1e3 * t) for t in pair)


def table1_rows(options):
    """(name in the table, case, published) of Table I, then of the others."""
    rows = []
    for name, p in PUBLISHED.items():
        for title, where, most in OURS.get(name, []) + SIBLINGS.get(name, []):
            source = find(options, where)
            if source and fnmatch.fnmatch(title, options.only) and (most or options.long):
                rows.append((title, case(source, published_setting(p)), p))
                if name in PREPROCESSED:
                    rows.append((title + ", preprocessed", "preprocessed " + rows[-1][1], p))
    for where in [] if options.published else MORE:
        source = find(options, where)
        if source and fnmatch.fnmatch(where, options.only):
            rows.append((where.split("/")[-1].replace("generate ", ""), case(source, AUTO), None))
    return rows


def table1(options):
    rows = table1_rows(options)
    cases = [c for _, c, _ in rows]
    # the device alone first; then the processor and SYM-ILDL, each on cores of its own. The first case starts the device
    there = in_process(options, ["generate nlpkkt 5 device=cuda"] + [c + ",device=cuda" for c in cases], 0, 3, 150)
    keep(options, "ildlt-gpu-table1", list(there.values()))
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        large = {c for c in cases if sum(there.get(c + ",device=cuda", {}).get("first", [1])) > 0.3}  # once is enough, and they begin
        jobs = {c: pool.submit(in_process, options, [c], options.threads, 0 if c in large else 2, options.limit)
                for c in sorted(cases, key=lambda c: c not in large)}
        cores = [jobs[c] for c in cases]
        peers = [[pool.submit(symildl_row, options, c.rsplit(" ", 1)[0], fill, options.peer_limit) for fill in (4.0, 8.0)
                  if not c.startswith("preprocessed ") and (options.long or "nlpkkt 80" not in c)] for c in cases]
        cores, peers = [f.result() for f in cores], [[f.result() for f in pair] for pair in peers]
    print("| matrix | published, Titan V: it. | factor + solve, ms | device: it. | first, ms | again, ms | "
          f"{options.threads} threads: it. | ms | SYM-ILDL: fill, it. | ms | published / first | threads / again | SYM-ILDL / first | / again | factor, MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    ratios, everything = {"published": [], "threads": [], "large": [], "peer": [], "peer, again": []}, []
    for (title, c, p), core, pair in zip(rows, cores, peers):
        ours, cpu, peer = there.get(c + ",device=cuda", {}), core.get(c, {}), best_of(pair)
        everything.append({"matrix": title, "case": c, "device": ours, "threads": cpu, "symildl": pair})
        first, again, host = together(ours, "first"), together(ours, "again"), together(cpu, "again")
        other = peer["factor_s"] + peer["solve_s"] if peer else None
        paper = p[9] + p[10] if p and p[9] is not None else None
        kinds = {"published": (paper, first), "threads": (host, again), "peer": (other, first), "peer, again": (other, again),
                 "large": (host if ours.get("bytes", 0) > 50e6 else None, again)}
        ratio = {k: x / y if finite(x) and finite(y) else None for k, (x, y) in kinds.items()}
        for k, x in ratio.items():
            ratios[k] += [x] if x else []

        def told_of(row, key):
            if not row or "failed" in row:
                return ["†" if row else "—", "—"]
            return [f"{row['iterations']}" if good(row) else f"† {row['relative_residual']:.0e}", milliseconds(row[key])]

        print(f"| {title} | " + (f"{p[8]} | {milliseconds(p[9:11])}" if p else " | ") + " | " + " | ".join(
            [*told_of(ours, "first"), milliseconds(ours["again"]) if "again" in ours else "—", *told_of(cpu, "again"),
             f"{peer['fill']:g}, {peer['iterations']}" if peer else "†", milliseconds((peer["factor_s"], peer["solve_s"])) if peer else "—",
             *(show(ratio[k], ".1f") for k in ("published", "threads", "peer", "peer, again")), megabytes(ours.get("bytes"))]) + " |", flush=True)
    means = {k: math.exp(sum(map(math.log, v)) / len(v)) for k, v in ratios.items() if v}
    print("\nGeometric means: " + "; ".join(f"{k} {m:.1f} ({len(ratios[k])})" for k, m in means.items())
          + ". Large: factors above 50 MB, threads / again.")
    keep(options, "ildlt-gpu-table1", everything)


def fig3(options):
    subjects = [(s, find(options, s)) for s in SUBJECTS if fnmatch.fnmatch(s, options.only)]
    subjects = [(s, source) for s, source in subjects if source]
    names = [s.split("/")[-1].replace("generate ", "") for s, _ in subjects]

    def setting(key, value, device):
        choice = dict({k.replace("-", "_"): v for k, v in BASE.items()}, **{key.replace("-", "_"): value})
        words = ",".join(f"{k}={v}" for k, v in choice.items())
        return f"strategy=rb,ordering=amd,{words},krylov=sqmr,tolerance=1e-6,max_iterations=200" + (",device=cuda" if device else "")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = {(s, d): pool.submit(in_process, options, [case(source, setting(key, v, d)) for key, _, values in VARIED for v in values],
                                    1, 1, options.seconds) for s, source in subjects for d in (True, False)}
        got = {k: job.result() for k, job in jobs.items()}
    panels, same, all_ = [], 0, 0
    for key, title, values in VARIED:
        series, text = [], [str(v) if v or key == "level" else {"fill-factor": "all"}.get(key, "0") for v in values]
        print(f"\n| {title.lower()} | " + " | ".join(text) + " |\n|---|" + "---:|" * len(values))
        for (subject, source), name in zip(subjects, names):
            mine = [got[subject, True].get(case(source, setting(key, v, True)), {}) for v in values]
            host = [got[subject, False].get(case(source, setting(key, v, False)), {}) for v in values]
            y = [r["iterations"] if good(r) else None for r in mine]
            z = [r["iterations"] if good(r) else None for r in host]
            all_ += len(y)
            same += sum(a == b for a, b in zip(y, z))
            series += [{"name": name, "y": y}, {"name": name, "right": True, "y": [r["kept"] / r["nnz"] if "kept" in r else None for r in mine]}]
            print(f"| {name} | " + " | ".join(
                (f"{a}" if a is not None else "†") + ("" if a == b else f" ({b if b is not None else '†'})")
                + (f" · {r['levels']} · {r['kept'] / r['nnz']:.1f}" if "levels" in r else "") for a, b, r in zip(y, z, mine)) + " |")
        panels.append({"title": title, "ticks": text, "series": series, "log": True, "log_right": True, "label": "iterations",
                       "label_right": "entries of L / of A"})
    chart.draw(picture("ildlt-fig3-gpu.svg"), panels, names)
    print(f"\nIterations (the processor's in brackets where they differ) · level sets · entries kept for each of A's lower triangle. "
          f"{same} of {all_} settings: the processor's iterations.")
    keep(options, "ildlt-gpu-fig3", [dict(r, place=d) for (_, d), rows in got.items() for r in rows.values()])


# ---- the same factor? ----

PIVOTINGS = ["none", "static", "bk", "rook", "complete"]
SAYS = re.compile(r"beside the processor's: L (\S+), D (\S+), (\d+) of (\d+) entries elsewhere; kept ([+-]\d+), dropped ([+-]\d+), perturbed ([+-]\d+)")


def compared(options, name, path):
    """What cuda-blocks says of one matrix, a row a setting."""
    settings = [(p, s) for p in PIVOTINGS for s in (1, 4)]
    cases = [f"{path} strategy=rbr,ordering=amd,level=1,fill_factor=8,drop_tolerance=1e-4,pivoting={p},stages={s}" for p, s in settings]
    rows = []
    with tempfile.TemporaryFile("w+") as out:
        try:
            subprocess.run([os.path.join(options.build, "bench/cuda-blocks"), "-t", "1", "-r", "1", *cases], stdout=out,
                           stderr=subprocess.STDOUT, timeout=options.limit)
        except subprocess.TimeoutExpired:
            pass
        out.seek(0)
        text = out.read()
    for (pivoting, stages), part in zip(settings, text.split(path + " ")[1:]):
        m = SAYS.search(part)
        if m:
            rows.append({"matrix": name, "pivoting": pivoting, "stages": stages, "l": float(m[1]), "d": float(m[2]), "elsewhere": int(m[3]),
                         "entries": int(m[4]), "kept": int(m[5]), "dropped": int(m[6]), "perturbed": int(m[7])})
    return rows


def equal(options):
    paths = sorted(glob.glob(os.path.join(options.matrices, "*", "*.mtx*")), key=os.path.getsize, reverse=True)
    names = {p: os.path.relpath(p, options.matrices).split(".mtx")[0] for p in paths}
    names = {p: n for p, n in names.items() if fnmatch.fnmatch(n, options.only)}
    with concurrent.futures.ThreadPoolExecutor(max(1, min(10, (os.cpu_count() or 2) - 2))) as pool:
        rows = sum(pool.map(lambda p: compared(options, names[p], p), names), [])
    print("| pivoting, stages | factors | same places, kept, perturbed | of these L within 1e-12 | 1e-9 | largest | dropped counts equal |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for pivoting in PIVOTINGS:
        for stages in (1, 4):
            mine = [r for r in rows if (r["pivoting"], r["stages"]) == (pivoting, stages)]
            same = [r for r in mine if not r["elsewhere"] and not r["kept"] and not r["perturbed"] and math.isfinite(r["l"])]
            print(f"| {pivoting}, {stages} | {len(mine)} | {len(same)} | {sum(r['l'] <= 1e-12 for r in same)} | {sum(r['l'] <= 1e-9 for r in same)} | "
                  f"{max([r['l'] for r in same], default=0):.1e} | {sum(not r['dropped'] for r in same)} |")
    other = [r for r in rows if r["elsewhere"] or r["kept"] or r["perturbed"] or not r["l"] <= 1e-9]
    print("\nNot so: " + "; ".join(f"{r['matrix']} {r['pivoting']}, {r['stages']}: L {r['l']:.1e}, {r['elsewhere']} of {r['entries']} elsewhere, "
                                   f"kept {r['kept']:+d}, perturbed {r['perturbed']:+d}" for r in other))
    keep(options, "ildlt-gpu-equal", rows)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    parser = arguments(__doc__)
    parser.add_argument("--long", action="store_true", help="table1: nlpkkt120, too")
    parser.add_argument("--published", action="store_true", help="table1: the rows of Table I alone")
    parser.add_argument("--limit", type=float, default=80, help="seconds for a matrix on the processor")
    parser.add_argument("--peer-limit", type=float, default=80, help="seconds for a matrix in SYM-ILDL")
    parser.add_argument("--seconds", type=float, default=90, help="fig3: for the settings of a matrix, here and there")
    parts = {"table1": table1, "fig3": fig3, "equal": equal}
    parser.usage = "%(prog)s " + "|".join(parts) + " [MATRICES] [options]"
    if what not in parts:
        parser.error("say " + ", ".join(parts) + " first") if what not in ("-h", "--help") else parser.parse_args()
    options = parser.parse_args(sys.argv[2:])
    parts[what](options)


if __name__ == "__main__":
    main()
