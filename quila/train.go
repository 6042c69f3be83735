package quila

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
)

// A Training trains a network on the toy corpus quila-toy-v1, whose entropy is
// known, and says how it does. The zero value with a Config of a profile is the
// recommended recipe.
type Training struct {
	Config config.Config
	Seed   uint64
	Steps  int // 0 is 1000; a step reads Batch × Window codes
	Batch  int // 0 is 16
	Window int // 0 is 48
	Rate   float64
	// StopAt ends the run after so many steps of the schedule; 0 is at its end.
	StopAt int

	// Stages is the last stage of the curriculum to train: b adds a library from
	// the second tenth on, c also makes the network sparse in the last 30 %. Such
	// a run has no checkpoints. Empty is stream training alone, stage a.
	Stages string
	// Distil also distils the consistency model at the end of the first tenth,
	// with so many steps for the teacher and the student each; 0 does not.
	Distil int

	Models  []string // besides the network: gru, gru320, gru+reader, transformer, counts
	Only    bool     // the models alone, without the network
	Threads int      // 0 is the number of processors

	Dir string // where checkpoints and the curve go; none are written if empty
	// Resume continues from Dir, with the seed, the configuration, Batch and Window that
	// the run was begun with; Steps, StopAt and Rate may change. What has no checkpoint
	// there begins anew.
	Resume bool
	Every  int // steps between checkpoints, besides those at marks; 0 is 50

	// Step is called after every step of the network, Mark with every point of a
	// curve, Note with what a user should know. Each may be nil.
	Step func(model string, step, of int, bits, tokensPerSecond float64)
	Mark func(Point)
	Note func(string)
}

// Models are the names that [Training.Models] may have.
func Models() []string { return []string{"gru", "gru320", "gru+reader", "transformer", "counts"} }

// A Point is one evaluation of one model.
type Point struct {
	Model   string             `json:"model"`
	Weights int                `json:"weights"` // that are trained
	Tokens  int                `json:"tokens"`
	Bits    float64            `json:"bits"`  // a character, on the validation text
	Kinds   map[string]float64 `json:"kinds"` // by kind of line
	Whole   bool               `json:"whole"` // of the whole text, not a part of it
	Train   float64            `json:"train,omitempty"`
	Seconds float64            `json:"seconds,omitempty"` // of training
}

// A Trained is what a training came to.
type Trained struct {
	Points []Point `json:"points"`
	// Floor is the entropy of the validation text, which no model can pass.
	Floor   float64 `json:"floor"`
	network *network.Network[float32]
	run     *school.Run // of the network, or nil
	seed    uint64
	stages  *school.Curriculum // or nil
}

// defaults fills in what is zero.
func (o *Training) defaults() {
	or := func(v *int, usual int) {
		if *v == 0 {
			*v = usual
		}
	}
	or(&o.Steps, 1000)
	or(&o.Batch, 16)
	or(&o.Window, 48)
	or(&o.Every, 50)
	o.Threads = threadsOr(o.Threads)
}

// Run trains. Cancelling ctx ends it after a step, with the context's error.
func (o Training) Run(ctx context.Context) (*Trained, error) {
	o.defaults()
	r := school.Recommended(o.Steps)
	r.Batch, r.Window = o.Batch, o.Window
	if o.Rate != 0 {
		r.Rate = o.Rate
	}
	threads := grad.NewThreads(o.Threads)
	defer threads.Close()
	if err := o.Config.Check(); err != nil {
		return nil, err
	}
	release, err := network.Reserve(&o.Config)
	if err != nil {
		return nil, fmt.Errorf("quila: %w", err)
	}
	defer release()
	text, validation := school.ToyTrain(), school.ToyValidation()
	net, err := network.New[float32](o.Config, o.Seed, threads)
	if err != nil {
		return nil, err
	}
	usage := school.Usage(text.Text)
	net.CodeBias(usage[:])
	pupil := school.Network(net)
	var stages *school.Curriculum
	if o.Stages != "" {
		if stages, err = o.staged(net, threads); err != nil {
			return nil, err
		}
		pupil = stages.Pupil()
	}
	pupil.Made = made(&o.Config, o.Seed)
	out := &Trained{Floor: validation.Entropy, network: net, seed: o.Seed, stages: stages}
	var runs []*school.Run
	if !o.Only {
		run, err := school.NewRun(pupil, r, text.Text, threads)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
		out.run = run
	}
	counts := false
	for _, name := range o.Models {
		var p school.Pupil
		var recipe school.Recipe
		switch name {
		case "gru":
			p, recipe = school.GRU(pupil.Size(), 0, o.Config.V, r, o.Seed, threads)
		case "gru320":
			p, recipe = school.GRU(0, 320, o.Config.V, r, o.Seed, threads)
			p.Name = name
		case "gru+reader":
			p, recipe = school.ReadingGRU(320, o.Config, r, o.Seed, threads)
		case "transformer":
			p, recipe = school.Transformer(pupil.Size(), o.Config.V, r, o.Seed, threads)
		case "counts":
			counts = true
			continue
		default:
			return nil, fmt.Errorf("quila: there is no model %q", name)
		}
		p.Made = map[string]string{"seed": pupil.Made["seed"]}
		if name == "gru+reader" {
			p.Made = pupil.Made
		}
		run, err := school.NewRun(p, recipe, text.Text, threads)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if err := o.open(runs, out); err != nil {
		return nil, err
	}
	return out, o.compare(ctx, runs, counts, text.Text, validation.Text, out)
}

// staged is the network with the stages.
func (o *Training) staged(n *network.Network[float32], threads *grad.Threads) (*school.Curriculum, error) {
	if o.Dir != "" {
		return nil, ErrStagesKept
	}
	if o.Stages != "b" && o.Stages != "c" {
		return nil, fmt.Errorf("quila: there is no stage %q to go to; there are b and c", o.Stages)
	}
	c, err := school.NewCurriculum(n, o.Steps)
	if err != nil {
		return nil, err
	}
	c.NoSparse = o.Stages == "b"
	if o.Distil > 0 {
		c.Distil = &network.DistillOptions{TeacherSteps: o.Distil, Steps: o.Distil, Seed: o.Seed, Threads: threads}
	}
	return c, nil
}

// made is what a network is made from, by the names of a configuration.
func made(c *config.Config, seed uint64) map[string]string {
	out := map[string]string{"seed": strconv.FormatUint(seed, 10)}
	v := reflect.ValueOf(c).Elem()
	for f, x := range v.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			out[name] = fmt.Sprint(x)
		}
	}
	return out
}

