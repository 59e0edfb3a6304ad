// SPDX-License-Identifier: MIT

package sfid

/*
#include <sfid.h>
#include <string.h>

static int go_from_text(sfid_form form, _GoString_ text, int64_t *id, size_t *at) {
    const size_t len = _GoStringLen(text);
    return sfid_from_text_at(form, len ? _GoStringPtr(text) : "", len, id, at);
}
// Of the two layouts one is wanted. Its text is short, and has no NUL.
static int go_layout(_GoString_ text, sfid_layout *l, sfid_wide_layout *wide) {
    char copy[2 * SFID_LAYOUT_STR_LEN] = "";
    const size_t len = _GoStringLen(text);
    strncat(copy, len ? _GoStringPtr(text) : "", len < sizeof copy ? len : sizeof copy - 1);
    return strlen(copy) < len ? SFID_EINVAL : l ? sfid_layout_parse(copy, l) : sfid_wide_layout_parse(copy, wide);
}
// Writes nothing if the layout is unusable.
static int go_wide_bounds(const sfid_wide_layout *l, int64_t ms, void *low, void *high) {
    sfid_wide a, b;
    if (sfid_wide_min_at(l, ms, &a) < 0 || sfid_wide_max_at(l, ms, &b) < 0)
        return SFID_EINVAL;
    return sfid_wide_to_text(SFID_BYTES, a, 0, low, 16) + sfid_wide_to_text(SFID_BYTES, b, 0, high, 16);
}
*/
import "C"

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// A Code is an error of the library: errors.Is(err, sfid.ErrAgain).
type Code int

const (
	// mirrors: go-codes
	ErrInval       Code = C.SFID_EINVAL
	ErrNoMem       Code = C.SFID_ENOMEM
	ErrAgain       Code = C.SFID_EAGAIN
	ErrBusy        Code = C.SFID_EBUSY
	ErrClock       Code = C.SFID_ECLOCK
	ErrOverflow    Code = C.SFID_EOVERFLOW
	ErrLease       Code = C.SFID_ELEASE
	ErrNoPid       Code = C.SFID_ENOPID
	ErrRedis       Code = C.SFID_EREDIS
	ErrAuth        Code = C.SFID_EAUTH
	ErrLayout      Code = C.SFID_ELAYOUT
	ErrState       Code = C.SFID_ESTATE
	ErrClosed      Code = C.SFID_ECLOSED
	ErrUnsupported Code = C.SFID_EUNSUPPORTED
	// mirrors: end
)

func (c Code) Error() string { return "sfid: " + C.GoString(C.sfid_strerror(C.int(c))) }

// An Error is a Code with a sentence for the operator. errors.As finds it.
type Error struct {
	Code Code
	Text string
	At   int // of a text that is no ID: where it goes wrong
}

func (e *Error) Error() string { return "sfid: " + e.Text }
func (e *Error) Unwrap() error { return e.Code }

// explained makes an error of a negative code.
func explained(code C.int, format string, about ...any) error {
	if code >= 0 {
		return nil
	}
	return &Error{Code: Code(code), Text: fmt.Sprintf(format, about...) + ": " + C.GoString(C.sfid_strerror(code))}
}

// An ID is never negative. In JSON it is a string, since JavaScript's numbers end at 2^53; in SQL a bigint.
type ID int64

// A Form is how an ID is written.
type Form int

const Dec, Hex, Base62, Base32, Base58, Bytes Form = C.SFID_DEC, C.SFID_HEX, C.SFID_BASE62, C.SFID_BASE32, C.SFID_BASE58, C.SFID_BYTES

// Text writes an ID with at least width digits. 0 is the form's own width, in which texts sort as IDs do.
func (id ID) Text(f Form, width uint) (string, error) {
	var text [C.SFID_TEXT_LEN]C.char
	n := C.sfid_to_text_padded(C.sfid_form(f), C.int64_t(id), C.uint(width), &text[0], C.SFID_TEXT_LEN)
	if n < 0 {
		return "", explained(n, "ID %d, form %d, width %d", int64(id), f, width)
	}
	return C.GoStringN(&text[0], n), nil
}

// ParseID reads an ID. Each byte has to be a digit of the form.
func ParseID(f Form, text string) (id ID, err error) {
	var at C.size_t
	if code := C.go_from_text(C.sfid_form(f), text, (*C.int64_t)(&id), &at); code < 0 {
		err = &Error{Code: Code(code), At: int(at), Text: fmt.Sprintf("%q is no ID, from byte %d on", text, at)}
	}
	return id, err
}

