package blob

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// weights16 are n bfloat16 numbers as trained weights are distributed: normal,
// with a scale for each row.
func weights16(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 2*n)
	scale := 0.0
	for i := range n {
		if i%4096 == 0 {
			scale = 0.02 * math.Exp(0.3*rng.NormFloat64())
		}
		v := math.Float32bits(float32(rng.NormFloat64() * scale))
		binary.LittleEndian.PutUint16(b[2*i:], uint16(v>>16))
	}
	return b
}

func TestPlaneHuff(t *testing.T) {
	same := bytes.Repeat([]byte{0x80, 0x3f}, 1000)
	noise := make([]byte, 3*planeBlock)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	for name, c := range map[string]struct {
		data  []byte
		ratio float64 // at least
	}{
		"weights": {weights16(200_001), 1.45}, "one": {[]byte{1}, .1}, "two": {[]byte{1, 2}, .1}, "three": {[]byte{1, 2, 3}, .1},
		"same": {same, 1.9}, "noise": {noise, .99}, "a block": {weights16(planeBlock), 1.45}, "a block and one": {weights16(planeBlock + 1), 1.45},
	} {
		content, err := Encode(PlaneHuff, c.data)
		must(t, err)
		got, err := Decode(PlaneHuff, content, uint64(len(c.data)))
		if err != nil || !bytes.Equal(got, c.data) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(c.data), err)
		}
		if ratio := float64(len(c.data)) / float64(len(content)); ratio < c.ratio {
			t.Errorf("%s: ratio %.3f, want %.3f", name, ratio, c.ratio)
		}
		for _, n := range []int{0, len(content) / 2, len(content) - 1} {
			if _, err := Decode(PlaneHuff, content[:n], uint64(len(c.data))); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s cut to %d: %v", name, n, err)
			}
		}
		if _, err := Decode(PlaneHuff, append(content, 0), uint64(len(c.data))); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s and a byte more: %v", name, err)
		}
	}
	for v := range 1 << 16 { // every number, eight at a time and alone
		in := binary.LittleEndian.AppendUint16(nil, uint16(v))
		in = append(in, bytes.Repeat(in, 8)...)
		e, r, out := make([]byte, 9), make([]byte, 9), make([]byte, 18)
		splitPlanes(e, r, in)
		if joinPlanes(out, e, r); !bytes.Equal(out, in) || !bytes.Equal(e, bytes.Repeat([]byte{byte(v >> 7)}, 9)) {
			t.Fatalf("%04x becomes %x", v, out)
		}
	}
}

// A size claimed by a description allocates no memory before the bytes are read.
func TestClaims(t *testing.T) {
	const huge = math.MaxUint64
	for _, c := range Codecs {
		content, err := Encode(c, make([]byte, 10_000))
		must(t, err)
		for _, size := range []uint64{0, 1, 9_999, 10_001, 1 << 50, huge} {
			if _, err := Decode(c, content, size); !errors.Is(err, ErrInvalid) {
				t.Errorf("%v as %d bytes: %v", c, size, err)
			}
		}
	}
	if _, err := Decode(Codec(77), nil, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unknown codec: %v", err)
	}
	if _, err := Encode(Codec(77), nil); err == nil {
		t.Error("encoded with an unknown codec")
	}
	sparse := make([]byte, 10<<20)
	content, err := Encode(Zstd, sparse)
	must(t, err)
	if got, err := Decode(Zstd, content, uint64(len(sparse))); err != nil || !bytes.Equal(got, sparse) || len(content)*likelyRatio > len(sparse) {
		t.Errorf("%d bytes became %d, %v", len(content), len(got), err)
	}
}

func TestChoose(t *testing.T) {
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	for _, c := range []struct {
		name  string
		data  []byte
		codec Codec
		rates Rates
		want  Codec
		why   string
	}{
		{"slow disk", weights16(1 << 20), PlaneHuff, Rates{CoresFree: 2, ReadBytes: 0.4e9}, PlaneHuff, "2.0 free cores decode 1760 MB/s, the disk reads 400 MB/s"},
		{"fast disk", weights16(1 << 20), PlaneHuff, Rates{CoresFree: 2, ReadBytes: 2e9}, None, "2.0 free cores decode 1760 MB/s of PlaneHuff and the disk reads 2000 MB/s"},
		{"busy cores", weights16(1 << 20), PlaneHuff, Rates{ReadBytes: 0.4e9}, None, "0.0 free cores"},
		{"own rate", weights16(1 << 20), PlaneHuff, Rates{CoresFree: 1, ReadBytes: 2e9, DecodeBytes: [5]float64{PlaneHuff: 3e9}}, PlaneHuff, "3000 MB/s"},
		{"noise", noise, PlaneHuff, Rates{CoresFree: 8, ReadBytes: 1e9}, None, "times smaller with PlaneHuff, want 1.10"},
		{"zeros", make([]byte, 1<<20), Zstd, Rates{CoresFree: 8, ReadBytes: 1e9}, Zstd, "times smaller"},
		{"nothing", nil, PlaneHuff, Rates{CoresFree: 8, ReadBytes: 1e9}, None, "0.00 times"},
	} {
		got, err := Choose(c.data, c.codec, c.rates)
		if err != nil || got.Codec != c.want || !strings.Contains(got.Reason, c.why) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func BenchmarkCodecs(b *testing.B) {
	data := weights16(8 << 20)
	for _, c := range []Codec{Zstd, PlaneHuff} {
		content, err := Encode(c, data)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+c.String(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Encode(c, data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("decode/"+c.String(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportMetric(float64(len(data))/float64(len(content)), "ratio")
			for b.Loop() {
				if _, err := Decode(c, content, uint64(len(data))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
