package atenia

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"atenia/internal/engine"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/sched"
	"atenia/internal/spelling"
	"atenia/place"
)

// GenerateN continues a prompt n times and returns the sequences of the answers:
// that of number i is what [Model.Generate] yields with the seed Sampling.Seed+i.
//
// Range over all of them at the same time, each in a goroutine of its own, and the
// prompt is computed once: the answers share its keys and values, as far as there
// are slots for all. Ranged over in turns they are computed in turns.
func (m *Model) GenerateN(ctx context.Context, p Prompt, n int) []iter.Seq2[Token, error] {
	answers := make([]iter.Seq2[Token, error], 0, max(0, n))
	for range n {
		answers = append(answers, m.Generate(ctx, p))
		p.Sampling.Seed++
	}
	return answers
}

// ChatN answers a conversation n times, as [Model.GenerateN] continues a prompt.
func (m *Model) ChatN(ctx context.Context, c Conversation, n int) []iter.Seq2[Token, error] {
	answers := make([]iter.Seq2[Token, error], 0, max(0, n))
	for range n {
		answers = append(answers, m.Chat(ctx, c))
		c.Sampling.Seed++
	}
	return answers
}

// A Decision is what was done with a request, and why: by which rule, what was
// observed, and the limit it was compared with.
type Decision struct {
	Time    time.Time `json:"time"`
	Step    uint64    `json:"step"` // steps of the model before it
	Request string    `json:"request"`
	// Action is "wait", "admit", "reuse" (it begins with keys and values that were
	// there), "preempt" (they were freed for another request and are computed
	// again), "resume", "evict" (what it had left when it ended was freed),
	// "finish", "cancel", "fail", "read" (keys and values are read from the disk) or
	// "compute" (what the disk has is computed); "draft" (drafted tokens are verified)
	// or "plain" (they are not).
	Action string `json:"action"`
	Slot   int    `json:"slot,omitempty"`  // 1 and up; 0 = none
	Other  string `json:"other,omitempty"` // request that it was compared with, continues or made room for
	// Rule is what Observed and Limit count: "slots" that run requests; bytes of
	// "memory"; levels of "priority"; tokens given to its client ("share"); tokens
	// of a "prefix"; steps it waited ("arrival"); bytes kept of ended requests
	// ("room"); tokens of its answer ("stop", "length", "caller", "error");
	// microseconds to read and to compute ("cost"); tokens that could not be read
	// ("damage"); nanoseconds that a token is expected to take with drafts and without
	// ("gain"); drafted tokens ("drafts"); images that the draft model does not see
	// ("drafter"; 0 = there is none, or it failed). "state" has no numbers: the model cannot
	// take rejected tokens back.
	Rule     string `json:"rule"`
	Observed int64  `json:"observed"`
	Limit    int64  `json:"limit"`
	Because  string `json:"because"`           // the numbers as a sentence
	Adapter  string `json:"adapter,omitempty"` // of an admitted request; "" = none
	Drafter  string `json:"drafter,omitempty"` // of a decision about drafts: "the draft model"; "" = look-up

	line string
}

// String returns one line: request, action, rule, numbers.
func (d Decision) String() string { return d.line }

// Why returns what was decided about a request, in order. Give requests an
// [Options].ID to ask for them. The last 4096 decisions about all requests are
// kept; "" returns all of them.
func (m *Model) Why(request string) []Decision {
	var out []Decision
	for _, d := range m.engine.Sched.Why(request) {
		out = append(out, Decision{
			Time: d.Time, Step: d.Step, Request: d.Request, Action: d.Action.String(), Slot: d.Slot, Other: d.Other,
			Rule: d.Rule.String(), Observed: d.Observed, Limit: d.Limit, Because: d.Because(), Adapter: d.Adapter, Drafter: d.Drafter, line: d.String(),
		})
	}
	return out
}

