package boundary

import (
	"context"
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// VQGANOptions say what [Train] trains, and how. The zero value is stage 0 of section
// 2.6 for pictures, with the toy shape.
type VQGANOptions struct {
	Codes       int     // rows of a codebook; 0 = 256
	Dim         int     // of a row; 0 = 64
	Widths      Widths  // 0 = 32, 64, 64
	Steps       int     // 0 = 3000
	Free        int     // first steps without a codebook; 0 = a quarter, negative = none
	Batch       int     // pictures of a step; 0 = 16
	Pictures    int     // in the training set; 0 = 4096
	Rate        float64 // learning rate; 0 = 2e-3
	Commitment  float64 // 0 = .25
	EMA         float64 // decay of the codebook's means; 0 = .99
	DeadBatches int     // batches after which a row without vectors is dead; 0 = 200
	CriticFrom  int     // step at which the discriminator joins; 0 = 1000, negative = never
	CriticShare float64 // of the discriminator in the loss; 0 = .02
	Sound       bool    // train a coder of sound too
	NoPictures  bool    // train that of sound alone
	Align       float64 // share of the contrastive loss of pictures and sounds; needs both
	Seed        uint64
	Threads     *grad.Threads // nil: the caller's
	Log         func(format string, args ...any)
}

// VQGANOptionsOf are the options that a configuration has constants for.
func VQGANOptionsOf(c *config.Config) VQGANOptions {
	return VQGANOptions{Codes: c.V, Dim: c.DE, Commitment: c.Commitment, EMA: c.VQEMA, DeadBatches: c.DeadBatches, Sound: c.Modalities > 2}
}

func (o VQGANOptions) defaults() (VQGANOptions, error) {
	if o.Widths == (Widths{}) {
		o.Widths = toyWidths
	}
	for _, p := range []struct {
		what         string
		at           *int
		usual, limit int
	}{{"codes", &o.Codes, 256, maxRows}, {"dimensions", &o.Dim, 64, 4096}, {"steps", &o.Steps, 3000, 1 << 30}, {"batch", &o.Batch, 16, 4096},
		{"pictures", &o.Pictures, 4096, 1 << 24}, {"batches until a row is dead", &o.DeadBatches, 200, 1 << 30}} {
		if *p.at == 0 {
			*p.at = p.usual
		}
		if *p.at < 1 || *p.at > p.limit {
			return o, &vqganShapeError{p.what + ", at most", p.limit, *p.at}
		}
	}
	for _, p := range []struct {
		what         string
		at           *float64
		usual, limit float64
	}{{"rate", &o.Rate, 2e-3, 1}, {"commitment", &o.Commitment, .25, 100}, {"decay", &o.EMA, .99, 1}, {"share of the critic", &o.CriticShare, .02, 100}} {
		if *p.at == 0 {
			*p.at = p.usual
		}
		if !(*p.at > 0 && *p.at <= p.limit) {
			return o, fmt.Errorf("%w: %s is %v, want at most %v", errVQGANShape, p.what, *p.at, p.limit)
		}
	}
	if o.NoPictures && !o.Sound {
		return o, fmt.Errorf("%w: neither pictures nor sound", errVQGANShape)
	}
	if o.Align < 0 || o.Align > 0 && (!o.Sound || o.NoPictures || o.Batch > Pairs || o.Pictures < Pairs) {
		return o, fmt.Errorf("%w: to align needs pictures and sound, a batch of at most %d and at least as many pictures", errVQGANShape, Pairs)
	}
	if o.Free == 0 {
		o.Free = o.Steps / 4
	}
	if o.CriticFrom == 0 {
		o.CriticFrom = 1000
	}
	if o.CriticFrom < 0 {
		o.CriticFrom = math.MaxInt
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o, nil
}

// A VQGAN is the coders of a network's modalities.
type VQGAN struct {
	Image *Coder // nil without pictures
	Sound *Coder // nil without sound
}

// Video returns the coder of video: that of images, frame by frame, whose
// codebook serves for both; nil without pictures.
func (m *VQGAN) Video() *Coder { return m.Image }

// A Summary says how well a coder does on pictures that it has not seen.
type Summary struct {
	Loss       []float64 // mean squared errors of ten parts of the run
	MSE, PSNR  float64   // of −1 to 1; decibels
	Perplexity float64
	Used       int     // codes
	Dead       float64 // share of codes that no picture of the training set uses
	Revived    int     // dead rows while training
	Uniform    Uniformity
}

// A Report is what [Train] measured.
type Report struct {
	Image, Sound Summary
	Retrieval    float64 // share of pictures whose nearest sound means the same; with Align
}

// Train makes the coders of stage 0 and freezes their codebooks. The same options
// give the same model, for any number of threads.
func Train(ctx context.Context, options VQGANOptions) (*VQGAN, Report, error) {
	var report Report
	o, err := options.defaults()
	if err != nil {
		return nil, report, err
	}
	r := &trainer{o: &o, model: &VQGAN{}}
	if !o.NoPictures {
		if r.model.Image, err = newCoder("image", 3, o.Dim, o.Codes, o.Widths, o.Seed); err != nil {
			return nil, report, err
		}
		if err := r.add(r.model.Image, &report.Image); err != nil {
			return nil, report, err
		}
	}
	if o.Sound {
		if r.model.Sound, err = newCoder("audio", 1, o.Dim, o.Codes, o.Widths, o.Seed); err != nil {
			return nil, report, err
		}
		if err := r.add(r.model.Sound, &report.Sound); err != nil {
			return nil, report, err
		}
	}
	for step := range o.Steps {
		if err := r.step(step); err != nil {
			return nil, report, err
		}
		if err := ctx.Err(); err != nil {
			return nil, report, err
		}
	}
	for _, s := range r.sides {
		if err := s.finish(&o); err != nil {
			return nil, report, err
		}
	}
	if o.Align > 0 {
		report.Retrieval, err = r.retrieval()
	}
	return r.model, report, err
}

// A trainer trains one or two coders at once.
type trainer struct {
	o       *VQGANOptions
	model   *VQGAN
	sides   []*side
	tape    *grad.Tape[float32]
	average []float32
	targets []int32
}

// A side is one coder in training.
type side struct {
	c       *Coder
	summary *Summary
	data    [][]float32 // training set
	test    [][]float32
	ema     *EMA
	opt     *grad.Optimizer[float32]
	critic  *critic
	codes   []int32
	batch   []float32
	row     []float32 // rows of the codes, and their distance from the vectors
	drawing []float32
	sum     float64
	n       int

	z, drawn, pooled grad.Ref
}

// testPictures is how many pictures measure a coder.
const testPictures = 256

// add prepares the training of a coder.
func (r *trainer) add(c *Coder, summary *Summary) error {
	o := r.o
	s := &side{c: c, summary: summary, codes: make([]int32, o.Batch*Codes(Side)), batch: make([]float32, o.Batch*Side*Side*c.Channels)}
	var err error
	if s.data, err = corpus(c, o.Seed, o.Pictures, o.Align > 0); err != nil {
		return err
	}
	if s.test, err = corpus(c, o.Seed+1, testPictures, o.Align > 0); err != nil {
		return err
	}
	if s.opt, err = grad.NewOptimizer(grad.AdamW{Beta2: .99}, c.params(), o.Threads); err != nil {
		return err
	}
	if s.ema, err = NewEMA(c.Book, o.EMA, o.DeadBatches); err != nil {
		return err
	}
	s.critic, err = newCritic(c.Channels, o.Rate, weights.Stream{Seed: o.Seed, Neuron: 3 << 16, Site: weights.InitSite}, o.Threads)
	if err != nil {
		return err
	}
	if r.tape == nil {
		r.tape = grad.New(&c.engine.registry, grad.WithThreads(o.Threads))
	}
	r.sides = append(r.sides, s)
	c.engine = r.engine()
	return nil
}

// engine is what all coders record with while they train: a tape has one.
func (r *trainer) engine() *engine[float32] { return r.sides[0].c.engine }

// corpus draws n pictures for a coder. If they are paired, picture i means i
// modulo [Pairs].
func corpus(c *Coder, seed uint64, n int, paired bool) ([][]float32, error) {
	size := Side * Side * c.Channels
	pictures, all := make([][]float32, n), make([]float32, n*size)
	sound, err := NewSound()
	if err != nil {
		return nil, err
	}
	samples := make([]float32, Samples(Side))
	for i := range pictures {
		pictures[i] = all[i*size : (i+1)*size]
		meaning := -1
		if paired {
			meaning = i % Pairs
		}
		if c.Channels == 3 {
			Shape(pictures[i], seed, uint64(i), meaning)
			continue
		}
		Tone(samples, seed, uint64(i), meaning)
		if err := sound.Picture(pictures[i], samples); err != nil {
			return nil, err
		}
	}
	return pictures, nil
}

// choose picks the pictures of a step: of different meanings if they are paired,
// and then of the same meanings for all coders.
func (r *trainer) choose(s *side, step int) {
	o := r.o
	words := weights.Stream{Seed: o.Seed, Neuron: 4 << 16, Tick: uint64(step), Site: weights.InitSite}.Words(o.Batch + 1)
	size := Side * Side * s.c.Channels
	first := weights.Choice(words[o.Batch], Pairs)
	for i := range o.Batch {
		at := weights.Choice(words[i], len(s.data))
		if o.Align > 0 {
			at = weights.Choice(words[i], len(s.data)/Pairs)*Pairs + (first+i)%Pairs
		}
		copy(s.batch[i*size:], s.data[at])
	}
}

// step takes one step of all coders.
func (r *trainer) step(step int) error {
	o, t := r.o, r.tape
	rate := o.Rate * math.Min(1, float64(step+1)/50) * (.05 + .95*(1+math.Cos(math.Pi*float64(step)/float64(o.Steps)))/2)
	if step == max(o.Free, 0) {
		for _, s := range r.sides {
			if err := s.begin(o); err != nil {
				return err
			}
		}
	}
	t.Reset()
	var losses []grad.Ref
	for _, s := range r.sides {
		r.choose(s, step)
		l, err := r.record(s, step)
		if err != nil {
			return err
		}
		losses = append(losses, l)
	}
	if o.Align > 0 {
		losses = append(losses, t.Scale(r.contrast(), float32(o.Align)))
	}
	loss := losses[0]
	for _, l := range losses[1:] {
		loss = t.Add(loss, l)
	}
	if err := t.Backward(loss); err != nil {
		return err
	}
	for _, s := range r.sides {
		norm := 0.0
		for _, p := range s.c.params() {
			for _, g := range p.Grad {
				norm += float64(g) * float64(g)
			}
		}
		s.opt.Step(rate, grad.ClipFactor(math.Sqrt(norm), 1))
		if step >= o.Free {
			if err := s.ema.Update(t.Value(s.z), s.codes); err != nil {
				return err
			}
			s.summary.Revived += s.ema.Revive(t.Value(s.z), weights.Stream{Seed: o.Seed, Tick: uint64(step), Site: weights.Growth})
		}
	}
	if step >= o.CriticFrom {
		for _, s := range r.sides { // before the tape is used again
			s.drawing = append(s.drawing[:0], t.Value(s.drawn)...)
		}
		for _, s := range r.sides {
			if err := s.critic.learn(t, r.engine(), s.batch, s.drawing, o.Batch, Side, s.c.Channels, rate); err != nil {
				return err
			}
		}
	}
	return nil
}
