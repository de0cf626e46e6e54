# SPDX-License-Identifier: BSD-3-Clause
"""What pymetapack offers, read from its sources: nothing is imported, nothing must be built."""
import ast
import re
from dataclasses import dataclass, field

from headers import ROOT

PACKAGE = ROOT / "plugins" / "python" / "src" / "pymetapack"


@dataclass
class Thing:
    name: str
    kind: str  # function, class, exception, property
    arguments: str | None  # None: of a property, of a class that others make
    doc: str
    module: str
    members: list["Thing"] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """The first paragraph, without the marks of reStructuredText."""
        text = " ".join(self.doc.split("\n\n")[0].split())
        return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")


def _arguments(node: ast.FunctionDef) -> str:
    given = node.args
    names = [a.arg for a in given.args if a.arg != "self"]
    for k, value in enumerate(reversed(given.defaults), 1):
        names[-k] += "=" + ast.unparse(value)
    if given.vararg:
        names.append("*" + given.vararg.arg)
    elif given.kwonlyargs:
        names.append("*")
    for arg, value in zip(given.kwonlyargs, given.kw_defaults):
        names.append(arg.arg + ("" if value is None else "=" + ast.unparse(value)))
    if given.kwarg:
        names.append("**" + given.kwarg.arg)
    return ", ".join(names)


def _decorators(node: ast.AST) -> set[str]:
    return {ast.unparse(d).split("(")[0] for d in getattr(node, "decorator_list", [])}


def _class(node: ast.ClassDef, module: str) -> Thing:
    bases = {ast.unparse(b) for b in node.bases}
    kind = "exception" if node.name.endswith(("Error", "Warning")) else "class"
    out = Thing(node.name, kind, None, ast.get_docstring(node) or "", module)
    if "NamedTuple" in bases:
        fields = [x.target.id for x in node.body if isinstance(x, ast.AnnAssign)]
        out.doc = out.doc or ", ".join(fields)
    for part in node.body:
        if not isinstance(part, ast.FunctionDef) or part.name.startswith("_"):
            continue
        marks = _decorators(part)
        doc = ast.get_docstring(part) or ""
        if "overload" in marks or not doc:
            continue
        out.members.append(Thing(part.name, "property" if "property" in marks else "function",
                                 None if "property" in marks else _arguments(part), doc, module))
    return out


def things() -> dict[str, Thing]:
    """All public names, in the order of the package's modules."""
    init = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    out: dict[str, Thing] = {}
    for line in init.body:
        if not isinstance(line, ast.ImportFrom):
            continue
        module = line.module or ""
        path = PACKAGE / f"{module}.py"
        if not path.exists():  # _version, which the build makes
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wanted = {alias.name: alias.asname or alias.name for alias in line.names}
        if "*" in wanted:
            names = next(x.value for x in tree.body if isinstance(x, ast.Assign) and
                         ast.unparse(x.targets[0]) == "__all__")
            wanted = {name: name for name in ast.literal_eval(names)}
        for node in tree.body:
            name = wanted.get(getattr(node, "name", ""))
            if name and isinstance(node, ast.ClassDef):
                out[name] = _class(node, module)
            elif name and isinstance(node, ast.FunctionDef):
                out[name] = Thing(name, "function", _arguments(node),
                                  ast.get_docstring(node) or "", module)
    return out


HEADINGS = (("Factorize and solve", "_make _factor"), ("One dense matrix", "_dense"),
            ("Many small matrices", "_batch"), ("Iterative methods", "_krylov"),
            ("Approximate inverses", "_isai"), ("Files and test matrices", "_files"),
            ("Devices, options, library", "_device _options _lib"),
            ("Exceptions and warnings", "_errors"))


def sections() -> list[tuple[str, list[Thing]]]:
    found = things()
    known = " ".join(modules for _, modules in HEADINGS).split()
    out = [(heading, [t for module in modules.split() for t in found.values()
                      if t.module == module]) for heading, modules in HEADINGS]
    rest = [t for t in found.values() if t.module not in known]
    return out + ([("More", rest)] if rest else [])


def example() -> str:
    """The package's own, as one would type it."""
    init = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    doc = ast.get_docstring(init) or ""
    return "\n".join(line[4:] for line in doc.split("\n") if line.startswith(">>> "))
