package memorytest

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"atenia/internal/memory"
)

// A Call is a call of an adapter.
type Call uint8

// The calls that can fail.
const (
	Upload Call = iota
	Download
	Free
)

// FakeVRAM is a device in memory. Its zero value is ready and available. It is
// safe for concurrent use.
type FakeVRAM struct {
	// Fail, if not nil, returns the error of a call, nil to let it succeed. Set it
	// before use.
	Fail func(c Call, id string) error

	mu   sync.Mutex
	down bool
	held map[string][]byte
}

// SetAvailable makes the device available or unavailable. It keeps its buffers.
func (v *FakeVRAM) SetAvailable(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.down = !on
}

// Available reports whether the device is available.
func (v *FakeVRAM) Available() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.down
}

func (v *FakeVRAM) fails(c Call, id string) error {
	if v.Fail == nil {
		return nil
	}
	return v.Fail(c, id)
}

// Upload stores a copy of data.
func (v *FakeVRAM) Upload(id string, data []byte) error {
	if err := v.fails(Upload, id); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held == nil {
		v.held = map[string][]byte{}
	}
	v.held[id] = bytes.Clone(data)
	return nil
}

// Download returns a copy of the uploaded bytes.
func (v *FakeVRAM) Download(id string) ([]byte, error) {
	if err := v.fails(Download, id); err != nil {
		return nil, err
	}
	data, ok := v.Held(id)
	if !ok {
		return nil, &memory.MoveError{Kind: memory.ErrBackendUnavailable, ID: id, Why: "nothing of that id on the device"}
	}
	return data, nil
}

// Free drops the uploaded bytes.
func (v *FakeVRAM) Free(id string) error {
	if err := v.fails(Free, id); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.held, id)
	return nil
}

// Held returns a copy of the bytes stored for an id, whether or not the device
// is available.
func (v *FakeVRAM) Held(id string) (data []byte, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	data, ok = v.held[id]
	return bytes.Clone(data), ok
}

// IDs returns the stored ids, sorted.
func (v *FakeVRAM) IDs() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.held))
}

// Total returns the number of stored bytes.
func (v *FakeVRAM) Total() (n uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, data := range v.held {
		n += uint64(len(data))
	}
	return n
}

// Refuse returns a Fail that rejects calls for some ids, or all with "*", with
// [memory.ErrBackendUnavailable].
func Refuse(ids map[Call][]string) func(Call, string) error {
	return func(c Call, id string) error {
		if slices.Contains(ids[c], id) || slices.Contains(ids[c], "*") {
			return &memory.MoveError{Kind: memory.ErrBackendUnavailable, ID: id, Why: "the device refuses"}
		}
		return nil
	}
}
