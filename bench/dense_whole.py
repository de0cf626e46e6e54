#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole dense systems on a GPU: the part of bench/results/dense-gpu.md between its marks, from the rows of bench/dense/system.c,
bench/dense/peer.cu and bench/dense/torch_rows.py.

    bench/dense_whole.py rows.jsonl... [--date 2026-11-29] [--driver 580.159] [--out bench/results/dense-gpu.md]

Figures and tables as in Baboulin, Dongarra, Remy, Tomov & Yamazaki (Concurrency Computat. 29, 2017): processor, hybrid and device
(3), whole solutions with transfers (4), LU's errors (5), mixed precision with many right-hand sides (7) and its split (8), boundary
elements (Tables 1 and 2). Commands: dense_system and dense_peer (ninja targets), with --out."""
import argparse, json, os

import chart
from page import table

OPEN, CLOSE = "<!-- whole -->", "<!-- /whole -->"
OURS = ["tile", "none", "butterfly", "aasen", "bunch-kaufman"]
THEIRS = ["cusolver-getrf", "cusolver-sytrf"]


def load(paths):
    rows = []
    for path in paths:
        for line in open(path):
            for word in ("nan", "-nan", "inf"):
                line = line.replace(f": {word}", ": null")
            if line.strip():
                rows.append(json.loads(line))
    return rows


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def get(self, **want):
        """The quickest good row that agrees; None if there is none."""
        want = {"matrix": "random", "letter": "d", "hermitian": 0, "precision": "working", "nrhs": 1, "transfers": 0, "host": 0, **want}
        found = [r for r in self.rows if r["row"] == "system" and all(r.get(k) == v for k, v in want.items())
                 and r["status"] in ("ok", "singular") and r["time_s"]]
        return min(found, key=lambda r: r["time_s"], default=None)

    def sizes(self, **want):
        return sorted({r["n"] for r in self.rows if r["row"] == "system" and all(r.get(k) == v for k, v in want.items())})


ms = lambda seconds: "–" if seconds is None else f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"
small = lambda x: "–" if x is None else f"{x:.0e}"


def many(r):
    lines, letters = [], [("d", 0, m, n, p) for n in (2048, 8192, 16384) for m, p in (("tile", "working"), ("tile", "single"))]
    letters += [(letter, 0, "tile", 4096, "working") for letter in "scz"] + [("z", 1, "rook", 4096, "working")]
    for letter, hermitian, method, n, precision in letters:
        one = r.get(letter=letter, hermitian=hermitian, method=method, n=n, precision=precision)
        for nrhs in (16, 64, 256):
            row = r.get(letter=letter, hermitian=hermitian, method=method, n=n, precision=precision, nrhs=nrhs)
            if not row:
                continue
            # until now each column was refined by itself: one column's refinement, as often as there are columns
            before = one["refine_s"] * nrhs if one and one["steps"] == row["steps"] else None
            lines.append([f"{letter}{' Hermitian' if hermitian else ''}, {method}, {precision}", n, nrhs, ms(row["factorize_s"]), ms(row["solve_s"]),
                          ms(row["refine_s"]), ms(before), "–" if before is None else f"{before / row['refine_s']:.1f}",
                          f"{small(row['omega'])} → {small(row['omega_refined'])} ({row['steps']})"])
    return """### Many right-hand sides

Refined together, up to 256 at once: a residual is A X and |A| |X| by cuBLAS, strip by strip of rows. Milliseconds; *one after the other*: the
refinement of one right-hand side, as often as there are right-hand sides, which is what refinement did before.

""" + table(["", "n", "right-hand sides", "factorize", "solve", "refine", "one after the other", "ratio", "ω (steps)"], lines, True)


def processor(r, rows, folder):
    sizes = r.sizes(host=1)
    magma = {(x["method"], x["n"]): x for x in rows if x["row"] == "time" and x["method"].startswith("magma-")}
    has = next((x for x in rows if x["row"] == "magma" and "has" in x), None)
    every = sorted(set(sizes) | {n for _, n in magma})
    if not every:
        return ""
    rate = lambda n, seconds: n ** 3 / 3 / seconds * 1e-12 if seconds else None
    host = lambda m: [rate(n, (r.get(method=m, n=n, host=1) or {}).get("factorize_s")) for n in every]
    hybrid = lambda m: [rate(n, magma[m, n]["time_s"]) if (m, n) in magma else None for n in every]
    there = lambda m: [rate(n, (r.get(method=m, n=n, transfers=1) or r.get(method=m, n=n) or {}).get("factorize_s")) for n in every]
    series = [("processor: tile", host("tile")), ("processor: bunch-kaufman", host("bunch-kaufman")), ("processor: aasen", host("aasen")),
              ("MAGMA sytrf, panels on the processor", hybrid("magma-sytrf")), ("MAGMA LU", hybrid("magma-getrf")),
              ("GPU: bunch-kaufman", there("bunch-kaufman")), ("GPU: tile", there("tile"))]
    series = [(name, y) for name, y in series if any(y)]
    chart.draw(f"{folder}/dense-gpu-fig3-hybrid.svg",
               [{"title": "TFLOP/s of n³/3", "ticks": every, "log": True, "label": "n", "series": [{"name": name, "y": y} for name, y in series]}],
               [name for name, _ in series])
    return f"""### The processor, and panels on it (Fig. 3)