// ErrStagesKept is the error of a run with stages and a folder: a checkpoint does
// not have the library.
var ErrStagesKept = errors.New("quila: a run with stages cannot be resumed, so it has no folder")

func (o *Training) path(r *school.Run) string {
	return filepath.Join(o.Dir, cmp.Or(r.Pupil.Name, "network")+".checkpoint")
}

// other returns the checkpoint of a network that is not among the runs, "" if the folder
// has none: a run in its place would be another, and not the one that should go on.
func (o *Training) other(runs []*school.Run) string {
	entries, _ := os.ReadDir(o.Dir) // the missing checkpoint says what is wrong
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".checkpoint")
		if ok && !slices.Contains(Models(), name) && !slices.ContainsFunc(runs, func(r *school.Run) bool { return r.Pupil.Name == name }) {
			return e.Name()
		}
	}
	return ""
}

// open makes the folder of a run and continues from its checkpoints.
func (o *Training) open(runs []*school.Run, out *Trained) error {
	if o.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return err
	}
	for _, r := range runs {
		if !o.Resume {
			if _, err := os.Stat(o.path(r)); err == nil {
				return fmt.Errorf("quila: %s: %w: resume the run, or name another folder", o.path(r), fs.ErrExist)
			}
			continue
		}
		err := r.Load(o.path(r))
		if errors.Is(err, fs.ErrNotExist) {
			if other := o.other(runs); other != "" {
				return fmt.Errorf("quila: %s: %w: the folder has %s: resume that, or name another folder", o.path(r), err, other)
			}
			if err = nil; o.Note != nil {
				o.Note(fmt.Sprintf("there is no checkpoint of %s in %s to resume: it begins anew", r.Pupil.Name, o.Dir))
			}
		}
		if err != nil {
			return err
		}
		for _, m := range r.Marks {
			o.emit(point(r, m), out)
		}
	}
	return nil
}

func point(r *school.Run, m school.Mark) Point {
	p := Point{Model: r.Pupil.Name, Weights: r.Pupil.Size(), Tokens: m.Tokens, Bits: m.Score.Bits, Whole: m.Whole, Train: m.Train, Seconds: m.Seconds, Kinds: map[string]float64{}}
	p.kinds(m.Score)
	return p
}

func (p *Point) kinds(s school.Score) {
	for k := range school.KindCount {
		p.Kinds[k.String()] = s.Kinds[k]
	}
}

func (o *Training) emit(p Point, out *Trained) {
	out.Points = append(out.Points, p)
	if o.Mark != nil {
		o.Mark(p)
	}
}

// compare takes all runs to their next points, in turn, until all are done.
func (o *Training) compare(ctx context.Context, runs []*school.Run, counts bool, text, validation []byte, out *Trained) error {
	h := school.Hooks{Every: o.Every}
	if o.Step != nil {
		h.Step = func(r *school.Run, t school.Taken) {
			o.Step(r.Pupil.Name, t.Step, r.Recipe.Steps, t.Bits(), r.Speed())
		}
	}
	if o.Dir != "" {
		h.Saved = func(r *school.Run) error { return r.Save(nil, o.path(r)) }
	}
	stop := o.Steps
	if o.StopAt > 0 {
		stop = min(stop, o.StopAt)
	}
	for going := true; going; {
		going = false
		var tokens int
		for _, r := range runs {
			m, ok, err := r.ToMark(ctx, validation, stop, h)
			if err != nil {
				return err
			}
			if ok {
				going, tokens = true, m.Tokens
				o.emit(point(r, m), out)
			}
		}
		if going && counts {
			p := Point{Model: "counts", Tokens: tokens, Whole: true, Kinds: map[string]float64{}}
			s := school.Counted(text, validation, tokens, o.Config.V)
			p.Bits = s.Bits
			p.kinds(s)
			o.emit(p, out)
		}
		if going && o.Dir != "" {
			if err := out.keep(o.Dir); err != nil {
				return err
			}
		}
	}
	return nil
}
