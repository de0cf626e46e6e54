#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What single parts of borgc bring on a CPU: Figures 7.8 to 7.10 of the thesis anew, double, one core, in cache or, with --count, from
memory, as in the thesis (--kernels ldus --sizes 4,8,12,16,20,24,28,32 --count 100000).

    bench/borg_ablation.py [--build build] [--kernels ldus,trsv] [--sizes 4,8,16,32] [--count 100000] [--prefix "taskset -c 1"]
                           [--report bench/results/borg-cpu.md]

7.8: each kernel with all reorderings through memory, then with ever more kinds of them; then with approximate reciprocals; and
each of these with every value through memory (streaming). 7.9: WG_PACK, in both lane orders. 7.10: five sums in a loop that is unrolled, whose
bound is read at run time, and whose bound each work-item reads for itself. The variants of a kernel are timed by turns.
--moves: which moves LDUS has, counted in what borgc makes (nothing is timed; --sizes 4,8,12,16,32 for the page).
Code that is the same text is timed once. Rows go to BUILD/bench/ablation.jsonl; a run that was broken off goes on from
there, --fresh begins anew. Needs what `make bench-borg` builds."""
import argparse, json, os, re, shutil, sys, time

import chart
from borg import BACKENDS, FLAT, ROOT, SEVEN, Rows, build, compile_c, cpu, emit, listed, run, say, shapes
from page import put_section

KINDS = ["reuse", "scalar", "vector", "segmented", "permute"]
STEPS = [("store, gather", KINDS), ("reuse", KINDS[1:]), ("scalar", KINDS[2:]), ("vector", KINDS[3:]), ("segmented", KINDS[4:]),
         ("permutes", []), ("fast rcp", None)]
PACKS = [(1, "wi"), *((pack, order) for pack in (2, 4, 8) for order in ("wi", "wg"))]
SEEN = ("Seen on Zen 4: where a group fills registers (n from 8 on) only scalar broadcasts matter, without which LDUS and TRSV take three and a half to six "
        "and a half times as long; segmented broadcasts and permutes matter at n = 4, where two groups share a register, and GEMA, PADE, FRCG and GEMM from n = 8 on move nothing "
        "between lanes. Streaming costs a factor of one and a half to thirteen. Larger packs pay in cache where a group waits for its own results (TRSV), one after the "
        "other; interleaving pays with a matrix in each lane (LDUS at n = 4 and 8, TRSV at 4), and loops whose bound is read at run time cost something once what they carry no "
        "longer fits the registers.")
LOOPS = ["UNROLLED", "UNIFORM", "MASKED"]
MOVED = re.compile(r"= (?:m\d+\[\d+\];|b_gather_f64\(\(vm\)-1, m\d+,)")  # a lane, or lanes, of what was stored for a move
MOVES = ("Why columns (c) and (d) are equal in the rows of LDUS above: how often each kind of move occurs in what `borgc --emit=avx512 --flat=never --whole-packs` makes of it in double "
         "(reads of what was stored for a move, more with `--disable=KIND` than without; a warning tells where there are none).", "",
         "In the thesis an array is one register of unlimited width, its elements of one work-item side by side, so `a[ix] = shuffle(a[ix], 2)` is a part repeated, a vector broadcast. Here each "
         "element of the array is a register of its own, with the work-items side by side: the same line is one scalar broadcast for each element, and a segmented one where two groups share a "
         "register (n = 4). Vector broadcasts are there where groups are interleaved, two or four of them: a value of each group is then repeated for its work-items. With eight groups it is a "
         "whole register, and reused. Where groups of half a register or more lie one after the other and are several, what is the same for a group is a scalar of its own, so nothing is moved. "
         "The figure's rows are of groups one after the other, as the thesis has them; `bench/borg_ablation.py --interleaved` measures 7.8 for the others.")


def streaming(name):
    return name + ", streaming"


def full(n):
    """WG_PACK that fills a register of doubles."""
    return max(1, 8 // n)


def cases(o, kernel, n):
    """name -> (WG_PACK, lane order, flags)"""
    if kernel == "gema5":
        return {name.lower(): (1, "wi", ["-D", name, "--flat=never"]) for name in LOOPS}
    made = {}
    if o.interleaved:
        return {name: (4, "wg", [f"--disable={','.join(without)}"] if without else ["--fast-rcp"] if without is None else []) for name, without in STEPS}
    for name, without in STEPS:
        off = [f"--disable={','.join(without)}"] if without else []
        made[name] = (full(n), "wi", off + (["--fast-rcp"] if without is None else []))
    for name, without in STEPS:
        made[streaming(name)] = (full(n), "wi", [f"--disable={','.join([*(without or []), 'stream'])}"] + (["--fast-rcp"] if without is None else []))
    o.packs, o.orders = [1, 2, 4, 8], ["wi", "wg"]
    worth = [pack for pack, _ in shapes(o, (kernel, n, "d"))]
    for pack, order in PACKS:
        if pack in worth:
            made[f"{pack} {order}"] = (pack, order, [])
    made = {name: (pack, order, [*flags, "--flat=never"]) for name, (pack, order, flags) in made.items()}
    if kernel in FLAT:
        made["flat"] = (1, "wi", [])
    return made


def library(o, key, name, how):
    kernel, n = key
    pack, order, flags = how
    folder = "bench/borg" if kernel == "gema5" else "src/kernels/cl"
    base = f"{o.work}/{kernel}_{n}_{name}".replace(" ", "_").replace(",", "")
    if not emit([o.borgc, "--emit=avx512", *flags, f"--lane-order={order}", "-D", f"WG_SIZE={n}", "-D", f"WG_PACK={pack}",
                 f"{ROOT}/{folder}/{kernel}.cl"], base + ".c", o.compile_limit):
        return None
    return base + ".c"


def compiled(o, key, source):
    return compile_c("gcc", [*BACKENDS["avx512"], "-w"], source, source[:-2] + ".so", o.compile_limit)


def timed(o, key, named):
    """ns for a work-group by {name: source}; what is the same text once."""
    kernel, n = key
    texts, made = {}, build(o, {key: {name: (library, name, how) for name, how in named.items()}})[key]
    for name, source in made.items():
        texts.setdefault(open(source, "rb").read(), []).append(name)
    libraries = build(o, {key: {names[0]: (compiled, made[names[0]]) for names in texts.values()}})[key]
    if o.build_only:
        return None
    matrix = n * n * 8
    count = min(o.count, o.memory * 1000000 // (2 * matrix) // 16 * 16) if o.count else max(16, 131072 // matrix // 16 * 16)
    words = {"lib:" + path: name for name, path in libraries.items()}
    done = run([*o.prefix.split(), o.driver, kernel, str(n), "d", str(count), *([] if o.count else ["--cache"]), *words])
    if done.returncode:
        sys.exit(f"{kernel} {n}: {done.stdout}{done.stderr}")
    times = {words[row["how"]]: row["time_ns"] for row in map(json.loads, done.stdout.splitlines())}
    return {name: times[names[0]] for names in texts.values() if names[0] in times for name in names}


def lines(o, rows, kernels, columns):
    out = ["| kernel | n | " + " | ".join(columns) + " |", "|" + "---|" * (2 + len(columns))]
    for kernel in kernels:
        for n in o.sizes:
            row = rows.of[kernel, n]
            out.append(f"| {kernel} | {n} | " + " | ".join(f"{row[c]:.4g}" if c in row else "" for c in columns) + " |")
    return out


def relative(o, rows):
    """As the figure's labels tell them: LDUS, times over those of store, gather with streaming."""
    if "ldus" not in o.kernels:
        return []
    names = [f(name) for name, _ in STEPS for f in (str, streaming)]
    out = ["LDUS relative to store, gather with streaming, as the figure's labels are:", "", "| n | " + " | ".join(names) + " |", "|" + "---|" * (1 + len(names))]
    for n in o.sizes:
        row = rows.of["ldus", n]
        first = row.get(streaming(STEPS[0][0]))
        out.append(f"| {n} | " + " | ".join(f"{row[c] / first:.2f}" if first and c in row else "" for c in names) + " |")
    return out


