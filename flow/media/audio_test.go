package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// formats are all that can be written.
var formats = []Format{
	{WAV, 48000, 1, 8, false}, {WAV, 44100, 2, 16, false}, {WAV, 96000, 3, 24, false}, {WAV, 1, 2, 32, false},
	{WAV, 16000, 1, 32, true}, {WAV, 192000, 7, 64, true},
	{FLAC, 24000, 1, 8, false}, {FLAC, 44100, 2, 16, false}, {FLAC, 48000, 2, 24, false}, {FLAC, 11025, 8, 16, false},
}

// integers returns samples that a format represents exactly: extremes, silence,
// noise and a sine, relative to full scale.
func integers(f Format, frames int, r *rand.Rand) [][]float64 {
	x := make([][]float64, f.Channels)
	bits := f.Bits
	if f.Float {
		bits = 24
	}
	full := float64(int64(1) << (bits - 1))
	for c := range x {
		x[c] = make([]float64, frames)
		for i := range x[c] {
			v := 0.0
			switch {
			case i < 4:
				v = []float64{-full, full - 1, 0, -1}[i]
			case i < frames/3:
				v = math.Round(math.Sin(float64(i)*0.05+float64(c)) * full * 0.7)
			case i < frames/2:
				v = math.Floor(r.Float64()*2*full) - full
			}
			x[c][i] = v / full
		}
	}
	return x
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		for _, frames := range []int{0, 1, 5, 4096, 9001} {
			t.Run(fmt.Sprintf("%v/%d", f, frames), func(t *testing.T) {
				t.Parallel()
				want := integers(f, frames, rand.New(rand.NewPCG(1, uint64(frames))))
				path := filepath.Join(t.TempDir(), "x")
				err := WriteFile(path, f, func(w *Writer) error {
					part := make([][]float64, f.Channels)
					for at, step := 0, 1; at < frames; at, step = at+step, step*3 { // in pieces
						for c := range part {
							part[c] = want[c][at:min(at+step, frames)]
						}
						if err := Write(w, part); err != nil {
							return err
						}
					}
					if w.Clipped() != 0 {
						t.Errorf("%d clipped", w.Clipped())
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				r, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if r.Format != f || r.Frames != int64(frames) || r.Sized != (frames > 0 || f.Codec == WAV) {
					t.Errorf("got %v, %d frames (%v)", r.Format, r.Frames, r.Sized)
				}
				got, _, err := ReadFile[float64](path)
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, want)
			})
		}
	}
}

// same compares samples bit by bit.
func same[F Float](t *testing.T, got, want [][]F) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d channels, want %d", len(got), len(want))
	}
	for c := range want {
		if len(got[c]) != len(want[c]) {
			t.Fatalf("channel %d: %d frames, want %d", c, len(got[c]), len(want[c]))
		}
		for i := range want[c] {
			if got[c][i] != want[c][i] {
				t.Fatalf("channel %d frame %d: %v, want %v", c, i, got[c][i], want[c][i])
			}
		}
	}
}

// TestStream reads a file written to a pipe, whose header has no length.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		want := integers(f, 5000, rand.New(rand.NewPCG(2, 0)))
		pr, pw := io.Pipe()
		go func() {
			w, err := NewWriter(pw, f)
			if err == nil {
				err = errors.Join(Write(w, want), w.Close())
			}
			pw.CloseWithError(err)
		}()
		r, err := NewStream(pr)
		if err != nil {
			t.Fatal(f, err)
		}
		if r.Sized {
			t.Errorf("%v: %d frames of a stream", f, r.Frames)
		}
		got := make([][]float32, f.Channels)
		for c := range got {
			got[c] = make([]float32, 6000)
		}
		n, err := Read(r, got)
		if n != 5000 || err != io.EOF {
			t.Fatalf("%v: %d frames, %v", f, n, err)
		}
		for c := range got {
			for i, v := range want[c] {
				if got[c][i] != float32(v) {
					t.Fatalf("%v: channel %d frame %d: %v, want %v", f, c, i, got[c][i], float32(v))
				}
			}
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := NewWriter(&b, Format{Rate: 8000, Channels: 1})
	if err != nil {
		t.Fatal(err)
	}
	x := [][]float32{{1, -1, 1.5, -2, float32(math.NaN()), float32(math.Inf(-1)), 0.5 / 32768, 1.5 / 32768}}
	if err := Write(w, x); err != nil {
		t.Fatal(err)
	}
	if w.Clipped() != 5 {
		t.Errorf("%d clipped, want 5", w.Clipped())
	}
	got := b.Bytes()[b.Len()-16:]
	want := []int16{32767, -32768, 32767, -32768, 0, -32768, 0, 2}
	for i, v := range want {
		if g := int16(binary.LittleEndian.Uint16(got[2*i:])); g != v {
			t.Errorf("sample %d of %v: %d, want %d", i, x[0][i], g, v)
		}
	}
}

