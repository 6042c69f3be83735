package sxlm

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

const (
	magic         = "SXLM"
	version       = 1
	preambleBytes = 64
	maxHeader     = 16 << 20
	page          = 4096 // block 1 starts at a multiple of it
	align         = 64   // every block does at one of this
	blocks        = 7
)

// levels are the zstd levels that are requested for the blocks.
var levels = [blocks]uint32{19, 19, 19, 19, 3, 19, 19}

// Flags of the preamble.
const (
	flagInference uint32 = 1 << iota // no optimizer state
	flagCT                           // the consistency model was trained without a teacher
	flagsEnd
)

// Meta is SXLMMeta of the header.
type Meta struct {
	Neurons, Thinkers, Hidden, Persona, Codebook uint32
	Entries, Edges                               uint64
	CreatedAt                                    int64    // Unix time
	Checkpoint                                   [32]byte // SHA-256 of all compressed blocks
	Parent                                       string   // hex of the parent's Checkpoint; empty for a root
}

// A Block is a BlockDescriptor of the header.
type Block struct {
	ID, Level uint32
	Offset    uint64
	Size, Raw uint64 // bytes compressed and not
	SHA256    [32]byte
}

// Info is what the first 64 bytes and the header of a file say.
type Info struct {
	Flags     uint32
	HeaderLen int
	DataStart uint64
	FileSize  uint64
	Meta      Meta
	Blocks    []Block // 7, by id
}

var (
	headerWires = []wire{wireBytes, wireVarint, wireBytes, wireBytes}
	metaWires   = []wire{wireVarint, wireVarint, wireVarint, wireVarint, wireVarint, wireVarint, wireVarint, wireVarint, wireBytes, wireBytes}
	blockWires  = []wire{wireVarint, wireVarint, wireVarint, wireVarint, wireVarint, wireBytes}
)

// header encodes the protobuf header.
func (i *Info) header() []byte {
	m := &i.Meta
	var b []byte
	for k, v := range []uint64{uint64(m.Neurons), uint64(m.Thinkers), uint64(m.Hidden), uint64(m.Persona), uint64(m.Codebook), m.Entries, m.Edges, uint64(m.CreatedAt)} {
		b = appendVarint(b, k+1, v)
	}
	b = appendBytes(appendBytes(b, 9, m.Checkpoint[:]), 10, m.Parent)
	out := appendBytes(appendVarint(appendBytes(nil, 1, magic), 2, version), 3, b)
	for _, d := range i.Blocks {
		var b []byte
		for k, v := range []uint64{uint64(d.ID), d.Offset, d.Size, d.Raw, uint64(d.Level)} {
			b = appendVarint(b, k+1, v)
		}
		out = appendBytes(out, 4, appendBytes(b, 6, d.SHA256[:]))
	}
	return out
}