// A RequestStatus is where a request is.
type RequestStatus struct {
	Slot    int    `json:"slot"`    // 1 and up; 0 = it waits for one
	Request string `json:"request"` // "" = the slot was not used yet
	// Phase is "waiting" (for a slot), "reading" (its prompt is computed),
	// "decoding", "stalled" (it waits for memory), or "ended": the slot is free, and
	// keeps what it computed for prompts that begin alike.
	Phase    string `json:"phase"`
	Priority int    `json:"priority"`
	Usage    Usage  `json:"usage"`    // so far
	Computed int    `json:"computed"` // tokens whose keys and values are cached
	Limit    int    `json:"limit"`    // tokens that the answer may have
	Adapter  string `json:"adapter,omitempty"`
}

// Requests returns what each of the model's slots does, by its number, and then the
// requests that wait for one, in the order in which they came. It is as of the last
// step, and does not wait for the one in flight.
func (m *Model) Requests() []RequestStatus {
	var out []RequestStatus
	for _, v := range m.engine.Sched.Status() {
		out = append(out, RequestStatus{
			Slot: v.Slot, Request: v.Request, Phase: v.Phase.String(), Priority: v.Priority,
			Usage: Usage{Prompt: v.Prompt, Cached: v.Cached, Answer: v.Answer}, Computed: v.Computed, Limit: v.Limit, Adapter: v.Adapter,
		})
	}
	return out
}

// request returns the part of a request that its options are about.
func (o *Options) request() (sched.Request, error) {
	if o.Priority < -sched.MaxPriority || o.Priority > sched.MaxPriority {
		return sched.Request{}, &ConfigError{"Priority", o.Priority, "-100 to 100"}
	}
	if o.MaxTokens < 0 {
		return sched.Request{}, &ConfigError{"MaxTokens", o.MaxTokens, "0 or more"}
	}
	draft, err := speculation("Speculate", o.Speculate)
	if err != nil {
		return sched.Request{}, err
	}
	return sched.Request{Speculate: draft, ID: o.ID, Priority: o.Priority, Client: o.Client, Sampling: o.Sampling.internal()}, nil
}

// ErrReceipt is matched by errors about a receipt that a model cannot verify: it is damaged, of
// another model or other settings, or its prompt is missing or another.
var ErrReceipt = errors.New("the receipt cannot be verified")

// arithmetic is the version of the numbers that models are computed with. A build whose answers
// to one prompt may be others has a higher one.
const arithmetic = 1

// A receipt says what an answer was computed of, and what it was.
type receipt struct {
	Version    int               `json:"version"` // of this form: 1
	Arithmetic int               `json:"arithmetic"`
	Model      string            `json:"model"`    // its name, for people
	Files      map[string]string `json:"files"`    // SHA-256, by name
	Template   string            `json:"template"` // SHA-256 of the chat template; "" = there is none
	Cache      string            `json:"kv_type,omitempty"`
	Precise    bool              `json:"precise,omitempty"`
	Zeros      string            `json:"gptq_zeros,omitempty"`
	Adapter    string            `json:"adapter,omitempty"` // of several that share the weights
	Scale      float32           `json:"adapter_scale,omitempty"`
	Prompt     []int32           `json:"prompt,omitempty"`
	Tokens     int               `json:"prompt_tokens"`
	Hash       string            `json:"prompt_sha256"` // of the tokens as little-endian int32
	Sampling   sampled           `json:"sampling"`
	Schema     json.RawMessage   `json:"schema,omitempty"`
	Grammar    string            `json:"grammar,omitempty"`
	MaxTokens  int               `json:"max_tokens"`
	IgnoreEnd  bool              `json:"ignore_eos,omitempty"`
	StopIDs    []int32           `json:"stop_token_ids,omitempty"`
	MinTokens  int               `json:"min_tokens,omitempty"`
	Answer     []int32           `json:"answer"`
	Finish     string            `json:"finish"`
	Cut        bool              `json:"cut,omitempty"` // it ended by a stop text, or after a call
}

