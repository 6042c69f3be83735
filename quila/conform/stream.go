package conform

import (
	"runtime"
	"sync"
	"time"

	"atenia/grad"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
)

// A learned is a nano that was trained on 80 k tokens, or briefly on a few, which
// two rows share.
type learned struct {
	once    sync.Once
	network *network.Network[float32]
	score   school.Score
	speed   float64
	tokens  int
}

var smoked learned

// smokeSteps are 80 640 tokens.
const smokeSteps = 105

// briefSteps of 192 tokens, 5,760, meet the limit of the row, too; without the
// second moment of the optimizer they do not.
const briefSteps = 30

func (l *learned) train(t *report) {
	l.once.Do(func() {
		n := newNano(t, 0, nil)
		if t.Brief() {
			l.brief(t, n)
			return
		}
		r, err := school.NewRun(school.Network(n), school.Recommended(smokeSteps), trainText(), nil)
		t.Must(err)
		for {
			m, ok, err := r.ToMark(t.Context(), school.ToyValidation().Text, smokeSteps, school.Hooks{})
			t.Must(err)
			if !ok {
				break
			}
			t.Log("%d tokens: %.4f bits", m.Tokens, m.Score.Bits)
			l.score = m.Score
		}
		l.network, l.speed, l.tokens = n, r.Speed(), r.Tokens()
	})
	if l.network == nil {
		t.Fatalf("the training of SFT-SMOKE has failed")
	}
}

// brief trains for the fewest steps that tell a network that learns from one that
// does not.
func (l *learned) brief(t *report, n *network.Network[float32]) {
	recipe := school.Recommended(briefSteps)
	recipe.Batch, recipe.Window, recipe.Warmup = 8, 24, 3
	p := school.Network(n)
	r, err := school.NewRun(p, recipe, trainText(), nil)
	t.Must(err)
	for range briefSteps {
		_, err := r.Step(t.Context())
		t.Must(err)
	}
	l.score, err = school.Evaluate(t.Context(), &p, school.ToyValidation().Text, briefGlance)
	t.Must(err)
	l.network, l.speed, l.tokens = n, r.Speed(), r.Tokens()
}

// briefGlance is how many characters of every row a brief check reads.
const briefGlance = 48

func smoke(t *report) {
	slopes(t)
	smoked.train(t)
	t.Within("bits a character", smoked.score.Bits, 3.3)
	t.Figure("%.4f bits after %d tokens on %d characters of the validation text, floor %.4f, %.0f tokens/s on one thread", smoked.score.Bits, smoked.tokens, smoked.score.Tokens, school.ToyValidation().Entropy, smoked.speed)
}

func rounded(t *report) {
	smoked.train(t)
	plain := school.Network(smoked.network)
	fp8 := plain
	fp8.Open = func(batch int, learn bool) school.Stream {
		s := smoked.network.Open(batch, learn)
		s.Options.FP8 = true
		return s
	}
	glance := school.Glance
	if t.Brief() {
		glance = briefGlance
	}
	a, err := school.Evaluate(t.Context(), &plain, school.ToyValidation().Text, glance)
	t.Must(err)
	b, err := school.Evaluate(t.Context(), &fp8, school.ToyValidation().Text, glance)
	t.Must(err)
	if a == b {
		t.Errorf("rounding changed nothing: %v", a.Bits)
	}
	t.Within("cost of E4M3 messages", b.Bits-a.Bits, .01)
	t.Figure("%+.4f bits (%.4f, in float32 %.4f) after %d tokens", b.Bits-a.Bits, b.Bits, a.Bits, smoked.tokens)
}

// curveOf trains a pupil to the end.
func curveOf(t *report, p school.Pupil, r school.Recipe, threads *grad.Threads) []school.Mark {
	run, err := school.NewRun(p, r, trainText(), threads)
	t.Must(err)
	for {
		m, ok, err := run.ToMark(t.Context(), school.ToyValidation().Text, r.Steps, school.Hooks{})
		t.Must(err)
		if !ok {
			return run.Marks
		}
		t.Log("%s: %d tokens, %.4f bits, %.0f tokens/s", p.Name, m.Tokens, m.Score.Bits, run.Speed())
	}
}

func last(m []school.Mark) school.Score { return m[len(m)-1].Score }

func nanoCurve(t *report) {
	threads := grad.NewThreads(runtime.GOMAXPROCS(0))
	defer threads.Close()
	const steps = 600
	r := school.Recommended(steps)
	p := school.Network(newNano(t, 0, threads))
	got := last(curveOf(t, p, r, threads))
	other, recipe := school.Transformer(p.Size(), 264, r, 0, threads)
	transformer := last(curveOf(t, other, recipe, threads))
	t.Within("bits a character", got.Bits, 1.70)
	if got.Bits >= transformer.Bits {
		t.Errorf("%.4f bits are not below the transformer's %.4f", got.Bits, transformer.Bits)
	}
	t.Figure("%.4f bits at %d tokens, transformer %.4f", got.Bits, steps*r.Tokens(), transformer.Bits)
}

func nanoLong(t *report) {
	threads := grad.NewThreads(runtime.GOMAXPROCS(0))
	defer threads.Close()
	for _, c := range []struct {
		steps int
		limit float64
	}{{600, 1.32}, {1000, 1.28}} {
		r := school.Recommended(c.steps)
		mine := curveOf(t, school.Network(newNano(t, 0, threads)), r, threads)
		p, recipe := school.GRU(0, 320, 264, r, 0, threads)
		gru := curveOf(t, p, recipe, threads)
		t.Within("bits a character", last(mine).Bits, c.limit)
		for i, m := range mine {
			if m.Score.Bits >= gru[i].Score.Bits {
				t.Errorf("%d tokens of %d: %.4f bits, the GRU has %.4f", m.Tokens, c.steps*r.Tokens(), m.Score.Bits, gru[i].Score.Bits)
			}
		}
		t.Figure("%d steps: %.4f, GRU-320 %.4f", c.steps, last(mine).Bits, last(gru).Bits)
	}
}

// speed measures. What it finds depends on the machine: too slow is short, and no
// fault. Briefly it takes one step of each.
func speed(t *report) {
	threads := grad.NewThreads(runtime.GOMAXPROCS(0))
	defer threads.Close()
	n := newNano(t, 0, threads)
	span := time.Second
	if t.Brief() {
		span = 0
	}
	text := trainText()
	run, err := school.NewRun(school.Network(n), school.Recommended(1000), text, threads)
	t.Must(err)
	rate := func(step func() int) float64 {
		step() // makes the memory
		tokens, start := 0, time.Now()
		for tokens == 0 || time.Since(start) < span {
			tokens += step()
		}
		return float64(tokens) / time.Since(start).Seconds()
	}
	training := rate(func() int {
		_, err := run.Step(t.Context())
		t.Must(err)
		return run.Recipe.Tokens()
	})
	streaming := func(sessions int) float64 {
		s, at := n.Open(sessions, false), 0
		codes := make([]int32, sessions)
		return rate(func() int {
			for b := range codes {
				codes[b] = int32(text[(b*1000+at)%len(text)])
			}
			at++
			_, err := s.Step(codes)
			t.Must(err)
			return sessions
		})
	}
	many := streaming(32)
	t.Rate("tokens in training", training, 2000)
	t.Rate("tokens streaming 32 sessions", many, 8000)
	t.Figure("%.0f tokens/s in training (goal 2,000), %.0f streaming 32 sessions (goal 8,000), %.0f streaming one, %d threads",
		training, many, streaming(1), threads.Count())
}
