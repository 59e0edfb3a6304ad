// SPDX-License-Identifier: MIT

package sfid

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	UnixMS                                               int64 `json:"unix_ms"`
	UnitMS                                               int64 `json:"unit_ms"`
	EpochMS                                              int64 `json:"epoch_ms"`
	LastMS                                               int64 `json:"last_ms"`
	Tick, Pid, Seq                                       number
	Width                                                uint
	ReadOnly                                             bool            `json:"read_only"`
	Fields                                               json.RawMessage // of a layout: [name, lowest bit, width, kind]
	Texts                                                map[string]any  // of an ID: a text, or text and width
}

// A number above 2^53 is a text.
type number uint64

func (n *number) UnmarshalJSON(text []byte) error {
	u, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
	*n = number(u)
	return err
}

func (v vector) parts() Parts {
	return Parts{uint64(v.Tick), uint64(v.Pid), uint64(v.Seq), time.UnixMilli(v.UnixMS).UTC()}
}

var codes = map[string]Code{"EINVAL": ErrInval, "EOVERFLOW": ErrOverflow, "ECLOCK": ErrClock}
var forms = map[string]Form{"dec": Dec, "hex": Hex, "base62": Base62, "base32": Base32, "base58": Base58, "bytes": Bytes, "uuid": 5}

// given is the text of a vector: bytes are given in hex.
func given(form, text string) string {
	if form == "bytes" {
		b, _ := hex.DecodeString(text)
		return string(b)
	}
	return text
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
	wide := map[string]bool{}
	for _, v := range all.WideLayouts {
		wide[v.Name] = true
	}
	is_wide := func(layout string) bool { return wide[strings.Split(layout, "@")[0]] }
	if len(all.WideLayouts) == 0 {
		t.Error("there are no wide layouts")
	}
	for _, v := range all.WideLayouts {
		for _, id := range all.IDs {
			if id.Layout == v.Name {
				wideVector(t, v, id)
			}
		}
	}
	count, left_out := 0, 0
	run := func(list []vector, check func(t *testing.T, v vector), is_wide func(v vector) bool) {
		if len(list) == 0 {
			t.Error("a list is empty")
		}
		for _, v := range list {
			if is_wide(v) {
				left_out++ // IDs of 128 bits are not the binding's
				continue
			}
			check(t, v)
			count++
		}
	}
	run(all.Layouts, layoutVector, func(v vector) bool { return false })
	run(all.IDs, idVector, func(v vector) bool { return is_wide(v.Layout) })
	run(all.Texts, textVector, func(v vector) bool { return v.Bits == 128 })
	run(all.Refused, refusedVector, func(v vector) bool { return v.Bits == 128 || is_wide(v.Layout) })
	t.Logf("%d vectors agree, %d are of 128 bits", count, left_out)
}

// The bounds of an ID's millisecond are the ID with the bits of pid, sequence and chance all clear and all set.
func wideVector(t *testing.T, v, id vector) {
	l, err := ParseWideLayout(v.Name)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	var fields [][4]any
	if err := json.Unmarshal(v.Fields, &fields); err != nil {
		t.Fatal(err)
	}
	free := new(big.Int)
	for _, f := range fields {
		if kind := f[3].(string); kind == "pid" || kind == "seq" || kind == "random" {
			ones := new(big.Int).Lsh(big.NewInt(1), uint(f[2].(float64)))
			free.Or(free, ones.Lsh(ones.Sub(ones, big.NewInt(1)), uint(f[1].(float64))))
		}
	}
	n, _ := new(big.Int).SetString(id.ID, 10)
	low, high := l.Bounds(time.UnixMilli(id.UnixMS).Add(999 * time.Microsecond))
	var want_low, want_high [16]byte
	new(big.Int).AndNot(n, free).FillBytes(want_low[:])
	new(big.Int).Or(n, free).FillBytes(want_high[:])
	if low != want_low || high != want_high {
		t.Errorf("%s %s: from %x to %x, want %x to %x", v.Name, id.ID, low, high, want_low, want_high)
	}
	first, _ := l.Bounds(time.UnixMilli(v.EpochMS - 1))
	if next, _ := l.Bounds(time.UnixMilli(v.EpochMS)); first != next {
		t.Errorf("%s: before the epoch %x", v.Name, first)
	}
	if next, _ := l.Bounds(time.UnixMilli(id.UnixMS + 1)); next != low && bytes.Compare(next[:], high[:]) <= 0 {
		t.Errorf("%s: the next millisecond begins at %x", v.Name, next) // the last one is its own next
	}
}

