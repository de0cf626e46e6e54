#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What borgc makes of the kernels, beside compilers and vendors: the experiment of Table 7.2 of the thesis anew.

    bench/borg.py [--build build] [--kernels gemm,ldlt] [--sizes 4,8] [--precisions d,s] [--count 100000] [--quick]
                  [--report bench/results/borg-cpu.md]

For each kernel, size and precision every implementation is built, checked (a wrong one ends the run) and timed on one core, by
turns: the least of ten rounds, at --count work-groups and (unless --modes batch) in cache. Implementations: borgc's avx512
backend with each WG_PACK and lane order by gcc; of the fastest of these also clang's code, and llc's of the LLVM backend; what
borgc chooses by itself (WG_PACK=auto); the same kernel by hand in C (bench/borg/reference.c), over the batch and over rows, by
gcc and by clang; loops over OpenBLAS; LIBXSMM where it was found; MKL's batched and compact BLAS where there is a libmkl_rt;
mpk_batch_*. Three steps, each of which goes on from where a run was broken off: build (several jobs), a short run that
chooses, the timing. Rows go to BUILD/bench/borg.jsonl.

--before BORGC times what another borgc makes in the same run ("before" in the report; in the rows also "earlier", what that one chooses by
itself), --one-step times all that was built once,
choosing nothing, --cpus 0,4,8 several cases at a time, each on a processor of its own."""
import argparse, collections, concurrent.futures, glob, itertools, json, math, os, platform, queue, shlex, shutil, subprocess, sys, threading, time

import chart
from page import geometric_mean, put_section

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SEVEN = ["gema", "gemm", "trsv", "ldus", "pade", "enum", "frcg"]
ITEMS = ["pade", "enum", "frcg"]  # work-items that have nothing to do with each other
LIBRARY = ["gemm_ab", "gemm_adb", "llt", "ldlt", "ldlt_partial", "ldlt_rook", "ldlt_complete", "ldu_partial"]
THESIS = {"gema": (1.00, 1.02), "gemm": (2.26, 2.92), "trsv": (1.70, 1.60), "ldus": (2.38, 2.86), "pade": (0.91, None),
          "enum": (1.57, None), "frcg": (1.26, 2.63)}  # Table 7.2: AVX512, AVX512 through LLVM
FLAT = [*ITEMS, "gema"]  # what borgc makes is the same for all WG_PACK
WRITTEN = {"gema": "c", "gemm": "c", "pade": "dx,dab", "enum": "value"}  # for --nontemporal
NUMBERS = {"pade": lambda n: 13 * n, "enum": lambda n: n, "frcg": lambda n: 4 * n, "trsv": lambda n: n * n + 2 * n,
           "ldus": lambda n: 2 * n * n}  # that the arrays of a group hold; others: three matrices
OTHERS = {"blas": "OpenBLAS", "mkl": "MKL batch", "compact": "MKL compact", "xsmm": "LIBXSMM", "batch": "mpk_batch"}
COMPILERS = {"gcc": "gcc", "clang": "clang-14"}
NATIVE = ["-O3", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math"]
BACKENDS = {"avx512": ["-O2", *NATIVE[1:]], "c": ["-O2", *NATIVE[1:]]}  # straight code: -O3 is slower
TYPES = {"d": "double", "s": "single"}
MODES = ["batch", "cache"]
LOCKS = collections.defaultdict(threading.Lock)


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def bounded(command, limit):
    """Run it for so many seconds of processor time, whatever else the machine does; None where that was not enough."""
    try:
        done = run([*(["prlimit", f"--cpu={math.ceil(limit)}"] if shutil.which("prlimit") else []), *command], timeout=20 * limit)
    except subprocess.TimeoutExpired:
        return None
    return done if done.returncode == 0 else None


def newer(out, source):
    return os.path.exists(out) and os.path.getmtime(out) > os.path.getmtime(source)


def compile_c(compiler, flags, source, out, limit=300):
    """The shared object, or None where the compiler gives up, which is not tried again."""
    with LOCKS[out]:  # several kernels ask for the file of references
        return compile_once(compiler, flags, source, out, limit)


def compile_once(compiler, flags, source, out, limit):
    if newer(out, source):
        return out
    if newer(out + ".failed", source):
        return None
    if bounded([COMPILERS[compiler], "-shared", "-fPIC", *flags, "-o", out, source], limit):
        return out
    open(out + ".failed", "w", encoding="utf-8").close()
    return None


def emit(command, out, limit=120):
    """borgc's code in that file, which stays as it is where the code is the same; whether it was made."""
    with LOCKS["text of " + out]:  # what was before is asked for by what is now, too
        return emit_once(command, out, limit)


