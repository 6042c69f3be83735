package place

import (
	"math"
	"slices"

	"atenia/internal/memory"
	"atenia/internal/memory/ring"
)

// A Limit names the resource that bounds a pass.
type Limit string

// The limits.
const (
	limitSSD     Limit = "ssd"
	limitRAM     Limit = "ram"
	limitVRAM    Limit = "vram"
	limitCompute Limit = "compute"
	limitNone    Limit = "none" // no rate is known
)

// A Prediction is the expected duration of one pass.
type Prediction struct {
	Tokens  int     `json:"tokens"`  // of a pass
	Seconds float64 `json:"seconds"` // of a pass, with the ring's slots
	Range   Range   `json:"range"`   // of Seconds
	Bound   float64 `json:"bound"`   // with perfect overlap
	// Text is the tokens of each sequence that Seconds is after, Start is Seconds at
	// the beginning of a text, which reads no keys and values yet; of a decode pass.
	Text    int     `json:"text_tokens,omitempty"`
	Start   float64 `json:"seconds_at_start,omitempty"`
	Limit   Limit   `json:"limited_by"`  // the rate that sets Bound, see [Placement.Limits]
	SSD     float64 `json:"ssd_seconds"` // for each resource alone
	RAM     float64 `json:"ram_seconds"`
	VRAM    float64 `json:"vram_seconds"`
	Compute float64 `json:"compute_seconds"`
	// waits is the part of Seconds in which nothing is computed, since weights are not there.
	waits float64
	// SSDBytes is read from the SSD by a pass; RAMBytes is read from RAM by the
	// processor, including streamed weights and cached keys and values. RAM is longer
	// than reading so many takes, by what is computed with keys and values.
	SSDBytes float64 `json:"ssd_bytes"`
	RAMBytes float64 `json:"ram_bytes"`
	// ExpertBytes is the part of SSDBytes that are experts which the cache does not
	// have, if all are chosen equally often. They are read when they are chosen, so
	// that little is computed meanwhile.
	ExpertBytes float64 `json:"expert_bytes,omitempty"`
	// Runs is how many runs of this kind Seconds was corrected by, Correction the
	// factor; 0 if there were none. The other times are not corrected.
	Runs       int     `json:"corrected_by_runs,omitempty"`
	Correction float64 `json:"correction,omitempty"`
}

// At returns the seconds of a pass after so many tokens of each sequence: between the
// beginning and Text, and beyond, it takes longer by as much for each token.
func (p *Prediction) At(text float64) float64 {
	if p.Text == 0 {
		return p.Seconds
	}
	return p.Start + (p.Seconds-p.Start)*text/float64(p.Text)
}

// Ratio returns how much longer a pass took than was predicted for it after so many
// tokens of each sequence, before runs corrected that.
func (p *Prediction) Ratio(seconds, text float64) float64 {
	return over(seconds, p.uncorrected(p.At(text)))
}

// uncorrected returns seconds without what runs added to them.
func (p *Prediction) uncorrected(seconds float64) float64 {
	if p.Runs == 0 {
		return seconds
	}
	return seconds / p.Correction
}

// PerToken returns the seconds of one token.
func (p *Prediction) PerToken() float64 { return p.Seconds / float64(max(p.Tokens, 1)) }

// Reads returns the bytes of weights that a token reads from the SSD.
func (p *Prediction) Reads() int64 { return int64(p.SSDBytes / float64(max(p.Tokens, 1))) }

// predict computes both predictions.
func (p *Placement) predict() {
	p.predictDecode()
	p.Prefill = p.pass(p.in.Chunk, 1, float64(p.in.Text))
	p.uncertain()
}

func (p *Placement) predictDecode() {
	n := p.in.Batch
	p.backs = ring.Backs(p.units(), int(p.Ring.Size))
	p.Decode = p.pass(n, float64(n), float64(p.in.Text))
	if p.in.Text > 0 {
		p.Decode.Text, p.Decode.Start = p.in.Text, p.pass(n, float64(n), 0).Seconds
	}
}

