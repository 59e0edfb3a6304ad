# SPDX-License-Identifier: MIT
"""Unique, time-ordered 64-bit IDs, by libsfid. README.md has an example."""
import ctypes
import os
import weakref
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, ContextManager, Dict, List, NamedTuple, Optional, Union

from . import _c
from ._c import FORMS, Code, Error, lib

__all__ = ["Code", "Error", "FORMS", "Generator", "Layout", "Parts", "decode", "from_text", "to_text"]
Path = Union[str, "os.PathLike[str]"]
Moment = Union[datetime, int]  # with a time zone; or Unix milliseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_next = lib.next


def _check(code: int, at: Optional[int] = None) -> int:
    if code < 0:
        raise Error(code, at=at)
    return code


def _fits(value: int, bits: int, code: Code = Code.EINVAL) -> int:
    if not 0 <= value < 1 << bits:  # ctypes would drop the rest
        raise Error(code, f"{value} is out of range")
    return value


def _id(id: int, wide: bool) -> Any:
    return _c.Wide(_fits(id, 128) >> 64, id) if wide else _fits(id, 63)


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

    def _bound(self, name: str, moment: Moment) -> int:
        id = _c.Wide()
        code = _check(self._call(name, _ms(moment), *[id] * self.wide))
        return int(id.value) if self.wide else code

    def __str__(self) -> str:
        text = ctypes.create_string_buffer(64)
        _check(self._call("layout_format", text, len(text)))
        return text.value.decode()

    def decode(self, id: int) -> Parts:
        """Takes an ID apart."""
        p = _c.WideParts() if self.wide else _c.Parts()
        _check(self._call("parse", _id(id, self.wide), p))
        return Parts(id, p.tick, p.pid, p.seq, p.unix_ms, p.random if self.wide else 0)

    def split(self, id: int) -> Dict[str, int]:
        """The fields of an ID under the layout's own names."""
        return {f.name: self.decode(id).id >> f.shift & (1 << f.bits) - 1 for f in self.fields}

    def compose(self, tick: int, pid: int, seq: int, random: int = 0) -> int:
        """Puts an ID together. The promise that no two are equal does not cover it."""
        numbers = _fits(tick, 64, Code.EOVERFLOW), _fits(pid, 64), _fits(seq, 64), _fits(random, 64 if self.wide else 0)
        id, parts = (_c.Wide(), _c.WideParts(*numbers)) if self.wide else (ctypes.c_int64(), _c.Parts(*numbers[:3]))
        _check(self._call("compose", parts, id))
        return int(id.value)

    def tick_at(self, moment: Moment) -> int:
        """The tick of a moment; an error before the epoch and past the end."""
        ms, nearest = _ms(moment), self.decode(self.min_at(moment))
        if not 0 <= ms - nearest.unix_ms < self.unit_ms:
            raise Error(Code.ECLOCK if ms < nearest.unix_ms else Code.EOVERFLOW)
        return nearest.tick

    def min_at(self, moment: Moment) -> int:
        """The lowest ID of a moment's tick, for BETWEEN. Outside the layout's range the nearer end counts."""
        return self._bound("min_at", moment)

    def max_at(self, moment: Moment) -> int:
        """The highest ID of a moment's tick."""
        return self._bound("max_at", moment)


def decode(id: int, layout: Union[Layout, str] = "sfid") -> Parts:
    """Takes an ID apart."""
    return (Layout(layout) if isinstance(layout, str) else layout).decode(id)


def to_text(id: int, form: str = "base62", width: int = 0, bits: int = 64) -> str:
    """Writes an ID, padded with zeros to a width; 0: the form's own. For the form bytes there is int.to_bytes()."""
    text, known = ctypes.create_string_buffer(40), FORMS.index(form) if form in FORMS[:-1] else -1
    write = lib.wide_to_text if bits == 128 else lib.to_text_padded
    _check(write(known, _id(id, bits == 128), _fits(width, 32), text, len(text)))
    return text.value.decode()


def from_text(text: Union[str, bytes], form: str = "base62", bits: int = 64) -> int:
    """Reads an ID; form bytes: from bytes. An error says at which byte the text goes wrong."""
    raw, at = text if isinstance(text, bytes) else text.encode(), ctypes.c_size_t()
    read, id = (lib.wide_from_text, _c.Wide()) if bits == 128 else (lib.from_text_at, ctypes.c_int64())
    code = read(FORMS.index(form) if form in FORMS else -1, raw, len(raw), id, at)
    _check(code, at.value)
    return int(id.value)


class Generator(ContextManager["Generator"]):
    """Generates IDs of an app, for any number of threads and forked children. Options are those of sfid_options.

    Each ID is a call of the library: so what sfid.h promises about order, time and fork holds without an exception. IDs drawn in
    advance would need a guard against fork, and that costs as much as the call (README.md has figures).
    """

    def __init__(self, app: Optional[str] = None, store: Optional[str] = None, *, layout: Union[Layout, str] = "sfid",
                 exhaustion: str = "wait", on_unknown: str = "wait_out", run_dir: Optional[Path] = None,
                 state_dir: Optional[Path] = None, **numbers: int) -> None:
        self.layout = Layout(layout) if isinstance(layout, str) else layout
        self._wide = self.layout.wide
        options, self._handle = _c.options(), ctypes.c_void_p()
        setattr(options, "wide" if self._wide else "layout", ctypes.pointer(self.layout._c))
        options.exhaustion, options.on_unknown = _c.EXHAUSTION.get(exhaustion, -1), _c.ON_UNKNOWN.get(on_unknown, -1)
        for name, text in (("app", app), ("store", store), ("run_dir", run_dir), ("state_dir", state_dir)):
            setattr(options, name, None if text is None else _string(text))
        for name, number in numbers.items():
            if name not in _c.NUMBERS:
                raise TypeError(f"{name} is no option")
            setattr(options, name, number)
            if getattr(options, name) != number:  # ctypes has dropped a part
                raise Error(Code.EINVAL, f"{name} is out of range")
        self._end = weakref.finalize(self, lib.close, self._handle)  # by close(), when it is collected, or at exit
        try:
            self._good(lib.open(self._handle, options))
        except Error:
            self._end()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the generator, and gives its pid back unless a forked child still uses it. Calls then raise Code.ECLOSED."""
        self._end()

    def _good(self, code: int) -> int:
        if code < 0:
            raise Error(code, lib.last_error(self._handle).decode(errors="replace"))
        return code

    def _draw_wide(self, draw: Any) -> int:
        id = _c.Wide()
        self._good(draw(self._handle, id))
        return int(id.value)

    def next(self) -> int:
        """An ID. It may sleep, at most max_wait_ms: if a tick is used up, the clock went back or the window has to be renewed."""
        if self._wide:
            return self._draw_wide(lib.next_wide)
        id: int = _next(self._handle)
        return id if id >= 0 else self._good(id)

    def try_next(self) -> int:
        """An ID without ever sleeping; Code.EAGAIN where that would. retry_ms() says for how long."""
        return self._draw_wide(lib.try_next_wide) if self._wide else self._good(lib.try_next(self._handle))

    def next_n(self, n: int) -> List[int]:
        """Up to n IDs, increasing. Fewer only if max_wait_ms, the window, the clock or a close ended the call."""
        kind: Any = _c.Wide if self._wide else ctypes.c_int64
        ids = (kind * n)()
        got = self._good((lib.next_n_wide if self._wide else lib.next_n)(self._handle, ids, n))
        return [id.value for id in ids[:got]] if self._wide else list(ids[:got])

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
