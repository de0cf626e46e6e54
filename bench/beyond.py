#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Thuerck 2021, section 10.4.1, would do next, on all matrices at hand.

    bench/beyond.py refine|tolerance|time|butterfly [MATRICES] [--build build] [--threads 2] [--only PATTERN] [--limit 20]

refine: method auto with FGMRES, whose preconditioner is refined while it iterates, beside a new solve for each factor.
tolerance: precision by block (block_tolerance): bytes, iterations.
time: what it does to the time of an iteration, on generated matrices.
butterfly: static butterflies in place of delayed pivots, complete and incomplete.
Each writes its section of bench/results/incomplete.md; rows go to BUILD/bench/beyond-*.jsonl. A run that takes longer than
--limit seconds has failed."""
import fnmatch, glob, json, os, sys

from incomplete import arguments, keep, show, solve, write_section
from page import geometric_mean


def subjects(options):
    """All matrices, by name and file; right-hand sides are none."""
    for path in sorted(glob.glob(os.path.join(options.matrices, "*/*.mtx*"))):
        name = os.path.relpath(path, options.matrices).split(".")[0]
        if not name.endswith("_b") and fnmatch.fnmatch(name, options.only):
            yield name, [path]


def good(row):
    return row.get("status") in ("ok", "inaccurate")


def run_all(options, part, ways):
    """Rows by matrix, of each way: a list of words."""
    table, rows = {}, []
    for path in options.rows:
        for row in map(json.loads, open(path, encoding="utf-8")):
            table.setdefault(row["matrix"], {})[row["way"]] = row
    if options.rows:
        table = {name: {way: got[way] for way in ways if way in got} for name, got in table.items()}
        return {name: got for name, got in table.items() if len(got) == len(ways)}
    for name, source in subjects(options):
        got = {way: solve(options, source, words, options.limit) for way, words in ways.items()}
        table[name] = got
        rows += [dict(row, matrix=name, way=way) for way, row in got.items()]
        print(f"{name:32s} " + "  ".join(f"{way}: {iterations(row)} in {show(spent(row))} s" for way, row in got.items()), flush=True)
        keep(options, "beyond-" + part, rows)
    return table


def iterations(row):
    return str(row["iterations"]) if good(row) else "†"


def spent(row):
    times = row.get("time_s", {})
    return times.get("factorize", 0) + times.get("solve", 0) if times else None


def of_all(row):
    """Iterations and seconds of all attempts of method auto."""
    tried = row.get("attempts", [])
    return sum(a["iterations"] for a in tried), sum(a["time_s"] for a in tried)


def refine(options):
    words = ["--method", "auto", "--no-direct", "--tolerance", "1e-8"]
    table = run_all(options, "refine", {"anew": [*words, "--krylov", "gmres"], "refined": [*words, "--krylov", "fgmres"]})
    both = {n: g for n, g in table.items() if good(g["anew"]) and good(g["refined"])}
    climbed = {n: g for n, g in both.items() if max(len(g[w].get("attempts", [])) for w in g) > 1}
    ratio = {n: of_all(g["refined"])[1] / of_all(g["anew"])[1] for n, g in climbed.items() if of_all(g["anew"])[1] > 0}
    lines = ["`--method auto --no-direct --tolerance 1e-8 --krylov fgmres`, which takes a stronger factor as soon as the rate of ten steps says so, and",
             "keeps its vectors, beside `--krylov gmres`, which starts anew with each factor. All matrices; in the table those where either took more than one",
             f"factor. Answered of {len(table)}: anew {sum(good(g['anew']) for g in table.values())}, refined "
             f"{sum(good(g['refined']) for g in table.values())}; one factor did for {len(both) - len(climbed)}. Time refined / anew, of the {len(ratio)} others: "
             f"geometric mean {show(geometric_mean(ratio.values()), '.2f')}" + (f", worst {max(ratio.values()):.2f} ({max(ratio, key=ratio.get)})." if ratio else "."), "",
             "| matrix | n | anew: factors | iterations | s | refined: factors | iterations | s | refined / anew |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for name, got in climbed.items():
        cells = []
        for way in ("anew", "refined"):
            count, time = of_all(got[way])
            cells += [str(len(got[way]["attempts"])), str(count), show(time)]
        lines.append(f"| {name} | {got['anew']['n']} | " + " | ".join(cells) + f" | {show(ratio.get(name), '.2f')} |")
    failed = [n for n, g in table.items() if not good(g["refined"]) or not good(g["anew"])]
    lines += ["", "Not answered by both: " + (", ".join(f"{n} (anew {table[n]['anew'].get('status', 'late')}, refined "
                                                        f"{table[n]['refined'].get('status', 'late')})" for n in failed) or "none") + "."]
    write_section(options, "refine", "FGMRES whose preconditioner is refined while it iterates", lines)


TOLERANCES = [0, 1e-8, 1e-4, 1e-2]


def tolerance(options):
    words = ["--method", "ildlt", "--level", "-1", "--drop-tolerance", "1e-4", "--fill-factor", "0", "--tolerance", "1e-8"]
    table = run_all(options, "tolerance", {t: words + (["--block-tolerance", str(t)] if t else []) for t in TOLERANCES})
    lines = ["`--method ildlt --level -1 --drop-tolerance 1e-4 --fill-factor 0 --tolerance 1e-8`, SQMR; `--block-tolerance` as given, on the processor. Bytes of the factor, iterations,",
             "relative to those without: geometric means over the matrices that both answer; worst: the largest ratio. A solve widens blocks as it reaches them, so fewer",
             "bytes are read and more is computed; what that does to its time is below.", "",
             "| tolerance | answered | of | blocks in single | in bfloat16 | bytes | worst | iterations | worst |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for t in TOLERANCES:
        both = {n: g for n, g in table.items() if good(g[0]) and good(g[t])}

        def ratio(value):
            values = {n: value(g[t]) / value(g[0]) for n, g in both.items() if value(g[t]) and value(g[0])}
            worst = max(values, key=values.get, default=None)
            return show(geometric_mean(values.values()), ".2f"), f"{values[worst]:.2f} ({worst.split('/')[-1]})" if worst else "—"

        single, half, blocks = (sum(g[t]["blocks"].get(k) or 0 for g in both.values()) for k in ("in_single", "in_bf16", "blocks"))
        bytes_, its = ratio(lambda r: r["factor"]["bytes"]), ratio(lambda r: r["iterations"])
        lines.append(f"| {t:g} | {sum(good(g[t]) for g in table.values())} | {len(table)} | {100 * single / max(blocks, 1):.0f} % | {100 * half / max(blocks, 1):.0f} % | "
                     + " | ".join([*bytes_, *its]) + " |")
    write_section(options, "tolerance", "Precision by block", lines)


TIMED = ["nlpkkt 20", "helmholtz 2d 300 0", "stokes mac 150", "lin nx=40 ny=40 nz=20 sigma=-1"]
FEW, MANY = 5, 35


def time(options):
    """Processor time, by the difference of runs with few iterations and many; the least of --turns pairs, all ways by turns."""
    words = ["--method", "ildlt", "--level", "-1", "--drop-tolerance", "1e-4", "--fill-factor", "0", "--tolerance", "1e-30", "--krylov", "sqmr"]
    ways = [t for t in TOLERANCES if t != 1e-8]
    options.threads = 1
    lines = [f"Settings as above; seconds of one processor core that an iteration of SQMR takes, by the difference of runs with {FEW} and {MANY} iterations, the",
             f"least of {options.turns} pairs, the tolerances by turns; relative to those without.", "",
             "| matrix | n | MB: 0 | " + " | ".join(f"{t:g}" for t in ways[1:]) + " | ms an iteration: 0 | "
             + " | ".join(f"{t:g}: time" for t in ways[1:]) + " |", "|---|---:|" + "---:|" * (2 * len(ways))]
    rows = []
    for spec in TIMED:
        if not fnmatch.fnmatch(spec, options.only):
            continue
        spent, bytes_, n = {t: [] for t in ways}, {}, 0
        for _ in range(options.turns):
            for t in ways:
                more = ["--block-tolerance", str(t)] if t else []
                few, many = (solve(options, ["--generate", spec], [*words, *more, "--max-iterations", str(k)], 300) for k in (FEW, MANY))
                rows += [dict(r, matrix=spec, way=t) for r in (few, many)]
                if many["iterations"] > few["iterations"]:
                    spent[t].append((many["cpu_s"] - few["cpu_s"]) / (many["iterations"] - few["iterations"]))
                bytes_[t], n = many["factor"]["bytes"], many["n"]
        least = {t: min(s, default=None) for t, s in spent.items()}
        lines.append(f"| {spec} | {n} | " + " | ".join(f"{bytes_[t] / 1e6:.1f}" for t in ways) + f" | {show(1e3 * least[0] if least[0] else None)} | "
                     + " | ".join(show(least[t] / least[0] if least[t] and least[0] else None, ".2f") for t in ways[1:]) + " |")
        print(lines[-1], flush=True)
        keep(options, "beyond-time", rows)
    lines += ["", "nlpkkt's blocks are dense and come from memory: a fifth is gained. Of the others most are sparse, and to widen what is left of them costs as much as its bytes",
              "save, or more: no gain. Bytes are what the option is for."]
    write_section(options, "tolerance-time", "Precision by block: time", lines)


def butterfly(options):
    complete = ["--method", "ildlt", "--level", "-1", "--drop-tolerance", "0", "--fill-factor", "0", "--tolerance", "1e-8"]
    default = ["--method", "ildlt", "--tolerance", "1e-8"]
    kinds = {"rook": [], "none": ["--pivoting", "none"], "butterfly": ["--pivoting", "none", "--butterfly"],
             "delayed": ["--pivoting", "none", "--stages", "20"], "rook, delayed": ["--stages", "20"]}
    lines = ["Pivots by *rook* inside blocks, *none*, a static *butterfly* in each block and none (`--pivoting none --butterfly`), *delayed* without search inside",
             "(`--pivoting none --stages 20`), and both. Matrices answered to 1e-8 by SQMR; iterations relative to rook: geometric mean over what both",
             "answer, and the largest. A run above the limit is not answered. So a butterfly of a block, which cannot bring in what the block lacks, is no substitute for delayed",
             "pivots: it answers fewer than no pivoting at all.", "",
             "| factor | pivots | answered | of | that replaced pivots | iterations | worst |", "|---|---|---:|---:|---:|---:|---|"]
    for title, words in ("complete", complete), ("incomplete", default):
        table = run_all(options, "butterfly-" + title, {f"{title}: {kind}": words + more for kind, more in kinds.items()})
        table = {n: {way.split(": ", 1)[1]: row for way, row in g.items()} for n, g in table.items()}
        for kind in kinds:
            both = {n: g for n, g in table.items() if good(g["rook"]) and good(g[kind])}
            its = {n: g[kind]["iterations"] / g["rook"]["iterations"] for n, g in both.items() if g["rook"]["iterations"] and g[kind]["iterations"]}
            worst = max(its, key=its.get, default=None)
            replaced = sum((g[kind].get("blocks", {}).get("perturbed") or 0) > 0 for g in table.values())
            lines.append(f"| {title} | {kind} | {sum(good(g[kind]) for g in table.values())} | {len(table)} | {replaced} | {show(geometric_mean(its.values()), '.2f')} | "
                         f"{f'{its[worst]:.1f} ({worst})' if worst else '—'} |")
    write_section(options, "butterfly", "Static butterflies in place of delayed pivots", lines)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    parser = arguments(__doc__)
    parser.usage = "%(prog)s refine|tolerance|time|butterfly [MATRICES] [options]"
    parser.add_argument("--limit", type=float, default=20, help="seconds of a run (default: %(default)s)")
    parser.add_argument("--rows", nargs="*", default=[], help="make the section of these rows, and run nothing (of butterfly: both factors')")
    parser.add_argument("--turns", type=int, default=3, help="of time: pairs of runs (default: %(default)s)")
    parts = {"refine": refine, "tolerance": tolerance, "time": time, "butterfly": butterfly}
    if what not in parts:
        parser.error("say refine, tolerance, time or butterfly first") if what not in ("-h", "--help") else parser.parse_args()
    parts[what](parser.parse_args(sys.argv[2:]))


if __name__ == "__main__":
    main()
