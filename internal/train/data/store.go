package data

// The tokens of all documents, one after another: the latest in memory, earlier
// ones in a file once there are too many. A token without loss is stored as its
// complement, which is negative.

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"atenia/internal/store/durable"
)

type store struct {
	most    int64 // limit of tokens in memory
	dir     string
	size    int64
	mem     []int32  // the tokens from index spilled on
	file    *os.File // temporary
	remove  func() error
	spilled int64
	sum     uint32 // checksum of what was appended
	bytes   []byte // I/O buffer
}

// append adds tokens.
func (s *store) append(ids []int32) error {
	s.bytes = s.bytes[:0]
	for _, id := range ids {
		s.bytes = binary.LittleEndian.AppendUint32(s.bytes, uint32(id))
	}
	s.sum = crc32.Update(s.sum, crc32.IEEETable, s.bytes)
	s.mem = append(s.mem, ids...)
	s.size += int64(len(ids))
	if int64(len(s.mem)) > s.most {
		return s.spill()
	}
	return nil
}

// spill writes the tokens in memory to the file.
func (s *store) spill() error {
	if s.file == nil {
		f, remove, err := durable.TempFile(s.dir, "atenia-tokens-")
		if err != nil {
			return err
		}
		s.file, s.remove = f, remove
	}
	if err := durable.Fits(nil, filepath.Dir(s.file.Name()), 4*int64(len(s.mem))); err != nil {
		return err
	}
	const part = 1 << 16
	for from := 0; from < len(s.mem); from += part {
		s.bytes = s.bytes[:0]
		for _, id := range s.mem[from:min(len(s.mem), from+part)] {
			s.bytes = binary.LittleEndian.AppendUint32(s.bytes, uint32(id))
		}
		if _, err := s.file.WriteAt(s.bytes, 4*(s.spilled+int64(from))); err != nil {
			return err
		}
	}
	s.spilled = s.size
	s.mem = s.mem[:0]
	return nil
}

// truncate removes the tokens from index size on.
func (s *store) truncate(size int64) {
	s.mem = s.mem[:max(0, size-s.spilled)]
	s.size, s.spilled = size, min(size, s.spilled)
}

// read fills dst with the tokens from an index on.
func (s *store) read(dst []int32, from int64) error {
	if from < 0 || from+int64(len(dst)) > s.size {
		return fmt.Errorf("tokens %d to %d of %d", from, from+int64(len(dst)), s.size)
	}
	if n := min(int64(len(dst)), s.spilled-from); n > 0 {
		if int64(cap(s.bytes)) < 4*n {
			s.bytes = make([]byte, 4*n)
		}
		b := s.bytes[:4*n]
		if _, err := s.file.ReadAt(b, 4*from); err != nil {
			return err
		}
		for i := range dst[:n] {
			dst[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
		dst, from = dst[n:], from+n
	}
	if len(dst) > 0 {
		copy(dst, s.mem[from-s.spilled:])
	}
	return nil
}

// learnt counts the tokens with loss in a range. The first token is not counted,
// because nothing precedes it.
func (s *store) learnt(from, to int64) (n int64, err error) {
	var part [4096]int32
	for from++; from < to; from += int64(len(part)) {
		ids := part[:min(int64(len(part)), to-from)]
		if err := s.read(ids, from); err != nil {
			return 0, err
		}
		for _, id := range ids {
			if id >= 0 {
				n++
			}
		}
	}
	return n, nil
}

func (s *store) close() error {
	if s.file == nil {
		return nil
	}
	return s.remove()
}
