#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages of section 3, made from the public headers and from pymetapack's docstrings.

    tools/site/manual.py [--write]

compares man/metapack_*.3 and man/pymetapack.3 with what it would write, or writes them.  Exit
status 1: they differ.
"""
import re
import sys
from pathlib import Path

import headers
import python_api
from headers import Entry, Header, Item, Paragraph

MAN = headers.ROOT / "man"


def date() -> str:
    return re.search(r"^\.Dd (.*)$", (MAN / "metapack.3").read_text(), re.M)[1]


def escape(text: str) -> str:
    text = text.replace("\\", "\\e")
    text = re.sub(r"`([^`]*)`", r"\\(oq\1\\(cq", text)
    return text.replace("^", "\\(ha").replace("~", "\\(ti")


def lines(text: str) -> list[str]:
    """Each sentence on a line of its own, as mdoc wants it."""
    out = re.sub(r"(?<=[\w)\"\]][.?]) (?=\S)", "\n", escape(text)).split("\n")
    return ["\\&" + line if line.startswith((".", "'")) else line for line in out]


def quote(text: str) -> str:
    text = escape(text).replace('"', "\\(dq")
    return f'"{text}"' if " " in text or not text else text


def call(name: str, arguments: str) -> str:
    """The macro of a function with its arguments, which commas part outside of parentheses."""
    words = re.split(r", (?![^(]*\))", arguments) if arguments else []
    return f".Fn {name} {' '.join(map(quote, words))}".rstrip()


def body(doc: str) -> list[str]:
    out: list[str] = []
    before: type | None = None
    for block in headers.blocks(doc):
        kind = (Item, block.returns) if isinstance(block, Item) else Paragraph
        if before not in (None, kind, Paragraph):
            out.append(".El")
        if isinstance(block, Paragraph):
            out += ([".Pp"] if before else []) + lines(block.text)
        else:
            if before != kind:
                out += [".Pp", "It returns:"] if block.returns else []
                out.append(".Bl -tag -width Ds")
            term = re.sub(r"(?<![\w])_(?=[A-Z])", "MPK_ERR_", block.term) if block.returns \
                else block.term
            mark = ".It Dv " if block.returns else ".It Fa "
            out.append(mark + " , ".join(quote(x) for x in term.split(", ")) if term else ".It Or")
            out += lines(block.text) if block.text else []
        before = kind
    if before not in (None, Paragraph):
        out.append(".El")
    return out


def synopsis(entry: Entry) -> list[str]:
    kind, name, arguments = re.match(r"(.*?)(\w+)\((.*)\)$", entry.text).groups()
    return [f".Ft {quote(kind.strip())}", call(name, arguments)]


def described(group: list[Entry]) -> list[str]:
    # what needs no words is in the synopsis
    if not any(entry.doc or entry.members for entry in group):
        return []
    out = [f".Ss {', '.join(entry.name for entry in group)}"]
    out += [f".D1 {escape(entry.text)}" for entry in group if entry.kind in ("type", "macro")]
    for entry in group:
        out += body(entry.doc)
        if entry.members:
            out.append(".Bl -tag -width Ds")
            for member in entry.members:
                mark = ".It Dv" if entry.kind == "enum" else ".It Vt"
                out += [f"{mark} {quote(member.text)}"]
                out += lines(" ".join(member.doc.split())) if member.doc else []
            out.append(".El")
    return out


def page(header: Header) -> str:
    functions = [entry for entry in header.entries if entry.kind == "function"]
    title = f"metapack_{header.name}"
    names = [title, *(entry.name for entry in functions)]
    out = ['.\\" SPDX-License-Identifier: BSD-3-Clause',
           f'.\\" Made by tools/site/manual.py from include/metapack/{header.name}.h',
           f".Dd {date()}", f".Dt {title.upper()} 3", ".Os", ".Sh NAME",
           *(f".Nm {name} ," for name in names[:-1]), f".Nm {names[-1]}",
           f".Nd {escape(header.summary)}", ".Sh LIBRARY", ".Pa libmetapack",
           ".Sh SYNOPSIS", f".In metapack/{header.name}.h"]
    for entry in functions:
        out += synopsis(entry)
    out += [".Sh DESCRIPTION", *body(header.doc)]
    for group in header.groups:
        out += described(group)
    text = (headers.INCLUDE / f"{header.name}.h").read_text(encoding="utf-8")
    more = sorted(set(re.findall(r"\bdocs/[\w/-]+\.md", text)))
    out += [".Sh SEE ALSO", ".Xr metapack 3"]
    if more:
        out += [".Pp", *(f".Pa {name} ,"[: None if k + 1 < len(more) else -2]
                         for k, name in enumerate(more))]
    return "\n".join(out) + "\n"


def python_page() -> str:
    out = ['.\\" SPDX-License-Identifier: BSD-3-Clause',
           '.\\" Made by tools/site/manual.py from the docstrings of pymetapack',
           f".Dd {date()}", ".Dt PYMETAPACK 3", ".Os", ".Sh NAME", ".Nm pymetapack",
           ".Nd METAPACK in Python: symmetric indefinite linear systems, sparse and dense",
           ".Sh SYNOPSIS", ".Li import pymetapack", ".Sh DESCRIPTION",
           "Matrices are SciPy's sparse ones, NumPy's arrays, or CuPy's and PyTorch's on a GPU.",
           "All options of the library are keyword arguments, by their keys",
           ".Pq see Xr metapack-solve 1 , with underscores .",
           ".Pp", ".Ic help(pymetapack.ldl)",
           "shows the whole docstring, with parameters, exceptions and examples."]
    for heading, objects in python_api.sections():
        out += [f".Ss {heading}", ".Bl -tag -width Ds"]
        for thing in objects:
            out.append(".It" + call(thing.name, thing.arguments).replace(".Fn", " Fn")
                       if thing.arguments is not None else f".It Vt {thing.name}")
            out += lines(thing.summary)
            if thing.members:
                out += [".Bl -tag -width Ds -compact"]
                for member in thing.members:
                    out.append(".It" + call(member.name, member.arguments).replace(".Fn", " Fn")
                               if member.arguments is not None else f".It Va {member.name}")
                    out += lines(member.summary)
                out.append(".El")
        out.append(".El")
    out += [".Sh EXAMPLES", ".Bd -literal",
            *(escape(line) for line in python_api.example().split("\n")), ".Ed",
            ".Sh SEE ALSO", ".Xr metapack 1 ,", ".Xr metapack 3", ".Pp",
            ".Pa docs/guide/python.md"]
    return "\n".join(out) + "\n"


def pages() -> dict[Path, str]:
    made = {MAN / f"metapack_{header.name}.3": page(header) for header in headers.read_all()
            if header.name != "metapack"}
    return made | {MAN / "pymetapack.3": python_page()}


if __name__ == "__main__":
    made = pages()
    wrong = [path for path, text in made.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    left = set(MAN.glob("metapack_*.3")) - set(made)
    if sys.argv[1:] == ["--write"]:
        for path in wrong:
            path.write_text(made[path], encoding="utf-8")
        for path in left:
            path.unlink()
    else:
        for path in [*wrong, *left]:
            print(f"{path.relative_to(headers.ROOT)} is not what the headers say: "
                  "tools/site/manual.py --write")
        sys.exit(bool(wrong or left))
