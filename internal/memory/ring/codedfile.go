package ring

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// codedChunkBytes is what a chunk decodes to: disks read what is left of it at their
// full rate.
const codedChunkBytes = 512 << 10

// A CodedChunk is an encoded part of a weight.
type CodedChunk struct {
	Offset int64  `json:"o"` // in the file, a multiple of a page
	Bytes  int    `json:"n"` // in the file
	Sum    uint32 `json:"s"` // CRC-32C of these
}

// A CodedWeight is one weight in a file.
type CodedWeight struct {
	Name   string       `json:"name"`
	Codec  blob.Codec   `json:"codec"`
	Bytes  int64        `json:"bytes"` // decoded
	Chunks []CodedChunk `json:"chunks"`
}

// Coded returns the bytes that the weight takes in the file.
func (w *CodedWeight) Coded() (n int64) {
	for i := range w.Chunks {
		n += int64(w.Chunks[i].Bytes)
	}
	return n
}

// A CodedFile is the index of a file.
type CodedFile struct {
	Path    string
	Weights map[string]*CodedWeight
}

// An CodedID says which files of a model a file was made from.
type CodedID [32]byte

// A formatError says why a file cannot be used.
type formatError struct{ Path, Why string }

// Error implements error.
func (e *formatError) Error() string {
	return fmt.Sprintf("coded weights %s: %s; it is not used, and where one is needed it is written again once this one is deleted", e.Path, e.Why)
}

// checksum is the checksum of chunks.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// magic names the format and its version.
var magic = [8]byte{'A', 'T', 'N', 'C', 'O', 'D', 'E', '1'}

// A footer ends a file.
type footer struct {
	Source        CodedID
	Offset, Bytes int64 // of the index
	Sum           uint32
	Reserved      uint32
	Magic         [8]byte
}

const footerBytes = 32 + 8 + 8 + 4 + 4 + 8

// OpenCoded reads the index of a file that was made from the files of the id. Errors
// match [fs.ErrNotExist] or are [formatError]s, or those of reading.
func OpenCoded(path string, id CodedID) (*CodedFile, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	bad := func(format string, args ...any) (*CodedFile, error) {
		return nil, &formatError{path, fmt.Sprintf(format, args...)}
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := st.Size()
	if size < footerBytes {
		return bad("it has %d bytes, want at least %d", size, footerBytes)
	}
	var end footer
	if err := binary.Read(io.NewSectionReader(f, size-footerBytes, footerBytes), binary.LittleEndian, &end); err != nil {
		return nil, err
	}
	switch {
	case end.Magic != magic:
		return bad("it does not end as such a file of this version does")
	case end.Source != id:
		return bad("it was made from other files than the model has now")
	case end.Offset < 0 || end.Bytes < 0 || end.Offset > size-footerBytes || end.Bytes != size-footerBytes-end.Offset:
		return bad("its index of %d bytes at %d lies outside of %d", end.Bytes, end.Offset, size)
	}
	index := make([]byte, end.Bytes)
	if _, err := f.ReadAt(index, end.Offset); err != nil {
		return nil, err
	}
	if got := checksum(index); got != end.Sum {
		return bad("checksum mismatch in its index: want %08x, got %08x", end.Sum, got)
	}
	var list []CodedWeight
	if err := json.Unmarshal(index, &list); err != nil {
		return bad("its index: %v", err)
	}
	r := &CodedFile{Path: path, Weights: map[string]*CodedWeight{}}
	for i := range list {
		if why := list[i].check(end.Offset); why != "" {
			return bad("weight %s: %s", list[i].Name, why)
		}
		r.Weights[list[i].Name] = &list[i]
	}
	return r, nil
}

// check says what is wrong with a weight of a file whose chunks end at an
// offset.
func (w *CodedWeight) check(end int64) string {
	if w.Bytes <= 0 || int64(len(w.Chunks)) != (w.Bytes+codedChunkBytes-1)/codedChunkBytes {
		return fmt.Sprintf("%d chunks for %d bytes", len(w.Chunks), w.Bytes)
	}
	for _, c := range w.Chunks {
		if c.Bytes <= 0 || c.Bytes > codedChunkBytes || c.Offset < 0 || c.Offset%durable.Align != 0 || c.Offset > end-int64(c.Bytes) {
			return fmt.Sprintf("a chunk of %d bytes at %d, the chunks end at %d", c.Bytes, c.Offset, end)
		}
	}
	return ""
}

// errCut is the error of a source that ends too soon.
var errCut = errors.New("the file was cut")

// marshal returns index and footer of a file whose chunks end at an offset.
func marshal(list []CodedWeight, id CodedID, offset int64) ([]byte, error) {
	index, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(index)
	end := footer{Source: id, Offset: offset, Bytes: int64(len(index)), Sum: checksum(index), Magic: magic}
	err = binary.Write(b, binary.LittleEndian, &end)
	return b.Bytes(), err
}
