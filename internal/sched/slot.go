package sched

import (
	"atenia/internal/memory/kv"
	"atenia/internal/sample"
)

// A slot holds one sequence: the request being served, or the pages that the
// last one left for reuse.
type slot struct {
	s       *Scheduler
	id      int     // position at first
	spill   *spill  // the pages of an idle sequence, when they are in a file
	st      *Stream // nil = idle
	sampler *sample.Sampler
	began   uint64 // admission count: the largest is the youngest
	parked  bool   // preempted: waits for memory until another request ends

	tokens []int32 // all tokens of the sequence; in an idle slot only the first done are valid
	done   int     // tokens whose keys and values are cached
	want   int     // first token whose logits are still needed, like all after it
	span   int     // maximum length of the sequence, set at admission
	seqs   []*kv.Seq
	pages  [][][]byte // per state, for exec.Run
}

func (s *Scheduler) newSlot() *slot {
	sl := &slot{s: s, id: len(s.slots), pages: make([][][]byte, len(s.caches))}
	for _, c := range s.caches {
		sl.seqs = append(sl.seqs, c.NewSeq())
	}
	return sl
}

func (sl *slot) idle() bool { return sl.st == nil }

// left returns how many tokens of a running sequence are still to be computed:
// one while decoding, more during prefill, never zero.
func (sl *slot) left() int { return len(sl.tokens) - sl.done }

// begin starts a request in an idle slot; there must be one.
func (s *Scheduler) begin(st *Stream) error {
	r := &st.req
	var sampler *sample.Sampler
	if r.MaxTokens > 0 {
		var err error
		if sampler, err = sample.New(r.Sampling, s.vocab); err != nil {
			return err
		}
		for _, t := range r.Prompt {
			sampler.Accept(t)
		}
	}
	sl := s.place(r)
	sl.st, sl.sampler, sl.span, sl.parked = st, sampler, r.span(), false
	sl.want = len(r.Prompt) - 1
	if r.All {
		sl.want = 0
	}
	// With capacity for the whole span, decoding does not allocate.
	if cap(sl.tokens) < sl.span {
		sl.tokens = make([]int32, 0, sl.span)
	}
	sl.tokens = append(sl.tokens[:0], r.Prompt...)
	for _, q := range sl.seqs {
		q.Reserve(sl.span)
	}
	s.markYoungest(sl)
	return nil
}

// finish ends the slot's request; its pages stay for prompts with the same
// prefix.
func (sl *slot) finish(f Finish, err error) {
	st := sl.st
	sl.st, sl.sampler = nil, nil
	st.end(f, err)
	sl.s.ended = true
	sl.s.kick() // the queue may wait for the slot, parked sequences for its pages
}

// clear frees the slot's pages.
func (sl *slot) clear() {
	sl.dropSpill()
	for _, q := range sl.seqs {
		// Position 0 is always resumable, and the sequence is not released.
		_ = q.Truncate(0)
	}
	sl.done = 0
}

// holds reports whether the slot has pages.
func (sl *slot) holds() bool {
	for _, q := range sl.seqs {
		if q.Len() > 0 {
			return true
		}
	}
	return false
}

// extend makes room for n more tokens in every state. If one state has no room,
// the others keep what they got, for the next attempt.
func (sl *slot) extend(n int) error {
	for i, q := range sl.seqs {
		if need := sl.done + n - q.Len(); need > 0 {
			if err := q.Extend(need); err != nil {
				return err
			}
		}
		sl.pages[i] = q.Pages()
	}
	return nil
}

// slide frees the pages behind windows.
func (sl *slot) slide() {
	for _, q := range sl.seqs {
		q.SlideTo(sl.done)
	}
}
