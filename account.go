package atenia

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"atenia/internal/engine"
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/pack"
	"atenia/internal/policy/observe"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/place"
)

// account writes the account of a run that computed something. The scheduler
// has stopped, and the weights are still there.
func (m *Model) account() error {
	if m.accounts == "" {
		return nil
	}
	defer m.mark.leave()
	if t := m.observer.Tally(); t.Prompt.Steps+t.Decode.Steps == 0 {
		return nil
	}
	if err := saveRun(m.lastRun(), m.accounts, m.Path()); err != nil {
		return fmt.Errorf("account of the run: %w", err)
	}
	m.mark.sweep()
	m.mark.drop()
	return nil
}

// here returns the folder that relative paths are of, "" if that is not known.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// lastRun composes the account from what each part knows.
func (m *Model) lastRun() *place.LastRun {
	p, t := m.plan.compiled, m.observer.Tally()
	id, _ := m.plan.ID() // a plan that runs has one
	r := &place.LastRun{
		Version: accountVersion, Model: engine.Display(m.Path()), ID: id, Family: m.Family(), Started: t.Started.Unix(), Opened: m.mark.opened,
		Threads: p.Config.Threads, Context: p.Context(), Form: m.engine.Form(), Files: p.Config.FileFlags(m.opened.ConfigFile), Flags: m.runFlags(), Folder: here(), Packing: m.engine.Packing().String(), Budget: p.Config.Budget.String(),
		Failed: t.Failed, Changes: []place.RunChange{}, Pressure: []place.RunEvent{},
	}
	totals := func(s observe.Steps) place.StepTotals {
		return place.StepTotals{Steps: s.Steps, Tokens: s.Rows, Seconds: s.Took.Seconds(), Slowest: s.Slowest.Seconds(), At: s.At}
	}
	r.Prompt, r.Decode = totals(t.Prompt), totals(t.Decode)
	r.Drafts = place.RunDrafts{Model: m.opened.Draft, Drafted: t.Drafted, Accepted: t.Accepted, Seconds: t.Drafting.Seconds()}
	events(r, t)
	m.groups(r)
	m.ruled(r)
	r.Predicted = predicted(t)
	m.learned(r)
	m.cost(t, r)
	r.Judge(place.RunRoofs{})
	return r
}

// asPredicted is the part of a run, both of its steps and of their time, for which weights
// must have been where a prediction has them: of the rest the mean is off by little then.
const asPredicted = 0.9

// predicted returns what was predicted of a step that decodes; 0 = nothing was, rates were
// assumed, or weights moved, and it is of another placement than the steps were. That of
// where they moved to is not told: it was made without measuring anything.
func predicted(t *observe.Tally) float64 {
	pl, all, so := t.Opened, &t.Decode, &t.AsOpened
	if pl == nil || pl.Guessed() || float64(so.Steps) < asPredicted*float64(all.Steps) || float64(so.Took) < asPredicted*float64(all.Took) {
		return 0
	}
	return pl.Decode.At(float64(t.Past) / float64(max(1, t.Sequences)))
}

// events tells what memory pressure changed.
func events(r *place.LastRun, t *observe.Tally) {
	r.More = t.More
	for _, e := range t.Events {
		parts, bytes := e.Moved()
		x := place.RunEvent{
			Step: e.Step, At: e.At.Seconds(), What: e.Kind, Limit: e.Limit, Need: e.Need, Moves: parts, Bytes: bytes,
			Took: e.Took.Seconds(), Form: e.Form, Text: e.Why,
		}
		if parts > 0 {
			until := ""
			if e.Until > e.Step {
				until = fmt.Sprintf(", the last at token %d", e.Until)
			}
			x.Text = fmt.Sprintf("%s of %s, %s first%s, after which weights are %s", spelling.Count(parts, "part"), spelling.Size(bytes), e.First, until, e.Form)
		}
		r.Pressure = append(r.Pressure, x)
	}
}