// sampled is a [Sampling] as it is written; Bias are decimal numbers, of which JSON lacks -Inf.
type sampled struct {
	Temperature float32          `json:"temperature"`
	TopP        float32          `json:"top_p,omitempty"`
	MinP        float32          `json:"min_p,omitempty"`
	Typical     float32          `json:"typical_p,omitempty"`
	XTC         float32          `json:"xtc_probability,omitempty"`
	XTCFrom     float32          `json:"xtc_threshold,omitempty"`
	Repeat      float32          `json:"repeat_penalty,omitempty"`
	Frequency   float32          `json:"frequency_penalty,omitempty"`
	Presence    float32          `json:"presence_penalty,omitempty"`
	TopK        int              `json:"top_k,omitempty"`
	RepeatLast  int              `json:"repeat_last_n,omitempty"`
	DRY         *DRY             `json:"dry,omitempty"`
	Mirostat    *Mirostat        `json:"mirostat,omitempty"`
	Bias        map[int32]string `json:"logit_bias,omitempty"`
	Seed        uint64           `json:"seed,string"` // more digits than other programs' numbers have
	Order       []Stage          `json:"order,omitempty"`
}

func newSampled(s *Sampling) sampled {
	out := sampled{
		Temperature: s.Temperature, TopP: s.TopP, MinP: s.MinP, Typical: s.Typical, XTC: s.XTCProbability, XTCFrom: s.XTCThreshold, Repeat: s.RepeatPenalty, Frequency: s.FrequencyPenalty, Presence: s.PresencePenalty,
		TopK: s.TopK, RepeatLast: s.RepeatLast, Seed: s.Seed, Order: s.Order,
	}
	if s.DRY.Multiplier != 0 {
		out.DRY = &s.DRY
	}
	if s.Mirostat.Tau != 0 {
		out.Mirostat = &s.Mirostat
	}
	for id, v := range s.LogitBias {
		if out.Bias == nil {
			out.Bias = map[int32]string{}
		}
		out.Bias[id] = strconv.FormatFloat(float64(v), 'g', -1, 32)
	}
	return out
}

// sampling is the inverse of newSampled.
func (s *sampled) sampling() (out Sampling, err error) {
	out = Sampling{
		Temperature: s.Temperature, TopP: s.TopP, MinP: s.MinP, Typical: s.Typical, XTCProbability: s.XTC, XTCThreshold: s.XTCFrom, RepeatPenalty: s.Repeat, FrequencyPenalty: s.Frequency, PresencePenalty: s.Presence,
		TopK: s.TopK, RepeatLast: s.RepeatLast, Seed: s.Seed, Order: s.Order,
	}
	if s.DRY != nil {
		out.DRY = *s.DRY
	}
	if s.Mirostat != nil {
		out.Mirostat = *s.Mirostat
	}
	for id, text := range s.Bias {
		v, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return out, fmt.Errorf("%w: logit_bias of token %d is %q", ErrReceipt, id, text)
		}
		if out.LogitBias == nil {
			out.LogitBias = map[int32]float32{}
		}
		out.LogitBias[id] = float32(v)
	}
	return out, out.Validate()
}

