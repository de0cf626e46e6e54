# SPDX-License-Identifier: BSD-3-Clause
"""A context of the library: one caller at a time, errors as exceptions, Ctrl-C, fork.

Calls release the interpreter's lock.  A context has a lock of its own: threads that share an object
take turns, different objects run at the same time.  A forked child goes on with what its parent made.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Optional

from ._errors import ArgumentError, MetapackError, by_name
from ._lib import ffi, lib, status_names, text

#: ``progress(stage, fraction)``; a true result cancels the call.
Progress = Callable[[str, float], Any]


@ffi.callback("mpk_progress_fn", error=1)  # type: ignore[untyped-decorator]
def _on_progress(stage: Any, fraction: float, user: Any) -> int:
    return ffi.from_handle(user).told(stage, fraction)  # type: ignore[no-any-return]


class _Watch:
    """What one long call tells and asks."""

    def __init__(self, progress: Optional[Progress]) -> None:
        self.progress = progress
        self.cancel = False
        self.error: Optional[BaseException] = None

    def told(self, stage: Any, fraction: float) -> int:
        if self.cancel:
            return 1
        if self.progress is not None:
            try:
                if self.progress(text(stage), fraction):
                    self.cancel = True
            except BaseException as error:  # raised again by the caller
                self.error = error
                self.cancel = True
        return 1 if self.cancel else 0


class Context:
    """Owns an ``mpk_context`` and the objects made with it, which end before it."""

    def __init__(self) -> None:
        self._handle = ffi.new("mpk_context **")
        self._owned: list[tuple[Any, Any]] = []
        self._lent: list[tuple[Any, Any]] = []  # objects of other contexts that use these
        self.lock = threading.RLock()
        status = lib.mpk_context_create(ffi.NULL, self._handle)
        if status < 0:  # no memory, or a word in METAPACK_CPU that is none
            words = ffi.new("char *[1]")
            lib.mpk_last_error(ffi.NULL, ffi.NULL, ffi.NULL, words)
            memory = status == lib.MPK_ERR_MEMORY
            raise by_name[status_names[status]](
                "no memory for a context" if memory else text(words[0])
            )
        _living.add(self)

    @property
    def closed(self) -> bool:
        return bool(self._handle[0] == ffi.NULL)

    def close(self) -> None:
        """End the context and what was made with it."""
        with self.lock:
            for destroy, place in reversed(self._owned + self._lent):
                destroy(place)
            lib.mpk_context_destroy(self._handle)

    @property
    def pointer(self) -> Any:
        if self.closed:
            raise ArgumentError("the object was closed", "argument")
        return self._handle[0]

    def forked(self) -> None:
        """In a child: a thread of the parent may have had the lock, or its call may be told of."""
        self.lock = threading.RLock()
        if not self.closed:
            lib.mpk_context_set_progress(self._handle[0], ffi.NULL, ffi.NULL)

    def own(self, kind: str) -> Any:
        """A place for a handle, ``mpk_factor **`` for kind "factor", freed with the context."""
        place = ffi.new(f"mpk_{kind} **")
        self._owned.append((getattr(lib, f"mpk_{kind}_destroy"), place))
        return place

    def borrow(self, lender: Context, place: Any, kind: str) -> None:
        """The object in ``place`` uses one of another context, which lives as long and, should both end
        at the same time, ends after it."""
        self._lender = lender
        with lender.lock:
            lender._lent = [lent for lent in lender._lent if lent[1][0] != ffi.NULL]
            lender._lent.append((getattr(lib, f"mpk_{kind}_destroy"), place))

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is None:
            return
        for destroy, place in reversed(self._owned + self._lent):
            destroy(place)
        lib.mpk_context_destroy(handle)

    # ---- errors ----------------------------------------------------------------------------------

    def message(self) -> tuple[str, int, str]:
        """Stage, index and text of the last failure."""
        out = ffi.new("char *[2]")
        index = ffi.new("int64_t *")
        lib.mpk_last_error(self.pointer, out, index, out + 1)
        return text(out[0]), int(index[0]), text(out[1])

    def error(self, status: int, hint: str = "") -> MetapackError:
        """The exception for a negative status."""
        stage, index, words = self.message()
        kind = by_name.get(status_names.get(status, ""), MetapackError)
        name = text(lib.mpk_status_name(status))
        words = words or text(lib.mpk_status_text(status))
        return kind(words + hint, name, stage, index)

    def check(self, status: int, hint: str = "") -> int:
        if status < 0:
            raise self.error(status, hint)
        return status

    # ---- calls -----------------------------------------------------------------------------------

    def call(self, function: Any, *args: Any, long: bool = False,
             progress: Optional[Progress] = None) -> int:  # fmt: skip
        """``function(ctx, *args)``, its status.  ``long``: Ctrl-C must be able to end it."""
        with self.lock:
            if not long and progress is None:
                return function(self.pointer, *args)  # type: ignore[no-any-return]
            watch = _Watch(progress)
            handle = ffi.new_handle(watch)
            lib.mpk_context_set_progress(self.pointer, _on_progress, handle)
            try:
                if threading.current_thread() is threading.main_thread():
                    status = self._interruptible(watch, function, args)
                else:
                    status = function(self.pointer, *args)
            finally:
                lib.mpk_context_set_progress(self.pointer, ffi.NULL, ffi.NULL)
            if watch.error is not None:
                raise watch.error
            return status

    def _interruptible(self, watch: _Watch, function: Any, args: tuple[Any, ...]) -> int:
        """In a thread of its own: the main one, which alone receives signals, waits for it."""
        result: list[int] = []
        done = threading.Event()

        def work() -> None:
            try:
                result.append(function(self.pointer, *args))
            except BaseException as error:
                watch.error = error
                result.append(0)
            finally:
                done.set()

        thread = threading.Thread(target=work, name="metapack", daemon=True)
        thread.start()
        while not done.is_set():
            try:
                done.wait()
            except BaseException as error:  # KeyboardInterrupt, or what a signal handler raised
                watch.error = error
                watch.cancel = True
        thread.join()
        return result[0]


_living: weakref.WeakSet[Context] = weakref.WeakSet()


def _forked() -> None:
    for context in list(_living):
        context.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
