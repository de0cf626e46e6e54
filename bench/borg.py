#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What borgc makes of the kernels, beside compilers and vendors: the experiment of Table 7.2 of the thesis anew.

    bench/borg.py [--build build] [--kernels gemm,ldlt] [--sizes 4,8] [--precisions d,s] [--count 100000] [--cached]
                  [--report docs/results/borg.md]

For each kernel, size and precision every implementation is built, checked (a wrong one ends the run) and timed on
one core: the least of ten rounds. Implementations: borgc through its backends with WG_PACK 1, 2, 4, 8; the same
kernel by hand in C (bench/borg/reference.c), over the batch and over rows, by gcc and by clang; loops over OpenBLAS;
LIBXSMM where it was found; MKL's batched and compact BLAS where --mkl names libmkl_rt; mpk_batch_*. With --tune all
are timed shortly first, and the two fastest of borgc and of the references in full. Rows go to BUILD/bench/borg.jsonl; a
run that was broken off goes on from there, --fresh begins anew."""
import argparse, collections, itertools, json, math, os, platform, shlex, shutil, subprocess, sys, time

from page import put_section

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SEVEN = ["gema", "gemm", "trsv", "ldus", "pade", "enum", "frcg"]
LIBRARY = ["gemm_ab", "gemm_adb", "llt", "ldlt", "ldlt_partial", "ldlt_rook", "ldlt_complete", "ldu_partial"]
OTHERS = {"blas": "OpenBLAS", "mkl": "MKL batch", "compact": "MKL compact", "xsmm": "LIBXSMM", "batch": "mpk_batch"}
ENTRY = {"enum": "enumerate"}
COMPILERS = {"gcc": "gcc", "clang": "clang-14"}
NATIVE = ["-O3", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math"]
BACKENDS = {"avx512": ["-O2", *NATIVE[1:]], "c": ["-O2", *NATIVE[1:]]}  # straight code: -O3 is slower


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def compile_c(compiler, flags, source, out):
    """The shared object, or None where the compiler gives up."""
    if os.path.exists(out) and os.path.getmtime(out) > os.path.getmtime(source):
        return out
    try:
        done = run([COMPILERS[compiler], "-shared", "-fPIC", *flags, "-o", out, source], timeout=300)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr[:2000], file=sys.stderr)
    return out if done.returncode == 0 else None


def references(options, kernel, n, precision):
    for (name, compiler), over in itertools.product(COMPILERS.items(), ["batch", "matrix"]):
        if shutil.which(compiler) and not (over == "matrix" and kernel in ("gema", "pade", "enum", "frcg")):
            out = f"{options.work}/reference_{name}_{over}_{n}_{precision}.so"
            flags = [*NATIVE, "-w", "-fopenmp-simd", f"-DN={n}", f"-DOVER_{over.upper()}"]
            flags += ["-DSINGLE"] if precision == "s" else []
            library = compile_c(name, flags, f"{ROOT}/bench/borg/reference.c", out)
            if library:
                yield f"reference {name} {over}", "lib:" + library


def wanted(options, key, name):
    """Not what a short run has shown to be slow."""
    return not options.tune or name in tuned(options).get(" ".join(map(str, key)), [name])


def tuned(options):
    path = f"{options.work}/tuned{'_cached' if options.cached else ''}.json"
    return json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}


def emit(command, out):
    """borgc's code in that file, which stays as it is where the code is the same; whether it was made."""
    try:
        done = run([*command, "-o", out + ".new"], timeout=120)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        return False
    if os.path.exists(out) and open(out, "rb").read() == open(out + ".new", "rb").read():
        os.remove(out + ".new")
    else:
        os.replace(out + ".new", out)
    return True


