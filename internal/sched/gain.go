package sched

import "time"

// A gain says how many drafted tokens pay. It knows how long steps that only decode
// take, by their rows, and compares the tokens that a step is expected to yield with
// its time: rows cost little while weights are what takes time, and much once
// computing does. It is measured on the machine, with the model, as it runs.
type gain struct {
	fixed int           // drafted tokens of a request and step, if it has so many; 0 = as many as pay
	spent time.Duration // for the drafts of this step
	times
}

// A times is how long steps take by their rows.
type times struct {
	took []timing
	most int // largest number of rows that was timed
}

// A timing is how long steps with so many rows took.
type timing struct {
	d  time.Duration // 0 = not known
	at uint64        // step that was timed last
}

const (
	// oldSteps is after how many steps a time is no longer believed where others
	// are known. It may have been of a disturbed step, and without it the number of
	// rows is tried again.
	oldSteps = 1024
	// leastGain is by how much drafts must be better: estimates are no better than
	// that.
	leastGain = 1.03
	// leastHope is the least probability with which a drafted token is accepted that
	// is worth a row.
	leastAcceptance = 0.04
)

// observe learns from a step without rows of prompts.
func (g *times) observe(rows int, d time.Duration, step uint64) {
	if rows >= len(g.took) {
		return
	}
	t := &g.took[rows]
	if t.d == 0 || g.old(t, step) {
		t.d = d
	} else {
		t.d += (min(d, 2*t.d) - t.d) / 4 // a disturbed step counts as twice as long
	}
	t.at, g.most = step, max(g.most, rows)
}

func (g *times) old(t *timing, step uint64) bool { return step-t.at > oldSteps }

// expect returns how long a step with so many rows takes: as measured, or else
// between what is known of fewer and of more rows, or by the slope of those below. 0 =
// nothing is known of fewer.
func (g *times) expect(rows int, step uint64) time.Duration {
	if rows < len(g.took) {
		if t := &g.took[rows]; t.d > 0 && !g.old(t, step) {
			return t.d
		}
	}
	lo := g.below(rows, step)
	if lo == 0 {
		return 0
	}
	d := g.took[lo].d
	for hi := rows + 1; hi <= g.most; hi++ {
		if t := &g.took[hi]; t.d > 0 && !g.old(t, step) {
			return d + (t.d-d)*time.Duration(rows-lo)/time.Duration(hi-lo)
		}
	}
	// Until it is measured a row is expected to cost little, so that it is tried.
	slope := d / 32
	if k := g.below(lo, step); k > 0 {
		slope = max(slope, (d-g.took[k].d)/time.Duration(lo-k))
	}
	return d + slope*time.Duration(rows-lo)
}

// below returns the largest number of rows, less than rows, whose time is known; 0 =
// none. A time that is old counts if there is no other.
func (g *times) below(rows int, step uint64) (old int) {
	for n := min(rows-1, g.most); n > 0; n-- {
		switch t := &g.took[n]; {
		case t.d == 0:
		case !g.old(t, step):
			return n
		case old == 0:
			old = n
		}
	}
	return old
}

// An acceptance is how likely drafted tokens are accepted, by what became of those before.
type acceptance struct{ accepted, tested float32 }

// What is believed before a request has drafted, and for how many tokens that counts.
const (
	priorAcceptance  = 0.6
	priorWeight      = 3
	acceptanceMemory = 48 // tokens; what was before counts half
)

func (h *acceptance) note(accepted bool) {
	if h.tested++; accepted {
		h.accepted++
	}
	if h.tested >= acceptanceMemory {
		h.tested, h.accepted = h.tested/2, h.accepted/2
	}
}

// decay lets what was learned count less with every request, so that a drafter that did
// not pay is tried again.
func (h *acceptance) decay() { h.accepted, h.tested = h.accepted*fading, h.tested*fading }

// fading is what is left of an acceptance over all requests after one more.
const fading = 0.9

// prior is what is believed of a new request: what others had, with little weight.
func (h *acceptance) prior() acceptance {
	if h.tested <= priorTests {
		return *h
	}
	return acceptance{h.accepted * priorTests / h.tested, priorTests}
}

// priorTests is for how many tokens of a request those of others count at most.
const priorTests = 8

// chance returns the probability that a token is accepted whose predecessors were.
func (h *acceptance) chance() float64 {
	return (float64(h.accepted) + priorAcceptance*priorWeight) / (float64(h.tested) + priorWeight)
}

// An estimate is what a step is expected to give with drafts and without.
type estimate struct{ with, without time.Duration } // for a token

// choose keeps of the drafts of slots those that pay in a step of so many answers and
// at most most rows of drafts. The row that is most likely accepted comes first,
// whosever it is; of all numbers of rows the one with the least time for a token is
// taken. While there are several answers none of them waits for more than twice the
// time of a step without drafts.
func (g *gain) choose(slots []*slot, answers, most int, step uint64) (o estimate) {
	alone := g.expect(answers, step)
	for _, sl := range slots {
		sl.draft.keep, sl.draft.next = 0, sl.draft.chance()
		if g.fixed > 0 {
			sl.draft.best = min(g.fixed, len(sl.draft.ids), most)
			most -= sl.draft.best
		} else {
			sl.draft.best = 0
		}
	}
	o.without = alone / time.Duration(answers)
	if g.fixed > 0 || alone == 0 {
		return o
	}
	tokens, least := float64(answers), float64(o.without)/leastGain
	for n := 1; n <= most && answers+n <= 2*g.most+1; n++ { // at most twice the rows that were timed
		var best *slot
		for _, sl := range slots {
			if d := &sl.draft; d.keep < len(d.ids) && d.next >= leastAcceptance && (best == nil || d.next > best.draft.next) {
				best = sl
			}
		}
		took := g.expect(answers+n, step)
		if best == nil || answers > 1 && took > 2*alone {
			return o
		}
		d := &best.draft
		tokens += d.next
		d.keep, d.next = d.keep+1, d.next*d.chance()
		each := float64(took) / tokens
		if with := time.Duration(float64(took+g.spent) / tokens); o.with == 0 || with < o.with {
			o.with = with
		}
		if each < least {
			least = each
			for _, sl := range slots {
				sl.draft.best = sl.draft.keep
			}
		}
	}
	return o
}
