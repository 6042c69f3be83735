package atenia

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"atenia/internal/model/text"
	"atenia/internal/sample"
	"atenia/internal/sched"
)

// A Prompt is text or token ids to continue. Use it for completion; for a model
// that was trained to converse, use a [Conversation], which adds the special
// tokens that the model expects around each turn.
type Prompt struct {
	Text   string
	Tokens []int32 // used as they are instead of Text, if not nil
	// Images are shown to the model. Text has the model's mark for each of them
	// ([Model.ImageMark]), in order; without any, they precede it.
	Images [][]byte
	Options
}

// Options bound and shape an answer. The zero value generates greedily until
// the model ends by itself or the context is full.
type Options struct {
	MaxTokens int // 0 = up to the context; below 0 is an error
	Sampling  Sampling
	Stop      []string // texts that end the answer; they are not part of it
	IgnoreEnd bool     // go on past the tokens with which the model ends
	StopIDs   []int32  // further tokens that end the answer; they are not part of it
	MinTokens int      // before so many none of the tokens comes that end an answer, unless a schema or a grammar leaves no other
	// ID names the request for [Model.Why] and [Model.Requests]. "" = one is made.
	ID string
	// Priority, from -100 to 100, is for when requests wait: those with more are
	// admitted first, and lose their memory last. 64 steps of waiting are worth a
	// level, so that every request comes at last.
	Priority int
	// Client says whose request it is. Of those who wait with equal priority, the
	// one that was given the fewest tokens comes first, so that many requests of
	// one do not hold up another's.
	Client string
	// Adapter is the name of an adapter of the model ([Config].Adapters) that the answer
	// is computed with. "" = none.
	Adapter string
	// AdapterScale replaces [Adapter].Scale for this answer. 0 = it does not.
	AdapterScale float32
	// Schema is a JSON Schema that the answer, a JSON text, is to satisfy. With it the
	// answer is valid whenever it ends with "stop", whatever the sampling; near
	// MaxTokens only what can still be completed is allowed. A schema that cannot be
	// enforced in full is a [*GrammarError].
	Schema json.RawMessage
	// Grammar is a grammar in llama.cpp's notation, GBNF, that the answer is to
	// follow. Of Schema and Grammar at most one may be set.
	Grammar string
	// Speculate says which drafted tokens are verified along with the next one: "auto"
	// (whatever is measured to pay), "lookup" (what followed the last tokens before, in
	// the prompt or the answer), "draft" (what [Config].Draft continues with) or "off". "" = as [Config].Speculate says. The answer is
	// the same, seed by seed, and comes in fewer steps where drafts are right: text that
	// repeats itself, such as a summary with quotations or an edit of code.
	Speculate string
	// Receipt asks for a receipt with the last token, see [Model.Verify]: "ids" has the prompt's
	// tokens, "hash" their hash alone. "" = none. A prompt with images has none. The first one
	// of a model reads its files whole, for their hashes.
	Receipt string
}

// A Token is a piece of an answer. Text is what may be shown now: bytes of an
// unfinished character and what may become a stop string are held back and
// come with a later token.
//
// The last one of an answer has Finish and Usage set. It stands for no token; its
// Text is what was held back. (If more was held back than one Token can say, others
// precede it that repeat the ID of the one before.)
type Token struct {
	ID   int32
	Text string
	// Reasoning is a piece of what the model thinks before it answers, and Call a piece
	// of a call of one of the conversation's tools; a token may complete several of the
	// three. Only [Model.Chat] tells them from Text, unless [Conversation].Raw is set.
	Reasoning string
	Call      *CallPart

	LogProb float32         // natural logarithm, under the unmodified distribution; 0 unless Sampling.LogProbs is set
	Top     []LogProb       // the Sampling.LogProbs most likely tokens
	Finish  string          // "stop", or "length" when MaxTokens or the context was reached
	Stop    string          // of Options.Stop, the text that ended the answer; set on the last token alone
	Usage   *Usage          // of the answer; set on the last token alone
	Receipt json.RawMessage // as [Options].Receipt asks, on the last token alone
}

