package blob

import (
	"atenia/internal/golden/await"
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// floats returns n bytes of normally distributed numbers of a width.
func floats(n, width int) []byte {
	r := rand.New(rand.NewPCG(4, uint64(width)))
	var b []byte
	for len(b) < n {
		v := math.Float32bits(float32(r.NormFloat64() / 40))
		for k := 4 - width; k < 4; k++ {
			b = append(b, byte(v>>(8*k)))
		}
	}
	return b[:n]
}

// TestDecoder: a decoder gives what was encoded, for codecs, widths and lengths
// in any order, allocates nothing in the end, and damage is an error.
func TestDecoder(t *testing.T) {
	const most = 1 << 19
	values := map[int][]byte{2: floats(most, 2), 4: floats(most, 4)}
	var d Decoder
	defer d.Close()
	for _, c := range Codecs {
		for width, all := range values {
			for _, n := range []int{0, 1, 7, 4096, 300001, most} {
				data := all[:n]
				content, err := Encode(c, data)
				if err != nil {
					t.Fatal(err)
				}
				dst := make([]byte, n)
				if err := d.Decode(c, dst, content); (err != nil || !bytes.Equal(dst, data)) && n > 0 {
					t.Errorf("%v, %d bytes of width %d: %v", c, n, width, err)
				}
				if n < 4096 || c == None {
					continue
				}
				if a := await.Allocs(5, func() { _ = d.Decode(c, dst, content) }); a > 0 && c >= PlaneHuff && !testing.Short() { // pools forget under the race detector
					t.Errorf("%v: %g allocations", c, a)
				}
				if err := d.Decode(c, dst, content[:len(content)/2]); !errors.Is(err, ErrInvalid) {
					t.Errorf("%v: half of the content: %v", c, err)
				}
			}
		}
	}
}
