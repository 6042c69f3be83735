package nested

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unsafe"
)

// Errors of saved files. A [FileError] matches ErrFile, and also ErrMismatch if
// the file is intact but of another model, element type or kind.
var (
	ErrFile     = errors.New("not a file of a nested model's memory")
	ErrMismatch = errors.New("saved by another model")
)

// A FileError says what is wrong with a saved file and where.
type FileError struct {
	Offset int64
	Why    string
	Err    error // ErrMismatch, or the error of reading, or nil
}

// Error implements error.
func (e *FileError) Error() string {
	s := fmt.Sprintf("at byte %d: %s", e.Offset, e.Why)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is reports whether target is [ErrFile].
func (e *FileError) Is(target error) bool { return target == ErrFile }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// The file format, numbers little-endian:
//
//	"ateniaNL"  version u32  length u32  header JSON  CRC-32C of all so far
//	then each array: its numbers, CRC-32C of them
//
// The arrays' lengths are in the header and must be the model's, so a reader
// allocates by the model, not by the file.
const (
	fileMagic   = "ateniaNL"
	fileVersion = 1
	maxHeader   = 1 << 24
	pieceBytes  = 1 << 16
)

// A kindOfFile is the content of a file.
type kindOfFile string

const (
	snapshotFile kindOfFile = "checkpoint" // everything, to resume training; files keep this name
	progressFile kindOfFile = "progress"   // all but parameters and optimizer
	memoryFile   kindOfFile = "memory"     // memory of a reader
)

type header struct {
	Kind     kindOfFile `json:"kind"`
	Element  string     `json:"element"`
	Config   Config     `json:"config"`
	Step     int64      `json:"step"`
	Params   uint32     `json:"params,omitempty"` // CRC-32C of the parameters that the memory belongs to
	Lanes    int        `json:"lanes,omitempty"`
	Buffered []int      `json:"buffered,omitempty"` // accumulated steps in each error buffer
	Steps    []uint64   `json:"steps,omitempty"`    // of the optimizer, for each parameter
	Cursor   []byte     `json:"cursor,omitempty"`   // the caller's place in its data
	Pending  []int32    `json:"pending,omitempty"`  // tokens of the incomplete chunk
	Arrays   []int      `json:"arrays"`             // lengths
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func element[F Float]() string {
	if unsafe.Sizeof(F(0)) == 4 {
		return "float32"
	}
	return "float64"
}

// put writes the elements of v to b and returns the number of bytes.
func put[F Float](b []byte, v []F) int {
	if unsafe.Sizeof(F(0)) == 4 {
		for i, x := range v {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(x)))
		}
		return 4 * len(v)
	}
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(float64(x)))
	}
	return 8 * len(v)
}

// take reads the elements of v from b.
func take[F Float](b []byte, v []F) {
	if unsafe.Sizeof(F(0)) == 4 {
		for i := range v {
			v[i] = F(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
		return
	}
	for i := range v {
		v[i] = F(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
	}
}

// pieces calls f with consecutive parts of v and buffer space for their bytes.
func pieces[F Float](v []F, buf []byte, f func(part []F, b []byte) error) error {
	size := int(unsafe.Sizeof(F(0)))
	for len(v) > 0 {
		n := min(len(v), len(buf)/size)
		if err := f(v[:n], buf[:n*size]); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}

// checksum returns the CRC-32C of arrays as stored in a file.
func checksum[F Float](arrays ...[]F) (sum uint32) {
	buf := make([]byte, pieceBytes)
	for _, v := range arrays {
		_ = pieces(v, buf, func(part []F, b []byte) error {
			put(b, part)
			sum = crc32.Update(sum, castagnoli, b)
			return nil
		})
	}
	return sum
}

// writeFile writes a header and arrays.
func writeFile[F Float](w io.Writer, h *header, arrays [][]F) error {
	h.Element, h.Arrays = element[F](), make([]int, len(arrays))
	for i, a := range arrays {
		h.Arrays[i] = len(a)
	}
	j, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(j) > maxHeader {
		return fmt.Errorf("%w: a header of %d bytes, more than %d", ErrInput, len(j), maxHeader)
	}
	b := binary.LittleEndian.AppendUint32([]byte(fileMagic), fileVersion)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(j))), j...)
	if _, err := w.Write(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))); err != nil {
		return err
	}
	buf := make([]byte, pieceBytes)
	for _, a := range arrays {
		sum := uint32(0)
		err := pieces(a, buf, func(part []F, b []byte) error {
			put(b, part)
			sum = crc32.Update(sum, castagnoli, b)
			_, err := w.Write(b)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum)); err != nil {
			return err
		}
	}
	return nil
}

