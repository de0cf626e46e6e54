#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What single parts of borgc bring on a CPU: Figures 7.8 to 7.10 of the thesis anew, in cache, double, one core.

    bench/borg_ablation.py [--build build] [--sizes 8,16,24] [--build-only] [--prefix "taskset -c 1"] [--report docs/results/borg-cpu.md]

7.8: LDUS with all reorderings through memory, then with ever more kinds of them; then with approximate reciprocals; each also
with every value through memory (streaming). 7.9: LDUS by WG_PACK. 7.10: five sums in a loop that is unrolled, whose bound
is read at run time, and whose bound each work-item reads for itself. Needs what `make bench-borg` builds."""
import argparse, json, os, sys

import chart
from borg import ROOT, BACKENDS, compile_c, cpu, emit, run
from page import put_section

KINDS = ["reuse", "scalar", "vector", "segmented", "permute"]
STEPS = [("store and gather", KINDS), ("reuse", KINDS[1:]), ("scalar broadcast", KINDS[2:]), ("vector broadcast", KINDS[3:]),
         ("segmented broadcast", KINDS[4:]), ("permutes", []), ("fast reciprocal", None)]


def ldus(without, stream):
    off = [*(without or []), *(["stream"] if stream else [])]
    return ([f"--disable={','.join(off)}"] if off else []) + (["--fast-rcp"] if without is None else [])


def cases(size):
    for name, without in STEPS:
        for stream in (False, True):
            yield "7.8", f"{name}{', streaming' if stream else ''}", "ldus", size, 1, ldus(without, stream)
    for pack in (1, 2, 4, 8):
        yield "7.9", f"WG_PACK {pack}", "ldus", size, pack, []
    for name in ("UNROLLED", "UNIFORM", "MASKED"):
        yield "7.10", name.lower(), "gema5", size, 1, ["-D", name]


def time_of(o, kernel, size, pack, flags):
    """ns for a work-group; None where it is only built."""
    folder = "bench/borg" if kernel == "gema5" else "src/kernels/cl"
    name = "_".join([kernel, str(size), str(pack), *flags]).replace("--", "").replace("=", "_").replace(",", "_")
    source = f"{o.work}/{name}.c"
    if not emit([o.borgc, "--emit=avx512", *flags, "-D", f"WG_SIZE={size}", "-D", f"WG_PACK={pack}",
                 f"{ROOT}/{folder}/{kernel}.cl"], source):
        sys.exit(f"borgc failed: {name}")
    library = compile_c("gcc", [*BACKENDS["avx512"], "-w"], source, f"{o.work}/{name}.so")
    if o.build_only:
        return None
    count = max(16, 131072 // (size * size * 8) // 16 * 16)
    done = run([*o.prefix.split(), o.driver, kernel, str(size), "d", str(count), "lib:" + library, "10", "cache"])
    if done.returncode:
        sys.exit(f"{name}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)["time_ns"]


def report(o, rows):
    text = [f"LDUS and a sum, double, matrices that the second-level cache holds, gcc, on {cpu()}, one core. ns for a work-group."]
    titles = {"7.8": "Reorderings (7.8): LDUS, WG_PACK 1. From left to right ever more kinds are as they should be",
              "7.9": "WG_PACK (7.9): LDUS", "7.10": "Loops (7.10): C = 5 (A + B)"}
    panels, legend = [], [f"n = {n}" for n in o.sizes]
    for figure, title in titles.items():
        names = list(dict.fromkeys(name for f, name, _ in rows if f == figure))
        text += ["", f"{title}.", "", "| | " + " | ".join(legend) + " |", "|" + "---|" * (1 + len(legend))]
        text += [f"| {name} | " + " | ".join(f"{rows[figure, name, n]:.4g}" for n in o.sizes) + " |" for name in names]
        shown = [name for name in names if "streaming" not in name]
        first = {n: rows[figure, shown[0], n] for n in o.sizes}
        panels.append({"title": f"{figure}: time over the first", "ticks": [s.split()[-1] if figure == "7.9" else s.split()[0] for s in shown], "bars": True,
                       "series": [{"name": f"n = {n}", "y": [rows[figure, s, n] / first[n] for s in shown]} for n in o.sizes]})
    chart.draw(os.path.join(os.path.dirname(o.report), "borg-ablation.svg"), panels, legend, columns=3)
    put_section(o.report, "What single parts bring", "\n".join(text + ["", "![ablations](borg-ablation.svg)", ""]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--sizes", default="8,16,24")
    p.add_argument("--build-only", action="store_true")
    p.add_argument("--prefix", default="")
    p.add_argument("--report")
    o = p.parse_args()
    o.sizes = [int(n) for n in o.sizes.split(",")]
    o.build = os.path.abspath(o.build)
    o.work, o.driver, o.borgc = f"{o.build}/bench/ablation", f"{o.build}/bench/borg_driver", f"{o.build}/borgc"
    os.makedirs(o.work, exist_ok=True)
    rows = {}
    for size in o.sizes:
        for figure, name, kernel, n, pack, flags in cases(size):
            rows[figure, name, n] = time_of(o, kernel, n, pack, flags)
            if rows[figure, name, n]:
                print(f"{figure:5} {name:32} {n:3} {rows[figure, name, n]:10.1f} ns", flush=True)
    if o.report and not o.build_only:
        report(o, rows)


if __name__ == "__main__":
    main()