func preset(t *testing.T, name string) *Layout {
	l, err := ParseLayout(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return l
}

func layoutVector(t *testing.T, v vector) {
	l := preset(t, v.Name)
	lowest, _ := l.Bounds(time.UnixMilli(v.EpochMS))
	_, highest := l.Bounds(time.UnixMilli(v.LastMS).Add(100 * 365 * 24 * time.Hour))
	low, err1 := l.Parse(lowest)
	high, err2 := l.Parse(highest)
	if err1 != nil || err2 != nil || low.Time.UnixMilli() != v.EpochMS || high.Time.UnixMilli() != v.LastMS {
		t.Errorf("%s: from %v (%v) to %v (%v)", v.Name, low.Time, err1, high.Time, err2)
	}
	if tick, err := l.TickAt(time.UnixMilli(v.EpochMS + v.UnitMS)); tick != 1 || err != nil {
		t.Errorf("%s: tick %d after one unit: %v", v.Name, tick, err)
	}
	var fields [][4]any
	if err := json.Unmarshal(v.Fields, &fields); err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{} // the bits of each kind
	for _, f := range fields {
		want[f[3].(string)] |= (1<<uint64(f[2].(float64)) - 1) << uint64(f[1].(float64))
	}
	bits := func(p Parts) uint64 {
		id, err := l.Compose(p)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		return uint64(id)
	}
	if got := bits(Parts{Tick: high.Tick}); got != want["time"]&(1<<63-1) {
		t.Errorf("%s: time has the bits %x", v.Name, got)
	}
	if got := bits(Parts{Pid: high.Pid}); got != want["pid"] {
		t.Errorf("%s: pid has the bits %x", v.Name, got)
	}
	if got := bits(Parts{Seq: high.Seq}); got != want["seq"] {
		t.Errorf("%s: seq has the bits %x", v.Name, got)
	}
}

func idVector(t *testing.T, v vector) {
	l := preset(t, v.Layout)
	id, err := ParseID(Dec, v.ID)
	if err != nil || id.String() != v.ID {
		t.Fatalf("%s: %v, %v", v.ID, id, err)
	}
	p, err := l.Parse(id)
	if err != nil || p != v.parts() {
		t.Errorf("%s %s: %+v, %v", v.Layout, v.ID, p, err)
	}
	if v.Time != "" && p.Time.Format("2006-01-02T15:04:05.000Z") != v.Time {
		t.Errorf("%s %s: %v", v.Layout, v.ID, p.Time)
	}
	if v.Layout == "sfid" && !id.Time().Equal(p.Time) {
		t.Errorf("%s: Time %v", v.ID, id.Time())
	}
	if back, err := l.Compose(p); back != id || err != nil {
		t.Errorf("%s %s is put together as %v, %v", v.Layout, v.ID, back, err)
	}
	if tick, err := l.TickAt(p.Time); tick != p.Tick || err != nil {
		t.Errorf("%s %s: tick %d, %v", v.Layout, v.ID, tick, err)
	}
	if low, high := l.Bounds(p.Time); id < low || id > high {
		t.Errorf("%s %s is outside %v to %v", v.Layout, v.ID, low, high)
	}
	for form, text := range v.Texts {
		tv := vector{Form: form, ID: v.ID}
		if m, ok := text.(map[string]any); ok {
			tv.Text, tv.Width = m["text"].(string), uint(m["width"].(float64))
		} else {
			tv.Text = text.(string)
		}
		textVector(t, tv)
	}
}

func textVector(t *testing.T, v vector) {
	f, text := forms[v.Form], given(v.Form, v.Text)
	id, err := ParseID(f, text)
	if err != nil || id.String() != v.ID {
		t.Errorf("%s %q is read as %v, %v", v.Form, v.Text, id, err)
	}
	if v.ReadOnly {
		return
	}
	if got, err := id.Text(f, v.Width); got != text || err != nil {
		t.Errorf("%s %s is written as %q, %v", v.Form, v.Text, got, err)
	}
}

func refusedVector(t *testing.T, v vector) {
	var err error
	var l *Layout
	if v.Layout != "" {
		l = preset(t, v.Layout)
	}
	at := v.At
	switch v.Call {
	case "from_text":
		_, err = ParseID(forms[v.Form], given(v.Form, v.Text))
		var e *Error
		if errors.As(err, &e) {
			at = e.At
		}
	case "layout_parse":
		if _, err = ParseWideLayout(v.Text); errors.Is(err, codes[v.Error]) {
			_, err = ParseLayout(v.Text)
		}
	case "tick_at":
		_, err = l.TickAt(time.UnixMilli(v.UnixMS))
	case "compose":
		_, err = l.Compose(v.parts())
	case "parse":
		var id int64
		if id, err = strconv.ParseInt(v.ID, 10, 64); err != nil {
			t.Fatal(err)
		}
		_, err = l.Parse(ID(id))
	default:
		t.Fatalf("%s is no call", v.Call)
	}
	if !errors.Is(err, codes[v.Error]) || at != v.At {
		t.Errorf("%s %s%s (%s): %v at %d, want %s at %d", v.Call, v.Layout, v.Text, v.Why, err, at, v.Error, v.At)
	}
}