def emit_once(command, out, limit):
    stamp, source = out + ".made", command[-1]
    needs = [command[0], *glob.glob(os.path.dirname(source) + "/*.h"), source]
    if all(newer(stamp, f) for f in needs) and open(stamp, encoding="utf-8").read() == shlex.join(command):
        return os.path.exists(out)
    made = emit_anew(command, out, limit)
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(shlex.join(command))
    return made


def emit_anew(command, out, limit):
    if not bounded([*command, "-o", out + ".new"], limit):
        if os.path.exists(out):
            os.remove(out)
        return False
    if os.path.exists(out) and open(out, "rb").read() == open(out + ".new", "rb").read():
        os.remove(out + ".new")
    else:
        os.replace(out + ".new", out)
    return True


# ---- what there is to build: functions that give the driver's word for an implementation, or None ----


def reference(o, key, compiler, over):
    kernel, n, precision = key
    out = f"{o.work}/reference_{compiler}_{over}_{n}_{precision}.so"
    flags = [*NATIVE, "-w", "-fopenmp-simd", f"-DN={n}", f"-DOVER_{over.upper()}", *(["-DSINGLE"] if precision == "s" else [])]
    library = compile_c(compiler, flags, f"{ROOT}/bench/borg/reference.c", out, o.compile_limit)
    return library and "lib:" + library


def through_llc(source, out, limit):
    """LLVM's own code generator for this machine, then a shared object."""
    if newer(out, source) or newer(out + ".failed", source):
        return out if newer(out, source) else None
    made = (bounded([shutil.which("llc-16") or "llc", "-O2", "-mcpu=native", "-relocation-model=pic", "-filetype=obj", "-o", out + ".o", source],
                    limit) and bounded(["gcc", "-shared", "-o", out, out + ".o"], limit))
    if not made:
        open(out + ".failed", "w", encoding="utf-8").close()
    return out if made else None


def same_code(source, compiler):
    """What was compiled from the same text for a WG_PACK that was given."""
    text = open(source, "rb").read()
    for other in glob.glob(source.replace("auto_auto", "[0-9]*_w?")):
        library = f"{other[:-2]}_{compiler}.so"
        if newer(library, other) and open(other, "rb").read() == text:
            return library
    return None


def by_borgc(o, key, compiler, backend, pack, order, more=(), borgc=None):
    kernel, n, precision = key
    name = f"{kernel}_{n}_{precision}_{backend}_{pack}_{order}{'_before' if borgc else ''}{''.join(more).replace('=', '').replace(',', '')}"
    source = f"{o.work}/{name}{'.ll' if backend == 'llvm' else '.c'}"
    command = [borgc or o.borgc, *more, f"--emit={backend}", f"--lane-order={order}", "-D", f"WG_SIZE={n}", "-D", f"WG_PACK={pack}",
               *(["-D", "SINGLE"] if precision == "s" else []), f"{ROOT}/src/kernels/cl/{kernel}.cl"]
    if not emit(command, source, o.compile_limit):
        return None
    out = f"{o.work}/{name}_{compiler}.so"
    if o.before and not borgc and pack != "auto" and not more:
        first = by_borgc(o, key, compiler, backend, pack, order, (), o.before)
        old = f"{o.work}/{kernel}_{n}_{precision}_{backend}_{pack}_{order}_before.c"
        if first and os.path.exists(old) and open(old, "rb").read() == open(source, "rb").read():
            return first
    if pack == "auto" and same_code(source, compiler):
        return "borg:" + same_code(source, compiler)
    if backend == "llvm":
        library = through_llc(source, out, o.compile_limit)
    else:
        library = compile_c(compiler, [*BACKENDS[backend], "-w"], source, out, o.compile_limit)
    return library and "borg:" + library


