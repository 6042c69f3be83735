package blob

import "time"

// DecodeRate measures how many decoded bytes a second one core makes of data
// like the sample. It takes some milliseconds.
func DecodeRate(c Codec, sample []byte) (float64, error) {
	content, err := Encode(c, sample)
	if err != nil || len(sample) == 0 {
		return 0, err
	}
	var d Decoder
	defer d.Close()
	dst := make([]byte, len(sample))
	if err := d.Decode(c, dst, content); err != nil { // brings the scratch
		return 0, err
	}
	best := time.Duration(0)
	for begun := time.Now(); time.Since(begun) < 5*time.Millisecond || best == 0; {
		start := time.Now()
		if err := d.Decode(c, dst, content); err != nil {
			return 0, err
		}
		if took := max(1, time.Since(start)); best == 0 || took < best {
			best = took
		}
	}
	return float64(len(sample)) / best.Seconds(), nil
}
