package text

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"atenia/internal/model/file"
	"atenia/internal/sample"
	"atenia/internal/text/answer"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

// A Text holds what a model needs to read and write text.
type Text struct {
	Tokenizer *token.Tokenizer
	Template  *chat.Template    // nil if the model has none
	Answers   *answer.Dialect   // how answers mark thoughts and calls; nil without a template
	Vars      map[string]string // variables of the template: bos_token, eos_token, …
	Stop      []int32           // tokens that end a generation, ascending
	Sampling  sample.Params     // recommended by the model's authors, or Usual
	BOS       string            // text of the start token, "" for none

	once    sync.Once // guards control
	control *chat.Control
}

// Control returns the control tokens, which no conversation makes. It must not be called
// without a tokenizer.
func (t *Text) Control() *chat.Control {
	t.once.Do(func() { t.control = chat.NewControl(t.Tokenizer.Control()) })
	return t.control
}

// Usual is the sampling for models without a recommendation.
var Usual = sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95}

// An absentError says what a model file lacks.
type absentError struct{ What, Where string }

func (e *absentError) Error() string {
	return fmt.Sprintf("the model has no %s (looked for %s)", e.What, e.Where)
}

// Load reads everything about text from a description. A model without a
// tokenizer can still be used with token ids, so Load then returns a Text
// without one together with an [*absentError].
func Load(d *file.Description) (*Text, error) {
	read, from := fromFolder, "generation_config.json"
	if d.Format == "gguf" {
		read, from = fromGGUF, "metadata general.sampling"
	}
	t, err := read(d)
	if err == nil {
		if err := t.Sampling.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	return t, err
}

// endings lists the tokens that end a turn in common chat formats. Many files
// name only one of their own.
var endings = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|end_of_text|>",
	"<|eot|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<EOT>", "_<EOT>", "</s>", "<|end_of_role|>",
}

// stops joins the ids that a file names with the endings that its vocabulary
// marks as special. Unknown ids are dropped.
func stops(t *token.Tokenizer, named []int32) []int32 {
	set := map[int32]bool{}
	for _, id := range named {
		if id >= 0 && int(id) < t.VocabSize() {
			set[id] = true
		}
	}
	for _, e := range endings {
		if id, ok := t.ID(e); ok && t.IsSpecial(id) {
			set[id] = true
		}
	}
	// Where messages go through channels, <|end|> ends a thought as well as an answer,
	// and a call ends with a mark of its own.
	if _, channels := t.ID("<|channel|>"); channels {
		if id, ok := t.ID("<|end|>"); ok {
			delete(set, id)
		}
		if id, ok := t.ID("<|call|>"); ok {
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// template parses a chat template. It is no error if there is none; an invalid
// template is an error only when it is used.
func (t *Text) template(name, source string) error {
	if source == "" {
		return nil
	}
	tmpl, err := chat.Parse(name, source)
	if err != nil {
		return fmt.Errorf("chat template: %w", err)
	}
	t.Template = tmpl
	t.Answers = answer.Detect(source, func(token string) bool {
		_, ok := t.Tokenizer.ID(token)
		return ok
	})
	return nil
}

// Partial reports whether err only says that something is missing or unusable,
// so that the rest of a [Text] can be used.
func Partial(err error) bool {
	if _, ok := errors.AsType[*absentError](err); ok {
		return true
	}
	_, ok := errors.AsType[*chat.SyntaxError](err)
	return ok
}
