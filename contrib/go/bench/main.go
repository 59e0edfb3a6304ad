// SPDX-License-Identifier: MIT

// Command bench measures what an ID costs in Go, beside floors, all in turn in each round: medians of the processor's time, of all
// threads, so that other programs on the machine hardly count.
package main

/*
static int nothing(void) { return 0; }
*/
import "C"

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"syscall"
	"time"

	"sfid"
)

const rounds, calls = 9, 200000

var sink int

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return v
}

func open(o sfid.Options) *sfid.Generator {
	o.Layout = must(sfid.ParseLayout("32:2:30/1s")) // a sequence that no loop uses up
	if o.App == "" {
		o.App, o.Store = "bench-go", "local"
	}
	return must(sfid.Open(o))
}

// uuid is what a random UUID is made of: 16 bytes of crypto/rand, and 36 characters.
func uuid() string {
	var b [16]byte
	var text [36]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	hex.Encode(text[:], b[:4])
	for i, at := range []int{9, 14, 19} {
		text[at-1] = '-'
		hex.Encode(text[at:], b[4+2*i:6+2*i])
	}
	text[23] = '-'
	hex.Encode(text[24:], b[10:])
	return string(text[:])
}

// used is the processor's time of this process, in nanoseconds.
func used() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func main() {
	ready, direct := open(sfid.Options{}), open(sfid.Options{MaxAge: -1})
	defer ready.Close()
	defer direct.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	each := func(f func()) func() {
		return func() {
			for i := 0; i < calls; i++ {
				f()
			}
		}
	}
	next := func(g *sfid.Generator) func() { return func() { sink += int(must(g.Next())) } }
	parallel := func(g *sfid.Generator) func() {
		return func() {
			n, wg := runtime.GOMAXPROCS(0), sync.WaitGroup{}
			for p := 0; p < n; p++ {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for i := 0; i < calls/n; i++ {
						must(g.Next())
					}
				}()
			}
			wg.Wait()
		}
	}
	rows := []struct {
		name string
		run  func()
		ns   []float64
	}{
		{name: "random UUID: 16 bytes of crypto/rand as text", run: each(func() { sink += len(uuid()) })},
		{name: "Next and String", run: each(func() { sink += len(must(ready.Next()).String()) })},
		{name: "Next and String, MaxAge: -1", run: each(func() { sink += len(must(direct.Next()).String()) })},
		{name: "16 bytes of crypto/rand", run: each(func() { var b [16]byte; sink += must(rand.Read(b[:])) })},
		{name: "time.Now", run: each(func() { sink += time.Now().Nanosecond() })},
		{name: "an empty call of C", run: each(func() { sink += int(C.nothing()) })},
		{name: "Next, MaxAge: -1", run: each(next(direct))},
		{name: "Next", run: each(next(ready))},
		{name: "NextContext", run: each(func() { sink += int(must(ready.NextContext(ctx))) })},
		{name: "Next, MaxAge: -1, a goroutine each processor", run: parallel(direct)},
		{name: "Next, a goroutine each processor", run: parallel(ready)},
		{name: "GenerateBatch of 1000, an ID", run: func() {
			for i := 0; i < calls/1000; i++ {
				sink += len(must(ready.GenerateBatch(ctx, 1000)))
			}
		}},
	}
	for round := 0; round <= rounds; round++ { // the first one warms up
		for i := range rows {
			began := used()
			if rows[i].run(); round > 0 {
				rows[i].ns = append(rows[i].ns, float64(used()-began)/calls)
			}
		}
	}
	for i := range rows {
		sort.Float64s(rows[i].ns)
	}
	for _, r := range rows {
		fmt.Printf("%-48s %8.1f ns %8.3f of a UUID\n", r.name, r.ns[rounds/2], r.ns[rounds/2]/rows[0].ns[rounds/2])
	}
}
