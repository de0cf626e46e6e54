# SPDX-License-Identifier: BSD-3-Clause
"""What bench/ildlt.py, bench/jacobi.py, bench/auto.py and bench/sweeps.py share: the command run once, rows kept, and a
section of bench/results/incomplete.md rewritten."""
import argparse, datetime, glob, json, math, os, platform, re, subprocess, sys, tempfile, threading, time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SECTIONS = ["points", "auto", "pairs", "table1", "fig3", "jacobi-fig3", "jacobi-table1", "jacobi-exact", "sweeps", "parilu", "parilu-rows", "settings", "preprocessed", "linear",
            "jacobi-linear", "trace", "refine", "tolerance", "tolerance-time", "butterfly"]
COLOURS = ["#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#0e7c86"]
HEAD = """# Incomplete factorizations on blocks

The experiments of Thuerck, Naumov, Garland & Goesele 2018 (block-iLDLᵀ) and of Thuerck 2019 and 2021, ch. 6 (Jacobi-LDLᵀ), made
anew, and `--method auto` on every matrix there is. Each section is written by the command that it names. Right-hand
side: A·1. Times are seconds of wall clock on a CPU; the papers' are those of a Titan V or Titan RTX and exclude the preprocessing.
"""


def arguments(description):
    """Parser with what all of them take."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("matrices", nargs="?", default=os.environ.get("METAPACK_MATRICES") or beside(),
                        help="folder of matrices; default METAPACK_MATRICES, else ../shared/matrices, else data/")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--only", default="*", help="matrices, by a shell pattern")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", default=os.path.join(ROOT, "bench/results/incomplete.md"))
    return parser


def beside():
    folder = os.path.join(ROOT, "../shared/matrices")
    return folder if os.path.isdir(folder) else os.path.join(ROOT, "data")


# Linear programs of the published tables: (row, the system that A is of). Three seeds of the random diagonal; as
# 2018's section V says, and its appendix: "4 rounds of geometric scaling". find() makes a system of it.
LINEAR = [("bab5", "lp_kkt/bab5_it05"), ("map06", "lp_kkt/map10_it00")]
ROUNDS, SEEDS = [0, 4], [1, 2, 3]


def find(options, name):
    """Arguments of the command for a matrix by name ("lp_kkt/bab5_it05", "lp-published lp_kkt/bab5_it05 scaling=0" or
    "generate SPEC"); None: we lack it."""
    if name.startswith("generate "):
        return ["--generate", name[len("generate "):]]
    if name.startswith("lp-published "):
        family, base, *more = name.split(" ")
        source = find(options, base)
        return source and ["--generate", " ".join([family, source[0], *more])]
    found = sorted(glob.glob(os.path.join(options.matrices, name + ".mtx*")))
    return [found[0]] if found else None


SIZES = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def solve(options, source, words, timeout=60):
    """Run `metapack solve`; its JSON, with `peak`: bytes in the library's count since the last factorization began, as
    the report has it, and `rss`: the process's largest resident set, all of it. A failure: `failed`."""
    command = [os.path.join(options.build, "metapack"), "solve", *source, *words, "--threads", str(options.threads),
               "--json"]
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        late = threading.Timer(timeout, process.kill)
        late.start()
        _, code, usage = os.wait4(process.pid, 0)  # tells its resident set, which subprocess.run() does not
        wall = time.monotonic() - start
        late.cancel()
        process.returncode = code
        out.seek(0), err.seek(0)
        text, told = out.read(), err.read()
    try:
        row = json.loads(text)
    except ValueError:
        return {"failed": f"> {timeout:.0f} s" if wall >= timeout else f"exit {code}: {told.strip()[-80:]}", "wall_s": wall}
    peak = re.search(r"of the run ([\d.]+) ([kKMG]?i?B)", told)
    row.update(wall_s=wall, cpu_s=usage.ru_utime, rss=usage.ru_maxrss * 1024, peak=float(peak[1]) * SIZES[peak[2]] if peak else None)
    if row["status"] not in ("ok", "not_converged", "inaccurate", "perturbed", "singular"):
        row["failed"] = row.get("message", row["status"])
    return row


def case(source, setting):
    """As bench/cuda/cases.h has it."""
    return ("generate " + source[1] if source[0] == "--generate" else source[0]) + " " + setting


def in_process(options, cases, threads, repeats, timeout, split=False):
    """Rows of bench/cuda/incomplete.c, by case; those that were not reached lack. With `split` also iterations as the
    code of 2018 counts them."""
    driver = [os.path.join(options.build, "bench/cuda-incomplete"), "-t", str(threads), "-r", str(repeats), "-s", str(int(split))]
    with tempfile.TemporaryFile("w+") as out:
        try:
            subprocess.run([*driver, *cases], stdout=out, timeout=timeout)
        except subprocess.TimeoutExpired:
            pass
        out.seek(0)
        rows = [json.loads(line) for line in out if line.startswith("{") and line.endswith("}\n")]
    return {row["case"]: row for row in rows}


def iterations(row):
    return row.get("krylov", {}).get("iterations")


def converged(row, tolerance=1e-6):
    """By the true residual alone."""
    residual = row.get("relative_residual")
    return "failed" not in row and residual is not None and residual <= tolerance * (1 + 1e-9)


def keep(options, name, rows):
    """Write the rows to BUILD/bench/NAME.jsonl."""
    folder = os.path.join(options.build, "bench")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_section(options, name, title, lines):
    """Replace one section of the report, between its marks; the others stay."""
    parts = {}
    if os.path.exists(options.report):
        with open(options.report, encoding="utf-8") as file:
            text = file.read()
        parts = {m[1]: m[2] for m in re.finditer(r"<!-- (\S+) -->\n(.*?)<!-- end -->\n", text, re.S)}
    made = f"Made by `{command()}` on {datetime.date.today()}, METAPACK {version(options)}: {machine()}; load " \
           f"{os.getloadavg()[1]:.1f} at the end."
    parts[name] = "\n".join([f"## {title}", "", made, "", *lines, ""]) + "\n"
    os.makedirs(os.path.dirname(os.path.abspath(options.report)), exist_ok=True)
    with open(options.report + ".part", "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"\n<!-- {key} -->\n{parts[key]}<!-- end -->\n" for key in SECTIONS if key in parts))
    os.replace(options.report + ".part", options.report)
    print(f"wrote the section '{title}' of {os.path.relpath(options.report)}")


def command():
    return " ".join(["bench/" + os.path.basename(sys.argv[0])] + [os.path.basename(os.path.normpath(w)) if os.path.isabs(w) else w for w in sys.argv[1:]])


def version(options, where=ROOT):
    """Of a build, and of the sources at or above a folder."""
    done = subprocess.run(["git", "-C", where, "describe", "--always", "--tags"], capture_output=True, text=True)
    number = subprocess.run([os.path.join(options.build, "metapack"), "--version"], capture_output=True, text=True)
    words = number.stdout.split()
    return " ".join(filter(None, [words[1] if len(words) > 1 else "", f"({done.stdout.strip()})" if done.stdout else ""]))


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory = next((int(line.split()[1]) // 2**20 for line in open("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, Linux {platform.release()}"


def picture(name):
    return os.path.join(ROOT, "bench/results", name)


def finite(x):
    return x is not None and math.isfinite(x)


def show(x, digits=".3g"):
    return format(x, digits) if finite(x) else "—"


def megabytes(x):
    return f"{x / 1e6:.3g}" if x else "—"
