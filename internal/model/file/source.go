package file

import (
	"fmt"
	"io"

	"atenia/tensor"
)

// A TensorSource is a tensor to write. Its bytes are produced when the writer
// reaches it, so that converting a model holds one tensor in memory rather than
// all.
type TensorSource struct {
	Name  string
	DType tensor.DType
	Shape tensor.Shape // outermost first
	// Write writes exactly Shape.Bytes(DType) bytes.
	Write func(io.Writer) error
}

// SourceOf returns a source for bytes in memory.
func SourceOf(name string, v tensor.View) TensorSource {
	return TensorSource{name, v.DType, v.Shape, func(w io.Writer) error {
		_, err := w.Write(v.Data)
		return err
	}}
}

// A sourceError says why a tensor cannot be written.
type sourceError struct {
	Tensor string
	Field  string // "name", "element type", "shape", "data"
	Want   string
	Got    string
	Err    error // cause, if any
}

func (e *sourceError) Error() string {
	s := fmt.Sprintf("tensor %q: %s: want %s, got %s", clip(e.Tensor), e.Field, e.Want, e.Got)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *sourceError) Unwrap() error { return e.Err }

// sizes returns the size of each source, and an error if names repeat or a shape
// cannot be stored.
func sizes(ts []TensorSource) ([]int, error) {
	seen := make(map[string]bool, len(ts))
	ns := make([]int, len(ts))
	for i, t := range ts {
		if t.Name == "" || seen[t.Name] {
			return nil, &sourceError{Tensor: t.Name, Field: "name", Want: "a name that no other tensor has", Got: quote(t.Name)}
		}
		seen[t.Name] = true
		n, err := t.Shape.Bytes(t.DType)
		if err != nil {
			return nil, &sourceError{Tensor: t.Name, Field: "shape", Want: "rows of whole blocks and a size that fits", Got: t.Shape.String(), Err: err}
		}
		if t.Write == nil {
			return nil, &sourceError{Tensor: t.Name, Field: "data", Want: "a function that writes them", Got: "none"}
		}
		ns[i] = n
	}
	return ns, nil
}

// A counter passes bytes on and rejects more than announced.
type counter struct {
	w    io.Writer
	left int
	over bool
}

func (c *counter) Write(b []byte) (int, error) {
	if len(b) > c.left {
		c.over = true
		return 0, fmt.Errorf("%d bytes more than the shape asks for", len(b)-c.left)
	}
	n, err := c.w.Write(b)
	c.left -= n
	return n, err
}

// copyTo writes exactly the tensor's n bytes to w.
func (t *TensorSource) copyTo(w io.Writer, n int) error {
	c := counter{w: w, left: n}
	err := t.Write(&c)
	if c.over || err == nil && c.left > 0 {
		got := fmt.Sprint(n - c.left)
		if c.over {
			got = "more"
		}
		return &sourceError{Tensor: t.Name, Field: "data", Want: fmt.Sprintf("%d bytes", n), Got: got}
	}
	if err != nil {
		return fmt.Errorf("tensor %q: %w", clip(t.Name), err)
	}
	return nil
}

// zeros writes n zero bytes, for padding.
func zeros(w io.Writer, n int) error {
	_, err := io.CopyN(w, zeroReader{}, int64(n))
	return err
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
