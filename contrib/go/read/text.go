// SPDX-License-Identifier: MIT

package read

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// A number of 128 bits.
type number struct{ high, low uint64 }

func ones(bits uint) uint64 { return 1<<bits - 1 } // all of 64, since Go shifts out what it has no room for

func (n number) left(by uint) number {
	return number{n.high<<by | n.low<<(by-64) | n.low>>(64-by), n.low << by}
}

func (n number) right(by uint) number {
	return number{n.high >> by, n.low>>by | n.high<<(64-by) | n.high>>(by-64)}
}

func (n number) or(m number) number { return number{n.high | m.high, n.low | m.low} }

// times returns n * by + digit, and whether it has 128 bits.
func (n number) times(by, digit uint64) (number, bool) {
	over, high := bits.Mul64(n.high, by)
	carry, low := bits.Mul64(n.low, by)
	low, c := bits.Add64(low, digit, 0)
	high, c = bits.Add64(high, carry, c)
	return number{high, low}, over == 0 && c == 0
}

func (n number) divide(by uint64) (number, uint64) {
	low, rest := bits.Div64(n.high%by, n.low, by)
	return number{n.high / by, low}, rest
}

func (n number) bytes() (w Wide) {
	binary.BigEndian.PutUint64(w[:8], n.high)
	binary.BigEndian.PutUint64(w[8:], n.low)
	return w
}

func (w Wide) number() number {
	return number{binary.BigEndian.Uint64(w[:8]), binary.BigEndian.Uint64(w[8:])}
}

// A Form is how an ID is written.
type Form int

// UUID is for wide IDs alone. Bytes are 8 or 16, big-endian.
const (
	Dec Form = iota
	Hex
	Base62
	Base32
	Base58
	UUID
	Bytes
)

// The digits of a form, and how many there are at most of 64 and of 128 bits.
var forms = []struct {
	digits string
	most   [2]int
}{
	{"0123456789", [2]int{20, 39}},
	{"0123456789abcdef", [2]int{16, 32}},
	{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", [2]int{11, 22}},
	{"0123456789ABCDEFGHJKMNPQRSTVWXYZ", [2]int{13, 26}}, // Crockford's
	{"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", [2]int{11, 22}},
	{"0123456789abcdef", [2]int{0, 36}},
	{"", [2]int{8, 16}},
}

func (f Form) most(wide bool) int {
	if f < Dec || f > Bytes {
		return 0
	}
	if wide {
		return forms[f].most[1]
	}
	return forms[f].most[0]
}

func (f Form) digit(c byte) int {
	switch {
	case (f == Hex || f == UUID) && c >= 'A' && c <= 'F':
		c += 'a' - 'A'
	case f == Base32:
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		switch c {
		case 'O':
			c = '0'
		case 'I', 'L':
			c = '1'
		}
	}
	return strings.IndexByte(forms[f].digits, c)
}

func wrong(code Code, text string, at int) error {
	e := fault(code, "%q is no ID, from byte %d on", text, at).(*Error)
	e.At = at
	return e
}

func (f Form) read(text string, wide bool) (n number, err error) {
	most := f.most(wide)
	switch {
	case most == 0 || text == "":
		return n, wrong(ErrInval, text, 0)
	case f == UUID:
		return readUUID(text)
	case f == Bytes:
		return readBytes(text, most)
	}
	for at := range []byte(text) {
		if f.digit(text[at]) < 0 {
			return n, wrong(ErrInval, text, at)
		}
	}
	for at := range []byte(text) {
		next, fits := n.times(uint64(len(forms[f].digits)), uint64(f.digit(text[at])))
		if at >= most || !fits || (!wide && (next.high != 0 || next.low > ones(63))) {
			return number{}, wrong(ErrOverflow, text, at)
		}
		n = next
	}
	return n, nil
}

func isHyphen(at int) bool { return at == 8 || at == 13 || at == 18 || at == 23 }

func readUUID(text string) (n number, err error) {
	for at := range []byte(text) {
		digit := UUID.digit(text[at])
		switch {
		case at >= 36 || (isHyphen(at) && text[at] != '-') || (!isHyphen(at) && digit < 0):
			return number{}, wrong(ErrInval, text, at)
		case !isHyphen(at):
			n, _ = n.times(16, uint64(digit))
		}
	}
	if len(text) < 36 {
		return number{}, wrong(ErrInval, text, len(text))
	}
	return n, nil
}

func readBytes(text string, size int) (n number, err error) {
	if len(text) > size {
		return n, wrong(ErrInval, text, size)
	} else if len(text) < size {
		return n, wrong(ErrInval, text, len(text))
	}
	for _, c := range []byte(text) {
		n, _ = n.times(256, uint64(c))
	}
	if size == 8 && n.low > ones(63) {
		return number{}, wrong(ErrOverflow, text, 0)
	}
	return n, nil
}

func (f Form) write(n number, width uint, wide bool) (string, error) {
	most := uint(f.most(wide))
	if most == 0 || width > most || (f >= UUID && width != 0 && width != most) {
		return "", fault(ErrInval, "form %d, width %d", f, width)
	}
	if width == 0 && f != Dec {
		width = most
	}
	if f == Bytes {
		b := n.bytes()
		return string(b[16-most:]), nil
	}
	text := ""
	for digits := forms[f].digits; n != (number{}) || text == "" || uint(len(text)) < width; {
		var digit uint64
		if f == UUID && isHyphen(36-len(text)-1) {
			text = "-" + text
			continue
		}
		n, digit = n.divide(uint64(len(digits)))
		text = digits[digit:digit+1] + text
	}
	return text, nil
}