// hashOf returns the hash of tokens.
func hashOf(ids []int32) string {
	b, _ := binary.Append(nil, binary.LittleEndian, ids) // of numbers of one size
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// setting returns a receipt with what is said of the model, and of the adapter of a request.
func (m *Model) setting(ctx context.Context, adapter string) (*receipt, error) {
	c := m.plan.compiled
	files, err := m.digests.of(func() (map[string]string, error) { return c.Digests(ctx, m.opened.ConfigFile) })
	if err != nil {
		return nil, err
	}
	r := &receipt{Version: 1, Arithmetic: arithmetic, Model: engine.Display(m.Path()), Files: files, Cache: m.opened.CacheType, Precise: m.opened.Precise, Zeros: m.opened.GPTQZeros}
	if source := m.ChatTemplate(); source != "" {
		r.Template = fmt.Sprintf("%x", sha256.Sum256([]byte(source)))
	}
	if adapter == "" {
		return r, nil
	}
	for _, a := range m.Adapters() {
		if a.Name == adapter {
			more, err := engine.DigestAdapter(ctx, a.Path)
			if err != nil {
				return nil, err
			}
			r.Files = maps.Clone(r.Files)
			maps.Copy(r.Files, more)
		}
	}
	return r, nil
}

// receipt returns that of a request whose answer has ended.
func (m *Model) receipt(ctx context.Context, q *sched.Request, o *Options, answer []int32, cut bool, finish sched.Finish) (json.RawMessage, error) {
	r, err := m.setting(ctx, o.Adapter)
	if err != nil {
		return nil, err
	}
	r.Adapter, r.Scale = o.Adapter, o.AdapterScale
	r.Tokens, r.Hash, r.Sampling = len(q.Prompt), hashOf(q.Prompt), newSampled(&o.Sampling)
	if o.Receipt == "ids" {
		r.Prompt = q.Prompt
	}
	r.Schema, r.Grammar, r.MaxTokens, r.IgnoreEnd, r.StopIDs, r.MinTokens = o.Schema, o.Grammar, q.MaxTokens, o.IgnoreEnd, o.StopIDs, o.MinTokens
	if r.Answer, r.Finish, r.Cut = answer, string(finish), cut; answer == nil {
		r.Answer = []int32{}
	}
	return json.Marshal(r)
}

// ReceiptOf returns the receipt in a response of a server, or the receipt itself, and how a model
// is opened that is to verify it.
func ReceiptOf(b []byte) (json.RawMessage, Config, error) {
	var whole struct {
		Receipt json.RawMessage `json:"receipt"`
	}
	if json.Unmarshal(b, &whole) == nil && whole.Receipt != nil {
		b = whole.Receipt
	}
	r, err := readReceipt(b)
	if err != nil {
		return nil, Config{}, err
	}
	return b, Config{CacheType: r.Cache, Precise: r.Precise, GPTQZeros: r.Zeros}, nil
}

func readReceipt(b []byte) (*receipt, error) {
	r := &receipt{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReceipt, err)
	}
	switch {
	case r.Version != 1:
		return nil, fmt.Errorf("%w: it is of version %d, this program reads version 1", ErrReceipt, r.Version)
	case r.Prompt != nil && (len(r.Prompt) != r.Tokens || hashOf(r.Prompt) != r.Hash):
		return nil, fmt.Errorf("%w: its prompt is not that of its hash", ErrReceipt)
	}
	return r, nil
}

// Verify computes an answer again of which a receipt was given ([Options].Receipt), on whatever
// processor, in whatever batch and budget, and returns -1 if it is the same, or else the first
// token of the answer that is another, and by how much the logit of what was computed is above
// that of what the receipt says; 0 where one of the two has ended. prompt are the tokens of the
// prompt ([Model.PromptTokens]) if the receipt has their hash alone; nil otherwise.
//
// A receipt of another model, other settings or another prompt is an [ErrReceipt].
func (m *Model) Verify(ctx context.Context, raw json.RawMessage, prompt []int32) (at int, by float64, err error) {
	r, err := readReceipt(raw)
	if err != nil {
		return 0, 0, err
	}
	if err := m.checkReceipt(ctx, r); err != nil {
		return 0, 0, err
	}
	if r.Prompt != nil {
		prompt = r.Prompt
	}
	switch {
	case prompt == nil:
		return 0, 0, fmt.Errorf("%w: it has the hash of its prompt alone: give the request beside it", ErrReceipt)
	case hashOf(prompt) != r.Hash:
		return 0, 0, fmt.Errorf("%w: the request's prompt is another", ErrReceipt)
	}
	o := Options{MaxTokens: r.MaxTokens, Schema: r.Schema, Grammar: r.Grammar, IgnoreEnd: r.IgnoreEnd, StopIDs: r.StopIDs, MinTokens: r.MinTokens, Adapter: r.Adapter, AdapterScale: r.Scale}
	if o.Sampling, err = r.Sampling.sampling(); err != nil {
		return 0, 0, err
	}
	for _, id := range slices.Concat(prompt, r.Answer) {
		if id < 0 || int(id) >= m.Vocab() {
			return 0, 0, fmt.Errorf("%w: the model has no token %d", ErrReceipt, id)
		}
	}
	if room := m.Context() - len(prompt); len(r.Answer) > room || room < r.MaxTokens && (r.Schema != nil || r.Grammar != "") {
		return 0, 0, &ContextError{Prompt: len(prompt) + max(len(r.Answer), r.MaxTokens), Context: m.Context()}
	}
	return m.compare(ctx, r, prompt, &o)
}