def panel(o, rows, kernel, title, names, ticks):
    """Bars: times over the first's, for each order."""
    series = [{"name": f"n = {n}", "y": [rows.of[kernel, n][c] / rows.of[kernel, n][names[0]] if c in rows.of[kernel, n] else None for c in names]}
              for n in o.sizes]
    return {"title": title, "ticks": ticks, "bars": True, "series": series}


def report(o, rows):
    steps, packs = [name for name, _ in STEPS], [f"{pack} {order}" for pack, order in PACKS]
    place = (f"batches of {o.count}, fewer where they took more than {o.memory} MB" if o.count else "matrices that the second-level cache holds")
    text = [f"`bench/borg_ablation.py {' '.join(o.told)}`: double, {place}, gcc, on {cpu()}, one core. ns for a "
            "work-group.", "", *([] if o.count else [SEEN, ""]),
            "Reorderings (7.8): from left to right ever more kinds are as they should be; registers are full (WG_PACK 2 at n = 4, else 1), groups one "
            "after the other.", "", *lines(o, rows, o.kernels, steps), "", "The same, streaming: each value through memory.", "",
            *lines(o, rows, o.kernels, [streaming(name) for name in steps]), "", *relative(o, rows), "",
            "WG_PACK (7.9) and lane order: wi, groups one after the other; wg, interleaved; flat: elements side by side in place of groups, where "
            "work-items are independent (the others --flat=never). What is missing was too much code.", "",
            *lines(o, rows, o.kernels, [*packs, "flat"]), "", "Loops (7.10): C = 5 (A + B).", "", *lines(o, rows, ["gema5"], [x.lower() for x in LOOPS])]
    if o.interleaved:
        text = [*text[:2], "WG_PACK 4, groups interleaved: a value of the group is the same for its work-items, so four lanes are repeated: vector broadcasts. Where groups lie one after the "
                "other each row of an array is a register of its own, and what one work-item gives all others is a scalar broadcast: there the columns scalar and vector are of one text.", "",
                *lines(o, rows, o.kernels, steps)]
        put_section(o.report, "Figure 7.8 where groups are interleaved", "\n".join(text + [""]))
        return
    panels = [panel(o, rows, k, f"7.8, {k}: time over the first", steps, ["store", "reuse", "scalar", "vector", "segm.", "perm.", "rcp"]) for k in o.kernels if k in ("trsv", "ldus", "gemm")]
    panels += [panel(o, rows, k, f"7.9, {k}: time over WG_PACK 1", packs, packs) for k in o.kernels]
    panels.append(panel(o, rows, "gema5", "7.10: time over the unrolled loop", [x.lower() for x in LOOPS], [x.lower() for x in LOOPS]))
    picture = f"borg-ablation{'-batch' if o.count else ''}.svg"
    chart.draw(os.path.join(os.path.dirname(o.report), picture), panels, [f"n = {n}" for n in o.sizes], columns=3)
    put_section(o.report, "Figures 7.8 to 7.10 from memory" if o.count else "What single parts bring", "\n".join(text + ["", f"![ablations]({picture})", ""]))


