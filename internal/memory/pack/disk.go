package pack

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"atenia/internal/fault"
	"atenia/internal/kernel"
	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
	"atenia/tensor"
)

// A Disk says where packed weights are kept between runs.
type Disk struct {
	// Paths are candidate files, in order of preference, to read and, where
	// permitted, to write.
	Paths []string
	// Source identifies the model's files: it changes when they do.
	Source [sha256.Size]byte
	// Verify reads both forms completely and compares their hashes with those in
	// the file.
	Verify bool
}

// errNoFile is returned for models that were not opened from files, or whose
// files have disappeared.
var errNoFile = errors.New("packed weights: want a model in a file, got one without")

// openDisk maps a packed file; if no valid one exists, it writes one first.
// faults are those of files that could not be used.
func (s *Store) openDisk() (path string, wrote bool, faults error) {
	d := &s.cfg.Disk
	if len(d.Paths) == 0 {
		return "", false, errNoFile
	}
	ms, id := s.packable(), identity{source: d.Source}
	id.layout, id.sample = layoutOf(ms), sampleOf(ms)
	for _, p := range d.Paths {
		err := s.load(p, ms, &id)
		if err == nil {
			return p, false, faults
		}
		if !errors.Is(err, fs.ErrNotExist) {
			faults = errors.Join(faults, err)
		}
	}
	total := int64(dataStart)
	for _, m := range ms {
		total += int64(align(m.packedBytes()))
	}
	for _, p := range d.Paths {
		err := durable.Fits(nil, filepath.Dir(p), total)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(p), 0o755)
		}
		if err == nil {
			err = durable.Replace(p, func(w io.Writer) error { return s.save(w, ms, &id) })
		}
		if err == nil {
			err = s.load(p, ms, &id)
		}
		if err == nil {
			return p, true, faults
		}
		faults = errors.Join(faults, err)
	}
	return "", false, faults
}

// packable returns the matrices that have a packed form.
func (s *Store) packable() []*Matrix {
	return slices.DeleteFunc(slices.Clone(s.all), func(m *Matrix) bool { return m.packedBytes() == 0 })
}

// layoutOf returns a hash of a sample tile of each type in packed form. It
// serves as a version number that cannot be forgotten.
func layoutOf(ms []*Matrix) sum {
	const cols = 9 * 256 // more than kernels process at a time
	types := map[tensor.DType]bool{}
	for _, m := range ms {
		types[m.source.DType] = true
	}
	h := sha256.New()
	for d := range tensor.DType(tensor.NumDTypes) {
		if !types[d] {
			continue
		}
		values, size := d.Block()
		w := kernel.Matrix{DType: d, Rows: kernel.TileRows, Cols: cols, Data: make([]byte, kernel.TileRows*cols/values*size)}
		for i := range w.Data {
			w.Data[i] = byte(i*i+i>>8) & 0x3f // never the exponent of a NaN
		}
		tile := make([]byte, kernel.PackedBytes(d, w.Rows, cols))
		w.Pack(tile, 0, w.Rows)
		h.Write(fmt.Appendf(nil, "%v %d\n", d, len(tile)))
		h.Write(tile)
	}
	return sum(h.Sum(nil))
}

// sampleOf returns a hash of the ends of every matrix in the file's layout.
func sampleOf(ms []*Matrix) sum {
	const part = 4096
	h := sha256.New()
	for _, m := range ms {
		b := m.source.Data
		h.Write(b[:min(part, len(b))])
		h.Write(b[max(0, len(b)-part):])
	}
	return sum(h.Sum(nil))
}

