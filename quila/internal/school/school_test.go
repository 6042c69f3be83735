package school_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
)

// recipe is a short one.
func recipe(steps int) school.Recipe {
	r := school.Recommended(steps)
	r.Batch, r.Window = 4, 12
	return r
}

// pupils are what tests train, new each time.
func pupils(t testing.TB) map[string]school.Pupil {
	r := recipe(1)
	gru, _ := school.GRU(0, 16, 264, r, 5, nil)
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.Training()
	n, err := network.New[float32](c, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]school.Pupil{"gru": gru, "network": school.Network(n)}
}

// values are the weights of a pupil, one after another.
func values(p school.Pupil) []float32 {
	var out []float32
	for _, w := range p.Params {
		out = append(out, w.Value...)
	}
	for _, x := range p.Extra {
		out = append(out, x...)
	}
	return out
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// childVar names the folder in which the child process of TestKill trains.
const childVar = "ATENIA_QUILA_RUN"

// pupilVar names what it trains.
const pupilVar = "ATENIA_QUILA_PUPIL"

// How long the run of TestKill is, and how often it is killed. Every kill is at
// most killMost signs after a start, so that none comes after the run.
func killPlan() (steps, kills int) {
	if await.Long() {
		return 60, 5
	}
	return 24, 2
}

const killLeast, killMost = 6, 15

// killed trains to the end, from a checkpoint if there is one, and saves one
// every third step. It tells of every step, and of every checkpoint before and
// after it is written.
func killed(t testing.TB, p school.Pupil, dir string, sign func(what string)) {
	killSteps, _ := killPlan()
	text := school.MakeToy(1, 3000).Text
	r, err := school.NewRun(p, recipe(killSteps), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, p.Name+".checkpoint")
	if err := r.Load(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	h := school.Hooks{
		Every: 3,
		Saved: func(r *school.Run) error {
			sign("saving")
			defer sign("saved")
			return r.Save(nil, path)
		},
		Step: func(*school.Run, school.Taken) { sign("step") },
	}
	sign(fmt.Sprintf("from %d", r.Done()))
	for {
		_, ok, err := r.ToMark(t.Context(), school.MakeToy(2, 2000).Text, killSteps, h)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
	}
}

// TestKill: a process that is killed again and again while it trains ends with
// the bits of one that is not. A state that a checkpoint forgets, an optimizer
// that restarts its count or a file that is half written fails.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childVar); dir != "" {
		killed(t, pupils(t)[os.Getenv(pupilVar)], dir, func(what string) {
			fmt.Println(what)
			if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		})
		fmt.Println("done")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 9))
	_, kills := killPlan()
	whole, resumed := pupils(t), pupils(t)
	for name := range whole {
		for kill := range kills {
			signs := killLeast + rng.IntN(killMost-killLeast+1)
			if from := killOne(t, self, dir, name, signs); kill > 0 && from == 0 {
				t.Errorf("a %s began anew after %d kills", name, kill)
			}
		}
		quiet := func(string) {}
		killed(t, resumed[name], dir, quiet)
		killed(t, whole[name], t.TempDir(), quiet)
		if !same(values(resumed[name]), values(whole[name])) {
			t.Errorf("the weights of a %s differ", name)
		}
	}
}