// preamble encodes the preamble for an encoded header.
func (i *Info) preamble(header []byte) []byte {
	b := append(make([]byte, 0, preambleBytes), magic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = binary.LittleEndian.AppendUint32(b, i.Flags)
	b = binary.LittleEndian.AppendUint64(b, i.DataStart)
	b = binary.LittleEndian.AppendUint64(b, i.FileSize)
	sum := sha256.Sum256(header)
	return append(b, sum[:]...)
}

// decodePreamble reads the preamble of a file of so many bytes, and returns the
// hash of the header.
func decodePreamble(b []byte, size int64) (*Info, [32]byte, error) {
	le := binary.LittleEndian
	var sum [32]byte
	bad := func(at int64, format string, args ...any) (*Info, [32]byte, error) {
		return nil, sum, fault(StepPreamble, 0, at, format, args...)
	}
	i := &Info{Flags: le.Uint32(b[12:]), DataStart: le.Uint64(b[16:]), FileSize: le.Uint64(b[24:])}
	n := le.Uint32(b[8:])
	copy(sum[:], b[32:])
	switch v := le.Uint32(b[4:]); {
	case string(b[:4]) != magic:
		return bad(0, "the magic is %q, want %q", b[:4], magic)
	case v != version:
		return bad(4, "version %d, want %d", v, version)
	case n == 0 || n > maxHeader:
		return bad(8, "a header of %d bytes, want 1 to %d", n, maxHeader)
	case i.Flags >= flagsEnd:
		return bad(12, "flags %#x, want only those below %#x", i.Flags, flagsEnd)
	case i.DataStart%page != 0 || i.DataStart < preambleBytes+uint64(n):
		return bad(16, "data starts at %d, want a multiple of %d after a header of %d bytes", i.DataStart, page, n)
	case i.FileSize != uint64(size):
		return bad(24, "the file has %d bytes, want %d", size, i.FileSize)
	case i.DataStart >= i.FileSize:
		return bad(16, "data starts at %d of %d bytes", i.DataStart, size)
	}
	i.HeaderLen = int(n)
	return i, sum, nil
}

// decode reads the protobuf header and checks the ranges of the meta data.
func (i *Info) decode(b []byte) error {
	err := message(b, headerWires, 4, func(f field) error {
		switch f.number {
		case 1:
			if string(f.data) != magic {
				return &wireError{f.at, "the magic of the header differs from the preamble's"}
			}
		case 2:
			if f.value != version {
				return &wireError{f.at, "the version of the header differs from the preamble's"}
			}
		case 3:
			return nested(f, i.Meta.decode(f.data))
		case 4:
			var d Block
			if err := nested(f, d.decode(f.data)); err != nil {
				return err
			}
			i.Blocks = append(i.Blocks, d)
		}
		return nil
	})
	if w, ok := errors.AsType[*wireError](err); ok {
		return fault(StepFields, 0, preambleBytes+int64(w.at), "%s", w.what)
	}
	// Fields that are left out are zero; the first and the second never are.
	if !strings.HasPrefix(string(b), "\x0a\x04"+magic+"\x10\x01") {
		return fault(StepFields, 0, preambleBytes, "the header has no magic or no version")
	}
	return i.Meta.check()
}

// nested adds the place of a message to a fault in it.
func nested(f field, err error) error {
	if w, ok := errors.AsType[*wireError](err); ok {
		w.at += f.at
	}
	return err
}

func (m *Meta) decode(b []byte) error {
	return message(b, metaWires, 0, func(f field) error {
		switch f.number {
		case 1:
			return f.narrowTo(&m.Neurons)
		case 2:
			return f.narrowTo(&m.Thinkers)
		case 3:
			return f.narrowTo(&m.Hidden)
		case 4:
			return f.narrowTo(&m.Persona)
		case 5:
			return f.narrowTo(&m.Codebook)
		case 6:
			m.Entries = f.value
		case 7:
			m.Edges = f.value
		case 8:
			m.CreatedAt = int64(f.value)
		case 9:
			return digest(&m.Checkpoint, f)
		case 10:
			m.Parent = string(f.data)
		}
		return nil
	})
}

func (d *Block) decode(b []byte) error {
	hashed := false
	err := message(b, blockWires, 0, func(f field) error {
		switch f.number {
		case 1:
			return f.narrowTo(&d.ID)
		case 2:
			d.Offset = f.value
		case 3:
			d.Size = f.value
		case 4:
			d.Raw = f.value
		case 5:
			return f.narrowTo(&d.Level)
		case 6:
			hashed = true
			return digest(&d.SHA256, f)
		}
		return nil
	})
	if err == nil && !hashed {
		return &wireError{0, "a descriptor has no hash"}
	}
	return err
}

func digest(to *[32]byte, f field) error {
	if len(f.data) != len(to) {
		return &wireError{f.at, "a hash is not of 32 bytes"}
	}
	copy(to[:], f.data)
	return nil
}

// check compares the meta data with its ranges.
func (m *Meta) check() error {
	for _, r := range []struct {
		name  string
		value uint64
		most  uint64
	}{
		{"neuron_count", uint64(m.Neurons), 1 << 20}, {"thinker_n", uint64(m.Thinkers), 64}, {"hidden_dim", uint64(m.Hidden), 4096},
		{"persona_dim", uint64(m.Persona), 65536}, {"vqgan_codebook_size", uint64(m.Codebook), 1 << 24},
	} {
		if r.value == 0 || r.value > r.most {
			return fault(StepFields, 0, preambleBytes, "%s is %d, want 1 to %d", r.name, r.value, r.most)
		}
	}
	const most = math.MaxInt32
	switch {
	case m.Entries > most || m.Edges > most:
		return fault(StepFields, 0, preambleBytes, "%d entries and %d edges, want at most %d", m.Entries, m.Edges, most)
	case m.CreatedAt < 0:
		return fault(StepFields, 0, preambleBytes, "created_at is %d, before 1970", m.CreatedAt)
	case m.Checkpoint == [32]byte{}:
		return fault(StepFields, 0, preambleBytes, "checkpoint_sha256 is missing")
	case m.Parent != "" && (len(m.Parent) != 64 || strings.Trim(m.Parent, "0123456789abcdef") != ""):
		return fault(StepFields, 0, preambleBytes, "base_model_id is %q, want nothing or 64 hex digits", m.Parent)
	}
	return nil
}

// checkBlocks is step 4 without the bytes between the blocks. limit is the most
// bytes that one block may have raw beyond what its size allows.
func (i *Info) checkBlocks(maxRaw, free int64) error {
	bad := func(id int, format string, args ...any) error {
		return fault(StepDescriptors, id, preambleBytes, format, args...)
	}
	if len(i.Blocks) != blocks {
		return bad(0, "%d descriptors, want %d", len(i.Blocks), blocks)
	}
	next := i.DataStart
	for k, d := range i.Blocks {
		id := k + 1
		most := uint64(math.MaxInt64)
		if d.Size < 1<<58 {
			most = d.Size*bombFactor + bombSlack
		}
		if maxRaw > 0 {
			most = uint64(maxRaw)
		}
		switch {
		case d.ID != uint32(id):
			return bad(id, "the id is %d", d.ID)
		case d.Offset != next:
			return bad(id, "the offset is %d, want %d, the next multiple of %d", d.Offset, next, align)
		case d.Size == 0 || d.Size > i.FileSize-min(i.FileSize, d.Offset):
			return bad(id, "%d bytes at %d, the file has %d", d.Size, d.Offset, i.FileSize)
		case d.Level != levels[k]:
			return bad(id, "zstd level %d, want %d", d.Level, levels[k])
		case d.Raw == 0 || d.Raw > most:
			return bad(id, "%d raw bytes of %d compressed ones, want at most %d", d.Raw, d.Size, most)
		case d.Raw > uint64(free):
			return bad(id, "%d raw bytes, %d are free", d.Raw, free)
		}
		end := d.Offset + d.Size
		if next = (end + align - 1) / align * align; id == blocks && end != i.FileSize {
			return bad(id, "the last block ends at %d, the file at %d", end, i.FileSize)
		}
	}
	return nil
}

// Bounds of what a block may expand to, unless [Options.MaxRaw] says otherwise.
const (
	bombFactor = 8
	bombSlack  = 64 << 20
)
