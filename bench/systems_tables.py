#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tables of bench/results/systems.md from what bench/systems and bench/cuda-peer_cudss_systems print.

    bench/systems_tables.py [--processor OUT] [--device OUT] [--cudss OUT] [--threads OUT] [--write PAGE]

Each OUT is a file with the programs' output, in which other lines may stand: --processor of one thread,
--device of -d cuda, --cudss of the peer, --threads of -t 16.  Without --write the tables are
printed; with it, those of PAGE between <!-- table NAME --> and <!-- end --> are replaced.
"""

import argparse
import re
from pathlib import Path

ROW = re.compile(r"(.{28}) +(\d+) +(\d+) \|(.*)")


def rows(path, groups):
    """{(matrix, systems): (n, groups of words)} of the lines that have so many groups."""
    found = {}
    for line in Path(path).read_text().splitlines() if path else ():
        match = ROW.match(line)
        parts = [part.split() for part in match[4].split("|")] if match else []
        if len(parts) == groups:
            name = re.sub(r"\.mtx(\.xz|\.gz)?$", "", match[1].strip())
            found[name, int(match[3])] = (int(match[2]), parts)
    return found


def in_order(found):
    return sorted(found.items(), key=lambda item: (item[1][0], item[0]))


def figure(text):
    value = float(text)
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def processor(ours):
    yield "| matrix | n | systems | batch: bare | refined; in one call | one by one: bare; refined | gain | ω | single |"
    yield "|---|---:|---:|---|---|---|---|---|---:|"
    for (name, count), (n, (batch, each, rest)) in in_order(ours):
        f, b, r, both = map(figure, batch)
        e, eb, er = map(figure, each)
        yield (f"| {name} | {n} | {count} | {f} + {b} | {r}; {both} | {e} + {eb}; {er} | "
               f"{rest[0]}; {rest[1]} | {rest[2]} | {rest[3]} |")  # fmt: skip


def device(ours, cudss):
    yield ("| matrix | n | systems | ours: bare | refined; in one call | order | ω | cuDSS: bare; refined | "
           "ω bare; refined | cuDSS / ours | KiB | single |")  # fmt: skip
    yield "|---|---:|---:|---|---|---|---|---|---|---:|---:|---:|"
    for (name, count), (n, (batch, _, rest)) in in_order(ours):
        f, b, r, both = map(figure, batch)
        peer, errors, times = "–", "–", "–"
        if (name, count) in cudss:
            _, (bare, refined, omega, after) = cudss[name, count]
            peer = f"{figure(bare[0])} + {figure(bare[1])}; {figure(refined[0])}"
            errors = f"{omega[0]}; {after[0]}"
            times = f"**{speed(batch, bare):.2f}**"
        order = rest[5] if len(rest) > 5 else "–"
        yield (f"| {name} | {n} | {count} | {f} + {b} | {r}; {both} | {order} | {rest[2]} | {peer} | {errors} | "
               f"{times} | {rest[4]} | {rest[3]} |")  # fmt: skip


def speed(ours, theirs):
    return (float(theirs[0]) + float(theirs[1])) / (float(ours[0]) + float(ours[1]))


def summary(ours, cudss, threads):
    """cuDSS's time over ours, a row a matrix; and that of threads of the processor."""
    counts = sorted({count for _, count in ours})
    beside = sorted({count for _, count in threads})
    yield ("| cuDSS / ours | " + " | ".join(map(str, counts))
           + "".join(f" | 16 threads / ours at {count}" for count in beside) + " |")  # fmt: skip
    yield "|---|" + "---:|" * (len(counts) + len(beside))
    for name in dict.fromkeys(name for (name, _), _ in in_order(ours)):
        cells = []
        for count in counts:
            both = (name, count) in ours and (name, count) in cudss
            cells.append(f"{speed(ours[name, count][1][0], cudss[name, count][1][0]):.2f}" if both else "–")
        for count in beside:
            both = (name, count) in ours and (name, count) in threads
            cells.append(f"{speed(ours[name, count][1][0], threads[name, count][1][0]):.2f}" if both else "–")
        yield f"| {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for option in ("--processor", "--device", "--cudss", "--threads", "--write"):
        parser.add_argument(option)
    given = parser.parse_args()
    here, there = rows(given.processor, 3), rows(given.device, 3)
    cudss, threads = rows(given.cudss, 4), rows(given.threads, 3)
    tables = {}
    if here:
        tables["processor"] = "\n".join(processor(here))
    if there:
        tables["device"] = "\n".join(device(there, cudss))
        tables["summary"] = "\n".join(summary(there, cudss, threads))
    if not given.write:
        print("\n\n".join(tables.values()))
        return
    page = Path(given.write)
    text = page.read_text()
    for name, table in tables.items():
        text, times = re.subn(rf"(<!-- table {name} -->\n).*?(\n<!-- end -->)",
                              lambda found: found[1] + table + found[2], text, flags=re.S)  # fmt: skip
        if times != 1:
            raise SystemExit(f"{page}: {times} tables of the name {name}, and not one")
    page.write_text(text)


if __name__ == "__main__":
    main()