def moves(o, n, pack, order):
    """How many moves of each kind LDUS has: reads from memory that stand for moves once the kind is left out."""
    counts = []
    for off in ("", *KINDS):
        done = run([o.borgc, "--emit=avx512", "--flat=never", "--whole-packs", f"--lane-order={order}", "-D", f"WG_SIZE={n}", "-D", f"WG_PACK={pack}",
                    *([f"--disable={off}"] if off else []), f"{ROOT}/src/kernels/cl/ldus.cl"])
        if done.returncode:
            sys.exit(done.stderr)
        counts.append(len(MOVED.findall(done.stdout)))
    return [count - counts[0] for count in counts[1:]]


def count_moves(o):
    text = [f"`bench/borg_ablation.py --moves --sizes {','.join(map(str, o.sizes))}`", "", *MOVES, "", f"| n | WG_PACK | groups | {' | '.join(KINDS)} |", "|" + "---|" * (3 + len(KINDS))]
    for n in o.sizes:
        for order, groups in (("wi", "one after the other"), ("wg", "interleaved")):
            for pack in (1, 2, 4, 8):
                if pack * n > 64 or (pack == 1 and order == "wg"):
                    continue
                text.append(f"| {n} | {pack} | {groups} | {' | '.join(map(str, moves(o, n, pack, order)))} |")
                say(text[-1])
    if o.report:
        put_section(o.report, "Figure 7.8: which moves LDUS has", "\n".join(text + [""]))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--kernels", default=",".join(SEVEN), help=f"of {','.join(SEVEN)}")
    p.add_argument("--sizes")
    p.add_argument("--interleaved", action="store_true", help="7.8 alone, of WG_PACK 4 with groups interleaved")
    p.add_argument("--moves", action="store_true", help="count moves of LDUS alone")
    p.add_argument("--quick", action="store_true", help="sizes 4 and 8 alone; a report only where asked for")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--compile-limit", type=float, default=40, help="seconds of processor time for one compilation; what takes longer is left out")
    p.add_argument("--build-only", action="store_true")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--limit", type=float, default=1e9, help="seconds: end then (with status 75); the next run goes on from there")
    p.add_argument("--prefix", default="")
    p.add_argument("--count", type=int, default=0, help="so many work-groups, from memory; 0: as many as the second-level cache holds")
    p.add_argument("--memory", type=int, default=800, help="megabytes that they may take, with the copy that renews them")
    p.add_argument("--report")
    o = p.parse_args()
    o.told, o.start = sys.argv[1:], time.monotonic()
    o.kernels = listed(p, o.kernels, "--kernels", SEVEN)
    o.sizes = listed(p, o.sizes or ("4,8" if o.quick else "4,8,16,32"), "--sizes", None, 1, 64)
    if o.jobs < 1 or o.compile_limit <= 0 or o.count < 0 or o.memory < 1:
        p.error("--jobs, --compile-limit and --memory are positive, --count is not negative")
    o.build = os.path.abspath(o.build)
    o.work, o.driver, o.borgc = f"{o.build}/bench/ablation", f"{o.build}/bench/borg_driver", f"{o.build}/borgc"
    for file in (o.borgc,) if o.moves else (o.driver, o.borgc):
        if not os.path.exists(file):
            sys.exit(f"{file} is not there: make bench-borg builds it")
    if o.moves:
        return o
    if not shutil.which("gcc") or " avx512f" not in open("/proc/cpuinfo", encoding="utf-8").read():
        sys.exit("gcc and a processor with AVX-512 are needed")
    os.makedirs(o.work, exist_ok=True)
    return o


def main():
    o = arguments()
    if o.moves:
        count_moves(o)
        return 0
    rows = Rows(f"{o.build}/bench/ablation{'-quick' if o.quick else ''}{'-interleaved' if o.interleaved else ''}{'-batch' if o.count else ''}.jsonl", o.fresh)
    for n in o.sizes:
        for kernel in [*o.kernels, *([] if o.interleaved else ["gema5"])]:
            if (kernel, n) in rows.of:
                continue
            if time.monotonic() - o.start > o.limit:
                say("the time is over: the next run goes on from here")
                return 75
            times = timed(o, (kernel, n), cases(o, kernel, n))
            if times:
                rows.add((kernel, n), times)
                say(f"{kernel} {n}: " + ", ".join(f"{name} {t:.4g}" for name, t in times.items()))
    if o.report and not o.build_only:
        report(o, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
