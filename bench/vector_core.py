#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 9 of the thesis of 2021 on the simulated vector core: Fig. 9.4 with error bars, its four statements tested, their
sensitivity to what the thesis leaves open, baselines, other kernels, masks, estimates, cores, other machines. docs/design/vector-core.md has the model.

    bench/vector_core.py --build build --matrices ../shared/matrices --report bench/results/vector-core.md

Cycles are the simulator's, the same on any computer; only the seconds in the head of the page are this one's."""
import argparse, json, math, os, platform, subprocess, sys, tempfile, time

import chart, svg
from page import put_section, table

HERE = os.path.dirname(os.path.abspath(__file__))
VECTOR = os.path.join(HERE, "..", "sim", "vector")
SLOTS, THRESHOLDS = [1, 2, 4, 8], ["none", "0", "8", "16", "48"]
ROWS = ["--warps", "rows:256"]

# name, arguments that give its rows, the kernel: spmv where every row fits the vector, else in turns of 256 threads
LP22 = ("lp22's stand-in", ["--matrix", "culip/spmv_K.mtx.xz", "--rows", "16392:", "--cols", ":16392"])
MYCIELSKIAN = ("mycielskian11", ["--generate", "mycielskian 11"])
MORE = [
    ("25fv47, A", ["--matrix", "lp_kkt/25fv47_it04.mtx.xz", "--rows", "1876:", "--cols", ":1876"]),
    ("degen3, A", ["--matrix", "lp_kkt/degen3_it08.mtx.xz", "--rows", "2604:", "--cols", ":2604"]),
    ("pilot87, A", ["--matrix", "lp_kkt/pilot87_it06.mtx.xz", "--rows", "6460:", "--cols", ":6460"]),
    ("woodw, A", ["--matrix", "lp_kkt/woodw_it11.mtx.xz", "--rows", "8418:", "--cols", ":8418"]),
    ("air05, A", ["--matrix", "lp_kkt/air05_it08.mtx.xz", "--rows", "7195:", "--cols", ":7195"]),
    ("qap10, KKT", ["--matrix", "lp_kkt/qap10_it11.mtx.xz"]),
    ("case2869_pegase, KKT", ["--matrix", "acopf/case2869_pegase_it01.mtx.xz"]),
    ("Maragal_3, augmented", ["--matrix", "ls_aug/NYPA_Maragal_3.mtx.xz"]),
]
# what the thesis leaves open: setting and values, ours first
OPEN = [("load_latency", [32, 8, 128, 512]), ("ports", [2, 1, 4, 8]), ("controllers", [6, 1, 12]), ("buffer", [32, 2, 4, 8, 128]),
        ("issue_width", [4, 1, 2, 8]), ("fetch_rate", [1, 2, 4]), ("memory_queue", [32, 1, 2, 8, 128]), ("bandwidth", [96, 24, 384]),
        ("granule_bytes", [8, 64, 128]), ("branch_cycles", [1, 4, 16]), ("start_cycles", [1, 16, 64]), ("complex_lanes", [1, 4, 16, 256]),
        ("store_lanes", [1, 256]), ("cache_kib", [0, 256, 16384]), ("dispatch", ["pipeline", "striped"]),
        ("access", ["spans", "lanes", "stride"]), ("policy", ["oldest", "robin"]), ("assign", ["cyclic", "block", "steal"])]
TOGETHER = ["complex_lanes=256,store_lanes=256", "complex_lanes=256,store_lanes=256,dispatch=striped", "complex_lanes=256,access=lanes",
            "complex_lanes=256,load_latency=8", "complex_lanes=256,load_latency=512", "access=stride,load_latency=512"]


class Runner:
    def __init__(self, build, matrices):
        self.command, self.matrices, self.seconds = os.path.join(build, "metapack"), matrices, 0.0

    def __call__(self, kernel, where, *more):
        where = [os.path.join(self.matrices, w) if w.endswith(".mtx.xz") else w for w in where]
        words = [self.command, "vsim", kernel if kernel.endswith(".vrptx") else os.path.join(VECTOR, "kernels", kernel + ".vrptx"), *where, "--json", "-q", *more]
        start = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True)
        self.last = time.perf_counter() - start
        self.seconds += self.last
        if done.returncode:
            sys.exit(" ".join(words) + "\n" + done.stderr)
        return json.loads(done.stdout)


def settings(result):
    """(threshold, slots) -> setting, of those that are possible."""
    return {(str(s["threshold"]), s["slots"]): s for s in result["settings"] if "cycles" in s}


def lists(slots=SLOTS, thresholds=THRESHOLDS):
    return ["--slots", ",".join(map(str, slots)), "--threshold", ",".join(thresholds)]


def kernel_of(run, where):
    """spmv if the vector holds each row, else in turns."""
    sizes = run("spmv_loop", where, *lists([1], ["none"]))
    return ("spmv", [], sizes) if sizes["most_threads"] <= 256 else ("spmv_loop", ROWS, sizes)


def number(x):
    return f"{x:,.0f}".replace(",", " ")


# ---- the four statements ----------------------------------------------------------------------------------------------

def statements(found):
    """What of the four holds of one sweep: counts of steps that do, of all, and the numbers behind them."""
    ts = sorted({k[1] for k in found})
    order = [t for t in THRESHOLDS if (t, ts[0]) in found]
    slots = [(found[h, a]["cycles"]["mean"], found[h, b]["cycles"]["mean"]) for h in order for a, b in zip(ts, ts[1:])]
    looser = [(found[a, t]["cycles"]["mean"], found[b, t]["cycles"]["mean"]) for t in ts for a, b in zip(order, order[1:])
              if found[a, t]["partitions"] != found[b, t]["partitions"]]
    used = [(found[h, a]["utilisation"]["mean"], found[h, b]["utilisation"]["mean"]) for h in order for a, b in zip(ts, ts[1:])]
    used += [(found[a, t]["utilisation"]["mean"], found[b, t]["utilisation"]["mean"]) for t in ts for a, b in zip(order, order[1:])
             if found[a, t]["partitions"] != found[b, t]["partitions"]]
    t = 4 if 4 in ts else ts[-1]
    best = min(order[1:], key=lambda h: found[h, t]["cycles"]["mean"])
    none, packed = found["none", t]["cycles"], found[best, t]["cycles"]
    spread = max((found[h, t]["cycles"]["most"] - found[h, t]["cycles"]["least"]) / found[h, t]["cycles"]["mean"] for h in order)
    return {"slots": (sum(b < a for a, b in slots), len(slots)), "looser": (sum(b < a for a, b in looser), len(looser)),
            "used": (sum(b >= a for a, b in used), len(used)), "gain": none["mean"] / packed["mean"], "spread": spread,
            "cancels": sum(found[h, s]["cycles"]["most"] >= found["none", s]["cycles"]["least"] for h in order[1:] for s in ts), "best": best, "t": t,
            "place": (packed["mean"] - packed["least"]) / max(packed["most"] - packed["least"], 1e-9)}


def of(pair):
    return f"{pair[0]} of {pair[1]}"


# ---- sections ---------------------------------------------------------------------------------------------------------

def figure(run, out, orders):
    text, notes = "", {}
    for name, where in (LP22, MYCIELSKIAN):
        kernel, how, _ = kernel_of(run, where)
        plot = os.path.join(out, "vector-core-" + ("lp22" if name is LP22[0] else "mycielskian11") + ".svg")
        result = run(kernel, where, *how, *lists(), "--orders", str(orders), "--seed", "1", "--plot", plot, "--trace-cycles", "3000")
        seconds, found = run.last, settings(result)
        notes[name] = statements(found)
        text += f"### {name}: {number(result['warps'])} rows of {kernel_text(result, run, where)} entries, kernel `{kernel}`\n\n"
        text += (f"{orders} random orders x {len(THRESHOLDS)} thresholds x {len(SLOTS)} slot counts in {seconds:.0f} s on {os.cpu_count()} cores; "
                 f"{number(result['values_checked'])} values checked, the largest error {result['worst_error']:.2g} of its bound.\n\n"
                 f"![Fig. 9.4 redone]({os.path.basename(plot)})\n\n")
        rows = []
        for (h, t), s in found.items():
            c, u = s["cycles"], s["utilisation"]
            rows.append([h, t, number(c["mean"]), number(c["deviation"]), number(c["least"]), number(c["most"]), f"{100 * u['mean']:.1f} %",
                         f"{s['vl']:.0f}", number(s["partitions"]), number(s["instructions"]), f"{c['mean'] / max(s['bounds'].values()):.2f}",
                         ", ".join(f"{k} {100 * v:.0f} %" for k, v in sorted(s["stalls"].items(), key=lambda x: -x[1])[:2])])
        text += table(["threshold", "slots", "cycles", "deviation", "least", "most", "units in use", "mean vl", "partitions",
                       "instructions", "over the bound", "slots waited most for"], rows) + "\n"
        long = [t for t in result["settings"] if "impossible" in t]
        if long:
            text += f"Not possible: {len(long)} settings; {long[0]['impossible']}.\n\n"
    return text, notes


def kernel_text(result, run, where):
    sizes = run("spmv_loop", where, *lists([1], ["none"]))
    return f"{sizes['least_threads']} to {sizes['most_threads']}"


def verdicts(notes):
    rows = []
    for name, n in notes.items():
        rows.append([name, of(n["slots"]), of(n["looser"]), of(n["used"]), f"{n['best']}: {n['gain']:.2f}", f"{100 * n['spread']:.1f} %",
                     n["cancels"], f"{100 * n['place']:.0f} %"])
    return table(["rows of", "more slots, fewer cycles", "looser, fewer cycles", "both, higher utilisation", "best threshold at t = 4: gain",
                  "spread of the orders at t = 4", "settings it cancels", "place of the mean"], rows)


def more(run, orders, notes):
    rows = []
    for name, where in MORE:
        kernel, how, sizes = kernel_of(run, where)
        result = run(kernel, where, *how, *lists(), "--orders", str(orders), "--seed", "2")
        found = settings(result)
        notes[name] = statements(found)
        best = min(found.values(), key=lambda s: s["cycles"]["mean"])
        base = found["none", 1]["cycles"]["mean"]
        rows.append([name, number(sizes["warps"]), f"{sizes['least_threads']} .. {sizes['most_threads']}", kernel, number(base),
                     number(best["cycles"]["mean"]), f"{best['threshold']}, {best['slots']}", f"{base / best['cycles']['mean']:.1f}",
                     f"{100 * best['utilisation']['mean']:.0f} %"])
    return table(["rows of", "rows", "entries", "kernel", "no packing, one slot", "best", "threshold, slots", "factor", "units in use"], rows)


def reading(run, orders):
    """Active vector length as the lanes at work, shuffles of those alone that take part."""
    notes, rows = {}, []
    for name, where in [LP22, MYCIELSKIAN] + MORE:
        kernel, how, _ = kernel_of(run, where)
        found = settings(run(kernel + "_masked", where, *how, *lists(), "--orders", str(orders), "--seed", "7", "--set", "complex_by=active"))
        notes[name] = statements(found)
        rows.append([name] + [f"{number(found[h, 8]['cycles']['mean'])} +- {number(found[h, 8]['cycles']['deviation'])}" for h in THRESHOLDS])
    return verdicts(notes) + "\nCycles with eight slots:\n\n" + table(["rows of"] + THRESHOLDS, rows)


def sensitivity(run, orders, out):
    rows, where = [], LP22[1]
    each = [("ours", [])] + [(f"`{key}` = {value}", ["--set", f"{key}={value}"]) for key, values in OPEN for value in values[1:]]
    each = [("spmv", *e) for e in each + [(f"`{t}`", ["--set", t]) for t in TOGETHER]]
    each += [("spmv_masked", "masked shuffles", []), ("spmv_masked", "masked shuffles, `complex_by=active`", ["--set", "complex_by=active"])]
    for kernel, text, words in each:
        result = run(kernel, where, *lists(), "--orders", str(orders), "--seed", "3", *words)
        found = settings(result)
        n = statements(found)
        best = min(found.values(), key=lambda s: s["cycles"]["mean"])
        rows.append([text, number(found["none", 1]["cycles"]["mean"]), number(best["cycles"]["mean"]), f"{best['threshold']}, {best['slots']}",
                     of(n["slots"]), of(n["looser"]), of(n["used"]), f"{n['gain']:.2f}", f"{100 * n['spread']:.1f} %", n["cancels"]])
    draw_open(rows, os.path.join(out, "vector-core-open.svg"))
    return "Ours: " + ", ".join(f"`{k}` {v[0]}" for k, v in OPEN) + f". {orders} orders of lp22's stand-in.\n\n![best cycles by parameter](vector-core-open.svg)\n\n" + table(["parameter", "none, 1 slot", "best", "threshold, slots", "more slots", "looser", "utilisation", "gain at t = 4",
                  "spread", "settings it cancels"], rows)


def draw_open(rows, path):
    """A bar for each setting: the cycles of its best over those of ours, logarithmic."""
    value = lambda text: float(text.replace(" ", ""))
    left, wide, row, top = 370, 380, 17, 56
    drawing = svg.Drawing(left + wide + 90, top + row * len(rows) + 24)
    at = lambda factor: left + wide * (math.log2(factor) + 1.25) / 4
    drawing.text(20, 26, "cycles of the best of 20 settings, over those with our parameters", 14, weight=600)
    for factor in (0.5, 1, 2, 4):
        drawing.line(at(factor), top - 8, at(factor), top + row * len(rows), svg.INK if factor == 1 else svg.GRID)
        drawing.text(at(factor), top - 13, f"{factor:g}", 12, "middle", svg.SOFT)
    for k, r in enumerate(rows[1:]):
        factor, y = value(r[2]) / value(rows[0][2]), top + row * k
        drawing.text(left - 8, y + 12, r[0].replace("`", ""), 12, "end")
        drawing.rect(min(at(1), at(factor)), y + 2, abs(at(factor) - at(1)), row - 5, chart.COLOURS[0 if factor > 1 else 2])
        drawing.text(max(at(1), at(factor)) + 6, y + 12, f"{factor:.2f}", 11, fill=svg.SOFT)
    drawing.save(path)


def plateau(run, orders):
    rows, slots = [], [1, 2, 4, 8, 12, 16, 32, 64]
    for name, where in (LP22, MYCIELSKIAN):
        kernel, how, _ = kernel_of(run, where)
        for buffer in (32, 256):
            found = settings(run(kernel, where, *how, *lists(slots, ["none", "0", "16"]), "--orders", str(orders), "--seed", "5",
                                 "--set", f"mask_registers=4096,vector_registers=4096,slots=64,buffer={buffer}"))
            for h in ("none", "0", "16"):
                rows.append([name, buffer, h] + [f"{number(found[h, t]['cycles']['mean'])} ({100 * found[h, t]['utilisation']['mean']:.0f} %)" for t in slots])
    return table(["rows of", "buffer", "threshold"] + [f"{t} slots" for t in slots], rows)


def baselines(run):
    rows = []
    for name, where in (LP22, MYCIELSKIAN):
        kernel, how, _ = kernel_of(run, where)
        best = min(settings(run(kernel, where, *how, *lists())).items(), key=lambda x: x[1]["cycles"]["mean"])
        ways = [("irregular warps, best", best[1], f"threshold {best[0][0]}, {best[0][1]} slots"),
                ("one warp at a time on the vector", settings(run(kernel, where, *how, *lists([1], ["none"])))["none", 1], "1 slot"),
                ("warps of 32, padded, one a partition", settings(run("spmv_loop", where, "--warps", "fixed:32", *lists([8], ["none"])))["none", 8], "8 slots"),
                ("warps of 32, padded, packed in row order", settings(run("spmv_loop", where, "--warps", "fixed:32", *lists([8], ["1000"])))["1000", 8], "8 slots"),
                ("a row a lane, 256 rows", settings(run("spmv_rows", where, "--warps", "lanes:256", *lists([8], ["none"])))["none", 8], "8 slots"),
                ("a row a lane, 32 rows, one a partition", settings(run("spmv_rows", where, "--warps", "lanes:32", *lists([8], ["none"])))["none", 8], "8 slots")]
        for what, s, how_text in ways:
            rows.append([name, what, how_text, number(s["cycles"]["mean"]), f"{s['cycles']['mean'] / best[1]['cycles']['mean']:.2f}",
                         f"{100 * s['utilisation']['mean']:.1f} %", f"{100 * s['active'] / s['vl']:.0f} %", number(s["instructions"])])
    return table(["rows of", "way", "setting", "cycles", "over the best", "units in use", "lanes at work", "instructions"], rows)


def beyond(run, orders):
    rows = []
    for name, where in (LP22, MYCIELSKIAN):
        kernel, how, _ = kernel_of(run, where)
        for what, words in (("as it is", []), ("rising sizes", ["--sort", "rising"]), ("falling sizes", ["--sort", "falling"]),
                            ("work stealing", ["--set", "assign=steal"]), ("blocks of the list", ["--set", "assign=block"]),
                            ("falling, stealing", ["--sort", "falling", "--set", "assign=steal"])):
            found = settings(run(kernel, where, *how, *lists([4, 8], ["none", "0", "16"]), "--orders", str(orders), "--seed", "4", *words))
            rows.append([name, what] + [f"{number(found[h, t]['cycles']['mean'])} +- {number(found[h, t]['cycles']['deviation'])}"
                                        for h in ("none", "0", "16") for t in (4, 8)])
    text = table(["rows of", "order, slots"] + [f"{h}, {t}" for h in ("none", "0", "16") for t in (4, 8)], rows)
    rows = []
    for name, where in [LP22, MYCIELSKIAN] + MORE:
        kernel, how, _ = kernel_of(run, where)
        auto = run(kernel, where, *how, "--slots", "auto", "--threshold", "auto", "--orders", "5", "--seed", "6")["settings"][0]
        found = settings(run(kernel, where, *how, *lists(thresholds=["none", "0", "8", "16", "24", "32", "48", "1000"]), "--orders", "5", "--seed", "6"))
        best = min(found.values(), key=lambda s: s["cycles"]["mean"])
        rows.append([name, f"{auto['threshold']}, {auto['slots']}", number(auto["cycles"]["mean"]), f"{best['threshold']}, {best['slots']}",
                     number(best["cycles"]["mean"]), f"{100 * (auto['cycles']['mean'] / best['cycles']['mean'] - 1):.1f} %"])
    return text, table(["rows of", "chosen: threshold, slots", "cycles", "best of 32", "cycles", "regret"], rows)


def machines(run):
    rows = []
    for machine, warps in (("aurora", "rows:256"), ("riscv-v", "rows:256"), ("avx512", "rows:8")):
        for name, where in (LP22, MYCIELSKIAN):
            result = run("spmv_loop", where, "--warps", warps, "--machine", os.path.join(VECTOR, "machines", machine + ".conf"),
                         *lists([1, 2, 4, 8, 16], ["none", "0", "16", "1000"]))
            found = settings(result)
            best = min(found.values(), key=lambda s: s["cycles"]["mean"])
            base = found["none", 1]["cycles"]["mean"]
            rows.append([machine, name, result["registers"]["most_slots"], number(base), number(best["cycles"]["mean"]),
                         f"{best['threshold']}, {best['slots']}", f"{base / best['cycles']['mean']:.1f}", f"{100 * best['utilisation']['mean']:.0f} %",
                         result["registers"]["table_bits"]])
    return table(["machine", "rows of", "slots possible", "none, 1 slot", "best", "threshold, slots", "factor", "units in use", "bits of the table"], rows)


# ---- other kernels: data made from real patterns -----------------------------------------------------------------------

def read_pattern(path):
    import lzma
    with lzma.open(path, "rt") as f:
        line = f.readline()
        while line.startswith("%"):
            line = f.readline()
        n = int(line.split()[0])
        lower = [[] for _ in range(n)]
        for line in f:
            i, j = (int(x) - 1 for x in line.split()[:2])
            if i != j:
                lower[max(i, j)].append(min(i, j))
    return [sorted(r) for r in lower]


def put(file, name, kind, values):
    print("array", name, kind, len(values), *values, file=file)


def triangular(path, file):
    """A triangle on the pattern, its diagonal dominant; rows by levels, each a stage."""
    rows = read_pattern(path)
    level, x, val, col, start, b = [], [], [], [], [0], []
    for i, r in enumerate(rows):
        level.append(1 + max((level[j] for j in r), default=-1))
        x.append(1 + i % 7)
        entries = [-1 / (1 + (i + j) % 5) / (1 + len(r)) for j in r]
        val += entries + [2.0]
        col += r + [i]
        start.append(len(col))
        b.append(sum(a * x[j] for a, j in zip(entries, r)) + 2.0 * x[i])
    order = sorted(range(len(rows)), key=lambda i: level[i])
    put(file, "row", "b32", order)
    put(file, "l_row", "b32", start)
    put(file, "l_col", "b32", col)
    put(file, "l_val", "f64", [repr(v) for v in val])
    put(file, "x", "f64", [repr(v) for v in b])
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and level[order[end]] == level[order[at]]:
            end += 1
        print("warps", *(len(rows[i]) + 1 for i in order[at:end]), file=file)
        at = end
    print("expect x 1e-11", *x, file=file)
    return len(rows), 1 + max(level)


def downdates(path, file):
    """C - A D B' for pairs of blocks of the pattern: rows in blocks of alike ones give the frames."""
    rows, sizes, at = read_pattern(path), [], 0
    while at < len(rows) and len(sizes) < 1200: # neighbours that share half of their entries
        end = at + 1
        while end < len(rows) and end - at < 32 and 2 * len(set(rows[end]) & set(rows[at])) >= len(rows[at]):
            end += 1
        sizes.append(end - at)
        at = end
    frames = [(sizes[i], sizes[(7 * i + 3) % len(sizes)], sizes[(5 * i + 1) % len(sizes)]) for i in range(len(sizes))] # m, n, k
    a, d, b, c, want, places = [], [], [], [], [], [[], [], [], []]
    for i, (m, n, k) in enumerate(frames):
        for place, data in zip(places, (a, d, b, c)):
            place.append(len(data))
        own_a = [[(1 + (r + 3 * p + i) % 5) / 4 for p in range(k)] for r in range(m)]
        own_b = [[(1 + (s * 2 + p + i) % 7) / 8 for p in range(k)] for s in range(n)]
        own_d = [(-1) ** p * (1 + p % 3) for p in range(k)]
        a += [own_a[r][p] for p in range(k) for r in range(m)]
        d += own_d
        b += [own_b[s][p] for p in range(k) for s in range(n)]
        for r in range(m):
            for s in range(n):
                c.append(10 + (r + s) % 4)
                want.append(c[-1] - sum(own_a[r][p] * own_d[p] * own_b[s][p] for p in range(k)))
    put(file, "m", "b32", [f[0] for f in frames])
    put(file, "k", "b32", [f[2] for f in frames])
    for name, place in zip(("a_at", "d_at", "b_at", "c_at"), places):
        put(file, name, "b32", place)
    for name, data in (("a", a), ("d", d), ("b", b), ("c", c)):
        put(file, name, "f64", data)
    print("warps", *(f[1] for f in frames), file=file)
    print("expect c 1e-12", *map(repr, want), file=file)
    return len(frames), max(f[1] for f in frames)


