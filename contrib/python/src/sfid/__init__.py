# SPDX-License-Identifier: MIT
"""Unique, time-ordered 64-bit IDs, by libsfid. README.md has an example."""
import ctypes
import os
import threading
import time
import weakref
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, NamedTuple, Optional, Union

from . import _c
from ._c import FORMS, Code, Error, lib

__all__ = ["Code", "Error", "FORMS", "Generator", "Layout", "Parts", "decode", "from_text", "to_text"]
Path = Union[str, "os.PathLike[str]"]
Moment = Union[datetime, int]  # with a time zone; or Unix milliseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_time, _getpid = time.time, os.getpid  # not what a test puts in their place


def _check(code: int, at: Optional[int] = None) -> int:
    if code < 0:
        raise Error(code, at=at)
    return code


def _fits(value: int, bits: int, code: Code = Code.EINVAL) -> int:
    if not 0 <= value < 1 << bits:  # ctypes would drop the rest
        raise Error(code, f"{value} is out of range")
    return value


def _string(value: Path) -> bytes:
    if b"\0" in os.fsencode(value):  # C would drop the rest
        raise Error(Code.EINVAL, f"{value!r} has a NUL")
    return os.fsencode(value)


def _ms(moment: Moment) -> int:
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise ValueError("a time without a time zone may mean several moments")
        moment = (moment - _EPOCH) // timedelta(milliseconds=1)
    return max(-(1 << 63), min(moment, (1 << 63) - 1))


@dataclass(frozen=True)
class Parts:
    """What an ID is made of. unix_ms: when its tick begins; random: of a UUID."""

    id: int
    tick: int
    pid: int
    seq: int
    unix_ms: int
    random: int = 0

    @property
    def time(self) -> datetime:
        """unix_ms in UTC; OverflowError past the year 9999."""
        return _EPOCH + timedelta(milliseconds=self.unix_ms)


Field = NamedTuple("Field", [("name", str), ("shift", int), ("bits", int), ("kind", str)])


class Layout:
    """A preset's name, TIME:PID:SEQ[/UNIT][@EPOCH_MS], or one of up to 128 bits, such as uuid7."""

    def __init__(self, text: str = "sfid") -> None:
        self._c, self.wide = _c.Layout(), False
        if lib.layout_parse(_string(text), self._c) < 0:
            self._c, self.wide = _c.WideLayout(), True
            if lib.wide_layout_parse(_string(text), self._c) < 0:
                raise Error(Code.EINVAL, f"{text!r} is no layout")
        self.epoch_ms: int = self._c.epoch_ms
        self.unit_ms: int = 1 if self.wide else self._c.unit_ms
        fields = (_c.Field * 8)()
        count = _check(self._call("layout_fields", fields, 8))
        self.fields = tuple(Field(f.name.decode(), f.shift, f.bits, _c.KINDS[f.kind]) for f in fields[:count])

    def _call(self, name: str, *arguments: Any) -> int:
        """Of a function that there is twice, the one for this layout."""
        result: int = getattr(lib, "wide_" + name if self.wide else name)(self._c, *arguments)
        return result

    def _bound(self, name: str, *arguments: Any) -> int:
        if self.wide:
            raise Error(Code.EUNSUPPORTED, f"{self} has more than 64 bits")
        return _check(self._call(name, *arguments))

    def __str__(self) -> str:
        text = ctypes.create_string_buffer(64)
        _check(self._call("layout_format", text, len(text)))
        return text.value.decode()

    def decode(self, id: int) -> Parts:
        """Takes an ID apart."""
        p = _c.WideParts() if self.wide else _c.Parts()
        _check(self._call("parse", _c.Wide(_fits(id, 128) >> 64, id) if self.wide else _fits(id, 63), p))
        return Parts(id, p.tick, p.pid, p.seq, p.unix_ms, p.random if self.wide else 0)

    def split(self, id: int) -> Dict[str, int]:
        """The fields of an ID under the layout's own names."""
        return {f.name: self.decode(id).id >> f.shift & (1 << f.bits) - 1 for f in self.fields}

    def compose(self, tick: int, pid: int, seq: int, random: int = 0) -> int:
        """Puts an ID together. The promise that no two are equal does not cover it."""
        numbers = _fits(tick, 64, Code.EOVERFLOW), _fits(pid, 64), _fits(seq, 64), _fits(random, 64 if self.wide else 0)
        id, parts = (_c.Wide(), _c.WideParts(*numbers)) if self.wide else (ctypes.c_int64(), _c.Parts(*numbers[:3]))
        _check(self._call("compose", parts, id))
        return int(id.high << 64 | id.low if self.wide else id.value)

    def tick_at(self, moment: Moment) -> int:
        """The tick of a moment; an error before the epoch and past the end."""
        tick = ctypes.c_uint64()
        self._bound("tick_at", _ms(moment), tick)
        return tick.value

    def min_at(self, moment: Moment) -> int:
        """The lowest ID of a moment's tick, for BETWEEN. Outside the layout's range the nearer end counts."""
        return self._bound("min_at", _ms(moment))

    def max_at(self, moment: Moment) -> int:
        """The highest ID of a moment's tick."""
        return self._bound("max_at", _ms(moment))


