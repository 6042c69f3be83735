package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"atenia/grad"
	"atenia/internal/store/durable"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
	"atenia/tensor"
)

// A Result describes a completed run.
type Result struct {
	Steps   int     // including those of earlier processes
	Tokens  int64   // trained on
	Loss    float64 // of the last step
	Skipped int     // steps with NaN or infinite loss or gradients
	// Best is the lowest loss on held-out data; nil without evaluations.
	Best  *float64
	Early bool // stopped because the held-out loss did not improve
	// Written are the bytes of state and parameters that were written to files since
	// the run began, in all processes; 0 if they are in memory.
	Written uint64
}

// A run is the state of training a learner.
type run struct {
	cfg      Config
	learner  Learner
	source   Source
	held     Source   // nil: no evaluations
	params   []*Param // the learner's
	masters  []*Param // the parameters stepped: the same, or float32 copies
	opt      *grad.Optimizer[float32]
	meter    *grad.Norm[float32]
	offload  *offloaded        // nil: the state is in memory
	pager    *offload.Pager    // nil: the parameters are in memory
	resident *offload.Resident // asks where backward passes run whose gradients are in memory; nil: nothing is recorded
	index    map[*Param]int
	paused   interrupted   // step to continue
	moved    int64         // bytes of files that the step has read and written
	waited   time.Duration // for files, in the step
	log      *logFile
	place    place
	saved    int // step of the newest snapshot
	batches  []data.Batch
	heldOver data.Batch
	result   Result
}

// Run trains a learner on source and evaluates it on held, which may be nil. If
// it returns without an error, the learner has the trained parameters, or the
// best ones if early stopping is enabled.
//
// The result depends only on the configuration, the learner and the sources, bit
// for bit, however often the run was killed and resumed. Errors match
// [ErrConfig], [ErrTaken], [ErrResume], [errDiverged], [ErrUnsaved] or [ErrStopped], or
// are those of files.
func Run(ctx context.Context, cfg Config, l Learner, source, held Source) (res *Result, err error) {
	r := &run{cfg: cfg.withDefaults(), learner: l, source: source, held: held}
	if err := r.cfg.check(); err != nil {
		return nil, err
	}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if err := r.recordBackward(); err != nil {
		return nil, err
	}
	defer func() {
		if r.resident != nil {
			err = errors.Join(err, r.resident.Close())
		}
	}()
	if r.log, err = openLog(r.cfg.FS, filepath.Join(r.cfg.Dir, MetricsFile), r.place.Step); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.log.close()) }()
	if r.offload != nil && r.isEvaluated() { // the files do not record whether an evaluation was completed
		if _, _, _, err := r.evaluateAndLog(ctx); r.isAbandoned(ctx, err) {
			return r.stopped(ctx)
		} else if err != nil {
			return nil, err
		}
	}
	for r.place.Step < r.cfg.Steps && !r.isEarly() {
		if ctx.Err() != nil {
			return r.stopped(ctx)
		}
		was, done := r.place, r.committed()
		if err := r.step(ctx); errors.Is(err, errPaused) {
			continue
		} else if r.isAbandoned(ctx, err) {
			if r.committed() == done {
				r.place = was
			}
			return r.stopped(ctx)
		} else if err != nil {
			return nil, err
		}
		if n := r.cfg.SnapshotEvery; n > 0 && r.place.Step%n == 0 {
			if err := r.saveStep(); err != nil {
				return nil, err
			}
		}
	}
	if err := r.saveStep(); err != nil {
		return nil, err
	}
	return r.report(), r.takeBest()
}

// recordBackward makes the record of the backward passes of a run whose gradients are
// in memory. Those of others are recorded where they are moved, by the pager.
func (r *run) recordBackward() (err error) {
	if r.cfg.Log == nil || r.pager != nil {
		return nil
	}
	var layers []offload.Layer
	for _, g := range groups(r.params) {
		layers = append(layers, g.Layer)
	}
	r.resident, err = offload.NewResident(r.cfg.Log, layers)
	return err
}

