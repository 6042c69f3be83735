package sched

import "time"

// A gap bounds how long prompts hold up answers: a step with rows of both takes at
// most about twice as long as one with the same answers alone. Deep in a long prompt
// even one row may take longer, since it attends to all before it; answers then have
// steps of their own in between, and prompts have half of the time. Results do not
// depend on it.
type gap struct {
	fixed  int             // rows of prompts beside answers; 0 = by measurement
	plain  []time.Duration // [answers] how long a step without prompts takes; 0 = not known
	rows   int             // of prompts beside answers
	depth  int             // tokens before those rows, when they were found
	costly bool            // a row of a prompt takes longer than one of an answer
	debt   time.Duration   // that answers alone have before the next rows of prompts
}

// gapRows is the first number of rows of prompts beside answers: with about so many
// a step reads every weight once and computes little more.
const gapRows = 8

// mostDebt is the longest debt, in steps of answers alone: a step may have been long
// because of other work of the machine.
const mostDebt = 64

// prompts returns how many rows of prompts a step may have that come after depth
// tokens. Until a step of answers alone was timed, prompts wait for one.
func (g *gap) prompts(answers, most, depth int) int {
	switch {
	case answers == 0:
		return most
	case g.fixed > 0:
		return min(most, g.fixed)
	case g.usual(answers) == 0, g.debt > 0:
		return 0
	}
	if depth > 2*g.depth+1024 {
		// Another prompt, most of which was cached: what is known is of shorter rows.
		// It takes a few steps to find out how many there may be.
		g.rows, g.costly = 1, true
	}
	g.depth = depth
	if g.costly {
		return min(most, g.rows)
	}
	// With at least as many rows as there are answers, prompts get half of what
	// is computed, also where time grows with every row.
	return min(most, max(g.rows, answers))
}

// usual returns how long a step of answers alone takes: of as many, or else of the
// next smaller known number, or of the next larger.
func (g *gap) usual(answers int) time.Duration {
	for n := min(answers, len(g.plain)-1); n > 0; n-- {
		if g.plain[n] > 0 {
			return g.plain[n]
		}
	}
	for n := answers; n < len(g.plain); n++ {
		if g.plain[n] > 0 {
			return g.plain[n]
		}
	}
	return 0
}

// observe learns from a step.
func (g *gap) observe(answers, prompts int, d time.Duration) {
	switch {
	case answers == 0 || answers >= len(g.plain):
		g.debt = 0
	case prompts == 0:
		g.debt = max(0, g.debt-d)
		if p := &g.plain[answers]; *p == 0 {
			*p = d
		} else {
			*p += (d - *p) / 8
		}
	default:
		plain := g.usual(answers)
		// The rows that would have taken three fifths of a step, so that not every
		// disturbance is a longer gap; from one step to the next at most half or twice
		// as many.
		beyond := max(d-plain, plain/64, 1)
		fit := int(int64(prompts) * int64(plain) * 3 / 5 / int64(beyond))
		if over := beyond - plain; prompts == 1 && over > 0 {
			g.debt = min(over, mostDebt*plain)
		}
		switch {
		case prompts <= answers && beyond > plain+plain/8:
			g.costly = true
		case fit >= answers:
			g.costly = false
		}
		if prompts < g.rows { // the prompt's end: it says little about more rows
			fit = max(fit, g.rows)
		}
		g.rows = max(1, min(max(fit, g.rows/2), 2*g.rows))
	}
}

// observeDrafted learns from a step of answers with drafts, and maybe of prompts: time has
// passed, but it says little about a step without them.
func (g *gap) observeDrafted(answers int, d time.Duration) {
	g.debt = max(0, g.debt-d)
	if 0 < answers && answers < len(g.plain) && g.usual(answers) == 0 {
		g.plain[answers] = d // prompts wait for a first measurement
	}
}
