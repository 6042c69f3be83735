package pack

import (
	"sync/atomic"
	"time"
	"unsafe"

	"atenia/internal/kernel"
	"atenia/internal/machine/ledger"
)

// A Config says where packed weights may be kept. The zero value decides by the
// machine's memory and releases nothing.
type Config struct {
	Mode Mode
	// Because says why Mode is Off, where no user asked for it.
	Because string
	// Available is the memory that can be allocated, in bytes, and Reserve the part
	// of it kept for other uses. Available 0 means unknown.
	Available, Reserve int64
	// Bound says that Available is of a budget, which packing stays within that was asked for.
	Bound bool
	// Mixture says that most matrices are experts, which are packed when tokens choose them
	// first: beside their files, both of which need room then.
	Mixture bool
	// Release, if not nil, is called by any worker with rows that are not read any
	// more, because all of them are packed. evict asks to drop them from the page
	// cache, too. They may still be read, slowly.
	Release func(rows []byte, evict bool)
	Disk    Disk            // for mode OnDisk
	Account *ledger.Account // that packed weights are reserved in
}

// A Store holds the weights that products read. Fill it with [Store.Add], then
// open it once; after that [Matrix.Range] is safe for concurrent use.
type Store struct {
	cfg      Config
	all      []*Matrix
	by       map[key]*Matrix
	block    ledger.Block
	unmap    func() error // of the packed file, if any
	decision Decision
	spent    atomic.Int64 // ns
}

// A key identifies a matrix by its memory, because the programs of a model share
// weights.
type key struct {
	data       *byte
	rows, cols int
}

// New returns an empty store.
func New(cfg Config) *Store { return &Store{cfg: cfg, by: map[key]*Matrix{}} }

// Add returns the store's matrix for w, the same one for the same memory. It
// keeps its first name.
func (s *Store) Add(name string, w kernel.Matrix) *Matrix {
	k := key{unsafe.SliceData(w.Data), w.Rows, w.Cols}
	m := s.by[k]
	if m == nil {
		m = &Matrix{store: s, name: name, source: w, packed: w}
		s.by[k] = m
		s.all = append(s.all, m)
	}
	return m
}

// Unpacked returns a matrix outside any store that is never packed, for weights
// whose bytes are streamed.
func Unpacked(w kernel.Matrix) *Matrix { return &Matrix{source: w} }

// Open decides where the packed form is kept and allocates the memory. more is
// added to the reserve. If there is not enough memory, weights are read in the
// file's layout.
func (s *Store) Open(more int64) {
	s.cfg.Reserve += more
	s.decision = decide(s.cfg, s.all)
	if s.decision.Mode == OnDisk {
		path, wrote, fault := s.openDisk()
		if path != "" {
			s.decision.Path, s.decision.Wrote, s.decision.Fault = path, wrote, fault
			return
		}
		s.cfg.Mode = Auto
		s.decision = decide(s.cfg, s.all)
		s.decision.Asked, s.decision.Fault = OnDisk, fault
		s.decision.Because = "disk cannot be used; " + s.decision.Because
	}
	if s.decision.Mode == InMemory {
		s.openMemory()
	}
}

// DryRun returns what [Store.Open] would decide with the current memory. It
// opens no file.
func (s *Store) DryRun(more int64) Decision {
	c := s.cfg
	c.Reserve += more
	return decide(c, s.all)
}

func (s *Store) openMemory() {
	var err error
	if s.block, err = ledger.NewHugeBlock(s.cfg.Account, ledger.Packed, int(s.decision.Bytes)); err != nil {
		s.decision.Mode, s.decision.Because = Off, err.Error()
		return
	}
	free := s.block.Bytes
	for _, m := range s.all {
		if n := m.packedBytes(); n > 0 {
			m.packed.Tiles = free[:n:n]
			free = free[align(n):]
			m.tiles = make([]atomic.Uint32, (m.source.Rows+kernel.TileRows-1)/kernel.TileRows)
			m.left.Store(int64(len(m.tiles)))
		}
	}
}

// Decision returns where the packed form is kept, and why.
func (s *Store) Decision() Decision { return s.decision }

// Spent returns how long threads have packed so far, all together.
func (s *Store) Spent() time.Duration { return time.Duration(s.spent.Load()) }

// Close frees the memory. The store's matrices must not be used any more.
func (s *Store) Close() {
	s.block.Release()
	if s.unmap != nil {
		_ = s.unmap() // fails only for a slice that is not a mapping
		s.unmap = nil
	}
}

// align rounds up to a cache line.
func align(n int) int { return (n + 63) &^ 63 }

// A Matrix is one weight matrix of a store.
type Matrix struct {
	store          *Store
	name           string
	source, packed kernel.Matrix   // packed has Tiles if there is a packed form
	tiles          []atomic.Uint32 // tileState of each tile
	left           atomic.Int64    // tiles still to be packed
}

// The states of a tile.
const (
	tileSource = iota // not packed
	tileTaken         // being packed
	tilePacked
)

func (m *Matrix) packedBytes() int {
	return kernel.PackedBytes(m.source.DType, m.source.Rows, m.source.Cols)
}

// Range returns the matrix with which to multiply rows lo to hi, valid for those
// rows only. It packs rows that are not packed yet.
func (m *Matrix) Range(lo, hi int) *kernel.Matrix {
	switch {
	case m.packed.Tiles == nil:
		return &m.source
	case m.left.Load() == 0:
		return &m.packed
	}
	w := &m.packed
	for t := lo / kernel.TileRows; t*kernel.TileRows < hi; t++ {
		if !m.pack(t) {
			w = &m.source
		}
	}
	return w
}

// pack ensures that a tile is packed; it returns false if another worker is
// packing it.
func (m *Matrix) pack(t int) bool {
	if !m.tiles[t].CompareAndSwap(tileSource, tileTaken) {
		return m.tiles[t].Load() == tilePacked
	}
	lo := t * kernel.TileRows
	began := time.Now()
	m.source.Pack(m.packed.Tiles, lo, min(lo+kernel.TileRows, m.source.Rows))
	m.store.spent.Add(int64(time.Since(began)))
	m.tiles[t].Store(tilePacked)
	if m.left.Add(-1) == 0 && m.store.cfg.Release != nil {
		m.store.cfg.Release(m.source.Data, m.store.decision.Evict)
	}
	return true
}
