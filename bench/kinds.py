#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""KKT matrices of kinds that the collections have few of: chains (as powell20), dense rows (as boyd1), networks with and
without a redundant row (as ken), linear programs with long or dense columns (as wood1p, d6cube, fit2p).

    bench/kinds.py FOLDER

writes FOLDER/kinds/*.mtx; bench/direct.py takes them with METAPACK_MATRICES=FOLDER --only 'kinds/*'."""
import os, random, sys


def write(path, n, entries):
    lower = {}
    for i, j, value in entries:
        place = (min(i, j), max(i, j))
        lower[place] = lower.get(place, 0) + value
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(lower)}\n")
        for (j, i), value in sorted(lower.items()):
            file.write(f"{i + 1} {j + 1} {value:.17g}\n")


def kkt(folder, name, n, rows, decades, seed):
    """[D A'; A 0], D diagonal over so many decades."""
    chance = random.Random(seed)
    entries = [(k, k, 10 ** chance.uniform(-decades / 2, decades / 2)) for k in range(n)]
    entries += [(n + i, j, value) for i, row in enumerate(rows) for j, value in row]
    write(os.path.join(folder, name + ".mtx"), n + len(rows), entries)


def chain(n):
    return [[(k, 1.0), (k + 1, -1.0)] for k in range(n - 1)]


def star(chance, n, rows):
    return [[(j, chance.uniform(-1, 1)) for j in range(n) if chance.random() < 0.5] for _ in range(rows)]


def network(chance, nodes, arcs):
    rows = [[] for _ in range(nodes)]
    for arc in range(arcs):
        i, j = chance.sample(range(nodes), 2)
        rows[i].append((arc, 1.0))
        rows[j].append((arc, -1.0))
    return rows


def program(chance, m, n, column, dense):
    """The first `dense` columns touch every row, the others `column` of them."""
    rows = [[] for _ in range(m)]
    for j in range(n):
        for i in range(m) if j < dense else chance.sample(range(m), column):
            rows[i].append((j, chance.uniform(-1, 1)))
    return rows


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = os.path.join(sys.argv[1], "kinds")
    os.makedirs(folder, exist_ok=True)
    chance = random.Random(5)
    for n in (1000, 6000):
        kkt(folder, f"chain_{n}", n, chain(n), 2, 1)
        kkt(folder, f"chain_ip_{n}", n, chain(n), 8, 2)
    for n, rows in ((1500, 20), (8000, 60)):
        kkt(folder, f"star_{n}_{rows}", n, star(chance, n, rows), 4, 3)
    for nodes, arcs in ((300, 1500), (2000, 9000)):
        rows = network(chance, nodes, arcs)
        kkt(folder, f"network_{nodes}", arcs, rows[1:], 6, 4)
        kkt(folder, f"network_singular_{nodes}", arcs, rows, 6, 4)
    for m, n, column, dense in ((240, 2500, 27, 0), (415, 6000, 6, 0), (1200, 5000, 2, 15)):
        kkt(folder, f"lp_{m}_{n}_{column}_{dense}", n, program(chance, m, n, column, dense), 6, 6)


if __name__ == "__main__":
    main()
