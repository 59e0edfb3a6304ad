// SPDX-License-Identifier: MIT

package read

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Parts are what an ID is made of. Time is when its tick began.
type Parts struct {
	Tick, Pid, Seq uint64
	Time           time.Time
	Random         uint64 // of a UUID
}

// Some bits of an ID. Those of one kind belong together, the upper ones first.
type field struct {
	kind        byte // t: time, p: pid, s: sequence, r: random, f: the same in every ID
	bits, shift uint
	value       uint64 // of f
}

func (f field) of(n number) uint64 { return n.right(f.shift).low & ones(f.bits) }

// A plan says how an ID is cut into fields, which it has from the lowest up.
type plan struct {
	fields []field
	bits   uint
	epoch  int64 // Unix milliseconds
	unit   uint64
	last   uint64 // tick
}

// A Layout is one of IDs of 64 bits. nil is the default layout.
type Layout struct{ plan plan }

// A WideLayout is one of IDs of up to 128 bits: UUIDs of version 7, and flakes.
type WideLayout struct{ plan plan }

const (
	epoch    = 1766361600000
	epochMin = -62135596800000 // years 0001 to 9999
	epochMax = 253402300799999
	unitMax  = 1<<32 - 1
)

// Fields from the top down, by kind and bits; unit and epoch in milliseconds. vectors.json holds them to C's.
type preset struct {
	name, fields string
	unit         uint64
	epoch        int64
}

var presets = []preset{
	{"sfid", "t36 p11 s17", 1000, epoch},
	{"sfid-0.1.13", "t35 p10 s19", 1000, epoch},
	{"ms", "t41 p10 s12", 1, epoch},
	{"js53", "t32 p8 s13", 1000, epoch},
	{"twitter", "t41 p10 s12", 1, 1288834974657},
	{"leaf", "t41 p10 s12", 1, 1288834974657},
	{"discord", "t42 p10 s12", 1, 1420070400000},
	{"instagram", "t41 p13 s10", 1, 1314220021721},
	{"sonyflake", "t39 s8 p16", 10, 1409529600000},
	{"sonyflake2", "t39 s8 p16", 10, 1735689600000},
	{"mastodon", "t48 s16", 1, 0},
	{"icicle", "t41 p10 s12", 1, 1455788600316},
	{"kestrel", "t41 p10 s12", 1, 1451566800000},
	{"cosid", "t41 p10 s12", 1, 1577203200000},
	{"baidu", "t28 p22 s13", 1000, 1463673600000},
	{"tso", "t46 s18", 1, 0},
}

var widePresets = []preset{
	{"flake", "t64 p48 s16", 1, 0},
	{"awsflake", "t41 p21 s15", 1, 1577836800000},
	{"uuid7", "t48 f4=7 s12 f2=2 s2 p16 r44", 1, 0},
	{"flake-go", "t48 f16=0 p48 s16", 1, 0},
}

func (p preset) plan(bits uint) plan {
	made := plan{bits: bits, epoch: p.epoch, unit: p.unit}
	words, shift := strings.Fields(p.fields), uint(0)
	for i := len(words) - 1; i >= 0; i-- {
		width, value, _ := strings.Cut(words[i][1:], "=")
		n, _ := strconv.Atoi(width)
		fixed, _ := strconv.ParseUint(value, 10, 64)
		made.fields = append(made.fields, field{words[i][0], uint(n), shift, fixed})
		shift += uint(n)
	}
	top := made.fields[len(made.fields)-1]
	if shift < bits {
		made.fields = append(made.fields, field{'f', bits - shift, shift, 0}) // reserved
	}
	// Of 64 bits the top one stays 0, since an ID is no negative number; flake's times are those that int64 holds.
	made.last = ones(top.bits)
	if top.bits == 64 || shift == 64 {
		made.last = ones(top.bits - 1)
	}
	return made
}

func find(list []preset, name string) (preset, bool) {
	for _, p := range list {
		if p.name == name {
			return p, true
		}
	}
	return preset{}, false
}

var widths = regexp.MustCompile(`^([0-9]+):([0-9]+):([0-9]+)(?:/([0-9]+)(ms|s))?(?:@(-?[0-9]+))?$`)

func readEpoch(text string) (ms int64, ok bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return ms, err == nil && text[0] != '+' && ms >= epochMin && ms <= epochMax
}

// ParseLayout reads a preset's name, sonyflake@EPOCH_MS, or TIME:PID:SEQ[/UNIT][@EPOCH_MS].
func ParseLayout(text string) (*Layout, error) {
	if p, ok := find(presets, text); ok {
		return &Layout{p.plan(64)}, nil
	}
	bad := fault(ErrInval, "layout %q", text)
	if name, ms, _ := strings.Cut(text, "@"); name == "sonyflake" || name == "sonyflake2" {
		p, _ := find(presets, name)
		var ok bool
		if p.epoch, ok = readEpoch(ms); !ok {
			return nil, bad
		}
		return &Layout{p.plan(64)}, nil
	}
	m := widths.FindStringSubmatch(text)
	if m == nil {
		return nil, bad
	}
	var bits [3]uint64
	for i := range bits {
		if bits[i], _ = strconv.ParseUint(m[i+1], 10, 7); bits[i] > 63 { // 127 if there are more digits
			return nil, bad
		}
	}
	unit, at := uint64(1), int64(epoch)
	if m[4] != "" {
		var err error
		if unit, err = strconv.ParseUint(m[4], 10, 32); err != nil {
			return nil, bad
		}
		if m[5] == "s" {
			unit *= 1000
		}
	}
	if m[6] != "" {
		at, _ = strconv.ParseInt(m[6], 10, 64)
	}
	t, p, s := bits[0], bits[1], bits[2]
	if t < 2 || p > 32 || s > 61 || t+p+s > 64 || unit < 1 || unit > unitMax || at < epochMin || at > epochMax {
		return nil, bad
	}
	made := preset{"", "t" + m[1] + " p" + m[2] + " s" + m[3], unit, at}.plan(64)
	if made.last >= (ones(63)-epochMax)/unit { // or milliseconds overflow
		return nil, bad
	}
	return &Layout{made}, nil
}

