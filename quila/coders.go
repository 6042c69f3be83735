package quila

import (
	"context"
	"errors"
	"fmt"
	"time"

	"atenia/flow/media"
	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/sxlm"
)

// A Coding trains the coders of pictures and sounds of a configuration, which is
// stage 0 of the training: they turn a picture, or the spectrum of a sound, into
// codes and back. The data are generated shapes and tones.
type Coding struct {
	Config  config.Config // with two modalities or more; sound needs three
	Steps   int           // 0 = 3000
	Seed    uint64
	Threads int // 0 = the number of processors
	// Log receives lines of progress; nil discards them.
	Log func(format string, args ...any)
}

// A Coded is what a [Coding] made.
type Coded struct {
	Image CoderFigures  `json:"image"`
	Sound *CoderFigures `json:"sound,omitempty"` // nil without sound
	model *boundary.VQGAN
	o     Coding
}

// CoderFigures say how well a coder does on data that it has not seen.
type CoderFigures struct {
	PSNR       float64 `json:"psnr_db"`
	Perplexity float64 `json:"perplexity"`
	Used       int     `json:"codes_used"`
	Dead       float64 `json:"dead_share"` // of codes that nothing in the training data uses
}

// ErrModality is returned when a configuration has no modality to do what was
// asked.
var ErrModality = errors.New("quila: the configuration lacks the modality")

// Run trains. The same options give the same coders, for any number of threads.
func (o Coding) Run(ctx context.Context) (*Coded, error) {
	if o.Config.Modalities < 2 {
		return nil, fmt.Errorf("%w of pictures: %s has text alone; profiles micro, small and 13b have all", ErrModality, o.Config.Name)
	}
	options := boundary.VQGANOptionsOf(&o.Config)
	options.Steps, options.Seed, options.Log = o.Steps, o.Seed, o.Log
	options.Threads = grad.NewThreads(threadsOr(o.Threads))
	defer options.Threads.Close()
	model, report, err := boundary.Train(ctx, options)
	if err != nil {
		return nil, err
	}
	out := &Coded{Image: figures(report.Image), model: model, o: o}
	if model.Sound != nil {
		s := figures(report.Sound)
		out.Sound = &s
	}
	return out, nil
}

func figures(s boundary.Summary) CoderFigures {
	return CoderFigures{s.PSNR, s.Perplexity, s.Used, s.Dead}
}

// Save writes a new network of the configuration with these coders and their
// frozen codebooks.
func (c *Coded) Save(ctx context.Context, path string) error {
	m, err := sxlm.Fresh(c.o.Config, c.o.Seed)
	if err != nil {
		return err
	}
	defer m.Close()
	m.CreatedAt = time.Now().Unix()
	for name, coder := range map[string]*boundary.Coder{"codebook.image": c.model.Image, "codebook.audio": c.model.Sound, "codebook.video": c.model.Video()} {
		if coder == nil || !m.Weights.Has(name) {
			continue
		}
		copy(m.Weights.Of(name), coder.Book.Rows())
	}
	for _, coder := range []*boundary.Coder{c.model.Image, c.model.Sound} {
		if coder == nil {
			continue
		}
		for _, t := range coder.Tensors() {
			m.Other[t.Name] = &sxlm.Tensor{Kind: sxlm.F32, Dims: t.Shape, F32: t.Value}
		}
	}
	_, err = sxlm.Write(ctx, path, m, sxlm.Options{})
	return err
}

// WriteTone writes what the coder of sound makes of a tone that it has not seen
// as a sound file: its codes are decoded to a spectrum, to which phases are found
// by iteration (D. Griffin and J. Lim, 1984).
func (c *Coded) WriteTone(path string, index uint64) error {
	if c.model.Sound == nil {
		return fmt.Errorf("%w of sound: %s has %d", ErrModality, c.o.Config.Name, c.o.Config.Modalities)
	}
	samples, err := c.echo(index)
	if err != nil {
		return err
	}
	f := media.Format{Codec: media.WAV, Rate: boundary.SampleRate, Channels: 1}
	return media.WriteFile(path, f, func(w *media.Writer) error { return media.Write(w, [][]float32{samples}) })
}

// echo encodes a tone and decodes it.
func (c *Coded) echo(index uint64) ([]float32, error) {
	const side = 32
	sound, err := boundary.NewSound()
	if err != nil {
		return nil, err
	}
	tone := make([]float32, boundary.Samples(side))
	boundary.Tone(tone, c.o.Seed+1, index, -1) // training has the seed itself
	picture, codes := make([]float32, side*side), make([]int32, boundary.Codes(side))
	if err := sound.Picture(picture, tone); err != nil {
		return nil, err
	}
	if err := c.model.Sound.Encode(boundary.Encoder, codes, picture, side); err != nil {
		return nil, err
	}
	if err := c.model.Sound.Decode(boundary.Decoder, picture, codes, side); err != nil {
		return nil, err
	}
	return sound.Samples(picture)
}