// save writes a packed file, matrix by matrix, each packed and hashed by all
// processors.
func (s *Store) save(w io.Writer, ms []*Matrix, id *identity) error {
	largest := 0
	for _, m := range ms {
		largest = max(largest, m.packedBytes())
	}
	block, err := ledger.NewHugeBlock(s.cfg.Account, ledger.Packed, align(largest))
	if err != nil {
		return err
	}
	defer block.Release()
	head := make([]byte, dataStart)
	copy(head, fileMagic)
	head[len(fileMagic)] = fileVersion
	if _, err := w.Write(head); err != nil {
		return err
	}
	offset := uint64(dataStart)
	es := make([]entry, len(ms))
	for i, m := range ms {
		n := m.packedBytes()
		out := block.Bytes[:align(n)]
		clear(out[n:])
		m.packAll(out[:n])
		e := entryOf(m)
		e.offset = offset
		var wg fault.Group
		wg.Go(func() { e.source = sha256.Sum256(m.source.Data) })
		e.packed = sha256.Sum256(out[:n])
		wg.Wait()
		if _, err := w.Write(out); err != nil {
			return err
		}
		es[i], offset = e, offset+uint64(len(out))
		if s.cfg.Release != nil {
			s.cfg.Release(m.source.Data, s.decision.Evict)
		}
	}
	_, err = w.Write(appendIndex(nil, offset, id, es))
	return err
}

func entryOf(m *Matrix) entry {
	return entry{
		name: m.name, dtype: m.source.DType.String(), rows: uint64(m.source.Rows), cols: uint64(m.source.Cols),
		bytes: uint64(m.packedBytes()),
	}
}

// packAll packs a whole matrix with all processors.
func (m *Matrix) packAll(dst []byte) {
	tiles := (m.source.Rows + kernel.TileRows - 1) / kernel.TileRows
	workers := min(runtime.GOMAXPROCS(0), tiles)
	var wg fault.Group
	for k := range workers {
		lo, hi := tiles*k/workers*kernel.TileRows, min(tiles*(k+1)/workers*kernel.TileRows, m.source.Rows)
		wg.Go(func() { m.source.Pack(dst, lo, hi) })
	}
	wg.Wait()
}

// load maps a packed file and attaches its matrices to the store's.
func (s *Store) load(path string, ms []*Matrix, id *identity) error {
	b, unmap, err := mapFile(path)
	if err != nil {
		return &fileError{Path: path, Err: err}
	}
	es, err := s.check(b, ms, id)
	if err != nil {
		if e, ok := errors.AsType[*fileError](err); ok {
			e.Path = path
		}
		return errors.Join(err, unmap())
	}
	for i, m := range ms {
		m.packed.Tiles = b[es[i].offset:][:es[i].bytes:es[i].bytes]
	}
	s.unmap = unmap
	return nil
}

// check compares a packed file with its expected content.
func (s *Store) check(b []byte, ms []*Matrix, id *identity) ([]entry, error) {
	was, es, err := parse(b)
	if err != nil {
		return nil, err
	}
	const stale = "another: it was made from other files, or by another version"
	for _, f := range []struct {
		field     string
		want, got sum
	}{{"source", id.source, was.source}, {"layout", id.layout, was.layout}, {"sample", id.sample, was.sample}} {
		if f.want != f.got {
			return nil, &fileError{Field: f.field, Want: fmt.Sprintf("%x…", f.want[:6]), Got: stale}
		}
	}
	if len(es) != len(ms) {
		return nil, &fileError{Field: "entries", Want: fmt.Sprint(len(ms)), Got: fmt.Sprint(len(es))}
	}
	for i, m := range ms {
		want, got := entryOf(m), es[i]
		want.offset, want.source, want.packed = got.offset, got.source, got.packed
		if want != got {
			return nil, &fileError{Field: m.name, Want: want.String(), Got: got.String()}
		}
		if !s.cfg.Disk.Verify {
			continue
		}
		var source sum
		var wg fault.Group
		wg.Go(func() { source = sha256.Sum256(m.source.Data) })
		packed := sha256.Sum256(b[got.offset:][:got.bytes])
		wg.Wait()
		if source != got.source || packed != got.packed {
			return nil, &fileError{Field: m.name, Want: "the hashes of both forms", Got: "others: one of them is damaged"}
		}
	}
	return es, nil
}

func (e entry) String() string {
	return fmt.Sprintf("%s %d×%d in %d bytes", e.dtype, e.rows, e.cols, e.bytes)
}