// String writes an ID in decimal.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// Time returns the begin of the tick in an ID of the default layout. Layout.Parse is for all.
func (id ID) Time() time.Time {
	p, _ := (*Layout)(nil).Parse(id)
	return p.Time
}

// MarshalJSON writes an ID as a string.
func (id ID) MarshalJSON() ([]byte, error) { return []byte(`"` + id.String() + `"`), nil }

// UnmarshalJSON reads an ID from a string or a whole number. null changes nothing.
func (id *ID) UnmarshalJSON(json []byte) error {
	if text := string(json); text != "null" {
		return id.Scan(strings.Trim(text, `"`))
	}
	return nil
}

// Value stores an ID as a bigint.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an ID from a bigint or a decimal text.
func (id *ID) Scan(from any) error {
	switch v := from.(type) {
	case []byte:
		from = string(v)
	case int64, string:
	default:
		return &Error{Code: ErrInval, Text: fmt.Sprintf("a %T is no ID", from)}
	}
	got, err := ParseID(Dec, fmt.Sprint(from))
	if err == nil {
		*id = got
	}
	return err
}

// A Layout says how an ID is cut into fields. nil is the default layout.
type Layout C.sfid_layout

func (l *Layout) c() *C.sfid_layout { return (*C.sfid_layout)(l) }

// ParseLayout reads a preset's name, or TIME:PID:SEQ[/UNIT][@EPOCH_MS].
func ParseLayout(text string) (*Layout, error) {
	l := &Layout{}
	return l, explained(C.go_layout(text, l.c(), nil), "layout %q", text)
}

// Parts are what an ID is made of. Time is when its tick began.
type Parts struct {
	Tick, Pid, Seq uint64
	Time           time.Time
}

// Parse takes an ID apart.
func (l *Layout) Parse(id ID) (Parts, error) {
	var p C.sfid_parts
	if code := C.sfid_parse(l.c(), C.int64_t(id), &p); code < 0 {
		return Parts{}, explained(code, "ID %d", int64(id))
	}
	return Parts{uint64(p.tick), uint64(p.pid), uint64(p.seq), time.UnixMilli(int64(p.unix_ms)).UTC()}, nil
}

// Compose puts an ID together from tick, pid and sequence. It may not be unique.
func (l *Layout) Compose(p Parts) (id ID, err error) {
	c := C.sfid_parts{tick: C.uint64_t(p.Tick), pid: C.uint64_t(p.Pid), seq: C.uint64_t(p.Seq)}
	err = explained(C.sfid_compose(l.c(), &c, (*C.int64_t)(&id)), "%+v", p)
	return id, err
}

// TickAt finds the tick that contains a moment.
func (l *Layout) TickAt(t time.Time) (tick uint64, err error) {
	err = explained(C.sfid_tick_at(l.c(), C.int64_t(t.UnixMilli()), (*C.uint64_t)(&tick)), "%v", t)
	return tick, err
}

// Bounds returns the lowest and the highest ID of the tick that contains a moment, for range queries.
func (l *Layout) Bounds(t time.Time) (lowest, highest ID) {
	ms := C.int64_t(t.UnixMilli())
	return ID(C.sfid_min_at(l.c(), ms)), ID(C.sfid_max_at(l.c(), ms))
}

// A WideLayout is one of IDs of 128 bits: UUIDs of version 7, and flakes.
type WideLayout C.sfid_wide_layout

// ParseWideLayout reads uuid7, flake, flake-go, awsflake or awsflake@EPOCH_MS.
func ParseWideLayout(text string) (*WideLayout, error) {
	l := &WideLayout{}
	return l, explained(C.go_layout(text, nil, (*C.sfid_wide_layout)(l)), "wide layout %q", text)
}

// Bounds returns the lowest and the highest ID of the millisecond that contains a moment, for range queries. All UUIDs of version
// 7 lie between these bounds, also those of other makers. Both are zero if ParseWideLayout failed.
func (l *WideLayout) Bounds(t time.Time) (lowest, highest [16]byte) {
	C.go_wide_bounds((*C.sfid_wide_layout)(l), C.int64_t(t.UnixMilli()), unsafe.Pointer(&lowest), unsafe.Pointer(&highest))
	return lowest, highest
}