def decode(id: int, layout: Union[Layout, str] = "sfid") -> Parts:
    """Takes an ID apart."""
    return (Layout(layout) if isinstance(layout, str) else layout).decode(id)


def to_text(id: int, form: str = "base62", width: int = 0, bits: int = 64) -> str:
    """Writes an ID, padded with zeros to a width; 0: the form's own. For the form bytes there is int.to_bytes()."""
    text, number = ctypes.create_string_buffer(40), _c.Wide(_fits(id, 128) >> 64, id) if bits == 128 else _fits(id, 63)
    write = lib.wide_to_text if bits == 128 else lib.to_text_padded
    _check(write(_form(form if form != "bytes" else ""), number, _fits(width, 32), text, len(text)))
    return text.value.decode()


def from_text(text: Union[str, bytes], form: str = "base62", bits: int = 64) -> int:
    """Reads an ID; form bytes: from bytes. An error says at which byte the text goes wrong."""
    raw = text if isinstance(text, bytes) else text.encode()
    wide, id, at = _c.Wide(), ctypes.c_int64(), ctypes.c_size_t()
    read, number = (lib.wide_from_text, wide) if bits == 128 else (lib.from_text_at, id)
    code = read(_form(form), raw, len(raw), number, at)
    _check(code, at.value)
    return int(wide.high << 64 | wide.low if bits == 128 else id.value)


def _form(name: str) -> int:
    return FORMS.index(name) if name in FORMS else -1


