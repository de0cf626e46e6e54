#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solvers that `metapack synthesize` writes, on every matrix of some folders: are their answers and inertias to be trusted?

    bench/synthesize.py [FOLDER ...] [--build build] [--rows 20000] [--least 0] [--limit 600] [--only WORDS]
                        [--jobs 1] [--budget SECONDS] [--report FILE]

FOLDERs have Matrix Market files, .mtx or .mtx.xz (data/ if none is named). Each solver is compiled, and solves A x = A 1. Where it
says that the inertia is certain, this is compared with what `metapack inertia` certifies. The exit code is 1 if one that is certain
is wrong, or if a complete factorization with outer pivoting tells of no replaced pivot and has no answer: without it a pivot may be
small, and stay."""
import argparse, concurrent.futures, json, lzma, os, re, resource, signal, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOLVERS = [
    ("the defaults", []),
    ("reverse Cuthill-McKee", ["--ordering", "rcm"]),
    ("nested dissection", ["--ordering", "nd"]),
    ("no matching", ["--matching", "off"]),
    ("outer pivoting alone", ["--pivoting", "outer"]),
    ("the same for hls", ["--pivoting", "outer", "--target", "hls", "--block", "4"]),
    ("inner pivoting alone", ["--pivoting", "inner"]),
    ("no pivoting", ["--pivoting", "none", "--matching", "off"]),
    ("level 1, sqmr", ["--fill", "level:1"]),
    ("level 1, gmres", ["--fill", "level:1", "--krylov", "gmres"]),
    ("llt", ["--type", "llt"]),
    ("ldu", ["--type", "ldu"]),
]


def matrices(folders, least, rows, where):
    """(n, name, plain file) of every real symmetric matrix of so many rows, by rows."""
    found = {}
    for folder in folders:
        for path, _, files in os.walk(folder):
            for name in files:
                base = re.sub(r"\.mtx(\.xz)?$", "", name)
                if base == name or base.endswith("_b"):
                    continue
                full = os.path.join(path, name)
                text = (lzma.open(full, "rt") if name.endswith("xz") else open(full)).read()
                head = re.match(r"%%MatrixMarket matrix coordinate (real|integer) symmetric", text)
                size = re.search(r"^\s*(\d+) +(\d+) +(\d+)", re.sub(r"^%.*\n", "", text, flags=re.M))
                if not head or not least <= int(size[1]) < rows:
                    continue
                base = os.path.basename(path) + "/" + base
                if base in found:
                    continue
                plain = os.path.join(where, base.replace("/", "-") + ".mtx")
                open(plain, "w").write(text)
                found[base] = (int(size[1]), base, plain)
    return sorted(found.values())


def truth(options, file):
    """(positive, negative), certified by the library; None."""
    out = subprocess.run([options.metapack, "inertia", file, "--json", "-q"], capture_output=True, text=True).stdout
    got = json.loads(out).get("inertia", {}) if out else {}
    return (got["positive"], got["negative"]) if got.get("certified") and not got["zero"] else None


def solve(program, file, limit):
    began = time.time()
    r = subprocess.run([program, file], capture_output=True, text=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit))))
    if r.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"code": "time", "time": limit, "certain": False}
    inertia = re.search(r"inertia (\d+) (\d+) \d+ \((.*)\)", r.stderr)
    replaced = re.search(r"(\d+) pivots replaced", r.stderr)
    error = re.search(r"backward error (\S+)", r.stderr)
    return {"code": r.returncode, "time": time.time() - began, "said": r.stderr.strip(),
            "certain": bool(inertia) and inertia[3] == "certain",
            "inertia": (int(inertia[1]), int(inertia[2])) if inertia else None,
            "replaced": int(replaced[1]) if replaced else None, "error": float(error[1]) if error else None}


def within(options, begun, program, file):
    """solve(), if there is time; else None."""
    return solve(program, file, options.limit) if time.monotonic() - begun < options.budget else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", default=[os.path.join(ROOT, "data")])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--limit", type=float, default=600, help="seconds of a processor for a solve")
    parser.add_argument("--only", help="solvers whose name has these words; several: a|b")
    parser.add_argument("--jobs", type=int, default=1, help="solves at a time")
    parser.add_argument("--budget", type=float, default=float("inf"), help="no solve begins after so many seconds: not run")
    parser.add_argument("--report")
    options = parser.parse_args()
    options.metapack = os.path.join(options.build, "metapack")
    begun = time.monotonic()
    lines = ["| solver | matrices | answers | no answer, said so | no L Lᵀ | out of time | certain | of these wrong | worst error of an answer |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    bad = 0
    with tempfile.TemporaryDirectory() as where:
        rows = matrices(options.folders, options.least, options.rows, where)
        known = {file: pool.submit(truth, options, file) for _, _, file in rows}
        work = []
        for number, (name, words) in enumerate(SOLVERS):
            if options.only and not any(word in name for word in options.only.split("|")):
                continue
            folder = os.path.join(where, str(number))
            subprocess.run([options.metapack, "synthesize", "-q", "-o", folder, *words], check=True)
            subprocess.run(["make", "-s", "-C", folder], check=True)
            work.append((name, words, [pool.submit(within, options, begun, os.path.join(folder, "solve"), file) for _, _, file in rows]))
        for name, words, answers in work:
            options_of = dict(zip(words[::2], words[1::2]))
            pivoting = options_of.get("--pivoting", "none" if options_of.get("--type") == "llt" else "both")
            safe = "--fill" not in options_of and pivoting in ("outer", "both")
            count = dict.fromkeys(["all", "good", "none", "no", "time", "certain", "wrong"], 0)
            worst = 0
            for (n, matrix, file), answer in zip(rows, answers):
                got, sure = answer.result(), known[file].result()
                if got is None:
                    print(f"{name}: {matrix} was not run", flush=True)
                    continue
                wrong = got["certain"] and sure is not None and got["inertia"] != sure
                silent = safe and got["code"] == 5 and got.get("replaced") == 0
                count["all"] += 1
                count["good"] += got["code"] == 0
                count["none"] += got["code"] == 5 and got["error"] is not None
                count["no"] += got["code"] == 5 and got["error"] is None
                count["time"] += got["code"] == "time"
                count["certain"] += got["certain"]
                count["wrong"] += wrong
                if got["code"] == 0:
                    worst = max(worst, got["error"])
                if wrong or got["code"] != 0:
                    print(f"{name}: {matrix}, {n} rows, {got['time']:.1f} s, exit {got['code']}, the library {sure}: "
                          + got.get("said", "").replace("\n", "; "), flush=True)
                known_exit = got["code"] in (0, 5, "time")
                bad += bool(wrong) + (not known_exit) + silent
            lines.append(f"| {name} `{' '.join(words)}` | {count['all']} | {count['good']} | {count['none']} | {count['no']} | "
                         f"{count['time']} | {count['certain']} | {count['wrong']} | {worst:.1g} |")
            print(lines[-1], flush=True)
    if options.report:
        text = open(options.report, encoding="utf-8").read()
        head = text[:text.index("| solver |")]
        tail = text[text.index("\n\n", text.index("| solver |")):] if "\n\n" in text[text.index("| solver |"):] else "\n"
        open(options.report, "w", encoding="utf-8").write(head + "\n".join(lines) + tail)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
