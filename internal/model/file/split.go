package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
)

// The keys of a model that is split into several GGUF files.
const (
	splitNo      = "split.no"            // index of the file, from 0
	splitCount   = "split.count"         // number of files
	splitTensors = "split.tensors.count" // number of tensors in all of them
)

// splitName matches the file names that llama.cpp writes for split models.
var splitName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// A split is a model in several files.
type split struct {
	prefix string // of the file names
	n      int
}

func (s split) name(i int) string { return fmt.Sprintf("%s-%05d-of-%05d.gguf", s.prefix, i+1, s.n) }

// splitOf returns the split model that g is a part of; false if g is a whole
// model.
func splitOf(g *gguf) (split, bool, error) {
	n, ok, err := g.meta.Uint(splitCount)
	if err != nil || !ok || n <= 1 {
		return split{}, false, err
	}
	fault := func(want string) error {
		return &FormatError{File: g.file, Field: "file name", Want: want, Got: quote(filepath.Base(g.file)), Fix: "give the parts the names they were published with"}
	}
	m := splitName.FindStringSubmatch(g.file)
	if m == nil {
		return split{}, false, fault(fmt.Sprintf("one that ends in -00001-of-%05d.gguf, as this is one of %d parts", n, n))
	}
	if count, _ := strconv.ParseUint(m[3], 10, 32); count != n {
		return split{}, false, fault(fmt.Sprintf("-of-%05d.gguf, as metadata %q says", n, splitCount))
	}
	return split{m[1], int(n)}, true, nil
}

// openSplit reads all parts and checks that they belong together.
func (d *Description) openSplit(s split) error {
	for i := range s.n {
		name := s.name(i)
		p, err := d.mapFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return &FormatError{File: name, Want: fmt.Sprintf("part %d of %d", i+1, s.n), Got: "no such file", Fix: "fetch it into the same folder", Err: fs.ErrNotExist}
		}
		if err != nil {
			return err
		}
		g, err := parseGGUF(name, p.data)
		if err == nil {
			err = g.checkPart(i, s.n)
		}
		if err != nil {
			return errors.Join(err, p.close())
		}
		d.add(g, p)
	}
	n, ok, err := d.Meta.Uint(splitTensors)
	if err != nil {
		return err
	}
	if ok && n != uint64(len(d.Tensors)) {
		return &FormatError{File: s.name(0), Field: fmt.Sprintf("metadata %q", splitTensors), Want: fmt.Sprintf("%d, the tensors of all parts", len(d.Tensors)), Got: strconv.FormatUint(n, 10), Fix: fixFetch}
	}
	return d.finish()
}

// checkPart checks that a file is part i of n.
func (g *gguf) checkPart(i, n int) error {
	for _, c := range []struct {
		key  string
		want int
	}{{splitNo, i}, {splitCount, n}} {
		got, ok, err := g.meta.Uint(c.key)
		if err != nil {
			return err
		}
		if ok && got == uint64(c.want) {
			continue
		}
		have := "none"
		if ok {
			have = strconv.FormatUint(got, 10)
		}
		return &FormatError{File: g.file, Field: fmt.Sprintf("metadata %q", c.key), Want: fmt.Sprintf("%d, as the file's name says", c.want), Got: have, Fix: "this part is of another model or was renamed: fetch it again"}
	}
	return nil
}
