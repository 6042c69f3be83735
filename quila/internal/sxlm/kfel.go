package sxlm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// An Entry is a key-frame entry (KFEEntry of §9.2).
type Entry struct {
	ID         uint64   // neuron << 32 | serial
	Embedding  []uint16 // half precision, D
	Snapshot   []uint16 // half precision, D
	Utility    float32
	Confidence float32
	Access     uint32
	LastAccess int64 // turn
	Soft       bool  // marked for deletion
}

// A Library is the entries of a neuron.
type Library struct {
	Neuron  uint32
	Entries []Entry
	Image   []byte // hnswlib's form of the index; a new one is written if it does not fit the entries
}

const (
	kfelMagic   = "KFEL"
	kfelHead    = 20
	libraryHead = 24
)

var entryWires = []wire{wireVarint, wireBytes, wireBytes, wireFixed, wireFixed, wireVarint, wireVarint, wireVarint}

func (e *Entry) append(b []byte) []byte {
	soft := uint64(0)
	if e.Soft {
		soft = 1
	}
	half := func(x []uint16) (out []byte) {
		for _, v := range x {
			out = binary.LittleEndian.AppendUint16(out, v)
		}
		return out
	}
	b = appendBytes(appendBytes(appendVarint(b, 1, e.ID), 2, half(e.Embedding)), 3, half(e.Snapshot))
	b = appendFloat(appendFloat(b, 4, e.Utility), 5, e.Confidence)
	return appendVarint(appendVarint(appendVarint(b, 6, uint64(e.Access)), 7, uint64(e.LastAccess)), 8, soft)
}