TFLOP/s of n³/3, LU's too. The processor: 16 cores beside the GPU, our methods. MAGMA as PyTorch {has['torch'] if has else ''} carries it
(`torch.linalg.ldl_factor`, `lu_factor`): its Bunch-Kaufman has the panels on the processor and the updates on the GPU, as in the paper.

""" + table(["n", *(name for name, _ in series)], [[n, *("–" if y[i] is None else f"{y[i]:.3g}" for _, y in series)] for i, n in enumerate(every)], True) + \
        "\n![processor, hybrid, GPU](dense-gpu-fig3-hybrid.svg)\n"


def whole(r, folder):
    sizes = r.sizes(transfers=1)
    flops = lambda n: n ** 3 / 3 + 2 * n * n + n
    names = [m for m in OURS + THEIRS if any(r.get(method=m, n=n, transfers=1) for n in sizes)]
    at = {(m, n): r.get(method=m, n=n, transfers=1) for m in names for n in sizes}
    chart.draw(f"{folder}/dense-gpu-fig4.svg",
               [{"title": "TFLOP/s of n³/3 + 2n²", "ticks": sizes, "log": True, "label": "n",
                 "series": [{"name": m, "dash": m in THEIRS, "y": [flops(n) / at[m, n]["time_s"] * 1e-12 if at[m, n] else None for n in sizes]}
                            for m in names]},
                {"title": "Time, ms", "ticks": sizes, "log": True, "label": "n",
                 "series": [{"name": m, "dash": m in THEIRS, "y": [at[m, n]["time_s"] * 1e3 if at[m, n] else None for n in sizes]}
                            for m in names]}], names)
    lines = [[n, *(f"{ms(at[m, n]['time_s'])} ({small(at[m, n]['omega_refined'] if m in OURS else at[m, n]['omega'])})" if at[m, n] else "–"
                   for m in names)] for n in sizes]
    auto = [f"n = {n}: {ms(row['time_s'])} ms, ω {small(row['omega_refined'])}, {row['steps']} steps of refinement"
            for n in r.sizes(method="auto") if (row := r.get(method="auto", n=n))]
    told = f"Method auto, data on the device, which begins with single precision from n = 16 384: {'; '.join(auto)}.\n\n" if auto else ""
    return """### Whole solutions (Fig. 4)

One right-hand side, random matrices, milliseconds and ω; A goes to the GPU and x comes back within the time, from and to ordinary
memory, as the paper counts it. Ours refine and check; cuSOLVER's LU and Bunch-Kaufman do not.

""" + told + table(["n", *names], lines, True) + "\n![rate and time](dense-gpu-fig4.svg)\n"


def errors(r):
    lines = []
    for n in r.sizes(method="cusolver-getrf", transfers=0, matrix="random"):
        lu, bk = (r.get(method=m, n=n) for m in THEIRS)
        if lu:
            lines.append([n, small(lu["omega"]), small(lu["omega_refined"]), small(bk and bk["omega"]), small(bk and bk["omega_refined"])])
    return """### Errors of LU (Fig. 5)

ω of a random right-hand side with cuSOLVER's factors, unrefined and after one step; ours are in the [table above](#errors-fig-5).