// killOne starts a child and kills it after so many signs. The child needs leave
// for each, and has it for a few more: it goes on while the kill comes, and cannot
// end before. It returns the step at which the child began.
func killOne(t *testing.T, self, dir, name string, signs int) (from int) {
	t.Helper()
	const more = 3
	cmd := exec.Command(self, "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), childVar+"="+dir, pupilVar+"="+name)
	leave, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := leave.Write(make([]byte, signs+more)); err != nil {
		t.Fatal(err)
	}
	lines, text := bufio.NewScanner(out), ""
	for range signs {
		if !lines.Scan() {
			t.Fatalf("the child ended by itself:%s", text)
		}
		_, _ = fmt.Sscanf(lines.Text(), "from %d", &from)
		text += " " + lines.Text()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		text += " " + lines.Text()
	}
	_ = cmd.Wait()
	if strings.Contains(text, "done") || strings.Contains(text, "FAIL") {
		t.Fatalf("the kill was not in the middle of a run:%s", text)
	}
	return from
}

// TestCheckpoint: a checkpoint that is cut, changed, of another recipe or of
// another model is refused, and the run is as it was.
func TestCheckpoint(t *testing.T) {
	text := school.MakeToy(1, 3000).Text
	p := pupils(t)["gru"]
	r, err := school.NewRun(p, recipe(20), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := r.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := r.Save(nil, path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, run *school.Run, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		before := values(run.Pupil)
		if err := run.Load(path); !errors.Is(err, school.ErrCheckpoint) {
			t.Errorf("%s: %v", what, err)
		}
		if !same(before, values(run.Pupil)) {
			t.Errorf("%s: the run has changed", what)
		}
	}
	fresh := func(steps int) *school.Run {
		run, err := school.NewRun(pupils(t)["gru"], recipe(steps), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	for _, at := range []int{0, 9, 40, len(good) / 2, len(good) - 1} {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		refused("changed", fresh(20), bad)
		refused("cut", fresh(20), good[:at])
	}
	short := fresh(2)
	refused("fewer steps than it has", short, good)
	batch := recipe(20)
	batch.Batch++
	otherBatch, err := school.NewRun(pupils(t)["gru"], batch, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused("another batch", otherBatch, good)
	if err := otherBatch.Load(path); err == nil || !strings.Contains(err.Error(), "batch is 5 and was 4") {
		t.Errorf("another batch: %v", err)
	}
	other, err := school.NewRun(pupils(t)["network"], recipe(20), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused("another model", other, good)
	back := fresh(24)
	if err := os.WriteFile(path, good, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := back.Load(path); err != nil || back.Done() != 3 || !same(values(back.Pupil), values(p)) {
		t.Errorf("after loading: step %d, %v", back.Done(), err)
	}
	if g := back.Gate().First; g != 3 { // a tenth of the steps that there are now
		t.Errorf("the gate may open at step %d, want 3", g)
	}
}

// TestOtherRecipe: a run goes on with every value of the recipe and of what its pupil was
// made from, but for its length and its rates; another is refused with both values.
func TestOtherRecipe(t *testing.T) {
	text, path := school.MakeToy(1, 3000).Text, filepath.Join(t.TempDir(), "c")
	made := map[string]string{"seed": "5", "width": "16"}
	run := func(change func(*school.Recipe, map[string]string)) *school.Run {
		r, m := recipe(20), maps.Clone(made)
		change(&r, m)
		p, _ := school.GRU(0, 16, 264, recipe(1), 5, nil)
		p.Made = m
		run, err := school.NewRun(p, r, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	if err := run(func(*school.Recipe, map[string]string) {}).Save(nil, path); err != nil {
		t.Fatal(err)
	}
	refused := func(key, now, was string, change func(*school.Recipe, map[string]string)) {
		t.Helper()
		err := run(change).Load(path)
		if want := fmt.Sprintf("another run: %s is %s and was %s;", key, now, was); !errors.Is(err, school.ErrCheckpoint) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	free := []string{"steps", "rate", "warmup", "floor", "clip"}
	was := recipe(20)
	for f, v := range reflect.ValueOf(&was).Elem().Fields() {
		now := reflect.New(f.Type).Elem()
		if v.CanInt() {
			now.SetInt(v.Int() + 1)
		} else {
			now.SetFloat(v.Float() / 2)
		}
		key := f.Tag.Get("json")
		change := func(r *school.Recipe, _ map[string]string) { reflect.ValueOf(r).Elem().FieldByIndex(f.Index).Set(now) }
		if !slices.Contains(free, key) {
			refused(key, fmt.Sprint(now), fmt.Sprint(v), change)
		} else if err := run(change).Load(path); err != nil {
			t.Errorf("another %s: %v", key, err)
		}
	}
	for key, v := range made {
		refused(key, "9", v, func(_ *school.Recipe, m map[string]string) { m[key] = "9" })
	}
}

// TestContinued: a run from a checkpoint ends with all that the run has which wrote it:
// weights, moments, the gate, the mean of recent losses in the curve, the time spent.
func TestContinued(t *testing.T) {
	text, validation := school.MakeToy(1, 3000).Text, school.MakeToy(2, 200).Text
	for name := range pupils(t) {
		var runs [2]*school.Run
		for i := range runs {
			r, err := school.NewRun(pupils(t)[name], recipe(8), text, nil)
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = r
		}
		to := func(r *school.Run, stop int) {
			t.Helper()
			if _, _, err := r.ToMark(t.Context(), validation, stop, school.Hooks{}); err != nil {
				t.Fatal(err)
			}
		}
		whole, back := runs[0], runs[1]
		path := filepath.Join(t.TempDir(), "c")
		to(whole, 5)
		if err := errors.Join(whole.Save(nil, path), back.Load(path)); err != nil {
			t.Fatal(err)
		}
		if a, b := whole.Speed(), back.Speed(); a != b {
			t.Errorf("%s: %g tokens a second, %g after loading", name, a, b)
		}
		for _, r := range runs {
			to(r, 8)
			r.Marks[0].Seconds = 0
		}
		if !slices.Equal(whole.Marks, back.Marks) {
			t.Errorf("%s: the curve is %+v, want %+v", name, back.Marks, whole.Marks)
		}
		if a, b := *whole.Gate(), *back.Gate(); a != b {
			t.Errorf("%s: the gate is %+v, want %+v", name, b, a)
		}
		if !same(values(whole.Pupil), values(back.Pupil)) || !same(whole.Moments(), back.Moments()) {
			t.Errorf("%s: the weights or their moments differ", name)
		}
	}
}

// TestClip: the norm of gradients is limited: below the optimizer's epsilon, steps go nowhere.
func TestClip(t *testing.T) {
	text, validation := school.MakeToy(1, 3000).Text, school.MakeToy(2, 200).Text
	for name := range pupils(t) {
		var far [2]float64
		for i, clip := range []float64{0, 1e-14} {
			o := recipe(2)
			o.Clip, o.Decay = clip, 0
			p := pupils(t)[name]
			before := values(p)
			r, err := school.NewRun(p, o, text, nil)
			if err == nil {
				_, _, err = r.ToMark(t.Context(), validation, 2, school.Hooks{})
			}
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, w := range p.Params {
				for _, x := range w.Value {
					far[i] = max(far[i], math.Abs(float64(x-before[n])))
					n++
				}
			}
		}
		if far[1] > far[0]/100 {
			t.Errorf("%s: weights moved by up to %g with clipping, %g without", name, far[1], far[0])
		}
	}
}

// TestRate: a step moves weights by the rate of that very step, which warms up from
// the first one. Without averages, an AdamW step is as long as its rate.
func TestRate(t *testing.T) {
	o := recipe(4)
	o.Warmup, o.Floor, o.Beta1, o.Beta2, o.Decay, o.Clip = 2, .5, 0, 0, 0, 0
	p := pupils(t)["gru"]
	r, err := school.NewRun(p, o, school.MakeToy(1, 3000).Text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step, warm := range []float64{.5, 1, 1, 1} {
		before := values(p)
		if _, err := r.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		far := 0.0
		for i, x := range values(p) {
			far = max(far, math.Abs(float64(x)-float64(before[i])))
		}
		want := o.Rate * warm * (.75 + .25*math.Cos(math.Pi*float64(step+1)/4))
		if math.Abs(far-want) > want/50 {
			t.Errorf("step %d moves weights by up to %g, its rate is %g", step+1, far, want)
		}
	}
}

// TestGate: the gate of [R-16.1b] is shut in the first tenth whatever the loss,
// opens when averages allow it, stays open, and a NaN shuts it for good.
func TestGate(t *testing.T) {
	g := school.NewGate(100, 3)
	for i := range 100 {
		if want := i >= 10; g.Open() != want {
			t.Fatalf("before step %d the gate is open: %v", i, g.Open())
		}
		g.Observe(1, 1)
	}
	g.Observe(100, 1)
	if !g.Open() {
		t.Error("an open gate was shut")
	}
	late := school.NewGate(100, 3)
	for range 20 {
		late.Observe(5, 1)
	}
	if late.Open() {
		t.Error("the gate opened above the unigram entropy")
	}
	broken := school.NewGate(100, 3)
	broken.Observe(math.NaN(), 1)
	for range 50 {
		broken.Observe(1, 1)
	}
	if broken.Open() {
		t.Error("the gate opened after a NaN")
	}
}

// TestRecipe: a faulty recipe reports all of its faults.
func TestRecipe(t *testing.T) {
	r := school.Recipe{Batch: -1, Rate: -2}
	err := r.Check()
	if !errors.Is(err, school.ErrRecipe) {
		t.Fatal(err)
	}
	if n := len(err.(interface{ Unwrap() []error }).Unwrap()); n < 4 {
		t.Errorf("%d faults in %v", n, err)
	}
	if _, err := school.NewRun(pupils(t)["gru"], recipe(5), []byte("short"), nil); !errors.Is(err, school.ErrRecipe) {
		t.Errorf("a text shorter than a window: %v", err)
	}
}