func (e *Entry) decode(b []byte, neuron uint32, d int, allowNaN bool) error {
	half := func(to *[]uint16, f field) error {
		if len(f.data) != 2*d {
			return &wireError{f.at, fmt.Sprintf("a vector of %d bytes, want %d", len(f.data), 2*d)}
		}
		*to = make([]uint16, d)
		for i := range *to {
			v := binary.LittleEndian.Uint16(f.data[2*i:])
			if v&0x7C00 == 0x7C00 && !allowNaN {
				return &wireError{f.at + 2*i, "a value that is not finite"}
			}
			(*to)[i] = v
		}
		return nil
	}
	float := func(to *float32, f field) error {
		*to = math.Float32frombits(uint32(f.value))
		if f.value&0x7F800000 == 0x7F800000 && !allowNaN {
			return &wireError{f.at, "a value that is not finite"}
		}
		return nil
	}
	err := message(b, entryWires, 0, func(f field) error {
		switch f.number {
		case 1:
			e.ID = f.value
		case 2:
			return half(&e.Embedding, f)
		case 3:
			return half(&e.Snapshot, f)
		case 4:
			return float(&e.Utility, f)
		case 5:
			return float(&e.Confidence, f)
		case 6:
			return f.narrowTo(&e.Access)
		case 7:
			e.LastAccess = int64(f.value)
		case 8:
			if e.Soft = f.value == 1; !e.Soft {
				return &wireError{f.at, "a flag that is neither 0 nor 1"}
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case e.Embedding == nil || e.Snapshot == nil:
		return &wireError{0, "an entry without its vectors"}
	case e.ID>>32 != uint64(neuron):
		return &wireError{0, fmt.Sprintf("entry %#x in the library of neuron %d", e.ID, neuron)}
	}
	return nil
}

// libraries reads block 5.
func (l *loader) libraries(c raw) error {
	head, err := c.read(0, min(kfelHead, c.size))
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if len(head) < kfelHead || string(head[:4]) != kfelMagic || le.Uint32(head[4:]) != version {
		return c.fail(0, "no KFEL container of version %d", version)
	}
	l.m.Epoch = le.Uint64(head[8:])
	n := int64(le.Uint32(head[16:]))
	if n > (c.size-kfelHead)/libraryHead || n > int64(l.m.Config.N) {
		return c.fail(16, "%d libraries of %d neurons in %d bytes", n, l.m.Config.N, c.size)
	}
	at, last := int64(kfelHead), int64(-1)
	for range n {
		lib, next, err := l.library(c, at, last)
		if err != nil {
			return err
		}
		l.entries += uint64(len(lib.Entries))
		l.m.Libraries = append(l.m.Libraries, lib)
		at, last = next, int64(lib.Neuron)
	}
	if at != c.size {
		return c.fail(at, "libraries end here, the block at %d", c.size)
	}
	if l.entries != l.info.Meta.Entries {
		return fault(StepContents, 5, 16, "%d entries, kfe_count is %d", l.entries, l.info.Meta.Entries)
	}
	return nil
}

// library reads the library at a byte of block 5 and returns where the next is.
func (l *loader) library(c raw, at, last int64) (lib Library, next int64, err error) {
	head, err := c.read(at, libraryHead)
	if err != nil {
		return lib, 0, err
	}
	le := binary.LittleEndian
	lib.Neuron = le.Uint32(head)
	n, size, image := int64(le.Uint32(head[4:])), le.Uint64(head[8:]), le.Uint64(head[16:])
	rest := uint64(c.size - at - libraryHead)
	d := l.m.Config.D
	switch {
	case int64(lib.Neuron) <= last || int64(lib.Neuron) >= int64(l.m.Config.N):
		return lib, 0, c.fail(at, "the library of neuron %d after that of %d, of %d", lib.Neuron, last, l.m.Config.N)
	case size > rest || image > rest-size:
		return lib, 0, c.fail(at+8, "%d and %d bytes, the block has %d", size, image, rest)
	case uint64(n) > size/uint64(4*d):
		return lib, 0, c.fail(at+4, "%d entries in %d bytes", n, size)
	}
	at += libraryHead
	b, err := c.read(at, int64(size))
	if err != nil {
		return lib, 0, err
	}
	seen := make(map[uint64]bool, n)
	p := 0
	for range n {
		length, k := varint(b[p:])
		if k == 0 || length > uint64(len(b)-p-k) {
			return lib, 0, c.fail(at+int64(p), "the length of an entry")
		}
		p += k
		var e Entry
		if err := e.decode(b[p:p+int(length)], lib.Neuron, d, l.opt.AllowNaN); err != nil {
			if w, ok := errors.AsType[*wireError](err); ok {
				return lib, 0, c.fail(at+int64(p+w.at), "%s", w.what)
			}
			return lib, 0, err
		}
		if seen[e.ID] {
			return lib, 0, fault(StepContents, 5, at+int64(p), "entry %#x is there twice", e.ID)
		}
		seen[e.ID] = true
		lib.Entries = append(lib.Entries, e)
		p += int(length)
	}
	if p != len(b) {
		return lib, 0, c.fail(at+int64(p), "%d bytes after the last entry", len(b)-p)
	}
	at += int64(size)
	if lib.Image, err = c.read(at, int64(image)); err != nil {
		return lib, 0, err
	}
	if err := checkImage(lib.Image, lib.Entries, &l.m.Config); err != nil {
		return lib, 0, because(StepContents, 5, at, fmt.Sprintf("the index of neuron %d", lib.Neuron), err)
	}
	return lib, at + int64(image), nil
}

// A kfel is block 5 that is to be written.
type kfel struct {
	epoch  uint64
	libs   []Library
	bodies [][]byte
	images [][]byte
}

// newKFEL encodes the libraries of a network.
func newKFEL(m *Model) (*kfel, error) {
	k := &kfel{epoch: m.Epoch, libs: m.Libraries}
	c := &m.Config
	for i := range m.Libraries {
		lib := &m.Libraries[i]
		var body []byte
		for j := range lib.Entries {
			e := lib.Entries[j].append(nil)
			body = append(binary.AppendUvarint(body, uint64(len(e))), e...)
		}
		image := lib.Image
		if i > 0 && lib.Neuron <= m.Libraries[i-1].Neuron {
			return nil, fmt.Errorf("sxlm: the library of neuron %d after that of %d", lib.Neuron, m.Libraries[i-1].Neuron)
		}
		if image == nil || checkImage(image, lib.Entries, c) != nil {
			var err error
			if image, err = newImage(lib, c); err != nil {
				return nil, fmt.Errorf("sxlm: the index of neuron %d: %w", lib.Neuron, err)
			}
		}
		k.bodies, k.images = append(k.bodies, body), append(k.images, image)
	}
	return k, nil
}

func (k *kfel) size() int64 {
	n := int64(kfelHead)
	for i := range k.libs {
		n += libraryHead + int64(len(k.bodies[i])) + int64(len(k.images[i]))
	}
	return n
}

func (k *kfel) write(w io.Writer) error {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(kfelMagic), version)
	b = le.AppendUint32(le.AppendUint64(b, k.epoch), uint32(len(k.libs)))
	if _, err := w.Write(b); err != nil {
		return err
	}
	for i := range k.libs {
		b := le.AppendUint32(le.AppendUint32(nil, k.libs[i].Neuron), uint32(len(k.libs[i].Entries)))
		b = le.AppendUint64(le.AppendUint64(b, uint64(len(k.bodies[i]))), uint64(len(k.images[i])))
		for _, part := range [][]byte{b, k.bodies[i], k.images[i]} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
	}
	return nil
}
