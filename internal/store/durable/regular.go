package durable

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A KindError says that a path does not name a regular file.
type KindError struct {
	Path string
	Mode fs.FileMode
}

func (e *KindError) Error() string {
	kind := "no regular file"
	switch {
	case e.Mode.IsDir():
		kind = "a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		kind = "a socket"
	case e.Mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Sprintf("%s: want a file, got %s", e.Path, kind)
}

// A SizeError says that a file has more bytes than one of its kind can have.
type SizeError struct {
	Path        string
	Bytes, Most int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: want at most %d bytes, got %d", e.Path, e.Most, e.Bytes)
}

// OpenRegular opens a regular file for reading. It never waits for another program: errors
// are a [*KindError], a [*ForeignError] or those of [os.Open].
func OpenRegular(path string) (*os.File, error) {
	// A device is not opened at all, because that can do something.
	st, err := Stat(path)
	if e, ok := err.(*fs.PathError); ok {
		e.Op = "open"
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &KindError{path, st.Mode()}
	}
	f, err := openNow(path)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() { // it was replaced meanwhile
		err = &KindError{path, st.Mode()}
	}
	if err == nil {
		err = foreign(path, f, false)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadRegular reads a regular file of at most so many bytes; more are a [*SizeError]. It
// allocates no more than the file has.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > most {
		return nil, &SizeError{path, st.Size(), most}
	}
	// The file may grow or shrink while it is read, and some of the kernel's say that
	// they have no bytes.
	b := make([]byte, 0, st.Size()+1)
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > most {
			return nil, &SizeError{path, int64(len(b)), most}
		}
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}
