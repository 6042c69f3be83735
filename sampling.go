package atenia

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"atenia/internal/engine"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/sample"
	"atenia/internal/text/token"
)

// Sampling says how the next token is chosen from the logits. The zero value
// takes the most likely token, which suits extraction, code and tests; prose gets
// repetitive. [Model.Sampling] returns what the model's makers recommend, a good
// start for everything else.
//
// The same seed gives the same answer, so give each request its own Seed if
// answers should differ. [Sampling.Validate] checks values that come from a user.
//
// A zero field leaves its stage out or means the default named beside it. Names
// and meanings are llama.cpp's unless said otherwise.
type Sampling struct {
	// Temperature divides the logits. 0 is greedy: the most likely token after
	// LogitBias, penalties and DRY, regardless of the other fields.
	Temperature float32
	// TopP keeps the fewest tokens with this total probability. 0 or 1 is off.
	TopP float32
	// MinP keeps tokens at least MinP times as probable as the first one. 0 is
	// off.
	MinP float32
	// Typical keeps the tokens whose surprise is nearest to the expected one, up to
	// this total probability (locally typical sampling). 0 or 1 is off.
	Typical float32
	// XTCProbability is how often, of the tokens as probable as XTCThreshold or more, all but
	// the least probable are left out ("exclude top choices"). 0, and a threshold of 0 or above
	// 0.5, are off.
	XTCProbability float32
	XTCThreshold   float32
	// RepeatPenalty divides positive logits of recent tokens and multiplies
	// negative ones. 0 or 1 is off.
	RepeatPenalty float32
	// FrequencyPenalty is subtracted from a recent token's logit once for each
	// of its occurrences. It may be negative.
	FrequencyPenalty float32
	// PresencePenalty is subtracted once from the logit of each recent token. It
	// may be negative.
	PresencePenalty float32
	// TopK keeps the K most likely tokens. 0 or less is off.
	TopK int
	// RepeatLast is the number of recent tokens for the three penalties: 0 is 64,
	// less than 0 is all.
	RepeatLast int
	// DRY penalises tokens that would continue a repetition.
	DRY DRY
	// Mirostat keeps surprise near a constant; it replaces the truncating stages
	// (top-k, typical, top-p, min-p).
	Mirostat Mirostat
	// LogitBias is added to the logits of the given tokens before any stage.
	// Negative infinity forbids a token.
	LogitBias map[int32]float32
	// Seed seeds the random stream. Equal seeds and logits give equal tokens.
	Seed uint64
	// Order lists the stages in the order in which they run; stages not listed do
	// not run. Empty is [DefaultOrder].
	Order []Stage
	// LogProbs requests this number of most likely tokens with every choice, and
	// the log-probability of the chosen one; see [Token].
	LogProbs int
}

// DRY ("don't repeat yourself") is the part of [Sampling] that lowers the logit
// of a token that would extend a repetition of length n ≥ AllowedLength by
// Multiplier·Base^(n−AllowedLength).
type DRY struct {
	Multiplier    float32   // 0 is off
	Base          float32   // 0 is 1.75
	AllowedLength int       // shortest repetition that has a price; 0 is 2
	Range         int       // how many recent tokens are searched; 0 or less is all
	Breakers      [][]int32 // token sequences that no repetition reaches across
}

// Mirostat is the part of [Sampling] that steers towards a constant surprise:
// version 2 of Basu et al., arXiv:2007.14966.
type Mirostat struct {
	Tau float32 // target surprise in bits; 0 is off
	Eta float32 // learning rate; 0 is 0.1
}

// Validate returns nil, or an error that names every fault as a
// [*ConfigError].
func (s Sampling) Validate() error { return publish(s.internal().Validate()) }

func newSampling(p sample.Params) Sampling {
	return Sampling{
		Temperature: p.Temperature, TopP: p.TopP, MinP: p.MinP, Typical: p.Typical, XTCProbability: p.XTCProbability, XTCThreshold: p.XTCThreshold,
		RepeatPenalty: p.RepeatPenalty, FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty,
		TopK: p.TopK, RepeatLast: p.RepeatLast, DRY: DRY(p.DRY), Mirostat: Mirostat(p.Mirostat),
		LogitBias: p.LogitBias, Seed: p.Seed, Order: newOrder(p.Order), LogProbs: p.LogProbs,
	}
}

func (s *Sampling) internal() sample.Params {
	return sample.Params{
		Temperature: s.Temperature, TopP: s.TopP, MinP: s.MinP, Typical: s.Typical, XTCProbability: s.XTCProbability, XTCThreshold: s.XTCThreshold,
		RepeatPenalty: s.RepeatPenalty, FrequencyPenalty: s.FrequencyPenalty, PresencePenalty: s.PresencePenalty,
		TopK: s.TopK, RepeatLast: s.RepeatLast, DRY: sample.DRY(s.DRY), Mirostat: sample.Mirostat(s.Mirostat),
		LogitBias: s.LogitBias, Seed: s.Seed, LogProbs: s.LogProbs,
		Order: convertAll(s.Order, func(st Stage) sample.Stage { return sample.Stage(st) }),
	}
}

// A Stage is one step of choosing a token, for Sampling.Order. It is written as
// its name, such as "top-k".
type Stage uint8

