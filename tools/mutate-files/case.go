package main

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// mostInput bounds the bytes of a case's files.
const mostInput = 4 << 20

// An entry is a file of a case.
type entry struct {
	name string
	data []byte
	kind kind
	keep bool // not changed: it is only needed
}

// A sample is a set of good files of one format.
type sample []entry

func (s sample) bytes() (n int) {
	for _, e := range s {
		n += len(e.data)
	}
	return n
}

// A kind says how the structure of a file is changed.
type kind int

const (
	binary kind = iota // bytes
	jsonText
	jsonLines
	plainText
	gguf
	safetensors
	proto
	riff
	png
	sxlm
	snapshot
)

// A random makes a case's choices.
type random struct{ *rand.Rand }

// one returns one of the values.
func one[T any](r random, values ...T) T { return values[r.IntN(len(values))] }

// chance reports true in one of n cases.
func (r random) chance(n int) bool { return r.IntN(n) == 0 }

// A damaged is a case: damaged files of a format.
type damaged struct {
	format *format
	index  uint64
	files  sample
}

// rngFor returns the choices of one case.
func rngFor(seed, index uint64) random {
	h := fnv.New64a()
	h.Write([]byte("mutate-files/1"))
	return random{rand.New(rand.NewPCG(seed^h.Sum64(), index))}
}

// makeCase returns the case of an index.
func (c *campaign) makeCase(index uint64) *damaged {
	r := rngFor(c.seed, index)
	f := c.wheel[index%uint64(len(c.wheel))]
	from := f.samples[r.IntN(len(f.samples))]
	files := make(sample, len(from))
	copy(files, from)
	var open []int
	for i, e := range files {
		if !e.keep {
			open = append(open, i)
		}
	}
	other := f.samples[r.IntN(len(f.samples))]
	for range 1 + min(r.IntN(3), r.IntN(4)) {
		e := &files[open[r.IntN(len(open))]]
		var donor []byte
		for _, o := range other {
			if o.kind == e.kind && !o.keep {
				donor = o.data
			}
		}
		if out := mutate(r, e.kind, e.data, donor); len(out) <= mostInput {
			e.data = out
		}
	}
	if len(open) > 1 && r.chance(50) { // a file is missing, or is that of another
		i := open[r.IntN(len(open))]
		if r.chance(2) {
			files = append(files[:i:i], files[i+1:]...)
		} else {
			files[i].data = other[r.IntN(len(other))].data
		}
	}
	return &damaged{f, index, files}
}

// mutate changes data once; donor, if any, is another file of its kind.
func mutate(r random, k kind, data, donor []byte) []byte {
	if k != binary && r.chance(12) || k == binary {
		return mutateBytes(r, data, donor)
	}
	var out []byte
	switch k {
	case jsonText:
		out = mutateJSON(r, data, donor)
	case jsonLines:
		out = mutateLines(r, data, donor)
	case gguf:
		out = mutateGGUF(r, data, donor)
	case safetensors:
		out = mutateSafetensors(r, data, donor)
	case proto:
		out = mutateProto(r, data, donor)
	case riff:
		out = mutateRIFF(r, data)
	case png:
		out = mutatePNG(r, data)
	case sxlm:
		out = mutateSXLM(r, data)
	case snapshot:
		out = mutateSnapshot(r, data)
	default:
		out = mutateText(r, data, donor)
	}
	if out == nil { // its structure was damaged before
		return mutateBytes(r, data, donor)
	}
	return out
}

// boundary are the values at which lengths and offsets go wrong.
var boundary = []uint64{
	0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1023, 1024, 4095, 4096, 65535, 65536,
	1<<20 - 1, 1 << 20, 1 << 24, 1<<30 - 1, 1 << 30, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 40,
	1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<61 - 1, 1 << 61, 1<<62 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 64, 1<<64 - 8, 1<<64 - 2, 1<<64 - 1,
}

// number returns a value at a boundary, or one near old.
func (r random) number(old uint64) uint64 {
	switch r.IntN(6) {
	case 0:
		return old + 1
	case 1:
		return old - 1
	case 2:
		return old * one(r, uint64(2), 3, 8, 255, 1<<16, 1<<32)
	case 3:
		return old ^ 1<<r.IntN(64)
	case 4:
		return r.Uint64() >> r.IntN(64)
	}
	return boundary[r.IntN(len(boundary))]
}

// mutateBytes knows no structure.
func mutateBytes(r random, data, donor []byte) []byte {
	b := bytes.Clone(data)
	if len(b) == 0 {
		return append(b, byte(r.Uint32()))
	}
	// Headers are at the front: half of all changes go there.
	at := r.IntN(len(b))
	if r.chance(2) {
		at = r.IntN(min(len(b), 64<<r.IntN(8)))
	}
	switch r.IntN(9) {
	case 0:
		b[at] ^= 1 << r.IntN(8)
	case 1:
		b[at] = one(r, 0, 1, 0x7f, 0x80, 0xff, byte(r.Uint32()))
	case 2: // an integer, little-endian or big-endian
		width := min(1<<r.IntN(4), len(b)-at)
		var old uint64
		for i := range width {
			old |= uint64(b[at+i]) << (8 * i)
		}
		v := r.number(old)
		for i := range width {
			b[at+i] = byte(v >> (8 * i))
		}
		if r.chance(4) {
			for i := range width {
				b[at+i] = byte(v >> (8 * (width - 1 - i)))
			}
		}
	case 3:
		return b[:at]
	case 4:
		end := at + r.IntN(min(len(b)-at, 1<<r.IntN(16)))
		return append(b[:at], b[end:]...)
	case 5: // repeated
		end := at + r.IntN(min(len(b)-at, 4096))
		part := bytes.Repeat(b[at:end], min(1<<r.IntN(10), 1+mostInput/4/max(1, end-at)))
		return append(b[:end:end], append(part, data[end:]...)...)
	case 6: // the rest of another file
		if len(donor) > 0 {
			return append(b[:at], donor[min(at, len(donor)-1):]...)
		}
	case 7:
		if len(donor) > 0 {
			n := r.IntN(min(len(donor), 256))
			from := r.IntN(len(donor) - n)
			copy(b[at:], donor[from:from+n])
		}
	case 8:
		for i := at; i < min(len(b), at+r.IntN(64)); i++ {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

// write writes the files into dir.
func (s sample) write(dir string) error {
	for _, e := range s {
		name := filepath.Join(dir, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, e.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
