# SPDX-License-Identifier: BSD-3-Clause
"""Lay out the pages of the site for Sphinx: the project's Markdown, manual pages, references.

A page keeps its place: docs/guide/x.md is guide/x, src/README.md is src/README.  A link to a file
that is no page leads to a page that shows it, so that the site is whole without the sources.
"""
import functools
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import c_pages
import python_api
from headers import ROOT

SPECIAL = {"README.md": "index", "docs/README.md": "contents", "bench/README.md": "results/index"}
FOLDERS = {"docs/": "", "bench/results/": "results/", "bench/journal/": "journal/"}
LANGUAGES = {".c": "c", ".h": "c", ".cuh": "cuda", ".cu": "cuda", ".cl": "c", ".py": "python",
             ".sh": "sh", ".cmake": "cmake", ".cpp": "c++", ".json": "json"}
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")
RAW_LINK = re.compile(r"((?:src|href|srcset)=\")([^\"]+)(\")")


class Stage:
    def __init__(self, out: Path) -> None:
        self.out = out
        listed = subprocess.run([ROOT / "tools" / "sources"], capture_output=True, text=True,
                                check=True).stdout
        self.files = sorted(set(listed.split("\n")) - {""})
        self.folders = {posixpath.dirname(f) for f in self.files}
        self.folders |= {d[:k] for d in self.folders for k, c in enumerate(d) if c == "/"}
        self.pages = {f: self.name(f) for f in self.files if self.is_page(f)}
        self.shown: dict[str, str] = {}  # file or folder -> page that shows it, made on demand
        self.wrong: list[str] = []  # links to what is not there

    @staticmethod
    def is_page(file: str) -> bool:
        return (file.endswith(".md") and not file.startswith((".", "tests/"))) or \
            bool(re.match(r"man/[\w-]+\.\d$", file))

    @staticmethod
    def name(file: str) -> str:
        if file in SPECIAL:
            return SPECIAL[file]
        if file.startswith("man/"):
            return file
        for folder, to in FOLDERS.items():
            if file.startswith(folder):
                file = to + file[len(folder):]
                break
        return file[:-3]

    def target(self, file: str) -> str:
        """The page that shows a file or a folder of the project; "": there is none."""
        file = posixpath.normpath(file)
        header = re.match(r"include/metapack/(\w+)\.h$", file)
        if header:
            return "reference/c/" + ("index" if header[1] == "metapack" else header[1])
        if file in ("include/metapack", "include"):
            return "reference/c/index"
        if file == "man":
            return "man/index"
        for page in (file, f"{file}/README.md"):
            if page in self.pages:
                return self.pages[page]
        if file in ("bench/results", "bench/journal"):
            return "results/index"
        if file in self.files and not file.endswith((".svg", ".png", ".xz", ".gz")):
            self.shown.setdefault(file, f"source/{file}")
        elif file in self.folders:
            self.shown.setdefault(file, f"source/{file}/index")
        return self.shown.get(file, "")

    # ---- Markdown --------------------------------------------------------------------------------

    def link(self, page: str, file: str, target: str) -> str:
        """A link of `file`, as the page has to write it."""
        if target.startswith("#") and target[1:] not in self.anchors(file):
            self.wrong.append(f"{file}: link to {target}: no such heading")
        if re.match(r"[a-z]+:|#", target):
            return target
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        if path.endswith((".svg", ".png", ".jpg")):
            to = self.picture(path)
            return posixpath.relpath(to, posixpath.dirname(page) or ".")
        to = self.target(path)
        if anchor and path in self.pages and anchor not in self.anchors(path):
            self.wrong.append(f"{file}: link to {target}: no such heading there")
        if not to:
            self.wrong.append(f"{file}: link to {target}, which is not there")
            return "#"
        suffix = "#" + anchor if anchor else ""
        there = posixpath.relpath(to, posixpath.dirname(page) or ".")
        return there + (".md" if path.endswith(".md") or f"{path}/README.md" in self.pages or
                        self.ends_md(to) else ".rst") + suffix

    @functools.lru_cache(None)
    def anchors(self, file: str) -> set[str]:
        """The headings of a page, as links name them."""
        out: set[str] = set()
        text = re.sub(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1\s*$", "", self.text(file), flags=re.S | re.M)
        for heading in re.findall(r"^#+ +(.*?)\s*#*$", text, re.M):
            heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            k = 0
            while (f"{slug}-{k}" if k else slug) in out:
                k += 1
            out.add(f"{slug}-{k}" if k else slug)
        return out | set(re.findall(r'\bid="([^"]+)"', text))

    @staticmethod
    def text(file: str) -> str:
        return (ROOT / file).read_text(encoding="utf-8")

    def ends_md(self, page: str) -> bool:
        return page in self.pages.values() and not page.startswith("man/")

    def picture(self, path: str) -> str:
        """Copy one; those that know of dark themselves are told by their names."""
        to = "_pictures/" + path.replace("/", "-")
        text = (ROOT / path).read_bytes()
        if b"prefers-color-scheme" in text:
            to = to[:-4] + ".adaptive" + to[-4:]
        (self.out / to).parent.mkdir(parents=True, exist_ok=True)
        (self.out / to).write_bytes(text)
        return to

    def markdown(self, file: str) -> None:
        out: list[str] = []
        paragraph: list[str] = []
        fence = ""
        for line in [*self.text(file).split("\n"), ""]:
            mark = FENCE.match(line)
            if mark and (not fence or mark[1].startswith(fence)):
                fence = "" if fence else mark[1]
            elif not fence and line.strip():
                paragraph.append(line)  # a link may go over two lines
                continue
            out += [self.linked(file, "\n".join(paragraph))] if paragraph else []
            paragraph = []
            out.append(line)
        self.write(self.pages[file] + ".md", "\n".join(out))

    def linked(self, file: str, text: str) -> str:
        """A paragraph with its links as the site has them, but for what is in inline code."""
        parts = re.split(r"(`+[^`]*`+)", text)
        text = "".join(f"\0{k}\0" if k % 2 else part for k, part in enumerate(parts))
        for pattern in (LINK, RAW_LINK):
            text = pattern.sub(
                lambda m: m[1] + self.link(self.pages[file], file, m[2]) + m[3], text)
        return re.sub("\0(\\d+)\0", lambda m: parts[int(m[1])], text)

    # ---- the rest --------------------------------------------------------------------------------

    def manual(self, file: str) -> None:
        """A manual page: its sections as those of a page, their content as mandoc makes it."""
        html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", ROOT / file],
                              capture_output=True, text=True, check=True).stdout
        name, section = re.match(r"man/(.*)\.(\d)$", file).groups()
        out = [f"# {name}({section})", ""]
        # what mandoc wants to be the page's own is a section here; a name lists its page once
        for part in re.split(r'<section class="Sh">', html)[1:]:
            heading = re.match(r'\s*<h1 class="Sh" id="([^"]*)"><a[^>]*>(.*?)</a></h1>(.*)</section>',
                               part, re.S)
            title = heading[2].capitalize()
            body = re.sub(r'href="([\w-]+)\.(\d)\.html"', self.manual_link, heading[3])
            body = re.sub(r"<(/?)h2\b", r"<\1h3", body)
            body = re.sub(r'<a class="permalink" href="#[^"]*">(.*?)</a>', r"\1", body, flags=re.S)
            body = re.sub(r"\b(?:docs|examples|bench)/[\w/.-]+\.(?:md|c)\b",
                          lambda m: self.path_link(file, m[0]), body)
            out += [f"## {title}", "", "```{raw} html", f'<div class="manual" id="{heading[1]}">{body}</div>', "```", ""]
        self.write(self.pages[file] + ".md", "\n".join(out))

    def path_link(self, file: str, path: str) -> str:
        to = self.target(path)
        if not to:
            self.wrong.append(f"{file}: names {path}, which is not there")
            return path
        return f'<a href="{posixpath.relpath(to, "man")}.html">{path}</a>'

    def manual_link(self, match: re.Match) -> str:
        page = f"man/{match[1]}.{match[2]}"
        return f'href="{match[1]}.{match[2]}.html"' if page in self.pages else "data-elsewhere"

    def manual_index(self) -> None:
        out = ["# Manual pages", "",
               "The same that `man` and `metapack help` show.", ""]
        names = [f for f in self.pages if f.startswith("man/")]
        for section, title in (("1", "Commands"), ("3", "Libraries")):
            out += [f"## {title}", "", "| page | what it is about |", "|---|---|"]
            pages = [f for f in names if f.endswith(section)]
            for file in sorted(pages, key=lambda f: (f.count("-") + f.count("_"), f)):
                about = re.search(r"^\.Nd (.*)$", self.text(file), re.M)[1]
                about = about.replace("\\(ha", "^").replace("\\(oq", "").replace("\\(cq", "")
                name = file[4:].rsplit(".", 1)[0]
                out.append(f"| [{name}({section})]({file[4:]}.md) | {about} |")
            out += ["", "```{toctree}", ":hidden:", "", *(f[4:] for f in pages), "```", ""]
        self.write("man/index.md", "\n".join(out))

    def sources(self) -> None:
        """Pages that show what others link to; of folders those with examples show all their files."""
        for path in [p for p in self.shown if p in self.folders and "examples" in p]:
            for file in self.files:
                if posixpath.dirname(file) == path:
                    self.target(file)
        for path, page in self.shown.items():
            out = ["---", "orphan: true", "---", "", f"# {path}", ""]
            if path in self.folders:
                inside = sorted({f for f in self.files if posixpath.dirname(f) == path} |
                                {d for d in self.folders if posixpath.dirname(d) == path})
                for file in inside:
                    name = posixpath.basename(file)
                    known = self.pages.get(file) or self.shown.get(file)
                    if known:
                        out.append(f"- [{name}]({posixpath.relpath(known, posixpath.dirname(page))}.md)")
                    else:
                        out.append(f"- {name}")
            else:
                text = self.text(path)
                fence = "`" * (max((len(x) for x in re.findall("`+", text)), default=2) + 3)
                language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
                out += [f"{fence}{language}", text.rstrip("\n"), fence]
            self.write(page + ".md", "\n".join(out) + "\n")

    def python(self) -> None:
        out = ["Python API", "==========", "", ".. py:module:: pymetapack", "",
               "From the docstrings; :doc:`the guide </guide/python>` has the way in.", ""]
        for heading, things in python_api.sections():
            out += [heading, "-" * len(heading), ""]
            for thing in things:
                kind = {"function": "autofunction", "class": "autoclass",
                        "exception": "autoexception"}[thing.kind]
                out += [f".. {kind}:: pymetapack.{thing.name}"]
                if thing.kind == "class":
                    names = ", ".join(m.name for m in thing.members)
                    out += ["   :no-undoc-members:"]
                    out += [f"   :members: {names}"] if names else []
                out.append("")
        self.write("reference/python-api.rst", "\n".join(out))

    def tree(self) -> None:
        """The navigation, below the first page; in the order in which docs/README.md names pages."""
        contents = self.text("docs/README.md")
        named = [self.pages.get(posixpath.normpath("docs/" + m)) for m in
                 re.findall(r"\]\(([^)#\s]+)", contents)]

        def below(*folders: str) -> list[str]:
            inside = sorted(p for p in self.pages.values() if p.startswith(folders))
            return [p for p in dict.fromkeys(named) if p in inside] + \
                [p for p in inside if p not in named]
        rest = sorted(p for p in self.pages.values() if not p.startswith(
            ("guide/", "reference/", "design/", "results/", "journal/", "man/", "index", "contents")))
        loose = {"CHANGELOG": "Changes", "CONTRIBUTING": "Contributing", "SECURITY": "Security"}
        groups = {
            "User guide": ["contents", *below("guide/")],
            "Reference": ["reference/c/index", "reference/python-api", "man/index",
                          *below("reference/")],
            "Design": [*below("design/"), *(p for p in rest if p not in loose)],
            "Measurements": ["results/index"],
            "Project": [f"{title} <{page}>" for page, title in loose.items() if page in rest],
        }
        out = [""]
        for caption, pages in groups.items():
            out += ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
        with open(self.out / "index.md", "a", encoding="utf-8") as file:
            file.write("\n".join(out))
        with open(self.out / "results" / "index.md", "a", encoding="utf-8") as file:
            inside = sorted(p for p in self.pages.values()
                            if p.startswith(("results/", "journal/")) and p != "results/index")
            file.write("\n".join(["", "```{toctree}", ":hidden:", "", *("/" + p for p in inside),
                                  "```", ""]))

    def write(self, name: str, text: str) -> None:
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def all(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        c_pages.write(self.out / "reference" / "c", lambda path: self.target(path))
        self.python()
        for file in self.pages:
            if file.endswith(".md"):
                self.markdown(file)
            else:
                self.manual(file)
        self.manual_index()
        self.sources()
        self.tree()
