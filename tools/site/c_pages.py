# SPDX-License-Identifier: BSD-3-Clause
"""The reference of the C API as pages of Sphinx, one for each public header."""
import re
from typing import Callable

import headers
from headers import Entry, Header, Item, Paragraph

Link = Callable[[str], str]  # a file of the project -> the page that shows it, or ""


def known(all_headers: list[Header]) -> dict[str, str]:
    """Public name -> role that links to it."""
    roles = {"function": "func", "struct": "struct", "enum": "enum", "type": "type",
             "macro": "macro"}
    out: dict[str, str] = {}
    for header in all_headers:
        for entry in header.entries:
            out[entry.name] = roles[entry.kind]
            if entry.kind == "enum":
                out |= {m.name: "enumerator" for m in entry.members}
    return out


TOKEN = re.compile(r"`(?P<code>[^`]+)`|"
                   r"(?P<path>\b(?:docs|examples|bench|plugins)/[\w/.-]+\.\w+)|"
                   r"\b(?P<name>(?:mpk|MPK)_\w+)(?P<call>\(\))?")


class Writer:
    def __init__(self, names: dict[str, str], link: Link) -> None:
        self.names, self.link = names, link

    def inline(self, text: str) -> str:
        """The words of a comment, with links from names and files."""
        out, at = "", 0
        for match in TOKEN.finditer(text):
            plain, token = text[at:match.start()], self.token(match)
            out += re.sub(r"([\\*`|_])", r"\\\1", plain)
            # a role begins and ends where a word does; elsewhere an escaped blank parts the two
            out += token if not out or out[-1] in " ('\"[<-/:" else "\\ " + token
            at = match.end()
            out += "\\ " if text[at:at + 1] not in (*" '\")]>-/:.,;!?", "") else ""
        return out + re.sub(r"([\\*`|_])", r"\\\1", text[at:])

    def token(self, match: re.Match) -> str:
        code, path, name = match.group("code", "path", "name")
        if code:
            return f"``{code}``"
        if path:
            target = self.link(path)
            return f":doc:`{path} </{target}>`" if target else f"``{path}``"
        role = self.names.get(name)
        if not role or name == self.here:
            return f"``{name}{match['call'] or ''}``"
        return f":c:{role}:`{name}`"

    def body(self, doc: str, indent: str) -> list[str]:
        out: list[str] = []
        parts = headers.blocks(doc)
        for k, block in enumerate(parts):
            first = k == 0 or not isinstance(parts[k - 1], Item) or \
                parts[k - 1].returns != getattr(block, "returns", None)
            if isinstance(block, Paragraph):
                out += ["", indent + self.inline(block.text)]
            elif block.returns:
                if first:
                    out += ["", indent + "Returns", ""]
                term = re.sub(r"(?<!\w)_(?=[A-Z])", "MPK_ERR_", block.term)
                out.append(f"{indent}* {self.inline(term)}{': ' if term and block.text else ''}"
                           f"{self.inline(block.text)}")
            else:
                out += [""] if first else []
                way = re.match(r"(\[\w+\]),? *(.*)$", block.text)
                way, text = way.groups() if way else ("", block.text)
                out += [f"{indent}``{block.term}``" + (f" :way:`{way}`" if way else ""),
                        f"{indent}    {self.inline(text) or '..'}"]
        return out

    def group(self, entries: list[Entry]) -> list[str]:
        out: list[str] = []
        functions = [e for e in entries if e.kind == "function"]
        if len(functions) == len(entries):
            out = ["", ".. c:function:: " + ("\n" + " " * 16).join(e.text for e in functions)]
            self.here = entries[0].name
            return out + self.body(next((e.doc for e in entries if e.doc), ""), "   ")
        for entry in entries:
            self.here = entry.name
            name = entry.text.split(" ")[0] if entry.kind == "macro" else \
                entry.text if entry.kind == "type" else entry.name
            kind = "struct" if entry.kind == "struct" else entry.kind
            if kind == "function":
                name = entry.text
            out += ["", f".. c:{kind}:: {name}"]
            if entry.kind == "macro" and " " in entry.text:
                out += ["", f"   ``{entry.text.split(' ', 1)[1]}``"]
            out += self.body(entry.doc, "   ")
            for member in entry.members:
                kind = "enumerator" if entry.kind == "enum" else "member"
                out += ["", f"   .. c:{kind}:: {member.text}"]
                out += self.body(" ".join(member.doc.split()), "      ")
        return out

    def page(self, header: Header) -> str:
        self.here = ""
        title = f"{header.name}.h"
        out = [title, "=" * len(title), "", f"``#include <metapack/{title}>``", *self.body(header.doc, "")]
        for group in header.groups:
            out += self.group(group)
        return "\n".join(out) + "\n"


def index(all_headers: list[Header], writer: Writer) -> str:
    writer.here = ""
    first, rest = all_headers[0], all_headers[1:]
    out = ["C API", "=====", *writer.body(first.doc, ""), "", "The headers", "-----------", "",
           ".. list-table::", "   :widths: 25 75", ""]
    for header in rest:
        out += [f"   * - :doc:`{header.name}.h <{header.name}>`",
                f"     - {writer.inline(header.summary)}"]
    out += ["", "Functions", "---------", "", ".. list-table::", "   :widths: 45 55", ""]
    for header in rest:
        for group in header.groups:
            functions = [e for e in group if e.kind == "function"]
            if functions:
                doc = next((e.doc for e in group if e.doc), "")
                text = " ".join(doc.split("\n\n")[0].split())
                text = re.split(r"(?<=\w[.?:]) ", text + " ")[0].rstrip(":").strip()
                text = text.split(" Returns ")[0]
                out += ["   * - " + ", ".join(f":c:func:`{e.name}`" for e in functions),
                        f"     - {writer.inline(text)}"]
    out += ["", ".. toctree::", "   :hidden:", "", *(f"   {h.name}" for h in rest)]
    return "\n".join(out) + "\n"


def write(folder, link: Link) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    all_headers = headers.read_all()
    writer = Writer(known(all_headers), link)
    (folder / "index.rst").write_text(".. role:: way\n\n" + index(all_headers, writer), encoding="utf-8")
    for header in all_headers[1:]:
        (folder / f"{header.name}.rst").write_text(".. role:: way\n\n" + writer.page(header),
                                                   encoding="utf-8")
