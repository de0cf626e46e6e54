#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solve every matrix of a catalogue with the command and judge each answer independently of the library.

    run.py --command build/metapack [--judge build/judge] [--nullity build/nullity] [--threads 2] [--bits 1,3,4,8,16] [--only PATTERN]
           [--beside cuda [--trees build/trees]] [--jobs 4] FOLDER

FOLDER has a table in README.md or CATALOG.md with the columns `file`, `n`, `inertia` and perhaps `status`.
An inertia is positive/negative/zero and its source: `e` dense eigenvalues, `m` another solver with null-pivot
detection, `h` by hand, `?` unknown. The residual is computed here, row by row with correctly rounded sums, from the file
and the x that the command wrote: nothing of the library takes part. With --judge (tests/matrices/judge.c) that is
done in quadruple precision, and the error that the command reports must be within a factor of 2 of it. With --nullity
(tests/matrices/nullity.c) singular matrices and certified inertias are compared with the exact rank: a certified inertia of a singular
matrix fails, and so do fewer zeros than the kernel has dimensions for those that EXACT names; the others are told. With --bits each
number of threads must give the same file x. With --beside the direct method runs on that device and on the processor:
status, certified inertia and the error reached must agree, and the device's answer is judged as above; other differences
(columns delayed beyond a tenth; signs of what rounding alone decides) are marked ~ and counted. A device has an order of its own
and merges fronts as it likes: with --trees (tests/matrices/trees.c) the processor eliminates in the device's tree, too, and its
columns there are those to compare with; without, those in the device's order are, if not those in each its own.

An answer fails if it is called good ("ok") and its componentwise backward error exceeds 1e-14; if the
inertia contradicts an oracle; if the exit code and the status differ; if a regular matrix is called singular;
if the command crashes or exceeds its time."""
import argparse, collections, concurrent.futures, fnmatch, gzip, json, lzma, math, os, re, shutil, subprocess, sys, tempfile, time

BOUND = 1e-14
FLOOR = 1e-16  # of errors that are compared with those reported: less is a rounding or two
DELAYED = 0.1  # part by which another device may delay more or fewer columns; two columns are nothing
EXIT = {"ok": 0, "singular": 3, "inaccurate": 5}
# Numerically singular although another solver's pivots did not show it: the catalogue says so.
NO_ORACLE = re.compile(r"nullity \d+|num\. rank")
# Columns that add up to nothing, where no catalogue says so: translations of a flow without walls. Looked at by in_kernel().
KERNEL = {"stokes_regularized": (range(0, 4225), range(4225, 8450))}


# Zeros are as many as the kernel has dimensions: rounding is told from pivots there.
EXACT = re.compile(r"qap10_it11|air05_it08|ken_11|degen3|Erdos971|can_187|lp_kkt/afiro|singular/laser|bcspwr10|bcsstm13|gouldqp2")
DENSE, LARGE = "700", 20000  # rows of a dense rest, and of all, up to which an exact rank is worth its time in a test


def catalogue(folder):
    """Yield one dict for each row of the table that names a matrix."""
    path = next(p for p in ("CATALOG.md", "README.md") if os.path.exists(os.path.join(folder, p)))
    header = None
    for line in open(os.path.join(folder, path), encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("| file"):
            header = cells
        elif header and line.startswith("|") and not line.startswith("|--") and len(cells) == len(header):
            row = dict(zip(header, cells))
            name = row["file"].split()[0].strip("`")
            if os.path.exists(os.path.join(folder, name)):
                row["path"], row["name"] = os.path.join(folder, name), name
                yield row


def tokens(path):
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rt", encoding="latin-1") as file:
        head = file.readline().lower().split()
        rest = (line for line in file if line.strip() and not line.startswith("%"))
        return head, [int(t) for t in next(rest).split()], "".join(rest)


def number(words, k, field):
    if field == "complex":
        return complex(float(words[k]), float(words[k + 1]))
    return 1.0 if field == "pattern" else float(words[k])


def load_matrix(path):
    """rows[i] = [(j, a), ...] of the whole matrix from Matrix Market; None for any other format."""
    if not re.search(r"\.mtx(\.xz|\.gz)?$", path):
        return None
    (_, _, form, field, kind), size, text = tokens(path)
    n, words = size[0], text.split()
    width = {"pattern": 0, "complex": 2}.get(field, 1)
    rows = [[] for _ in range(n)]
    if form == "coordinate":
        entries = ((int(words[k]) - 1, int(words[k + 1]) - 1, number(words, k + 2, field))
                   for k in range(0, (2 + width) * size[2], 2 + width))
    else:
        places = [(i, j) for j in range(n) for i in range(0 if kind == "general" else j, n)]
        entries = ((i, j, number(words, width * k, field)) for k, (i, j) in enumerate(places))
    for i, j, a in entries:
        rows[i].append((j, a))
        if i != j and kind != "general":
            rows[j].append((i, a.conjugate() if kind == "hermitian" else a))
    return rows


def load_vector(path):
    """The entries of a Matrix Market array, as floats or complex numbers."""
    (_, _, _, field, _), size, text = tokens(path)
    words, width = text.split(), 2 if field == "complex" else 1
    return [number(words, width * k, field) for k in range(size[0] * size[1])]


def total(terms):
    """Correctly rounded sum of floats or complex numbers."""
    terms = list(terms)
    if any(isinstance(t, complex) for t in terms):
        return complex(math.fsum(complex(t).real for t in terms), math.fsum(complex(t).imag for t in terms))
    return math.fsum(terms)


def backward_error(rows, x, b):
    """omega_1 + omega_2 of Arioli, Demmel & Duff 1989 (eq. 2.13)."""
    x_norm = max(map(abs, x), default=0.0)
    omega = [0.0, 0.0]
    for row, bi in zip(rows, b):
        products = [a * x[j] for j, a in row]
        r = abs(total([bi] + [-p for p in products]))
        ax = math.fsum(map(abs, products))
        row_norm = math.fsum(abs(a) for _, a in row)
        small = 1000 * len(rows) * 2.2e-16 * (row_norm * x_norm + abs(bi))
        kind, w = (0, ax + abs(bi)) if ax + abs(bi) > small else (1, ax + row_norm * x_norm)
        if r != 0:
            omega[kind] = max(omega[kind], r / w if w > 0 else math.inf)
        if not math.isfinite(r):
            return math.inf
    return omega[0] + omega[1]


def plain_file(path, folder):
    """The path of the same text, uncompressed, at most one of them in the folder."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1])
    if not opener:
        return path
    copy = os.path.join(folder, "plain.mtx")
    with opener(path, "rb") as source, open(copy, "wb") as sink:
        shutil.copyfileobj(source, sink)
    return copy


