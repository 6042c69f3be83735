package main

import (
	"bytes"
	bin "encoding/binary"
	"fmt"
)

var le = bin.LittleEndian

// A ggufFile is the structure of a GGUF file; values keep their bytes.
type ggufFile struct {
	version         uint32
	tensors, values uint64 // as the header counts them
	kv              []ggufValue
	infos           []ggufInfo
	pad             int
	data            []byte
}

type ggufValue struct {
	key string
	typ uint32
	raw []byte
}

type ggufInfo struct {
	name   string
	dims   []uint64
	typ    uint32
	offset uint64
}

// sizes of GGUF's types of values: 0 is a string, an array or unknown.
var ggufSizes = []int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

const (
	ggufString = 8
	ggufArray  = 9
)

// A bytesReader takes values off a slice; short is set at its end.
type bytesReader struct {
	b     []byte
	short bool
}

func (r *bytesReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.short, n = true, uint64(len(r.b))
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *bytesReader) u64() uint64 {
	var x [8]byte
	copy(x[:], r.take(8))
	return le.Uint64(x[:])
}

func (r *bytesReader) skip(typ uint32) {
	switch {
	case typ == ggufString:
		r.take(r.u64())
	case typ == ggufArray:
		of, n := r.word(), r.u64()
		if of < uint32(len(ggufSizes)) && ggufSizes[of] > 0 && n < 1<<32 {
			r.take(n * uint64(ggufSizes[of]))
			return
		}
		for ; n > 0 && !r.short; n-- {
			r.skip(of)
		}
	case typ < uint32(len(ggufSizes)):
		r.take(uint64(ggufSizes[typ]))
	default:
		r.short = true
	}
}

// word is u32 without writing behind the slice that it reads.
func (r *bytesReader) word() uint32 {
	var x [4]byte
	copy(x[:], r.take(4))
	return le.Uint32(x[:])
}

// parseGGUF returns nil for what is none.
func parseGGUF(b []byte) *ggufFile {
	r := &bytesReader{b: b}
	if string(r.take(4)) != "GGUF" {
		return nil
	}
	f := &ggufFile{version: r.word(), tensors: r.u64(), values: r.u64()}
	align := uint64(32)
	for i := uint64(0); i < f.values && !r.short; i++ {
		v := ggufValue{key: string(r.take(r.u64()))}
		v.typ = r.word()
		before := r.b
		r.skip(v.typ)
		v.raw = before[:len(before)-len(r.b)]
		if v.key == "general.alignment" && len(v.raw) == 4 {
			align = uint64(max(1, le.Uint32(v.raw)))
		}
		f.kv = append(f.kv, v)
	}
	for i := uint64(0); i < f.tensors && !r.short; i++ {
		t := ggufInfo{name: string(r.take(r.u64()))}
		for n := r.word(); n > 0 && !r.short; n-- {
			t.dims = append(t.dims, r.u64())
		}
		t.typ, t.offset = r.word(), r.u64()
		f.infos = append(f.infos, t)
	}
	if r.short {
		return nil
	}
	f.pad = int(align)
	at := uint64(len(b) - len(r.b))
	r.take((at+align-1)/align*align - at)
	f.data = r.b
	return f
}

func appendText(b []byte, s string) []byte {
	return append(le.AppendUint64(b, uint64(len(s))), s...)
}

// encode writes the file; its counts are those of the header, right or wrong.
func (f *ggufFile) encode() []byte {
	b := le.AppendUint32([]byte("GGUF"), f.version)
	b = le.AppendUint64(le.AppendUint64(b, f.tensors), f.values)
	for _, v := range f.kv {
		b = append(le.AppendUint32(appendText(b, v.key), v.typ), v.raw...)
	}
	for _, t := range f.infos {
		b = le.AppendUint32(appendText(b, t.name), uint32(len(t.dims)))
		for _, d := range t.dims {
			b = le.AppendUint64(b, d)
		}
		b = le.AppendUint64(le.AppendUint32(b, t.typ), t.offset)
	}
	for len(f.data) > 0 && len(b)%f.pad != 0 {
		b = append(b, 0)
	}
	return append(b, f.data...)
}

// count makes the counts of the header right.
func (f *ggufFile) count() { f.tensors, f.values = uint64(len(f.infos)), uint64(len(f.kv)) }

// mutateGGUF changes a value, a tensor's entry, or a count.
func mutateGGUF(r random, data, donor []byte) []byte {
	f := parseGGUF(data)
	if f == nil {
		return nil
	}
	switch k := r.IntN(20); {
	case k == 0:
		*one(r, &f.tensors, &f.values) = r.number(f.tensors)
	case k == 1:
		f.version = uint32(r.number(uint64(f.version)))
	case k < 11 && len(f.kv) > 0:
		f.changeValue(r, donor)
	case len(f.infos) > 0:
		f.changeTensor(r, donor)
	}
	return f.encode()
}

