package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/memory/place"
	"atenia/internal/model/embedded"
	"atenia/internal/sched"
	"atenia/internal/store/blob"
)

const (
	// partBytes is about how much of a conversation is one tensor of a checkpoint:
	// enough to be read at the speed of a disk, little enough to be read only as
	// far as a prompt needs it.
	partBytes = 4 << 20
	// conversations is how many a checkpoint keeps.
	conversations = 4
	// ofConversation begins the ids of their tensors.
	ofConversation = "kv:"
)

// quoted returns a regular expression for names.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = regexp.QuoteMeta(n)
	}
	return strings.Join(out, "|")
}

// remembered returns the conversations of the checkpoint for the scheduler.
func (r *resume) remembered() (out []sched.Remembered) {
	if r == nil {
		return nil
	}
	for i := range r.seqs {
		s := &r.seqs[i]
		out = append(out, sched.Remembered{Class: s.Class, Tokens: s.Tokens, Used: func(n int) { r.reused.Add(int64(n)) },
			Load: func(state, end int, put func(int, []byte) error) error { return r.load(s, state, end, put) }})
	}
	return out
}

// load passes the pages of one state, part by part; each is in memory only
// meanwhile.
func (r *resume) load(s *checkpoint.Sequence, state, end int, put func(int, []byte) error) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	if r.saved {
		return errors.New("the checkpoint is being saved")
	}
	for _, p := range s.Parts {
		if p.State != state || p.First >= end {
			continue
		}
		if err := r.loadPart(p, end, put); err != nil {
			r.cut[p.ID] = true
			r.plan.Config.Observer.Damaged()
			r.plan.Config.Logger.Warn("a conversation of the checkpoint is computed again", "err", err)
			return err
		}
	}
	return nil
}

func (r *resume) loadPart(p checkpoint.Part, end int, put func(int, []byte) error) error {
	e := r.old[p.ID]
	if e == nil || e.Blob == nil || p.Pages < 1 || e.Bytes%uint64(p.Pages) != 0 {
		return &checkpoint.Error{Kind: checkpoint.ErrMissingBlob, ID: p.ID, Why: "the checkpoint names no such pages"}
	}
	room, err := r.plan.account.Reserve(ledger.Tensors, int64(e.Bytes))
	if err != nil {
		return err
	}
	defer room.Release()
	ctx := context.Background()
	if err := checkpoint.EnsureMaterialized(ctx, r.m, p.ID); err != nil {
		return err
	}
	// Its bytes are in the pages then; another prompt reads them again.
	defer func() { _ = r.m.RegisterLazy(p.ID, e.Bytes, memory.RAM, e.Blob.Kind, e.Blob.Key) }()
	lease, err := r.m.Lease(ctx, p.ID)
	if err != nil {
		return err
	}
	defer lease.Release()
	page := len(lease.Bytes) / p.Pages
	for i := range min(p.Pages, end-p.First) {
		if err := put(p.First+i, lease.Bytes[i*page:(i+1)*page]); err != nil {
			return err
		}
	}
	return nil
}

// save replaces the checkpoint by what the engine has now: where each weight is
// and why, and the conversations. Bytes that the cache has are not written again.
func (r *resume) save(ctx context.Context, e *Engine) error {
	k := keeper{r: r, w: checkpoint.NewWriter(r.Dir, r.cache, nil), created: uint64(max(0, time.Now().Unix())), parts: map[string]bool{}}
	defer k.w.Abort()
	if err := e.Sched.Computed(k.keep); err != nil {
		return err
	}
	if err := k.w.Commit(); err != nil {
		return err
	}
	r.loading.Lock()
	r.saved = true
	r.loading.Unlock()
	for _, s := range r.seqs {
		k.carry(s)
	}
	var gone []string
	for id := range r.old {
		if strings.HasPrefix(id, ofConversation) && !k.parts[id] {
			gone = append(gone, id)
			_ = r.m.Remove(id) // which it was not if it is unknown
		}
	}
	if err := r.weights(e); err != nil {
		return err
	}
	model := *r.model
	model.Sequences = k.seqs
	saved, err := checkpoint.Save(ctx, r.Dir, r.m, k.created, checkpoint.SaveOptions{Model: &model, Materialize: true, Writer: k.w})
	if err != nil {
		return err
	}
	r.notDurable(saved.NotDurable)
	for _, id := range gone { // no manifest names them; what stays is found by "checkpoint gc"
		if b := r.old[id].Blob; b != nil {
			_ = r.cache.Delete(b.Kind, b.Key)
		}
	}
	return nil
}

