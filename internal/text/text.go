package text

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"atenia/internal/chat"
	"atenia/internal/modelfile"
	"atenia/internal/sample"
	"atenia/internal/token"
)

// A Text is how a model reads and writes text.
type Text struct {
	Tokenizer *token.Tokenizer
	Template  *chat.Template    // nil when the model has none
	Vars      map[string]string // variables of the template: bos_token, eos_token, …
	Stop      []int32           // tokens that end an answer, ascending
	Sampling  sample.Params     // recommended by the model's makers, or the usual
	BOS       string            // text of the first special token, "" for none
}

// Usual is the sampling for models that recommend none.
var Usual = sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95}

// An AbsentError says that a model file lacks something about text.
type AbsentError struct{ What, Where string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("the model has no %s (looked for %s)", e.What, e.Where)
}

// Load reads everything a description says about text. A model without a
// tokenizer is usable with token ids, so that is an [*AbsentError] beside a
// Text without one.
func Load(d *modelfile.Description) (*Text, error) {
	if d.Format == "gguf" {
		return fromGGUF(d)
	}
	return fromFolder(d)
}

// endings are tokens that end a turn in the chat formats in use, by their
// text. Many files name only one of their own.
var endings = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|end_of_text|>",
	"<|eot|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<EOT>", "_<EOT>", "</s>", "<|end_of_role|>",
}

// stops joins the ids that a file names with the endings its vocabulary marks
// as special. Named ids come first in authority; unknown ones are dropped.
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
	return slices.Sorted(maps.Keys(set))
}

// template parses a chat template. A model without one is not an error; a
// template that cannot be run is, when somebody asks for it.
func (t *Text) template(name, source string) error {
	if source == "" {
		return nil
	}
	tmpl, err := chat.Parse(name, source)
	if err != nil {
		return fmt.Errorf("chat template: %w", err)
	}
	t.Template = tmpl
	return nil
}

// Partial reports whether err only says that something is absent or cannot be
// run, so that the rest of a [Text] can be used.
func Partial(err error) bool {
	if _, ok := errors.AsType[*AbsentError](err); ok {
		return true
	}
	_, ok := errors.AsType[*chat.SyntaxError](err)
	return ok
}