// A fileReader counts bytes, for error positions.
type fileReader struct {
	r  io.Reader
	at int64
}

func (f *fileReader) full(b []byte, what string) error {
	n, err := io.ReadFull(f.r, b)
	if err != nil {
		return &FileError{Offset: f.at + int64(n), Why: "unexpected end of file in " + what, Err: err}
	}
	f.at += int64(n)
	return nil
}

// readHeader reads and checks everything before the arrays.
func (f *fileReader) readHeader() (*header, error) {
	b := make([]byte, len(fileMagic)+8)
	if err := f.full(b, "its heading"); err != nil {
		return nil, err
	}
	if string(b[:len(fileMagic)]) != fileMagic {
		return nil, &FileError{Why: "it does not begin with " + fileMagic}
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != fileVersion {
		return nil, &FileError{Offset: 8, Why: fmt.Sprintf("version %d, this program reads %d", v, fileVersion)}
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if n > maxHeader {
		return nil, &FileError{Offset: 12, Why: fmt.Sprintf("a header of %d bytes", n)}
	}
	// Do not allocate n bytes at once: the file may be shorter than it claims.
	j, err := io.ReadAll(io.LimitReader(f.r, int64(n)))
	if err != nil || len(j) < int(n) {
		return nil, &FileError{Offset: f.at + int64(len(j)), Why: "unexpected end of file in its header", Err: err}
	}
	f.at += int64(n)
	sum := make([]byte, 4)
	if err := f.full(sum, "its header"); err != nil {
		return nil, err
	}
	if crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, j) != binary.LittleEndian.Uint32(sum) {
		return nil, &FileError{Offset: 16, Why: "the header's checksum is wrong: the file is damaged"}
	}
	h := &header{}
	if err := json.Unmarshal(j, h); err != nil {
		return nil, &FileError{Offset: 16, Why: "the header cannot be read", Err: err}
	}
	if h.Step < 0 {
		return nil, &FileError{Offset: 16, Why: fmt.Sprintf("step %d", h.Step)}
	}
	return h, nil
}

// readArrays fills arrays, whose lengths must be those in the header, and
// checks that the file ends there.
func readArrays[F Float](f *fileReader, h *header, arrays [][]F) error {
	if h.Element != element[F]() || len(h.Arrays) != len(arrays) {
		return &FileError{Offset: 16, Why: fmt.Sprintf("%d arrays of %s, want %d of %s", len(h.Arrays), h.Element, len(arrays), element[F]()), Err: ErrMismatch}
	}
	buf, sum := make([]byte, pieceBytes), make([]byte, 4)
	for i, a := range arrays {
		if h.Arrays[i] != len(a) {
			return &FileError{Offset: 16, Why: fmt.Sprintf("array %d has %d numbers, want %d", i, h.Arrays[i], len(a)), Err: ErrMismatch}
		}
		at, crc := f.at, uint32(0)
		err := pieces(a, buf, func(part []F, b []byte) error {
			if err := f.full(b, fmt.Sprintf("array %d", i)); err != nil {
				return err
			}
			crc = crc32.Update(crc, castagnoli, b)
			take(b, part)
			return nil
		})
		if err != nil {
			return err
		}
		if err := f.full(sum, fmt.Sprintf("array %d", i)); err != nil {
			return err
		}
		if crc != binary.LittleEndian.Uint32(sum) {
			return &FileError{Offset: at, Why: fmt.Sprintf("the checksum of array %d is wrong: the file is damaged", i)}
		}
	}
	if n, _ := f.r.Read(sum[:1]); n != 0 {
		return &FileError{Offset: f.at, Why: "there is data after the last array"}
	}
	return nil
}