func (f *ggufFile) changeValue(r random, donor []byte) {
	i := r.IntN(len(f.kv))
	v := &f.kv[i]
	switch r.IntN(8) {
	case 0:
		f.kv = append(f.kv[:i], f.kv[i+1:]...)
		f.count()
	case 1:
		f.kv = append(f.kv, *v)
		f.count()
	case 2:
		j := r.IntN(len(f.kv))
		v.typ, f.kv[j].typ, v.raw, f.kv[j].raw = f.kv[j].typ, v.typ, f.kv[j].raw, v.raw
	case 3:
		if d := parseGGUF(donor); d != nil && len(d.kv) > 0 {
			*v = d.kv[r.IntN(len(d.kv))]
		}
	case 4:
		v.typ = uint32(r.number(uint64(v.typ)))
	case 5:
		v.key = one(r, "", v.key+"\x00", "general.architecture", "general.alignment", "split.count", "split.no", f.kv[r.IntN(len(f.kv))].key)
	default:
		f.changeRaw(r, v)
	}
}

// changeRaw changes the content of a value.
func (f *ggufFile) changeRaw(r random, v *ggufValue) {
	old := bytes.Clone(v.raw)
	switch {
	case v.typ == ggufString && len(old) >= 8:
		s := mutateText(r, old[8:], nil)
		v.raw = appendText(nil, string(s))
		if r.chance(6) {
			le.PutUint64(v.raw, r.number(uint64(len(s))))
		}
	case v.typ == ggufArray && len(old) >= 12:
		at := one(r, 0, 4, 12+r.IntN(max(1, len(old)-12)))
		b := mutateBytes(r, old[at:], nil)
		if at == 4 { // its length
			b = bytes.Clone(old[4:])
			le.PutUint64(b, r.number(le.Uint64(old[4:])))
		}
		v.raw = append(old[:at:at], b...)
	case len(old) == 8:
		v.raw = le.AppendUint64(nil, r.number(le.Uint64(old)))
	case len(old) == 4:
		n := uint32(r.number(uint64(le.Uint32(old))))
		if v.typ == 6 && r.chance(2) { // a float
			n = one(r, uint32(0), 1<<31, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0x7f7fffff, 1)
		}
		v.raw = le.AppendUint32(nil, n)
	case len(old) > 0:
		v.raw = old
		v.raw[0] = byte(r.number(uint64(old[0])))
	}
}

func (f *ggufFile) changeTensor(r random, donor []byte) {
	i := r.IntN(len(f.infos))
	t := &f.infos[i]
	j := r.IntN(len(f.infos))
	switch r.IntN(10) {
	case 0:
		f.infos = append(f.infos[:i], f.infos[i+1:]...)
		f.count()
	case 1:
		f.infos = append(f.infos, *t)
		f.count()
	case 2:
		t.name, f.infos[j].name = f.infos[j].name, t.name
	case 3:
		t.typ = uint32(r.IntN(42))
	case 4:
		t.offset = r.number(t.offset)
	case 5:
		if len(t.dims) > 0 {
			t.dims = append([]uint64{}, t.dims...)
			k := r.IntN(len(t.dims))
			t.dims[k] = r.number(t.dims[k])
		}
	case 6:
		t.dims = append(append([]uint64{}, t.dims...), one(r, uint64(1), 2, 0, 1<<63))
	case 7:
		t.dims, f.infos[j].dims = f.infos[j].dims, t.dims
	case 8:
		if d := parseGGUF(donor); d != nil && len(d.infos) > 0 {
			t.name = d.infos[r.IntN(len(d.infos))].name
		}
	case 9: // values of weights: NaN, infinity, or scales of blocks
		if len(f.data) > 4 {
			f.data = bytes.Clone(f.data)
			for range 1 + r.IntN(8) {
				le.PutUint32(f.data[r.IntN(len(f.data)-4):], one(r, 0x7fc00000, 0x7f800000, 0xff800000, 0x7c007c00, r.Uint32()))
			}
		}
	}
}

// splitGGUF returns the file as two files of a split model.
func splitGGUF(b []byte) sample {
	f := parseGGUF(b)
	half := len(f.infos) / 2
	cut := f.infos[half].offset
	u16 := func(key string, n int) ggufValue { return ggufValue{key, 2, le.AppendUint16(nil, uint16(n))} }
	var out sample
	for no := range 2 {
		g := &ggufFile{version: f.version, pad: f.pad}
		if no == 0 {
			g.kv = append(g.kv, f.kv...)
			g.infos, g.data = f.infos[:half], f.data[:cut]
		} else {
			for _, t := range f.infos[half:] {
				t.offset -= cut
				g.infos = append(g.infos, t)
			}
			g.data = f.data[cut:]
		}
		g.kv = append(g.kv, u16("split.no", no), u16("split.count", 2),
			ggufValue{"split.tensors.count", 5, le.AppendUint32(nil, uint32(len(f.infos)))})
		g.count()
		out = append(out, entry{name: fmt.Sprintf("model-%05d-of-00002.gguf", no+1), data: g.encode(), kind: gguf})
	}
	return out
}
