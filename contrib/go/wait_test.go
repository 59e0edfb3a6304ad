// SPDX-License-Identifier: MIT

package sfid

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

// goroutines counts those whose stack has a text.
func goroutines(text string) int {
	var b strings.Builder
	pprof.Lookup("goroutine").WriteTo(&b, 2)
	return strings.Count(b.String(), text)
}

// hourly has ticks of an hour with four IDs each, all used up.
func hourly(t *testing.T, o Options) *Generator {
	t.Helper()
	o.Layout, o.MaxAge = layout(t, "30:4:2/3600s"), time.Hour
	g := open(t, o)
	for g.draw(make([]ID, 1)) > 0 {
	}
	return g
}

func TestContext(t *testing.T) {
	g := hourly(t, Options{MaxWait: 100 * time.Hour})
	began := time.Now()
	var short context.Context
	until(t, "the deadline comes while it waits", func() bool {
		var cancel func()
		short, cancel = context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		_, err := g.NextContext(short)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("deadline: %v", err)
		}
		return strings.Contains(err.Error(), "used up")
	})
	ids, err := g.GenerateBatch(short, 1)
	if !errors.Is(err, context.DeadlineExceeded) || len(ids) != 0 {
		t.Errorf("batch after the deadline: %v, %v", ids, err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { _, err := g.NextContext(stopped); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("all of this took %v", took)
	}
}

func TestContextThatHasEnded(t *testing.T) {
	g := open(t, Options{})
	burst(t, g)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if id, err := g.NextContext(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", id, err)
	}
	if ids, err := g.GenerateBatch(ended, 3); !errors.Is(err, context.Canceled) || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestBatchInPart(t *testing.T) {
	g := open(t, Options{Layout: layout(t, "30:4:4/3600s"), Fail: true, MaxAge: -1})
	if ids, err := g.GenerateBatch(context.Background(), 0); len(ids) != 0 || err != nil {
		t.Errorf("none: %v, %v", ids, err)
	}
	ids, err := g.GenerateBatch(context.Background(), 100)
	if (len(ids) != 16 && len(ids) != 32) || !errors.Is(err, ErrAgain) { // 32 if the hour ended just then
		t.Errorf("%d IDs, %v", len(ids), err)
	}
	unique(t, ids)
}

func TestWaits(t *testing.T) {
	g := open(t, Options{Layout: layout(t, "40:4:4/100ms")})
	ids := []ID{}
	for len(ids) < 40 {
		ids = append(ids, next(t, g))
	}
	more, err := g.GenerateBatch(context.Background(), 40)
	if err != nil || len(more) != 40 {
		t.Errorf("%d IDs, %v", len(more), err)
	}
	unique(t, append(ids, more...))
}

func TestEndOfPatience(t *testing.T) {
	for name, o := range map[string]Options{"short": {MaxWait: 20 * time.Millisecond}, "none": {MaxWait: -1}, "fail": {Fail: true, MaxWait: 100 * time.Hour}} {
		t.Run(name, func(t *testing.T) {
			g := hourly(t, o)
			began := time.Now()
			if id, err := g.Next(); !errors.Is(err, ErrAgain) {
				t.Errorf("%v, %v", id, err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// wait goes on where sfid_next() does. A draw that the test makes up stands for a window that is over.
func TestWaitForRenewal(t *testing.T) {
	g := open(t, Options{MaxWait: 300 * time.Millisecond})
	calls := 0
	failing := func(times int, codes ...Code) func() int64 {
		calls = 0
		return func() int64 {
			if calls++; calls <= times {
				return int64(codes[calls%len(codes)])
			}
			return 42
		}
	}
	ctx := context.Background()
	for _, codes := range [][]Code{{ErrLease}, {ErrAgain}, {ErrClock}, {ErrAgain, ErrLease}} {
		if got, err := g.wait(ctx, failing(6, codes...)); got != 42 || err != nil || calls != 7 {
			t.Errorf("%v: %d, %v after %d calls", codes, got, err, calls)
		}
	}
	began := time.Now()
	_, err := g.wait(ctx, failing(1<<30, ErrLease))
	if took := time.Since(began); !errors.Is(err, ErrLease) || took < 230*time.Millisecond || took > 5*time.Second || calls > 30 {
		t.Errorf("%v after %v and %d calls", err, took, calls)
	}
	_, err = g.wait(ctx, failing(1<<30, ErrAgain, ErrLease)) // 0 ms until the next try
	if !errors.Is(err, ErrLease) && !errors.Is(err, ErrAgain) || calls > 60 {
		t.Errorf("%v after %d calls", err, calls)
	}
	g.maxWait = 100 * time.Hour
	short, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	if _, err = g.wait(short, failing(1<<30, ErrLease)); !errors.Is(err, context.DeadlineExceeded) || calls > 100 {
		t.Errorf("%v after %d calls", err, calls)
	}
	for _, code := range []Code{ErrOverflow, ErrClosed, ErrInval} {
		if _, err := g.wait(ctx, failing(1, code)); !errors.Is(err, code) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}

func TestBorrow(t *testing.T) {
	g := open(t, Options{Layout: layout(t, "36:8:4/10s"), Borrow: true, MaxAhead: 40 * time.Second, MaxWait: -1})
	ids, err := g.GenerateBatch(context.Background(), 64)
	if err != nil || len(ids) != 64 {
		t.Errorf("%d IDs, %v", len(ids), err)
	}
}

// A goroutine that waits takes no thread.
func TestThreads(t *testing.T) {
	g := hourly(t, Options{MaxWait: 100 * time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := 0; i < 500; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := g.NextContext(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
	}
	until(t, "all wait", func() bool { return goroutines("[select") >= 500 })
	if threads := pprof.Lookup("threadcreate").Count(); threads > 100 {
		t.Errorf("%d threads for 500 goroutines", threads)
	}
	cancel()
	wg.Wait()
}
