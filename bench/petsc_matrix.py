#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Matrix Market (real, symmetric, coordinate; also .xz, .gz) into PETSc's binary format, both triangles, and
behind it the vector A times ones, as PETSc's programs with an option -f want it:
    bench/petsc_matrix.py A.mtx.xz A.petsc"""
import array
import gzip
import lzma
import sys

MAT_FILE, VEC_FILE = 1211216, 1211214  # PETSc's class ids of what is in a file


def read(path):
    """Order and the rows, each a dictionary of column -> value, of a symmetric matrix."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path[path.rfind("."):], open)
    with opener(path, "rt", encoding="ascii") as file:
        head = file.readline().split()
        if head[2:] not in (["coordinate", "real", "symmetric"], ["coordinate", "integer", "symmetric"]):
            raise SystemExit(f"{path}: not a real symmetric coordinate matrix: {' '.join(head)}")
        line = file.readline()
        while line.startswith("%") or not line.strip():
            line = file.readline()
        n = int(line.split()[0])
        rows = [{} for _ in range(n)]
        for line in file:
            if not line.strip():
                continue
            i, j, value = line.split()[:3]
            i, j, value = int(i) - 1, int(j) - 1, float(value)
            rows[i][j] = rows[i].get(j, 0) + value
            if i != j:
                rows[j][i] = rows[j].get(i, 0) + value
    return n, rows


def write(path, n, rows):
    """Header, entries of each row, columns, values; the vector; all big-endian."""
    counts = [len(row) for row in rows]
    order = [sorted(row) for row in rows]
    integers = array.array("i", [MAT_FILE, n, n, sum(counts)] + counts)
    for columns in order:
        integers.extend(columns)
    values = array.array("d")
    for row, columns in zip(rows, order):
        values.extend(row[j] for j in columns)
    head = array.array("i", [VEC_FILE, n])
    sums = array.array("d", [sum(row.values()) for row in rows])
    with open(path, "wb") as file:
        for part in integers, values, head, sums:
            if sys.byteorder == "little":
                part.byteswap()
            part.tofile(file)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    write(sys.argv[2], *read(sys.argv[1]))