def judge(options, matrix, b_path, x_path, work):
    """The componentwise backward error in quadruple precision."""
    if not b_path.endswith(".mtx"):
        folder = os.path.join(work, "side")
        os.makedirs(folder, exist_ok=True)
        b_path = plain_file(b_path, folder)
    done = subprocess.run([options.judge, matrix, b_path, x_path], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[0])


def in_kernel(row):
    """Do all sets of columns that KERNEL names for this matrix add up to zero, to the rounding of the entries of each row?"""
    sets = next((s for name, s in KERNEL.items() if name in row["name"]), ())
    rows = load_matrix(row["path"]) if sets else []
    return bool(sets) and all(
        abs(math.fsum(a for j, a in r if j in s)) <= 2.3e-16 * math.fsum(abs(a) for j, a in r if j in s) * len(r)
        for s in sets for r in rows)


def judge_inertia(row, inertia, n):
    """Return (verdict, text): verdict "", "~" (differs, but no oracle) or "FAIL"."""
    got = [inertia[k] for k in ("positive", "negative", "zero")]
    text = "/".join(map(str, got))
    if sum(got) != n:
        return "FAIL", f"{text}: does not sum to {n}"
    match = re.match(r"(\d+)/(\d+)/(\d+)\s*([emh])", row.get("inertia", ""))
    if not match:
        return "", text
    want, source = [int(g) for g in match.groups()[:3]], match[4]
    # With zeros, signs of tiny eigenvalues are free: each count may move by the number of zeros.
    inside = all(w <= g <= w + want[2] for w, g in zip(want[:2], got[:2])) and got[2] <= want[2]
    if inside:
        return "", text
    oracle = source in "eh" or (want[2] == 0 and not NO_ORACLE.search(row.get("what it is", "")) and not in_kernel(row))
    return ("FAIL" if oracle else "~"), f"{text}: {source} {'/'.join(map(str, want))}"


def examined(options, path, device="cpu"):
    """The inertia with its certificate, which a solve does not ask for."""
    done = subprocess.run([options.command, "inertia", path, "--json", "--threads", str(options.threads), "--device", device],
                          capture_output=True, text=True, timeout=options.timeout)
    return (json.loads(done.stdout).get("inertia") or {}) if done.stdout.strip() else {}


