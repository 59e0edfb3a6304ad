// SPDX-License-Identifier: MIT

package read

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// What vectors.json has no rows for.

func TestJSON(t *testing.T) {
	type row struct {
		ID   ID
		Wide *Wide `json:",omitempty"`
	}
	text := `{"ID":"175928847299117063","Wide":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}`
	var r row
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.ID != 175928847299117063 {
		t.Errorf("%v, %v", r.ID, err)
	}
	if back, err := json.Marshal(r); string(back) != text || err != nil {
		t.Errorf("%s, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"ID":7}`), &r); err != nil || r.ID != 7 {
		t.Errorf("a number: %v, %v", r.ID, err)
	}
	if err := json.Unmarshal([]byte(`{"ID":"\u0037"}`), &r); err != nil || r.ID != 7 {
		t.Errorf("an escape: %v, %v", r.ID, err)
	}
	if err := json.Unmarshal([]byte(`{"ID":null}`), &r); err != nil || r.ID != 7 {
		t.Errorf("null: %v, %v", r.ID, err)
	}
	for _, bad := range []string{`{"ID":"x"}`, `{"ID":7.5}`, `{"ID":-1}`, `{"ID":9223372036854775808}`, `{"ID":""}`, `{"Wide":"7"}`} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil || r.ID != 7 || r.Wide.String() != "017f22e2-79b0-7cc3-98c4-dc0c0c07398f" {
			t.Errorf("%s: %v, %v, %v", bad, r.ID, r.Wide, err)
		}
	}
}

func TestLayouts(t *testing.T) {
	for text, want := range map[string]string{
		"41:10:12": "ms", "36:11:17/1s": "sfid", "41:10:12/1ms@1288834974657": "twitter", "42:10:12@1420070400000": "discord",
		"48:0:16/1ms@0": "mastodon", "046:00:18/0001ms@0": "tso",
		"sonyflake@1735689600000": "sonyflake2", "sonyflake2@1409529600000": "sonyflake",
	} {
		l, err := ParseLayout(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		same, _ := ParseLayout(want)
		for _, id := range []ID{1 << 62, 175928847299117063, 0, 1<<63 - 1} {
			a, err1 := l.Parse(id)
			b, err2 := same.Parse(id)
			if a != b || (err1 == nil) != (err2 == nil) {
				t.Errorf("%s: %v, %s: %v", text, a, want, b)
			}
		}
	}
	if l, err := ParseLayout("sonyflake@1593561600000"); err != nil {
		t.Error(err)
	} else if p, _ := l.Parse(5<<24 | 6<<16 | 7); p.Tick != 5 || p.Seq != 6 || p.Pid != 7 || p.Time.UnixMilli() != 1593561600050 {
		t.Errorf("sonyflake with another epoch: %+v", p)
	}
	for _, bad := range []string{"sonyflake@", "sonyflake@+5", "sonyflake@253402300800000", "sonyflake3@5", "twitter@5", "2:0:0/4294968s", "3:0:0/4294967296ms", "63:0:0/4294967295ms", "41:10:12/1ms@-62135596800001", "41:10:12\n",
		"128:0:0", "20:33:0", "41:128:0", "41:10:12@99999999999999999999", "awsflake@+1", "awsflake@-62135596800001", "flake@", "uuid7@0"} {
		_, err := ParseLayout(bad)
		_, err2 := ParseWideLayout(bad)
		if !errors.Is(err, ErrInval) || !errors.Is(err2, ErrInval) {
			t.Errorf("%s: %v, %v", bad, err, err2)
		}
	}
	if l, err := ParseLayout("2:0:0/4294967s"); err != nil {
		t.Error(err)
	} else if p, _ := l.Parse(1); p.Time != time.UnixMilli(1766361600000+4294967000).UTC() {
		t.Errorf("%v", p.Time)
	}
	if p, err := (*Layout)(nil).Parse(1 << 28); err != nil || p.Tick != 1 {
		t.Errorf("the default layout: %v, %v", p, err)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := (*Layout)(nil).Parse(-1); !errors.Is(err, ErrInval) {
		t.Error(err)
	}
	for _, f := range []Form{-1, UUID, Bytes + 1} {
		if _, err := ID(7).Text(f, 0); !errors.Is(err, ErrInval) {
			t.Errorf("form %d: %v", f, err)
		}
		if _, err := ParseID(f, "7"); !errors.Is(err, ErrInval) {
			t.Errorf("form %d: %v", f, err)
		}
	}
	for _, width := range []uint{1, 21} {
		if _, err := ID(7).Text(Bytes, width); !errors.Is(err, ErrInval) {
			t.Errorf("width %d: %v", width, err)
		}
	}
	if _, err := ID(7).Text(Dec, 21); !errors.Is(err, ErrInval) {
		t.Error(err)
	}
	if _, err := ID(-7).Text(Dec, 0); !errors.Is(err, ErrInval) {
		t.Error(err)
	}
	if _, err := ParseID(Dec, "12x"); err == nil || !strings.Contains(err.Error(), `sfid: "12x" is no ID, from byte 2 on`) {
		t.Error(err)
	}
}
