#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The machines of chapter 8 of Thuerck 2021, simulated: pipelines, systolic arrays, the accelerator interface.

    bench/accelerators.py [MATRICES] [--build build] [--report bench/results/accelerators.md]

Writes the tables and draws figures 8.4 to 8.7 anew. Everything but the host's seconds is counted, so it is the same on any machine."""
import datetime, json, os, re, subprocess, tempfile

from incomplete import ROOT, arguments, command, find, machine, version

MATRICES = ["acopf/case118_ieee_it09", "lp_kkt/25fv47_it04", "helmholtz/bcsst10_shift"]
BACKENDS = ["cpu", "systolic:32x32", "systolic:16x17", "pipe"]
CHIP = "lut=1728000,ff=3456000,dsp=12288"
SNIPPET = """kernel @fig86 size 4 pack 1 order wi (ptr<f64> @y, ptr<f64> readonly @x) {
  %0 = param uni<ptr> @y
  %1 = param uni<ptr> @x
  %2 = g0 uni<i64>
  %3 = const uni<i64> 4
  %4 = mul uni<i64> %2, %3
  %5 = loada wi<f64> %1, %4, a 4, b 1, c {0}
  %6 = perm wi<f64> %5, map {0, 1, 0, 1, 0, 3, 0, 3}
  %7 = fadd wi<f64> %6, %5
  %8 = perm wi<f64> %7, map {0, 2, 0, 2, 0, 2, 0, 2}
  %9 = fadd wi<f64> %7, %8
  %10 = lane wg<f64> %9, map {0, 0}
  storea %0, %2, %10, a 1, b 0, c {0}
}
"""


def run(options, tool, *words):
    return subprocess.run([os.path.join(options.build, tool), *words], capture_output=True, text=True)


def picture(name):
    return os.path.join(ROOT, "bench/results", name)


def figure_8_6(options):
    """The snippet, where every unit takes a cycle."""
    with tempfile.TemporaryDirectory() as folder:
        ir, units = os.path.join(folder, "fig86.ir"), os.path.join(folder, "units")
        open(ir, "w").write(SNIPPET)
        open(units, "w").write("UNIT(add_f64, 1, 1, 1149, 445, 3)\n")
        words = ["--ir", "--emit=pipe", "--units=" + units]
        got = json.loads(run(options, "borgc", *words, "--format=json", ir).stdout)[0]
        run(options, "borgc", *words, "--format=svg", "-o", picture("pipeline-fig8-6.svg"), ir)
    return [f"| computing stages | 2 | {got['stages']} |", "| stages of the three shuffles | 0 | 0 |",
            f"| registers, a state for each cycle | drawn, no number | {got['registers_before']} |",
            f"| left without the shaded ones | drawn, no number | {got['registers_after']} |",
            f"| cycles, a job every | -, 1 | {got['depth']}, {got['interval']} |"]


def labels(path):
    """The numbers at the links of a drawing, first uses, in the order of cells."""
    return [int(x.split()[0]) for x in re.findall(r'class="c">([0-9 .]+)</text>', open(path, encoding="utf-8").read())]


def figure_8_7(options):
    rows = []
    for name, letter, published in (("ldlt", "a", 6), ("trsv", "b", 7)):
        path = picture(f"systolic-fig8-7{letter}.svg")
        run(options, "metapack", "accelerators", name, "-n", "4", "--draw", path)
        got = labels(path)
        rows.append(f"| {name}, last cycle of {'the first pivot' if letter == 'a' else 'a link'} | {published} | {max(got)} |")
    return rows


def figure_8_5(options):
    rows = []
    for kernel in ("ldlt", "trsv", "gemm"):
        for n in (4, 8, 16, 32):
            got = run(options, "metapack", "accelerators", kernel, "-n", str(n), "--jobs", "1e6", "--json")
            if got.returncode:
                rows.append(f"| {kernel} | {n} | {got.stderr.strip()} |")
                continue
            m = json.loads(got.stdout)
            p, a, g = m["pipeline"], m["array"], m["gpu"]
            cross = m["crossings"]
            tell = lambda key: str(cross[key]) if cross[key] else "never"
            rows.append(f"| {kernel} | {n} | {p['first']} / {p['interval']} | {a['first']} / {a['interval']} | {g['first']} / "
                        f"{g['cycles'] / m['jobs']:.1f} | {p['register_bits']} | {a['register_bits']} | {m['state_bits']} x 32 | "
                        f"{tell('pipeline before array')} | {tell('pipeline before gpu')} | {tell('array before gpu')} |")
    run(options, "metapack", "accelerators", "gemm", "-n", "8", "--jobs", "1e6", "--plot", picture("parallelism-fig8-5.svg"))
    return rows


def budgets(options):
    """The largest size of each kernel that a chip holds, by borgc's own proposal."""
    rows = []
    for kernel in ("gemm", "trsv", "ldlt", "ldlt_static", "ldus", "llt"):
        file = os.path.join(ROOT, f"src/kernels/cl/{kernel}.cl")
        got = run(options, "borgc", "-DWG_SIZE=64", "--strict", "--emit=pipe", "--budget=" + CHIP, "-o", "/dev/null", file)
        fits = re.search(r"WG_SIZE=(\d+) fits", got.stderr)
        what = re.search(r"needs (\d+) ([a-zA-Z -]+), the budget", got.stderr)
        rows.append(f"| {kernel} | {fits[1] if fits else '64'} | {what[1] + ' ' + what[2] if what else '-'} |")
    return rows


