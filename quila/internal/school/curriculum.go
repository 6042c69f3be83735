package school

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/stores"
)

// A stage is a part of supervised training [R-2.6c].
type stage uint8

// The stages.
const (
	stageA stage = iota // the first tenth: stream training alone
	stageB              // to 70 %: the library of key features, behind the gate
	stageC              // to the end: counters, E4M3, more ticks, the cap's ramp
)

const (
	cmVectors   = 20_000 // h_kfe that are recorded to distil the consistency model
	sparseTicks = 5      // K in stage c
	sparseCap   = .19    // share of neurons that may fire, at the end of the ramp
	// offerEvery is how many windows pass between two offers of states to the
	// library.
	offerEvery = 4
)

// A Curriculum takes a network through the stages: it distils the consistency
// model at the end of stage a, lets the library be written in stage b once the
// gate is open, and makes the network sparse in stage c. Edges are not changed.
//
// A neuron that does not fire loses the messages of that tick: a window of
// composite maps has no mailboxes.
type Curriculum struct {
	// Stages that are left out; the network stays as the one before made it.
	NoLibrary, NoSparse, NoBook bool
	// Distil says how the consistency model is distilled; nil leaves it residual.
	Distil *network.DistillOptions

	net    *network.Network[float32]
	steps  int
	store  *stores.KFE
	reader *stores.KFEReader[float32]
	book   *book     // nil before stage b
	mid    []float32 // [N][batch][D]: h_mid of the last tick of the stream that learns
	turn   int64
	stage  stage
	share  float64 // of neurons that may fire
	kept   [][]float32
	made   *network.DistillResult[float32]
}

// NewCurriculum prepares the stages of so many steps.
func NewCurriculum(n *network.Network[float32], steps int) (*Curriculum, error) {
	c := &Curriculum{net: n, steps: steps, share: 1}
	var err error
	if c.store, err = stores.NewKFE(&n.Config, stores.KFEOptions{L3: libraryBytes}); err != nil {
		return nil, err
	}
	c.store.Learn(true)
	c.reader = stores.NewKFEReader[float32](c.store)
	return c, nil
}

// libraryBytes is the quota of the vectors of the library.
const libraryBytes = 64 << 20

// Pupil is the network with the curriculum. Its runs cannot be resumed: a
// checkpoint does not have the library.
func (c *Curriculum) Pupil() Pupil {
	p := Network(c.net)
	open := p.Open
	p.Open = func(batch int, learn bool) Stream {
		s := open(batch, learn).(*network.Stream[float32])
		c.set(s)
		return s
	}
	p.Begin = c.begin
	stepped := p.Stepped
	p.Stepped = func(ctx context.Context, s Stream) error {
		if err := stepped(ctx, s); err != nil {
			return err
		}
		return c.offer(ctx, s.(*network.Stream[float32]))
	}
	return p
}

// Counts are what the library did.
func (c *Curriculum) Counts() stores.KFECounts { return c.store.Counts() }

// stageOf is the stage of a step, counted from 0.
func (c *Curriculum) stageOf(step int) stage {
	switch {
	case step < (c.steps+9)/10:
		return stageA
	case step < c.steps*7/10:
		return stageB
	}
	return stageC
}

// begin prepares a step of a run.
func (c *Curriculum) begin(ctx context.Context, r *Run, s Stream) error {
	st := s.(*network.Stream[float32])
	stage := c.stageOf(r.Done())
	if stage == stageC && !c.NoSparse {
		half := float64(c.steps-c.steps*7/10) / 2
		done := math.Min(1, float64(r.Done()-c.steps*7/10)/math.Max(half, 1))
		c.share = 1 - done*(1-sparseCap)
	}
	if stage != c.stage {
		if c.stage == stageA && c.Distil != nil {
			if err := c.distil(ctx); err != nil {
				return err
			}
		}
		c.stage = stage
		if stage == stageC && !c.NoSparse {
			c.net.Config.Refractory, c.net.Config.Stagger, c.net.Config.K = true, true, sparseTicks
			stagger(&c.net.Config, st)
		}
		c.set(st)
	}
	if stage == stageB && !c.NoBook && r.Done()%bookEvery == bookEvery-1 {
		if err := c.teach(r.Text()); err != nil {
			return err
		}
	}
	c.mid = slices.Grow(c.mid[:0], len(st.Grid.HFinal))[:len(st.Grid.HFinal)]
	if r.Gate().Open() && stage >= stageB && !c.NoLibrary {
		c.turn++
	}
	batch, d := st.Grid.B, c.net.Config.D
	reading := stage >= stageB && !c.NoLibrary
	if stage == stageA && c.Distil != nil {
		c.keep()
	}
	st.Options.Recall = func(n, b int, hMid, hKFE []float32) {
		if reading {
			c.reader.Recall(n, b, hMid, hKFE, nil)
		}
		copy(c.mid[(n*batch+b)*d:][:d], hMid)
	}
	return nil
}