def shapes(o, key):
    """WG_PACK and lane orders that may be worth a compiler's time: by the registers that one row fills."""
    kernel, n, precision = key
    lanes = 8 if precision == "d" else 16
    for pack in o.packs:
        row = -(-n * pack // lanes)
        light = kernel in ("gema", "gemm", "frcg", "gemm_ab")
        if pack > 1 and (row > (4 if light else 8) if n > (4 if light else 8) or kernel in ITEMS else pack > max(lanes, 16 // n * 4)):
            continue
        for order in o.orders:
            if order == "wg" and "wi" in o.orders and (pack == 1 or n > 8 or kernel in (*ITEMS, "gema")):
                continue  # the orders are the same, groups are, or interleaving has never paid
            yield pack, order


def first_choices(o, key):
    """name -> what builds it: all but what the short run decides."""
    made = {}
    for compiler, over in itertools.product(COMPILERS, ["batch", "matrix"]):
        there = shutil.which(COMPILERS[compiler]) or os.path.exists(f"{o.work}/reference_{compiler}_{over}_{key[1]}_{key[2]}.so")  # brought along
        if there and not (over == "matrix" and key[0] in (*ITEMS, "gema")):
            made[f"reference {compiler} {over}"] = (reference, compiler, over)
    compiler = o.compilers[0]
    past = [f"--nontemporal={WRITTEN[key[0]]}"] if key[0] in WRITTEN and "avx512" in o.backends else []
    for backend in o.backends:
        for pack, order in shapes(o, key):
            if o.before:
                made[f"before {backend} {compiler} pack={pack} {order}"] = (by_borgc, compiler, backend, pack, order, (), o.before)
            if key[0] in FLAT:
                continue
            if past and pack == 1:
                made[f"borgc {backend} {compiler} pack={pack} {order} nontemporal"] = (by_borgc, compiler, backend, pack, order, past)
            made[f"borgc {backend} {compiler} pack={pack} {order}"] = (by_borgc, compiler, backend, pack, order)
        for wide in (1, 2) if key[0] in FLAT else ():
            for name, more in (("", []), (" nontemporal", past))[:2 if past and wide == 1 else 1]:
                made[f"borgc {backend} {compiler} flat={wide} wi{name}"] = (by_borgc, compiler, backend, 1, "wi", [f"--flat={wide}", *more])
    if o.default and "avx512" in o.backends:
        made[f"default avx512 {compiler}"] = (by_borgc, compiler, "avx512", "auto", "auto")
        if o.before:
            made[f"earlier avx512 {compiler}"] = (by_borgc, compiler, "avx512", "auto", "auto", (), o.before)
    return made


def later_choices(o, fast):
    """What other compilers make of the fastest in each mode."""
    made = {}
    for name in fast:
        if kind(name) != "borgc" or not name.split()[3].startswith("pack=") or name.endswith("nontemporal"):
            continue
        _, backend, _, pack, order = name.split()
        for compiler in o.compilers[1:]:
            to = "llvm" if compiler == "llc" else backend
            if compiler != "llc" or backend == "avx512":
                made[f"borgc {to} {compiler} {pack} {order}"] = (by_borgc, compiler, to, int(pack[5:]), order)
    return made


# ---- rows: one for each kernel, size, precision, mode and step, with the times of all implementations ----


class Rows:
    def __init__(self, path, fresh):
        self.path, self.of = path, {}
        if fresh and os.path.exists(path):
            os.remove(path)
        for line in open(path, encoding="utf-8") if os.path.exists(path) else []:
            row = json.loads(line)
            self.of[tuple(row["key"])] = row["results"]

    def add(self, key, results):
        self.of[key] = results
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"key": key, "results": results}) + "\n")