def inverses(path, file):
    """Columns of the inverse of a dominant triangle on the pattern, each on its own pattern, at most 64 rows."""
    rows = read_pattern(path)
    below = [[i] for i in range(len(rows))]
    for i, r in enumerate(rows):
        for j in r:
            if len(below[j]) < 64:
                below[j].append(i)
    entry = lambda i, j: 2.0 if i == j else (-0.25 - (i + j) % 3 / 8 if j in members[i] else 0.0)
    members = [set(r) for r in rows]
    t, want, t_at, w_at, sizes = [], [], [], [], []
    for j in range(min(len(rows), 2000)):
        s = below[j]
        t_at.append(len(t))
        w_at.append(len(want))
        sizes.append(len(s))
        full = [[entry(p, q) for p in s] for q in s] # full[q][p]: column q
        t += [full[q][p] for q in range(len(s)) for p in range(q, len(s))]
        w = [1.0] + [0.0] * (len(s) - 1)
        for q in range(len(s)):
            w[q] /= full[q][q]
            for p in range(q + 1, len(s)):
                w[p] -= full[q][p] * w[q]
        want += w
    put(file, "t_at", "b32", t_at)
    put(file, "w_at", "b32", w_at)
    put(file, "t", "f64", t)
    print("array w f64", len(want), 0, file=file)
    print("warps", *sizes, file=file)
    print("expect w 1e-9", *map(repr, want), file=file)
    return len(sizes), max(sizes)


