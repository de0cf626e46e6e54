# SPDX-License-Identifier: BSD-3-Clause
"""Keyword arguments -> mpk_options.  The keys are the library's own (docs/guide/python.md)."""

from __future__ import annotations

import difflib
from typing import Any, Mapping

import numpy as np

from ._context import Context
from ._lib import ffi, lib, text

#: Arrays of the caller's own; all others are numbers and words.
_GIVEN = ("given_perm", "given_blocks", "given_pivots")
_FIELDS: list[str] = [
    name
    for name, _ in ffi.typeof("mpk_options").fields
    if name not in ("struct_size", "reserved", *_GIVEN)
]


def keys() -> tuple[str, ...]:
    """Names of all options, which every function here takes as keyword arguments."""
    return (*_FIELDS, *_GIVEN)


def _described() -> str:
    """The library's table of options, a paragraph for each."""
    paragraphs = []
    index = 0
    while (row := lib.mpk_option_at(index)) != ffi.NULL:
        values = [text(row.words[k]) for k in range(row.count)]
        kind = " | ".join(values) if values else f"{row.least:g} ... {row.most:g} {text(row.unit)}"
        preset = values[int(row.preset)] if values else f"{row.preset:g}"
        sentence, more = text(row.text), text(row.more)
        end = "" if sentence.endswith("?") else "."
        paragraphs.append(
            f"{text(row.key)} : {kind.strip()}; default {preset}\n"
            f"    {sentence[0].upper()}{sentence[1:]}{end}{' ' + more if more else ''}"
        )
        index += 1
    return "\n".join(paragraphs)


keys.__doc__ = f"{keys.__doc__}\n\n{_described()}\n"


def _word(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


class Options:
    """An ``mpk_options`` and what it borrows."""

    def __init__(self, context: Context, given: Mapping[str, Any]) -> None:
        self.pointer = ffi.new("mpk_options *")
        self.given: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}
        lib.mpk_options_init(self.pointer)
        self.update(context, given)

    def copy(self, context: Context, changes: Mapping[str, Any]) -> Options:
        """A copy with changes."""
        return Options(context, {**self.given, **changes})

    def update(self, context: Context, given: Mapping[str, Any]) -> None:
        for key, value in given.items():
            if key in _GIVEN:
                self._set_array(key, value)
            elif key not in _FIELDS:
                near = difflib.get_close_matches(key, _FIELDS, 1)
                raise TypeError(f"there is no option '{key}'" + (f"; '{near[0]}'?" if near else ""))
            else:
                status = lib.mpk_options_set(
                    context.pointer, self.pointer, key.encode(), _word(value).encode()
                )
                context.check(status)
            self.given[key] = value
        lib.mpk_context_set_symmetry_tolerance(context.pointer, self.pointer.symmetry_tolerance)

    def _set_array(self, key: str, value: Any) -> None:
        array = np.ascontiguousarray(value)
        if array.ndim == 1 and array.size == 0:
            array = array.astype(np.int32)  # an empty list is one of floats to NumPy
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"{key} must be a 1-D array of integers")
        if array.size and not abs(int(array.max())) <= 2**31 - 1 >= abs(int(array.min())):
            raise ValueError(f"{key} has entries that are no 32-bit integers")
        self._arrays[key] = array.astype(np.int32)
        setattr(self.pointer, key, ffi.from_buffer("int32_t[]", self._arrays[key]))
        if key == "given_perm":
            self.pointer.ordering = lib.MPK_ORDERING_GIVEN

    def check_order(self, n: int) -> None:
        perm = self._arrays.get("given_perm")
        if perm is not None and len(perm) != n:
            raise ValueError(f"given_perm has {len(perm)} entries, the matrix has order {n}")
        for key in ("given_blocks", "given_pivots"):
            start = self._arrays.get(key)
            if start is None:
                continue
            if not len(start) or start[0] != 0 or start[-1] != n or (np.diff(start) < 1).any():
                raise ValueError(f"{key} must increase from 0 to the order of the matrix, {n}")

    @property
    def method(self) -> str:
        return text(lib.mpk_method_name(self.pointer.method))


def as_dict(struct: Any) -> dict[str, Any]:
    """A C struct as a dict: numbers, words for choices, dicts for structs in it."""
    result: dict[str, Any] = {}
    for name, field in ffi.typeof(struct).fields:
        if name == "reserved":
            continue
        value = getattr(struct, name)
        kind = field.type
        if kind.kind == "struct":
            result[name] = as_dict(value)
        elif kind.kind == "enum":
            key = kind.cname.split("mpk_")[-1]  # the choice's type is named after its option
            result[name] = text(lib.mpk_option_word(key.encode(), int(value)))
            if result[name] == "unknown":  # not an option's: MPK_RANK_FULL is "full"
                result[name] = kind.elements[int(value)].lower().partition(f"_{key}_")[2]
        elif kind.kind == "array":
            result[name] = list(value)
        elif kind.kind == "primitive":
            result[name] = value
    return result
