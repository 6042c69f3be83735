package live

import "sync/atomic"

// A ring passes samples from one thread to another without locks: one puts, one takes.
type ring struct {
	data []float32
	_    [128]byte
	put  atomic.Int64 // samples ever put
	_    [120]byte
	got  atomic.Int64 // samples ever taken
	_    [120]byte
}

func newRing(n int) *ring { return &ring{data: make([]float32, n)} }

// room returns how many samples can be put, and held how many can be taken.
func (r *ring) room() int { return len(r.data) - r.held() }
func (r *ring) held() int { return int(r.put.Load() - r.got.Load()) }

// write puts all of x, or nothing if there is not room for it.
func (r *ring) write(x []float32) bool {
	if r.room() < len(x) {
		return false
	}
	at := r.put.Load()
	k := copy(r.data[at%int64(len(r.data)):], x)
	copy(r.data, x[k:])
	r.put.Store(at + int64(len(x)))
	return true
}

// read takes up to len(x) samples and returns how many.
func (r *ring) read(x []float32) int {
	x = x[:min(len(x), r.held())]
	at := r.got.Load()
	k := copy(x, r.data[at%int64(len(r.data)):])
	copy(x[k:], r.data)
	r.got.Store(at + int64(len(x)))
	return len(x)
}