// ruled tells what the rules of placement said, and where kernels ran.
func (m *Model) ruled(r *place.LastRun) {
	bound, routed := m.engine.Ruled()
	r.Rules, r.Kernels = []place.RuleAnswer{}, []place.KernelGroup{}
	for _, b := range bound {
		rule, why := b.Decide()
		r.Rules = append(r.Rules, place.RuleAnswer{To: b.To.Lower(), Device: b.Device, At: b.At.Lower(), Rule: rule, Tensors: b.Tensors, Bytes: int64(b.Bytes), Why: why})
		r.Devices = b.Idle
	}
	for _, k := range routed {
		at := slices.IndexFunc(r.Kernels, func(g place.KernelGroup) bool { return g.Target == k.Target.String() && g.Why == k.Reason })
		if at < 0 {
			at = len(r.Kernels)
			r.Kernels = append(r.Kernels, place.KernelGroup{Target: k.Target.String(), Why: k.Reason})
		}
		r.Kernels[at].Kernels++
	}
}

var layerNumber = regexp.MustCompile(`\.(\d+)\.`)

// groups collects the weights by where they are and by which rule.
func (m *Model) groups(r *place.LastRun) {
	pl := m.engine.Placement()
	if pl == nil {
		rule, why := "no-budget", "no budget was given and nothing asked for a placement"
		if r.Budget != "" {
			rule, why = "mapped", "within the budget of "+r.Budget+" weights are mapped, and none has a place of its own"
		}
		why += "; packing: " + r.Packing
		r.Groups = []place.WeightGroup{{Where: r.Form, Rule: rule, Tensors: len(m.plan.compiled.Model.Weights), Bytes: m.plan.compiled.Totals.Bytes, Why: why}}
		return
	}
	layers := [][]int{}
	for i := range pl.Tensors {
		t := &pl.Tensors[i]
		where := t.Tier.Lower()
		k := slices.IndexFunc(r.Groups, func(g place.WeightGroup) bool { return g.Where == where && g.Rule == string(t.Rule) })
		if k < 0 {
			k = len(r.Groups)
			r.Groups = append(r.Groups, place.WeightGroup{Where: where, Rule: string(t.Rule), Example: t.Name, Why: pl.Decision(i).Reason})
			layers = append(layers, nil)
		}
		g := &r.Groups[k]
		g.Tensors, g.Bytes = g.Tensors+1, g.Bytes+t.Bytes
		if n := layerNumber.FindStringSubmatch(t.Name); n != nil {
			if layer, err := strconv.Atoi(n[1]); err == nil {
				layers[k] = append(layers[k], layer)
			}
		}
	}
	for k := range r.Groups {
		r.Groups[k].Layers = ranges(layers[k])
	}
}