def factors(path, file):
    """Cholesky factorizations of 400 matrices of orders 4, 8, 12 and 16, each a warp of that size."""
    most, a, want, sizes = 16, [], [], []
    for g in range(400):
        n = (4, 8, 4, 12, 4, 8, 16)[g * 5 % 7]
        full = [[(2.0 * n if i == j else 0.0) + ((3 * i * j + i + j + g) % 7 - 3) / 8 for j in range(n)] for i in range(n)]
        lower = [[0.0] * n for _ in range(n)]
        for j in range(n):
            lower[j][j] = math.sqrt(full[j][j] - sum(x * x for x in lower[j][:j]))
            for i in range(j + 1, n):
                lower[i][j] = (full[max(i, j)][min(i, j)] - sum(lower[i][k] * lower[j][k] for k in range(j))) / lower[j][j]
        for values, where in ((lambda i, j: full[max(i, j)][min(i, j)], a), (lambda i, j: lower[i][j] if i >= j else full[j][i], want)):
            where += [values(i, j) if i < n and j < n else 0.0 for j in range(most) for i in range(most)]
        sizes.append(n)
    put(file, "a", "f64", map_of(a))
    print("array info b32", 4 * len(sizes), 0, f"scalar lda b32 {most} scalar stride b64 {most * most} scalar tol f64 1e-12", file=file)
    print("warps", *sizes, "expect a 1e-10", *map(repr, want), file=file)
    return len(sizes), most


