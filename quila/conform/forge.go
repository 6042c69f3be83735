package conform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"atenia/quila/config"
	"atenia/quila/internal/sxlm"
)

var le = binary.LittleEndian

// A part is a protobuf field: a number, or bytes.
type part struct {
	number int
	value  uint64
	data   []byte // not nil: bytes
}

// encode writes fields as they come; zeros are left out.
func encode(parts []part) (b []byte) {
	for _, p := range parts {
		switch {
		case p.data == nil && p.value != 0:
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.number)<<3), p.value)
		case len(p.data) > 0:
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.number)<<3|2), uint64(len(p.data)))
			b = append(b, p.data...)
		}
	}
	return b
}

// set replaces the value of a field, or adds it at its place.
func set(parts []part, p part) []part {
	for i := range parts {
		if parts[i].number >= p.number {
			if parts[i].number > p.number {
				parts = append(parts[:i+1], parts[i:]...)
			}
			parts[i] = p
			return parts
		}
	}
	return append(parts, p)
}

// A forge is a file in pieces. Its hooks are called while it is put together.
type forge struct {
	raw    [7][]byte
	frames [7][]byte // nil is compressed anew
	meta   []part
	flags  uint32

	onFrames func(f [][]byte)               // before the hashes
	onBlocks func(blocks [][]part) [][]part // descriptors
	onSum    func(sum []byte) []byte        // the checkpoint's hash
	onHeader func(header []byte) []byte     // before its hash
	onHead   func(preamble []byte)          // the 64 bytes
	onFile   func(file []byte) []byte       // at last
	magic    string
}

// newForge takes a file apart. Options make a file without optimizer state if
// they say so.
func newForge(file []byte) (*forge, error) {
	info, err := sxlm.Verify(context.Background(), bytes.NewReader(file), int64(len(file)), sxlm.Options{})
	if err != nil {
		return nil, err
	}
	f := &forge{flags: info.Flags, magic: "SXLM"}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	for k, d := range info.Blocks {
		f.frames[k] = file[d.Offset : d.Offset+d.Size]
		if f.raw[k], err = z.DecodeAll(f.frames[k], nil); err != nil {
			return nil, err
		}
	}
	m := info.Meta
	for i, v := range []uint64{uint64(m.Neurons), uint64(m.Thinkers), uint64(m.Hidden), uint64(m.Persona), uint64(m.Codebook), m.Entries, m.Edges, uint64(m.CreatedAt)} {
		f.meta = append(f.meta, part{number: i + 1, value: v})
	}
	f.meta = append(f.meta, part{number: 10, data: []byte(m.Parent)})
	return f, nil
}

// change replaces the raw content of a block.
func (f *forge) change(block int, raw []byte) { f.raw[block-1], f.frames[block-1] = raw, nil }

// edit changes bytes of a raw block, of a copy.
func (f *forge) edit(block int, change func(b []byte)) {
	b := bytes.Clone(f.raw[block-1])
	change(b)
	f.change(block, b)
}

// compress makes a frame with content size, with or without a checksum.
func compress(raw []byte, checksum bool) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(checksum), zstd.WithSingleSegment(len(raw) < 1024))
	if err != nil {
		panic(err) // the options are constant
	}
	return z.EncodeAll(raw, nil)
}

// build puts the file together, with hashes that fit unless a hook lies.
func (f *forge) build() []byte {
	frames := make([][]byte, 7)
	for k := range frames {
		if frames[k] = f.frames[k]; frames[k] == nil {
			frames[k] = compress(f.raw[k], true)
		}
	}
	if f.onFrames != nil {
		f.onFrames(frames)
	}
	const start = 4096
	at, all := uint64(start), sha256.New()
	var blocks [][]part
	var offsets []uint64
	for k, z := range frames {
		one := sha256.Sum256(z)
		all.Write(z)
		level := uint64(19)
		if k == 4 {
			level = 3
		}
		blocks = append(blocks, []part{{number: 1, value: uint64(k + 1)}, {number: 2, value: at}, {number: 3, value: uint64(len(z))}, {number: 4, value: uint64(len(f.raw[k]))}, {number: 5, value: level}, {number: 6, data: one[:]}})
		offsets = append(offsets, at)
		at = (at + uint64(len(z)) + 63) / 64 * 64
	}
	size := offsets[6] + uint64(len(frames[6]))
	sum := all.Sum(nil)
	if f.onSum != nil {
		sum = f.onSum(sum)
	}
	if f.onBlocks != nil {
		blocks = f.onBlocks(blocks)
	}
	parts := []part{{number: 1, data: []byte(f.magic)}, {number: 2, value: 1}, {number: 3, data: encode(set(append([]part(nil), f.meta...), part{number: 9, data: sum}))}}
	for _, b := range blocks {
		parts = append(parts, part{number: 4, data: encode(b)})
	}
	header := encode(parts)
	if f.onHeader != nil {
		header = f.onHeader(header)
	}
	head := append(make([]byte, 0, 64), "SXLM"...)
	head = le.AppendUint32(le.AppendUint32(le.AppendUint32(head, 1), uint32(len(header))), f.flags)
	head = le.AppendUint64(le.AppendUint64(head, start), size)
	hash := sha256.Sum256(header)
	head = append(head, hash[:]...)
	if f.onHead != nil {
		f.onHead(head)
	}
	file := make([]byte, size)
	copy(file[copy(file, head):], header)
	for k, z := range frames {
		copy(file[offsets[k]:], z)
	}
	if f.onFile != nil {
		file = f.onFile(file)
	}
	return file
}

