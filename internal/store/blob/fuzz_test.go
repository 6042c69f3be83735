package blob

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzParseHeader(f *testing.F) {
	f.Add("kind=tensor\nlen=3\nchecksum32=1456420779\ncreated_unix=1234\n")
	f.Add("kind=kernelmeta\r\nlen=18446744073709551615\r\nchecksum32=4294967295\r\ncreated_unix=0")
	f.Add("len=01\n\n=\nkind=\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHeader(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if again, err := ParseHeader(h.String()); err != nil || again != h {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func FuzzParseSidecar(f *testing.F) {
	for _, s := range []sidecar{
		{Owner: "tensor:t1:len4", FileBytes: 4, Meta: Meta{Codec: RLE, Hash: Hash{1}, Chunks: []uint32{5}}},
		{Owner: "\n\xff\"é", Kind: KernelMeta, Version: ^uint64(0)},
		{FileBytes: chunkBytes + 1, Meta: Meta{Chunks: []uint32{1, 2}}},
	} {
		f.Add(s.String())
	}
	f.Add("atenia_sum=1\nkind=tensor\nowner=\"\"\nversion=0\ncodec=None\nlen=0\nchecksum32=0\nxxh3=0000000000000000000000000000000000\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSidecar(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if s.String() != text {
			t.Fatalf("%q became %q", text, s.String())
		}
	})
}

// FuzzCodecs encodes and decodes, and decodes arbitrary bytes.
func FuzzCodecs(f *testing.F) {
	f.Add([]byte{}, uint8(0), uint64(0))
	f.Add([]byte{7, 7, 7, 1}, uint8(1), uint64(8))
	f.Add(bytes.Repeat([]byte{1, 0x3f, 2, 0x40}, 100), uint8(3), uint64(400))
	f.Fuzz(func(t *testing.T, data []byte, codec uint8, size uint64) {
		c := Codec(codec % uint8(len(codecNames)))
		content, err := Encode(c, data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(c, content, uint64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%v: %x became %x, %v", c, data, got, err)
		}
		switch got, err = Decode(c, data, size); {
		case err == nil && uint64(len(got)) != size:
			t.Fatalf("%v: %d bytes, want %d", c, len(got), size)
		case err != nil && !errors.Is(err, ErrInvalid):
			t.Fatal(err)
		}
	})
}
