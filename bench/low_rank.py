#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The direct solver with its factor in low rank, beside all of L.

    python3 bench/low_rank.py [--only GLOB] [--command FILE] [--tolerance T ...] [--threads N] [--most SECONDS] [--write]
    python3 bench/low_rank.py --real [...]     the real matrices of METAPACK_MATRICES, or ../shared/matrices

Generated matrices of space, and two of the plane, through the command, b = A times ones, the same ordering for both. Times are those
of all threads, for all that the command does: analysis, factorization with its trial, solve. What takes more than --most
seconds is left out, and the page says so. --write: bench/results/low-rank.md.
"""

import argparse
import fnmatch
import json
import resource
import subprocess
from pathlib import Path

import collection

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench/results/low-rank.md"
GENERATED = ("helmholtz 3d 24", "helmholtz 3d 32", "helmholtz 3d 46", "helmholtz 3d 64",
             "helmholtz 3d 32 boundary=absorbing", "helmholtz 3d 46 boundary=absorbing",
             "nlpkkt 24", "nlpkkt 32", "stokes mac 400", "elements tetrahedra 24", "elements tetrahedra 40",
             "helmholtz 2d 700")  # fmt: skip
MARK = "<!-- figures -->"


def matrices(only, real):
    """(name, arguments of the command)"""
    for name, path in collection.files(only) if real else ():
        yield name, [str(path)]
    for spec in () if real else GENERATED:
        if fnmatch.fnmatch(spec, only):
            yield spec, ["--generate", spec]


def run(asked, arguments, tolerance):
    """What the command tells, and the seconds of its processors; or in a word why it tells nothing."""
    line = [asked.command, "solve", *arguments, "--method", "ldlt", "--threads", str(asked.threads),
            "--ordering", asked.ordering, "--low-rank-tolerance", str(tolerance), "--json"]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        told = json.loads(subprocess.run(line, capture_output=True, timeout=asked.most).stdout)
    except subprocess.TimeoutExpired:
        return "late"
    except ValueError:
        return "failed"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return told if "factor" in told and "backward_error" in told else told.get("status", "failed")


def row_of(name, tolerance, whole, low):
    a, b = whole["factor"], low["factor"]
    return {
        "name": name,
        "n": whole["n"],
        "tolerance": tolerance,
        "low": "low_rank_tolerance" in b,
        "unfit": b.get("unfit", "no large front"),
        "flops": a["flops"],
        "flops_share": b.get("low_rank_flops", b["flops"]) / max(a["flops"], 1),
        "kept": b.get("low_rank_nnz", b["nnz"]) / max(a["nnz"], 1),
        "mb": a["bytes"] / 1e6,
        "bytes": b["bytes"] / max(a["bytes"], 1),
        "peak": b["peak_bytes"] / max(a["peak_bytes"], 1),
        "cpu": whole["cpu_s"],
        "cpu_share": low["cpu_s"] / max(whole["cpu_s"], 1e-3),
        "omega": (whole["backward_error"]["componentwise"], low["backward_error"]["componentwise"]),
        "steps": low["iterations"],
        "same": (whole["status"], whole["inertia"]) == (low["status"], low["inertia"]),
    }  # fmt: skip


def table(rows):
    yield ("| matrix | n | tolerance | in low rank | flops | flops done | numbers held | factor, MB | bytes | peak | "
           "CPU, s | CPU | steps | ω, whole | ω | verdict |")  # fmt: skip
    yield "|---|" + "---:|" * 2 + "---|" + "---:|" * 11 + "---|"
    for r in rows:
        yield (f"| {r['name']} | {r['n']} | {r['tolerance']:.0e} | {'yes' if r['low'] else r['unfit']} | {r['flops']:.1e} | "
               f"{r['flops_share']:.2f} | {r['kept']:.2f} | {r['mb']:.0f} | {r['bytes']:.2f} | {r['peak']:.2f} | "
               f"{r['cpu']:.1f} | {r['cpu_share']:.2f} | "
               f"{r['steps']} | {r['omega'][0]:.1e} | {r['omega'][1]:.1e} | "
               f"{'same' if r['same'] else 'ANOTHER'} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--command", default=str(ROOT / "build/metapack"))
    parser.add_argument("--tolerance", type=float, nargs="*", default=[1e-8])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ordering", default="nd")
    parser.add_argument("--most", type=float, default=120)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows, failed = [], []
    for name, arguments in matrices(asked.only, asked.real):
        whole = run(asked, arguments, 0)
        for tolerance in asked.tolerance:
            low = whole if isinstance(whole, str) else run(asked, arguments, tolerance)
            if isinstance(low, str):
                failed.append(f"{name} ({low})")
                print(failed[-1], flush=True)
                continue
            rows.append(row_of(name, tolerance, whole, low))
            print(list(table(rows))[-1], flush=True)
    changed = [r["name"] for r in rows if not r["same"]]
    text = "\n".join([f"- {len(rows)} rows, {sum(r['low'] for r in rows)} in low rank; another status or inertia: "
                      f"{', '.join(changed) or 'none'}; without figures: {', '.join(failed) or 'none'}.",
                      "", *table(rows), ""])  # fmt: skip
    print(text)
    if asked.write:
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n{text}")


if __name__ == "__main__":
    main()