// stopped saves the run where it is when ctx has ended.
func (r *run) stopped(ctx context.Context) (*Result, error) {
	if err := r.saveStep(); err != nil {
		return nil, err
	}
	return r.report(), fmt.Errorf("%w at step %d of %d: %w", ErrStopped, r.place.Step, r.cfg.Steps, context.Cause(ctx))
}

// committed returns the steps that the files are at.
func (r *run) committed() uint64 {
	if r.offload == nil {
		return 0
	}
	return r.offload.state.Steps()
}

// isAbandoned reports whether err says that ctx ended a pass or a step of a run in files,
// which is repeated when the run goes on. A run in memory completes its step.
func (r *run) isAbandoned(ctx context.Context, err error) bool {
	return r.offload != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// start creates the state, or restores that of an earlier process.
func (r *run) start(ctx context.Context) (err error) {
	if r.params = r.learner.Params(); len(r.params) == 0 {
		return fmt.Errorf("%w: the model has nothing that is trained", ErrConfig)
	}
	r.masters = r.params
	r.meter = grad.NewNorm[float32](r.cfg.Threads)
	r.batches = make([]data.Batch, r.cfg.Accumulate)
	r.place.Rule, r.place.Recipe = fmt.Sprintf("%T", r.cfg.Rule), r.cfg.Recipe
	r.place.Counts = make([]uint64, len(r.params))
	if err := r.cfg.FS.MkdirAll(filepath.Join(r.cfg.Dir, snapshotFolder), 0o777); err != nil {
		return err
	}
	if err := r.isTaken(); err != nil {
		return err
	}
	if err := r.source.Seek(""); err != nil {
		return err
	}
	if r.cfg.Paging != nil {
		return r.openPaged(ctx)
	}
	if r.cfg.Offload {
		r.offload, err = r.openOffload(ctx)
		return err
	}
	if r.cfg.BF16 {
		r.split()
	}
	if r.opt, err = grad.NewOptimizer(r.cfg.Rule, r.masters, r.cfg.Threads); err != nil {
		return err
	}
	if r.cfg.Resume {
		found, err := r.resume()
		if err == nil && found {
			err = r.cfg.Ready()
		}
		if err != nil || found {
			return err
		}
		r.noteAnew()
	}
	if err := r.fits(); err != nil {
		return err
	}
	if err := r.cfg.Ready(); err != nil {
		return err
	}
	r.round()
	return r.removeSnapshots()
}

// noteAnew says that a run which should be resumed begins.
func (r *run) noteAnew() {
	r.cfg.Watch(Event{Note: fmt.Sprintf("there is nothing to resume in %s: the run begins anew", r.cfg.Dir)})
}

// fits returns an error if the disk has no room for the snapshots that are kept, one that
// is being written, and the result.
func (r *run) fits() error {
	snapshot, model := int64(0), int64(0)
	for _, a := range r.arrays() {
		snapshot += 4 * int64(len(a.Values))
	}
	for _, p := range r.params {
		model += 4 * int64(len(p.Value))
	}
	return durable.Fits(r.cfg.FS, r.cfg.Dir, int64(r.cfg.Keep+1)*snapshot+model+r.cfg.Beside)
}

// isTaken returns an error if the directory holds a run that is neither resumed
// nor overwritten.
func (r *run) isTaken() error {
	if r.cfg.Resume || r.cfg.Overwrite {
		return nil
	}
	names, err := r.snapshots()
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%w: %s has %s; resume it, or choose another folder", ErrTaken, r.cfg.Dir, names[0])
	}
	return nil
}

