# SPDX-License-Identifier: BSD-3-Clause
"""The ccalls of Julia's sources beside the C headers: calls.py FOLDER HEADERS LIBRARY [--broken].

Each function must be exported by the library, and its result and arguments, as the headers declare
them, of the same number, width and kind (integer, real, pointer).  A second run on a copy whose
arguments are wrong must find that: the check can fail.
"""

import ctypes
import re
import sys
from pathlib import Path

JULIA = {
    "Cint": "i4", "Int32": "i4", "Int64": "i8", "Csize_t": "i8", "Cvoid": "void", "Float64": "f8",
    "Cstring": "p",
}  # fmt: skip
C = {"int": "i4", "int32_t": "i4", "int64_t": "i8", "size_t": "i8", "void": "void", "double": "f8"}


def of_julia(word: str) -> str:
    word = word.strip()
    return "p" if word.startswith(("Ptr{", "Ref{")) else JULIA[word]


def of_c(word: str, enums: set) -> str:
    if "*" in word:
        return "p"
    words = [w for w in re.findall(r"\w+", word) if w not in ("const", "MPK_API")]
    if not words:
        return "void"
    return "i4" if words[0] in enums else C.get(words[0], "other")


def declared(folder: Path) -> dict:
    """Result and arguments of each function: {name: [kind, ...]}."""
    text = "\n".join(p.read_text() for p in sorted(folder.glob("*.h")))
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    enums = set(re.findall(r"typedef\s+enum\s+(\w+)", text))
    found = {}
    for result, name, args in re.findall(r"MPK_API\s+([\w\s*]*?)\b(mpk_\w+)\(([^;{]*?)\)\s*;", text):
        found[name] = [of_c(result, enums), *(of_c(a, enums) for a in args.split(",") if a.strip() != "void")]
    return found


def split(text: str) -> list:
    """At commas outside of brackets."""
    parts, depth, last = [], 0, 0
    for k, letter in enumerate(text + ","):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append(text[last:k].strip())
            last = k + 1
    return [part for part in parts if part]


def calls(text: str) -> list:
    """(name, types with the result first, number of values given) of each ccall."""
    found = []
    for start in re.finditer(r"ccall\(symbol\(:(\w+)\),", text):
        depth, k = 1, start.end()
        while depth:
            depth += (text[k] in "([{") - (text[k] in ")]}")
            k += 1
        result, types, *values = split(text[start.end() : k - 1])
        found.append((start[1], [of_julia(result), *map(of_julia, split(types[1:-1]))], len(values)))
    return found


def complaints(text: str, headers: dict, library: ctypes.CDLL) -> list:
    wrong = []
    for name, types, given in calls(text):
        if name not in headers:
            wrong.append(f"{name}: no header declares it")
        elif types != headers[name]:
            wrong.append(f"{name}: called as {types}, declared as {headers[name]}")
        elif given != len(types) - 1:
            wrong.append(f"{name}: {len(types) - 1} types, {given} arguments")
        if not hasattr(library, name):
            wrong.append(f"{name}: the library does not export it")
    return wrong


def main() -> None:
    folder, headers, library = Path(sys.argv[1]), declared(Path(sys.argv[2])), ctypes.CDLL(sys.argv[3])
    text = "\n".join(p.read_text() for p in sorted(folder.rglob("*.jl")))
    number = len(calls(text))
    wrong = complaints(text, headers, library)
    for line in wrong:
        print(line)
    for old, new in ((":mpk_factorize)", ":mpk_factorise)"), ("Ptr{Int64}, Ref{SolveInfo}", "Ref{SolveInfo}"),
                     ("Cint, Ptr{Cvoid}, Csize_t)", "Int64, Ptr{Cvoid}, Csize_t)")):  # fmt: skip
        if old not in text or not complaints(text.replace(old, new), headers, library):
            wrong.append(new)
            print(f"a wrong call passes: {new}")
    print(f"{number} calls, {'wrong' if wrong else 'ok'}")
    sys.exit(bool(wrong) or number == 0)


if __name__ == "__main__":
    main()
