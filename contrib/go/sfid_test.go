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

func TestErrors(t *testing.T) {
	_, err := Open(Options{App: "x/y", Store: "local"})
	var e *Error
	if !errors.Is(err, ErrInval) || !errors.As(err, &e) || e.Code != ErrInval || !strings.Contains(err.Error(), "x/y") {
		t.Errorf("app: %v", err)
	}
	if _, err := Open(Options{App: "x\x00y", Store: "local"}); !errors.Is(err, ErrInval) {
		t.Errorf("NUL: %v", err)
	}
	if _, err := ParseWideLayout("uuid7\x00"); !errors.Is(err, ErrInval) {
		t.Errorf("NUL: %v", err)
	}
	if _, err := ParseLayout(strings.Repeat("0", 500) + "41:10:12"); !errors.Is(err, ErrInval) {
		t.Errorf("a layout of 508 bytes: %v", err)
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
