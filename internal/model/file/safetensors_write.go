package file

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"atenia/internal/store/durable"
)

// WriteSafetensors writes a safetensors file with the given metadata, which may
// be nil; published models have {"format": "pt"}. Like [WriteGGUF] it replaces
// an old file atomically.
//
// The tensors are written in the order of the reference implementation: larger
// elements first, so that all are aligned, then by name.
func WriteSafetensors(path string, notes map[string]string, tensors []TensorSource) error {
	if err := fitsFile(path, tensors); err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error { return EncodeSafetensors(w, notes, tensors) })
}

// WriteWeights writes the weights of a Hugging Face folder: model.safetensors and, of
// tensors with the folder of a module before their names, as [Open] returns them, the
// file in that folder. A nil file system is the operating system's.
func WriteWeights(fsys durable.FS, dir string, notes map[string]string, tensors []TensorSource) error {
	if err := fits(fsys, dir, filepath.Ext(singleName), tensors); err != nil {
		return err
	}
	fsys = durable.Default(fsys)
	var own []TensorSource
	of := map[string][]TensorSource{}
	for _, t := range tensors {
		module, name, in := strings.Cut(t.Name, "/")
		if !in || !slices.Contains(denseModules[:], module) {
			own = append(own, t)
			continue
		}
		t.Name = name
		of[module] = append(of[module], t)
	}
	for _, module := range denseModules {
		if of[module] == nil {
			continue
		}
		to := filepath.Join(dir, module)
		if err := fsys.MkdirAll(to, 0o777); err != nil {
			return err
		}
		err := durable.ReplaceIn(fsys, filepath.Join(to, singleName), func(w io.Writer) error { return EncodeSafetensors(w, notes, of[module]) })
		if err != nil {
			return err
		}
	}
	return durable.ReplaceIn(fsys, filepath.Join(dir, singleName), func(w io.Writer) error { return EncodeSafetensors(w, notes, own) })
}

// fitsFile is fits for a file.
func fitsFile(path string, tensors []TensorSource) error {
	return fits(nil, filepath.Dir(path), cmp.Or(filepath.Ext(path), filepath.Base(path)), tensors)
}

// fits returns an error if the disk of a folder has no room for tensors, so that nothing
// is begun that cannot end. What killed writers of that kind left there is removed first.
func fits(fsys durable.FS, dir, suffix string, tensors []TensorSource) error {
	durable.RemoveEnded(fsys, dir, suffix)
	ns, err := sizes(tensors)
	if err != nil {
		return nil // which the format says in its own words
	}
	total := int64(0)
	for _, n := range ns {
		total += int64(n)
	}
	return durable.Fits(fsys, dir, total)
}

// EncodeSafetensors writes to w what [WriteSafetensors] writes to a file.
func EncodeSafetensors(w io.Writer, notes map[string]string, tensors []TensorSource) error {
	tensors = slices.Clone(tensors)
	for _, t := range tensors {
		if !slices.Contains(safeTypes[:], t.DType) {
			return &sourceError{Tensor: t.Name, Field: "element type", Want: "one that safetensors can store", Got: t.DType.String()}
		}
		if t.Name == metadataKey || !utf8.ValidString(t.Name) {
			return &sourceError{Tensor: t.Name, Field: "name", Want: "UTF-8, and not the name that the format uses itself", Got: quote(t.Name)}
		}
	}
	slices.SortStableFunc(tensors, func(x, y TensorSource) int {
		return cmp.Or(cmp.Compare(slices.Index(safeTypes[:], y.DType), slices.Index(safeTypes[:], x.DType)), strings.Compare(x.Name, y.Name))
	})
	ns, err := sizes(tensors)
	if err != nil {
		return err
	}
	head, err := safeHeader(notes, tensors, ns)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for i := range tensors {
		if err := tensors[i].copyTo(w, ns[i]); err != nil {
			return err
		}
	}
	return nil
}

// safeHeader encodes the length and the header, padded with spaces to 8 bytes.
func safeHeader(notes map[string]string, tensors []TensorSource, ns []int) ([]byte, error) {
	b := append(make([]byte, headerPrefix), '{')
	if notes != nil {
		b = append(appendJSON(b, metadataKey), ":{"...)
		for i, key := range slices.Sorted(maps.Keys(notes)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, key), ':')
			b = appendJSON(b, notes[key])
		}
		b = append(b, '}')
	}
	begin := 0
	for i, t := range tensors {
		if len(b) > headerPrefix+1 {
			b = append(b, ',')
		}
		b = appendJSON(b, t.Name)
		b = fmt.Appendf(b, `:{"dtype":%q,"shape":[`, t.DType.String())
		for k, d := range t.Shape {
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Append(b, d)
		}
		b = fmt.Appendf(b, `],"data_offsets":[%d,%d]}`, begin, begin+ns[i])
		if begin += ns[i]; begin < 0 {
			return nil, &sourceError{Tensor: t.Name, Field: "shape", Want: "a file whose size fits", Got: t.Shape.String()}
		}
	}
	b = append(b, '}')
	for len(b)%headerPrefix != 0 {
		b = append(b, ' ')
	}
	n := len(b) - headerPrefix
	if n > maxHeader {
		return nil, fmt.Errorf("header of %d tensors: want at most %d bytes, got %d", len(tensors), maxHeader, n)
	}
	binary.LittleEndian.PutUint64(b, uint64(n))
	return b, nil
}

// appendJSON appends a string in JSON. Marshalling a string cannot fail.
func appendJSON(b []byte, s string) []byte {
	q, _ := json.Marshal(s)
	return append(b, q...)
}