// The stages; [DefaultOrder] has the order in which they usually run.
const (
	StagePenalties   = Stage(sample.Penalties)   // RepeatPenalty, FrequencyPenalty, PresencePenalty
	StageDRY         = Stage(sample.DryStage)    // DRY
	StageTopK        = Stage(sample.TopK)        // TopK
	StageTypical     = Stage(sample.Typical)     // Typical
	StageTopP        = Stage(sample.TopP)        // TopP
	StageMinP        = Stage(sample.MinP)        // MinP
	StageTemperature = Stage(sample.Temperature) // Temperature
	StageXTC         = Stage(sample.XTC)         // XTCProbability, XTCThreshold: before Temperature
)

// ParseStage reads the name of a stage: "penalties", "dry", "top-k",
// "typical", "top-p", "min-p", "temperature".
func ParseStage(name string) (Stage, error) {
	s, err := sample.ParseStage(name)
	return Stage(s), err
}

// DefaultOrder returns the order of stages that is used when none is chosen,
// which is llama.cpp's.
func DefaultOrder() []Stage { return newOrder(sample.DefaultOrder()) }

func newOrder(order []sample.Stage) []Stage {
	return convertAll(order, func(s sample.Stage) Stage { return Stage(s) })
}

// String returns the name.
func (s Stage) String() string { return sample.Stage(s).String() }

// MarshalText implements [encoding.TextMarshaler].
func (s Stage) MarshalText() ([]byte, error) { return sample.Stage(s).MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Stage) UnmarshalText(text []byte) error { return (*sample.Stage)(s).UnmarshalText(text) }

// A LogProb is a token with its natural log-probability under the model's
// unmodified distribution: that of the logits before bias and stages.
type LogProb struct {
	ID      int32
	LogProb float32
}

func newLogProbs(top []sample.LogProb) []LogProb {
	return convertAll(top, func(l sample.LogProb) LogProb { return LogProb(l) })
}

// A GrammarError says what of [Options].Schema or [Options].Grammar cannot be
// used. It comes before the request is queued. One that is too much to compile says
// where that was found, and after how many states and how long: 262,144 states and ten
// seconds are the most. Whoever waits for it may cancel the context.
type GrammarError struct {
	// Tool is the name of the one of [Conversation].Tools whose Parameters Pointer is into;
	// [AnyTool] = all of them are too much together. "" = it is about Schema or Grammar.
	Tool    string
	Pointer string // into the schema, as in RFC 6901; "" is its root
	Offset  int    // byte of the grammar
	Why     string
	Err     error // the same in the compiler's words
	// States and Took are how far compiling it came before it exceeded what it may take;
	// 0 = something else is wrong.
	States int
	Took   time.Duration
}

// Error implements error.
func (e *GrammarError) Error() string {
	if e.Tool == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("the parameters of the tool %q: at %s: %s", e.Tool, cmp.Or(e.Pointer, "/"), e.Why)
}

// Unwrap returns Err.
func (e *GrammarError) Unwrap() error { return e.Err }

// constrain returns what makes the constraint of an answer from the schema or
// grammar of o, nil if it has none.
func (m *Model) constrain(ctx context.Context, o *Options) (func() sample.Constraint, error) {
	switch {
	case o.Schema == nil && o.Grammar == "":
		return nil, nil
	case o.Schema != nil && o.Grammar != "":
		return nil, &ConfigError{"Schema", nil, "a schema or a grammar, not both"}
	case m.text.Tokenizer == nil:
		return nil, m.textErr
	}
	return m.grammars.Constrain(ctx, m.text, m.engine.Plan.Model.Config.Vocab, o.Schema, o.Grammar)
}

// RegexGrammar returns a grammar in GBNF, for [Options].Grammar, of the texts that a regular
// expression of ECMA-262 matches whole.
func RegexGrammar(pattern string) (string, error) { return text.Regex(pattern) }

// checkDraft returns why the draft model of a configuration cannot draft for a model with
// a text, which may have no tokenizer: its tokens are others.
func checkDraft(c *Config, p *engine.Plan, t *text.Text) error {
	if early, _, _ := c.early(); early || c.Draft == "" {
		return nil
	}
	d, err := engine.OpenFiles(c.Draft, "", file.HeaderOnly())
	if err != nil {
		return fmt.Errorf("draft model: %w", err)
	}
	defer d.Close()
	own, _ := text.Load(d) // what has no tokenizer is compared by its size
	refuse := func(why string) error {
		return &ConfigError{"Draft", c.Draft, fmt.Sprintf("a model with the tokens of %s, such as a smaller one of its family: %s", p.Path(), why)}
	}
	if t == nil || own == nil || t.Tokenizer == nil || own.Tokenizer == nil {
		if n, want := p.DraftVocab(), p.Model.Config.Vocab; n != want {
			return refuse(fmt.Sprintf("this one has %d, want %d", n, want))
		}
		return nil
	}
	if id, a, b, ok := otherToken(t.Tokenizer, own.Tokenizer); !ok {
		return refuse(fmt.Sprintf("token %d of this one is %q, there it is %q", id, b, a))
	}
	if a, b := t.Tokenizer.VocabSize(), own.Tokenizer.VocabSize(); min(a, b) < max(a, b)/2 {
		return refuse(fmt.Sprintf("this one has %d, want about %d", b, a))
	}
	return nil
}

// otherToken compares the tokens that two vocabularies have in common and returns the
// first that differs. Special tokens may: a variant of a model names those that it adds.
func otherToken(a, b *token.Tokenizer) (id int32, in, of string, same bool) {
	for id := range int32(min(a.VocabSize(), b.VocabSize())) {
		in, there := a.Token(id)
		of, here := b.Token(id)
		if there && here && in != of && !a.IsSpecial(id) && !b.IsSpecial(id) {
			return id, in, of, false
		}
	}
	return 0, "", "", true
}
