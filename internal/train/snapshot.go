package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"atenia/internal/model/file"
	"atenia/internal/store/durable"
	"atenia/tensor"

	"github.com/zeebo/xxh3"
)

const format = "atenia.snapshot/1"

// errSnapshotDamaged is returned for a file that is not a snapshot or has been damaged.
// Use an older one.
var errSnapshotDamaged = errors.New("snapshot is damaged")

// An Array is float32 values with a name and a shape.
type Array struct {
	Name   string
	Shape  []int
	Values []float32
}

// WriteSnapshot atomically replaces the file at path by a snapshot; a nil fsys is the
// operating system's. Blobs are stored beside the arrays; their names must
// differ.
func WriteSnapshot(fsys durable.FS, path, note string, arrays []Array, blobs map[string][]byte) error {
	var views []view
	for _, a := range arrays {
		views = append(views, view{a.Name, tensor.FromF32(a.Shape, a.Values)})
	}
	for _, name := range slices.Sorted(maps.Keys(blobs)) {
		v, err := tensor.NewView(tensor.U8, tensor.Shape{len(blobs[name])}, blobs[name])
		if err != nil {
			return err
		}
		views = append(views, view{name, v})
	}
	sums := map[string]string{}
	var sources []file.TensorSource
	bytes := int64(0)
	for _, v := range views {
		bytes += int64(len(v.Data))
		sums[v.name] = v.sum()
		sources = append(sources, file.SourceOf(v.name, v.View))
	}
	table, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	notes := map[string]string{"format": format, "note": note, "sums": string(table), "check": check(note, string(table), views)}
	if err := durable.Fits(fsys, filepath.Dir(path), bytes); err != nil {
		return err
	}
	return durable.ReplaceIn(fsys, path, func(w io.Writer) error { return file.EncodeSafetensors(w, notes, sources) })
}

type view struct {
	name string
	tensor.View
}

func (v view) sum() string { return hex(xxh3.Hash(v.Data)) }

func hex(x uint64) string { return fmt.Sprintf("%016x", x) }

// check returns the checksum of what the tensors' sums do not cover. Tensors are
// sorted, because files have an order of their own.
func check(note, table string, views []view) string {
	var lines []string
	for _, v := range views {
		lines = append(lines, fmt.Sprintf("%q %v %v", v.name, v.DType, v.Shape))
	}
	slices.Sort(lines)
	return hex(xxh3.HashString(fmt.Sprintf("%q %q %q %q", format, note, table, lines)))
}

// A Snapshot is an open snapshot. Its arrays are valid until Close.
type Snapshot struct {
	Note string
	d    *file.Description
}

// OpenSnapshot reads and verifies a snapshot. Errors for files that exist match
// [errSnapshotDamaged].
func OpenSnapshot(path string) (*Snapshot, error) {
	d, err := file.OpenSafetensors(path)
	if _, bad := errors.AsType[*file.FormatError](err); bad {
		return nil, fmt.Errorf("%w: %w", errSnapshotDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	f := &Snapshot{d: d}
	if err := f.verify(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", errSnapshotDamaged, path, err), d.Close())
	}
	return f, nil
}

func (f *Snapshot) verify() error {
	notes := map[string]string{}
	for _, key := range []string{"format", "note", "sums", "check"} {
		s, ok, err := f.d.Meta.String(key)
		if err != nil || !ok {
			return fmt.Errorf("its header has no %s", strconv.Quote(key))
		}
		notes[key] = s
	}
	if notes["format"] != format {
		return fmt.Errorf("format %q, want %q", notes["format"], format)
	}
	var views []view
	for _, t := range f.d.Tensors {
		views = append(views, view{t.Name, t.View})
	}
	if check(notes["note"], notes["sums"], views) != notes["check"] {
		return errors.New("the header does not have its checksum")
	}
	var sums map[string]string
	if err := json.Unmarshal([]byte(notes["sums"]), &sums); err != nil {
		return err
	}
	for _, v := range views {
		if v.sum() != sums[v.name] {
			return fmt.Errorf("tensor %q does not have its checksum", v.name)
		}
	}
	f.Note = notes["note"]
	return nil
}

// Read copies an array to dst. It must exist with the same shape.
func (f *Snapshot) Read(dst Array) error {
	t, ok := f.d.Tensor(dst.Name)
	if !ok {
		return fmt.Errorf("the snapshot has no %q", dst.Name)
	}
	x, ok := t.View.F32()
	if !ok || !slices.Equal(t.View.Shape, dst.Shape) || len(x) != len(dst.Values) {
		return fmt.Errorf("the snapshot's %q is %v %v, want F32 %v", dst.Name, t.View.DType, t.View.Shape, dst.Shape)
	}
	copy(dst.Values, x)
	return nil
}

// Has reports whether an array or a blob exists.
func (f *Snapshot) Has(name string) bool {
	_, ok := f.d.Tensor(name)
	return ok
}

// Blob returns a blob, valid until Close, or nil if there is none of that name.
func (f *Snapshot) Blob(name string) []byte {
	t, ok := f.d.Tensor(name)
	if !ok || t.View.DType != tensor.U8 {
		return nil
	}
	return t.View.Data
}

// Close invalidates the arrays.
func (f *Snapshot) Close() error { return f.d.Close() }