// chunk makes a chunk, padded.
func chunk(id string, body ...byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// pcm is the chunk "fmt " of one channel of 16 bits.
func pcm() []byte { return chunk("fmt ", 1, 0, 1, 0, 0x80, 0xbb, 0, 0, 0, 0x77, 1, 0, 2, 0, 16, 0) }

func riff(mark string, size uint32, chunks ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(mark), size)
	return append(append(b, "WAVE"...), bytes.Join(chunks, nil)...)
}

// TestChunks reads the chunks that other programs write.
func TestChunks(t *testing.T) {
	t.Parallel()
	size := func(id string, n uint32, body ...byte) []byte {
		b := chunk(id, body...)
		binary.LittleEndian.PutUint32(b[4:], n)
		return b
	}
	ds64 := func(n byte, table ...byte) []byte {
		b := make([]byte, 28)
		b[8], b[24] = n, byte(len(table)/12)
		return chunk("ds64", append(b, table...)...)
	}
	const open = 1<<32 - 1
	samples := []byte{0, 64, 0, 192}
	data := chunk("data", samples...)
	big := append([]byte("note"), 3, 0, 0, 0, 0, 0, 0, 0)
	for name, b := range map[string][]byte{
		"odd chunks":    riff("RIFF", 0, chunk("LIST", 1, 2, 3), pcm(), chunk("fact", 9, 9, 9, 9), chunk("junk", 1), data, chunk("id3 ", 1)),
		"no pad at end": append(riff("RIFF", 40, pcm(), data), 0),
		"streamed":      riff("RIFF", open, pcm(), size("data", open, samples...)),
		"streamed, 0":   riff("RIFF", 0, pcm(), size("data", 0, samples...)),
		"streamed, sox": riff("RIFF", 0x7ffff024, pcm(), size("data", 0x7ffff000, samples...)),
		"odd tail":      riff("RIFF", open, pcm(), append(size("data", open, samples...), 7)),
		"rf64":          riff("RF64", open, ds64(4), pcm(), size("data", open, samples...), chunk("LIST", 1, 2)),
		"bw64, table":   riff("BW64", open, ds64(4, big...), size("note", open, 1, 2, 3), pcm(), size("data", open, samples...)),
		"long fmt":      riff("RIFF", 0, chunk("fmt ", 1, 0, 1, 0, 0x80, 0xbb, 0, 0, 0, 0x77, 1, 0, 2, 0, 16, 0, 0, 0), data),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := NewReader(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			got := [][]float64{make([]float64, 3)}
			if n, err := Read(r, got); n != 2 || err != io.EOF {
				t.Fatal(n, err)
			}
			same(t, [][]float64{got[0][:2]}, [][]float64{{0.5, -0.5}})
		})
	}
}

// TestFaults has files with one fault each; errors have its offset.
func TestFaults(t *testing.T) {
	t.Parallel()
	good := riff("RIFF", 40, pcm(), chunk("data", 0, 64, 0, 192))
	edit := func(at int, b ...byte) []byte {
		g := bytes.Clone(good)
		copy(g[at:], b)
		return g
	}
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "wav: at byte 0: the first four bytes: unexpected EOF", nil},
		{"text", `wav: at byte 0: neither WAV nor FLAC: the file starts with "hell"`, []byte("hello")},
		{"kind", `wav: at byte 8: a RIFF of "AVI ", want "WAVE"`, edit(8, []byte("AVI ")...)},
		{"no data", `wav: at byte 36: header of a chunk, before the chunk "data": unexpected EOF`, good[:36]},
		{"data first", `wav: at byte 12: the chunk "data" comes before "fmt "`, riff("RIFF", 0, chunk("data"))},
		{"short fmt", `wav: at byte 12: a chunk "fmt " of 2 bytes, want 16 or more`, edit(16, 2)},
		{"tag", "wav: at byte 12: format 0x55, want integers (1) or floating point (3): convert the file", edit(20, 0x55)},
		{"channels", "wav: at byte 12: 0 channels at 48000 Hz", edit(22, 0)},
		{"rate", "wav: at byte 12: 1 channels at 0 Hz", edit(24, 0, 0, 0)},
		{"align", "wav: at byte 12: frames of 0 bytes for 1 channels", edit(32, 0)},
		{"bits", "wav: at byte 12: integers of 17 bits in 2 bytes, want 1 to 32 bits", edit(34, 17)},
		{"float", "wav: at byte 12: floating point of 16 bits in 2 bytes, want 32 or 64 bits", edit(20, 3)},
		{"extensible", "wav: at byte 12: an extensible format of 16 bytes whose identifier is no format tag", edit(20, 0xfe, 0xff)},
		{"chunk", `wav: at byte 20: chunk "LIST" of 4294967290 bytes: unexpected EOF`, riff("RIFF", 0, []byte("LIST\xfa\xff\xff\xff"))},
		{"cut", "wav: at byte 46: samples, of which 1 frames are missing: unexpected EOF", good[:46]},
		{"ds64", `wav: at byte 20: a chunk "ds64" of 1 bytes, want 28 or more`, riff("RF64", 0, chunk("ds64", 1))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := readAll(c.file)
			e, ok := errors.AsType[*Error](err)
			if !ok || err.Error() != c.want {
				t.Errorf("got %v (%v), want %s", err, e, c.want)
			}
		})
	}
}

