package sample

// A history holds the tokens of the sequence: a ring of the last ones if limit
// is above 0, otherwise all.
type history struct {
	limit int // tokens that stages look back at
	all   bool
	buf   []int32
	next  int // ring only: where the next token goes
	n     int // tokens held
}

// keep requests the last n tokens; n ≤ 0 requests all.
func (h *history) keep(n int) {
	if n <= 0 {
		h.all = true
	}
	h.limit = max(h.limit, n)
}

// ringLimit bounds what is allocated in advance. Larger requests keep all
// tokens.
const ringLimit = 1 << 16

func (h *history) grow() {
	if h.limit > ringLimit {
		h.all = true
	}
	if !h.all {
		h.buf = make([]int32, h.limit)
	}
}

func (h *history) push(id int32) {
	switch {
	case h.all:
		h.buf = append(h.buf, id)
		h.n++
	case h.limit > 0:
		h.buf[h.next] = id
		h.next = (h.next + 1) % h.limit
		h.n = min(h.n+1, h.limit)
	}
}

// back returns the token i before the last one; 0 ≤ i < n.
func (h *history) back(i int) int32 {
	if h.all {
		return h.buf[h.n-1-i]
	}
	if i < h.next {
		return h.buf[h.next-1-i]
	}
	return h.buf[h.next-1-i+h.limit]
}

// A penaltyWindow counts the recent tokens for penalties, in an array over the
// vocabulary, because a map with changing keys would allocate from time to time.
type penaltyWindow struct {
	size   int     // ≤ 0: unlimited
	count  []int32 // [vocab]; nil = penalties are off
	active int     // distinct tokens counted
}

func newPenaltyWindow(size, vocab int) penaltyWindow {
	return penaltyWindow{size: size, count: make([]int32, vocab)}
}

// push counts id and uncounts the token that leaves the window. Call it before
// id is added to the history.
func (w *penaltyWindow) push(id int32, h *history) {
	if w.count == nil {
		return
	}
	if w.size > 0 && w.active == w.size {
		w.count[h.back(w.size-1)]--
	} else {
		w.active++
	}
	w.count[id]++
}

// penalize is the stage [Penalties]. The repetition penalty is that of CTRL
// (Keskar et al., arXiv:1909.05858), corrected for negative logits; the others
// are OpenAI's.
func (s *Sampler) penalize() {
	w := &s.recent
	if !s.dense {
		for i := range s.c {
			if n := w.count[s.c[i].id]; n > 0 {
				s.penalizeOne(&s.c[i], n)
			}
		}
		return
	}
	// Visit each token once: a negative count marks those already seen.
	for i := range w.active {
		if id := s.past.back(i); w.count[id] > 0 {
			s.penalizeOne(&s.c[id], w.count[id])
			w.count[id] = -w.count[id]
		}
	}
	for i := range w.active {
		if id := s.past.back(i); w.count[id] < 0 {
			w.count[id] = -w.count[id]
		}
	}
}

func (s *Sampler) penalizeOne(c *candidate, count int32) {
	l, r := float64(c.logit), float64(s.p.RepeatPenalty)
	if l <= 0 {
		l *= r
	} else {
		l /= r
	}
	l -= float64(count)*float64(s.p.FrequencyPenalty) + float64(s.p.PresencePenalty)
	c.logit = clamp(l, c.logit)
}
