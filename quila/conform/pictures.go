package conform

import (
	"math"
	"slices"

	"atenia/quila/internal/boundary"
	"atenia/quila/internal/weights"
)

// patches cuts pictures into squares that one code stands for.
func patches(pictures [][]float32, channels int) []float32 {
	var out []float32
	for _, p := range pictures {
		for at := range boundary.Codes(boundary.Side) {
			across := boundary.Side / boundary.Stride
			for y := range boundary.Stride {
				i := ((at/across*boundary.Stride+y)*boundary.Side + at%across*boundary.Stride) * channels
				out = append(out, p[i:i+boundary.Stride*channels]...)
			}
		}
	}
	return out
}

// drawn makes n pictures of shapes, or of tones.
func drawn(t *report, seed uint64, n, channels int) [][]float32 {
	sound, err := boundary.NewSound()
	t.Must(err)
	samples := make([]float32, boundary.Samples(boundary.Side))
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, boundary.Side*boundary.Side*channels)
		if channels == 3 {
			boundary.Shape(out[i], seed, uint64(i), -1)
			continue
		}
		boundary.Tone(samples, seed, uint64(i), -1)
		t.Must(sound.Picture(out[i], samples))
	}
	return out
}

// kmeansError is the PSNR of k-means of raw patches, with as many codes.
func kmeansError(t *report, codes, channels int, seed uint64) float64 {
	dim := boundary.Stride * boundary.Stride * channels
	b, err := boundary.NewBook(make([]float32, codes*dim), codes, dim)
	t.Must(err)
	t.Must(boundary.KMeans(b, patches(drawn(t, seed, 1000, channels), channels), 20, weights.Stream{Seed: 1, Site: weights.InitSite}))
	x := patches(drawn(t, seed+1, 256, channels), channels)
	found := make([]int32, len(x)/dim)
	t.Must(b.Nearest(boundary.Encoder, found, x))
	var sum float64
	for i, c := range found {
		for d, v := range b.Row(int(c)) {
			e := float64(v) - float64(x[i*dim+d])
			sum += e * e
		}
	}
	return boundary.PSNR(sum / float64(len(x)))
}

// toyCodes is the size of the codebooks that these rows train.
const toyCodes = 64

// proxies trains coders and compares one of them with k-means of patches.
func proxies(t *report, sound bool) {
	const seed = 11
	o := boundary.VQGANOptions{Codes: toyCodes, Dim: 32, Widths: boundary.Widths{16, 32, 32},
		Steps: 1600, Free: 200, Batch: 8, Rate: 6e-3, DeadBatches: 50, CriticFrom: 1400, Seed: seed, Log: t.Log}
	if sound {
		// One channel needs fewer at full size than three, which pays for more
		// pictures of sound in a step.
		o.Sound, o.NoPictures, o.Widths[0] = true, true, 8
		o.Steps, o.Free, o.Batch, o.CriticFrom = 1800, 100, 16, 1600
	}
	model, report, err := boundary.Train(t.Context(), o)
	t.Must(err)
	c, s := model.Image, &report.Image
	if sound {
		c, s = model.Sound, &report.Sound
	}
	base := kmeansError(t, toyCodes, c.Channels, seed)
	t.Figure("%s: %.2f dB, k-means %.2f dB, perplexity %.1f of %d, dead %.1f %%", c.Name, s.PSNR, base, s.Perplexity, toyCodes, 100*s.Dead)
	if !(s.PSNR >= base+2) {
		t.Errorf("%s: %.2f dB, want at least %.2f, 2 above k-means of patches", c.Name, s.PSNR, base+2)
	}
	if !(s.Perplexity >= .5*float64(s.Used)) {
		t.Errorf("%s: perplexity %.1f of %d codes in use", c.Name, s.Perplexity, s.Used)
	}
	t.Within(c.Name+": share of dead codes", s.Dead, .01)
	if !c.Book.Frozen() {
		t.Errorf("%s: the codebook is not frozen", c.Name)
	}
}

