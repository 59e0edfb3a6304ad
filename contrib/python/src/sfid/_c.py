# SPDX-License-Identifier: MIT
"""The C interface of sfid.h: structs, functions, errors. tests/test_header.py compares what is written here with the header."""
import ctypes
import enum
from types import SimpleNamespace
from typing import Any, Dict, Optional, Type


class Code(enum.IntEnum):
    """The error codes, in C with SFID_ before each name."""

    # mirrors: python-codes
    EINVAL = -1
    ENOMEM = -2
    EAGAIN = -3
    EBUSY = -4
    ECLOCK = -5
    EOVERFLOW = -6
    ELEASE = -7
    ENOPID = -8
    EREDIS = -9
    EAUTH = -10
    ELAYOUT = -11
    ESTATE = -12
    ECLOSED = -13
    EUNSUPPORTED = -14
    # mirrors: end


FORMS = ("dec", "hex", "base62", "base32", "base58", "uuid", "bytes")
KINDS = ("reserved", "time", "pid", "seq", "fixed", "random")
EXHAUSTION, ON_UNKNOWN = {"wait": 0, "borrow": 1, "fail": 2}, {"wait_out": 0, "trust": 1}

# Types by letter, for structs and prototypes. A struct has one as well: small for itself, a capital for a pointer to it.
_types: Dict[str, Any] = {
    "i": ctypes.c_int, "u": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "b": ctypes.c_uint8, "z": ctypes.c_size_t,
    "s": ctypes.c_char_p, "v": ctypes.c_void_p, "-": None, "a": ctypes.c_char * 160, "r": ctypes.c_uint8 * 5,
    "R": ctypes.c_uint64 * 9, "N": ctypes.POINTER(ctypes.c_int64), "Z": ctypes.POINTER(ctypes.c_size_t),
    "H": ctypes.POINTER(ctypes.c_void_p)}


def _struct(letter: str, name: str, *fields: str) -> Type[Any]:
    """Fields are a letter and the names that have this type, in the struct's order."""
    made = [(member, _types[kind]) for kind, *members in map(str.split, fields) for member in members]
    struct = type(name, (ctypes.Structure,), {"_fields_": made})
    _types[letter], _types[letter.lower()] = ctypes.POINTER(struct), struct
    return struct


Layout = _struct(
    "L", "sfid_layout", "q epoch_ms", "u unit_ms", "b time_bits pid_bits seq_bits time_shift pid_shift seq_shift pid_low",
    "r reserved", "Q max_tick max_pid max_seq")
WideLayout = _struct("M", "sfid_wide_layout", "i kind", "u reserved", "q epoch_ms")
Parts = _struct("P", "sfid_parts", "Q tick pid seq", "q unix_ms")
WideParts = _struct("Y", "sfid_wide_parts", "Q tick pid seq random", "q unix_ms")
Wide = _struct("W", "sfid_wide", "Q high low")
Wide.value = property(lambda wide: wide.high << 64 | wide.low)  # as a c_int64 has it
Field = _struct("F", "sfid_field", "s name", "u shift bits", "i kind")
Options = _struct(
    "O", "sfid_options", "z size",
    # mirrors: python-members
    "s app", "s store", "q pid", "q pid_min", "q pid_max", "L layout", "s run_dir", "s state_dir",
    "i exhaustion", "u max_wait_ms", "u max_ahead_ms", "Q random_start", "u ttl_ms",
    "u heartbeat_ms", "u open_timeout_ms", "u max_skew_ms", "u skew_budget_ms", "i on_unknown",
    "v on_event", "v user", "M wide", "u short_ms", "u keep_pid", "Q share",
    # mirrors: end
)
Status = _struct(
    "X", "sfid_status_info", "i open last_code", "q pid window_ms ahead_ms", "Q issued waits refused regressions",
    "q largest_regression_ms", "Q losses renewals renew_failures", "i keeper_here connected", "a identity", "q skew_ms",
    "Q first_tick limit_tick", "q replicas shared left", "R reserved")
NUMBERS = [name for name, kind in Options._fields_[1:] if kind in (_types["u"], _types["q"], _types["Q"])]


def options() -> Any:
    """SFID_OPTIONS_INIT."""
    return Options(
        size=ctypes.sizeof(Options),
        # mirrors: python-defaults
        pid=-1, pid_min=0, pid_max=0, exhaustion=0, max_wait_ms=2000, max_ahead_ms=10000,
        random_start=0, ttl_ms=600000, heartbeat_ms=180000, open_timeout_ms=5000,
        max_skew_ms=300000, skew_budget_ms=15000, on_unknown=0, short_ms=30000, keep_pid=0,
        share=0,
        # mirrors: end
    )


# The functions, by their names without sfid_. A prototype is the letters of the result and of the arguments. Calls that may sleep
# let other threads run meanwhile (CDLL). For the others that would cost more than the call (PyDLL).
lib: Any = SimpleNamespace()
try:
    _sleeping, _quick = ctypes.CDLL("libsfid.so.0"), ctypes.PyDLL("libsfid.so.0")
except OSError as _error:
    raise ImportError("libsfid is not found: install it and run ldconfig as root, or set LD_LIBRARY_PATH to its directory; "
                      f"{_error}") from _error
for _library, _prototypes in (
    (_sleeping, dict(open="iHO", next="qv", next_n="qvNz", next_wide="ivW", next_n_wide="qvWz", close="-v")),
    (_quick, dict(
        try_next="qv", try_next_wide="ivW", retry_ms="iv", ready="iv", pid="qv", status="ivX", last_error="sv", strerror="si",
        from_text_at="iiszNZ", to_text_padded="iiqusz", wide_from_text="iiszWZ", wide_to_text="iiwusz", layout_parse="isL",
        layout_format="iLsz", layout_fields="iLFz", parse="iLqP", compose="iLPN", min_at="qLq", max_at="qLq",
        wide_layout_parse="isM", wide_layout_format="iMsz", wide_layout_fields="iMFz", wide_parse="iMwY", wide_compose="iMYW",
        wide_min_at="iMqW", wide_max_at="iMqW")),
):
    for _name, _letters in _prototypes.items():
        _function = _library["sfid_" + _name]
        _function.restype, *_function.argtypes = (_types[letter] for letter in _letters)
        setattr(lib, _name, _function)


class Error(Exception):
    """A call failed. code: why; text: one sentence for the operator; at: where a text goes wrong, or None."""

    def __init__(self, code: int, text: str = "", at: Optional[int] = None) -> None:
        super().__init__(code, text, at)  # what pickle makes it from again
        self.code: int = Code(code) if code in list(Code) else code
        self.text: str = text or lib.strerror(code).decode()
        self.at = at

    def __str__(self) -> str:
        name = self.code.name if isinstance(self.code, Code) else str(self.code)
        return f"{self.text} ({name})" if self.at is None else f"{self.text} ({name}, at {self.at})"
