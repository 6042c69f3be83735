package blob

import "encoding/binary"

// PlaneZstd splits floats of 2 or 4 bytes into planes, one for each byte, and
// compresses each as a Zstandard frame. Without the planes there are hardly any
// repetitions to be found.
//
//	content   width (8 bits), planes, rest
//	plane     length (32 bits), frame
//
// The rest are bytes after the last whole number.

// encodePlaneZstd takes the width with which the first numbers become smaller.
func encodePlaneZstd(data []byte) ([]byte, error) {
	head := data[:min(len(data), planeBlock)]
	two, err := encodeWidth(head, 2)
	if err != nil {
		return nil, err
	}
	four, err := encodeWidth(head, 4)
	if err != nil {
		return nil, err
	}
	if len(four) < len(two) {
		return encodeWidth(data, 4)
	}
	return encodeWidth(data, 2)
}

func encodeWidth(data []byte, width int) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), byte(width))
	n := len(data) / width
	plane := make([]byte, n)
	for k := range width {
		for i := range plane {
			plane[i] = data[i*width+k]
		}
		frame, err := encodeZstd(plane)
		if err != nil {
			return nil, err
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(frame)))
		out = append(out, frame...)
	}
	return append(out, data[n*width:]...), nil
}

func decodePlaneZstd(content []byte, size uint64) ([]byte, error) {
	if size/likelyRatio/likelyRatio > uint64(len(content)) {
		return nil, invalid("Invalid PlaneZstd data: %d bytes cannot be %d", len(content), size)
	}
	out := make([]byte, size)
	var d Decoder
	defer d.Close()
	return out, d.planeZstd(out, content)
}

// planeZstd decodes PlaneZstd.
func (d *Decoder) planeZstd(dst, content []byte) error {
	if len(content) == 0 || content[0] != 2 && content[0] != 4 {
		return invalid("Invalid PlaneZstd data: want numbers of 2 or 4 bytes")
	}
	width := int(content[0])
	n := len(dst) / width
	if cap(d.plane) < n {
		d.plane = make([]byte, n)
	}
	src := content[1:]
	for k := range width {
		if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
			return invalid("Invalid PlaneZstd data: plane %d is cut", k)
		}
		frame := src[4:][:binary.LittleEndian.Uint32(src)]
		src = src[4+len(frame):]
		plane, err := d.frame(d.plane[:0:n], frame)
		if err != nil || len(plane) != n {
			return invalid("Invalid PlaneZstd data: plane %d has %d bytes, want %d: %v", k, len(plane), n, err)
		}
		for i, b := range plane {
			dst[i*width+k] = b
		}
	}
	if rest := dst[n*width:]; copy(rest, src) != len(rest) || len(src) != len(rest) {
		return invalid("Invalid PlaneZstd data: %d bytes after the planes, want %d", len(src), len(rest))
	}
	return nil
}
