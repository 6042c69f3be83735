package media

import (
	"bufio"
	"errors"
	"io"
)

// An input counts the bytes read, for error positions.
type input struct {
	r     *bufio.Reader
	at    int64
	codec Codec
}

// fault returns an [Error] for a failure to read the named item.
func (in *input) fault(what string, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Error{Codec: in.codec, Offset: in.at, Text: what, Err: err}
}

// bytes reads len(b) bytes of the named item.
func (in *input) bytes(b []byte, what string) error {
	n, err := io.ReadFull(in.r, b)
	in.at += int64(n)
	if err != nil {
		return in.fault(what, err)
	}
	return nil
}

// skip skips n bytes.
func (in *input) skip(n int64, what string) error {
	for n > 0 {
		k, err := in.r.Discard(int(min(n, 1<<20)))
		in.at += int64(k)
		n -= int64(k)
		if err != nil {
			return in.fault(what, err)
		}
	}
	return nil
}

// full reads as much of b as there is: io.EOF only if there is nothing.
func (in *input) full(b []byte) (int, error) {
	n, err := io.ReadFull(in.r, b)
	in.at += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
