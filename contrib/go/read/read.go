// SPDX-License-Identifier: MIT

// Package read takes IDs apart without the C library: it needs no cgo, so it builds wherever Go does. It generates none; package sfid
// does. libsfid(7) has the words.
package read

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Code is an error as in sfid.h: errors.Is(err, read.ErrInval).
type Code string

const (
	ErrInval    Code = "an argument is invalid"
	ErrOverflow Code = "the value is too large"
	ErrClock    Code = "the time is before the epoch of the layout"
)

func (c Code) Error() string { return "sfid: " + string(c) }

// An Error is a Code with a sentence. errors.As finds it.
type Error struct {
	Code Code
	Text string
	At   int // of a text that is no ID: where it goes wrong
}

func (e *Error) Error() string { return "sfid: " + e.Text }
func (e *Error) Unwrap() error { return e.Code }

func fault(code Code, format string, about ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, about...) + ": " + string(code)}
}

// An ID is never negative. In JSON it is a string, since JavaScript's numbers end at 2^53.
type ID int64

// A Wide is an ID of up to 128 bits, big-endian: a UUID or a flake. In JSON it is a string as a UUID.
type Wide [16]byte

// ParseID reads an ID. Each byte has to be a digit of the form.
func ParseID(f Form, text string) (ID, error) {
	n, err := f.read(text, false)
	return ID(n.low), err
}

// ParseWide reads an ID of up to 128 bits.
func ParseWide(f Form, text string) (Wide, error) {
	n, err := f.read(text, true)
	return n.bytes(), err
}

// Text writes an ID with at least width digits. 0 is the form's own width, in which texts sort as IDs do.
func (id ID) Text(f Form, width uint) (string, error) {
	if id < 0 {
		return "", fault(ErrInval, "ID %d", int64(id))
	}
	return f.write(number{low: uint64(id)}, width, false)
}

// Text writes an ID as that of 64 bits does.
func (w Wide) Text(f Form, width uint) (string, error) { return f.write(w.number(), width, true) }

// String writes an ID in decimal.
func (id ID) String() string { return fmt.Sprint(int64(id)) }

// String writes an ID as a UUID, whatever it is.
func (w Wide) String() string { text, _ := w.Text(UUID, 0); return text }

// MarshalText makes an ID a string in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText makes an ID a string in JSON.
func (w Wide) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalJSON reads an ID from a string or a whole number. null changes nothing.
func (id *ID) UnmarshalJSON(value []byte) error {
	text := string(value)
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) { // digits may be escapes
		if err := json.Unmarshal(value, &text); err != nil {
			return err
		}
	}
	got, err := ParseID(Dec, text)
	if err == nil {
		*id = got
	}
	return err
}

// UnmarshalText reads an ID as a UUID.
func (w *Wide) UnmarshalText(text []byte) error {
	got, err := ParseWide(UUID, string(text))
	if err == nil {
		*w = got
	}
	return err
}