def by_borgc(options, kernel, n, precision):
    for backend, pack, order in itertools.product(options.backends, options.packs, options.orders):
        if pack == "1" and order == "wg" and "wi" in options.orders:
            continue  # the orders are the same
        name = f"{kernel}_{n}_{precision}_{backend}_{pack}_{order}"
        source = f"{options.work}/{name}.c"
        command = [options.borgc, f"--emit={backend}", f"--lane-order={order}", "-D", f"WG_SIZE={n}", "-D",
                   f"WG_PACK={pack}", *(["-D", "SINGLE"] if precision == "s" else []),
                   f"{ROOT}/src/kernels/cl/{kernel}.cl"]
        compilers = [c for c in options.compilers
                     if wanted(options, (kernel, n, precision), f"borgc {backend} {c} pack={pack} {order}")]
        if compilers and emit(command, source):
            for compiler in compilers:
                library = compile_c(compiler, [*BACKENDS[backend], "-w"], source,
                                    f"{options.work}/{name}_{compiler}.so")
                if library:
                    yield f"borgc {backend} {compiler} pack={pack} {order}", "borg:" + library


def fastest(options, key, candidates):
    """All but what a short run shows to be slower than two others of its kind; kept for the next run."""
    known, place = tuned(options), " ".join(map(str, key))
    if place not in known:
        short = argparse.Namespace(**{**vars(options), "count": max(200, options.count // 20), "rounds": 3})
        times = collections.defaultdict(list)
        for name, how in candidates:
            row = measure(short, *key, how) if name not in OTHERS else {"time_ns": 0}
            if row:
                times[kind(name)].append((row["time_ns"], name))
        known[place] = [name for k in times for _, name in sorted(times[k])[:2]]
        with open(f"{options.work}/tuned{'_cached' if options.cached else ''}.json", "w", encoding="utf-8") as f:
            json.dump(known, f)
    return [c for c in candidates if c[0] in known[place]]


def measure(options, kernel, n, precision, how):
    count = options.count
    if options.cached:  # what the second-level cache holds
        count = max(16, 131072 // (n * n * (8 if precision == "d" else 4)) // 16 * 16)
    command = [*options.prefix.split(), options.driver, kernel, str(n), precision, str(count), how, str(options.rounds)]
    done = run(command + (["cache"] if options.cached else []),
               env=dict(os.environ, OPENBLAS_NUM_THREADS="1", MKL_THREADING_LAYER="SEQUENTIAL",
                        **({"BENCH_MKL": options.mkl} if options.mkl else {})))
    if done.returncode == 2:
        return None
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr} (exit {done.returncode})")
    return json.loads(done.stdout)


def kind(name):
    return name.split()[0]


def best(rows, *kinds):
    chosen = [r for r in rows if kind(r["name"]) in kinds]
    return min(chosen, key=lambda r: r["time_ns"]) if chosen else None


def geometric(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def cpu():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def table(rows, kernels, out):
    cells = collections.defaultdict(list)
    for r in rows:
        cells[r["kernel"], r["n"], r["precision"]].append(r)
    there = [k for k in OTHERS if any(kind(r["name"]) == k and r["kernel"] in kernels for r in rows)]
    out.append("| kernel | n | type | borgc ns | how | best reference ns | how | " + "".join(f"{OTHERS[k]} ns | " for k in there)
               + "borgc GFLOP/s | against reference |")
    out.append("|" + "---|" * (9 + len(there)))
    ratios = collections.defaultdict(list)
    for kernel in kernels:
        for key in sorted(k for k in cells if k[0] == kernel):
            ours, ref = best(cells[key], "borgc"), best(cells[key], "reference")
            others = [best(cells[key], k) for k in there]
            text = [f"{r['time_ns']:.4g}" if r else "" for r in (ours, ref, *others)]
            ratio = ref["time_ns"] / ours["time_ns"] if ours and ref else None
            if ratio:
                ratios[kernel].append(ratio)
            out.append(f"| {kernel} | {key[1]} | {key[2]} | {text[0]} | {ours['name'][6:] if ours else ''} | {text[1]} | "
                       f"{ref['name'][10:] if ref else ''} | {''.join(x + ' | ' for x in text[2:])}"
                       f"{format(ours['gflops'], '.3g') if ours else ''} | {format(ratio, '.2f') if ratio else ''} |")
    return ratios


def report(options, rows):
    out = [f"`{shlex.join(['bench/borg.py'] + sys.argv[1:])}` on {cpu()}, one core; {options.count} matrices or groups of items"
           + (" that the second-level cache holds." if options.cached else ".")
           + " Times are for one work-group; every row was checked first.", ""]
    ratios = table(rows, options.kernels, out)
    seven = {k: geometric(v) for k, v in ratios.items() if k in SEVEN and v}
    out += ["", "Geometric means of the time of the best compiler-vectorised reference over borgc's:", "",
            "| " + " | ".join(ratios) + " |", "|" + "---|" * len(ratios),
            "| " + " | ".join(f"{geometric(v):.2f}" for v in ratios.values()) + " |", ""]
    if seven:
        most = max(seven, key=seven.get)
        rest = geometric([v for k, v in seven.items() if k != most])
        out += [f"Over the seven kernels of the thesis: {geometric(seven.values()):.2f} (there: 1.49 with AVX-512, 2.05 through "
                f"LLVM). Without {most}: {rest:.2f}.", ""]
    put_section(options.report, options.heading, "\n".join(out))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--kernels", default=",".join(SEVEN + LIBRARY))
    p.add_argument("--sizes", default="4,8,12,16,20,24,28,32")
    p.add_argument("--precisions", default="d,s")
    p.add_argument("--packs", default="1,2,4,8")
    p.add_argument("--orders", default="wi,wg")
    p.add_argument("--backends", default="avx512,c")
    p.add_argument("--compilers", default="gcc,clang")
    p.add_argument("--count", type=int, default=100000)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--cached", action="store_true")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--prefix", default="", help="a command before the driver's: taskset -c 1")
    p.add_argument("--mkl", help="file of libmkl_rt: the package mkl of PyPI has it")
    p.add_argument("--limit", type=float, default=1e9, help="seconds: end then, between two rows, and leave the rest to the next run")
    p.add_argument("--build-only", action="store_true", help="compile all (with --tune: and time it shortly), no more")
    p.add_argument("--tune", action="store_true", help="time in full only what was fastest in a short run")
    p.add_argument("--report")
    p.add_argument("--heading", default="borgc's kernels on a CPU", help="of the report's section")
    o = p.parse_args()
    for key in ("kernels", "sizes", "precisions", "packs", "orders", "backends", "compilers"):
        setattr(o, key, getattr(o, key).split(","))
    o.build = os.path.abspath(o.build)
    o.work, o.driver, o.borgc = f"{o.build}/bench/borg", f"{o.build}/bench/borg_driver", f"{o.build}/borgc"
    os.makedirs(o.work, exist_ok=True)
    if not os.path.exists(o.driver):
        sys.exit(f"{o.driver} is not there: make bench-borg builds it")
    if os.path.exists(o.borgc):
        listed = run([o.borgc, "--help"]).stdout
        o.backends = [b for b in o.backends if f"\n  {b} " in listed.split("backends:")[-1]]
    else:
        o.backends = []
    if not o.backends:
        print("borgc has no such backend in this build: references alone", file=sys.stderr)
    return o


def main():
    start = time.monotonic()
    o = arguments()
    path = f"{o.build}/bench/borg{'_cached' if o.cached else ''}.jsonl"
    if o.fresh and os.path.exists(path):
        os.remove(path)
    rows = [json.loads(line) for line in open(path, encoding="utf-8")] if os.path.exists(path) else []
    done = {(r["kernel"], r["n"], r["precision_key"], r["name"]) for r in rows}
    for kernel, n, precision in itertools.product(o.kernels, map(int, o.sizes), o.precisions):
        candidates = itertools.chain(references(o, kernel, n, precision), by_borgc(o, kernel, n, precision),
                                     [(name, name) for name in OTHERS])
        if o.tune:
            candidates = fastest(o, (kernel, n, precision), list(candidates))
        for name, how in candidates:
            if (kernel, n, precision, name) in done or o.build_only:
                continue
            if time.monotonic() - start > o.limit:
                print("the time is over: the next run goes on from here", flush=True)
                return 1
            row = measure(o, kernel, n, precision, how)
            if row:
                row.update(name=name, precision_key=precision)
                rows.append(row)
                with open(path, "a", encoding="utf-8") as f:
                    f.write(json.dumps(row) + "\n")
                print(f"{kernel:14} {n:3} {precision} {name:34} {row['time_ns']:10.1f} ns {row['gflops']:8.2f} GFLOP/s",
                      flush=True)
    if o.report:
        report(o, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
