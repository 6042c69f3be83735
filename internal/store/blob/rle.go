package blob

// encodeRLE returns a stream of pairs (count, value). Runs longer than 255 are
// split.
func encodeRLE(data []byte) []byte {
	out := make([]byte, 0, len(data)/16)
	for i := 0; i < len(data); {
		v, n := data[i], 1
		for n < 255 && i+n < len(data) && data[i+n] == v {
			n++
		}
		out = append(out, byte(n), v)
		i += n
	}
	return out
}

func decodeRLE(stream []byte, size uint64) ([]byte, error) {
	if len(stream)%2 != 0 {
		return nil, invalid("Invalid RLE stream: odd length %d", len(stream))
	}
	total := uint64(0)
	for i := 0; i < len(stream); i += 2 {
		if stream[i] == 0 {
			return nil, invalid("Invalid RLE stream: zero count at offset %d", i)
		}
		total += uint64(stream[i])
	}
	if total != size {
		return nil, invalid("Invalid RLE stream: %d bytes, want %d", total, size)
	}
	out := make([]byte, size)
	rest := out
	for i := 0; i < len(stream); i += 2 {
		run := rest[:stream[i]]
		rest = rest[stream[i]:]
		if v := stream[i+1]; v != 0 {
			for j := range run {
				run[j] = v
			}
		}
	}
	return out, nil
}