// teach takes a closed-book batch of the look-up memory.
func (c *Curriculum) teach(text []byte) (err error) {
	if c.book == nil {
		if c.book, err = newBook(c.net); err != nil {
			return err
		}
	}
	return c.book.batch(text)
}

// keep records h_mid of the last tick, which is h_kfe as long as there is no
// library.
func (c *Curriculum) keep() {
	d := c.net.Config.D
	for i := 0; i+d <= len(c.mid); i += d {
		v := slices.Clone(c.mid[i : i+d])
		if dot(v) > 0 {
			c.kept = append(c.kept, v)
		}
	}
	if n := len(c.kept) - cmVectors; n > 0 {
		c.kept = slices.Delete(c.kept, 0, n)
	}
}

func dot(v []float32) (sum float32) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// distil makes the consistency model from the recorded vectors and switches to
// its form.
func (c *Curriculum) distil(ctx context.Context) error {
	if len(c.kept) == 0 {
		return nil
	}
	got, err := network.Distill(ctx, c.kept, *c.Distil)
	if err != nil {
		return fmt.Errorf("curriculum: the consistency model: %w", err)
	}
	c.made, c.kept = got, nil
	for set, n := range map[string]*network.ConsistencyNet[float32]{"f": got.Net, "ema": got.EMA} {
		for name, v := range map[string][]float32{"1.w": n.W1, "1.b": n.B1, "2.w": n.W2, "2.b": n.B2} {
			copy(c.net.Weights.Of("cm."+set+"."+name), v)
		}
	}
	c.net.Weights.Of("cm.sigma_d")[0] = float32(got.SigmaD)
	c.net.Config.CM = "song"
	c.net.Changed()
	return nil
}

// set gives a stream the options of the present stage.
func (c *Curriculum) set(s *network.Stream[float32]) {
	s.Options.Recall, s.Options.Fire, s.Options.FP8 = nil, nil, false
	if c.stage >= stageB && !c.NoLibrary {
		quiet := c.reader.Quiet() // of evaluations; begin gives the stream that learns its own
		s.Options.Recall = func(n, b int, hMid, hKFE []float32) { quiet.Recall(n, b, hMid, hKFE, nil) }
	}
	if c.stage == stageC && !c.NoSparse {
		s.Options.FP8, s.Options.Fire = true, c.fire
		stagger(&c.net.Config, s)
	}
}

// stagger starts the counters at id mod (ref_base + 1), so that not all neurons
// rest at once.
func stagger(c *config.Config, s *network.Stream[float32]) {
	for n := range s.Grid.N {
		for b := range s.Grid.B {
			s.Grid.Refractory[n*s.Grid.B+b] = int32(n % (int(c.RefBase) + 1))
		}
	}
}

// fire lets those fire whose counters are 0, at most the cap's share of a session,
// those of the largest utility first, smaller ids first of equals.
func (c *Curriculum) fire(_ int, s *neuron.State[float32], fire []bool) {
	most := int(math.Ceil(c.share * float64(s.N)))
	var ids []int
	for b := range s.B {
		ids = ids[:0]
		for n := range s.N {
			i := n*s.B + b
			fire[i] = false
			if s.Refractory[i] == 0 {
				ids = append(ids, n)
			}
		}
		slices.SortStableFunc(ids, func(x, y int) int { return cmp.Compare(s.Utility[y*s.B+b], s.Utility[x*s.B+b]) })
		for _, n := range ids[:min(most, len(ids))] {
			fire[n*s.B+b] = true
		}
	}
}

// offer offers what neurons just were to the library, if the gate is open.
func (c *Curriculum) offer(ctx context.Context, s *network.Stream[float32]) error {
	if c.turn%offerEvery != 1 {
		return nil
	}
	g, d := s.Grid, c.net.Config.D
	for n := range g.N {
		for b := range g.B {
			i := n*g.B + b
			var activation float32
			for _, x := range g.HDim[i*d : (i+1)*d] {
				activation += x / float32(d)
			}
			_, err := c.store.Offer(n, stores.Offer{Session: b, Activation: activation, Utility: g.Utility[i], Confidence: g.Conf[i],
				Phase: stores.FirstPhase, Mid: c.mid[i*d : (i+1)*d], Smooth: g.HFinal[i*d : (i+1)*d]})
			if err != nil {
				return err
			}
		}
	}
	if err := c.store.Commit(ctx, c.turn); err != nil {
		return err
	}
	return c.store.EndTurn(ctx, c.turn)
}
