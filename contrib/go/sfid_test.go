// SPDX-License-Identifier: MIT

package sfid

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// A test starts this program again as its child, which prints IDs.
func TestMain(m *testing.M) {
	if os.Getenv("SFID_TEST_CHILD") != "" {
		child()
		return
	}
	dir, err := os.MkdirTemp("", "sfid-go-")
	if err != nil {
		panic(err)
	}
	os.Setenv("SFID_RUN_DIR", dir+"/run")
	os.Setenv("SFID_STATE_DIR", dir+"/state")
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

func child() {
	g, err := Open(Options{App: "processes", Store: "local", OpenTimeout: time.Minute})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	for _, id := range drawn(g, 4, 1000) {
		fmt.Fprintln(out, id)
	}
	fmt.Fprintln(out, "all")
	out.Flush()
	bufio.NewReader(os.Stdin).ReadByte() // it holds its pid until all have one
	g.Close()
}

func open(t *testing.T, o Options) *Generator {
	t.Helper()
	if o.App == "" && o.Pid == nil {
		dir := t.TempDir()
		o.App, o.Store, o.RunDir, o.StateDir = strings.ReplaceAll(t.Name(), "/", "-"), "local", dir+"/run", dir+"/state"
	}
	if o.OpenTimeout == 0 {
		o.OpenTimeout = time.Minute
	}
	g, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func layout(t *testing.T, text string) *Layout {
	t.Helper()
	l, err := ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func next(t *testing.T, g *Generator) ID {
	t.Helper()
	id, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// drawn has n IDs of each of some goroutines: one by one, with a context, and in batches. It fails by panic.
func drawn(g *Generator, goroutines, n int) []ID {
	all, wg := make([][]ID, goroutines), sync.WaitGroup{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range all {
		wg.Add(1)
		go func(ids *[]ID) {
			defer wg.Done()
			for len(*ids) < n {
				var err error
				batch := make([]ID, 1)
				switch len(*ids) % 7 {
				case 0:
					batch, err = g.GenerateBatch(ctx, 5)
				case 5:
					batch[0], err = g.NextContext(ctx)
				default:
					batch[0], err = g.Next()
				}
				if err != nil {
					panic(err)
				}
				*ids = append(*ids, batch...)
			}
		}(&all[i])
	}
	wg.Wait()
	var flat []ID
	for i, ids := range all {
		for j := 1; j < len(ids); j++ {
			if ids[j] <= ids[j-1] {
				panic(fmt.Sprintf("goroutine %d: %v after %v", i, ids[j], ids[j-1]))
			}
		}
		flat = append(flat, ids...)
	}
	return flat
}

func unique(t *testing.T, ids []ID) {
	t.Helper()
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Fatalf("%v twice", ids[i])
		}
	}
}

func TestGoroutines(t *testing.T) {
	g := open(t, Options{Layout: layout(t, "ms")})
	ids := drawn(g, 16, 5000)
	if len(ids) < 16*5000 {
		t.Fatalf("%d IDs", len(ids))
	}
	unique(t, ids)
}

func TestProcesses(t *testing.T) {
	const children = 4
	var ids []ID
	var wait []func()
	for i := 0; i < children; i++ {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "SFID_TEST_CHILD=1")
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "all" {
			id, err := ParseID(Dec, lines.Text())
			if err != nil {
				t.Fatal(lines.Text())
			}
			ids = append(ids, id)
		}
		wait = append(wait, func() {
			in.Close()
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, w := range wait {
		w()
	}
	if len(ids) < 4000*children {
		t.Fatalf("%d IDs", len(ids))
	}
	pids := map[uint64]bool{}
	for _, id := range ids {
		p, _ := (*Layout)(nil).Parse(id)
		pids[p.Pid] = true
	}
	if len(pids) != children {
		t.Errorf("pids %v of %d processes", pids, children)
	}
	unique(t, ids)
}

// If one call returns before another begins, its ID is lower: over goroutines, calls of each kind, and what lies ready.
func TestOrder(t *testing.T) {
	g := open(t, Options{Layout: layout(t, "ms")})
	token, wg := make(chan ID, 1), sync.WaitGroup{}
	token <- 0
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for n := 0; n < 4000; n++ {
				if i%2 == 0 { // in nobody's turn: fills and uses what lies ready
					next(t, g)
					continue
				}
				last := <-token
				id := next(t, g)
				if n%8 == 0 {
					batch, err := g.GenerateBatch(context.Background(), 3)
					if err != nil || batch[0] <= id {
						t.Errorf("%v after %v, %v", batch, id, err)
					}
					batch = append(batch, next(t, g))
					if batch[3] <= batch[2] {
						t.Errorf("%v after the batch", batch)
					}
					id = batch[3]
				}
				if id <= last {
					t.Errorf("%v after %v", id, last)
				}
				token <- id
			}
		}(i)
	}
	wg.Wait()
}

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

// goroutines counts those whose stack has a text.
func goroutines(text string) int {
	var b strings.Builder
	pprof.Lookup("goroutine").WriteTo(&b, 2)
	return strings.Count(b.String(), text)
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

func TestErrors(t *testing.T) {
	_, err := Open(Options{App: "x/y", Store: "local"})
	var e *Error
	if !errors.Is(err, ErrInval) || !errors.As(err, &e) || e.Code != ErrInval || !strings.Contains(err.Error(), "x/y") {
		t.Errorf("app: %v", err)
	}
	if _, err := Open(Options{App: "x\x00y", Store: "local"}); !errors.Is(err, ErrInval) {
		t.Errorf("NUL: %v", err)
	}
	if _, err := ParseLayout("ms\x00"); !errors.Is(err, ErrInval) {
		t.Errorf("NUL: %v", err)
	}
	pid := int64(5)
	g := open(t, Options{App: "errors", Pid: &pid, MaxAge: time.Hour})
	if g.Pid() != 5 || !g.Ready() {
		t.Errorf("pid %d, ready %v", g.Pid(), g.Ready())
	}
	if _, err := Open(Options{App: "errors", Pid: &pid}); !errors.Is(err, ErrBusy) || errors.Is(err, ErrInval) {
		t.Errorf("busy: %v", err)
	}
	id := burst(t, g).ids[0]
	if p, err := (*Layout)(nil).Parse(id); p.Pid != 5 || err != nil || time.Since(p.Time) > time.Minute {
		t.Errorf("%+v, %v", p, err)
	}
	for i := 0; i < 2; i++ {
		g.Close()
		if _, err := g.Next(); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if _, err := g.GenerateBatch(context.Background(), 1); !errors.Is(err, ErrClosed) || g.Ready() || g.Pid() != int64(ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if _, err := new(Generator).Next(); !errors.Is(err, ErrClosed) {
		t.Errorf("never open: %v", err)
	}
	if ErrAgain.Error() != "sfid: sequence used up for now, try again" {
		t.Error(ErrAgain)
	}
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	o := Options{App: "options", Store: "local", PidMin: 7, PidMax: 8, RunDir: dir + "/run", StateDir: dir + "/state"}
	if g, h := open(t, o), open(t, o); g.Pid()+h.Pid() != 7+8 {
		t.Errorf("pids %d, %d", g.Pid(), h.Pid())
	}
	if _, err := Open(o); !errors.Is(err, ErrNoPid) {
		t.Errorf("a third pid: %v", err)
	}
	if _, err := os.Stat(dir + "/state/options/layout"); err != nil {
		t.Error(err)
	}
	for name, o := range map[string]Options{
		"ttl_ms": {TTL: time.Millisecond}, "heartbeat_ms": {Heartbeat: time.Hour}, "max_ahead_ms": {MaxAhead: 25 * time.Hour},
		"open_timeout_ms": {OpenTimeout: -1}, "skew_budget_ms": {SkewBudget: 2 * time.Hour}, "random_start": {RandomStart: 1 << 40},
	} {
		o.App, o.Store = "options-bad", "redis://127.0.0.1:1"
		if _, err := Open(o); !errors.Is(err, ErrInval) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSON(t *testing.T) {
	type order struct {
		ID   ID
		Next *ID
	}
	text, err := json.Marshal(order{ID: 9223372036854775807})
	if string(text) != `{"ID":"9223372036854775807","Next":null}` || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	for _, in := range []string{string(text), `{"ID":9223372036854775807}`} {
		var o order
		if err := json.Unmarshal([]byte(in), &o); o.ID != 9223372036854775807 || err != nil {
			t.Errorf("%s: %v, %v", in, o.ID, err)
		}
	}
	for _, in := range []string{`""`, `"-1"`, `-1`, `1.0`, `1e3`, `"x"`, `"1\""`, `"9223372036854775808"`, `true`} {
		id := ID(77)
		if err := json.Unmarshal([]byte(in), &id); err == nil || id != 77 {
			t.Errorf("%s is read as %v", in, id)
		}
	}
	id := ID(77)
	if err := json.Unmarshal([]byte("null"), &id); err != nil || id != 77 {
		t.Errorf("null: %v, %v", id, err)
	}
}

func TestSQL(t *testing.T) {
	if v, err := ID(42).Value(); v != int64(42) || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	for _, v := range []any{int64(42), []byte("42"), "42"} {
		var id ID
		if err := id.Scan(v); id != 42 || err != nil {
			t.Errorf("%T: %v, %v", v, id, err)
		}
	}
	for _, v := range []any{nil, int64(-1), "x", []byte{}, 4.2, true} {
		id := ID(77)
		if err := id.Scan(v); !errors.Is(err, ErrInval) || id != 77 {
			t.Errorf("%T is read as %v, %v", v, id, err)
		}
	}
}