""" + table(["n", "LU", "LU + 1", "Bunch-Kaufman", "Bunch-Kaufman + 1"], lines, True) if lines else ""


def mixed(r, folder):
    ks = sorted({x["nrhs"] for x in r.rows if x["row"] == "system" and x.get("hermitian") and x["method"] == "none"})
    if not ks:
        return ""
    n = max(x["n"] for x in r.rows if x["row"] == "system" and x.get("hermitian") and x["method"] == "none")
    kinds = [("CHESV", "c", "working"), ("ZHESV", "z", "working"), ("ZCHESV", "z", "single")]
    at = {(name, k): r.get(matrix="dominant", letter=letter, hermitian=1, method="none", precision=p, n=n, nrhs=k)
          for name, letter, p in kinds for k in ks}
    flops = lambda k: 4 * n ** 3 / 3 + 8 * n * n * k
    chart.draw(f"{folder}/dense-gpu-fig7.svg",
               [{"title": f"n = {n}: TFLOP/s", "ticks": ks, "log": True, "label": "right-hand sides",
                 "series": [{"name": name, "y": [flops(k) / at[name, k]["time_s"] * 1e-12 if at[name, k] else None for k in ks]}
                            for name, _, _ in kinds]},
                {"title": "ZCHESV's time, ms", "ticks": ks, "bars": True, "label": "right-hand sides",
                 "series": [{"name": part, "y": [at["ZCHESV", k][part + "_s"] * 1e3 if at["ZCHESV", k] else None for k in ks]}
                            for part in ("factorize", "solve", "refine")]}],
               [name for name, _, _ in kinds] + ["factorize", "solve", "refine"])
    lines = []
    for k in ks:
        line = [k]
        for name, _, _ in kinds:
            row = at[name, k]
            line.append(f"{ms(row['time_s'])} ({flops(k) / row['time_s'] * 1e-12:.3g}; {small(row['omega_refined'])})" if row else "–")
        row = at["ZCHESV", k]
        line += [ms(row[part + "_s"]) for part in ("factorize", "solve", "refine")] + [row["steps"]] if row else ["–"] * 4
        lines.append(line)
    return f"""### Mixed precision, complex Hermitian (Fig. 7 and 8)

n = {n}, without pivoting, 1.5 √n of changing sign on the diagonal. Milliseconds (TFLOP/s of 4n³/3 + 8n² a right-hand side; ω). ZCHESV: factors in
single precision, refined to double's accuracy; beside it where its time goes.

""" + table(["right-hand sides", "CHESV", "ZHESV", "ZCHESV", "factorize", "solve", "refine", "steps"], lines, True) + \
        "\n![mixed precision](dense-gpu-fig7.svg)\n"


def acoustics(r):
    files = sorted({x["matrix"] for x in r.rows if x["row"] == "system" and x["matrix"].endswith(".npy")}, reverse=True)
    lines = []
    for file in files:
        for method in ("cusolver-getrf", "none", "tile"):
            row = min((x for x in r.rows if x["row"] == "system" and x["matrix"] == file and x["method"] == method and x["time_s"]),
                      key=lambda x: x["time_s"], default=None)
            if row:
                obstacle = {"h": "head", "e": "engine"}[os.path.basename(file)[0]]
                published = {("head", "cusolver-getrf"): "1.34 s, 1.4e-10", ("head", "none"): "0.69 s, 1.4e-10",
                             ("engine", "cusolver-getrf"): "3.74 s, 7.5e-11", ("engine", "none"): "1.93 s, 9.3e-11"}
                lines.append([obstacle, row["n"], method, ms(row["time_s"]), ms(row["factorize_s"]), f"{row['scaled_residual']:.1e}",
                              small(row["omega_refined"] if method in OURS else row["omega"]), published.get((obstacle, method), "")])
    return """### Boundary elements (Tables 1 and 2)

`example_acoustics head 10424 10` and `engine 15134 12`, single complex, symmetric; milliseconds of the whole solution with data on the
device; the paper's residual ‖b − A x‖ / (n ‖A‖ ‖x‖). Published: a K40c, the factorizations by CPU and GPU together, n = 10 424 and 15 135.

""" + table(["obstacle", "n", "method", "time", "factorize", "residual", "ω", "published"], lines, True) if lines else ""


def main():
    at = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    at.add_argument("rows", nargs="+")
    at.add_argument("--date", default="")
    at.add_argument("--driver", default="580.159")
    at.add_argument("--out", default="bench/results/dense-gpu.md")
    o = at.parse_args()
    rows, folder = load(o.rows), os.path.dirname(o.out)
    r = Rows(rows)
    parts = [f"## Whole systems\n\nOne NVIDIA H200, driver {o.driver}, 16 cores beside it, {o.date}; the quickest of two or three runs.\n",
             many(r), processor(r, rows, folder), whole(r, folder), errors(r), mixed(r, folder), acoustics(r)]
    text = open(o.out).read()
    if OPEN not in text:
        raise SystemExit(f"{o.out} has no mark {OPEN}")
    before, rest = text.split(OPEN)
    open(o.out, "w").write(before + OPEN + "\n\n" + "\n".join(p for p in parts if p) + "\n" + CLOSE + rest.split(CLOSE)[1])


main()