class Generator:
    """Generates IDs of an app, for any number of threads and forked children. README.md lists the options.

    Some IDs are drawn in advance, in a tick that wants several: as many as it has had, at most batch and at most a 64th of a tick.

    No two calls return the same ID: each is in _ids once, and list.pop() takes it out in one step. A forked child has a copy of the
    list, and does not use it: a hook empties it there; where no hook runs, because C code forked, the process ID is not _owner.

    No ID is older than its call: the list is used while the tick of its lowest ID lasts. (So _owner cannot come back meanwhile.)

    They are in order: if one call returns before another begins, its ID is lower. The list gives its lowest first, _lock makes one
    step of drawing for the list and filling it, and a call that draws past the list drops it before it returns.
    """

    def __init__(self, app: Optional[str] = None, store: Optional[str] = None, *, layout: Union[Layout, str] = "sfid",
                 batch: int = 256, exhaustion: str = "wait", on_unknown: str = "wait_out",
                 run_dir: Optional[Path] = None, state_dir: Optional[Path] = None, **numbers: int) -> None:
        self.layout = Layout(layout) if isinstance(layout, str) else layout
        options, self._handle = _c.options(), ctypes.c_void_p()
        setattr(options, "wide" if self.layout.wide else "layout", ctypes.pointer(self.layout._c))
        options.exhaustion, options.on_unknown = _c.EXHAUSTION.get(exhaustion, -1), _c.ON_UNKNOWN.get(on_unknown, -1)
        for name, text in (("app", app), ("store", store), ("run_dir", run_dir), ("state_dir", state_dir)):
            setattr(options, name, None if text is None else _string(text))
        for name, number in numbers.items():
            if name not in _c.NUMBERS:
                raise TypeError(f"{name} is no option")
            setattr(options, name, number)
            if getattr(options, name) != number:  # ctypes has dropped a part
                raise Error(Code.EINVAL, f"{name} is out of range")
        self._ids: List[int] = []
        self._until, self._last, self._size = 0.0, 0, 0
        self._most = 0 if self.layout.wide else min(batch, (self.layout._c.max_seq + 1) // 64)
        self._forked()
        code = lib.open(self._handle, options)
        self._end = weakref.finalize(self, lib.close, self._handle)  # when it is collected, or at exit
        if code < 0:
            error = self._error(code)
            self._end()
            raise error
        _generators.add(self)

    def __enter__(self) -> "Generator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the generator and gives its pid back. Calls then raise Code.ECLOSED."""
        self._end()
        self._forget()

    def _error(self, code: int) -> Error:
        return Error(code, lib.last_error(self._handle).decode(errors="replace"))

    def _good(self, code: int) -> int:
        if code < 0:
            raise self._error(code)
        return code

    def _forked(self) -> None:
        self._ids.clear()
        self._lock = threading.RLock()  # the other one may be held by a thread that is not here
        self._owner = _getpid()

    def _here(self) -> Any:
        if _getpid() != self._owner:
            self._forked()
        return self._lock

    def _forget(self) -> None:
        with self._here():
            self._ids.clear()
            self._size = 0

    def _draw(self, name: str) -> int:
        if not self.layout.wide:
            return self._good(getattr(lib, name)(self._handle))
        wide = _c.Wide()
        self._good(getattr(lib, name + "_wide")(self._handle, wide))
        return int(wide.high << 64 | wide.low)

    def next(self) -> int:
        """An ID. It may sleep, at most max_wait_ms: if a tick is used up, the clock went back or the window has to be renewed."""
        if _time() < self._until and _getpid() == self._owner:
            try:
                return self._ids.pop()
            except IndexError:
                pass
        first = self._draw("next")
        if self._most > 0:
            self._fill(first)
        return first

    def _fill(self, first: int) -> None:
        with self._here():
            if self._ids[-1:] > [first]:
                return  # another thread has filled the list since
            c = self.layout._c
            more = first >> c.time_shift == self._last >> c.time_shift and not self._ids
            self._size, self._last = min(2 * self._size + 1, self._most) if more else 0, first
            self._ids.clear()
            wanted = min(self._size, c.max_seq - (first >> c.seq_shift & c.max_seq))  # the rest of the tick: no sleep
            ids = (ctypes.c_int64 * wanted)()
            got = lib.next_n(self._handle, ids, wanted) if wanted else 0
            if got > 0 and self._last == first:  # else a signal handler has been here and done the same
                self._until = (((ids[0] >> c.time_shift) + 1) * c.unit_ms + c.epoch_ms) / 1000
                self._ids[:] = ids[got - 1 :: -1]

    def try_next(self) -> int:
        """An ID without ever sleeping; Code.EAGAIN where that would. retry_ms() says for how long."""
        lock = self._here()
        if not lock.acquire(blocking=False):  # whoever has it may be asleep
            raise Error(Code.EAGAIN)
        try:
            self._ids.clear()
            self._size = 0
            return self._draw("try_next")
        finally:
            lock.release()

    def next_n(self, n: int) -> List[int]:
        """Up to n IDs, increasing. Fewer only if max_wait_ms, the window, the clock or a close ended the call."""
        kind: Any = _c.Wide if self.layout.wide else ctypes.c_int64
        ids = (kind * n)()
        got = self._good((lib.next_n_wide if self.layout.wide else lib.next_n)(self._handle, ids, n))
        self._forget()
        return [id.high << 64 | id.low for id in ids[:got]] if self.layout.wide else list(ids[:got])

    def retry_ms(self) -> int:
        """How long until try_next() may succeed again."""
        return self._good(lib.retry_ms(self._handle))

    def ready(self) -> bool:
        """Whether IDs can be generated now: for a readiness probe."""
        return bool(lib.ready(self._handle))

    @property
    def pid(self) -> int:
        return self._good(lib.pid(self._handle))

    def status(self) -> Dict[str, Any]:
        """The members of sfid_status_info."""
        info = _c.Status()
        self._good(lib.status(self._handle, info))
        return {name: getattr(info, name) for name, _ in info._fields_ if name != "reserved"}


_generators: "weakref.WeakSet[Generator]" = weakref.WeakSet()


def _after_fork() -> None:
    for generator in list(_generators):
        generator._forked()


os.register_at_fork(after_in_child=_after_fork)
