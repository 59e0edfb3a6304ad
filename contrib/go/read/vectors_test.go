// SPDX-License-Identifier: MIT

package read

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

type vector struct {
	Call, Name, Layout, ID, Form, Text, Error, Why, Time string
	Bits, At                                             int
	UnixMS                                               int64  `json:"unix_ms"`
	UnitMS                                               uint64 `json:"unit_ms"`
	EpochMS                                              int64  `json:"epoch_ms"`
	LastMS                                               int64  `json:"last_ms"`
	Tick, Pid, Seq, Random                               whole
	Width                                                uint
	ReadOnly                                             bool           `json:"read_only"`
	Fields                                               any            // of a layout: [name, lowest bit, width, kind]
	Texts                                                map[string]any // of an ID: a text, or text and width
}

// A whole number above 2^53 is a text.
type whole uint64

func (n *whole) UnmarshalJSON(text []byte) error {
	u, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
	*n = whole(u)
	return err
}

func (v vector) parts() Parts {
	return Parts{uint64(v.Tick), uint64(v.Pid), uint64(v.Seq), time.UnixMilli(v.UnixMS).UTC(), uint64(v.Random)}
}

var codes = map[string]Code{"EINVAL": ErrInval, "EOVERFLOW": ErrOverflow, "ECLOCK": ErrClock}
var names = map[string]Form{"dec": Dec, "hex": Hex, "base62": Base62, "base32": Base32, "base58": Base58, "uuid": UUID, "bytes": Bytes}

// given is the text of a vector: bytes are given in hex.
func given(form, text string) string {
	if form == "bytes" {
		b, _ := hex.DecodeString(text)
		return string(b)
	}
	return text
}

// reader does what both kinds of layouts do, with IDs as decimal texts.
type reader interface {
	parse(id string) (Parts, error)
	compose(p Parts) (string, error)
	TickAt(t time.Time) (uint64, error)
	bounds(t time.Time) (string, string)
}

type narrow struct{ *Layout }
type wide struct{ *WideLayout }

func decimal(w Wide) string { text, _ := w.Text(Dec, 0); return text }

func (l narrow) parse(id string) (Parts, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return Parts{}, err
	}
	return l.Parse(ID(n))
}
func (l narrow) compose(p Parts) (string, error) { id, err := l.Compose(p); return id.String(), err }
func (l narrow) bounds(t time.Time) (string, string) {
	low, high := l.Bounds(t)
	return low.String(), high.String()
}
func (l wide) parse(id string) (Parts, error) {
	w, err := ParseWide(Dec, id)
	if err != nil {
		return Parts{}, err
	}
	return l.Parse(w)
}
func (l wide) compose(p Parts) (string, error) { w, err := l.Compose(p); return decimal(w), err }
func (l wide) bounds(t time.Time) (string, string) {
	low, high := l.Bounds(t)
	return decimal(low), decimal(high)
}

func layoutOf(text string) (reader, error) {
	l, err := ParseLayout(text)
	if err == nil {
		return narrow{l}, nil
	}
	w, err2 := ParseWideLayout(text)
	if err2 == nil {
		return wide{w}, nil
	}
	return nil, fmt.Errorf("%v; %w", err, err2)
}

