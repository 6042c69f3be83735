package file

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"github.com/zeebo/xxh3"
)

// What a fingerprint reads of a file: all of a small one; of a larger one the header and
// pieces at equal distances, a matrix of a large model having several.
const (
	wholeBytes  = 64 << 20
	pieceBytes  = 4 << 10
	leastStride = 1 << 20
	mostPieces  = 4096
)

// Fingerprint tells models apart by their configuration, the headers and sizes of their
// files and a sample of their weights. It does not depend on where the files are, and
// takes much less time than reading them.
func (d *Description) Fingerprint() string {
	var s sample
	s.add(d.Config)
	for _, p := range d.Parts {
		s.file(p.Bytes, p.Data, func(at, end int64) { s.add(p.data[at:end]) })
	}
	return s.String()
}

// A sample is a hash of some bytes.
type sample struct{ h xxh3.Hasher }

func (s *sample) String() string { return fmt.Sprintf("%016x", s.h.Sum64()) }

func (s *sample) add(b []byte) { // a hash has no errors
	_, _ = s.h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
	_, _ = s.h.Write(b)
}

// file adds a file of so many bytes, whose header ends at data.
func (s *sample) file(bytes, data int64, add func(at, end int64)) {
	_, _ = s.h.Write(binary.LittleEndian.AppendUint64(nil, uint64(bytes)))
	if bytes <= wholeBytes {
		add(0, bytes)
		return
	}
	add(0, data)
	stride := max(leastStride, (bytes-data)/mostPieces)
	for at := data; at < bytes; at += stride {
		add(at, min(at+pieceBytes, bytes))
	}
	add(max(data, bytes-pieceBytes), bytes)
}

// Sample tells ordinary files apart by their size and a sample of their bytes: all of a
// small file, pieces at equal distances of a larger one.
func Sample(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // a pipe is read once
		err = &os.PathError{Op: "sample", Path: path, Err: os.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var s sample
	buffer := make([]byte, 0, min(info.Size(), wholeBytes))
	s.file(info.Size(), 0, func(at, end int64) {
		buffer = slices.Grow(buffer[:0], int(end-at))[:end-at]
		if _, rerr := f.ReadAt(buffer, at); rerr != nil {
			err = rerr
		}
		s.add(buffer)
	})
	return s.String(), err
}

// Fingerprint is [Description.Fingerprint] of the model at path.
func Fingerprint(path string) (string, error) {
	d, err := Open(path)
	if err != nil {
		return "", err
	}
	return d.Fingerprint(), d.Close()
}