// An array is a tensor of a TSEC container.
type array struct {
	name string
	kind byte
	dims []uint64
	data []byte // none is zeros
	lie  func(at, size *uint64)
}

// arrays takes a container apart.
func arrays(raw []byte) (list []array) {
	n, index := le.Uint32(raw[8:]), raw[16:]
	payload := raw[16+le.Uint32(raw[12:]):]
	for range n {
		var a array
		k := int(le.Uint16(index))
		a.name, index = string(index[2:2+k]), index[2+k:]
		a.kind = index[0]
		d := int(index[1])
		for i := range d {
			a.dims = append(a.dims, le.Uint64(index[2+8*i:]))
		}
		index = index[2+8*d:]
		at, size := le.Uint64(index), le.Uint64(index[8:])
		a.data, index = payload[at:at+size], index[16:]
		list = append(list, a)
	}
	return list
}

// container puts arrays together in the order in which they come.
func container(list []array) []byte {
	var index, payload []byte
	for _, a := range list {
		payload = append(payload, make([]byte, (64-len(payload)%64)%64)...)
		at, size := uint64(len(payload)), uint64(len(a.data))
		if a.lie != nil {
			a.lie(&at, &size)
		}
		index = append(le.AppendUint16(index, uint16(len(a.name))), a.name...)
		index = append(index, a.kind, byte(len(a.dims)))
		for _, d := range a.dims {
			index = le.AppendUint64(index, d)
		}
		index = le.AppendUint64(le.AppendUint64(index, at), size)
		payload = append(payload, a.data...)
	}
	b := le.AppendUint32(le.AppendUint32(le.AppendUint32([]byte("TSEC"), 1), uint32(len(list))), uint32(len(index)))
	return append(append(b, index...), payload...)
}

// arrays changes the tensors of a block.
func (f *forge) arrays(block int, change func(list []array) []array) {
	f.change(block, container(change(arrays(f.raw[block-1]))))
}

// array changes one tensor of a block.
func (f *forge) array(block int, name string, change func(a *array)) {
	f.arrays(block, func(list []array) []array {
		for i := range list {
			if list[i].name == name {
				list[i].data = bytes.Clone(list[i].data)
				change(&list[i])
			}
		}
		return list
	})
}

// nano is a network with libraries, moments and traces, so that no block is
// empty.
func nano(t *report) *sxlm.Model {
	c, err := config.Profile("nano")
	t.Must(err)
	c.PersonaDim, c.EngramBits = 8, 6
	m, err := sxlm.Fresh(c, 1)
	t.Must(err)
	m.CreatedAt = 1_700_000_000
	fillModel(m)
	return m
}

// fillModel gives a network content where a new one has none.
func fillModel(m *sxlm.Model) {
	d := m.Config.D
	for _, n := range []uint32{0, 2} {
		lib := sxlm.Library{Neuron: n}
		for i := range 3 {
			e := sxlm.Entry{ID: uint64(n)<<32 | uint64(i), Utility: .5 + .1*float32(i), Confidence: .7, Access: uint32(i), LastAccess: int64(i), Soft: i == 2}
			for k := range d {
				e.Embedding = append(e.Embedding, uint16(0x2800+17*i+k)) // small halves, all different
				e.Snapshot = append(e.Snapshot, uint16(0x3000+i+k))
			}
			lib.Entries = append(lib.Entries, e)
		}
		m.Libraries = append(m.Libraries, lib)
	}
	m.Step = 20
	for i := range m.Weights.Of("s4.receptive") {
		m.Weights.Of("s4.receptive")[i] = float32(min(i%5, 1))
	}
	for i := range m.Weights.Specs {
		s := &m.Weights.Specs[i]
		if !s.Trained || s.Block == 4 {
			continue
		}
		t, err := m.Moment(s.Name)
		if err != nil {
			return // of a file for inference
		}
		for k := range t.M {
			t.M[k], t.V[k] = float32(k%7)*1e-3-2e-3, float32(k%5)*1e-6
		}
	}
	for i := range m.States["s7.trace"].F32 {
		m.States["s7.trace"].F32[i] = float32(i) / 64
	}
	for i := range m.Trace {
		m.Trace[i] = float32(i) / 8
	}
	for i := range m.Persona {
		m.Persona[i] = float32(i) - 3.5
	}
}

// A quick codec compresses little, whatever the level, for brief rows about what a
// file says and not how small it is.
type quick struct{ sxlm.Codec }

func (q quick) Encoder(block, _ int, frame io.Writer, raw int64) (io.WriteCloser, error) {
	return q.Codec.Encoder(block, 1, frame, raw)
}

// written is the bytes of a model's file.
func written(t *report, m *sxlm.Model, o sxlm.Options) []byte {
	if o.Codec == nil && t.Brief() {
		o.Codec = quick{sxlm.Zstd}
	}
	path := filepath.Join(t.Dir(), "m.sxlm")
	_, err := sxlm.Write(t.Context(), path, m, o)
	t.Must(err)
	b, err := os.ReadFile(path)
	t.Must(err)
	return b
}

// parsed loads a model from bytes.
func parsed(t *report, file []byte, o sxlm.Options) (*sxlm.Model, error) {
	return sxlm.Parse(t.Context(), bytes.NewReader(file), int64(len(file)), o)
}