def map_of(values):
    return [repr(v) for v in values]


def kernels(run, matrices):
    rows = []
    for kernel, make, what, path in (("trisolve", triangular, "{} rows in {} levels", "acopf/ACTIVSg200_AC_01.mtx.xz"),
                                     ("trisolve", triangular, "{} rows in {} levels", "helmholtz/bcsst10_shift.mtx.xz"),
                                     ("trisolve", triangular, "{} rows in {} levels", "lp_kkt/degen3_it08.mtx.xz"),
                                     ("downdate", downdates, "{} products, frames up to {}", "lp_kkt/pilot87_it06.mtx.xz"),
                                     ("borgc's llt, 4 masks a slot", factors, "{} matrices up to order {}", ""),
                                     ("isai", inverses, "{} columns of up to {} entries", "lp_kkt/degen3_it08.mtx.xz")):
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
            counts = make(os.path.join(matrices, path), file)
        if not path: # a kernel for each size, compiled here; with the masks that it needs there are two slots, so that it gets fewer
            text = file.name + ".vrptx"
            compiled(run, text, "llt")
            kernel_file, more_words = text, ["--masks", "4"]
        else:
            kernel_file, more_words = kernel, []
        result = run(kernel_file, ["--input", file.name], *lists([1, 2, 4, 8], ["none", "0", "16", "100000"]), *more_words)
        os.unlink(file.name)
        if not path:
            os.unlink(kernel_file)
        found = settings(result)
        base, best = found["none", 1], min(found.values(), key=lambda s: s["cycles"]["mean"])
        rows.append([kernel, os.path.basename(path)[:-7] or "made", what.format(*counts), f"{result['least_threads']} .. {result['most_threads']}",
                     result["registers"]["most_slots"], number(base["cycles"]["mean"]), number(best["cycles"]["mean"]),
                     f"{best['threshold']}, {best['slots']}", f"{base['cycles']['mean'] / best['cycles']['mean']:.1f}",
                     f"{100 * best['utilisation']['mean']:.1f} %"])
    return table(["kernel", "pattern of", "work", "warps", "slots possible", "none, 1 slot", "best", "threshold, slots", "factor", "units in use"], rows)