// pass predicts one pass over the given number of tokens that reads the keys and
// values of the given number of sequences, of so many tokens each.
//
//	t ≥ max(SSD bytes / B_ssd, RAM bytes / B_ram, VRAM bytes / B_vram, FLOP / F)
//
// The ring's finite number of slots makes it a little longer: see pipeline.
func (p *Placement) pass(tokens int, sequences, text float64) Prediction {
	r := Prediction{Tokens: tokens}
	flops := p.in.Rates.FLOPS
	if few := p.in.Rates.FewFLOPS; few > 0 && tokens <= mostFew {
		flops = few
	}
	r.Compute = over(float64(tokens)*p.in.FLOP, flops)
	kept := 0.0 // of keys and values, beside which products read weights
	vram, effort, hits, missed := 0.0, 0.0, p.HitRate(tokens), misses{last: -1}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		n := t.reads()
		switch {
		case t.Class == KV:
			n = sequences * t.cached(text)
			if t.Tier != memory.VRAM {
				kept += n * max(1, t.Effort)
			}
		case t.ByRow:
			n = min(n*float64(tokens), float64(t.Bytes))
		case t.Experts > 0:
			n = float64(t.Bytes) * t.Chosen(tokens)
		case t.Class == Expert: // more tokens choose more experts
			n = min(n*float64(tokens), float64(t.Bytes))
		}
		if t.Tier != memory.VRAM {
			effort += n * max(0, t.Effort-1)
		}
		switch {
		case t.Experts > 0 && t.Tier == memory.SSD:
			r.ExpertBytes += n * (1 - hits)
			missed.add(t.Unit, t.Chosen(tokens)*float64(t.Experts), hits)
			r.RAMBytes += n
		case t.Tier == memory.VRAM:
			vram += n
		case t.Tier == memory.SSD:
			r.SSDBytes += n
			r.RAMBytes += n
		default:
			r.RAMBytes += n
		}
	}
	rates := p.in.Rates
	streamed := r.SSDBytes
	r.SSDBytes += r.ExpertBytes
	r.SSD, r.RAM, r.VRAM = over(r.SSDBytes, rates.SSD), over(r.RAMBytes+effort, rates.RAM), over(vram, rates.VRAM)
	reads := over(kept, rates.RAM)
	products := p.products(tokens, r.RAM-reads)
	if products > 0 && tokens <= fewRows { // measured with as many rows, and reading
		r.Compute = min(r.Compute, products)
	}
	var by string
	if r.Bound, by = r.computing(); r.SSD >= r.Bound && r.SSD > 0 {
		r.Bound, by = r.SSD, string(limitSSD)
	}
	r.Limit = Limit(by)
	busy, chosen := max(r.RAM+r.VRAM, r.Compute, products+reads), rates.chosen(&missed, r.ExpertBytes)
	ring, idle := p.pipeline(busy, streamed)
	computing := max(busy, ring-idle)
	r.Seconds = max(r.Bound, chosen+max(busy, over(streamed, rates.SSD), ring))
	r.waits = max(0, over(r.Seconds-computing, r.Seconds))
	return r
}

// The parts of the time that computing waits for the disk, from which on a pass is limited
// by that, too, and by nothing else.
const waitsToo, waitsMost = 0.1, 0.4

// Limits says what a pass is expected to be limited by: the disk, if most of what would make
// it faster is waiting for that; what computing is limited by; or both, where a prediction
// is not that sure. It is empty where rates were assumed, or runs showed that they are not
// those of this machine.
func (p *Placement) Limits(r *Prediction) string {
	off := max(r.Correction, over(1, r.Correction))
	by := string(r.Limit)
	if r.Limit == limitSSD {
		_, by = r.computing()
	}
	switch {
	case p.supposed(r) || off > 1+mostError:
		return ""
	case r.waits > waitsMost || r.waits > 0 && by == string(limitNone):
		return string(limitSSD)
	case r.waits > waitsToo:
		return by + " and " + string(limitSSD)
	}
	return by
}

// computing returns how long what computes takes, and by what it is limited.
func (r *Prediction) computing() (most float64, by string) {
	by = string(limitNone)
	for _, l := range []struct {
		seconds float64
		limit   Limit
	}{{r.RAM, limitRAM}, {r.VRAM, limitVRAM}, {r.Compute, limitCompute}} {
		if l.seconds > most {
			most, by = l.seconds, string(l.limit)
		}
	}
	return most, by
}

// products returns how long products with so many rows take, which read weights meanwhile:
// between the numbers of rows that were measured, by as much for each. One row takes one
// seconds. 0 = they were not measured.
func (p *Placement) products(rows int, one float64) float64 {
	r, n := &p.in.Rates, float64(rows)
	if r.FewFLOPS == 0 || rows >= manyRows {
		return 0
	}
	few, many := max(one, over(fewRows*p.in.FLOP, r.FewFLOPS)), over(manyRows*p.in.FLOP, r.FLOPS)
	if rows <= fewRows {
		return one + (few-one)*(n-1)/(fewRows-1)
	}
	return few + max(0, many-few)*(n-fewRows)/(manyRows-fewRows)
}

// misses are experts that a pass reads because it chose them.
type misses struct {
	last            int     // the layer, whose tensors follow one another
	layers, experts float64 // that wait, and for how many
}

// add counts those of a layer, of so many that are chosen.
func (m *misses) add(unit int, chosen, hits float64) {
	if unit == m.last {
		return
	}
	m.last = unit
	m.layers += 1 - math.Pow(hits, chosen)
	m.experts += chosen * (1 - hits)
}