// checkReceipt returns why a receipt is not of this model as it was opened.
func (m *Model) checkReceipt(ctx context.Context, r *receipt) error {
	own, err := m.setting(ctx, r.Adapter)
	if err != nil {
		return err
	}
	for name, sum := range own.Files {
		if r.Files[name] != sum {
			return fmt.Errorf("%w: it is of another model: its file %s has the SHA-256 %.64s, this one %s", ErrReceipt, name, cmp.Or(r.Files[name], "none"), sum)
		}
	}
	for _, c := range []struct {
		what      string
		told, own any
	}{
		{"version of the arithmetic", r.Arithmetic, own.Arithmetic}, {"chat template", r.Template, own.Template}, {"kv-type", r.Cache, own.Cache},
		{"precise", r.Precise, own.Precise}, {"gptq-zeros", r.Zeros, own.Zeros},
	} {
		if c.told != c.own {
			return fmt.Errorf("%w: its %s is %v, that of this model is %v", ErrReceipt, c.what, quotedOr(c.told), quotedOr(c.own))
		}
	}
	return nil
}

// quotedOr returns a text in quotes, and anything else as it is.
func quotedOr(v any) any {
	if s, ok := v.(string); ok {
		return spelling.Quotable(s)
	}
	return v
}

// compare computes an answer again.
func (m *Model) compare(ctx context.Context, r *receipt, prompt []int32, o *Options) (at int, by float64, err error) {
	q, err := m.prepare(ctx, prompt, nil, o)
	if err != nil {
		return 0, 0, err
	}
	st, err := m.engine.Sched.Submit(ctx, q)
	if err != nil {
		return 0, 0, publish(err)
	}
	defer st.Close()
	for at = range r.Answer {
		t, ok := st.Next()
		switch {
		case !ok && st.Err() != nil:
			return 0, 0, publish(st.Err())
		case !ok:
			return at, 0, nil
		case t.ID != r.Answer[at]:
			by, err = m.above(ctx, slices.Concat(prompt, r.Answer[:at]), t.ID, r.Answer[at], o)
			return at, by, err
		}
	}
	if r.Cut {
		return -1, 0, nil
	}
	if _, more := st.Next(); more || st.Err() == nil && string(st.Finish()) != r.Finish {
		return len(r.Answer), 0, nil
	}
	return -1, 0, publish(st.Err())
}

// above returns by how much the logit of one token is above that of another after a text.
func (m *Model) above(ctx context.Context, tokens []int32, one, other int32, o *Options) (by float64, err error) {
	err = m.EachLogits(ctx, tokens, LogitsOptions{Adapter: o.Adapter, AdapterScale: o.AdapterScale}, func(_ int, logits []float32) {
		by = float64(logits[one]) - float64(logits[other])
	})
	return by, err
}

// digests are hashes of files, which are computed once.
type digests struct {
	mu   sync.Mutex
	sums map[string]string
}

func (d *digests) of(compute func() (map[string]string, error)) (map[string]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sums == nil {
		sums, err := compute()
		if err != nil {
			return nil, err
		}
		d.sums = sums
	}
	return d.sums, nil
}

// Kinds of failure of [Model.SaveSlot], [Model.RestoreSlot] and [Model.EraseSlot], for
// [errors.Is].
var (
	// ErrSlot says that there is no such slot, that it computes a request and can be neither
	// restored into nor erased, or that it has nothing that can be saved.
	ErrSlot = engine.ErrSlot
	// ErrSlotFile says that a file is cut, changed, or no file of a slot. The error's text
	// has the offset of what is wrong.
	ErrSlotFile = engine.ErrSlotFile
	// ErrSlotFileOther says that a file was saved by another model, or by this one with
	// another adapter, [Config].CacheType, PageTokens or Precise, or before the model's
	// files were written again.
	ErrSlotFileOther = engine.ErrSlotFileOther
)

// A SlotFile says what [Model.SaveSlot] wrote or [Model.RestoreSlot] read.
type SlotFile struct {
	Slot   int   // 1 and up
	Tokens int   // whose keys and values the file has
	Bytes  int64 // of the file
}

