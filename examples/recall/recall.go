package main

import (
	"fmt"

	"atenia/grad"
	"atenia/nested"
	"atenia/nested/rule"
)

// The size of the task: keys, values, pairs written and queries.
const (
	Keys   = 6
	Values = 6
	Writes = 12
	Asks   = 6

	firstAsk   = Keys * Values
	firstValue = firstAsk + Keys
	vocabulary = firstValue + Values
)

// Options configure the training. Zero selects the default given here.
type Options struct {
	Rule   rule.Name
	Memory rule.Config
	Theta  float64 // initial bias of the inner learning rate; -1
	Still  bool    // memory never learns: the baseline that can only guess
	Width  int     // 16
	Steps  int     // 500
	Batch  int     // sequences per step; 16
	Rate   float64 // Adam's learning rate; 5e-3
	Tests  int     // fresh sequences for measuring accuracy; 200
	Seed   uint64
	// Threads is the number of threads, which does not affect the result; 1.
	Threads int

	threads *grad.Threads
}

// A Result is the accuracy on fresh sequences.
type Result struct {
	Accuracy    float64 // over all answers
	Overwritten float64 // over answers whose key was written with several values
	Loss        float64 // of the last step
}

// Run trains a model and measures it. Equal options give equal results.
func Run(o Options) (Result, error) {
	o = o.withDefaults()
	o.threads = grad.NewThreads(max(o.Threads, 1))
	defer o.threads.Close()
	m, err := nested.New[float32](nested.Config{Rule: o.Rule, Memory: o.Memory, Vocab: vocabulary, Width: o.Width, Seed: o.Seed})
	if err != nil {
		return Result{}, err
	}
	if p, ok := m.Param("layers.0.levels.0.b_theta"); ok {
		p.Value[0] = float32(o.Theta)
	}
	b, err := m.NewBuilder(nested.BuildConfig{Lanes: o.Batch, Threads: o.threads, Rule: grad.AdamW{}, Clip: 1, Still: o.Still})
	if err != nil {
		return Result{}, err
	}
	r := rule.NewRand(o.Seed + 1)
	chunks := make([]nested.Chunk, o.Batch)
	var res Result
	for range o.Steps {
		for i := range chunks {
			ids, targets, _ := sequence(r)
			chunks[i] = nested.Chunk{IDs: ids, Targets: targets, Reset: true}
		}
		report, err := b.Step(chunks, o.Rate)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", o.Rule, err)
		}
		res.Loss = report.Loss
	}
	return res, measure(m, &o, &res)
}

func (o Options) withDefaults() Options {
	set := func(v *int, usual int) {
		if *v == 0 {
			*v = usual
		}
	}
	set(&o.Width, 16)
	set(&o.Steps, 500)
	set(&o.Batch, 16)
	set(&o.Tests, 200)
	if o.Rate == 0 {
		o.Rate = 5e-3
	}
	if o.Theta == 0 {
		o.Theta = -1
	}
	if o.Rule == "" {
		o.Rule = rule.Delta
	}
	return o
}

// sequence returns tokens, their targets, and which of the answers are about
// keys that were overwritten with another value. Only keys that were written
// are queried.
func sequence(r *rule.Rand) (ids, targets []int32, overwritten []bool) {
	var value, changed [Keys]int
	for i := range value {
		value[i] = -1
	}
	var written []int
	for range Writes {
		k, v := int(r.Uint64()%Keys), int(r.Uint64()%Values)
		if value[k] < 0 {
			written = append(written, k)
		} else if value[k] != v {
			changed[k]++
		}
		value[k] = v
		ids, targets = append(ids, int32(k*Values+v)), append(targets, -1)
	}
	for range Asks {
		k := written[r.Uint64()%uint64(len(written))]
		ids, targets = append(ids, int32(firstAsk+k)), append(targets, int32(firstValue+value[k]))
		overwritten = append(overwritten, changed[k] > 0)
	}
	return ids, targets, overwritten
}

// measure counts correct answers: the value with the largest logit.
func measure(m *nested.Model[float32], o *Options, res *Result) error {
	run, err := m.NewRunner(false, o.threads)
	if err != nil {
		return err
	}
	r, ctx := rule.NewRand(o.Seed+1e6), m.NewContext()
	right, all, rightOver, over := 0, 0, 0, 0
	for range o.Tests {
		ids, targets, overwritten := sequence(r)
		ctx.Reset()
		t, err := run.Forward(nested.NewPulse(0, nested.Test, !o.Still), ctx, ids, nil, nil)
		if err != nil {
			return err
		}
		logits := run.Tape().Value(t.Logits)
		for i := range Asks {
			row := logits[(Writes+i)*vocabulary:][:vocabulary]
			best := firstValue
			for v := firstValue; v < vocabulary; v++ {
				if row[v] > row[best] {
					best = v
				}
			}
			hit := 0
			if int(targets[Writes+i]) == best {
				hit = 1
			}
			right, all = right+hit, all+1
			if overwritten[i] {
				rightOver, over = rightOver+hit, over+1
			}
		}
	}
	res.Accuracy, res.Overwritten = float64(right)/float64(all), float64(rightOver)/float64(max(over, 1))
	return nil
}

// A Case is a row of the table of all rules.
type Case struct {
	Label string
	Options
}

// Cases returns the rules with constants that suit the task.
func Cases() []Case {
	return []Case{
		{"memory off", Options{Rule: rule.Delta, Still: true}},
		{"HebbianRule", Options{Rule: rule.Hebbian}},
		{"DeltaRule", Options{Rule: rule.Delta}},
		{"TitansLMM", Options{Rule: rule.Titans}},
		{"LatticeOSR, 16 slots", Options{Rule: rule.Lattice, Memory: rule.Config{Slots: 16}}},
		{"AtlasOmega, window 4, 5 iterations", Options{Rule: rule.Atlas, Theta: -2}},
		{"AtlasOmega, window 4, no iterations", Options{Rule: rule.Atlas, Memory: rule.Config{NoNS: true}, Theta: 0.5}},
		{"AtlasOmega, window 1, poly2", Options{Rule: rule.Atlas, Memory: rule.Config{Window: 1, NoNS: true, Feature: rule.Poly2}}},
		{"YAAD, 32 hidden", Options{Rule: rule.YAAD, Memory: rule.Config{Hidden: 32}, Theta: 1e-9}},
		{"Moneta p=2 q=2, 32 hidden", Options{Rule: rule.Moneta, Memory: rule.Config{Hidden: 32, P: 2, Q: 2}}},
		{"Moneta p=3 q=4, 32 hidden", Options{Rule: rule.Moneta, Memory: rule.Config{Hidden: 32}, Theta: -2}},
		{"Trellis, 16 slots", Options{Rule: rule.Trellis, Memory: rule.Config{Slots: 16}}},
		{"MEMORA, 32 hidden", Options{Rule: rule.MEMORA, Memory: rule.Config{Hidden: 32}, Theta: 4}},
	}
}
