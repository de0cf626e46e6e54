#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a Schur complement costs beside a factorization of the whole matrix, and write a table.

    bench/schur.py [--build build] [--only PATTERN] [--seconds 0.3] [--report bench/results/schur.md]

Matrices: data/, or the folder METAPACK_MATRICES (or ../shared/matrices) where it exists, and generated ones; real
symmetric ones alone. On each, 10, 100 and 1000 outer variables: the last ones, random ones, and the top of the tree of
the whole factorization. One process for each (bench/schur.c: make bench_schur), which takes the least of several times
on one thread, METAPACK and MUMPS in turn. Rows go to BUILD/bench/schur.jsonl as they come; a run that was broken off
goes on from there, --fresh begins anew."""
import argparse, datetime, fnmatch, glob, json, os, platform, statistics, subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
GENERATED = ["nlpkkt 12", "nlpkkt 20", "helmholtz 2d 150", "helmholtz 3d 22", "stokes mac 60", "optimal-control 2000",
             "quasi-definite 90", "lp-kkt 3000 6000 coupling=local", "elements triangles 80"]
COUNTS, SETS = (10, 100, 1000), ("last", "random", "top")
GOAL = 1.1


def matrices():
    folders = [os.path.join(ROOT, "data")]
    more = os.environ.get("METAPACK_MATRICES") or os.path.join(ROOT, "../shared/matrices")
    if os.path.isdir(more):
        folders = [more]
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*/*.mtx*"))):
            name = os.path.relpath(path, folder)
            if "_b.mtx" not in name and not name.startswith("tiny/"):
                yield name.split(".mtx")[0], path
    for spec in GENERATED:
        yield spec, spec


def run(program, path, k, which, seconds, timeout):
    try:
        done = subprocess.run([program, path, str(k), which, str(seconds)], capture_output=True, text=True,
                              timeout=timeout, env=dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"))
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {timeout:.0f} s"}
    line = done.stdout.strip()
    if line.startswith("failed="):
        return {"failed": line[len("failed="):]}
    if done.returncode or not line:
        return {"failed": f"exit {done.returncode} {done.stderr.strip()[-80:]}"}
    return {key: float(value) for key, value in (word.split("=") for word in line.split())}


def gives_up(row):
    """Is there no use in more outer variables?"""
    return "small" in row.get("failed", "") or "more than" in row.get("failed", "")


def measure(options):
    path = os.path.join(options.build, "bench", "schur.jsonl")
    rows = []
    if os.path.exists(path) and not options.fresh:
        rows = [json.loads(line) for line in open(path, encoding="utf-8")]
    known = {(r["name"], r["k"], r["which"]) for r in rows}
    given_up = {(r["name"], r["k"]) for r in rows if gives_up(r)}
    with open(path, "w" if options.fresh else "a", encoding="utf-8") as out:
        every = list(matrices())
        for name, argument in every[0::3] + every[1::3] + every[2::3]:  # a run that is broken off has some of all
            if not fnmatch.fnmatch(name, options.only):
                continue
            for k in COUNTS:
                broken = (name, k) in given_up
                for which in SETS:
                    if (name, k, which) in known or broken:
                        continue
                    row = run(os.path.join(options.build, "bench", "schur"), argument, k, which, options.seconds,
                              options.timeout)
                    broken = gives_up(row)
                    row.update(name=name, k=k, which=which)
                    rows.append(row)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    print(name, k, which, row.get("failed") or f"{row['schur'] / row['plain']:.2f}", flush=True)
                if broken:
                    break
    return rows


def quantiles(values):
    values = sorted(values)
    at = [values[min(len(values) - 1, int(q * len(values)))] for q in (0.25, 0.5, 0.75)]
    return at + [values[-1]]


def ratio(row):
    return (row["schur"] + row["get"]) / row["plain"]


def kept(row):
    return row["schur"] / row["plain"]


def exists(row):
    return "failed" not in row and row["get"] != float("inf")


def report(rows, options):
    good = [r for r in rows if exists(r)]
    none = [r for r in rows if "failed" not in r and not exists(r)]
    failed = [r for r in rows if "failed" in r and "small" not in r["failed"]]
    names = len({r["name"] for r in good})
    left = sum(fnmatch.fnmatch(n, options.only) for n, _ in matrices()) - len({r["name"] for r in rows})
    text = ["# The cost of a Schur complement", "",
            f"`bench/schur.py --seconds {options.seconds:g}`, {datetime.date.today()}, {platform.machine()}, one thread of a "
            f"machine that others use, too; {names} real symmetric matrices, {len(good)} cases"
            + (f"; the run was ended before {left} others." if left else "."),
            "Seconds are the least of several numeric factorizations with known pattern, in turn. *Ratio*: factorization of the "
            "interior, S kept in the factor, over that of the whole matrix by its own best order; *out*: S read out, too.", "",
            "*top* are outer variables that come last in a good order of the whole matrix, as interfaces do; *last* and *random* "
            "say nothing of the matrix.", ""]
    text += ["| outer variables | cases | quartile | median | quartile | worst | at most 1.1 | out, median | at most 1.1 |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for which in SETS:
        for k in COUNTS:
            part = [r for r in good if r["which"] == which and r["k"] == k]
            if part:
                shares = [100 * sum(f(r) <= GOAL for r in part) / len(part) for f in (kept, ratio)]
                text.append(f"| {which} {k} | {len(part)} | " + " | ".join(f"{v:.2f}" for v in quantiles([kept(r) for r in part]))
                            + f" | {shares[0]:.0f} % | {quantiles([ratio(r) for r in part])[1]:.2f} | {shares[1]:.0f} % |")
    large = [r for r in good if r["plain"] >= 0.01 and r["which"] == "top"]
    if large:
        text += ["", f"Of the {len(large)} cases *top* whose factorization takes 10 ms or more, {sum(ratio(r) <= GOAL for r in large)} are at most "
                 f"{GOAL} with S read out, the median {quantiles([ratio(r) for r in large])[1]:.2f}, the worst {max(map(ratio, large)):.2f}."]
    text += ["", "## The ten worst, and why", "",
             "Operations tell the most of it: outer variables are rows of every front below which they stand, and S becomes dense "
             "whatever it was. Of a structurally singular matrix the whole factorization leaves dependent rows out, that of an interior "
             "cannot, and delays them to the last node. Where the ratio is far above that of operations the interior is near singular, and "
             "verdicts on its rank cost solves. MUMPS's ratio for the same variables beside it.", "",
             "| matrix | n | outer | ratio | flops | whole, s | with S, s | columns delayed | with S | zero pivots | MUMPS |",
             "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for r in sorted(good, key=kept, reverse=True)[:10]:
        peer = f"{r['mumps_schur'] / r['mumps']:.2f}" if "mumps" in r else ""
        text.append(f"| {r['name']} | {r['n']:.0f} | {r['which']} {r['k']} | {kept(r):.2f} | "
                    f"{r['schur_flops'] / max(r['plain_flops'], 1):.2f} | {r['plain']:.2g} | {r['schur']:.2g} | "
                    f"{r['delayed']:.0f} | {r['schur_delayed']:.0f} | {r['zero']:.0f} | {peer} |")
    both = [r for r in good if "mumps" in r]
    if both:
        text += ["", "## Beside MUMPS", "", f"MUMPS 5.5.1 of Debian (ordering chosen by itself, no METIS), {len(both)} cases that it "
                 "did, too: its ratio, and its time over METAPACK's.", "",
                 "| outer variables | cases | its ratio, median | worst | factorization with S, its time / ours, median | least | most |",
                 "|---|---:|---:|---:|---:|---:|---:|"]
        for which in SETS:
            for k in COUNTS:
                part = [r for r in both if r["which"] == which and r["k"] == k]
                if part:
                    own = [r["mumps_schur"] / r["mumps"] for r in part]
                    over = [r["mumps_schur"] / (r["schur"] + r["get"]) for r in part]
                    text.append(f"| {which} {k} | {len(part)} | {statistics.median(own):.2f} | {max(own):.1f} | "
                                f"{statistics.median(over):.1f} | {min(over):.2f} | {max(over):.0f} |")
        apart = sorted(r["apart"] for r in both if r["zero"] == 0 and r["apart"] == r["apart"])
        text += ["", f"Of {len(apart)} interiors without zero pivots the two S are at most 1e-8 of their largest entry apart in "
                 f"{sum(a <= 1e-8 for a in apart)}; the others are interiors near singular (the catalogue's late iterates)."]
    over = [r["over"] / r["solve"] for r in good]
    q = quantiles(over)
    text += ["", "## Condense and expand", "", "One right-hand side condensed and expanded, over one unrefined solve with the factor "
             f"of the whole matrix: median {q[1]:.2f}, quartiles {q[0]:.2f} and {q[2]:.2f}, worst {q[3]:.2f}. A whole way by S goes down the tree "
             "twice: once to condense, once to expand."]
    if none:
        text += ["", f"In {len(none)} cases there is no S: the interior is singular, structurally or by its values, and the outer rows have "
                 "entries beside its kernel. Matrices whose zero block is cut by the outer variables are like that."]
    if failed:
        text += ["", f"{len(failed)} cases have no figure, and no larger ones of theirs were tried: "
                 + ", ".join(f"{r['name']} {r['which']} {r['k']} ({r['failed']})" for r in failed) + "."]
    with open(options.report, "w", encoding="utf-8") as f:
        f.write("\n".join(text) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--only", default="*")
    p.add_argument("--seconds", type=float, default=0.3)
    p.add_argument("--timeout", type=float, default=60)
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--report", default=os.path.join(ROOT, "bench/results/schur.md"))
    options = p.parse_args()
    report(measure(options), options)


if __name__ == "__main__":
    main()