// removeSnapshots removes the snapshots of another run.
func (r *run) removeSnapshots() error {
	names, err := r.snapshots()
	if err != nil {
		return err
	}
	if _, err := r.cfg.FS.Stat(r.path(bestName)); err == nil {
		names = append(names, bestName)
	}
	for _, name := range names {
		if err := r.cfg.FS.Remove(r.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// split makes float32 master copies of the learner's parameters. Both share a
// gradient.
func (r *run) split() {
	r.masters = nil
	for _, p := range r.params {
		m := *p
		m.Value = append([]float32(nil), p.Value...)
		r.masters = append(r.masters, &m)
	}
}

// round sets the learner's parameters to the masters, rounded to bfloat16.
func (r *run) round() {
	if !r.cfg.BF16 || r.offload != nil {
		return
	}
	for i, p := range r.params {
		for k, x := range r.masters[i].Value {
			p.Value[k] = tensor.BF16ToF32(tensor.F32ToBF16(x))
		}
	}
}

// step performs one step: batches, gradients, norm, update, and what is due
// afterwards.
func (r *run) step(ctx context.Context) (err error) {
	began := time.Now()
	counted, tokens := 0, 0
	r.moved, r.waited = 0, 0
	for i := range r.batches {
		if err := r.source.Next(&r.batches[i]); err != nil {
			return err
		}
		counted += r.batches[i].Counted()
		tokens += len(r.batches[i].Tokens)
	}
	loss, norm, err := r.gradients(ctx, counted)
	if err != nil {
		return err
	}
	rate := r.cfg.Rate * r.cfg.Schedule.Share(r.place.Step)
	bad := !isNumber(loss) || !isNumber(norm)
	r.place.Step++
	r.place.Tokens += int64(tokens)
	r.result.Loss = loss
	if bad {
		if err := r.skip(loss, norm); err != nil {
			return err
		}
	} else {
		r.place.Bad = 0
	}
	m := Metric{Step: r.place.Step, Loss: loss, Rate: rate, Norm: norm, Tokens: r.place.Tokens, Skipped: bad}
	if bad {
		m.Loss, m.Norm = 0, 0
	}
	m.Seconds = time.Since(began).Seconds()
	if r.offload != nil { // the update is durable, so its line must be written before
		if err := errors.Join(r.log.add(&m), r.log.sync()); err != nil {
			return err
		}
	}
	if err := r.update(ctx, rate, norm, bad); err != nil {
		return err
	}
	m.Seconds = time.Since(began).Seconds()
	if r.offload == nil {
		if err := r.log.add(&m); err != nil {
			return err
		}
	}
	e := Event{Step: m.Step, Steps: r.cfg.Steps, Loss: loss, Norm: norm, Rate: rate, Tokens: m.Tokens, Seconds: m.Seconds, Skipped: bad, Moved: r.moved, Waited: r.waited.Seconds()}
	if r.isEvaluated() {
		if e.Eval, e.Accuracy, e.Best, err = r.evaluateAndLog(ctx); err != nil {
			return err
		}
	}
	r.cfg.Watch(e)
	return nil
}

// gradients runs the passes of all batches and returns the loss and the norm.
func (r *run) gradients(ctx context.Context, counted int) (loss, norm float64, err error) {
	last := 0
	for i := range r.batches {
		if r.batches[i].Counted() > 0 {
			last = i
		}
	}
	loss = r.paused.Loss
	for i := r.paused.Batches; i < len(r.batches); i++ {
		n := r.batches[i].Counted()
		if n == 0 {
			continue // no counted positions
		}
		if r.pager != nil {
			if i > 0 && ctx.Err() != nil {
				return 0, 0, r.pause(ctx, i, loss)
			}
			r.pager.Expect(ctx, true, i == last)
		} else if r.offload != nil && ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		if r.resident != nil {
			if err := r.resident.Backward(); err != nil {
				return 0, 0, err
			}
		}
		share := float64(n) / float64(counted)
		l, err := r.learner.Backward(&r.batches[i], share)
		if err != nil {
			return 0, 0, err
		}
		loss += share * l
	}
	if r.pager != nil {
		return loss, r.pager.NormOf(r.params), nil
	}
	return loss, r.meter.Of(r.params), nil
}

// isEvaluated reports whether an evaluation follows the current step.
func (r *run) isEvaluated() bool {
	n := r.cfg.EvalEvery
	return r.held != nil && n > 0 && r.place.Step > 0 && (r.place.Step%n == 0 || r.place.Step == r.cfg.Steps)
}

// evaluateAndLog evaluates, compares with the best and logs the result.
func (r *run) evaluateAndLog(ctx context.Context) (loss, accuracy *float64, best bool, err error) {
	l, accuracy, err := r.evaluate(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	if isNumber(l) {
		loss = &l
		if err := r.log.add(&Metric{Step: r.place.Step, Eval: loss, Accuracy: accuracy}); err != nil {
			return nil, nil, false, err
		}
	}
	best, err = r.recordEvaluation(l)
	return loss, accuracy, best, err
}

// skip counts a skipped step, and ends the run after too many in a row.
func (r *run) skip(loss, norm float64) error {
	r.place.Skipped++
	r.place.Bad++
	if r.place.Bad < r.cfg.BadSteps {
		return nil
	}
	return fmt.Errorf("%w: %d steps in a row up to step %d had NaN or infinite loss or gradients (loss %v, norm %v); try a lower learning rate, a longer warm-up or gradient clipping",
		errDiverged, r.place.Bad, r.place.Step, loss, norm)
}

// update steps the parameters that are not held and clears their gradients.
func (r *run) update(ctx context.Context, rate, norm float64, bad bool) error {
	switch scale := grad.ClipFactor(norm, r.cfg.Clip); {
	case bad: // files record the position with their next step
	case r.offload != nil:
		if err := r.stepFiles(ctx, rate, scale); err != nil {
			return err
		}
	default:
		for i, p := range r.params {
			r.masters[i].Hold = p.Hold
		}
		r.opt.Step(rate, scale)
		r.round()
	}
	if r.pager != nil {
		return r.pager.Clear()
	}
	for _, p := range r.params {
		if !p.Hold || bad {
			clear(p.Grad)
		}
	}
	return nil
}

// evaluate returns the mean loss of the first held-out batches, and the share of goals
// that were met, of a learner that has some.
func (r *run) evaluate(ctx context.Context) (loss float64, accuracy *float64, err error) {
	if err := r.held.Seek(""); err != nil {
		return 0, nil, err
	}
	grader, graded := r.learner.(grader)
	sum, counted, met := 0.0, 0, 0
	for range r.cfg.EvalBatches {
		if err := r.held.Next(&r.heldOver); err != nil {
			return 0, nil, err
		}
		n := r.heldOver.Counted()
		if n == 0 {
			continue
		}
		if r.offload != nil && ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		if r.pager != nil {
			r.pager.Expect(ctx, false, false)
		}
		l, err := r.learner.Loss(&r.heldOver)
		if err != nil {
			return 0, nil, err
		}
		if graded {
			var right int
			right, graded = grader.Met()
			met += right
		}
		sum += float64(n) * l
		counted += n
	}
	if counted == 0 {
		return 0, nil, fmt.Errorf("%w: the held-out data has no counted positions", ErrConfig)
	}
	if graded {
		accuracy = new(float64(met) / float64(counted))
	}
	return sum / float64(counted), accuracy, nil
}

// recordEvaluation compares an evaluation with the best so far and, with early stopping,
// saves the parameters of a better one.
func (r *run) recordEvaluation(loss float64) (best bool, err error) {
	if r.place.Best != nil && !(loss < *r.place.Best-r.cfg.MinGain) || !isNumber(loss) {
		r.place.Since++
		return false, nil
	}
	r.place.Best, r.place.Since = &loss, 0
	if r.cfg.Patience > 0 && r.offload == nil {
		return true, r.save(bestName)
	}
	return true, nil
}

func (r *run) isEarly() bool { return r.cfg.Patience > 0 && r.place.Since >= r.cfg.Patience }

// takeBest restores the parameters of the best evaluation. The snapshot keeps
// the state of the last step.
func (r *run) takeBest() error {
	if r.cfg.Patience == 0 || r.place.Best == nil || r.place.Since == 0 || r.offload != nil {
		return nil
	}
	return r.restore(bestName)
}

func (r *run) report() *Result {
	r.result.Steps, r.result.Tokens, r.result.Skipped = r.place.Step, r.place.Tokens, r.place.Skipped
	r.result.Best, r.result.Early = r.place.Best, r.isEarly() && r.place.Step < r.cfg.Steps
	if r.offload != nil && r.offload.state != nil {
		r.result.Written = r.offload.state.WrittenBytes()
	}
	return &r.result
}

// note encodes a place as text.
func (p *place) note() (string, error) {
	b, err := json.Marshal(p)
	return string(b), err
}

func isNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
