#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The seven kernels of the thesis's Table 7.2 for SX-Aurora (borgc --emit=ve): instructions, and cycles that they take at least.

    bench/borg_ve.py [--build build] [--kernels gema,...] [--sizes 4,8,...] [--packs 1,8,...] [--types d,s] [--clang clang-15]
                     [--report bench/results/borg-ve.md]

There is no SX-Aurora here. What is emitted runs as C on this machine (tests/borg/ve_host.h), checked against a plain reference
(bench/borg/driver.c, built by `make bench-borg`), and counts for each unit the instructions and the cycles they keep it busy. Where
clang has the machine (15 to 19, -target ve-linux), it compiles the text, and its assembly is counted, too."""
import argparse, collections, os, re, subprocess, sys, tempfile

from borg import ROOT, SEVEN
from page import geometric_mean, put_section

UNITS = ["fma", "alu", "div", "load", "store", "move", "mask"]
CLANG = "-target ve-linux -O1 -ffreestanding -mllvm -enable-misched=false -Xclang -target-feature -Xclang +vpu".split()
PUBLISHED = {"gema": 0.98, "gemm": 0.22, "trsv": 1.87, "ldus": 1.72, "pade": 3.82, "enum": 1.29, "frcg": 0.28}
GROUPS = 96  # whole packs of all sizes


def emitted(o, kernel, n, pack, kind, flags=()):
    text = subprocess.run([o.borgc, "--emit=ve", "-D", f"WG_SIZE={n}", "-D", f"WG_PACK={pack}", *(["-D", "SINGLE"] if kind == "s" else []),
                           *flags, f"{ROOT}/src/kernels/cl/{kernel}.cl"], capture_output=True, text=True)
    if text.returncode:
        sys.exit(f"{kernel} {n}: {text.stderr}")
    return text.stdout


def counted(o, kernel, n, pack, kind, text, folder):
    """{unit: (instructions, cycles)} of a group; the answer was right."""
    base = f"{folder}/{kernel}"
    text = text.replace("    int64_t g = first;\n", "    int64_t g = first;\n    host_ve_reset();\n    host_ve_groups += (uint64_t)(last - first);\n")
    with open(base + ".c", "w", encoding="utf-8") as f:
        f.write(f'#define VE_BUSY\n#define BORG_HOST "{ROOT}/tests/borg/ve_host.h"\n{text}')
    subprocess.run(["gcc", "-w", "-O0", "-ffp-contract=off", "-mfma", "-shared", "-fPIC", base + ".c", "-o", base + ".so", "-lm"], check=True)
    done = subprocess.run([o.driver, kernel, str(n), kind, str(GROUPS), "--rounds", "1", "--seconds", "0.01", f"lib:{base}.so"], capture_output=True, text=True)
    told = re.search(r"ve groups (\d+)((?: \d+:\d+)+)", done.stderr)
    if done.returncode or not told:
        sys.exit(f"{kernel} {n} {kind} WG_PACK {pack}: {done.stdout}{done.stderr}")
    groups = int(told[1])
    return {u: tuple(int(x) / groups for x in w.split(":")) for u, w in zip(UNITS, told[2].split())}


def bound(units):
    """Cycles of a group at least, and what bounds them: Figure 4.8 of the thesis has two FMA units, one of FMA or ALU, one of ALU, stores
    and what crosses lanes; the scalar unit gives one vector instruction in a cycle."""
    busy = {u: units[u][1] for u in UNITS}
    last = busy["store"] + busy["move"]
    bounds = {"FMA": busy["fma"] / 3, "FMA, ALU": (busy["fma"] + busy["alu"] + last) / 4, "crossing lanes": last, "divisions": busy["div"],
              "loads": busy["load"], "issue": sum(units[u][0] for u in UNITS)}
    name = max(bounds, key=bounds.get)
    return bounds[name], name


def serial(units):
    """The same with nothing side by side but the lanes."""
    return sum(units[u][1] for u in UNITS)


def assembly(o, text, folder):
    """Instructions in clang's text by kind, or None."""
    base = f"{folder}/ve"
    with open(base + ".c", "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([o.clang, *CLANG, "-w", "-S", base + ".c", "-o", base + ".s"], capture_output=True, text=True)
    if done.returncode:
        return None
    kinds = collections.Counter()
    for line in open(base + ".s", encoding="utf-8"):
        m = re.match(r"\t([a-z][a-z0-9.]*)\s", line)
        if m:
            op = m[1].split(".")[0]
            kinds["load" if op.startswith("vld") else "store" if op.startswith("vst") else "gather, scatter" if op in ("vgt", "vgtu", "vgtl", "vsc", "vscu", "vscl")
                  else "shift" if op == "vmv" else "fma" if op.startswith("vf") and not op.startswith("vfmk") else "other vector" if op.startswith("v") else "scalar"] += 1
    return kinds


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--kernels", default=",".join(SEVEN))
    p.add_argument("--sizes", default="4,8,16,24,32")
    p.add_argument("--packs", default="1,8")
    p.add_argument("--types", default="d,s")
    p.add_argument("--clang", default="clang-15")
    p.add_argument("--report", default=f"{ROOT}/bench/results/borg-ve.md")
    o = p.parse_args()
    o.borgc, o.driver = f"{o.build}/borgc", f"{o.build}/bench/borg_driver"
    rows, best, steps = [], {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kernel in o.kernels.split(","):
            for kind in o.types.split(","):
                for n in map(int, o.sizes.split(",")):
                    tried = {}
                    for pack in map(int, o.packs.split(",")):
                        if pack > 1 and n * pack > 1024:
                            continue
                        text = emitted(o, kernel, n, pack, kind)
                        units = counted(o, kernel, n, pack, kind, text, folder)
                        tried[pack] = (bound(units)[0], units, text)
                    pack = min(tried, key=lambda k: tried[k][0])
                    least, units, text = tried[pack]
                    kinds = assembly(o, text, folder)
                    rows.append((kernel, n, kind, pack, units, kinds))
                    best[kernel, n, kind] = (least, serial(units), tried[1][0], bound(units)[1])
                    print(kernel, n, kind, pack, f"{least:.1f} of {serial(units):.1f}", bound(units)[1], flush=True)
        if "ldus" in o.kernels:
            for name, off in (("store, gather", "reuse,scalar,vector,segmented,permute"), ("reuse", "scalar,vector,segmented,permute"), ("scalar", "vector,segmented,permute"),
                              ("vector", "segmented,permute"), ("segmented", "permute"), ("permutes", "")):
                for n in (4, 8, 16, 32):
                    for pack in (1, 8):
                        text = emitted(o, "ldus", n, pack, "d", [f"--disable={off}"] if off else [])
                        steps[name, n, pack] = bound(counted(o, "ldus", n, pack, "d", text, folder))[0]
    report(o, rows, best, steps)


def report(o, rows, best, steps):
    kernels, sizes, types = o.kernels.split(","), [int(n) for n in o.sizes.split(",")], o.types.split(",")
    text = [f"`bench/borg_ve.py --kernels {o.kernels} --sizes {o.sizes} --packs {o.packs} --types {o.types}`: no SX-Aurora was there. What `borgc --emit=ve` makes ran as C "
            "on another processor, its intrinsics those of `tests/borg/ve_host.h`, its answers right; each unit's instructions were counted, and the cycles that they keep it busy by the "
            "units: 32 lanes in a cycle and one of what crosses lanes (shifts, gathers, scatters) as the thesis's Figure 4.8 and section 4.4 have it; four lanes of a division or root and 16 of loads and stores are assumed. "
            "*At least*: the unit that is busy longest, all others beside it. *One by one*: nothing side by side. A machine lies between; waiting for memory and for results is not in it.", "",
            "The thesis's column is borG's time on a card of 2018 against NCC's code, so its numbers are no cycles: beside them stands what a group takes here, geometric means over the sizes "
            "and types, and what bounds it most often.", "",
            "| kernel | thesis: VE, over NCC | cycles at least | one by one | at least with WG_PACK 1 | bound by |", "|---|---|---|---|---|---|"]
    for kernel in kernels:
        of = [best[kernel, n, t] for n in sizes for t in types]
        names = collections.Counter(x[3] for x in of).most_common(2)
        text.append(f"| {kernel} | {PUBLISHED[kernel]:.2f} | {geometric_mean([x[0] for x in of]):.1f} | {geometric_mean([x[1] for x in of]):.1f} | {geometric_mean([x[2] for x in of]):.1f} | "
                    + ", ".join(f"{name} ({count} of {len(of)})" for name, count in names) + " |")
    text += ["", "A row for each size, with the WG_PACK that takes least: instructions of a group by unit as they run, and all instructions of the function in clang's text.", "",
             "| kernel | n | type | WG_PACK | at least | one by one | " + " | ".join(UNITS) + " | in clang's text |", "|" + "---|" * (7 + len(UNITS))]
    for kernel, n, kind, pack, units, kinds in rows:
        told = ", ".join(f"{name} {count}" for name, count in sorted(kinds.items())) if kinds else "does not compile"
        least, one, _, _ = best[kernel, n, kind]
        text.append(f"| {kernel} | {n} | {'double' if kind == 'd' else 'single'} | {pack} | {least:.1f} | {one:.1f} | " + " | ".join(f"{units[u][0]:.1f}" for u in UNITS) + f" | {told} |")
    if steps:
        names, columns = list(dict.fromkeys(k[0] for k in steps)), sorted({k[1:] for k in steps})
        text += ["", "Figure 7.8 in this count: LDUS, double, cycles at least, ever more kinds of moves as they should be (from left to right the columns of the figure). "
                 "Rows are registers of their own, so with one group what a work-item gives all others is a scalar broadcast, and no other kind occurs; with eight groups, one after the other, it is a "
                 "value of each group, gathered, and then given to its work-items, gathered: runs from eight places need as many shifts, at a lane in a cycle each.", "",
                 "| n | WG_PACK | " + " | ".join(names) + " |", "|" + "---|" * (2 + len(names))]
        text += [f"| {n} | {pack} | " + " | ".join(f"{steps[name, n, pack]:.1f}" for name in names) + " |" for n, pack in columns]
    put_section(o.report, "borgc's kernels for SX-Aurora", "\n".join(text + [""]))


if __name__ == "__main__":
    main()
