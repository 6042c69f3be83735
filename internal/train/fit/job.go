package fit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"atenia/grad"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/store/durable"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/recipe"
)

// Options configure a job beyond its recipe.
type Options struct {
	Resume    bool // continue from the newest snapshot in the folder, if any
	Overwrite bool // discard the run in the folder
	// Begin, if not nil, sets the parameters that a run starts from, in place of
	// those of the recipe.
	Begin func([]*train.Param) error
	// Decisions and Timeline are files to which the placement of backward passes is
	// appended.
	Decisions, Timeline string
	// Started, if not nil, is called before the first step.
	Started func(Subject)
	// Watch, if not nil, is called after every step.
	Watch func(train.Event)
}

// A Subject describes the model and the data of a job.
type Subject struct {
	Architecture string `json:"architecture"`
	Parameters   int    `json:"parameters"` // number of values
	Trained      int    `json:"trained"`    // of these
	Vocabulary   int    `json:"vocabulary"` // tokens
	Documents    int    `json:"documents"`
	Tokens       int64  `json:"tokens"` // of the data
	Heldout      int    `json:"heldout"`
	Threads      int    `json:"threads"`
	Out          string `json:"out"`
	Memory       string `json:"memory,omitempty"`  // what of the run is in memory, if not all is
	Goals        string `json:"goals,omitempty"`   // what an encoder learns
	Warning      string `json:"warning,omitempty"` // about the folder that is trained on
}

// A Report is the result of a job.
type Report struct {
	train.Result
	Out string // the folder
	// Base is the folder of the base model if the result is an adapter, else "".
	Base string
	// Merged is the folder of the merged model, "" if there is none.
	Merged string
	// Metrics holds the lines of the folder's log.
	Metrics []train.Metric
}

// files maps names to contents of a folder's small files.
type files map[string][]byte

// Run executes a job. With train.ErrStopped it also returns a report of the
// progress.
func Run(ctx context.Context, r *recipe.Recipe, o Options) (rep *Report, err error) {
	err = file.Guard(func() (err error) { // files that are mapped, and that another program shortens
		rep, err = run(ctx, r, o)
		return err
	})
	return rep, err
}

