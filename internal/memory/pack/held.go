package pack

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"atenia/internal/fault"
	"atenia/internal/kernel"
)

// OpenHeld packs matrices where they are, before their first use: those of the named
// weights, whose bytes are memory of the process that no one else reads. It sets the
// value of each that it has packed; one that is set was packed by an earlier store.
// Matrices whose packed form is larger, or which are not aligned, stay as they are.
func (s *Store) OpenHeld(held map[string]*bool) {
	const alignment = 64
	var todo []*Matrix
	for _, m := range s.all {
		done, n := held[m.name], m.packedBytes()
		if done == nil || n == 0 || n != len(m.source.Data) || m.source.Rows%kernel.TileRows != 0 ||
			uintptr(unsafe.Pointer(unsafe.SliceData(m.source.Data)))%alignment != 0 {
			continue
		}
		if !*done {
			todo = append(todo, m)
		}
		*done = true
		m.packed.Tiles, m.packed.Data = m.source.Data, nil
		s.decision.Held += int64(n)
	}
	var next atomic.Int64
	var wg fault.Group
	for range min(len(todo), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			var rows []byte
			for i := next.Add(1); int(i) <= len(todo); i = next.Add(1) {
				rows = todo[i-1].packHere(rows)
			}
		})
	}
	wg.Wait()
}

// packHere replaces the rows of a matrix by their packed form, tile by tile, with a
// buffer that it returns.
func (m *Matrix) packHere(rows []byte) []byte {
	w := &m.source
	size := len(w.Data) / w.Rows * kernel.TileRows
	if len(rows) < size {
		rows = make([]byte, size)
	}
	for at := 0; at < len(w.Data); at += size {
		tile := kernel.Matrix{DType: w.DType, Rows: kernel.TileRows, Cols: w.Cols, Data: rows[:copy(rows, w.Data[at:at+size])]}
		tile.Pack(w.Data[at:at+size], 0, kernel.TileRows)
	}
	return rows
}
