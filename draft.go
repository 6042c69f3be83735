package atenia

import (
	"fmt"

	"atenia/internal/engine"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/text/token"
)

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
