//go:build !unix

package stores

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"atenia/internal/store/durable"
)

// copied is a region that is written as a whole, where files are not mapped.
type copied struct {
	b    []byte
	path string
}

// openRegion reads a file of so many bytes.
func openRegion(path string, size int) (region, error) {
	if path == "" {
		return inRAM(make([]byte, size)), nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = make([]byte, size), os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err != nil {
		return nil, err
	}
	if len(b) != size {
		return nil, &vectorError{Op: "read", Path: path, Want: size / 4, Got: len(b) / 4, Err: errPersonaShape}
	}
	return &copied{b, path}, nil
}

func (c *copied) bytes() []byte { return c.b }

func (c *copied) sync() error {
	return durable.WriteFile(c.path, func(w io.Writer) error {
		_, err := w.Write(c.b)
		return err
	})
}

func (c *copied) close() error { return nil }
