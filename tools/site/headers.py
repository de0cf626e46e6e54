# SPDX-License-Identifier: BSD-3-Clause
"""Read the public headers: what they declare, and what their comments say of it.

The comments are plain text in columns (docs/design/conventions.md, Headers), so that they can be
read where they stand.  Their columns mean something: a parameter, a status, what hangs below it.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "metapack"


@dataclass
class Member:
    name: str
    text: str  # its declaration, on one line
    doc: str = ""


@dataclass
class Entry:
    kind: str  # function, struct, enum, type, macro
    name: str
    text: str  # its declaration, on one line; of a struct or an enum without its members
    doc: str = ""  # of the comment above; empty where another entry shares it
    members: list[Member] = field(default_factory=list)


@dataclass
class Header:
    name: str  # batch
    doc: str
    groups: list[list[Entry]]  # of entries that one comment describes

    @property
    def entries(self) -> list[Entry]:
        return [entry for group in self.groups for entry in group]

    @property
    def summary(self) -> str:
        """The first sentence; where that is long what stands before its colon."""
        text = re.split(r"(?<=[^.]{4})[.;] ", " ".join(self.doc.split()) + " ")[0]
        if len(text) > 90:
            text = text.split(": ")[0]
        return text[0].lower() + text[1:] if text[1:2] in " abcdefghijklmnopqrstuvwxyz" else text


def order() -> list[str]:
    """The headers in the order in which a matrix meets them; the first includes all others."""
    text = (INCLUDE / "metapack.h").read_text()
    return ["metapack", *re.findall(r"#include <metapack/(\w+)\.h>", text)]


def read_all() -> list[Header]:
    """All headers; an error if one has a function that was not found, or describes none of its own."""
    out = [read(INCLUDE / f"{name}.h") for name in order()]
    missed = {path.stem for path in INCLUDE.glob("*.h")} - {header.name for header in out}
    for header in out:
        text = (INCLUDE / f"{header.name}.h").read_text(encoding="utf-8")
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        found = {entry.name for entry in header.entries if entry.kind == "function"}
        missed |= set(re.findall(r"MPK_API\s[^;(]*?(mpk_\w+)\(", text)) - found
    if missed:
        raise SystemExit(f"headers: not understood: {', '.join(sorted(missed))}")
    return out


def comment(text: str) -> str:
    """What a comment says, its columns kept relative to each other."""
    lines = re.sub(r"^/\*+<? ?|\s*\*/$", "", text).split("\n")
    rest = lines[1:]
    if rest and all(re.match(r"\s*\*", line) or not line.strip() for line in rest):
        rest = [re.sub(r"^\s*\* ? ?", "", line) for line in rest]
    else:
        rest = [line.strip() for line in rest]
    return "\n".join([lines[0], *rest]).strip()


def _flat(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\s+", " ", text.replace("MPK_API ", "")).strip().rstrip(";").strip()
    text = re.sub(r"\* (?=\w)(?!\*? ?const\b)", "*", text)
    return re.sub(r"([(\[]) | (?=[)\]])", r"\1", text)


def _declaration_end(text: str, at: int) -> int:
    if text.startswith("#", at):
        return re.compile(r"(?<!\\)$", re.M).search(text, at).end()
    depth = 0
    inline = text.startswith("static inline", at)
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        c = text[at]
        depth += (c in "({") - (c in ")}")
        at += 1
        if depth == 0 and (c == ";" or (inline and c == "}")):
            return at
    raise SystemExit(f"headers: a declaration has no end: {text[-80:]!r}")


def _pieces(text: str, separator: str):
    """(comment above, declaration, comment behind) of each member between braces."""
    above, start, at = "", None, 0
    out: list[list[str]] = []
    while at < len(text):
        if text.startswith("/*", at):
            end = text.index("*/", at) + 2
            words = text[at:end]
            # one behind belongs to the members before it, also where the separator follows
            if words.startswith("/**<"):
                if start is not None:
                    out.append([above, text[start:at], ""])
                    above, start = "", None
                out[-1][2] = comment(words)
            elif words.startswith("/**"):
                above = comment(words)
            at = end
            continue
        c = text[at]
        if start is None and not c.isspace() and c != separator:
            start = at
        if start is not None and c == "(":
            depth = 1
            while depth:
                at += 1
                depth += (text[at] == "(") - (text[at] == ")")
        if start is not None and c == separator:
            out.append([above, text[start:at], ""])
            above, start = "", None
        at += 1
    if start is not None:
        out.append([above, text[start:], ""])
    return out


def _members(body: str, separator: str) -> list[Member]:
    out = []
    for above, text, behind in _pieces(body, separator):
        text = _flat(text)
        doc = " ".join(x for x in (above, behind) if x)
        pointer = re.search(r"\(\*(\w+)\)", text)
        if separator == "," or pointer or "," not in text:
            name = pointer[1] if pointer else re.match(r"\w+", text)[0] if separator == "," \
                else re.search(r"(\w+)(?:\[.*)?$", text)[1]
            out.append(Member(name, text, doc))
            continue
        first, *others = [part.strip() for part in text.split(",")]
        kind = re.match(r"(.*?)(?=\**\w+(?:\[.*)?$)", first)[1]
        for part in [first[len(kind):].strip(), *others]:
            name = re.search(r"(\w+)(?:\[.*)?$", part)[1]
            out.append(Member(name, kind + part, doc))
    # fields in one line share the comment behind the last of them
    return out


def _entries(text: str) -> list[Entry]:
    """What a declaration declares; an enum without a name its constants."""
    entry = _entry(text)
    if entry and entry.kind == "enum" and not entry.name:
        return [Entry("macro", m.name, m.text.replace(" =", ""), m.doc) for m in entry.members]
    return [entry] if entry else []


def _entry(text: str) -> Entry | None:
    flat = _flat(text)
    if text.startswith("#define"):
        name = re.match(r"#define (\w+)", text)[1]
        return None if name == "MPK_API" or name.startswith("METAPACK_") else \
            Entry("macro", name, re.sub(r"\s*/\*.*", "", text.split("\n")[0])[8:].strip())
    if text.startswith("#"):
        return None
    body = re.match(r"(?:typedef )?(struct|enum)\s*(\w*)\s*\{(.*)\}\s*(\w*)\s*;$", text, re.S)
    if body:
        kind, tag, inside, name = body.groups()
        members = _members(inside, "," if kind == "enum" else ";")
        return Entry(kind, name or tag, f"{kind} {name or tag}", "", members)
    opaque = re.match(r"typedef struct (\w+) (\w+)$", flat)
    if opaque:
        return Entry("struct", opaque[2], f"struct {opaque[2]}")
    if flat.startswith("typedef"):
        name = re.search(r"\(\*(\w+)\)", flat) or re.search(r"(\w+)\(", flat) or \
            re.search(r"(\w+)$", flat)
        return Entry("type", name[1], flat[8:])
    flat = re.sub(r"^static inline ", "", flat)
    flat = re.sub(r"\s*\{.*\}$", "", flat, flags=re.S)
    name = re.search(r"(\w+)\(", flat)
    return Entry("function", name[1], flat) if name else None


def read(path: Path) -> Header:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"#ifdef __cplusplus.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"#if defined\(__GNUC__\).*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"^#(include|ifndef|endif).*\n?", "", text, flags=re.M)
    header = Header(path.stem, "", [])
    at, doc, group = 0, None, None
    while True:
        gap = re.compile(r"\s*").match(text, at)
        if "\n\n" in gap[0] and doc is None:
            group = None
        at = gap.end()
        if at == len(text):
            return header
        if text.startswith("/*", at):
            end = text.index("*/", at) + 2
            words = text[at:end]
            if words.startswith("/**<") and group:
                group[-1].doc = comment(words)
            elif words.startswith("/**") or (words.startswith("/* ") and words[3] != "-"
                                             and "SPDX" not in words and ": begin" not in words
                                             and ": end" not in words):
                if doc is not None or (not header.doc and text[end:end + 2] == "\n\n"):
                    header.doc = header.doc or doc or comment(words)
                    doc = comment(words) if doc is not None else None
                else:
                    doc = comment(words)
            at = end
            continue
        end = _declaration_end(text, at)
        if doc is not None and not header.doc and header.groups == [] and \
                text.startswith("#define METAPACK", at):
            header.doc, doc = doc, None
        entries = _entries(text[at:end])
        at = end
        for entry in entries:
            if doc is not None or group is None:
                group = []
                header.groups.append(group)
                entry.doc = doc or ""
            group.append(entry)
            doc = None


# ---- what a comment's columns mean ---------------------------------------------------------------

@dataclass
class Paragraph:
    text: str


@dataclass
class Item:
    """What hangs: `term`, then its text.  returns: one of the outcomes of a call."""
    term: str
    text: str
    returns: bool = False


_PARAMETER = re.compile(r"^((?:\w+|\.\.\.)(?:, \w+)*)\s*(\[(?:in|out|inout)\].*)$", re.S)
_COLUMNS = re.compile(r"^(\S+(?: \S+){0,4}?):? {2,}(\S.*)$", re.S)
_COLON = re.compile(r"^([A-Za-z]\w*(?:,? \w+){0,2}): +(\S.*)$", re.S)


def _starts(line: str, hangs: bool, aligned: bool) -> bool:
    return bool(_PARAMETER.match(line) or line.startswith("Returns ") or
                re.match(r"(Source|Sources|Threads|Forks|Example|Examples|Floating point|"
                         r"Departs from it)[:s]? ?", line) and ":" in line[:20] or
                (_COLUMNS.match(line) and (hangs or aligned or ":  " in line[:12])) or
                (hangs and (_COLON.match(line))) or
                (aligned and re.match(r"\w+ \S", line)))


def blocks(doc: str) -> list[Paragraph | Item]:
    """A comment as paragraphs and items."""
    chunks: list[tuple[int, list[str]]] = []  # the column of the items that it belongs to, its lines
    lines = doc.split("\n")
    column = 0
    listed = False  # inside a list that is indented below its heading
    for k, line in enumerate(lines):
        last = chunks[-1][1] if chunks else []
        hangs = k + 1 < len(lines) and lines[k + 1].startswith("  ")
        if not line.strip():
            chunks.append((0, []))
            column, listed = 0, False
            continue
        if line.startswith("  ") and last:
            entry = _COLUMNS.match(line.strip())
            if entry and not line.startswith("   ") and (listed or last[-1].endswith((":", ": "))):
                listed = True
                chunks.append((entry.start(2), [line.strip()]))
            else:
                last.append(line)
            continue
        here = _COLUMNS.match(line)
        inside = bool(column and len(line) > column and line[column - 1] == " " and
                      line[column] != " " and re.match(r"\w+ *$", line[:column]))
        complete = last and (_is_item(chunks[-1][0], last) or last[-1].startswith("  ") or
                             (last[0].startswith("Returns MPK_") and last[-1].endswith(".")))
        column = here.start(2) if here else column if inside else 0
        if not last or complete or _starts(line, hangs, inside) or (here and line[0].islower()):
            chunks.append((column, [line]))
        else:
            last.append(line)
    return [block for column, chunk in chunks if chunk for block in _block(column, chunk)]


def _is_item(column: int, lines: list[str]) -> bool:
    return bool(column or _PARAMETER.match(lines[0]))


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _block(column: int, lines: list[str]) -> list[Paragraph | Item]:
    first, text = lines[0], _joined(lines)
    if first.startswith("Returns "):
        # one outcome after each "|"; what follows the last one's sentence stays with it
        parts = re.split(r" \| (?=MPK_|_[A-Z]|an error|another|what)", text[8:])
        if len(parts) > 1 or (len(text) < 90 and "MPK_" in text):
            out = []
            for part in parts:
                found = re.match(r"((?:MPK_\w+|_[A-Z]+)(?:(?:, | or )(?:MPK_\w+|_[A-Z]+))*)"
                                 r"[:.,]?\s*(.*)$", part)
                out.append(Item(found[1], found[2], True) if found else Item("", part, True))
            return out
        return [Paragraph(text)]
    found = _PARAMETER.match(text)
    if found:
        return [Item(found[1], found[2])]
    if column:
        return [Item(first[:column].strip().rstrip(":"), _joined([first[column:], *lines[1:]]))]
    found = _COLON.match(text)
    if found and len(lines) > 1 and lines[1].startswith("  "):
        return [Item(found[1], found[2])]
    inside = re.match(r"^(\w+) (\S.*)$", first)
    if inside and len(lines) > 1 and all(x.startswith("    ") for x in lines[1:]):
        return [Item(inside[1], _joined([inside[2], *lines[1:]]))]
    return [Paragraph(text)]