// ranges prints numbers such as "0-5,9".
func ranges(all []int) string {
	slices.Sort(all)
	all = slices.Compact(all)
	var out []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if s := strconv.Itoa(all[i]); j > i {
			out = append(out, s+"-"+strconv.Itoa(all[j]))
		} else {
			out = append(out, s)
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

// learned copies what a learner knows, if there is one.
func (m *Model) learned(r *place.LastRun) {
	s := m.observer.Learner().Summary()
	if s == nil {
		return
	}
	for _, c := range s.Changes {
		r.Changes = append(r.Changes, place.RunChange(c))
	}
	l := &place.RunLearned{
		Peak: s.Peak, Band: s.Band, Ticks: s.Ticks, Recommended: s.Recommended, Because: s.Because, Table: s.Table, Rows: s.Rows, Episodes: s.Episodes,
		PreferGPU: s.PreferGPU, Weights: s.Weights, Knobs: []place.LearnedKnob{},
	}
	for _, k := range s.Knobs {
		x := place.LearnedKnob{Class: k.Class, Knob: k.Name, Option: k.Option}
		for _, a := range k.Arms {
			x.Options = append(x.Options, place.LearnedOption{Option: a.Option, Seconds: a.Seconds, Runs: a.Count})
		}
		l.Knobs = append(l.Knobs, x)
	}
	if s.Spent > 0 {
		l.LostShare = s.Lost / s.Spent
	}
	r.Learned = l
}

// cost measures a run from the totals of its steps.
func (m *Model) cost(t *observe.Tally, r *place.LastRun) {
	c := &r.RunCost
	if t.Threaded > 0 { // what was learned may have let fewer compute than there are
		r.Threads = int(math.Round(t.Threaded.Seconds() / t.Decode.Took.Seconds()))
	}
	p, info := m.plan.compiled, cpu.Detect()
	n := float64(max(1, t.Decode.Steps))
	wall := t.Decode.Took.Seconds() / n
	if streamed := 2*t.Streamed > t.Decode.Took; streamed && r.Form != "streamed" {
		c.Mostly = "streamed"
	} else if !streamed && r.Form == "streamed" && t.Decode.Steps > 0 {
		c.Mostly = "mapped"
	}
	c.Others = t.Taken.Seconds() / n
	if c.Told = t.Delays; t.Offered > 0 {
		c.Neighbours = min(wall*delayed(r, t), t.Taken.Seconds()/n)
	}
	if r.FormMostly() == "streamed" { // a delay may have been counted beside a read
		c.Reading, c.ReadBytes = t.Ring.Busy.Seconds()/n, float64(t.Ring.Read)/n
		c.Waiting = min(wall, max(t.Ring.Stall.Seconds()/n, c.Neighbours))
		c.Computing = wall - c.Waiting
	} else {
		c.Ahead = float64(t.Ring.Read) / n
		c.ReadBytes, c.Again = float64(t.Read)/n, float64(max(0, t.Read-max(0, p.Totals.Bytes-t.Before)))/n
		if t.Offered > 0 && t.Computed > 0 { // threads that wait for pages or for a processor use no time of one
			c.Computing = wall * min(1, float64(t.Computed)/float64(t.Offered))
			c.Waiting = wall - c.Computing
		}
	}
	c.Neighbours = min(c.Waiting, c.Neighbours)
	if t.Threaded > 0 {
		c.FirstUse = wall * min(1, float64(t.Packing)/float64(t.Threaded))
		if t.Computed > 0 { // packing waits for pages, too
			c.FirstUse = min(c.FirstUse, c.Computing)
		}
	}
	c.Faults = float64(t.Faults) / n
	bytes, operations := p.Pass()
	c.AnyBytes = float64(p.AnyPass())
	c.WeightBytes, c.Operations = float64(bytes), float64(operations)*float64(max(t.Decode.Steps, t.Decode.Rows))/n
	if types := p.Totals.Types; len(types) > 0 {
		c.WeightType, c.WeightBits = types[0].DType.String(), float64(types[0].Bytes)/float64(max(1, types[0].Parameters))*8
		c.Integer = types[0].DType.Quantized()
	}
	c.CacheBytes, c.Cores = int64(max(info.L3, info.L2*info.Cores)), cpu.Threads()
	c.Need, c.Room = p.Memory()
	c.KVBytes = p.CacheRead(float64(t.Sequences)/n, float64(t.Past)/n)
	if c.KVBytes > c.WeightBytes/8 {
		c.KVType, c.KVTimes = p.SmallerCache(m.opened.ConfigFile)
	}
	if c.Need > c.Room && r.Form != "streamed" {
		c.Streams = p.StreamFloor()
		if l, ok := p.Lesser(m.opened.ConfigFile, place.Sparing(c.Room)); c.Streams > place.Sparing(c.Room) && ok {
			c.Lesser = newRunLess(l)
		}
	}
	if pl := m.engine.Placement(); pl != nil && r.Form == "streamed" {
		c.Steady = pl.Decode.SSDBytes
		for _, l := range p.Fewer(m.opened.ConfigFile, pl, r.Prompt.Tokens+r.Decode.Tokens, r.Waits()) {
			c.Fewer = append(c.Fewer, *newRunLess(l))
		}
	}
	m.unpacked(r)
}

func newRunLess(l engine.Lesser) *place.RunLess {
	return &place.RunLess{What: l.What, Flags: convertAll(l.Flags, newRunFlag), Type: l.Type, RAM: l.RAM, Read: l.Read}
}

// delayed returns the part of the time in which threads that compute had no processor. Where
// weights are streamed, threads that read are many, and delay one another and those that
// compute: a delay is by others as far as others had the processors. Of a single thread that
// computes it is not known there, since the system does not tell it from those that read.
func delayed(r *place.LastRun, t *observe.Tally) float64 {
	switch {
	case r.FormMostly() != "streamed":
		return float64(t.Delayed) / float64(t.Offered)
	case r.Threads == 1:
		return 0
	}
	// The caller's thread, which changes, is delayed as the pool's are.
	d := float64(t.Workers) * float64(r.Threads) / float64(r.Threads-1)
	return d / float64(t.Offered) * float64(t.Taken) / float64(max(1, t.Taken+t.Computed))
}

// unpacked says what packing would take that was not done, unless it was measured to be
// slower or it has no packed form.
func (m *Model) unpacked(r *place.LastRun) {
	c, d, p := &r.RunCost, m.engine.Packing(), m.plan.compiled
	asked := p.Config.Pack == pack.Off
	if r.Integer { // whose packed form is as fast, by what was measured
		return
	}
	if pl := m.engine.Placement(); asked && pl != nil && pl.Input().RAM > 0 && (r.Form == "mapped" || r.Form == "streamed") && p.PacksHere(pl) {
		c.Pack, c.PackHere = d.Bytes, true
		return
	}
	if r.Form == "streamed" || d.Mode != pack.Off || d.Held > 0 || d.Bytes == 0 || !asked && d.Available-d.Reserve >= d.Bytes {
		return
	}
	c.Pack, c.PackNeed, c.PackAuto = d.Bytes, c.Need+d.Bytes, d.Available-d.Reserve >= d.Bytes
	ram := p.Config.Budget.RAM
	if pl := m.engine.Placement(); pl != nil && ram == 0 { // of the plan file
		ram = pl.Input().RAM
	}
	if ram > 0 {
		if c.PackNeed = p.PackBudget(ram + max(0, d.Bytes+d.Reserve-d.Available)); c.PackNeed == 0 {
			c.Pack = 0
		}
	}
}

func newRunFlag(f engine.Flag) place.RunFlag { return place.RunFlag(f) }

// flags returns the flags of the run that a command which is advised repeats.
func (m *Model) runFlags() []place.RunFlag {
	c := m.opened
	all := convertAll(m.plan.compiled.Config.RunFlags(c.ConfigFile), newRunFlag)
	if b := c.Budget; b.String() != "" {
		text := b.String()
		if b.Auto {
			text = place.WithRAM(text, "auto")
		}
		all = append(all, place.RunFlag{Name: "budget", Value: text})
	}
	switch file := c.Observe.Learning; {
	case file == "":
		all = append(all, place.RunFlag{Name: "learning", Value: "off"})
	case file != filepath.Join(m.accounts, "learning.v1"): // which is where a run learns unless it is told
		all = append(all, place.RunFlag{Name: "learning", Value: file, Path: true})
	}
	return all
}

// ErrNoRun matches the error of [ReadLastRun] for a model without an account.
var ErrNoRun = errors.New("no run is on record")

const (
	accountVersion = 5
	accountFolder  = "runs"
	accountEnding  = ".json"
	newestName     = "newest.json" // the latest run of any model
	mostAccount    = 16 << 20
)

// fullName names a model from any folder.
func fullName(model string) string {
	if model != "" {
		folder, _ := engine.Folder(model)
		if abs, err := filepath.Abs(folder); err == nil {
			return abs
		}
	}
	return engine.Display(model)
}

// accountPath returns the file of a model's account.
func accountPath(dir, model string) string {
	sum := sha256.Sum256([]byte(fullName(model)))
	return filepath.Join(dir, accountFolder, fmt.Sprintf("%x%s", sum[:12], accountEnding))
}

// ReadLastRun reads the account of the last run of a model that wrote one,
// "atenia-story" for the embedded one, or of any model for "". [place.LastRun].Later names a
// run since then that wrote none. Dir is that of [Observation].Account. A model that was
// not run yet is an error that matches [ErrNoRun].
func ReadLastRun(dir, model string) (*place.LastRun, error) {
	path := filepath.Join(dir, accountFolder, newestName)
	if model == engine.Display("") {
		path = accountPath(dir, "")
	} else if model != "" {
		path = accountPath(dir, model)
	}
	later := func(after int64) *place.RunWithout {
		if model == "" {
			return lastWithout(dir, "", after)
		}
		r := lastWithout(dir, markPrefix(path), after)
		if r != nil {
			r.Model = model
		}
		return r
	}
	f, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if r := later(0); r != nil {
			return nil, fmt.Errorf("%s: %w: %s", engine.Display(model), ErrNoRun, r)
		}
		return nil, fmt.Errorf("%s: %w", engine.Display(model), ErrNoRun)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostAccount))
	if err != nil {
		return nil, err
	}
	r := &place.LastRun{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: not the account of a run: %w; run the model again", path, err)
	}
	if r.Version != accountVersion {
		return nil, fmt.Errorf("%s: an account of version %d, this program reads %d; run the model again", path, r.Version, accountVersion)
	}
	r.Later = later(cmp.Or(r.Opened, r.Started*int64(time.Second)))
	r.SeenFrom(here())
	return r, nil
}

