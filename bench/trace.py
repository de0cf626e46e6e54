#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 8.4 of Thuerck 2021 anew: inspector and executor in a factorization with two stages.

    bench/trace.py [MATRICES] [--build build] [--report bench/results/incomplete.md]

`metapack solve --trace` draws bench/results/trace-fig8-4.svg; from the same in Chrome's format the section has how long
what took, and whether the solution has the same bits without a trace and on one thread."""
import collections, json, os, subprocess, tempfile

from incomplete import arguments, find, picture, write_section

MATRIX = "qp_kkt/cont-050"
WORDS = ["--method", "ildlt", "--level", "-1", "--drop-tolerance", "1e-4", "--fill-factor", "0", "--block", "8", "--matching", "off",
         "--pivoting", "none", "--pivot-threshold", "0.1", "--stages", "2", "--max-iterations", "20"]


def run(options, source, more, threads):
    command = [os.path.join(options.build, "metapack"), "solve", *source, *WORDS, "--threads", str(threads), "--quiet", *more]
    return subprocess.run(command, capture_output=True, text=True)


def main():
    options = arguments(__doc__).parse_args()
    source = find(options, MATRIX)
    with tempfile.TemporaryDirectory() as folder:
        at = {key: os.path.join(folder, key) for key in ("trace.json", "with.mtx", "without.mtx", "alone.mtx")}
        run(options, source, ["--trace", at["trace.json"], "-o", at["with.mtx"]], options.threads)
        run(options, source, ["--trace", picture("trace-fig8-4.svg")], options.threads)
        run(options, source, ["-o", at["without.mtx"]], options.threads)
        run(options, source, ["-o", at["alone.mtx"]], 1)
        solutions = [open(at[key], encoding="utf-8").read() for key in ("with.mtx", "without.mtx", "alone.mtx")]
        with open(at["trace.json"], encoding="utf-8") as file:
            got = json.load(file)
    events = [e for e in (got["traceEvents"] if isinstance(got, dict) else got) if e.get("ph") == "X"]
    pushes = [e for e in events if e["name"] == "push back"]
    first = pushes[0]["ts"]
    pivots = max(e["ts"] + e["dur"] for e in events if e["name"] == "I pivots" and e["ts"] < first)
    inspector = next(e["tid"] for e in events if e["name"] == "lists")
    found = [e for e in events if e["name"] == "level sets" and e["ts"] > first]
    level_sets = sum(e["dur"] for e in found)
    handed = min(e["ts"] + e["dur"] for e in events if e["name"] == "lists" and e["ts"] > first)
    delayed = max(e["ts"] + e["dur"] for e in events if e["tid"] != inspector and e["name"] in ("I pivots", "II solve", "III store")
                  and e["ts"] > first and e["args"]["number"] < found[0]["args"]["number"])
    under = sum(max(0, min(e["ts"] + e["dur"], delayed) - max(e["ts"], handed)) for e in found)
    factor = [e for e in events if e["name"] not in ("match", "block", "solve")]
    span = max(e["ts"] + e["dur"] for e in factor) - min(e["ts"] for e in factor)
    sums = collections.Counter()
    for e in factor:
        sums[e["name"]] += e["dur"]
    lines = [
        f"`metapack solve` of {MATRIX} with `{' '.join(WORDS)}` on {options.threads} threads: {len(events)} spans.", "",
        "![inspector and executor](trace-fig8-4.svg)", "",
        f"From the end of the last factorize kernel of stage 1 (I pivots) to the push-back: {(first - pivots) / 1e3:.3f} ms of a factorization of "
        f"{span / 1e3:.1f} ms. The last portion of a", "stage is of its last level set, whose columns have no blocks below, so nothing but storing its pivots is between. The delayed",
        "downdates of L₃₂ᵀ and L₂₂ are the first portions of stage 2, with the inspector a portion ahead, which goes on to the level",
        f"sets of stage 2 and its lists: {level_sets / 1e3:.3f} ms in the inspector's lane, {100 * under / level_sets:.0f} % of them while the "
        "executor had", f"delayed downdates to do (which took {(delayed - handed) / 1e3:.1f} ms).", "",
        f"The same bits with a trace and without: {'yes' if solutions[0] == solutions[1] else 'NO'}; on one thread, where there is no "
        f"inspector: {'yes' if solutions[0] == solutions[2] else 'NO'}.", "",
        "| what | ms | of the factorization |", "|---|---:|---:|",
        *[f"| {name} | {took / 1e3:.2f} | {100 * took / span:.1f} % |" for name, took in sums.most_common()]]
    write_section(options, "trace", "Inspector and executor: a factorization with two stages (2021, Fig. 8.4)", lines)


if __name__ == "__main__":
    main()