// notDurable keeps what a save said of tensors whose bytes no restore will find.
// Those of a model that is part of the program are in every program.
func (r *resume) notDurable(list []checkpoint.NotDurable) {
	var out []string
	for _, n := range list {
		if _, ours := r.files.Tensor(n.ID); !ours || r.plan.path != embedded.Name {
			out = append(out, fmt.Sprintf("%s: %s", n.ID, n.Why))
		}
	}
	r.lost.Store(&out)
}

// A keeper gathers the conversations of a save.
type keeper struct {
	r       *resume
	w       *checkpoint.Writer
	created uint64
	seqs    []checkpoint.Sequence
	parts   map[string]bool // by id, that sequences need
	buf     []byte
}

// begins reports whether a sequence that is kept begins with tokens.
func (k *keeper) begins(class int, tokens []int32) bool {
	return slices.ContainsFunc(k.seqs, func(s checkpoint.Sequence) bool {
		return s.Class == class && len(s.Tokens) >= len(tokens) && slices.Equal(s.Tokens[:len(tokens)], tokens)
	})
}

// keep writes the pages of a sequence that the cache does not have.
func (k *keeper) keep(c sched.Computed) error {
	if len(k.seqs) == conversations || k.begins(c.Class, c.Tokens) {
		return nil
	}
	s := checkpoint.Sequence{Class: c.Class, Tokens: slices.Clone(c.Tokens)}
	states := k.r.plan.Model.Plans.Prefill.Plan.States
	for state, pages := range c.Pages {
		each := max(1, partBytes/int(states[state].SizeBytes))
		for first := 0; first < len(pages); first += each {
			from, end := first, min(first+each, len(pages))
			for from < end && pages[from] == nil { // behind the window
				from++
			}
			if from == end {
				continue
			}
			last := len(c.Tokens)
			if n := int(states[state].PageTokens); n > 0 { // else it is of all tokens
				last = min(end*n, last)
			}
			p := checkpoint.Part{State: state, First: from, Pages: end - from}
			p.ID = k.id(c.Class, p, c.Tokens[:last])
			s.Parts = append(s.Parts, p)
			if err := k.write(p.ID, pages[from:end]); err != nil {
				return err
			}
		}
	}
	k.seqs = append(k.seqs, s)
	return nil
}

// id names pages by all that their bytes follow from, so that a conversation
// that goes on writes only what is new.
func (k *keeper) id(class int, p checkpoint.Part, tokens []int32) string {
	m := k.r.model
	b := fmt.Appendf(nil, "%s %s %s %d %d %d %d ", m.Content, m.Written, m.State, class, p.State, p.First, p.Pages)
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return ofConversation + blob.HashOf(b).String()
}

func (k *keeper) write(id string, pages [][]byte) error {
	n := 0
	for _, p := range pages {
		n += len(p)
	}
	e := checkpoint.Entry{ID: id, Bytes: uint64(n)}
	b := e.DefaultBlob()
	if k.parts[id] {
		return nil
	}
	k.parts[id] = true
	if k.r.cut[id] || !k.r.cache.Exists(b.Kind, b.Key) {
		room, err := k.r.plan.account.Reserve(ledger.Tensors, int64(n))
		if err != nil {
			return err
		}
		defer room.Release()
		k.buf = k.buf[:0]
		for _, p := range pages {
			k.buf = append(k.buf, p...)
		}
		if err := k.w.Put(id, b, k.buf, blob.Options{Created: k.created, Overwrite: k.r.cut[id]}); err != nil {
			return err
		}
	}
	want := memory.RAM
	k.r.m.SetHint(id, memory.Hint{Desired: &want, Summary: "keys and values of a conversation", HasSummary: true})
	return k.r.m.RegisterLazy(id, e.Bytes, memory.RAM, b.Kind, b.Key)
}

