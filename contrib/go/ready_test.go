// SPDX-License-Identifier: MIT

package sfid

import (
	"testing"
	"time"
)

// burst calls Next until IDs lie ready.
func burst(t *testing.T, g *Generator) *batch {
	t.Helper()
	var b *batch
	until(t, "IDs lie ready", func() bool {
		for i := 0; i < 1000 && (b == nil || len(b.ids) < 2); i++ {
			next(t, g)
			b = g.ready.Load()
		}
		return b != nil
	})
	return b
}

func TestMaxAge(t *testing.T) {
	g := open(t, Options{MaxAge: 20 * time.Millisecond})
	b := burst(t, g)
	until(t, "they are dropped", func() bool { return g.ready.Load() == nil })
	if id := next(t, g); id <= b.ids[len(b.ids)-1] {
		t.Errorf("%v was too old", id)
	}
}

// What lies ready at most is what was used up in half of MaxAge, twice over; at a low rate nothing.
func TestSizes(t *testing.T) {
	g := open(t, Options{MaxAge: time.Hour})
	for size := 2; size <= g.most; size *= 2 {
		for i := 0; i < size; i++ {
			next(t, g)
		}
		if g.size != size {
			t.Fatalf("%d ready, want %d", g.size, size)
		}
		g.filled = time.Now().Add(-40 * time.Minute)
		if drain(g); g.size != size {
			t.Fatalf("%d ready, want %d: used up in more than half of the time", g.size, size)
		}
		for i := 1; i < size; i++ {
			next(t, g)
		}
	}
	if drain(g); g.most != 256 || g.size != g.most {
		t.Errorf("%d ready, want no more than %d", g.size, g.most)
	}
	for size := g.most / 2; size >= 1; size /= 2 {
		g.filled = time.Now().Add(-2 * time.Hour)
		if drain(g); g.size != size {
			t.Fatalf("%d ready, want %d: they had become too old", g.size, size)
		}
	}
	b := g.ready.Load()
	g.filled = time.Now().Add(-2 * time.Hour)
	if next(t, g); g.ready.Load() != b || int(b.next.Load()) < len(b.ids) {
		t.Error("one ID at a time leaves some ready")
	}
}

// A short sequence is not used up by what lies ready.
func TestShortSequence(t *testing.T) {
	for text, most := range map[string]int{"ms": 64, "js53": 128, "sonyflake2": 4, "instagram": 16, "30:4:5/100ms": 1, "40:2:20/1s": 256} {
		pid := int64(1)
		g := open(t, Options{Layout: layout(t, text), Pid: &pid, MaxAge: time.Hour})
		if g.most != most {
			t.Errorf("%s: at most %d ready, want %d", text, g.most, most)
		}
		for i := 0; i < 2*most; i++ {
			if next(t, g); g.size > most {
				t.Errorf("%s: %d ready", text, g.size)
			}
		}
	}
}

// drain uses up what lies ready, and one more.
func drain(g *Generator) {
	for b := g.ready.Load(); b != nil && int(b.next.Load()) < len(b.ids); {
		g.Next()
	}
	g.Next()
}

func TestNoneReady(t *testing.T) {
	for name, o := range map[string]Options{"negative": {MaxAge: -1}, "short": {Layout: layout(t, "30:4:5/100ms"), Borrow: true, MaxAhead: time.Hour}, "share": {Share: true}, "store": {App: "noneready", Store: "local?share=1"}} {
		t.Run(name, func(t *testing.T) {
			g := open(t, o)
			for i := 0; i < 1000; i++ {
				if next(t, g); g.ready.Load() != nil {
					t.Fatal("IDs lie ready")
				}
			}
		})
	}
}

// A goroutine that waited while another one filled takes what is ready now, and does not throw it away.
func TestSecondLook(t *testing.T) {
	g := open(t, Options{})
	b := &batch{ids: []ID{7, 8}}
	got := make(chan ID)
	g.mu.Lock()
	go func() { got <- next(t, g) }()
	until(t, "it waits", func() bool { return goroutines("sync.(*Mutex).Lock") > 0 })
	g.ready.Store(b)
	g.mu.Unlock()
	if id := <-got; id != 7 {
		t.Errorf("%v is not of the batch", id)
	}
}
