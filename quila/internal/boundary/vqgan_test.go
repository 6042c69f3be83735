package boundary

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/quila/config"
)

var small = VQGANOptions{Codes: 8, Dim: 4, Widths: Widths{4, 4, 4}, Steps: 6, Free: 2, Batch: 4, Pictures: 64, CriticFrom: 4, DeadBatches: 2, Sound: true, Align: .1, Seed: 3}

// TestTrain checks that the same options give the same model for any number of
// threads, and that what it makes can be used.
func TestTrain(t *testing.T) {
	model, report, err := Train(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	o := small
	o.Threads = grad.NewThreads(3)
	defer o.Threads.Close()
	again, _, err := Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range model.Sound.Tensors() {
		y := again.Sound.Tensors()[i]
		if !slices.Equal(x.Value, y.Value) || x.Name != y.Name {
			t.Errorf("%s differs with three threads", x.Name)
		}
		if !strings.HasPrefix(x.Name, "vq.audio.") {
			t.Errorf("a tensor's name is %s", x.Name)
		}
	}
	if model.Image.Book.Sum() != again.Image.Book.Sum() || !model.Image.Book.Frozen() {
		t.Error("the codebooks differ, or are not frozen")
	}
	if len(report.Image.Loss) != 6 || report.Sound.MSE <= 0 || math.IsNaN(report.Retrieval) {
		t.Errorf("the report is %+v", report)
	}
	// A picture of another size, and 40 of them.
	pictures, codes := make([]float32, 40*16*16*3), make([]int32, 40*Codes(16))
	for i := range pictures {
		pictures[i] = float32(math.Sin(float64(i)))
	}
	c := model.Image
	if err := c.Encode(Encoder, codes, pictures, 16); err != nil {
		t.Fatal(err)
	}
	one := make([]int32, Codes(16))
	if err := c.Encode(Encoder, one, pictures[39*768:], 16); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, codes[39*4:]) {
		t.Error("a picture has other codes alone than among others")
	}
	if err := c.Decode(Decoder, pictures, codes, 16); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		c.Encode(Encoder, codes, pictures, 12), c.Encode(Encoder, codes[1:], pictures, 16), c.Encode(Encoder, codes, pictures[1:], 16),
		c.Decode(Decoder, pictures, codes, 0), c.Decode(Decoder, pictures[1:], codes, 16), c.Decode(Decoder, pictures, codes, 1<<20),
	} {
		if !errors.Is(err, errVQGANShape) {
			t.Errorf("got %v, want an error about a shape", err)
		}
	}
	codes[3] = 8
	if err := c.Decode(Decoder, pictures, codes, 16); !errors.Is(err, errCode) {
		t.Errorf("an unknown code: %v", err)
	}
	if err := c.Encode(0, codes, pictures, 16); !errors.Is(err, ErrCaller) {
		t.Errorf("an unknown caller: %v", err)
	}
}

// TestOneModality checks that a coder is the same whether the other is trained
// beside it or not, as long as they are not aligned.
func TestOneModality(t *testing.T) {
	o := small
	o.Align = 0
	both, report, err := Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.NoPictures = true
	sound, alone, err := Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if sound.Image != nil || sound.Video() != nil || len(alone.Image.Loss) > 0 {
		t.Error("there is a coder of pictures")
	}
	if sound.Sound.Book.Sum() != both.Sound.Book.Sum() || alone.Sound.MSE != report.Sound.MSE {
		t.Error("the coder of sound is another one")
	}
	o.NoPictures, o.Sound = false, false
	image, alone, err := Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if image.Sound != nil || image.Image.Book.Sum() != both.Image.Book.Sum() || alone.Image.MSE != report.Image.MSE {
		t.Error("the coder of pictures is another one, or there is one of sound")
	}
}

