package cli

import (
	"io"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/pflag"
)

// thinking are the flags of models that think before they answer.
type thinking struct{ on, off bool }

func (t *thinking) register(f *pflag.FlagSet) {
	f.BoolVar(&t.on, "think", false, "let the model think before it answers, if its template has a choice")
	f.BoolVar(&t.off, "no-think", false, "make the model answer at once, if its template has a choice")
}

// variables returns what the flags are for a chat template. Most templates call it
// enable_thinking; those of DeepSeek and Granite, thinking.
func (t *thinking) variables() (map[string]any, error) {
	switch {
	case t.on && t.off:
		return nil, command.Usagef("--think and --no-think are opposites; give one of them")
	case t.on || t.off:
		return map[string]any{"enable_thinking": t.on, "thinking": t.on}, nil
	}
	return nil, nil
}

const (
	dim    = "\x1b[2m" // ECMA-48: faint
	bright = "\x1b[22m"
)

// print prints a token: its reasoning dimmed, and in a terminal alone.
func (t *talk) print(tok atenia.Token) error {
	if tok.Reasoning != "" && t.lines.Terminal {
		start := ""
		if !t.thinks {
			start, t.thinks = dim, true
		}
		if _, err := io.WriteString(t.a.out, start+tok.Reasoning); err != nil {
			return err
		}
	}
	if tok.Text == "" {
		return nil
	}
	if err := t.bright("\n\n"); err != nil {
		return err
	}
	_, err := io.WriteString(t.a.out, tok.Text)
	return err
}

// bright ends reasoning that is being printed.
func (t *talk) bright(then string) error {
	if !t.thinks {
		return nil
	}
	t.thinks = false
	_, err := io.WriteString(t.a.out, bright+then)
	return err
}
