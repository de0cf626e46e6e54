#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/results/dense-gpu.md from the rows that bench/device-dense and bench/dense/system.c left.

    bench/dense_gpu.py dense.jsonl system.jsonl [--date 2026-11-21] [--out bench/results/dense-gpu.md]

Figures and tables as in Baboulin, Dongarra, Remy, Tomov & Yamazaki (Concurrency Computat. 29, 2017): rate and time of the
factorizations (3), errors (5), mixed precision of real matrices; whole systems are bench/dense_whole.py's."""
import argparse, json, os, subprocess

import chart
from page import table

OPEN, CLOSE = "<!-- whole -->", "<!-- /whole -->"

NAMES = ["tile", "none", "butterfly", "aasen", "bunch-kaufman", "rook"]
VENDOR = ["cusolver-sytrf", "cusolver-sytrf-none", "cusolver-getrf", "cusolver-potrf"]


def load(path):
    return [json.loads(line.replace(": nan", ": null").replace(": -nan", ": null").replace(": inf", ": null")) for line in open(path) if line.strip()]


def written(path):
    """What bench/dense_whole.py wrote between its marks."""
    page = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    return page.split(OPEN)[1].split(CLOSE)[0] if OPEN in page else "\n"


def main():
    at = argparse.ArgumentParser()
    at.add_argument("dense")
    at.add_argument("system")
    at.add_argument("--date", default="")
    at.add_argument("--driver", default="580.159.04")
    at.add_argument("--out", default="bench/results/dense-gpu.md")
    o = at.parse_args()
    rows, systems = load(o.dense), load(o.system)
    folder = os.path.dirname(o.out)
    machine = next(r["text"] for r in rows if r["row"] == "machine")
    times = {(r["letter"], r["method"], r["n"]): r for r in rows if r["row"] == "time"}
    checks = [r for r in rows if r["row"] == "check"]
    rate = lambda letter, m, n: times[letter, m, n]["tflops"] if (letter, m, n) in times else None
    sizes = sorted({n for letter, m, n in times if letter == "d" and m == "tile"})
    get = lambda matrix, m, p, n: next((r for r in systems if (r["matrix"], r["method"], r["precision"], r["n"]) == (matrix, m, p, n)
                                        and r["letter"] == "d"), None)

    def useful(m, n):  # LU on the count of LDLT, as the paper has it
        r = rate("d", m, n)
        return r / 2 if r and m == "cusolver-getrf" else r
    ours = [{"name": m, "y": [rate("d", m, n) for n in sizes]} for m in NAMES]
    theirs = [{"name": m, "y": [useful(m, n) for n in sizes], "dash": True} for m in VENDOR]
    ms = lambda m: [times["d", m, n]["time_s"] * 1e3 if ("d", m, n) in times else None for n in sizes]
    chart.draw(f"{folder}/dense-gpu-fig3.svg",
               [{"title": "Factorization, double: TFLOP/s of n³/3", "ticks": sizes, "series": ours, "log": True, "label": "n"},
                {"title": "cuSOLVER: TFLOP/s of n³/3", "ticks": sizes, "series": theirs, "log": True, "label": "n"},
                {"title": "Time, ms", "ticks": sizes, "series": [{"name": m, "y": ms(m)} for m in NAMES], "log": True, "label": "n"},
                {"title": "cuSOLVER: time, ms", "ticks": sizes, "series": [{"name": m, "y": ms(m), "dash": True} for m in VENDOR],
                 "log": True, "label": "n"}], NAMES + VENDOR)
    text = [f"""# Dense matrices on the H200

{machine}, driver {o.driver}; {o.date}. Medians of 3 to 5 runs after one that warms up, CUDA events around the
factorization, all data on the device; every factorization timed is followed by a solve whose componentwise error ω
is in the rows. Rates are of n³/3 (4n³/3 complex) operations, for LU of 2n³/3. The commands:

    bench/device-dense -- --time --methods tile,none,butterfly --vendors sytrf-none,getrf,potrf --sizes 512,...,32768
    bench/device-dense -- --time --methods bunch,rook,aasen --vendors sytrf --sizes 512,...,24576
    bench/device-dense -- --time --letters cz --methods none,tile --vendors sytrf-none,getrf --sizes 10424,15135
    system N d tile:working,none:working,butterfly:working,tile:single,tile:tf32,tile:half,rook:working,aasen:working

Random matrices, entries uniform in (-1, 1); for `none` and its rival with 1.5 √n of changing sign on the diagonal.
{len(checks)} checks beside it (families that kill pivoting, odd sizes, s d c z, Hermitian): {sum(r['ok'] for r in checks)} pass;
compute-sanitizer's memcheck on small sizes: no error.

## Factorization (the paper's Fig. 3)

TFLOP/s:

"""]
    show = lambda x: "–" if x is None else f"{x:.3g}"
    text.append(table(["n", *NAMES, *VENDOR], [[n, *(show(rate("d", m, n)) for m in NAMES + VENDOR)] for n in sizes]))
    text.append("\n![rate and time](dense-gpu-fig3.svg)\n")
    text.append("""
Below n = 4096 the chain of tiles decides: about 68 µs a tile of 120 columns with pivoting and 51 µs of 128 without, some 34 of
them the tile, which one thread block has; the rest are two launches a tile, each begun while the one before still runs. Orders up
to 2560 take a tile at a time. Two machines of the same kind differ by some 4 % above n = 8192. Aasen: of 117 ms at n = 16384 about 40 are
products, 35 the panels (2 to 3 µs a column, one look at the offers of 132 thread blocks), the rest exchanges of rows and small
products; T is factored beside it. Bunch-Kaufman takes 9 to 15 µs a column, cuSOLVER's 35 to 55.

## Errors (Fig. 5)

Componentwise ω of a random right-hand side, unrefined and after one step of refinement:

""")
    text.append(table(["n", *(f"{m}{s}" for m in NAMES for s in ("", " + 1"))],
                      [[n, *(f"{times['d', m, n][k]:.0e}" if ("d", m, n) in times and times["d", m, n][k] is not None else "–"
                             for m in NAMES for k in ("omega", "omega_refined"))] for n in sizes]))
    chart.draw(f"{folder}/dense-gpu-fig5.svg",
               [{"title": "ω unrefined", "ticks": sizes, "log": True, "label": "n",
                 "series": [{"name": m, "y": [times["d", m, n]["omega"] if ("d", m, n) in times else None for n in sizes]} for m in NAMES]},
                {"title": "ω after one step", "ticks": sizes, "log": True, "label": "n",
                 "series": [{"name": m, "y": [times["d", m, n]["omega_refined"] if ("d", m, n) in times else None for n in sizes]}
                            for m in NAMES]}], NAMES)
    text.append("\n![errors](dense-gpu-fig5.svg)\n")
    ns = sorted({r["n"] for r in systems if r["letter"] == "d"})
    text.append("\n" + OPEN + written(o.out) + CLOSE + "\n")
    cell = lambda r: "–" if not r or r["status"] not in ("ok", "singular") and r["omega_refined"] is None else \
        f"{r['time_s'] * 1e3:.1f} ({r['omega_refined']:.0e})" + ("" if r["status"] == "ok" else " ✗")
    text.append("\n## Mixed precision, real\n\n`single`: factors in single precision, trailing updates by three products of half precision; "
                "`tf32`: by one of TF32 inputs; `half`: by one of half precision, columns scaled by powers of two. A solve is timed until it is queued; it ends within the refinement. Milliseconds, ω at the end, steps of refinement; ✗: the accuracy asked for was missed and the ladder would "
                "go on in double.\n\n")
    lines = []
    for matrix in ("random", "dominant"):
        for n in ns:
            base = get(matrix, "tile", "working", n)
            for p in ("working", "single", "tf32", "half"):
                r = get(matrix, "tile", p, n)
                if r and base:
                    lines.append([matrix, n, p, cell(r), f"{base['time_s'] / r['time_s']:.2f}", f"{r['factorize_s'] * 1e3:.1f}",
                                  f"{r['solve_s'] * 1e3:.1f}", f"{r['refine_s'] * 1e3:.1f}", f"{r['steps']} + {r['gmres']}"])
    text.append(table(["matrix", "n", "precision", "time (ω)", "double's / this", "factorize", "solve", "refine", "steps + GMRES"], lines))
    chart.draw(f"{folder}/dense-gpu-fig8.svg",
               [{"title": f"{p}, well conditioned: ms", "ticks": ns, "bars": True, "label": "n",
                 "series": [{"name": k, "y": [get("dominant", "tile", p, n)[k + "_s"] * 1e3 for n in ns]}
                            for k in ("factorize", "solve", "refine")]} for p in ("working", "single", "tf32")],
               ["factorize", "solve", "refine"], 3)
    text.append("""
![where the time goes](dense-gpu-fig8.svg)

On the H200 single precision multiplies no faster than double (54 and 56 TFLOP/s), so only tensor cores with short inputs gain.
`single` splits L and W into two halves of 11 bits each and takes three products of half precision, which lose nothing against
three of TF32 inputs and are three times as fast: at n = 32 768 the factorization takes two fifths of double's time, and what
remains is panels in single precision, not products (`half`, with a third of the products, takes 89 ms). A random matrix then
needs 6 or 7 steps of refinement at 3 ms, a residual and a solve; a well conditioned one (1.5 √n on the diagonal) two. Below
n = 8192 the panels take all that the products gain. The factors of a random matrix with products of 11 bits, `tf32` and `half`,
are no preconditioner for it: neither the classical iteration nor cycles of 20 steps of GMRES contract, and the ladder goes on in
double; so it does at n = 8192 for this random matrix in single precision. `single` stops at the accuracy asked for, √n ε; asked for 1e-16 it
ends at ω = 3e-17, as double does, after 8 steps in 144.5 ms against 297.0 (`system 32768 d tile:working,tile:single:1e-16`). Half precision is real only; up to n = 32 768 every
run, ten at each order, ended with the same error.

## Complex symmetric systems, random
""")
    lines = []
    for letter, what in (("c", "single complex"), ("z", "double complex")):
        for n in (10424, 15135):
            lu, plain, tile = (times[letter, m, n] for m in ("cusolver-getrf", "none", "tile"))
            lines.append([what, n, f"{lu['time_s'] * 1e3:.1f}", f"{plain['time_s'] * 1e3:.1f}", f"{tile['time_s'] * 1e3:.1f}",
                          f"{lu['time_s'] / plain['time_s']:.2f}", f"{lu['time_s'] / tile['time_s']:.2f}"])
    text.append("\n" + table(["entries", "n", "LU, cuSOLVER, ms", "LDLᵀ without pivoting, ms", "tile LDLᵀ, ms", "LU / none", "LU / tile"], lines))
    text.append("\nOther precisions, TFLOP/s:\n\n")
    text.append(table(["", "n", "tile", "none", "cusolver-sytrf-none", "cusolver-potrf"],
                      [[letter, n, *(show(rate(letter, m, n)) for m in ("tile", "none", "cusolver-sytrf-none", "cusolver-potrf"))]
                       for letter in "sz" for n in (2048, 8192, 16384)]))
    open(o.out, "w").write("".join(t if t.endswith("\n") else t + "\n" for t in text))


main()
