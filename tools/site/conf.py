# SPDX-License-Identifier: BSD-3-Clause
"""Settings of Sphinx for the site (docs/design/site.md); tools/site/build runs it."""
import re
import sys
import types
from pathlib import Path
from unittest.mock import MagicMock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

project = "METAPACK"
version = release = re.search(r"project\(metapack VERSION ([\d.]+)",
                              (ROOT / "CMakeLists.txt").read_text())[1]
author = copyright = "the authors of METAPACK"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
myst_heading_anchors = 6
myst_enable_extensions = ["html_image"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
highlight_language = "text"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"METAPACK {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
pygments_style, pygments_dark_style = "default", "monokai"
html_theme_options = {
    "light_css_variables": {"font-stack": "system-ui, -apple-system, 'Segoe UI', sans-serif",
                            "font-stack--monospace": "ui-monospace, 'DejaVu Sans Mono', monospace"},
}


def stand_in() -> None:
    """pymetapack is read for its docstrings: the library, which may not be built, is not called."""
    ffi = MagicMock(name="ffi")
    ffi.callback = lambda *_, **__: lambda function: function
    ffi.typeof.return_value.fields = []
    ffi.typeof.return_value.elements = {}
    ffi.string.return_value = release.encode()
    ffi.sizeof.return_value = ffi.cast.return_value.struct_size = 1
    ffi.dlopen.return_value.mpk_option_at.return_value = ffi.NULL
    sys.modules["pymetapack._cffi"] = types.SimpleNamespace(ffi=ffi)
    sys.modules["pymetapack._version"] = types.SimpleNamespace(__version__=release)
    sys.path.insert(0, str(ROOT / "plugins" / "python" / "src"))


stand_in()


def plain(app, what, name, obj, options, lines) -> None:
    """|D| is an absolute value, no substitution."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[k] = re.sub(r"(?<!\\)\|(?=\S)|(?<=\S)(?<!\\)\|", r"\\|", line)


def setup(app) -> None:
    app.connect("autodoc-process-docstring", plain)
