package decide

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"atenia/internal/store/durable"
)

// A picker learns which options of knobs are fastest, in each [Place] by itself,
// and picks them. It is the refined table beside that of [Trainer]: the key has
// the model and the class of work, too. A Picker is not safe for concurrent use.
type picker struct {
	cfg   PickConfig
	path  string
	fs    durable.FS
	cells map[Place]*Pick
	dirty bool
}

// newPicker returns a picker; with a path it starts from that file, and the
// report is that of loading it.
func newPicker(cfg PickConfig, path string, fsys durable.FS) (*picker, Report) {
	p := &picker{cfg: cfg.withDefaults(), path: path, fs: fsys, cells: map[Place]*Pick{}}
	r := Report{Status: StatusMissing}
	if path != "" {
		r = p.load()
	}
	return p, r
}

// A Handle is one place of a picker with the options that it has now.
type Handle struct {
	picker *picker
	pick   *Pick
	late   bool // the latest verdict was a trial
}

// At returns the place with exactly these options; the first is what is used
// until another was measured to be faster. Knowledge of options that are not
// among them is kept in the file, not used.
//
// A place that is used for the first time in this process starts with the
// option that was fastest in earlier ones.
func (p *picker) At(at Place, cfg PickConfig, options []Option) Handle {
	if cfg == (PickConfig{}) {
		cfg = p.cfg
	}
	at.Model, at.Class = clean(at.Model), clean(at.Class)
	old := p.cells[at]
	x := &Pick{Place: at, Config: cfg.withDefaults()}
	for _, o := range options {
		a := Arm{Option: clean(o.Name), Guess: o.Guess}
		if old != nil {
			if i := old.find(a.Option); i >= 0 {
				a = old.Arms[i]
				a.Guess = o.Guess
			}
		}
		x.Arms = append(x.Arms, a)
	}
	if old != nil {
		for _, a := range old.Arms { // the rest of the file's knowledge stays behind the options
			if x.find(a.Option) < 0 && a.Count > 0 {
				x.hidden = append(x.hidden, a)
			}
		}
		x.hidden = append(x.hidden, old.hidden...)
		x.hidden = slices.DeleteFunc(x.hidden, func(a Arm) bool { return x.find(a.Option) >= 0 })
	}
	best := 0
	for i := range x.Arms {
		a := &x.Arms[i]
		if !x.Config.Whole {
			a.Fresh = 0
		}
		if b := &x.Arms[best]; a.Seconds > 0 && a.Count >= x.Config.Burst && b.Seconds > 0 && a.Seconds < b.Seconds*(1-2*x.Config.Margin) {
			best = i
		}
	}
	x.Current = best
	if x.Config.Whole {
		x.resume()
	}
	p.cells[at] = x
	return Handle{picker: p, pick: x}
}

// resume sets the counters of a knob that is set once a run to where earlier
// runs left them.
func (p *Pick) resume() {
	p.Episode = p.Config.Every // counts are halved now and then, ages are not
	for i := range p.Arms {
		p.Episode = max(p.Episode+uint64(p.Arms[i].Count), p.Arms[i].Age)
	}
	for i := range p.Arms {
		if a := &p.Arms[i]; i != p.Current && a.Count > 0 {
			p.LastTrial = max(p.LastTrial, p.Episode-min(a.Age, p.Episode))
		}
	}
}

// clean replaces what would end a field of the file.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ';' || r < ' ' || r == utf8.RuneError {
			return '_'
		}
		return r
	}, strings.TrimSpace(s))
}

// find returns the index of an option, or -1.
func (p *Pick) find(option string) int {
	return slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Option == option })
}

// Pick returns the inputs of the next choice; the picker owns them.
func (h *Handle) Pick() *Pick { return h.pick }

// Follow applies a verdict on [Handle.Pick] and returns the option.
func (h *Handle) Follow(v Verdict) string {
	p := h.pick
	switch {
	case v.Trial && p.Left == 0:
		p.Trying, p.Left = v.Arm, p.Config.Burst
	case v.Rule == ruleFaster:
		p.Current, p.Switched, p.Long = v.Arm, p.Episode, 0
	}
	h.late = v.Trial
	return p.Arms[v.Arm].Option
}

// Observe learns how long an episode with an option took; ok is false if it
// failed, and then its time is not counted.
func (h *Handle) Observe(option string, seconds float64, ok bool) {
	p := h.pick
	i := p.find(option)
	if i < 0 {
		return
	}
	h.picker.dirty = true
	p.Episode++
	for k := range p.Arms {
		if k != i {
			p.Arms[k].Age++
		}
	}
	a := &p.Arms[i]
	a.Count, a.Success = addOne(a.Count, true), addOne(a.Success, ok)
	if a.Count >= forgetAt {
		a.Count, a.Success = a.Count/2, a.Success/2
	}
	if h.late && i == p.Trying && p.Left > 0 {
		if !p.Config.Whole { // such a trial lasts as long as the run
			p.Left--
		}
		if p.Left == 0 {
			p.LastTrial = p.Episode
		}
		if now := p.Arms[p.Current].Seconds; ok && i != p.Current {
			a.Lost += max(0, seconds-now)
		}
	}
	if ok {
		a.measure(seconds, p)
	}
	if i == p.Current && ok {
		if p.Long == 0 || a.Fresh <= p.Config.First {
			p.Long = a.Seconds
		}
		p.Long += longRef * (seconds - p.Long)
	}
	a.Age = 0
}

// measure updates the means. An estimate that is older than a trial is begun
// anew: the machine may have changed since.
func (a *Arm) measure(seconds float64, p *Pick) {
	a.Spent += seconds
	if a.Fresh == 0 || a.Age > p.Config.Every/4 && !p.Config.Whole {
		a.Fresh, a.Seconds = 1, seconds
		return
	}
	a.Fresh = addOne(a.Fresh, true)
	weight := max(refWeight, 1/float64(a.Fresh))
	if a.Seconds > 0 {
		a.Dev += max(devWeight, 1/float64(a.Count)) * (min(math.Abs(seconds-a.Seconds)/a.Seconds, 2) - a.Dev)
	}
	a.Seconds += weight * (seconds - a.Seconds)
}

// Known returns the places with their arms, in the order of the file.
func (p *picker) Known() (out []Pick) {
	for _, x := range p.cells {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Pick) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Knob, b.Knob), cmp.Compare(a.index(), b.index()))
	})
	return out
}

// Dirty reports whether there is something new to save.
func (p *picker) Dirty() bool { return p.dirty }