// A CallPart is a piece of a call as the model writes it. The first part of a call has
// its ID and Name; the Arguments of all its parts, put together, are an object of JSON.
type CallPart struct {
	Index     int // of the call in the answer, from 0
	ID, Name  string
	Arguments string
	// Broken says that the call is none: the model ended it where it must not end, or
	// wrote what is no JSON. All of it follows as Text.
	Broken bool
}

// A Usage counts the tokens of an answer and of what it answers.
type Usage struct {
	Prompt int `json:"prompt"` // tokens of the prompt, those included that a template or the tokenizer added
	Cached int `json:"cached"` // of those, tokens that were not computed because their keys and values were still cached
	Answer int `json:"answer"` // tokens generated, the one with which the model ends included
	// Drafted tokens were computed because they might follow; the Accepted of them did,
	// and took no step of their own.
	Drafted  int `json:"drafted,omitempty"`
	Accepted int `json:"accepted,omitempty"`
	// ModelDrafted and ModelAccepted are those of them that came from [Config].Draft.
	ModelDrafted  int `json:"model_drafted,omitempty"`
	ModelAccepted int `json:"model_accepted,omitempty"`
}

// Generate continues a prompt and yields tokens as they are computed. The sequence
// is single-use: the request starts when it is ranged over, and ends with a token
// whose Finish is set or with an error, which is the last pair.
//
// Breaking out of the loop or canceling ctx ends the request. A slow
// loop does not hold up other requests. More requests than
// [Config.Slots] wait for their turn. A prompt that is longer than the context
// is a [*ContextError]; bad sampling is a [*ConfigError].
//
// Print Text as it comes: it may be empty, because an incomplete character, or
// what may become a stop string, is held back until the next token.
func (m *Model) Generate(ctx context.Context, p Prompt) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if len(p.Images) > 0 {
			m.generateSeeing(ctx, &p, yield)
			return
		}
		ids := p.Tokens
		if ids == nil {
			var err error
			if ids, err = m.tokenize(ctx, p.Text, nil, true); err != nil {
				yield(Token{}, err)
				return
			}
			if len(ids) == 0 { // an empty prompt starts a document
				ids = m.start()
			}
		}
		m.generate(ctx, ids, nil, &p.Options, m.text.Writer(p.Stop), yield)
	}
}

// start returns the token that begins a document, for an empty prompt.
func (m *Model) start() []int32 {
	if id, ok := m.text.Tokenizer.ID(m.text.BOS); ok && m.text.BOS != "" {
		return []int32{id}
	}
	return m.text.Stop[:min(1, len(m.text.Stop))]
}

// doubly says, once, that a prompt begins with two tokens of a beginning: its text, or the
// chat template, has one besides the tokenizer's. Models answer worse then.
func (m *Model) doubly(ids []int32) {
	if len(ids) < 2 || ids[0] != ids[1] || m.text.BOS == "" || m.text.Tokenizer == nil {
		return
	}
	if id, ok := m.text.Tokenizer.ID(m.text.BOS); ok && id == ids[0] {
		m.doubled.Do(func() {
			m.plan.compiled.Note("a prompt begins with " + m.text.BOS + " twice, in its text and from the tokenizer: leave it out of the text")
		})
	}
}

// prepare returns what the scheduler is asked for. Run it, or call its Ended, if it has one.
func (m *Model) prepare(ctx context.Context, ids []int32, images []sched.Image, o *Options) (r sched.Request, err error) {
	m.doubly(ids)
	switch {
	case o.Receipt != "" && o.Receipt != "ids" && o.Receipt != "hash":
		return r, &ConfigError{"Receipt", o.Receipt, "ids, hash or none"}
	case o.Receipt != "" && len(images) > 0:
		return r, &ConfigError{"Receipt", o.Receipt, "a prompt without images"}
	}
	room := m.Context() - len(ids)
	if r, err = o.request(); err != nil {
		return r, err
	}
	r.Prompt, r.Images, r.MaxTokens = ids, images, room
	if o.MaxTokens > 0 {
		r.MaxTokens = min(o.MaxTokens, room)
	}
	if m.text.Tokenizer != nil && !o.IgnoreEnd {
		r.Stop = m.text.Stop
	}
	if len(o.StopIDs) > 0 {
		r.Stop = slices.Concat(r.Stop, o.StopIDs)
	}
	if r.Constrain, err = m.constrain(ctx, o); err != nil {
		return r, publish(err)
	}
	if o.MinTokens < 0 {
		return r, &ConfigError{"MinTokens", o.MinTokens, "0 or more"}
	}
	if beside := r.Constrain; o.MinTokens > 0 && len(r.Stop) > 0 {
		r.Constrain = func() sample.Constraint {
			var c sample.Constraint
			if beside != nil {
				c = beside()
			}
			return sample.AtLeast(o.MinTokens, r.Stop, m.Vocab(), c)
		}
	}
	return r, m.adapt(&r, o.Adapter, o.AdapterScale)
}