// save replaces the account of the model, and that of the newest run, but for those of runs
// that began later and ended before.
func saveRun(r *place.LastRun, dir, model string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, accountFolder), 0o777); err != nil {
		return err
	}
	for _, path := range []string{accountPath(dir, model), filepath.Join(dir, accountFolder, newestName)} {
		var there struct {
			Opened int64 `json:"opened_unix_nano"`
		}
		if b, err := durable.ReadRegular(path, mostAccount); err == nil && json.Unmarshal(b, &there) == nil && there.Opened > r.Opened && r.Opened > 0 {
			continue
		}
		if err := durable.Replace(path, func(w io.Writer) error {
			_, err := w.Write(append(b, '\n'))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// A runMark is a file beside a model's account that is there while a run has not written
// its own. The process has the file's lock, so that a run that was killed is told from one
// that goes on, and each run has a file, so that two at once are. Its name ends with when
// the run began; it holds the model's name.
type runMark struct {
	dir, model string
	opened     int64 // ns since 1970
	release    func() error
}

// markEnding ends the names of marks.
const markEnding = ".open"

// markRun says that a run began. Nothing of a run depends on it: a folder that is full or
// read-only has no mark, and the account, which has no room either, is what is told.
func markRun(dir, model string) *runMark {
	m := &runMark{dir: dir, model: model, opened: time.Now().UnixNano()}
	if dir == "" || os.MkdirAll(filepath.Join(dir, accountFolder), 0o777) != nil {
		return m
	}
	err := os.WriteFile(m.path(), []byte(fullName(model)), 0o666)
	if err == nil {
		m.release, err = durable.Lock(m.path()) // which others have for a moment alone
	}
	if err != nil {
		_ = os.Remove(m.path())
	}
	return m
}

func (m *runMark) path() string { return m.prefix() + strconv.FormatInt(m.opened, 10) + markEnding }

// prefix begins the paths of the model's marks.
func (m *runMark) prefix() string { return markPrefix(accountPath(m.dir, m.model)) }

// markPrefix is prefix by the path of the model's account.
func markPrefix(account string) string { return strings.TrimSuffix(account, accountEnding) + "." }

// leave ends the run without an account: its mark stays, and says so. Those of runs
// before it say no more than it does.
func (m *runMark) leave() {
	if m.release != nil {
		m.sweep()
		_ = m.release()
		m.release = nil
	}
}

// drop removes the mark of a run that is told of otherwise: by its account, or by the
// error of a model that was not opened.
func (m *runMark) drop() {
	if m.release != nil {
		_ = os.Remove(m.path()) // with the lock, which nobody else may have
		_ = m.release()
		m.release = nil
		_ = os.Remove(m.path()) // where what is open cannot be removed
	}
}

// sweep removes what runs of the model left that began before this one and have ended.
func (m *runMark) sweep() {
	for path, at := range marks(m.dir) {
		if at >= m.opened || !strings.HasPrefix(path, m.prefix()) {
			continue
		}
		if held, known := durable.Held(path); known && !held {
			_ = os.Remove(path)
		}
	}
}

// marks returns when the runs began that left no account, by the paths of their marks.
func marks(dir string) map[string]int64 {
	found := map[string]int64{}
	all, _ := os.ReadDir(filepath.Join(dir, accountFolder))
	for _, e := range all {
		name, ok := strings.CutSuffix(e.Name(), markEnding)
		at, err := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
		if ok && err == nil {
			found[filepath.Join(dir, accountFolder, e.Name())] = at
		}
	}
	return found
}

// lastWithout returns the last run of a model, of any for a prefix of all, that began after
// another and left no account, nil if there is none.
func lastWithout(dir, prefix string, after int64) (last *place.RunWithout) {
	latest := after
	for path, at := range marks(dir) {
		held, known := durable.Held(path)
		if !known || at <= latest || !strings.HasPrefix(path, prefix) {
			continue
		}
		b, err := durable.ReadRegular(path, mostMark)
		if err != nil {
			continue // it has ended meanwhile
		}
		last, latest = &place.RunWithout{Model: string(b), Started: at / int64(time.Second), Running: held}, at
	}
	return last
}

// mostMark bounds what is read of a mark: the path of a model.
const mostMark = 1 << 16
