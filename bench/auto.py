#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`--method auto --no-direct --krylov sqmr --tolerance 1e-6` on every indefinite matrix of at least 1000 rows.

    bench/auto.py [MATRICES] [--build build] [--only PATTERN] [--report bench/results/incomplete.md]

Matrices: those of MATRICES/CATALOG.md that are indefinite and not counted as singular there; without that file, all in
the folder whose direct factorization finds both signs and no zero pivot. Beside it the direct solver's memory. Writes
its section of the report; rows go to BUILD/bench/auto.jsonl."""
import fnmatch, glob, os, re

from incomplete import (arguments, converged, find, iterations, keep, megabytes, show, solve, write_section)

# SYM-ILDL (fill 4 and 8, drop 1e-3, at most 500 iterations) on problems that the generators make.
PEER = [("generate nlpkkt 20", "no"), ("generate nlpkkt 30", "no"), ("generate helmholtz 3d 50", "no"),
        ("generate helmholtz 2d 700", "no"), ("generate lp-kkt 4000 8000 coupling=random", "no"),
        ("generate lp-kkt 30000 60000 coupling=local", "no"), ("generate stokes mac 183", "67 iterations, 2.9 s")]
LEAST_ROWS, MUCH, FLOOR = 1000, 4, 20e6


def catalogue(options):
    """Yield (name, why it is left out or None)."""
    path = os.path.join(options.matrices, "CATALOG.md")
    if not os.path.exists(path):
        for file in sorted(glob.glob(os.path.join(options.matrices, "*/*.mtx*"))):
            if "_b.mtx" not in file and "/tiny/" not in file:
                yield os.path.relpath(file, options.matrices).split(".mtx")[0], None
        return
    for line in open(path, encoding="utf-8"):
        cells = [c.strip() for c in line.split("|")]
        if len(cells) < 12 or ".mtx" not in cells[1] or not cells[2].isdigit():
            continue
        name, n, kind, inertia, what = cells[1].split(".mtx")[0], int(cells[2]), cells[4], cells[5], line
        if n < LEAST_ROWS or not kind.startswith("yes"):
            continue
        zero = re.match(r"\d+/\d+/(\d+)", inertia)
        singular = name.startswith("singular/") or "nullity" in what or (zero and int(zero[1]) > 0)
        yield name, "singular" if singular else None


def run(options, source, limit):
    auto = solve(options, source, ["--method", "auto", "--no-direct", "--krylov", "sqmr", "--tolerance", "1e-6"], limit)
    direct = solve(options, source, ["--method", "ldlt"], limit)
    return auto, direct


def line(name, auto, direct, matrix, more=""):
    tries = auto.get("attempts", [])
    b = auto.get("blocks", {})
    chosen = f"level {b['level'] if b['level'] >= 0 else '∞'}, fill {b['fill_factor']:g}, τ {b['drop_tolerance']:.0e}" if b else ""
    ratio = direct["peak"] / matrix if direct.get("peak") and matrix else None
    less = auto["peak"] / direct["peak"] if auto.get("peak") and direct.get("peak") else None
    told = "yes" if converged(auto) else auto["failed"][:40] if "failed" in auto else "**no**"
    return (f"| {name} | {auto.get('n', '')} | {auto.get('nnz', '')} | {told} | {iterations(auto) or ''} | {len(tries) or ''} | "
            f"{show(auto.get('relative_residual'), '.0e')} | {chosen} | {show(auto.get('wall_s'), '.2f')} | "
            f"{show(direct.get('wall_s'), '.2f')} | {megabytes(auto.get('peak'))} | {megabytes(direct.get('peak'))} | "
            f"{show(ratio, '.1f')} | {show(less, '.2f')} | {megabytes(auto.get('rss'))} | {megabytes(direct.get('rss'))} |{more}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--timeout", type=float, default=40, help="seconds for one run")
    options = parser.parse_args()
    rows, lines, left, much, none = [], [], [], [], []
    for name, why in catalogue(options):
        source = find(options, name)
        if not source or not fnmatch.fnmatch(name, options.only):
            continue
        if why:
            left.append(name)
            continue
        auto, direct = run(options, source, options.timeout)
        inertia = direct.get("inertia", {})
        if inertia and (min(inertia["positive"], inertia["negative"]) == 0 or auto.get("n", LEAST_ROWS) < LEAST_ROWS):
            continue  # without the catalogue: definite or small
        matrix = 12 * auto["nnz"] + 8 * auto["n"] if "nnz" in auto else (
            12 * direct["nnz"] + 8 * direct["n"] if "nnz" in direct else None)
        rows.append({"matrix": name, "converged": converged(auto), "bytes": matrix, "auto": auto, "direct": direct})
        lines.append(line(name, auto, direct, matrix))
        print(lines[-1], flush=True)
        if not converged(auto):
            none.append(name)
        if matrix and direct.get("peak") and direct["peak"] > MUCH * matrix:
            much.append((name, auto["peak"] / direct["peak"] if auto.get("peak") else float("inf")))
    peers = []
    for name, said in PEER:
        if fnmatch.fnmatch(name, options.only):
            auto, direct = run(options, find(options, name), options.timeout)
            rows.append({"matrix": name, "peer": said, "converged": converged(auto), "auto": auto, "direct": direct})
            matrix = 12 * auto["nnz"] + 8 * auto["n"] if "nnz" in auto else None
            peers.append(line(name.replace("generate ", ""), auto, direct, matrix, f" {said} |"))
            print(peers[-1], flush=True)
    keep(options, "auto", rows)
    good = len(lines) - len(none)
    both = [(r["auto"]["rss"], r["direct"]["rss"]) for r in rows if "peer" not in r and
            r["auto"].get("rss") and r["direct"].get("rss", 0) > FLOOR]
    heavier = f"that of auto is the smaller one on {sum(a < d for a, d in both)} of the {len(both)} with more than 20 MB"
    worse = [f"{name} ({ratio:.2f})" for name, ratio in much if not ratio < 1]
    head = ("| matrix | n | nnz | converged | iterations | attempts | true residual | chosen | s | direct s | peak MB | "
            "direct MB | direct / matrix | auto / direct | process MB | direct |")
    rule = "|---|---:|---:|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    write_section(options, "auto", "`--method auto --no-direct` on every matrix", [
        f"`--method auto --no-direct --krylov sqmr --tolerance 1e-6`: **{good} of {len(lines)}** indefinite matrices with n ≥ "
        f"{LEAST_ROWS} reach a true relative residual of 1e-6 ({100 * good / max(len(lines), 1):.0f} %)."
        + (" Not: " + ", ".join(none) + "." if none else ""), "",
        f"MB: peak in the library's own count from the start of the last factorization to the end of the run, for both methods; "
        f"*process*: the largest resident set of the whole command, reading, analysis and failed attempts included ({heavier}; "
        f"never less than the 17 MB of the Python that starts it). "
        f"The matrix has 12 bytes for each entry of the lower triangle and 8 n. Where the direct solver takes more than {MUCH} times that ({len(much)} matrices), "
        f"{len(much) - len(worse)} times the incomplete factorization takes less"
        + ("; not on: " + ", ".join(worse) if worse else "") + ". Seconds are those of the whole command, reading included.", "",
        head, rule, *lines, "",
        "Left out, as singular: " + (", ".join(left) or "none") + ".", "",
        "Beside SYM-ILDL (fill 4 and 8, drop tolerance 1e-3, at most 500 iterations; measured earlier on two cores of an EPYC "
        "Zen 4), on generated problems. The residual that it reports is that of another vector: 7.9e-7 said, 2.2e-3 true on one "
        "of them.", "", head + " SYM-ILDL converged |", rule + "---|", *peers])


if __name__ == "__main__":
    main()