// TestOptions checks the errors of options, and a cancelled run.
func TestOptions(t *testing.T) {
	for i, o := range []VQGANOptions{{Codes: maxRows + 1}, {Dim: -1}, {Steps: -1}, {Batch: 1 << 20}, {Rate: -1}, {EMA: 2}, {Align: 1}, {Align: 1, Sound: true, Batch: 64},
		{Align: 1, Sound: true, Pictures: 10}, {NoPictures: true}, {NoPictures: true, Sound: true, Align: 1}, {Commitment: math.NaN()}, {Widths: Widths{1, 2, -3}, Codes: 2, Dim: 2}} {
		if _, _, err := Train(t.Context(), o); !errors.Is(err, errVQGANShape) {
			t.Errorf("%d: got %v, want an error about a shape", i, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Train(ctx, small); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run returns %v", err)
	}
	c, err := config.Profile("micro")
	if err != nil {
		t.Fatal(err)
	}
	if o := VQGANOptionsOf(&c); o.Codes != c.V || o.Commitment != c.Commitment || !o.Sound {
		t.Errorf("the options of micro are %+v", o)
	}
}

// TestSound checks that a tone comes back from its picture: with the same
// loudest band in every frame, and levels that are about the same.
func TestSound(t *testing.T) {
	s, err := NewSound()
	if err != nil {
		t.Fatal(err)
	}
	const frames = 16
	x, picture := make([]float32, Samples(frames)), make([]float32, frames*bands)
	for _, meaning := range []int{0, 10, 20} {
		Tone(x, 1, 5, meaning)
		if err := s.Picture(picture, x); err != nil {
			t.Fatal(err)
		}
		y, err := s.Samples(picture)
		if err != nil || len(y) != len(x) {
			t.Fatalf("%d samples, %v", len(y), err)
		}
		again := make([]float32, len(picture))
		if err := s.Picture(again, y); err != nil {
			t.Fatal(err)
		}
		var off float64
		for f := 1; f < frames-1; f++ {
			a, b := picture[f*bands:(f+1)*bands], again[f*bands:(f+1)*bands]
			if loudest(a) != loudest(b) {
				t.Errorf("meaning %d, frame %d: band %d is the loudest, was %d", meaning, f, loudest(b), loudest(a))
			}
			off = max(off, math.Abs(float64(a[loudest(a)]-b[loudest(b)])))
		}
		if off > .1 {
			t.Errorf("meaning %d: the loudest bands are off by %.3g", meaning, off)
		}
	}
	if _, err := s.Samples(picture[:5]); !errors.Is(err, errVQGANShape) {
		t.Errorf("a part of a frame: %v", err)
	}
	if err := s.Picture(picture, x[:10]); !errors.Is(err, errVQGANShape) {
		t.Errorf("too few samples: %v", err)
	}
	picture[3] = float32(math.NaN())
	if _, err := s.Samples(picture); !errors.Is(err, errVQGANShape) {
		t.Errorf("a NaN: %v", err)
	}
}

func loudest(x []float32) (at int) {
	for i, v := range x {
		if v > x[at] {
			at = i
		}
	}
	return at
}

// TestGriffinLim checks that the rounds bring spectra nearer to the wanted ones,
// and that those of a real signal are nearly reached.
func TestGriffinLim(t *testing.T) {
	const n, hop, frames = 32, 8, 12
	magnitude := make([][]float64, frames)
	for f := range magnitude {
		magnitude[f] = make([]float64, n/2+1)
		for k := range magnitude[f] {
			magnitude[f][k] = math.Exp(-float64((k-5)*(k-5)) / 4)
		}
	}
	_, e, err := griffinLim(magnitude, n, hop, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(e); i++ {
		if e[i] > e[i-1]*(1+1e-9) {
			t.Errorf("round %d: the error goes from %.4g to %.4g", i, e[i-1], e[i])
		}
	}
	if !(e[31] < .5*e[0]) {
		t.Errorf("the error goes from %.3g to %.3g", e[0], e[31])
	}
	for _, c := range []struct{ n, hop int }{{31, 8}, {0, 8}, {32, 0}, {64, 8}} {
		if _, _, err := griffinLim(magnitude, c.n, c.hop, 1); !errors.Is(err, errVQGANShape) {
			t.Errorf("window %d, hop %d: %v", c.n, c.hop, err)
		}
	}
	if _, _, err := griffinLim(nil, n, hop, 1); !errors.Is(err, errVQGANShape) {
		t.Errorf("no frames: %v", err)
	}
}
