#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The direct solver with its factor in single precision, beside that in double.

    python3 bench/single.py [--only GLOB] [--command FILE] [--most SECONDS] [--write]

All real matrices of METAPACK_MATRICES (or ../shared/matrices, or data/), and generated ones, through the
command, one thread; of each the least times of some pairs of runs. Where a run in double takes more than
--most (20) seconds, one in single three times that, or one fails, the page says so. --write: bench/results/single.md.
"""

import argparse
import fnmatch
import json
import subprocess
from math import nan
from pathlib import Path
from statistics import median

import collection
from page import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench/results/single.md"
GENERATED = ("nlpkkt 20", "nlpkkt 26", "nlpkkt 30", "helmholtz 3d 30", "helmholtz 3d 40",
             "helmholtz 3d 48", "stokes mac 200", "elements tetrahedra 24", "elements tetrahedra 40",
             "helmholtz 2d 300 boundary=absorbing", "helmholtz 3d 40 boundary=absorbing",
             "random 5000 density=0.004", "random 3000 density=0.004 entries=hermitian")  # fmt: skip
CLASSES = ((0, 1e7), (1e7, 1e8), (1e8, 1e9), (1e9, 1e10), (1e10, float("inf")))
MARK = "<!-- figures -->"


def matrices(only):
    """(name, arguments of the command)"""
    for name, path in collection.files(only):
        yield name, [str(path)]
    for spec in GENERATED:
        if fnmatch.fnmatch(spec, only):
            yield spec, ["--generate", spec]


def run(command, arguments, precision, most):
    """What the command tells, or in a word why it tells nothing."""
    line = [command, "solve", *arguments, "--method", "ldlt", "--threads", "1",
            "--precision", precision, "--json"]  # fmt: skip
    try:
        told = json.loads(subprocess.run(line, capture_output=True, timeout=most).stdout)
    except subprocess.TimeoutExpired:
        return "late"
    except ValueError:
        return "failed"
    return told if "factor" in told and "backward_error" in told else told.get("status", "failed")


def measure(command, arguments, most):
    """The last run of each, with the least times of all; or what failed, and how."""
    best = [None, None]
    for pairs in range(1, 6):
        for k, precision in enumerate(("double", "single")):
            told = run(command, arguments, precision, most if k == 0 else 3 * most)
            if isinstance(told, str):
                return f"{precision}: {told}"
            if best[k]:
                for part in ("factorize", "solve"):
                    told["time_s"][part] = min(told["time_s"][part], best[k]["time_s"][part])
            best[k] = told
        spent = sum(t["time_s"]["factorize"] for t in best)
        if spent > 1 or (spent > 0.1 and pairs > 2):
            break
    return best


def row_of(name, double, single):
    d, s = double["factor"], single["factor"]
    return {
        "name": name,
        "n": double["n"],
        "flops": d["flops"],
        "regular": double["inertia"]["zero"] == 0,
        "single": s["precision"] == "single",
        "unfit": s.get("unfit", ""),
        "omega": (double["backward_error"]["componentwise"],
                  single["backward_error"]["componentwise"]),
        "status": (double["status"], single["status"]),
        "iterations": single["iterations"],
        "bytes": s["bytes"] / max(1, d["bytes"]),
        "peak": s["peak_bytes"] / max(1, d["peak_bytes"]),
        "factorize": double["time_s"]["factorize"] / max(1e-9, single["time_s"]["factorize"]),
        "solve": double["time_s"]["solve"] / max(1e-9, single["time_s"]["solve"]),
        "ms": 1e3 * double["time_s"]["factorize"],
    }  # fmt: skip


def summary(rows, failed):
    regular = [r for r in rows if r["regular"]]
    stays = [r for r in regular if r["single"]]
    good = [r for r in stays if r["omega"][1] <= 1e-14]
    wrong = [r["name"] for r in rows if r["status"][0] != r["status"][1]]
    large = [r for r in stays if r["flops"] > 1e7]
    yield f"- {len(rows)} matrices, {len(regular)} of them without zero pivots in double."
    yield (f"- *Stay in single:* {len(stays)} of {len(regular)}, {100 * len(stays) / len(regular):.0f} %; "
           f"with ω ≤ 1e-14: {len(good)}. Of the {len(rows) - len(regular)} with zero pivots "
           f"{sum(r['single'] for r in rows if not r['regular'])}.")  # fmt: skip
    yield f"- *Another status than in double:* {', '.join(wrong) or 'none'}."
    yield f"- *Without figures:* {', '.join(f'{n} ({why})' for n, why in failed.items()) or 'none'}."
    yield (f"- *Bytes of the factor,* single / double: median {median([r['bytes'] for r in stays] or [nan]):.2f}, "
           f"worst {max((r['bytes'] for r in stays), default=nan):.2f}; above 1e7 operations "
           f"{median([r['bytes'] for r in large] or [nan]):.2f}, {max((r['bytes'] for r in large), default=0):.2f}.")  # fmt: skip
    yield ""
    yield "Double / single, geometric means; *least*: the worst row."
    yield ""
    yield "| operations | stay | factorize | least | solve | fall back | factorize |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for low, high in CLASSES:
        of = [r for r in rows if low <= r["flops"] < high]
        a, b = [r for r in of if r["single"]], [r for r in of if not r["single"]]
        if not a:
            continue
        times = f"{geometric_mean(r['factorize'] for r in b):.2f}" if b else ""
        yield (f"| {f'{low:.0e} to ' if low else 'below '}{high:.0e} | {len(a)} | "
               f"{geometric_mean(r['factorize'] for r in a):.2f} | {min(r['factorize'] for r in a):.2f} | "
               f"{geometric_mean(r['solve'] for r in a):.2f} | {len(b)} | {times} |"
               .replace(" to inf", " and more"))  # fmt: skip


def table(rows):
    yield ("| matrix | n | operations | in single | ω double | ω single | steps | bytes | peak | "
           "factorize, ms | factorize | solve |")  # fmt: skip
    yield "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for r in rows:
        yield (f"| {r['name']} | {r['n']} | {r['flops']:.1e} | "
               f"{'yes' if r['single'] else r['unfit']} | {r['omega'][0]:.1e} | {r['omega'][1]:.1e} | "
               f"{r['iterations']} | {r['bytes']:.2f} | {r['peak']:.2f} | {r['ms']:.1f} | "
               f"{r['factorize']:.2f} | {r['solve']:.2f} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*")
    parser.add_argument("--command", default=str(ROOT / "build/metapack"))
    parser.add_argument("--most", type=float, default=20)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows, failed = [], {}
    for name, arguments in matrices(asked.only):
        found = measure(asked.command, arguments, asked.most)
        if isinstance(found, str):
            failed[name] = found
        else:
            rows.append(row_of(name, *found))
        print(f"{name}: {found}" if name in failed else list(table(rows))[-1], flush=True)
    text = "\n".join([*summary(rows, failed), "", *table(rows), ""])
    print(text)
    if asked.write:
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n{text}")


if __name__ == "__main__":
    main()
