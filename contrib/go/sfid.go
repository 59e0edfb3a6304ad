// SPDX-License-Identifier: MIT

// Package sfid generates unique, time-ordered 64-bit IDs with libsfid, and takes them apart. libsfid(7) has the words.
package sfid

/*
#cgo pkg-config: sfid
#include <sfid.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static sfid_options go_options(void) {
    const sfid_options o = SFID_OPTIONS_INIT;
    return o;
}
// Rounded up. A negative duration is 0.
static uint32_t go_milliseconds(int64_t ns) {
    const int64_t ms = ns / 1000000 + (ns % 1000000 > 0);
    return ms < 0 ? 0 : ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}
// No call sleeps: goroutines wait in Go, where that takes no thread. The layout is Go's memory, which Go's options may not hold.
// Returns the most IDs of a batch: as of a lane, a 64th of the sequence. One if processes share a page: they have one order of IDs.
static int go_open(sfid **out, sfid_options o, const sfid_layout *layout, bool borrow, bool trust, bool keep_pid, bool share) {
    o.layout = layout;
    o.exhaustion = borrow ? SFID_BORROW : SFID_FAIL;
    o.max_wait_ms = 0;
    o.on_unknown = trust ? SFID_TRUST : SFID_WAIT_OUT;
    o.keep_pid = keep_pid;
    o.share = share;
    const int rc = sfid_open(out, &o);
    const uint64_t most = (layout ? layout : &SFID_LAYOUT_DEFAULT)->max_seq / 64 + 1;
    sfid_status_info s;
    return rc < 0 ? rc : sfid_status(*out, &s) < 0 || s.shared ? 1 : most < 256 ? (int)most : 256;
}
// The sentence belongs to the thread, and Go may move a goroutine to another thread after any call.
static void go_explain(const sfid *g, int code, char *text, size_t size) {
    const char *why = sfid_last_error(g);
    strncat(text, *why ? why : sfid_strerror(code), size - 1);
}
*/
import "C"

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Options of Open are those of sfid.h. The zero value of each is the library's default; a negative duration is a 0.
type Options struct {
	App, Store, RunDir, StateDir string
	Layout                       *Layout
	Pid                          *int64 // nil: lease one
	PidMin, PidMax               int64
	Borrow, Fail                 bool // when the sequence is used up; else calls wait
	RandomStart                  uint64
	Trust, KeepPid, Share        bool
	// mirrors: go-times
	MaxWait, MaxAhead, TTL, Heartbeat, OpenTimeout, MaxSkew, SkewBudget, Short,
	// mirrors: end
	MaxAge time.Duration // of an ID that Next has ready: 1 ms; negative: it has none
}

// A Generator generates IDs. Any number of goroutines may use it at once.
type Generator struct {
	c               *C.sfid
	fail            bool
	maxWait, maxAge time.Duration
	ready           atomic.Pointer[batch]
	mu              sync.Mutex // held from a draw until ready has what is left of it: what is ready lies above all drawn before
	size, most      int        // of the last batch, and of any
	filled          time.Time
}

// A batch has IDs that Next returns without a call of the library. It is never filled again: a goroutine that comes late to it
// began before its successor was there, so even then its ID is in order.
type batch struct {
	next atomic.Int64
	ids  []ID
}

// Also the longest delay until a step of the clock is noticed, as in the library.
const longestNap = 50 * time.Millisecond

// Open opens a generator. Close ends it; nothing else does.
func Open(o Options) (*Generator, error) {
	c := C.go_options()
	for from, to := range map[*string]**C.char{&o.App: &c.app, &o.Store: &c.store, &o.RunDir: &c.run_dir, &o.StateDir: &c.state_dir} {
		if strings.IndexByte(*from, 0) >= 0 {
			return nil, &Error{Code: ErrInval, Text: fmt.Sprintf("%q has a NUL byte", *from)}
		}
		if *from != "" {
			*to = C.CString(*from)
			defer C.free(unsafe.Pointer(*to))
		}
	}
	for to, d := range map[*C.uint32_t]time.Duration{
		// mirrors: go-copies
		&c.max_wait_ms: o.MaxWait, &c.max_ahead_ms: o.MaxAhead, &c.ttl_ms: o.TTL,
		&c.heartbeat_ms: o.Heartbeat, &c.open_timeout_ms: o.OpenTimeout, &c.max_skew_ms: o.MaxSkew,
		&c.skew_budget_ms: o.SkewBudget, &c.short_ms: o.Short,
		// mirrors: end
	} {
		if d != 0 {
			*to = C.go_milliseconds(C.int64_t(d))
		}
	}
	if o.Pid != nil {
		c.pid = C.int64_t(*o.Pid)
	}
	c.pid_min, c.pid_max, c.random_start = C.int64_t(o.PidMin), C.int64_t(o.PidMax), C.uint64_t(o.RandomStart)
	g := &Generator{fail: o.Fail, maxWait: time.Duration(c.max_wait_ms) * time.Millisecond, maxAge: time.Millisecond, size: 1}
	if o.MaxAge != 0 {
		g.maxAge = o.MaxAge
	}
	g.most = int(C.go_open(&g.c, c, o.Layout.c(), C.bool(o.Borrow), C.bool(o.Trust), C.bool(o.KeepPid), C.bool(o.Share)))
	if g.most < 0 {
		defer C.sfid_close(g.c)
		return nil, g.failure(int64(g.most))
	}
	return g, nil
}

