package parked

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/stores"
)

// TestFull: a channel without a folder drops what it has no room for; an account
// without room refuses the page and keeps the others.
func TestFull(t *testing.T) {
	b, err := OpenBus(BusConfig{Quotas: [Channels]uint64{100, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	for key := range uint64(5) {
		if err := b.Put(t.Context(), Text, key, make([]byte, 40)); err != nil {
			t.Fatal(err)
		}
	}
	for key := range uint64(5) {
		_, err := b.Get(t.Context(), Text, key)
		if kept := key >= 3; kept != (err == nil) || !kept && !errors.Is(err, ErrNotFound) {
			t.Errorf("page %d: %v", key, err)
		}
	}
	if err := b.Archive(); !errors.Is(err, stores.ErrNoFolder) {
		t.Errorf("archive without a folder: %v", err)
	}
	for _, x := range []struct {
		err error
		is  error
	}{
		{b.Put(t.Context(), Channels, 1, []byte{1}), errChannel},
		{b.Put(t.Context(), Text, 1, nil), errSize},
		{b.Put(t.Context(), Text, 1, make([]byte, mostPage+1)), errSize},
		{b.Request(t.Context(), 200), errChannel},
	} {
		if !errors.Is(x.err, x.is) {
			t.Errorf("%v, want %v", x.err, x.is)
		}
	}
	small, err := OpenBus(BusConfig{Memory: stores.NewMemory(stores.TierConfig{Account: ledger.New(nil, 100)})})
	if err != nil {
		t.Fatal(err)
	}
	if err := small.Put(t.Context(), Text, 1, make([]byte, 80)); err != nil {
		t.Fatal(err)
	}
	if err := small.Put(t.Context(), Image, 2, make([]byte, 80)); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("a full account: %v", err)
	}
	if got, err := small.Get(t.Context(), Text, 1); err != nil || len(got) != 80 {
		t.Errorf("the page that was there: %d bytes, %v", len(got), err)
	}
}

// TestConcurrent: channels and callers at once; every page has what was put.
func TestConcurrent(t *testing.T) {
	b, err := OpenBus(BusConfig{Memory: stores.NewMemory(stores.TierConfig{Dir: t.TempDir()}), Quotas: [Channels]uint64{300, 300, 300}, Cold: true})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range 30 {
				c, key := Channel(r.IntN(3)), uint64(w)<<8|uint64(r.IntN(4))
				data := bytes.Repeat([]byte{byte(key), byte(c)}, 50)
				if err := b.Put(context.Background(), c, key, data); err != nil {
					t.Error(err)
				}
				if got, err := b.Get(context.Background(), c, key); err != nil || !bytes.Equal(got, data) {
					t.Errorf("page %#x of %v: %v", key, c, err)
				}
			}
		})
	}
	wg.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func sample() *Container {
	c := &Container{}
	for i := range 3 {
		p := Part{ID: uint32(i), Name: fmt.Sprint(i), Kind: Kind(i), Meta: map[string]string{"k": "v"}}
		for j := range i {
			p.Chunks = append(p.Chunks, bytes.Repeat([]byte{byte(i)}, 3*j))
		}
		c.Parts = append(c.Parts, p)
	}
	return c
}

// FuzzParse: no bytes make the parser fail otherwise than by its error, and what
// it accepts is written in the same form.
func FuzzParse(f *testing.F) {
	good, err := sample().Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{8, 1})
	f.Add([]byte{8, 1, 0x12, 2, 0x20, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrContainer) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := c.Append(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("another form: %v", err)
		}
	})
}

// TestForms: bytes that say the same in another way are refused.
func TestForms(t *testing.T) {
	good, err := sample().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"a long varint":      append([]byte{8, 0x81, 0}, good[2:]...),
		"another version":    append([]byte{8, 2}, good[2:]...),
		"no version":         good[2:],
		"an unknown field":   append(bytes.Clone(good), 0x22, 0),
		"fixed 32":           append(bytes.Clone(good), 0x1d, 0, 0, 0, 0),
		"a frame of nobody":  append(bytes.Clone(good), 0x1a, 2, 8, 9),
		"a frame twice":      append(bytes.Clone(good), 0x1a, 4, 8, 2, 16, 1),
		"a huge length":      append(bytes.Clone(good), 0x1a, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"a channel too late": append(bytes.Clone(good), 0x12, 2, 8, 7),
		"a default":          {8, 1, 0x12, 2, 8, 0},
		"no channels":        {8, 1},
		"frames in disorder": {8, 1, 0x12, 4, 8, 1, 0x20, 1, 0x12, 4, 8, 2, 0x20, 1, 0x1a, 2, 8, 2, 0x1a, 2, 8, 1},
	} {
		if _, err := Parse(b); !errors.Is(err, ErrContainer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := MergeContainers(sample(), sample()); !errors.Is(err, ErrContainer) {
		t.Errorf("two channels of one id: %v", err)
	}
}