def compiled(run, name, kernel):
    """borgc's kernel for warps of 4, 8, 12 and 16 threads, in a file of that name."""
    subprocess.run([os.path.join(os.path.dirname(run.command), "borgc"), "--emit=vrptx", "--sizes=4,8,12,16", "--strict", "-o", name,
                    os.path.join(HERE, "..", "src", "kernels", "cl", kernel + ".cl")], check=True)


def masks(run):
    """Slots for masks: the Aurora's 16 shared by one to four slots, what a slot has not in vector registers."""
    rows, shares = [], [(16, 1), (8, 2), (5, 3), (4, 4)]
    with tempfile.TemporaryDirectory() as folder:
        text, data = os.path.join(folder, "k.vrptx"), os.path.join(folder, "warps.txt")
        for kernel in ("llt", "ldlt", "ldlt_static", "ldlt_partial", "ldlt_complete", "ldu"):
            compiled(run, text, kernel)
            with open(data, "w") as file:
                factors("", file)
            words = open(data).read()
            if kernel != "llt":
                words = words[:words.index("expect")] + "array piv b32 6400 0\n" * ("piv" in open(text).read().split("{")[0])
            with open(data, "w") as file:
                file.write(words)
            needs, cells, cycles = 0, [], []
            for count, slots in shares:
                result = run(text, ["--input", data], "--slots", str(slots), "--threshold", "0", "--masks", str(count))
                needs = needs or run(text, ["--input", data], "--slots", "1", "--threshold", "0", "--set", "mask_registers=4096")["registers"]["mask"]
                setting, moved = result["settings"][0], result["spills"]
                if "cycles" not in setting:
                    cells.append("no vector registers")
                    continue
                cycles.append(setting["cycles"]["mean"])
                cells.append(f"{number(cycles[-1])} ({moved['predicates']})")
            rows.append([kernel, needs, *cells, f"{cycles[0] / min(cycles):.2f}"])
    return ("400 matrices of orders 4 to 16, threshold 0: cycles (predicates in vector registers, of the kernels of all four orders). Gain: "
            "the best over one slot.\n\n") + table(["borgc's", "masks it needs"] + [f"{t} slot{'s' * (t > 1)} of {m} masks" for m, t in shares] + ["gain"], rows)


