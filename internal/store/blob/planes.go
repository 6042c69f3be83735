package blob

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/huff0"
)

// PlaneHuff splits bfloat16 numbers into two planes of bytes. The exponents of
// weights take few values and are Huffman-coded in blocks; sign and mantissa are
// close to random and are stored unchanged.
//
//	number    s eeeeeeee mmmmmmm
//	planes    eeeeeeee and smmmmmmm
//	content   length of all (64 bits), blocks
//	block     form, length of the exponents in bytes (32 bits), exponents, rest
//
// A last odd byte follows the last block.

// planeBlock is the number of values in a block; the last block has fewer.
const planeBlock = 64 << 10

// The forms of a block's exponents.
const (
	planeRaw  = iota // unchanged
	planeSame        // one exponent shared by all numbers
	planeHuff        // in four Huffman streams
)

const planeHeader = 1 + 4

func encodePlanes(data []byte) ([]byte, error) {
	out := make([]byte, 0, len(data)*3/4+planeHeader)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(data)))
	exps, rest := make([]byte, planeBlock), make([]byte, planeBlock)
	s := &huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	for len(data) >= 2 {
		n := min(len(data)/2, planeBlock)
		splitPlanes(exps[:n], rest[:n], data[:2*n])
		data = data[2*n:]
		how, e := byte(planeHuff), exps[:1]
		packed, _, err := huff0.Compress4X(exps[:n], s)
		switch {
		case err == nil:
			e = packed
		case errors.Is(err, huff0.ErrUseRLE):
			how = planeSame
		case errors.Is(err, huff0.ErrIncompressible):
			how, e = planeRaw, exps[:n]
		default:
			return nil, err
		}
		out = append(out, how)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(e)))
		out = append(append(out, e...), rest[:n]...)
	}
	return append(out, data...), nil
}

func decodePlanes(content []byte, size uint64) ([]byte, error) {
	if size/2 > uint64(len(content)) { // content has at least one byte for every number
		return nil, invalid("Invalid PlaneHuff data: %d bytes cannot be %d", len(content), size)
	}
	out := make([]byte, size)
	if err := new(Decoder).planes(out, content); err != nil {
		return nil, err
	}
	return out, nil
}

// planes decodes PlaneHuff.
func (d *Decoder) planes(out, content []byte) error {
	if len(content) < 8 || binary.LittleEndian.Uint64(content) != uint64(len(out)) {
		return invalid("Invalid PlaneHuff data: it is not of %d bytes", len(out))
	}
	if d.exps == nil {
		d.exps = make([]byte, planeBlock)
	}
	dst, src := out, content[8:]
	for len(dst) >= 2 {
		n := min(len(dst)/2, planeBlock)
		at := len(content) - len(src)
		if len(src) < planeHeader+n {
			return invalid("Invalid PlaneHuff data: the block at offset %d is cut", at)
		}
		how, packed := src[0], uint64(binary.LittleEndian.Uint32(src[1:]))
		if src = src[planeHeader:]; packed > uint64(len(src)-n) {
			return invalid("Invalid PlaneHuff data: the exponents at offset %d are cut", at)
		}
		e, err := decodeExponents(d.exps[:n], src[:packed], how, &d.huff)
		if err != nil {
			return invalid("Invalid PlaneHuff data: the exponents at offset %d: %v", at, err)
		}
		joinPlanes(dst[:2*n], e, src[packed:][:n])
		dst, src = dst[2*n:], src[packed:][n:]
	}
	if copy(dst, src) != len(src) || len(src) != len(dst) {
		return invalid("Invalid PlaneHuff data: %d bytes after the last block, want %d", len(src), len(dst))
	}
	return nil
}

// decodeExponents returns the exponents of a block, decoded into dst or as a
// slice of src.
func decodeExponents(dst, src []byte, how byte, s **huff0.Scratch) ([]byte, error) {
	switch {
	case how == planeRaw && len(src) == len(dst):
		return src, nil
	case how == planeSame && len(src) == 1:
		for i := range dst {
			dst[i] = src[0]
		}
		return dst, nil
	case how == planeHuff:
		var err error
		if *s, src, err = huff0.ReadTable(src, *s); err != nil {
			return nil, err
		}
		out, err := (*s).Decoder().Decompress4X(dst[:0:len(dst)], src)
		if err == nil && len(out) != len(dst) {
			err = errors.New("they are too few")
		}
		return out, err
	}
	return nil, errors.New("unknown form or length")
}

// splitPlanes splits 16-bit numbers into their planes, eight at a time.
func splitPlanes(exps, rest, data []byte) {
	for len(exps) >= 8 && len(rest) >= 8 && len(data) >= 16 {
		v, w := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		e := uint64(narrow(v>>7&lowBytes)) | uint64(narrow(w>>7&lowBytes))<<32
		r := uint64(narrow(v&mantissas|v>>8&signs)) | uint64(narrow(w&mantissas|w>>8&signs))<<32
		binary.LittleEndian.PutUint64(exps, e)
		binary.LittleEndian.PutUint64(rest, r)
		exps, rest, data = exps[8:], rest[8:], data[16:]
	}
	for i := range exps {
		v := binary.LittleEndian.Uint16(data[2*i:])
		exps[i], rest[i] = byte(v>>7), byte(v&0x7f|v>>8&0x80)
	}
}

// joinPlanes is the inverse of splitPlanes.
func joinPlanes(data, exps, rest []byte) {
	for len(exps) >= 8 && len(rest) >= 8 && len(data) >= 16 {
		e, r := binary.LittleEndian.Uint64(exps), binary.LittleEndian.Uint64(rest)
		v, w := wide(uint32(r)), wide(uint32(r>>32))
		binary.LittleEndian.PutUint64(data, wide(uint32(e))<<7|v&mantissas|v&signs<<8)
		binary.LittleEndian.PutUint64(data[8:], wide(uint32(e>>32))<<7|w&mantissas|w&signs<<8)
		exps, rest, data = exps[8:], rest[8:], data[16:]
	}
	for i := range exps {
		r := uint16(rest[i])
		binary.LittleEndian.PutUint16(data[2*i:], uint16(exps[i])<<7|r&0x7f|r&0x80<<8)
	}
}

// Masks for four lanes of 16 bits.
const (
	lowBytes  = 0x00ff00ff00ff00ff
	mantissas = 0x007f007f007f007f
	signs     = 0x0080008000800080
)

// narrow keeps the low byte of each of four lanes of 16 bits.
func narrow(v uint64) uint32 {
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16)
}

// wide is the inverse of narrow.
func wide(b uint32) uint64 {
	v := (uint64(b) | uint64(b)<<16) & 0x0000ffff0000ffff
	return (v | v<<8) & 0x00ff00ff00ff00ff
}