def exact(options, report, matrix, row, cells):
    """Compare zeros and certificates with the exact nullity; returns what is wrong."""
    inertia = report.get("inertia") or {}
    if int(row["n"]) > LARGE or not inertia:
        return []
    if report["status"] != "singular":
        inertia = examined(options, matrix)
        if not inertia.get("certified"):
            return []
    done = subprocess.run([options.nullity, matrix, DENSE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode or not done.stdout.strip().isdigit():  # complex, or too large
        return []
    nullity, zeros = int(done.stdout), inertia.get("zero", 0)
    if inertia.get("certified") and nullity:
        return [f"certified, and {nullity} dimensions of a kernel"]
    if zeros == nullity:
        return []
    cells["notes"] = f"{zeros} zeros, exactly {nullity}"
    return [cells["notes"]] if EXACT.search(row["name"]) else []


def solve(row, options, work):
    """Run the command on one matrix; return the table's cells and the list of failures."""
    stem = row["path"].replace(".mtx", "_b.mtx")
    b_path = stem if stem != row["path"] and os.path.exists(stem) else None
    judged = options.judge and re.search(r"\.mtx(\.xz|\.gz)?$", row["path"])
    matrix = plain_file(row["path"], work) if judged else row["path"]
    if judged and not b_path:  # A 1, rounded once: the library's own sum is another right-hand side
        b_path = os.path.join(work, "b.mtx")
        with open(b_path, "w") as sink:
            subprocess.run([options.judge, matrix], stdout=sink, check=True)
    x_path = os.path.join(work, "x.mtx")
    if os.path.exists(x_path):
        os.remove(x_path)
    command = [options.command, "solve", row["path"], "--json", "-o", x_path, "--threads", str(options.threads)]
    command += ["-b", b_path] if b_path else []
    if options.beside:
        command += ["--method", "ldlt", "--device", options.beside]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {"status": "timeout"}, [f"not done in {options.timeout} s"]
    cells = {"wall": f"{time.monotonic() - start:.2f}"}
    try:
        report = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return dict(cells, status=f"exit {done.returncode}"), [f"no JSON; {last[:120]}"]
    wrong = []
    status = report["status"]
    cells["status"] = status
    if EXIT.get(status) != done.returncode:
        wrong.append(f"status {status} with exit code {done.returncode}")
    if int(row["n"]) != report["n"]:
        wrong.append(f"n = {report['n']}")
    if row.get("status") and status != row["status"]:
        wrong.append(f"status {status}, expected {row['status']}")
    if status == "singular" and re.match(r"\d+/\d+/0 [eh]", row.get("inertia", "")):
        wrong.append("a regular matrix is called singular")
    if report.get("inertia") and row.get("inertia", "?") != "":
        verdict, cells["inertia"] = judge_inertia(row, report["inertia"], report["n"])
        if verdict == "FAIL":
            wrong.append("inertia")
        cells["inertia"] += " ~" if verdict == "~" else ""
    error = report.get("backward_error") or {}
    cells["said"] = f"{error['componentwise']:.1e}" if error.get("componentwise") is not None else "-"
    cells["steps"] = str(report.get("iterations", "-"))
    rows = None if judged else load_matrix(row["path"])
    if (judged or rows is not None) and os.path.exists(x_path):
        x = load_vector(x_path)
        if not judged:
            b = load_vector(b_path) if b_path else [total(a for _, a in r) for r in rows]
        if len(x) != report["n"]:
            wrong.append("x has the wrong length")
        else:
            true = judge(options, matrix, b_path, x_path, work) if judged else backward_error(rows, x, b)
            cells["true"] = f"{true:.1e}"
            said = error.get("componentwise")
            if judged and said is not None and not max(said, true, FLOOR) <= 2 * max(min(said, true), FLOOR):
                wrong.append(f"error reported {said}, true {true:.2e}")
            if status == "ok" and not true <= BOUND:
                wrong.append(f"called good, backward error {true:.1e}")
    elif status == "ok" and not os.path.exists(x_path):
        wrong.append("no solution was written")
    if options.nullity and judged:
        wrong += exact(options, report, matrix, row, cells)
    if options.beside:
        wrong += differences(report, command, options, cells)
    for threads in options.bits if os.path.exists(x_path) else []:
        with open(x_path, "rb") as file:
            bits = file.read()
        command[command.index("--threads") + 1] = threads
        subprocess.run(command, capture_output=True, timeout=options.timeout)
        with open(x_path, "rb") as file:
            if file.read() != bits:
                wrong.append(f"other bits with {threads} threads")
    return cells, wrong


def in_one_tree(path, options):
    """What the device and the processor make of one tree, the device's."""
    done = subprocess.run([options.trees, f"device={options.beside}", f"threads={options.threads}", path],
                          capture_output=True, text=True, timeout=options.timeout)
    return json.loads(done.stdout) if done.returncode == 0 else None


def differences(report, command, options, cells):
    """What the processor says of the same matrix, where it says otherwise."""
    here = list(command)
    here[here.index("--device") + 1] = "cpu"
    del here[here.index("-o"):here.index("-o") + 2]
    cpu = json.loads(subprocess.run(here, capture_output=True, text=True, timeout=options.timeout).stdout)
    wrong = [] if report["backend"].startswith("cuda") else [f"ran on {report['backend']}"]
    if report["status"] != cpu["status"]:
        wrong.append(f"status {report['status']}, on the processor {cpu['status']}")
    inertias = [r.get("inertia") or {} for r in (report, cpu)]
    if inertias[0] != inertias[1]:
        text = "inertia, on the processor " + "/".join(str(v) for v in inertias[1].values())
        places = ((options.beside, inertias[0]), ("cpu", inertias[1]))
        if any(i.get("zero") == 0 and examined(options, command[2], place).get("certified") for place, i in places):
            wrong.append(text)
        cells["notes"] = text
    there, mine = ((r.get("factor") or {}).get("rejected", 0) for r in (report, cpu))
    cells["delayed"] = f"{there}/{mine}"
    same = in_one_tree(command[2], options) if options.trees else None
    if options.trees and not same:
        wrong.append("not factorized in one tree")
    elif same:
        there, mine = same["device"]["rejected"], same["processor"]["rejected"]
        cells["delayed"] = f"{there}/{mine} ({cells['delayed'].split('/')[1]})"
        both = [same[place]["inertia"] for place in ("device", "processor")]
        if any(i["certified"] for i in both) and both[0] != both[1]:
            wrong.append("in one tree inertia {} and {}".format(*("/".join(map(str, i.values())) for i in both)))
    elif abs(there - mine) > max(2, DELAYED * mine) and report.get("ordering"):
        same = json.loads(subprocess.run(here + ["--ordering", report["ordering"]], capture_output=True, text=True,
                                         timeout=options.timeout).stdout)
        mine = (same.get("factor") or {}).get("rejected", 0)
        cells["delayed"] = f"{there}/{mine} in its order"
    if abs(there - mine) > max(2, DELAYED * mine):
        cells["notes"] = ", ".join(filter(None, (cells.get("notes"), "delayed")))
    omega, other = ((r.get("backward_error") or {}).get("componentwise") for r in (report, cpu))
    if cpu["status"] == "ok" and other is not None and other <= BOUND and not (omega is not None and omega <= BOUND):
        wrong.append(f"error {omega}, on the processor {other}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--command", required=True)
    parser.add_argument("--judge", help="the program of tests/matrices/judge.c")
    parser.add_argument("--nullity", help="the program of tests/matrices/nullity.c")
    parser.add_argument("--trees", help="with --beside: the program of tests/matrices/trees.c")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bits", default=[], type=lambda text: text.split(","), help="numbers of threads")
    parser.add_argument("--beside", metavar="DEVICE", help="run there, and compare with the processor")
    parser.add_argument("--jobs", type=int, default=1, help="matrices at a time")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--only", default="*")
    parser.add_argument("--every", type=int, default=1, help="one matrix of so many")
    options = parser.parse_args()
    columns = [("name", 38), ("n", 7), ("status", 11), ("said", 8), ("true", 8), ("steps", 5), ("wall", 6), ("inertia", 30)]
    columns += [("delayed", 20)] if options.beside else []
    print("  ".join(f"{c:<{w}}" for c, w in columns))
    failed = count = 0
    said, noted = collections.Counter(), collections.Counter()

    def one(row):
        with tempfile.TemporaryDirectory() as work:
            return row, *solve(row, options, work)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for row in catalogue(options.folder) if fnmatch.fnmatch(row["name"], options.only)][::options.every]
        for row, cells, wrong in pool.map(one, rows):
            cells.update(name=row["name"], n=row["n"])
            count += 1
            failed += bool(wrong)
            said[cells.get("status", "-")] += 1
            print("  ".join(f"{cells.get(c, '-'):<{w}}" for c, w in columns).rstrip()
                  + (f"  ~ {cells['notes']}" if "notes" in cells else "")
                  + (f"  <- FAIL: {'; '.join(wrong)}" if wrong else ""), flush=True)
            for note in ("inertia", "delayed"):
                noted[note] += note in cells.get("notes", "")
    print(", ".join(f"{n} {status}" for status, n in sorted(said.items())))
    if options.beside:
        print(f"~ {noted['inertia']} with other signs or zeros, none certified; {noted['delayed']} with more or fewer columns "
              f"delayed than {DELAYED:.0%}")
    print(f"{count - failed} of {count} right" + ("" if count else ": the catalogue names no file that is there"))
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