def measure(o, key, mode, named, rounds, within, processor=None):
    """The results of {name: driver's word}, in one process."""
    kernel, n, precision = key
    each = NUMBERS.get(kernel, lambda n: 3 * n * n)(n) * (8 if precision == "d" else 4)
    count = min(o.count, max(16, o.memory * 1000000 // each // 16 * 16))
    if mode == "cache":  # what the second-level cache holds
        count = max(16, 3 * 131072 // each // 16 * 16)
    results = []
    odd = kernel in LIBRARY  # matrices with a NaN and of zeros are given only where all tell of them
    for chosen in ([k for k in named if named[k].startswith("borg:")], [k for k in named if not named[k].startswith("borg:")]) \
            if odd else (list(named),):
        if not chosen:
            continue
        command = [*o.prefix.split(), *(["taskset", "-c", processor] if processor else []), o.driver, kernel, str(n), precision, str(count), "--rounds", str(rounds), "--seconds", str(o.seconds), "--within", str(within),
                   *(["--cache"] if mode == "cache" else []), *dict.fromkeys(named[k] for k in chosen)]
        done = run(command, env=dict(os.environ, OPENBLAS_NUM_THREADS="1", MKL_THREADING_LAYER="SEQUENTIAL",
                                     **({"BENCH_MKL": o.mkl} if o.mkl else {})))
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr} (exit {done.returncode})")
        times = {row.pop("how"): row for row in map(json.loads, done.stdout.splitlines())}
        results += [{"name": name, **times[named[name]]} for name in chosen if named[name] in times]
    return results


def kind(name):
    return name.split()[0]


def best(rows, *kinds):
    chosen = [r for r in rows if kind(r["name"]) in kinds]
    return min(chosen, key=lambda r: r["time_ns"]) if chosen else None


def say(text):
    print(time.strftime("%H:%M:%S ") + text, flush=True)


class Over(Exception):
    """The time that was given is over."""


def build(o, wanted):
    """{key: {name: what builds it}} -> {key: {name: driver's word}}, by several jobs at a time."""
    made = {key: {} for key in wanted}
    todo = [(key, name, how) for key in wanted for name, how in wanted[key].items()]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        doing = {pool.submit(how[0], o, key, *how[1:]): (key, name) for key, name, how in todo}
        told = time.monotonic()
        for k, f in enumerate(concurrent.futures.as_completed(doing)):
            key, name = doing[f]
            if f.result():
                made[key][name] = f.result()
            if time.monotonic() - told > 10:
                told = time.monotonic()
                say(f"built {k + 1} of {len(doing)}")
    left = [(key, name) for key in wanted for name in wanted[key] if name not in made[key]]
    if left:
        say(f"{len(left)} of {len(todo)} are left out (compilers gave up): " + ", ".join(" ".join(map(str, (*k, name))) for k, name in left[:6])
            + (" ..." if len(left) > 6 else ""))
    return {key: {name: made[key][name] for name in wanted[key] if name in made[key]} for key in wanted}


def fastest(o, rows, key, count=2):
    """Of borgc's, those that the short runs show to be the fastest in each mode; None before these ran."""
    names = []
    for mode in o.modes:
        if (*key, mode, "short") not in rows.of:
            return None
        mine = [r for r in rows.of[(*key, mode, "short")] if kind(r["name"]) == "borgc"]
        names += [r["name"] for r in sorted(mine, key=lambda r: r["time_ns"])[:count]]
    return list(dict.fromkeys(names))


def step(o, rows, name, chosen, rounds, within, others):
    """The cases that were not measured yet, one after the other or one on each of --cpus."""
    todo = [(key, mode) for key in chosen for mode in o.modes if (*key, mode, name) not in rows.of]
    free = queue.SimpleQueue()
    for processor in o.cpus or [None]:
        free.put(processor)

    def one(key, mode):
        if time.monotonic() - o.start > o.limit:
            raise Over
        processor = free.get()
        try:
            results = measure(o, key, mode, {**chosen[key], **({k: k for k in OTHERS} if others else {})}, rounds, within, processor)
        finally:
            free.put(processor)
        with LOCKS[rows.path]:
            rows.add((*key, mode, name), results)
        ours, ref = best(results, "borgc"), best(results, "reference")
        say(f"{name}, {len(todo)} cases: {key[0]} {key[1]} {key[2]} {mode:5} " + ", ".join(
            f"{r['name']} {r['time_ns']:.4g} ns" for r in (ours, ref) if r))

    with concurrent.futures.ThreadPoolExecutor(len(o.cpus) or 1) as pool:
        for done in [pool.submit(one, key, mode) for key, mode in todo]:
            done.result()


# ---- the report ----


def cpu():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def ratio(of, to):
    return to["time_ns"] / of["time_ns"] if of and to else None


def table(o, rows, mode, precision):
    """Lines of one table."""
    full = {key[:3]: r for key, r in rows.of.items() if key[2:] == (precision, mode, "full")}
    keys = [(k, n, precision) for k in o.kernels for n in o.sizes if (k, n, precision) in full]
    there = [k for k in OTHERS if any(best(full[key], k) for key in keys)]
    out = ["| kernel | n | " + ("before ns | how | " if o.before else "") + "borgc ns | how | chosen by itself | best reference ns | how | " + "".join(f"{OTHERS[k]} ns | " for k in there)
           + "borgc GFLOP/s | against reference |", "|" + "---|" * (9 + len(there) + 2 * bool(o.before))]
    for key in keys:
        ours, ref, auto = (best(full[key], k) for k in ("borgc", "reference", "default"))
        if auto and (not ours or auto["time_ns"] < ours["time_ns"]):
            ours = auto
        text = [f"{r['time_ns']:.4g}" if r else "" for r in (ours, auto, ref, *(best(full[key], k) for k in there))]
        old = best(full[key], "before")
        before = f"{format(old['time_ns'], '.4g') if old else ''} | {how(old)} | " if o.before else ""
        out.append(f"| {key[0]} | {key[1]} | {before}{text[0]} | {how(ours)} | {text[1]} | {text[2]} | {how(ref)} | "
                   + "".join(x + " | " for x in text[3:]) + (f"{ours['gflops']:.3g}" if ours else "")
                   + f" | {format(ratio(ours, ref), '.2f') if ratio(ours, ref) else ''} |")
    return out


def how(row):
    if not row:
        return ""
    text = row["name"].split(" ", 1)[1].replace("avx512 ", "").replace("llvm ", "")
    return text + " auto" if kind(row["name"]) == "default" else text


def means(o, rows):
    """{(kernel, mode, precision): (best over reference, default over reference, default over best)}, sizes together."""
    found = collections.defaultdict(list)
    for key, results in rows.of.items():
        if key[4] != "full" or key[0] not in o.kernels or key[1] not in o.sizes:
            continue
        ours, ref, auto = best(results, "borgc", "default"), best(results, "reference"), best(results, "default")
        if ours and ref:
            found[key[0], key[3], key[2]].append((ratio(ours, ref), ratio(auto, ref), ratio(auto, ours)))
    return {k: tuple(geometric_mean(v[i] for v in values) for i in range(3)) for k, values in found.items()}


def summary(o, rows):
    m = means(o, rows)
    columns = [(mode, p) for mode in o.modes for p in o.precisions]
    kernels = [k for k in o.kernels if any((k, *c) in m for c in columns)]
    title = {"batch": f"{o.count}", "cache": "in cache"}
    out = ["Geometric means over the sizes of the time of the best compiler-vectorised reference over that of borgc's best; in brackets: over that "
           "of what borgc chooses by itself.", "",
           "| kernel | " + " | ".join(f"{title[mode]}, {TYPES[p]}" for mode, p in columns) + " | thesis: AVX-512 | thesis: LLVM |",
           "|" + "---|" * (3 + len(columns))]

    def cell(v):
        return f"{v[0]:.2f} ({v[1]:.2f})" if v and not math.isnan(v[1]) else f"{v[0]:.2f}" if v else ""
    for k in kernels:
        there = [f"{x:.2f}" if x else "" for x in THESIS.get(k, (None, None))]
        out.append(f"| {k} | " + " | ".join(cell(m.get((k, *c))) for c in columns) + f" | {there[0]} | {there[1]} |")
    seven = {c: [m[(k, *c)] for k in SEVEN if (k, *c) in m] for c in columns}
    if any(seven.values()):
        out.append("| the seven | " + " | ".join(cell(tuple(geometric_mean(v[i] for v in seven[c] if not math.isnan(v[i])) for i in range(3)))
                                                 if seven[c] else "" for c in columns) + " | 1.49 | 2.05 |")
    shares = [f"{geometric_mean(v[2] for k, v in m.items() if k[1] == mode and not math.isnan(v[2])):.2f} ({title[mode]})" for mode in o.modes]
    if o.before:
        out += ["", *pairs(o, rows)]
    return out + ["", f"What borgc chooses by itself takes {' and '.join(shares)} times what its best takes; below, its time stands beside."
                  .replace("takes 0", "reaches 0").replace(" times what its best takes", " of the speed of its best")]


def pairs(o, rows):
    """What --before gave beside the rest: means over the sizes of the best reference's time over each one's."""
    columns = [(mode, p) for mode in o.modes for p in o.precisions]
    chosen = {"before": lambda r: kind(r["name"]) == "before", "now": lambda r: kind(r["name"]) in ("borgc", "default"),
              "by itself": lambda r: kind(r["name"]) == "default"}
    out = ["| kernel | " + " | ".join(f"{mode}, {TYPES[p]}: {name}" for mode, p in columns for name in chosen) + " |",
           "|" + "---|" * (1 + len(columns) * len(chosen))]
    all_of = collections.defaultdict(list)
    for kernel in o.kernels:
        line = []
        for mode, precision in columns:
            cases = [r for k, r in rows.of.items() if k[0] == kernel and k[1] in o.sizes and k[2:] == (precision, mode, "full")]
            for name, wanted in chosen.items():
                values = []
                for results in cases:
                    ref, mine = best(results, "reference"), [r for r in results if wanted(r)]
                    if ref and mine:
                        values.append(ref["time_ns"] / min(r["time_ns"] for r in mine))
                line.append(f"{geometric_mean(values):.2f}" if values else "")
                if values:
                    all_of[mode, precision, name].append(geometric_mean(values))
        out.append(f"| {kernel} | " + " | ".join(line) + " |")
    last = [f"{geometric_mean(all_of[mode, p, name]):.2f}" if all_of[mode, p, name] else "" for mode, p in columns for name in chosen]
    return out + [f"| all of them | {' | '.join(last)} |"]


def plot(o, rows, precision):
    """Figures 7.6 and 7.7: times by size, one panel for each kernel. The file's name."""
    lines = {"borgc": ("borgc", "default"), "reference": ("reference",), "OpenBLAS": ("blas",), "MKL": ("mkl", "compact"), "LIBXSMM": ("xsmm",)}
    mode = o.modes[0]
    panels = []
    for kernel in o.kernels:
        at = [rows.of.get((kernel, n, precision, mode, "full"), []) for n in o.sizes]
        series = [{"name": name, "y": [(best(r, *kinds) or {}).get("time_ns") for r in at]} for name, kinds in lines.items()]
        series = [s for s in series if any(s["y"])]
        if series:
            panels.append({"title": f"{kernel}: ns for a work-group", "ticks": [str(n) for n in o.sizes], "series": series, "log": True, "label": "n"})
    name = f"borg-{'part' if o.heading == 'A part' else 'cpu'}-{TYPES[precision]}.svg"
    if panels:
        chart.draw(os.path.join(os.path.dirname(o.report), name), panels, list(lines), columns=4)
    return name if panels else None


def report(o, rows):
    out = [f"`{shlex.join(['bench/borg.py'] + o.told)}` on {cpu()}, one core; batches of {o.count} work-groups, fewer where their arrays took more than {o.memory} MB"
           + (", and as many as the second-level cache holds" if "cache" in o.modes else "")
           + ". ns for a work-group, the least of ten rounds after two (of three to ten where they take long), implementations by turns; each was checked first. How: compiler, WG_PACK and "
           "lane order; llc: through the LLVM backend. Reference: the same kernel by hand in C, `omp simd` over the batch or over rows, by gcc and clang; "
           "the best counts. \"Chosen by itself\": `WG_PACK=auto`, gcc. Packing for MKL's compact BLAS is not timed.", ""]
    out += summary(o, rows)
    for precision in o.precisions:
        name = plot(o, rows, precision)
        out += ["", f"![times, {TYPES[precision]}]({name})"] if name else []
    titles = {"batch": f"At a batch of {o.count}", "cache": "In cache"}
    for mode, precision in itertools.product(o.modes, o.precisions):
        out += ["", f"### {titles[mode]}, {TYPES[precision]}", "", *table(o, rows, mode, precision)]
    put_section(o.report, o.heading, "\n".join(out + [""]))


# ---- the command ----


def listed(p, text, what, known=None, least=None, most=None):
    values = [v for v in text.split(",") if v]
    for v in values:
        good = v in known if known else v.isdigit() and least <= int(v) <= most
        if not good:
            p.error(f"{what}: '{v}' is none of {', '.join(known)}" if known else f"{what}: '{v}' is no number from {least} to {most}")
    if not values:
        p.error(f"{what}: the list is empty")
    return values if known else [int(v) for v in values]


def find_mkl(o, p):
    if o.mkl == "auto":
        found = sorted(glob.glob(f"{o.build}/peers/**/libmkl_rt.so.*", recursive=True))
        o.mkl = found[0] if found else None
    elif o.mkl == "none":
        o.mkl = None
    elif not os.path.exists(o.mkl):
        p.error(f"--mkl: there is no {o.mkl}")
    o.mkl = o.mkl and os.path.abspath(o.mkl)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--quick", action="store_true", help="minutes: sizes 4 and 16, WG_PACK 1 and 4, 10000 work-groups, three rounds; a report only where asked for")
    p.add_argument("--kernels", default=",".join(SEVEN), help=f"of {','.join(SEVEN + LIBRARY)}")
    p.add_argument("--sizes")
    p.add_argument("--precisions", default="d,s")
    p.add_argument("--packs")
    p.add_argument("--orders", default="wi,wg")
    p.add_argument("--backends", default="avx512")
    p.add_argument("--compilers", default="gcc,clang,llc", help="the first for all, the others for the fastest")
    p.add_argument("--modes", default="batch,cache")
    p.add_argument("--count", type=int)
    p.add_argument("--memory", type=int, default=600, help="megabytes that the arrays may take: groups with large ones are fewer")
    p.add_argument("--rounds", type=int)
    p.add_argument("--seconds", type=float, default=2, help="an implementation that has taken so long ends with three rounds or more")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--compile-limit", type=float, default=40, help="seconds of processor time for one compilation; what takes longer is left out")
    p.add_argument("--no-default", dest="default", action="store_false", help="without what borgc chooses by itself")
    p.add_argument("--fresh", action="store_true", help="forget the rows of earlier runs")
    p.add_argument("--prefix", default="", help="a command before the driver's: taskset -c 1")
    p.add_argument("--mkl", default="auto", help="file of libmkl_rt; none; auto: where tools/fetch-peers put it, in BUILD/peers")
    p.add_argument("--limit", type=float, default=1e9, help="seconds: end then (with status 75), between two rows; the next run goes on from there")
    p.add_argument("--steps", default="full", help="build: compile alone; short: and time shortly, to choose; late: and compile what was chosen; "
                   "full: all")
    p.add_argument("--before", help="another borgc, whose kernels are timed in the same run")
    p.add_argument("--one-step", action="store_true", help="time all that was built, choosing nothing; without libraries")
    p.add_argument("--cpus", default="", help="processors on each of which a case is timed at a time: 0,4,8")
    p.add_argument("--report")
    p.add_argument("--heading", help="of the report's section (The seven kernels of the thesis; of a part of them, or of other kernels: A part)")
    o = p.parse_args()
    o.told, o.start = sys.argv[1:], time.monotonic()
    o.kernels = listed(p, o.kernels, "--kernels", SEVEN + LIBRARY)
    o.sizes = listed(p, o.sizes or ("4,16" if o.quick else "4,8,12,16,20,24,28,32"), "--sizes", None, 1, 64)
    o.precisions = listed(p, o.precisions, "--precisions", list(TYPES))
    o.packs = listed(p, o.packs or ("1,4" if o.quick else "1,2,4,8,16"), "--packs", None, 1, 64)
    o.orders = listed(p, o.orders, "--orders", ["wi", "wg"])
    o.backends = listed(p, o.backends, "--backends", list(BACKENDS))
    o.compilers = listed(p, o.compilers, "--compilers", [*COMPILERS, "llc"])
    o.modes = listed(p, o.modes, "--modes", MODES)
    o.cpus = [c for c in o.cpus.split(",") if c]
    o.before = o.before and os.path.abspath(o.before)
    o.steps = listed(p, o.steps, "--steps", ["build", "short", "late", "full"])[-1]
    o.count = o.count if o.count is not None else 10000 if o.quick else 100000
    o.rounds = o.rounds if o.rounds is not None else 3 if o.quick else 10
    if o.count < 1 or o.memory < 1 or o.seconds <= 0 or o.rounds < 1 or o.jobs < 1 or o.compile_limit <= 0:
        p.error("--count, --memory, --seconds, --rounds, --jobs and --compile-limit are positive")
    if o.compilers[0] == "llc":
        p.error("--compilers: llc is no compiler of C, it cannot be the first")
    o.compilers = [c for c in o.compilers if shutil.which({**COMPILERS, "llc": "llc-16"}[c])]
    whole = o.kernels == SEVEN and o.sizes == list(range(4, 33, 4)) and o.precisions == list(TYPES) and o.modes == MODES
    o.heading = o.heading or ("The seven kernels of the thesis" if whole else "A part")
    o.build = os.path.abspath(o.build)
    o.work, o.driver, o.borgc = f"{o.build}/bench/borg", f"{o.build}/bench/borg_driver", f"{o.build}/borgc"
    find_mkl(o, p)
    if not os.path.exists(o.driver):
        sys.exit(f"{o.driver} is not there: make bench-borg builds it")
    os.makedirs(o.work, exist_ok=True)
    if "avx512" in o.backends and " avx512f" not in open("/proc/cpuinfo", encoding="utf-8").read():
        say("this processor has no AVX-512: borgc's backend c in its place")
        o.backends = ["c"]
    if not o.compilers or not os.path.exists(o.borgc):
        sys.exit(f"{o.borgc} or a compiler is not there")
    return o


def finish(o, rows):
    if o.report:
        report(o, rows)
    else:
        print("\n".join(summary(o, rows)))
    return 0


def main():
    o = arguments()
    rows = Rows(f"{o.build}/bench/borg{'-quick' if o.quick else ''}.jsonl", o.fresh)
    keys = [(k, n, p) for n in o.sizes for k in o.kernels for p in o.precisions]
    say(f"{len(keys)} cases; MKL: {o.mkl or 'left out (tools/fetch-peers brings it)'}")
    try:
        made = build(o, {key: first_choices(o, key) for key in keys})
        if o.steps == "build":
            return 0
        if o.one_step:
            step(o, rows, "full", made, o.rounds, 0, False)
            return finish(o, rows)
        step(o, rows, "short", {k: {x: made[k][x] for x in made[k] if kind(x) == "borgc"} for k in keys}, 3, 1.5, False)
        if o.steps == "short":
            return 0
        late = build(o, {key: later_choices(o, fastest(o, rows, key, 1)) for key in keys})
        if o.steps == "late":
            return 0
        chosen = {key: {**{x: made[key][x] for x in made[key] if kind(x) != "borgc" or x in fastest(o, rows, key)}, **late[key]} for key in keys}
        step(o, rows, "full", chosen, o.rounds, 0, True)
    except Over:
        say("the time is over: the next run goes on from here")
        if o.one_step:
            finish(o, rows)
        return 75
    return finish(o, rows)


if __name__ == "__main__":
    sys.exit(main())