// SaveSlot writes what a slot has computed to a file: its tokens, and their keys and
// values or whatever state the model keeps of them. [Model.Requests] lists the slots; 0
// is the one that was used last, so that after an answer a program can save the
// conversation.
//
// The file is written under a temporary name and renamed when it is on the disk; its mode
// is 0600, because the tokens are the text of prompts and answers. It can be restored by
// the same build on the same kind of processor, with the same model, the same
// [Config].Adapter and the same settings. A slot that computes a request is saved as it is
// between two steps. Sequences with images or with an adapter of [Config].Adapters cannot
// be saved: that, a slot that does not exist, one that is empty or one that waits for
// memory are [ErrSlot].
//
//	for t, err := range m.Chat(ctx, c) { … }
//	m.SaveSlot(ctx, 0, "conversation.kv")
func (m *Model) SaveSlot(ctx context.Context, slot int, path string) (SlotFile, error) {
	f, err := m.engine.Sched.SaveSlot(ctx, slot, path)
	return SlotFile(f), err
}

// RestoreSlot reads a file that [Model.SaveSlot] wrote into an idle slot; 0 is the one with
// the shortest sequence. A prompt that begins with its tokens goes on from there, with the
// same results as if they were computed again. What the slot had before is treated as if
// the slot had been given to a request: from 16 tokens on it is kept within
// [Config].KeepBytes.
//
// A file that is damaged is [ErrSlotFile], one of another model or other settings
// [ErrSlotFileOther], one with more tokens than the context a [*ContextError], and one that
// does not exist [io/fs.ErrNotExist]. The slot then has what it had, unless memory
// was short: room for the file's pages is made before these are read, by evicting what
// idle slots and ended requests keep. A slot that computes a request is [ErrSlot].
func (m *Model) RestoreSlot(ctx context.Context, slot int, path string) (SlotFile, error) {
	f, err := m.engine.Sched.RestoreSlot(ctx, slot, path)
	return SlotFile(f), err
}

// EraseSlot forgets what an idle slot has computed, 0 = the one used last, and returns of
// how many tokens that was. A slot that computes a request is [ErrSlot].
func (m *Model) EraseSlot(slot int) (tokens int, err error) { return m.engine.Sched.EraseSlot(slot) }

// CacheStats returns the counts.
func (m *Model) CacheStats() place.CacheStats {
	c := m.engine.Sched.Cache()
	return place.CacheStats{
		MemoryPrompts: c.MemoryPrompts, MemoryTokens: c.MemoryTokens, DiskPrompts: c.DiskPrompts, DiskTokens: c.DiskTokens,
		DiskFiles: c.Disk.Files, DiskBytes: c.Disk.Bytes, ReadBytes: c.Disk.Read, WrittenBytes: c.Disk.Written, Damaged: c.Disk.Damaged, Failed: c.Disk.Foul,
	}
}

// StepCounts returns what all steps did so far, zero unless [Observation].Counters, a trace or
// metrics were asked for: counting costs every step some time.
func (m *Model) StepCounts() (n place.StepCounts) {
	if c := m.observer.Counters(); c != nil {
		n = place.StepCounts{Dispatches: int64(c.Total()), Launches: int64(c.Launches())}
	}
	return n
}

// Kinds of failure of a [Config.Checkpoint], for [errors.Is].
var (
	// ErrCheckpointBusy says that another process uses the folder.
	ErrCheckpointBusy = checkpoint.ErrBusy
	// ErrCheckpointOther says that a checkpoint is of another model, or of this
	// one before its files were changed. The folder is left as it is.
	ErrCheckpointOther = checkpoint.ErrOther
	// ErrCheckpointDamaged says that files of a checkpoint are cut or changed.
	ErrCheckpointDamaged = checkpoint.ErrInvalidFormat
)

// Checkpoint returns what the model took from its [Config.Checkpoint]; ok is
// false if it was opened without one.
func (m *Model) Checkpoint() (r place.Resumed, ok bool) {
	e := m.engine.Resumed()
	if e == nil {
		return r, false
	}
	return newResumed(e), true
}

func newResumed(e *engine.Resumption) place.Resumed {
	return place.Resumed{
		Dir: e.Dir, Restored: e.Restored, Bytes: e.Bytes, Sequences: e.Sequences, Tokens: e.Tokens, Drift: e.Drift,
		WarmStart: e.WarmStart, Wanted: e.Wanted, Followed: e.Followed, Reused: e.Reused, Leftovers: e.Leftovers, Ignored: e.Ignored, NotDurable: e.NotDurable, Line: e.String(),
	}
}
