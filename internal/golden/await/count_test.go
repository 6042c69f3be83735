package await

import (
	"testing"
	"testing/synctest"
	"time"
)

var sink []byte

// TestCounts: bytes that are allocated, goroutines that are started, and one that does
// not end are noticed.
func TestCounts(t *testing.T) {
	if n := Bytes(func() { sink = make([]byte, 1<<20) }); n < 1<<20 {
		t.Errorf("%d bytes, at least a MiB", n)
	}
	done := make(chan int)
	if n := Started(func() { go func() { done <- 1 }(); <-done }); n < 1 {
		t.Errorf("%d goroutines were started", n)
	}
	synctest.Test(t, func(t *testing.T) {
		late := &ends{end: time.Now().Add(time.Minute)}
		gone := Goroutines(late)
		stop := make(chan int)
		go func() { <-stop }()
		func() {
			defer func() { _ = recover() }()
			gone()
		}()
		close(stop)
		if !late.failed {
			t.Error("a goroutine that stays is not noticed")
		}
		Goroutines(&ends{end: time.Now().Add(time.Hour)})()
	})
}
