package main

import (
	"bytes"
	bin "encoding/binary"
	"hash/crc32"
)

// mutateSafetensors changes the header, and makes its length right in most cases.
func mutateSafetensors(r random, data, donor []byte) []byte {
	if len(data) < 8 || le.Uint64(data) > uint64(len(data)-8) {
		return nil
	}
	n := int(le.Uint64(data))
	header, rest := data[8:8+n], data[8+n:]
	if len(donor) >= 8 && le.Uint64(donor) <= uint64(len(donor)-8) {
		donor = donor[8 : 8+le.Uint64(donor)]
	} else {
		donor = nil
	}
	switch r.IntN(8) {
	case 0: // values
		rest = mutateBytes(r, rest, nil)
		if len(rest) > 4 && r.chance(2) {
			le.PutUint32(rest[r.IntN(len(rest)-4):], one(r, uint32(0x7fc00000), 0x7f800000, 0xff800000, 0x7f807f80))
		}
	default:
		if header = mutateJSON(r, bytes.TrimRight(header, " "), donor); header == nil {
			return nil
		}
	}
	if !r.chance(4) {
		header = padded(header)
	}
	length := uint64(len(header))
	if r.chance(15) {
		length = r.number(length)
	}
	return append(append(le.AppendUint64(nil, length), header...), rest...)
}

// padded appends spaces, so that values lie at multiples of eight bytes.
func padded(header []byte) []byte {
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	return header
}

// A field is one of a protocol buffer's.
type field struct {
	tag   uint64
	value uint64 // of types 0, 1 and 5
	data  []byte // of type 2
}

// parseProto returns nil if the bytes are no fields.
func parseProto(b []byte) []field {
	var out []field
	for len(b) > 0 {
		tag, n := bin.Uvarint(b)
		if n <= 0 {
			return nil
		}
		b = b[n:]
		f := field{tag: tag}
		switch tag & 7 {
		case 0:
			if f.value, n = bin.Uvarint(b); n <= 0 {
				return nil
			}
		case 1:
			if n = 8; len(b) < 8 {
				return nil
			}
			f.value = le.Uint64(b)
		case 5:
			if n = 4; len(b) < 4 {
				return nil
			}
			f.value = uint64(le.Uint32(b))
		case 2:
			var size uint64
			if size, n = bin.Uvarint(b); n <= 0 || size > uint64(len(b)-n) {
				return nil
			}
			f.data = b[n : n+int(size)]
			n += int(size)
		default:
			return nil
		}
		b = b[n:]
		out = append(out, f)
	}
	return out
}

func encodeProto(list []field) (b []byte) {
	for _, f := range list {
		b = bin.AppendUvarint(b, f.tag)
		switch f.tag & 7 {
		case 0:
			b = bin.AppendUvarint(b, f.value)
		case 1:
			b = le.AppendUint64(b, f.value)
		case 5:
			b = le.AppendUint32(b, uint32(f.value))
		default:
			b = append(bin.AppendUvarint(b, uint64(len(f.data))), f.data...)
		}
	}
	return b
}

// mutateProto changes one field, at any depth.
func mutateProto(r random, data, donor []byte) []byte {
	list := parseProto(data)
	if len(list) == 0 {
		return nil
	}
	i := r.IntN(len(list))
	if r.chance(2) { // fields that are there once are as interesting as the pieces
		i = len(list) - 1 - r.IntN(min(len(list), 8))
	}
	f := &list[i]
	switch r.IntN(9) {
	case 0:
		list = append(list[:i], list[i+1:]...)
	case 1:
		n := min(1<<r.IntN(12), 1+(1<<18)/(1+len(f.data)))
		for range n {
			list = append(list, *f)
		}
	case 2:
		j := r.IntN(len(list))
		list[i], list[j] = list[j], list[i]
	case 3:
		f.tag = f.tag&^7 | uint64(r.IntN(8))
	case 4:
		f.tag = r.number(f.tag>>3)<<3 | f.tag&7
	case 5:
		if d := parseProto(donor); len(d) > 0 {
			*f = d[r.IntN(len(d))]
		}
	default:
		if f.tag&7 != 2 {
			f.value = r.number(f.value)
			break
		}
		if out := mutateProto(r, f.data, nil); out != nil && r.chance(2) {
			f.data = out
		} else {
			f.data = mutateBytes(r, f.data, nil)
		}
	}
	return encodeProto(list)
}

// mutateRIFF changes chunks of a sound.
func mutateRIFF(r random, data []byte) []byte {
	if len(data) < 20 {
		return nil
	}
	b := bytes.Clone(data)
	var starts []int
	for at := 12; at+8 <= len(b); {
		starts = append(starts, at)
		at += 8 + int(le.Uint32(b[at+4:])) + int(le.Uint32(b[at+4:]))&1
	}
	at := starts[r.IntN(len(starts))]
	end := min(len(b), at+8+int(le.Uint32(b[at+4:])))
	switch r.IntN(6) {
	case 0:
		le.PutUint32(b[at+4:], uint32(r.number(uint64(end-at-8))))
	case 1:
		return append(b[:end:end], b[at:]...)
	case 2:
		return append(b[:at:at], b[end:]...)
	case 3:
		copy(b[at:], one(r, "fmt ", "data", "fact", "ds64", "LIST", "JUNK"))
	case 4:
		copy(b, one(r, "RIFF", "RF64", "RIFX", "fLaC"))
		le.PutUint32(b[4:], uint32(r.number(uint64(len(b)-8))))
	case 5: // the format
		if at = starts[0] + 8; end > at+2 {
			k := at + 2*r.IntN(max(1, min(end-at, 40)/2))
			if k+2 <= len(b) {
				le.PutUint16(b[k:], uint16(r.number(uint64(le.Uint16(b[k:])))))
			}
		}
	}
	return b
}

// mutatePNG changes a chunk and makes its checksum again.
func mutatePNG(r random, data []byte) []byte {
	be := bin.BigEndian
	if len(data) < 8 {
		return nil
	}
	type chunk struct {
		name string
		data []byte
	}
	var list []chunk
	for at := 8; at+12 <= len(data); {
		n := int(be.Uint32(data[at:]))
		if n < 0 || n > len(data)-at-12 {
			break
		}
		list = append(list, chunk{string(data[at+4 : at+8]), data[at+8 : at+8+n]})
		at += 12 + n
	}
	if len(list) == 0 {
		return nil
	}
	i := r.IntN(len(list))
	switch r.IntN(6) {
	case 0:
		list = append(list[:i], list[i+1:]...)
	case 1:
		list = append(list, list[i])
	case 2:
		j := r.IntN(len(list))
		list[i], list[j] = list[j], list[i]
	case 3:
		list[i].name = one(r, "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "acTL", "eXIf", "iCCP")
	default: // the header has the sizes
		if r.chance(2) {
			i = 0
		}
		list[i].data = mutateBytes(r, list[i].data, nil)
	}
	out := bytes.Clone(data[:8])
	for _, c := range list {
		out = be.AppendUint32(out, uint32(len(c.data)))
		from := len(out)
		out = append(append(out, c.name...), c.data...)
		out = be.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
	}
	return out
}