func (m *Model) generate(ctx context.Context, ids []int32, images []sched.Image, o *Options, w *text.Writer, yield func(Token, error) bool) {
	r, err := m.prepare(ctx, ids, images, o)
	if err != nil {
		w.Close()
		yield(Token{}, err)
		return
	}
	m.run(ctx, r, o, w, yield)
}

// run yields the tokens of a request.
func (m *Model) run(ctx context.Context, r sched.Request, o *Options, w *text.Writer, yield func(Token, error) bool) {
	defer w.Close()
	st, err := m.engine.Sched.Submit(ctx, r)
	if err != nil {
		yield(Token{}, publish(err))
		return
	}
	defer st.Close()
	last, stopped := Token{}, false
	var ids []int32 // for a receipt
	for !stopped {
		t, ok := st.Next()
		if !ok {
			break
		}
		if ctx.Err() != nil { // tokens that came before it may still wait
			yield(Token{}, context.Cause(ctx))
			return
		}
		if o.Receipt != "" {
			ids = append(ids, t.ID)
		}
		if slices.Contains(r.Stop, t.ID) {
			continue // the scheduler ends after it
		}
		stopped = w.Add(t.ID)
		last = Token{ID: t.ID, LogProb: t.LogProb, Top: newLogProbs(t.Top)}
		last.fill(w)
		if !yield(last, nil) {
			return
		}
	}
	finish := sched.FinishStop
	if !stopped {
		if err := st.Err(); err != nil {
			yield(Token{}, publish(err))
			return
		}
		if finish = st.Finish(); w.Flush() {
			finish = sched.FinishStop
		}
	}
	end := Token{}
	for end.fill(w) {
		if end.ID = last.ID; !yield(end, nil) {
			return
		}
		end = Token{}
	}
	end.Finish, end.Stop, end.Usage = string(finish), w.Hit(), usage(st)
	if o.Receipt != "" {
		if end.Receipt, err = m.receipt(ctx, &r, o, ids, stopped, finish); err != nil {
			yield(Token{}, err)
			return
		}
	}
	yield(end, nil)
}

func usage(st *sched.Stream) *Usage {
	u := Usage(st.Usage())
	return &u
}

// LogitsOptions choose the rows that [Model.Logits] returns. The zero value gives
// the row after the last token, from which the next token would be chosen.
type LogitsOptions struct {
	All bool // a row after every token, not only after the last
	// Step computes the first Step tokens as a prompt and feeds the others one
	// by one, as if they had been generated. 0 = all at once. The rows are the
	// same either way.
	Step int
	// Adapter and AdapterScale are as in [Options].
	Adapter      string
	AdapterScale float32
	// Trace, if not nil, receives the outputs of every instruction of the steps, which
	// have rows of no other request, in the order in which they are computed. It is called
	// between two instructions and must not use the model. Results are the same bits.
	Trace func(TracedOutput)
}

// A TracedOutput is what one instruction of a step computed.
type TracedOutput struct {
	Step        int    // of the call, from 0
	First       int    // token of the first row; those that a cache has are not computed
	Instruction int    // of the program that ran, as "atenia plan" prints it
	Opcode      string // such as "linear"
	Layer       int    // -1 outside layers
	Output      int    // of the instruction, from 0
	// Values is [rows, Cols], valid during the call. Rows are tokens, or what an
	// instruction makes of them: after the last layer those whose logits are wanted.
	Values []float32
	Cols   int
}