func run(ctx context.Context, r *recipe.Recipe, o Options) (rep *Report, err error) {
	if err := folder(r.Model.From); err != nil {
		return nil, err
	}
	out := r.Train.Out
	folders := []string{"snapshots", "state"}
	undo := durable.Undo(out, append(folders, durable.LockFile)...)
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	release, err := durable.LockUntil(ctx, filepath.Join(out, durable.LockFile), func() {
		if o.Watch != nil {
			o.Watch(train.Event{Note: fmt.Sprintf("another process works in %s; waiting for it to end", out)})
		}
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && rep == nil { // nothing was begun
			undo()
		}
		err = errors.Join(err, release())
	}()
	for _, name := range append(folders, ".") {
		durable.RemoveEnded(nil, filepath.Join(out, name), "")
	}
	threads := r.Train.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := grad.NewThreads(threads)
	defer p.Close()

	small, err := tokenizerFiles(ctx, r, o.Resume)
	if err != nil {
		return nil, err
	}
	settings := []byte("{}")
	if r.Model.From != "" { // it may name stop tokens
		if settings, err = durable.ReadRegular(filepath.Join(r.Model.From, "config.json"), text.MostSettings); err != nil {
			return nil, err
		}
	}
	t, err := text.LoadFiles(out, settings, small)
	if err != nil {
		return nil, err
	}
	set, err := data.Open(ctx, dataConfig(r, endOf(r, t), threads), t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	m, b, err := newModel(r, o, t, set, p, threads)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	log, logged, err := record(o.Decisions, o.Timeline)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, logged()) }()
	if c, ok := m.(io.Closer); ok {
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	if o.Begin != nil {
		if err := begin(m.Params(), o.Begin); err != nil {
			return nil, err
		}
	}
	if o.Started != nil {
		sum := set.Summary()
		all, trained := m.Size()
		o.Started(Subject{
			Architecture: architecture(r, m), Parameters: all, Trained: trained, Vocabulary: t.Tokenizer.VocabSize(),
			Documents: sum.Documents, Tokens: sum.Tokens, Heldout: sum.Heldout, Threads: threads, Out: out, Memory: b.Line(), Goals: set.Goals(), Warning: warning(m),
		})
	}
	cfg := config(r, o, p)
	cfg.Log = log
	if cfg.Recipe, err = r.Fixed(); err != nil {
		return nil, err
	}
	cfg.Ready = func() error { return errors.Join(write(out, small), say(out, b.Line())) }
	if a, ok := m.(adapter); ok {
		if cfg.Beside, err = a.MergedBytes(); err != nil {
			return nil, err
		}
	}
	if b.Paging != nil {
		cfg.Paging, cfg.Offload = b.Paging, false
		cfg.BF16 = cfg.BF16 || r.Optimizer.Offload
	}
	res, err := train.Run(ctx, cfg, m, set.Train(), heldout(set))
	if errors.Is(err, train.ErrUnsaved) {
		return nil, rescue(m, small, err)
	}
	if res == nil {
		return nil, err
	}
	rep = &Report{Result: *res, Out: out}
	if a, ok := m.(adapter); ok {
		rep.Base, rep.Merged = a.Base(), a.Merged(out)
	}
	var merr error
	if rep.Metrics, merr = train.ReadMetrics(nil, filepath.Join(out, train.MetricsFile), 0); merr != nil || err != nil {
		return rep, errors.Join(err, merr)
	}
	return rep, finish(ctx, rep, m)
}

// architecture returns that of a new model, or the family of the one that is trained on.
func architecture(r *recipe.Recipe, m model) string {
	if f, ok := m.(interface{ Family() string }); ok && r.Model.From != "" {
		return f.Family()
	}
	return r.Model.Architecture
}

// warning returns what a user should know of the model that is trained on.
func warning(m model) string {
	if w, ok := m.(interface{ Warning() string }); ok {
		return w.Warning()
	}
	return ""
}

// memoryFile holds the line about what of a run is in memory.
const memoryFile = "memory.txt"

// say writes that line to the folder, if there is one.
func say(dir, line string) error {
	if line == "" {
		return nil
	}
	return write(dir, files{memoryFile: []byte(line + "\n")})
}

// An adapter is a model that is written as pairs of another.
type adapter interface {
	Base() string
	Merged(dir string) string
	MergedBytes() (int64, error)
}

// rescue writes the model of a run that cannot be saved to the system's folder for
// temporary files, so that it is not lost with a disk that is full.
func rescue(m model, small files, cause error) error {
	dir, err := durable.Keep("atenia-trained-", func(dir string) error { return errors.Join(write(dir, small), m.Export(nil, dir)) })
	if err != nil {
		return errors.Join(cause, err)
	}
	return fmt.Errorf("%w; the model of this step is in %s: move it", cause, dir)
}

// finish writes the results of a completed run.
func finish(ctx context.Context, rep *Report, m model) error {
	err := m.Export(durable.Until(ctx, nil), rep.Out)
	switch { // the last step has been saved
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("%w while the model was written, which is kept in the snapshots or the state of %s: go on with --resume, which writes it", train.ErrStopped, rep.Out)
	case err != nil:
		return fmt.Errorf("%w; the trained model is kept in the snapshots or the state of %s: make room and go on with --resume, which writes it", err, rep.Out)
	}
	return durable.Replace(filepath.Join(rep.Out, "loss.png"), func(w io.Writer) error { return train.PlotPNG(w, Lines(rep.Metrics)) })
}

// Lines returns the curves of a log: the training loss and the held-out loss.
func Lines(ms []train.Metric) []train.PlotLine {
	trained, held := train.PlotLine{Name: "train"}, train.PlotLine{Name: "held out"}
	for _, m := range ms {
		if !m.Skipped {
			trained.Points = append(trained.Points, train.PlotPoint{X: float64(m.Step), Y: m.Loss})
		}
		if m.Eval != nil {
			held.Points = append(held.Points, train.PlotPoint{X: float64(m.Step), Y: *m.Eval})
		}
	}
	return []train.PlotLine{trained, held}
}

// heldout returns a set's held-out source, or nil.
func heldout(s *data.Set) train.Source {
	if h, ok := s.Heldout(); ok {
		return h
	}
	return nil
}

func dataConfig(r *recipe.Recipe, end string, threads int) data.Config {
	d := r.Data
	return data.Config{
		Files: d.Files, Row: d.Row, Rows: d.Rows, Alone: d.Alone || r.Model.Architecture == train.NestedType, Model: r.Model.From, Threads: threads, Long: data.Long(d.Long), Seed: r.Train.Seed,
		Heldout: d.Heldout, End: end, Everything: d.All, Dir: r.Train.Out,
	}
}

func config(r *recipe.Recipe, o Options, p *grad.Threads) train.Config {
	t := r.Train
	eval, save := t.Every()
	return train.Config{
		Rule: r.Optimizer.Rule(), Rate: r.Optimizer.Rate, Clip: *r.Optimizer.Clip, Offload: r.Optimizer.Offload,
		Schedule: r.Rates(), Steps: t.Steps, Accumulate: t.Accumulate, BF16: t.Precision == "bf16",
		EvalEvery: eval, EvalBatches: t.EvalMost, Patience: t.Patience, MinGain: t.MinGain,
		SnapshotEvery: save, Keep: t.Keep, BadSteps: t.BadSteps,
		Dir: t.Out, Resume: o.Resume, Overwrite: o.Overwrite, Threads: p, Watch: o.Watch,
	}
}

// write writes files to a folder, each atomically.
func write(dir string, fs files) error {
	for _, name := range sorted(fs) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		err := durable.Replace(path, func(w io.Writer) error {
			_, err := w.Write(fs[name])
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// begin sets the parameters that a run starts from, which have to be in memory.
func begin(params []*train.Param, set func([]*train.Param) error) error {
	for _, p := range params {
		if len(p.Value) == 0 {
			return fmt.Errorf("%w: parameters of a checkpoint are read into memory, and the budget leaves %s in files; allow more memory", train.ErrConfig, p.Name)
		}
	}
	return set(params)
}