// readAll reads a file in both ways, which must agree.
func readAll(b []byte) error {
	read := func(r *Reader, err error) error {
		if err != nil {
			return err
		}
		dst := make([][]float64, r.Channels)
		for c := range dst {
			dst[c] = make([]float64, 1000)
		}
		for {
			if _, err := Read(r, dst); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	err := read(NewReader(bytes.NewReader(b), int64(len(b))))
	again := read(NewStream(bytes.NewBuffer(b)))
	if fmt.Sprint(err) != fmt.Sprint(again) {
		return fmt.Errorf("a file says %w, a stream %w", err, again)
	}
	return err
}

func TestFormat(t *testing.T) {
	t.Parallel()
	_, err := NewWriter(io.Discard, Format{Codec: FLAC, Channels: 9, Bits: 32, Rate: 1 << 20})
	const want = "audio: 9 channels, want 1 to 8\naudio: a rate of 1048576 Hz, want 1 to 1048575\naudio: integers of 32 bits in flac, want 8, 16, 24 or, in wav, 32"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := (Format{Channels: 1, Rate: 1}).Check(); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]Codec{"a.WAV": WAV, "b.flac": FLAC, "c.rf64": WAV, "d.npy": NPY} {
		if c, ok := CodecOf(path); !ok || c != want {
			t.Errorf("%s: %v", path, c)
		}
	}
	if c, ok := CodecOf("a.mp3"); ok {
		t.Error(c)
	}
	w, err := NewWriter(io.Discard, Format{Rate: 1, Channels: 2})
	if err != nil {
		t.Fatal(err)
	}
	if Write(w, make([][]float32, 1)) == nil || Write(w, [][]float32{{1}, {}}) == nil {
		t.Error("wrong channels are written")
	}
}

// TestBeyond4GiB checks the header of a file of that length.
func TestBeyond4GiB(t *testing.T) {
	t.Parallel()
	s, err := writeWAV(io.Discard, Format{Rate: 48000, Channels: 2, Bits: 24})
	if err != nil {
		t.Fatal(err)
	}
	s.size = 6 * 1_000_000_000
	head := s.header(true)
	r, err := NewReader(bytes.NewReader(head), int64(len(head)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Frames != 1_000_000_000 || !r.Sized || string(head[:4]) != "RF64" || int64(len(head)) != s.start {
		t.Errorf("%d frames, %q", r.Frames, head)
	}
	if _, err := Read(r, [][]float32{make([]float32, 1), make([]float32, 1)}); err == nil || !strings.Contains(err.Error(), "1000000000 frames are missing") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	for _, x := range formats {
		var b bytes.Buffer
		w, err := NewWriter(&b, x)
		if err != nil {
			f.Fatal(err)
		}
		if err := errors.Join(Write(w, integers(x, 40, rand.New(rand.NewPCG(3, 0)))), w.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(riff("RF64", 0, chunk("ds64", make([]byte, 28)...), pcm(), chunk("data", 1, 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(b); err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
		}
	})
}

// FuzzWrite writes samples, reads them back and compares.
func FuzzWrite(f *testing.F) {
	f.Add(byte(7), []byte("a sentence has a spectrum, too"))
	f.Add(byte(8), bytes.Repeat([]byte{255, 0, 128}, 700))
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		x := formats[int(which)%len(formats)]
		x.Float, x.Bits = false, min(x.Bits, 24)
		step := x.Bits / 8
		want := make([][]float64, x.Channels)
		for i := 0; i+step*x.Channels <= len(b); i += step * x.Channels {
			for c := range want {
				var v int32
				for k := range step {
					v = v>>8 | int32(b[i+c*step+k])<<24
				}
				want[c] = append(want[c], float64(v>>(32-8*step))/float64(int64(1)<<(x.Bits-1)))
			}
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, x)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Write(w, want), w.Close()); err != nil || w.Clipped() > 0 {
			t.Fatal(err, w.Clipped())
		}
		r, err := NewStream(&out)
		if err != nil {
			t.Fatal(err)
		}
		got := make([][]float64, x.Channels)
		for c := range got {
			got[c] = make([]float64, len(want[c])+1)
		}
		if n, err := Read(r, got); n != len(want[0]) || err != io.EOF {
			t.Fatal(n, err)
		}
		for c := range got {
			got[c] = got[c][:len(want[c])]
		}
		same(t, got, want)
	})
}

func BenchmarkRead(b *testing.B) {
	for _, f := range []Format{{FLAC, 48000, 2, 16, false}, {WAV, 48000, 2, 16, false}} {
		b.Run(f.Codec.String(), func(b *testing.B) {
			var file bytes.Buffer
			w, err := NewWriter(&file, f)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(Write(w, integers(f, 48000, rand.New(rand.NewPCG(4, 0)))), w.Close()); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(2 * 48000 * 4) // readAll reads it twice
			for b.Loop() {
				if err := readAll(file.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
