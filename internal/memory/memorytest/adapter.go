package memorytest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"atenia/internal/memory"
)

// RunAdapter tests an implementation of [memory.Adapter]. It calls open once for
// each test; the adapters may share one device. An adapter that is unavailable
// must refuse every call.
func RunAdapter(t *testing.T, open func() memory.Adapter) {
	if !open().Available() {
		t.Run("unavailable", func(t *testing.T) { unavailable(t, open()) })
		return
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, memory.Adapter)
	}{
		{"round trip", roundTrip},
		{"copies", copies},
		{"replace", replace},
		{"free", free},
		{"ids", ids},
		{"unknown", unknown},
		{"parallel", parallel},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open()) })
	}
}

func unavailable(t *testing.T, a memory.Adapter) {
	_, download := a.Download("t")
	for call, err := range map[string]error{"upload": a.Upload("t", []byte{1}), "download": download, "free": a.Free("t")} {
		if !errors.Is(err, memory.ErrBackendUnavailable) {
			t.Errorf("%s: error %v, want %v", call, err, memory.ErrBackendUnavailable)
		}
	}
}

// pattern returns n bytes that differ by position and seed.
func pattern(n int, seed uint64) []byte {
	b, x := make([]byte, n), seed*0x9e3779b97f4a7c15+1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

func upload(t *testing.T, a memory.Adapter, id string, data []byte) {
	t.Helper()
	if err := a.Upload(id, data); err != nil {
		t.Fatalf("upload of %d bytes as %.40q: %v", len(data), id, err)
	}
	t.Cleanup(func() { _ = a.Free(id) })
}

func want(t *testing.T, a memory.Adapter, id string, data []byte) {
	t.Helper()
	got, err := a.Download(id)
	if err != nil {
		t.Errorf("download of %.40q: %v", id, err)
	} else if !bytes.Equal(got, data) {
		t.Errorf("download of %.40q: %d bytes that are not the %d uploaded", id, len(got), len(data))
	}
}

func roundTrip(t *testing.T, a memory.Adapter) {
	for i, n := range []int{0, 1, 3, 4095, 4096, 4097, 1 << 20, 1<<22 + 5} {
		id := fmt.Sprintf("round trip %d", n)
		data := pattern(n, uint64(i))
		upload(t, a, id, data)
		want(t, a, id, data)
		want(t, a, id, data) // a second download must work
	}
}

// copies checks that uploads and downloads are copies.
func copies(t *testing.T, a memory.Adapter) {
	data := pattern(1000, 1)
	given := bytes.Clone(data)
	upload(t, a, "copies", given)
	clear(given)
	got, err := a.Download("copies")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, data) {
		t.Error("the device saw a later change of the bytes given to it")
	}
	clear(got)
	want(t, a, "copies", data)
}

func replace(t *testing.T, a memory.Adapter) {
	for i, n := range []int{100, 100, 5000, 7, 0, 64} {
		data := pattern(n, uint64(i))
		upload(t, a, "replace", data)
		want(t, a, "replace", data)
	}
}

func free(t *testing.T, a memory.Adapter) {
	data := pattern(100, 1)
	upload(t, a, "kept", data)
	upload(t, a, "free", data)
	if err := a.Free("free"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Download("free"); err == nil {
		t.Error("download of what was freed: no error")
	}
	if err := a.Free("free"); err != nil {
		t.Errorf("freeing again: %v", err)
	}
	want(t, a, "kept", data)
	upload(t, a, "free", data[:50])
	want(t, a, "free", data[:50])
}

func ids(t *testing.T, a memory.Adapter) {
	all := []string{"a/b", "a_b", "A_b", "blk.0:q", "id with space", "αβ", "张量", "é", "e\u0301", strings.Repeat("x", 300), strings.Repeat("x", 299) + "y", ""}
	for i, id := range all {
		upload(t, a, id, pattern(16, uint64(i)))
	}
	for i, id := range all {
		want(t, a, id, pattern(16, uint64(i)))
	}
}

func unknown(t *testing.T, a memory.Adapter) {
	if _, err := a.Download("never uploaded"); !errors.Is(err, memory.ErrBackendUnavailable) {
		t.Errorf("download: error %v, want %v", err, memory.ErrBackendUnavailable)
	}
	if err := a.Free("never uploaded"); err != nil {
		t.Errorf("free: %v", err)
	}
}

func parallel(t *testing.T, a memory.Adapter) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			id := fmt.Sprintf("parallel %d", g)
			for i := range 20 {
				data := pattern(1+g*1000+i, uint64(g*100+i))
				if err := a.Upload(id, data); err != nil {
					t.Errorf("upload: %v", err)
					return
				}
				want(t, a, id, data)
			}
			if err := a.Free(id); err != nil {
				t.Errorf("free: %v", err)
			}
		})
	}
	wg.Wait()
}