def draw_cores(rows, counts, path):
    """A panel for each matrix and threshold: speed-up over the number of cores, a line for each memory."""
    legend, panels = [], {}
    for name, threshold, what, _, *cells in rows:
        what = what.replace(" bytes a cycle", "").replace("96 a core, ", "")
        if what not in legend:
            legend.append(what)
        panel = panels.setdefault((name, threshold), {"title": f"speed-up: {name}, {'no packing' if threshold == 'none' else 'threshold ' + threshold}",
                                                      "ticks": [str(n) for n in counts], "series": [], "log": False, "label": "cores", "reach": [10]})
        panel["series"].append({"name": what, "y": [1.0] + [float(c.split()[0]) for c in cells]})
    chart.draw(path, list(panels.values()), legend)


def cores(run, orders, out):
    """Speed-up over one core; rates of misses of the shared cache."""
    rows, counts = [], [1, 2, 4, 8, 10]
    for name, where in (LP22, MYCIELSKIAN, MORE[6]):
        kernel, how, _ = kernel_of(run, where)
        for threshold in ("none", "0"):
            for what, memory in (("96 bytes a cycle a core", lambda n: f"bandwidth={96 * n}"), ("96 bytes a cycle for all", lambda n: "bandwidth=96"),
                                 ("96 a core, a cache of 16 MiB", lambda n: f"bandwidth={96 * n},cache_kib=16384"),
                                 ("96 a core, a cache of 64 KiB", lambda n: f"bandwidth={96 * n},cache_kib=64"),
                                 ("96 a core, stealing", lambda n: f"bandwidth={96 * n},assign=steal")):
                one, cells = None, []
                for n in counts:
                    s = run(kernel, where, *how, "--slots", "8", "--threshold", threshold, "--orders", str(orders), "--seed", "8",
                            "--set", f"cores={n},{memory(n)}")["settings"][0]
                    one = one or s["cycles"]["mean"]
                    cells.append(number(one) if n == 1 else f"{one / s['cycles']['mean']:.2f}")
                    if "cache" in what:
                        cells[-1] += f" ({100 * s['miss_rate']:.1f} %)"
                rows.append([name, threshold, what, *cells])
    draw_cores(rows, counts, os.path.join(out, "vector-core-cores.svg"))
    return "Eight slots a core: speed-up over one core (share of the cache's look-ups that miss).\n\n![speed-up](vector-core-cores.svg)\n\n" + table(["rows of", "threshold", "memory", "cycles of one core"] + [f"{n} cores" for n in counts[1:]], rows)