// chosen returns how long a pass waits for experts: they are read beside those that are
// there, and what comes next waits.
func (r *Rates) chosen(m *misses, bytes float64) float64 {
	if r.Chosen.Each > 0 {
		return m.layers*r.Chosen.Wait + m.experts*r.Chosen.Each
	}
	rate := r.SSD
	if r.SSDBusy > 0 {
		rate = min(rate, r.SSDBusy)
	}
	return over(bytes, rate)
}

func over(n, rate float64) float64 {
	if rate == 0 {
		return 0
	}
	return n / rate
}

// A stage is one unit of a pass as the ring sees it.
type stage struct{ bytes, streamed float64 }

// pipeline simulates a few passes over a ring and returns the duration of the
// last one, and for how long of it nothing is computed. A unit's read starts when the previous read has ended and a slot is
// free; its computation starts when its read and the previous computation have
// ended. While both go on, each slows the other down, as was measured.
//
//	io       │ A │ C │ E │   │ A …
//	compute  │ · │ A │ B │ C │ D │ E …     B and D are pinned
func (p *Placement) pipeline(busy, ssdBytes float64) (seconds, idle float64) {
	stages, bytes, streamed := p.stages()
	if streamed == 0 || bytes == 0 || p.Ring.Slots == 0 || len(p.backs) == 0 {
		return 0, 0
	}
	const passes = 4
	r := &p.in.Rates
	perByte, read := busy/bytes, over(ssdBytes, r.SSD)/streamed
	reading, computing := 1.0, 1.0 // how much slower they are beside one another
	if r.SSDBusy > 0 && r.RAMBusy > 0 && r.RAM > 0 {
		reading, computing = max(1, r.SSD/r.SSDBusy), max(1, r.RAM/r.RAMBusy)
	}
	var now, before, idleBefore float64
	all := passes * len(stages)
	ahead, done, there, used := 0, 0, 0, 0 // stages that the reads and the computing are at; units that were read, and that were used
	left := func(k int) (io, compute float64) {
		s := &stages[k%len(stages)]
		return s.streamed * read, s.bytes * perByte
	}
	io, _ := left(0)
	_, compute := left(0)
	for done < all {
		for ahead < all && stages[ahead%len(stages)].streamed == 0 { // which is pinned
			if ahead++; ahead < all {
				io, _ = left(ahead)
			}
		}
		reads, computes := ahead < all && used > there-p.backs[there%len(p.backs)], stages[done%len(stages)].streamed == 0 || done < ahead
		slowRead, slowCompute := 1.0, 1.0
		if reads && computes {
			slowRead, slowCompute = reading, computing
		}
		step := math.Inf(1)
		if reads {
			step = io * slowRead
		}
		if computes {
			step = min(step, compute*slowCompute)
		}
		if now += step; !computes {
			idle += step
		}
		if reads {
			if io -= step / slowRead; io <= 1e-12 {
				there++
				if ahead++; ahead < all {
					io, _ = left(ahead)
				}
			}
		}
		if computes {
			if compute -= step / slowCompute; compute <= 1e-12 {
				if stages[done%len(stages)].streamed > 0 {
					used++
				}
				if done++; done < all {
					_, compute = left(done)
				}
				if done == (passes-1)*len(stages) {
					before, idleBefore = now, idle
				}
			}
		}
	}
	return now - before, idle - idleBefore
}

// units returns the room of the units of the ring, in its order.
func (p *Placement) units() (out []int) {
	all := make([]int, p.stageCount())
	for i := range p.Tensors {
		if t := &p.Tensors[i]; t.Streamed() {
			all[p.stage[i]] += int(slotBytes(t.Bytes))
		}
	}
	return slices.DeleteFunc(all, func(n int) bool { return n == 0 })
}

// stages returns the units in order and their totals.
func (p *Placement) stages() (out []stage, bytes, streamed float64) {
	out = make([]stage, p.stageCount())
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if t.Class == KV || t.Class == Buffer || t.ByRow {
			continue
		}
		n := t.reads()
		s := &out[p.stage[i]]
		s.bytes += n
		bytes += n
		if t.Streamed() {
			s.streamed += n
			streamed += n
		}
	}
	return out, bytes, streamed
}

// stagesOf numbers the units of tensors densely, in the order of first use.
func stagesOf(ts []Tensor) []int {
	at := map[int]int{}
	out := make([]int, len(ts))
	for i := range ts {
		k, ok := at[ts[i].Unit]
		if !ok {
			k = len(at)
			at[ts[i].Unit] = k
		}
		out[i] = k
	}
	return out
}

func (p *Placement) stageCount() (n int) {
	for _, k := range p.stage {
		n = max(n, k+1)
	}
	return n
}
