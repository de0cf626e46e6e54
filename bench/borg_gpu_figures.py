#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures 7.9 and 7.10 of the thesis of 2021 on a GPU, from rows of bench/device-borg, and how they were before:

    bench/device-borg --kernels ldus --variants pack1,pack2,pack4,pack8 --no-hand --rounds 20 --before-tree TREE --out ROWS.jsonl
    bench/device-borg --kernels gema5 --variants D_UNROLLED,D_UNIFORM,D_MASKED --no-hand --rounds 20 --before-tree TREE --out ROWS.jsonl
    bench/borg_gpu_figures.py ROWS.jsonl --gpu NAME --before WHAT --report bench/results/borg.md"""
import argparse, json, os

import chart
from page import put_section

PACKS = ["pack1", "pack2", "pack4", "pack8"]
LOOPS = ["D_UNROLLED", "D_UNIFORM", "D_MASKED"]
TYPES = ["double", "single"]
HEADING = "Figures 7.9 and 7.10 of the thesis on a GPU"


def cells(at, kernel, n, precision, words):
    """Times of before and now, ms, and over the first of each in brackets."""
    out = []
    for when in ("before", "borgc"):
        ms = [at[kernel, n, precision, f"{when} {w}"]["least_ms"] for w in words]
        out += [f"{x:.4f}" + (f" ({x / ms[0]:.2f})" if k else "") for k, x in enumerate(ms)]
    return out


def packs(at, sizes, precision):
    out = ["| n | before: WG_PACK 1 | 2 | 4 | 8 | now: 1 | 2 | 4 | 8 | before/now, 1 | copy | cuBLAS's LU | registers before | now |", "|" + "---|" * 14]
    for n in sizes:
        row = lambda name: at["ldus", n, precision, name]
        registers = [", ".join(str(row(f"{when} {w}").get("registers", "")) for w in PACKS) for when in ("before", "borgc")]
        gain = row("before pack1")["least_ms"] / row("borgc pack1")["least_ms"]
        line = [str(n), *cells(at, "ldus", n, precision, PACKS), f"{gain:.2f}", *(f"{row(k)['least_ms']:.4f}" for k in ("copy", "cublas")), *registers]
        out.append("| " + " | ".join(line) + " |")
    return "\n".join(out)


def loops(at, sizes, precision):
    out = ["| n | before: unrolled | uniform | masked | now: unrolled | uniform | masked |", "|" + "---|" * 7]
    return "\n".join(out + ["| " + " | ".join([str(n), *cells(at, "gema5", n, precision, LOOPS)]) + " |" for n in sizes])


def plot(path, at, sizes):
    legend = ["WG_PACK 2", "4", "8", "uniform", "masked"]
    panels = []
    for kernel, words, names, title in (("ldus", PACKS, legend[:3], "7.9, LDUS, {}: time over WG_PACK 1, {}"),
                                        ("gema5", LOOPS, legend[3:], "7.10, 5 (A + B), {}: time over unrolled, {}")):
        for precision in TYPES:
            pair = []
            for when, told in (("before", "before"), ("borgc", "now")):
                base = [at[kernel, n, precision, f"{when} {words[0]}"]["least_ms"] for n in sizes]
                series = [{"name": name, "y": [at[kernel, n, precision, f"{when} {w}"]["least_ms"] / b for n, b in zip(sizes, base)]}
                          for name, w in zip(names, words[1:])]
                pair.append({"title": title.format(precision, told), "ticks": list(map(str, sizes)), "series": series, "bars": True, "label": "n"})
            most = max(y for panel in pair for line in panel["series"] for y in line["y"])
            panels += [{**panel, "reach": [most]} for panel in pair]  # both with the same axis
    chart.draw(path, panels, legend)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows")
    p.add_argument("--gpu", required=True)
    p.add_argument("--before", required=True, help="what the older tree is")
    p.add_argument("--report", required=True)
    o = p.parse_args()
    with open(o.rows, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    bad = [r for r in rows if "failed" in r]
    if bad:
        raise SystemExit(f"{len(bad)} rows failed: {bad[0]}")
    at = {(r["kernel"], r["n"], r["precision"], r["name"]): r for r in rows}
    sizes = sorted({r["n"] for r in rows})
    figure = "borg-gpu-packs.svg"
    plot(os.path.join(os.path.dirname(o.report), figure), at, sizes)
    text = [f"{o.gpu}; {rows[0]['count']} work-groups, the least of 20 times by events, ms, before and now by turns in one run; each checked first. "
            f"Before: {o.before}. Copy: a kernel that only reads and writes as many bytes. `bench/borg_gpu_figures.py` (its text says how the rows are made).",
            f"![packs and loops on a GPU]({figure})"]
    for precision in TYPES:
        text += [f"7.9, LDUS, {precision}: WG_PACK; in brackets over WG_PACK 1.", packs(at, sizes, precision)]
    for precision in TYPES:
        text += [f"7.10, C = 5 (A + B), {precision}: a loop whose bound is constant, read at run time, and read by each work-item for itself (over the first).", loops(at, sizes, precision)]
    put_section(o.report, HEADING, "\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