// Logits returns the model's logits, [rows, vocab]: the row after the last token,
// or a row after each token if All is set. Use it to score texts, to classify, or
// to choose tokens by a method that [Sampling] does not have.
//
// Rows are copied. A vocabulary of 128,000 tokens takes 512 kB a row, so for All
// of a long text prefer [Model.EachLogits], which keeps the rows of one step at a time.
func (m *Model) Logits(ctx context.Context, tokens []int32, o LogitsOptions) ([][]float32, error) {
	var rows [][]float32
	err := m.EachLogits(ctx, tokens, o, func(_ int, logits []float32) {
		rows = append(rows, slices.Clone(logits))
	})
	return rows, err
}

// EachLogits calls f with each row of logits in order; row is the index of the
// token that the logits come after. The slice is valid during the call, and the
// sequence waits for it. A row with a NaN is an error, and f does not see it: the
// model's weights are damaged, or its numbers overflow.
//
// f is called by the goroutine that calls EachLogits, with copies of the rows of one
// step at a time, and may use the model: Generate, Tokenize and Close in it return, as
// does another EachLogits. Other requests are computed beside this one. When they wait
// while all of [Config].Slots are of sequences whose f has not returned, such as for a
// Generate inside f with one slot, one of these gives its slot up after a fifth of a
// second and is computed again, with the same rows, when f has returned. So none waits
// forever.
func (m *Model) EachLogits(ctx context.Context, tokens []int32, o LogitsOptions, f func(row int, logits []float32)) error {
	if o.Step < 0 || o.Step > len(tokens) {
		return &ConfigError{"Step", o.Step, fmt.Sprintf("0 to %d, the number of tokens", len(tokens))}
	}
	r := sched.Request{Prompt: tokens, All: o.All, Rows: true}
	if o.Step > 0 {
		r.Prompt, r.Forced = tokens[:o.Step], tokens[o.Step:]
	}
	if f := o.Trace; f != nil {
		r.Trace = func(t sched.Traced) {
			f(TracedOutput{t.Step, t.First, t.Instruction, t.Op.String(), t.Layer, t.Output, t.Values, t.Cols})
		}
	}
	if err := m.adapt(&r, o.Adapter, o.AdapterScale); err != nil {
		return err
	}
	st, err := m.engine.Sched.Submit(ctx, r)
	if err != nil {
		return publish(err)
	}
	return publish(st.Rows(func(row int, logits []float32) error {
		if ctx.Err() != nil { // rows that came before it may still wait
			return context.Cause(ctx)
		}
		if i := slices.IndexFunc(logits, func(l float32) bool { return l != l }); i >= 0 {
			return fmt.Errorf("after token %d: %w", row, &sample.LogitsError{Index: i, Value: logits[i]})
		}
		f(row, logits)
		return nil
	}))
}

// reader returns a writer that tells text, reasoning and calls of an answer to a
// conversation apart. prompt is the conversation as the model reads it.
func (m *Model) reader(c *Conversation, prompt string) *text.Writer {
	if c.Raw {
		return m.text.Writer(c.Stop)
	}
	w := m.text.Parsed(c.Stop, schemasOf(c.Tools), prompt, newCallID)
	if c.OneCall {
		w.OneCall()
	}
	return w
}

// schemasOf returns the schemas of tools' parameters by the tools' names.
func schemasOf(tools []Tool) map[string][]byte {
	schemas := map[string][]byte{}
	for _, t := range tools {
		schemas[t.Name] = t.Parameters
	}
	return schemas
}

// newCallID returns nine letters and digits, which is what Mistral's templates ask for.
func newCallID() string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var id [9]byte
	for i := range id {
		id[i] = digits[rand.IntN(len(digits))]
	}
	return string(id[:])
}

// fill moves to a token what it can say of what is to be said: reasoning, text and a
// part of a call, in this order. It reports whether something is left.
func (t *Token) fill(w *text.Writer) (more bool) {
	n := 0
	for _, e := range w.Pending() {
		switch {
		case e.Reasoning != "" && t.Text == "" && t.Call == nil:
			t.Reasoning += e.Reasoning
		case e.Text != "" && t.Call == nil:
			t.Text += e.Text
		case e.Call != nil && t.Call == nil:
			part := CallPart(*e.Call)
			t.Call = &part
		default:
			w.Take(n)
			return true
		}
		n++
	}
	w.Take(n)
	return false
}