func pictures(t *report) { proxies(t, false) }

func sounds(t *report) { proxies(t, true) }

// learning checks the rules by which a codebook is learned against their
// definitions, and a short training.
func learning(t *report) {
	const n, dim, m, decay, dead = 12, 3, 40, .9, 5
	b, err := boundary.NewBook(single(drawnNormals(n*dim, 500)), n, dim)
	t.Must(err)
	copy(b.Row(n-1), []float32{900, 900, 900}) // nothing is ever near it
	e, err := boundary.NewEMA(b, decay, dead)
	t.Must(err)
	count, sum := make([]float64, n), make([]float64, n*dim)
	for i, v := range b.Rows() {
		count[i/dim], sum[i] = 1, float64(v)
	}
	codes := make([]int32, m)
	revivedAt := 0
	for batch := 1; batch <= 8; batch++ {
		x := single(drawnNormals(m*dim, 500+uint64(batch)))
		t.Must(e.Assign(codes, x))
		t.Must(e.Update(x, codes))
		for c := range n - 1 {
			k, s := 0.0, make([]float64, dim)
			for i, code := range codes {
				if int(code) == c {
					k++
					for d := range dim {
						s[d] += float64(x[i*dim+d])
					}
				}
			}
			count[c] = decay*count[c] + (1-decay)*k
			for d := range dim {
				sum[c*dim+d] = decay*sum[c*dim+d] + (1-decay)*s[d]
				t.Within("row against its definition", math.Abs(float64(b.Row(c)[d])-sum[c*dim+d]/count[c]), 1e-5)
			}
		}
		if r := e.Revive(x, weights.Stream{Seed: 1, Tick: uint64(batch)}); r > 0 && revivedAt == 0 {
			revivedAt = batch
			found := false
			for i := range m {
				found = found || slices.Equal(x[i*dim:(i+1)*dim], b.Row(n-1))
			}
			if !found {
				t.Errorf("the revived row is none of the batch's vectors")
			}
			break
		}
	}
	if revivedAt != dead {
		t.Errorf("a row that nothing chose is revived after %d batches, want %d", revivedAt, dead)
	}
	o := boundary.VQGANOptions{Codes: 16, Dim: 8, Widths: boundary.Widths{8, 16, 16}, Steps: 60, Free: 20, Batch: 8, Pictures: 128, Rate: 8e-3, CriticFrom: 50, DeadBatches: 10, Seed: 2}
	model, report, err := boundary.Train(t.Context(), o)
	t.Must(err)
	again, _, err := boundary.Train(t.Context(), o)
	t.Must(err)
	if model.Image.Book.Sum() != again.Image.Book.Sum() {
		t.Errorf("the same options give another codebook")
	}
	if model.Video() != model.Image {
		t.Errorf("video has a coder of its own")
	}
	if first, last := report.Image.Loss[0], report.Image.Loss[len(report.Image.Loss)-1]; !(last < .8*first) {
		t.Errorf("the loss goes from %.3f to %.3f", first, last)
	} else {
		t.Figure("rows as defined, revived after %d batches, loss %.2f to %.2f in 60 steps", dead, first, last)
	}
}

func aligned(t *report) {
	_, report, err := boundary.Train(t.Context(), boundary.VQGANOptions{Codes: toyCodes, Dim: 32, Widths: boundary.Widths{16, 32, 32},
		Steps: 400, Free: 60, Batch: 32, Pictures: 3840, Rate: 6e-3, DeadBatches: 50, CriticFrom: -1, Sound: true, Align: 1, Seed: 12, Log: t.Log})
	t.Must(err)
	t.Figure("retrieval@1 %.3f of %d meanings", report.Retrieval, boundary.Pairs)
	if !(report.Retrieval >= .9) {
		t.Errorf("retrieval@1 is %.3f, want at least .9", report.Retrieval)
	}
}