// Close releases the pid. Later calls return ErrClosed.
func (g *Generator) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready.Store(nil)
	C.sfid_close(g.c)
	return nil
}

// Pid returns the pid in the IDs; below 0 it is a Code.
func (g *Generator) Pid() int64 { return int64(C.sfid_pid(g.c)) }

// Ready reports whether IDs can be generated now, for a probe.
func (g *Generator) Ready() bool { return C.sfid_ready(g.c) != 0 }

// Next generates one ID. It waits for at most MaxWait.
func (g *Generator) Next() (ID, error) { return g.NextContext(context.Background()) }

// NextContext generates one ID. It waits as Next does, but not past the end of ctx.
func (g *Generator) NextContext(ctx context.Context) (ID, error) {
	if ctx.Err() == nil {
		if id, ok := g.pop(); ok {
			return id, nil
		}
	}
	id, err := g.wait(ctx, g.refill)
	return ID(id), err
}

// GenerateBatch generates n IDs, increasing. If it returns fewer, the error says why. It waits as NextContext, once for all.
func (g *Generator) GenerateBatch(ctx context.Context, n int) ([]ID, error) {
	ids, done := make([]ID, n), 0
	_, err := g.wait(ctx, func() int64 {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ready.Store(nil)
		for done < n {
			got := g.draw(ids[done:])
			if got < 0 {
				return got
			}
			done += int(got)
		}
		return 0
	})
	return ids[:done], err
}

// draw returns how many IDs the library has written, or a code.
func (g *Generator) draw(ids []ID) int64 {
	return int64(C.sfid_next_n(g.c, (*C.int64_t)(&ids[0]), C.size_t(len(ids))))
}

// pop takes an ID that is ready.
func (g *Generator) pop() (ID, bool) {
	if b := g.ready.Load(); b != nil {
		if i := b.next.Add(1) - 1; i < int64(len(b.ids)) {
			return b.ids[i], true
		}
	}
	return 0, false
}

// refill returns an ID or a code. A batch used up in less than half of its time is followed by one of twice its size, one that
// became too old by one of half: at a steady rate no ID is lost, and at a low one none is ready.
func (g *Generator) refill() int64 {
	if g.maxAge < 0 || g.most == 1 {
		return int64(C.sfid_next(g.c))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if id, ok := g.pop(); ok { // of another goroutine's batch
		return int64(id)
	}
	now := time.Now()
	if age := now.Sub(g.filled); age > g.maxAge {
		g.size = (g.size + 1) / 2
	} else if age < g.maxAge/2 && g.size < g.most {
		g.size *= 2
	}
	g.filled = now
	if g.size <= 1 {
		return int64(C.sfid_next(g.c))
	}
	b := &batch{ids: make([]ID, g.size)}
	got := g.draw(b.ids)
	if got < 0 {
		return got
	}
	b.ids = b.ids[:got]
	b.next.Store(1)
	g.ready.Store(b)
	time.AfterFunc(g.maxAge, func() { g.ready.CompareAndSwap(b, nil) })
	return int64(b.ids[0])
}

// wait calls draw until it succeeds. It goes on after the errors after which sfid_next() does, and for as long.
func (g *Generator) wait(ctx context.Context, draw func() int64) (int64, error) {
	var end time.Time
	for nap := time.Millisecond; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		got := draw()
		if got >= 0 {
			return got, nil
		}
		if end.IsZero() {
			end = time.Now().Add(g.maxWait)
		}
		pause := time.Duration(-1)
		switch code := Code(got); {
		case code == ErrLease: // until it is renewed
			if pause = nap; nap < longestNap {
				nap *= 2
			}
		case !g.fail && (code == ErrAgain || code == ErrClock):
			pause = time.Duration(C.sfid_retry_ms(g.c)) * time.Millisecond // rounded up
		}
		if pause < 0 || pause-time.Millisecond >= time.Until(end) {
			return 0, g.failure(got)
		}
		if pause > longestNap {
			pause = longestNap
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %v", ctx.Err(), g.failure(got))
		}
	}
}

func (g *Generator) failure(code int64) error {
	var text [512]C.char
	C.go_explain(g.c, C.int(code), &text[0], C.size_t(len(text)))
	return &Error{Code: Code(code), Text: C.GoString(&text[0])}
}