def estimates(run, matrices):
    """What sizes are packed together, by three estimates of their instructions."""
    rows, hows = [], ["lot", "all", "first"]

    def add(what, kernel, where, *more):
        found = {h: settings(run(kernel, where, *lists([8], ["0", "8", "48"]), "--estimate", h, *more)) for h in hows}
        rows.append([what] + [f"{number(found[h][t, 8]['cycles']['mean'])} ({found[h][t, 8]['buckets']:.0f})" for t in ("0", "8", "48") for h in hows])
    for name, where in (LP22, MYCIELSKIAN):
        add(f"product, rows of {name}, at most 32 threads", "spmv_loop", where, "--warps", "rows:32", "--orders", "10", "--seed", "9")
    for kernel, make, path in (("trisolve", triangular, "acopf/ACTIVSg200_AC_01.mtx.xz"), ("trisolve", triangular, "lp_kkt/degen3_it08.mtx.xz"),
                               ("downdate", downdates, "lp_kkt/pilot87_it06.mtx.xz"), ("isai", inverses, "lp_kkt/degen3_it08.mtx.xz")):
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
            make(os.path.join(matrices, path), file)
        add(f"{kernel}, {os.path.basename(path)[:-7]}", kernel, ["--input", file.name], "--orders", "3")
        os.unlink(file.name)
    return "Eight slots: cycles (buckets) by threshold and `--estimate`.\n\n" + table(["kernel"] + [f"{t}: {h}" for t in ("0", "8", "48") for h in hows], rows)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="build")
    p.add_argument("--matrices", default=os.path.join(HERE, "..", "..", "shared", "matrices"))
    p.add_argument("--report", default=os.path.join(HERE, "results", "vector-core.md"))
    p.add_argument("--orders", type=int, default=100)
    p.add_argument("--only", default="figure,reading,sensitivity,plateau,baselines,kernels,masks,estimates,cores,beyond,machines", help="sections, separated by commas")
    args = p.parse_args()
    run, only, out = Runner(args.build, args.matrices), args.only.split(","), os.path.dirname(args.report)
    put_section(args.report, "Irregular warps on a vector core",
                "Made by `bench/vector_core.py` with the model of [docs/design/vector-core.md](../../docs/design/vector-core.md). Cycles are the "
                f"simulator's and do not depend on the computer, here {platform.processor() or platform.machine()}, "
                f"{os.cpu_count()} cores, {subprocess.run([run.command, '--version'], capture_output=True, text=True).stdout.splitlines()[0]}.")
    if "figure" in only:
        text, notes = figure(run, out, args.orders)
        put_section(args.report, "Fig. 9.4", text)
        eight = more(run, max(args.orders // 5, 2), notes)
        put_section(args.report, "Eight more matrices", eight)
        put_section(args.report, "The four statements, counted", verdicts(notes))
    if "reading" in only:
        put_section(args.report, "Another reading: the lanes at work", reading(run, max(args.orders // 5, 2)))
    if "sensitivity" in only:
        put_section(args.report, "What the thesis leaves open", sensitivity(run, max(args.orders // 10, 2), out))
    if "plateau" in only:
        put_section(args.report, "With registers for more slots", plateau(run, max(args.orders // 10, 2)))
    if "baselines" in only:
        put_section(args.report, "Other ways to run the same product", baselines(run))
    if "kernels" in only:
        put_section(args.report, "Kernels beyond the product", kernels(run, args.matrices))
    if "masks" in only:
        put_section(args.report, "Slots for masks", masks(run))
    if "estimates" in only:
        put_section(args.report, "Estimates for the buckets", estimates(run, args.matrices))
    if "cores" in only:
        put_section(args.report, "Several cores", cores(run, max(args.orders // 33, 2), out))
    if "beyond" in only:
        text, auto = beyond(run, max(args.orders // 5, 2))
        put_section(args.report, "Sorting and work stealing", text)
        put_section(args.report, "Slots and threshold chosen by themselves", auto)
    if "machines" in only:
        put_section(args.report, "Other machines", machines(run))
    print(f"{run.seconds:.0f} s in the simulator")


if __name__ == "__main__":
    main()