func need(t *testing.T, text string) reader {
	l, err := layoutOf(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestVectors(t *testing.T) {
	file, err := os.ReadFile(os.Getenv("SFID_VECTORS"))
	if err != nil {
		t.Fatalf("SFID_VECTORS: %v", err)
	}
	var all struct {
		Format                       int
		Layouts, IDs, Texts, Refused []vector
		WideLayouts                  []vector `json:"wide_layouts"`
	}
	if err := json.Unmarshal(file, &all); err != nil || all.Format != 1 {
		t.Fatalf("format %d: %v", all.Format, err)
	}
	have := len(presets) + len(widePresets)
	if want := len(all.Layouts) + len(all.WideLayouts); have != want {
		t.Errorf("%d layouts, want %d", have, want)
	}
	count := 0
	free := map[string]*big.Int{}
	for _, v := range append(all.Layouts, all.WideLayouts...) {
		free[v.Name] = layoutVector(t, v)
		count++
	}
	for _, v := range all.IDs {
		idVector(t, v, free[strings.Split(v.Layout, "@")[0]])
		count++
	}
	for _, v := range all.Texts {
		textVector(t, v)
		count++
	}
	for _, v := range all.Refused {
		refusedVector(t, v)
		count++
	}
	if len(all.IDs) == 0 || len(all.Texts) == 0 || len(all.Refused) == 0 {
		t.Error("a list is empty")
	}
	t.Logf("%d vectors agree", count)
}

// layoutVector returns the bits that pid, sequence and chance have.
func layoutVector(t *testing.T, v vector) *big.Int {
	l := need(t, v.Name)
	lowest, _ := l.bounds(time.UnixMilli(v.EpochMS - 1))
	low, err := l.parse(lowest)
	if err != nil || low.Time.UnixMilli() != v.EpochMS || low.Tick != 0 {
		t.Errorf("%s begins at %v, %v", v.Name, low.Time, err)
	}
	if tick, err := l.TickAt(time.UnixMilli(v.EpochMS + int64(v.UnitMS))); tick != 1 || err != nil {
		t.Errorf("%s: tick %d after one unit: %v", v.Name, tick, err)
	}
	if _, err := l.TickAt(time.UnixMilli(v.EpochMS - 1)); !errors.Is(err, ErrClock) {
		t.Errorf("%s: before the epoch: %v", v.Name, err)
	}
	if _, isNarrow := l.(narrow); isNarrow {
		_, highest := l.bounds(time.UnixMilli(v.LastMS).Add(100 * 365 * 24 * time.Hour))
		if high, err := l.parse(highest); err != nil || high.Time.UnixMilli() != v.LastMS {
			t.Errorf("%s ends at %v, %v", v.Name, high.Time, err)
		}
	}
	bits, at := new(big.Int), 0
	for _, row := range v.Fields.([]any) {
		f := row.([]any)
		kind, shift, width := f[3].(string), uint(f[1].(float64)), uint(f[2].(float64))
		mask := new(big.Int).Lsh(big.NewInt(1), width)
		mask.Lsh(mask.Sub(mask, big.NewInt(1)), shift)
		if kind == "pid" || kind == "seq" || kind == "random" {
			bits.Or(bits, mask)
		}
		at++
	}
	if at == 0 {
		t.Errorf("%s has no fields", v.Name)
	}
	return bits
}

func idVector(t *testing.T, v vector, free *big.Int) {
	l := need(t, v.Layout)
	p, err := l.parse(v.ID)
	if err != nil || p != v.parts() {
		t.Errorf("%s %s: %+v, %v", v.Layout, v.ID, p, err)
	}
	if v.Time != "" && p.Time.Format("2006-01-02T15:04:05.000Z") != v.Time {
		t.Errorf("%s %s: %v", v.Layout, v.ID, p.Time)
	}
	if back, err := l.compose(p); back != v.ID || err != nil {
		t.Errorf("%s %s is put together as %v, %v", v.Layout, v.ID, back, err)
	}
	if tick, err := l.TickAt(p.Time); tick != p.Tick || err != nil {
		t.Errorf("%s %s: tick %d, %v", v.Layout, v.ID, tick, err)
	}
	n, _ := new(big.Int).SetString(v.ID, 10)
	low, high := l.bounds(p.Time.Add(999 * time.Microsecond))
	if want := new(big.Int).AndNot(n, free).String(); low != want {
		t.Errorf("%s %s: the lowest is %s, want %s", v.Layout, v.ID, low, want)
	}
	if want := new(big.Int).Or(n, free).String(); high != want {
		t.Errorf("%s %s: the highest is %s, want %s", v.Layout, v.ID, high, want)
	}
	bits := 64
	if _, is := l.(wide); is {
		bits = 128
	}
	for form, text := range v.Texts {
		tv := vector{Form: form, ID: v.ID, Bits: bits}
		if m, ok := text.(map[string]any); ok {
			tv.Text, tv.Width = m["text"].(string), uint(m["width"].(float64))
		} else {
			tv.Text = text.(string)
		}
		textVector(t, tv)
	}
}

func textVector(t *testing.T, v vector) {
	f, text := names[v.Form], given(v.Form, v.Text)
	var id, back string
	var err, err2 error
	if v.Bits == 128 {
		w, e := ParseWide(f, text)
		id, err = decimal(w), e
		back, err2 = w.Text(f, v.Width)
	} else {
		n, e := ParseID(f, text)
		id, err = n.String(), e
		back, err2 = n.Text(f, v.Width)
	}
	if err != nil || id != v.ID {
		t.Errorf("%s %q is read as %v, %v", v.Form, v.Text, id, err)
	}
	if !v.ReadOnly && (back != text || err2 != nil) {
		t.Errorf("%s %s is written as %q, %v", v.Form, v.Text, back, err2)
	}
}

func refusedVector(t *testing.T, v vector) {
	var err error
	at := v.At
	switch v.Call {
	case "from_text":
		if v.Bits == 128 {
			_, err = ParseWide(names[v.Form], given(v.Form, v.Text))
		} else {
			_, err = ParseID(names[v.Form], given(v.Form, v.Text))
		}
		var e *Error
		if errors.As(err, &e) {
			at = e.At
		}
	case "layout_parse":
		_, err = layoutOf(v.Text)
	case "tick_at":
		_, err = need(t, v.Layout).TickAt(time.UnixMilli(v.UnixMS))
	case "compose":
		_, err = need(t, v.Layout).compose(v.parts())
	case "parse":
		_, err = need(t, v.Layout).parse(v.ID)
	default:
		t.Fatalf("%s is no call", v.Call)
	}
	if !errors.Is(err, codes[v.Error]) || at != v.At {
		t.Errorf("%s %s%s (%s): %v at %d, want %s at %d", v.Call, v.Layout, v.Text, v.Why, err, at, v.Error, v.At)
	}
}
