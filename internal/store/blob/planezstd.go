package blob

// PlaneZstd splits floats of 2 or 4 bytes into planes, one for each byte, and
// compresses these as one Zstandard frame. Without the planes there are hardly
// any repetitions to be found.
//
//	content   width (8 bits), frame
//
// Bytes after the last whole number follow the planes.

// encodePlaneZstd takes the width with which the first block becomes smaller.
func encodePlaneZstd(data []byte) ([]byte, error) {
	best, least := 2, 0
	head := data[:min(len(data), planeBlock)]
	for _, width := range []int{2, 4} {
		b, err := encodeZstd(splitBytes(head, width))
		if err != nil {
			return nil, err
		}
		if least == 0 || len(b) < least {
			best, least = width, len(b)
		}
	}
	b, err := encodeZstd(splitBytes(data, best))
	return append([]byte{byte(best)}, b...), err
}

func decodePlaneZstd(content []byte, size uint64) ([]byte, error) {
	if len(content) == 0 {
		return nil, invalid("Invalid PlaneZstd data: it is empty")
	}
	planes, err := decodeZstd(content[1:], size)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(planes))
	return out, joinBytes(out, planes, int(content[0]))
}

// splitBytes returns the planes of data.
func splitBytes(data []byte, width int) []byte {
	out := make([]byte, len(data))
	n := len(data) / width
	for k := range width {
		for i, p := 0, out[k*n:(k+1)*n]; i < n; i++ {
			p[i] = data[i*width+k]
		}
	}
	copy(out[n*width:], data[n*width:])
	return out
}

// joinBytes is the inverse of splitBytes.
func joinBytes(dst, planes []byte, width int) error {
	n := len(dst) / max(width, 1)
	switch width {
	case 2:
		a, b := planes[:n], planes[n:2*n]
		for i := range n {
			dst[2*i], dst[2*i+1] = a[i], b[i]
		}
	case 4:
		a, b, c, d := planes[:n], planes[n:2*n], planes[2*n:3*n], planes[3*n:4*n]
		for i := range n {
			o := dst[4*i : 4*i+4 : 4*i+4]
			o[0], o[1], o[2], o[3] = a[i], b[i], c[i], d[i]
		}
	default:
		return invalid("Invalid PlaneZstd data: numbers of %d bytes", width)
	}
	copy(dst[n*width:], planes[n*width:])
	return nil
}