// carry keeps an older conversation that this run did not continue.
func (k *keeper) carry(s checkpoint.Sequence) {
	if len(k.seqs) == conversations || k.begins(s.Class, s.Tokens) {
		return
	}
	for _, p := range s.Parts {
		if e := k.r.old[p.ID]; k.r.cut[p.ID] || e == nil || e.Blob == nil || !k.r.cache.Exists(e.Blob.Kind, e.Blob.Key) {
			return // without this part it would be computed again
		}
	}
	for _, p := range s.Parts {
		k.parts[p.ID] = true
	}
	k.seqs = append(k.seqs, s)
}

// weights registers where each tensor of the model is, and why.
func (r *resume) weights(e *Engine) error {
	r.stop()
	r.done.Wait()
	type intent struct {
		at   memory.Tier
		hint memory.Hint
	}
	intents := map[string]intent{}
	for i := range r.plan.footprint.tensors {
		name := r.plan.footprint.tensors[i].Name
		in := intent{at: memory.RAM, hint: memory.Hint{Summary: "ram: mapped, no budget bounds it", HasSummary: true}}
		want := memory.RAM
		in.hint.Desired = &want
		if pl := e.Placement(); pl != nil {
			in.at, in.hint = intentOf(pl, name)
			if r.followed[name] && in.hint.Desired != nil {
				in.hint.Summary = in.at.Lower() + ": the checkpoint wanted it there, and the budget allows it"
			}
		}
		for _, id := range r.plan.Model.Weights[name].Sources {
			if old, ok := intents[id]; !ok || old.at == memory.SSD { // in memory for one weight is in memory
				intents[id] = in
			}
		}
	}
	planned := map[string]checkpoint.Decision{}
	for _, d := range r.planned {
		planned[d.ID] = d
	}
	for _, id := range r.order() {
		t, _ := r.files.Tensor(id)
		in, n := intents[id], uint64(len(t.View.Data))
		var err error
		switch old := r.old[id]; {
		case old != nil && old.Blob != nil && r.cache.Exists(old.Blob.Kind, old.Blob.Key): // else the model's file has it
			err = r.m.RegisterLazy(id, n, in.at, old.Blob.Kind, old.Blob.Key)
		case r.plan.path == embedded.Name: // every program has its bytes
			err = r.m.Register(id, n, in.at)
		default:
			err = r.m.RegisterLazyFile(id, n, in.at, memory.Source{Path: checkpoint.PathOf(t), Offset: t.Offset})
		}
		if err != nil {
			return err
		}
		if old := r.old[id]; old != nil && old.Hint.Desired != nil && *old.Hint.Desired == memory.VRAM {
			in.hint.Desired = old.Hint.Desired // for a machine that has a device
		}
		if d, ok := planned[id]; ok && d.Action != checkpoint.Keep {
			in.hint.Summary = warmSummary(d, in.at)
		}
		r.m.SetHint(id, in.hint)
	}
	return nil
}

// warmSummary returns the plan summary of a tensor that a warm start wanted elsewhere: its
// reason, and where the tensor is if that did not come true.
func warmSummary(d checkpoint.Decision, at memory.Tier) string {
	if d.To != nil && *d.To != at {
		return fmt.Sprintf("%s; not followed: it is in %v", d.Reason, at)
	}
	return d.Reason
}

// intentOf returns the tier of a weight, the one it is wanted in, and why.
func intentOf(pl *place.Placement, name string) (memory.Tier, memory.Hint) {
	for i := range pl.Tensors {
		t := &pl.Tensors[i]
		if t.Name != name {
			continue
		}
		d := pl.Decision(i)
		h := memory.Hint{Summary: fmt.Sprintf("%s: %s: %s", t.Tier.Lower(), t.Rule, d.Reason), HasSummary: true}
		want := memory.RAM
		switch {
		case t.Tier == memory.SSD && t.ByRow:
			return t.Tier, h // few bytes are read, wherever it is
		case t.Rule == place.RulePin || t.Rule == place.RuleFile:
			want = t.Tier
		}
		h.Desired = &want
		return t.Tier, h
	}
	return memory.RAM, memory.Hint{}
}