def solves(options):
    rows, notes = [], []
    for name in MATRICES:
        source = find(options, name)
        if not source:
            continue
        for backend in BACKENDS:
            got = run(options, "metapack", "solve", *source, "--backend", backend, "--threads", "2").stderr
            pick = lambda pattern, group=1, text=got: (re.search(pattern, text) or [None] * 9)[group] or "-"
            phases = [re.search(rf"\n +{phase} +\d+ +\d+ +(\d+) +([0-9.]+) %", got) for phase in ("factorize", "solve", "downdate")]
            cells = [f"{p[1]} ({p[2]} %)" if p else "-" for p in phases]
            rows.append("| " + " | ".join([
                name, backend, pick(r"--block (\d+)"), pick(r"(\d+) stages?"), pick(r"(\d+) blocks? rejected"),
                pick(r"(\d+) butterflies"), *cells, pick(r"\n +all +(\d+)"), pick(r"\n +all +\d+ +([0-9.]+ %)"),
                pick(r"waited ([0-9.]+ ms)"), pick(r"componentwise backward error (\S+)"), pick(r"Result +([^\n:]+)")]) + " |")
            if backend == "systolic:16x17" and name == MATRICES[-1]:
                run(options, "metapack", "solve", *source, "--backend", backend, "--threads", "2", "--quiet", "--trace",
                    picture("accelerator-fig8-4.svg"))
    return rows, notes


def boundary(options):
    """What fig. 8.4 says of the end of a stage, from a trace of the last matrix."""
    source = find(options, MATRICES[-1])
    if not source:
        return []
    with tempfile.TemporaryDirectory() as folder:
        at = os.path.join(folder, "t.json")
        run(options, "metapack", "solve", *source, "--backend", "systolic:16x17", "--threads", "2", "--quiet", "--trace", at)
        events = [e for e in json.load(open(at, encoding="utf-8"))["traceEvents"] if e.get("ph") == "X"]
    events.sort(key=lambda e: e["ts"])
    end = lambda e: e["ts"] + e["dur"]
    push = next(e for e in events if e["name"] == "push back")
    kernels = [e for e in events if e["name"][1] == " "]
    last = max((e for e in kernels if end(e) <= push["ts"] + 1), key=end)
    after = next(e for e in kernels if e["ts"] > push["ts"])
    levels = next(e for e in events if e["name"] == "level sets" and e["ts"] > push["ts"])
    return [f"The last kernel of stage 1 is `{last['name']}`, for the last level set has no blocks below its pivots; the push-back begins",
            f"{push['ts'] - end(last):.0f} µs after it and takes {push['dur']:.0f} µs, the level sets of stage 2 take {levels['dur']:.1f} µs of the inspector's thread, the next kernel begins",
            f"{after['ts'] - end(push):.0f} µs after the push-back, most of it the upload of the blocks that are computed anew.", ""]


def main():
    parser = arguments(__doc__)
    parser.set_defaults(report=os.path.join(ROOT, "bench/results/accelerators.md"))
    options = parser.parse_args()
    solved, notes = solves(options)
    lines = [
        "# Pipelines, systolic arrays, the accelerator interface", "",
        f"Made by `{command()}` on {datetime.date.today()}, METAPACK {version(options)}: {machine()}. Cycles, registers and areas are",
        "counted by the simulators ([accelerators.md](../../docs/guide/accelerators.md)); seconds are the host's.", "",
        "## Fig. 8.6: the snippet as a pipeline", "", "| | thesis | ours |", "|---|--:|--:|", *figure_8_6(options), "",
        "![pipeline](pipeline-fig8-6.svg)", "", "## Fig. 8.7: cycles of links, n = 4", "", "| | thesis | ours |", "|---|--:|--:|",
        *figure_8_7(options), "", "All labels agree (`tests/sim/systolic/test_array.c` has them one by one).", "",
        "![ldlt](systolic-fig8-7a.svg) ![trsv](systolic-fig8-7b.svg)", "", "## Fig. 8.5: three machines", "",
        "Cycles of the first job / cycles between jobs; 32 warps. Registers in bits: the pipeline's, the array's, a warp's.",
        "The last columns: from how many jobs on.", "",
        "| kernel | n | pipeline | array | gpu | pipeline, bits | array, bits | gpu, bits | pipeline before array | pipeline before gpu | array before gpu |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|", *figure_8_5(options), "", "![cycles over jobs](parallelism-fig8-5.svg)", "",
        "## What a chip holds", "", f"`borgc --emit=pipe -DWG_SIZE=64 --budget={CHIP}`: the largest block that fits, and what 64 rows would need first.",
        "", "| kernel | rows | 64 rows need |", "|---|--:|---|", *budgets(options), "", "## Solves", "",
        "`metapack solve A --backend B`, complete, as many stages as it takes, right-hand side A·1. Cycles with the share of them in",
        "which cells or units were at work; what was lost between stages is the host's time.", "",
        "| matrix | backend | block | stages | rejected | butterflies | factorize | solve | downdate | all cycles | used | lost | backward error | result |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|", *solved, *notes, "",
        "Fig. 8.4 anew, the last matrix on 16 x 17 cells:", "", "![trace](accelerator-fig8-4.svg)", "", *boundary(options)]
    with open(options.report + ".part", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    os.replace(options.report + ".part", options.report)
    print("wrote", os.path.relpath(options.report))


if __name__ == "__main__":
    main()