// ParseWideLayout reads uuid7, flake, flake-go, awsflake or awsflake@EPOCH_MS.
func ParseWideLayout(text string) (*WideLayout, error) {
	name, at, has := strings.Cut(text, "@")
	p, ok := find(widePresets, name)
	if has {
		n, good := readEpoch(at)
		ok = ok && name == "awsflake" && good
		p.epoch = n
	}
	if !ok {
		return nil, fault(ErrInval, "wide layout %q", text)
	}
	return &WideLayout{p.plan(128)}, nil
}

// ---- what both have in common ----

func (l plan) gather(kind byte, n number) (value uint64) {
	for i := len(l.fields) - 1; i >= 0; i-- {
		if f := l.fields[i]; f.kind == kind {
			value = value<<f.bits | f.of(n)
		}
	}
	return value
}

func (l plan) parse(n number) (Parts, error) {
	for _, f := range l.fields {
		if f.kind == 'f' && f.of(n) != f.value {
			return Parts{}, fault(ErrInval, "the bits from %d on", f.shift)
		}
	}
	tick := l.gather('t', n)
	if tick > l.last {
		return Parts{}, fault(ErrOverflow, "tick %d", tick)
	}
	at := time.UnixMilli(l.epoch + int64(tick*l.unit)).UTC()
	return Parts{tick, l.gather('p', n), l.gather('s', n), at, l.gather('r', n)}, nil
}

func (l plan) compose(p Parts) (n number, err error) {
	left := map[byte]uint64{'t': p.Tick, 'p': p.Pid, 's': p.Seq, 'r': p.Random}
	for _, f := range l.fields {
		value := f.value
		if f.kind != 'f' {
			value = left[f.kind] & ones(f.bits)
			left[f.kind] >>= f.bits
		}
		n = n.or(number{low: value}.left(f.shift))
	}
	if left['p']|left['s']|left['r'] != 0 {
		return number{}, fault(ErrInval, "%+v", p)
	}
	if p.Tick > l.last {
		return number{}, fault(ErrOverflow, "tick %d", p.Tick)
	}
	return n, nil
}

func (l plan) tickAt(t time.Time) (uint64, error) {
	ms := t.UnixMilli()
	if ms < l.epoch {
		return 0, fault(ErrClock, "%v", t)
	}
	tick := (uint64(ms) - uint64(l.epoch)) / l.unit // the distance may not fit an int64
	if tick > l.last {
		return l.last, fault(ErrOverflow, "%v", t)
	}
	return tick, nil
}

func (l plan) bounds(t time.Time) (lowest, highest number) {
	tick, _ := l.tickAt(t) // outside the layout's range it is the nearer end
	lowest, _ = l.compose(Parts{Tick: tick})
	highest = lowest
	for _, f := range l.fields {
		if f.kind != 't' && f.kind != 'f' {
			highest = highest.or(number{low: ones(f.bits)}.left(f.shift))
		}
	}
	return lowest, highest
}

// ---- of 64 bits ----

var byDefault = presets[0].plan(64)

func (l *Layout) get() plan {
	if l == nil {
		return byDefault
	}
	return l.plan
}

// Parse takes an ID apart.
func (l *Layout) Parse(id ID) (Parts, error) {
	if id < 0 {
		return Parts{}, fault(ErrInval, "ID %d", int64(id))
	}
	return l.get().parse(number{low: uint64(id)})
}

// Compose puts an ID together from tick, pid and sequence. It may not be unique.
func (l *Layout) Compose(p Parts) (ID, error) {
	n, err := l.get().compose(p)
	return ID(n.low), err
}

// TickAt finds the tick that contains a moment.
func (l *Layout) TickAt(t time.Time) (uint64, error) { return l.get().tickAt(t) }

// Bounds returns the lowest and the highest ID of the tick that contains a moment, for range queries.
func (l *Layout) Bounds(t time.Time) (lowest, highest ID) {
	low, high := l.get().bounds(t)
	return ID(low.low), ID(high.low)
}

// ---- of up to 128 bits ----

// Parse takes an ID apart.
func (l *WideLayout) Parse(id Wide) (Parts, error) { return l.plan.parse(id.number()) }

// Compose puts an ID together. It may not be unique.
func (l *WideLayout) Compose(p Parts) (Wide, error) {
	n, err := l.plan.compose(p)
	return n.bytes(), err
}

// TickAt finds the tick that contains a moment.
func (l *WideLayout) TickAt(t time.Time) (uint64, error) { return l.plan.tickAt(t) }

// Bounds returns the lowest and the highest ID of the millisecond that contains a moment, for range queries.
func (l *WideLayout) Bounds(t time.Time) (lowest, highest Wide) {
	low, high := l.plan.bounds(t)
	return low.bytes(), high.bytes()
}
