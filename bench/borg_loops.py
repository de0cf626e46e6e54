#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Loops that stay loops in what borgc emits for CPUs (borg/lower/roll.c), before (--loops=never) and after, in pairs.

    bench/borg_loops.py [--build build] [--kernels ldus,...] [--orders 16,32] [--packs 1,2,4] [--backends c,avx512] [--limit SECONDS]
                        [--untimed] [--loops always] [--prefix "taskset -c 1"] [--report bench/results/borg.md]

Each kernel of src/kernels/cl, and listing4, that of the thesis, in double: bytes of text, bytes of code in the object, seconds of
processor time that gcc takes, and nanoseconds for a work-group, in cache, checked first (bench/borg/driver.c, which `make bench-borg`
builds), the two by turns, the least of all times. Where the texts are the same nothing is compiled. What takes gcc more than 60 s is a row without times.
Rows go to BUILD/bench/loops.jsonl, and a later run goes on from there; --fresh begins anew."""
import argparse, glob, itertools, json, os, resource, subprocess, sys, time

from borg import BACKENDS, ROOT, cpu
from page import put_section

FLAGS = {"avx512": BACKENDS["avx512"], "c": ["-O2", "-fno-math-errno", "-mavx2", "-mfma", "-Wno-psabi"]}
MOST_SECONDS = 60


def source_of(kernel):
    return f"{ROOT}/tests/borg/kernels/ldus.cl" if kernel == "listing4" else f"{ROOT}/src/kernels/cl/{kernel}.cl"


def emitted(o, kernel, n, pack, backend, before):
    name = "ldus" if kernel == "listing4" else kernel
    done = subprocess.run([o.borgc, f"--emit={backend}", *(["--loops=never"] if before else ([f"--loops={o.loops}"] if o.loops != "auto" else [])), f"--name={name}", "-D", f"WG_SIZE={n}", "-D",
                           f"WG_PACK={pack}", source_of(kernel)], capture_output=True, text=True)
    if done.returncode and not before and "--loops=always: no loop" in done.stderr:
        return emitted(o, kernel, n, pack, backend, True)  # the same text
    if done.returncode:
        sys.exit(f"{kernel} {n}: {done.stderr}")
    return done.stdout


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))


def compiled(o, text, backend, name):
    """Seconds of processor time and bytes of code, None where gcc takes too long."""
    base = f"{o.work}/{name}"
    with open(base + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["gcc", *FLAGS[backend], "-w", "-shared", "-fPIC", "-o", base + ".so", base + ".c", "-lm"], preexec_fn=limit,
                          capture_output=True, text=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return None
    code = int(subprocess.run(["size", base + ".so"], capture_output=True, text=True).stdout.splitlines()[1].split()[0])
    return {"seconds": round(end.ru_utime - start.ru_utime, 2), "code": code, "file": base + ".so"}


def timed(o, kernel, n, files):
    name = "ldus" if kernel == "listing4" else kernel
    count = max(16, 131072 // (n * n * 8) // 16 * 16)
    done = subprocess.run([*o.prefix.split(), o.driver, name, str(n), "d", str(count), "--cache", "--rounds", "12", "--seconds", "0.2",
                           *(f"lib:{f}" for f in files)], capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(rows) != len(files):
        return None
    return [row["time_ns"] for row in rows]


def measured(o, key):
    kernel, n, pack, backend = key
    texts = [emitted(o, *key, before) for before in (True, False)]
    row = dict(zip(("kernel", "n", "pack", "backend"), key), text=[len(t) for t in texts], same=texts[0] == texts[1])
    if row["same"] or o.untimed:
        return row
    made = [compiled(o, text, backend, f"{kernel}_{n}_{pack}_{backend}_{i}") for i, text in enumerate(texts)]
    row["seconds"] = [m and m["seconds"] for m in made]
    row["code"] = [m and m["code"] for m in made]
    if all(made):
        rounds = [t for t in (timed(o, kernel, n, [m["file"] for m in made]) for _ in range(3)) if t]
        row["ns"] = [min(x) for x in zip(*rounds)] if rounds else None
    return row


def shown(pair, form="{:g}"):
    return " | ".join(form.format(x) if x is not None else "" for x in (pair or [None, None]))


def report(o, rows):
    other = [r for r in rows if not r["same"]]
    same = len(rows) - len(other)
    out = [f"`bench/borg_loops.py {' '.join(o.told)}`, {cpu()}, gcc, double, lane order by the model. Of {len(rows)} cases {same} have the same text: what they index fits "
           "the registers, or their counters are needed at compile time, or the model sees no gain. ns: the least of 36 rounds, by turns.", "",
           "| kernel | n | WG_PACK | backend | text before, KB | after | code before, KB | after | gcc before, s | after | ns before | after |",
           "|" + "---|" * 12]
    for r in other:
        kilo = lambda pair: [x and x / 1000 for x in pair] if pair else None
        out.append(f"| {r['kernel']} | {r['n']} | {r['pack']} | {r['backend']} | {shown(kilo(r['text']), '{:.0f}')} | {shown(kilo(r.get('code')), '{:.1f}')} | "
                   f"{shown(r.get('seconds'), '{:.2f}')} | {shown(r.get('ns'), '{:.4g}')} |")
    text = "\n".join(out) + "\n"
    if o.report:
        put_section(o.report, "Loops that stay loops", text)
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words, numbers = (lambda text: text.split(",")), (lambda text: [int(x) for x in text.split(",")])
    every = ["listing4", *sorted(os.path.basename(f)[:-3] for f in glob.glob(f"{ROOT}/src/kernels/cl/*.cl"))]
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--kernels", type=words, default=every)
    parser.add_argument("--orders", type=numbers, default=[4, 8, 12, 16, 20, 24, 28, 32])
    parser.add_argument("--packs", type=numbers, default=[1, 2, 4])
    parser.add_argument("--backends", type=words, default=["c", "avx512"])
    parser.add_argument("--limit", type=float, default=1e9, help="seconds: what is not done then is left for the next run")
    parser.add_argument("--untimed", action="store_true", help="texts alone: nothing is compiled")
    parser.add_argument("--loops", default="auto", choices=["auto", "always"], help="after: with this")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--report")
    o = parser.parse_args()
    o.told, start = sys.argv[1:], time.monotonic()
    o.work, o.borgc, o.driver = f"{o.build}/bench/loops", f"{o.build}/borgc", f"{o.build}/bench/borg_driver"
    os.makedirs(o.work, exist_ok=True)
    log, rows = f"{o.build}/bench/loops{'-untimed' if o.untimed else ''}{'-always' if o.loops == 'always' else ''}.jsonl", {}
    if os.path.exists(log) and not o.fresh:
        rows = {(r["kernel"], r["n"], r["pack"], r["backend"]): r for r in map(json.loads, open(log, encoding="utf-8"))}
    with open(log, "w" if o.fresh else "a", encoding="utf-8") as file:
        for key in itertools.product(o.kernels, o.orders, o.packs, o.backends):
            if key not in rows and time.monotonic() - start < o.limit:
                rows[key] = measured(o, key)
                print(json.dumps(rows[key]), file=file, flush=True)
    report(o, sorted(rows.values(), key=lambda r: (every.index(r["kernel"]), r["n"], r["pack"], r["backend"])))


if __name__ == "__main__":
    main()
