package quila

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"atenia/internal/cli/command"
	"atenia/quila"
)

// IsModel reports whether a path names a neuron-graph model.
func IsModel(path string) bool { return strings.EqualFold(filepath.Ext(path), ".sxlm") }

// A Continuation is what run asks of such a model.
type Continuation struct {
	Path, Prompt string
	Threads      int
	Echo         bool // print the prompt first
	MaxTokens    int
	Stop         []string
	Temperature  float32
	TopK         int
	TopP, MinP   float32
	Seed         uint64
}

// continued is what run prints with --json.
type continued struct {
	Prompt     string  `json:"prompt"`
	Text       string  `json:"text"`
	Finish     string  `json:"finish"`
	Tokens     int     `json:"tokens"`
	Seed       uint64  `json:"seed"`
	Seconds    float64 `json:"seconds"`
	Confidence float64 `json:"confidence"` // mean of the Thinkers'
	Codes      []int32 `json:"codes"`
}

// Continue continues a text and prints it as it comes.
func Continue(ctx context.Context, env *command.Env, r Continuation) error {
	m, err := quila.Open(ctx, r.Path, &quila.Options{Threads: r.Threads})
	if err != nil {
		return err
	}
	defer m.Close()
	start := time.Now()
	out := continued{Prompt: r.Prompt, Seed: r.Seed, Codes: []int32{}}
	shown := env.Out
	if *env.JSON {
		shown = io.Discard
	}
	if r.Echo {
		io.WriteString(shown, r.Prompt)
	}
	var text strings.Builder
	o := quila.Generation{MaxTokens: r.MaxTokens, Stop: r.Stop, Temperature: r.Temperature, TopK: r.TopK, TopP: r.TopP, MinP: r.MinP, Seed: r.Seed}
	for t, err := range m.Generate(ctx, r.Prompt, o) {
		if err != nil {
			return err
		}
		text.WriteString(t.Text)
		if _, err := io.WriteString(shown, t.Text); err != nil {
			return err
		}
		if t.Finish != "" {
			out.Finish = t.Finish
			break
		}
		out.Codes = append(out.Codes, t.Code)
		out.Confidence += float64(t.Confidence)
	}
	fmt.Fprintln(shown)
	if !*env.JSON {
		return nil
	}
	out.Text, out.Tokens, out.Seconds = text.String(), len(out.Codes), time.Since(start).Seconds()
	out.Confidence /= float64(max(1, out.Tokens))
	return env.PrintJSON(out)
}

// Inspect verifies a model file and prints what it holds.
func Inspect(ctx context.Context, env *command.Env, path string, lineage []string) error {
	if !*env.JSON {
		return quila.Describe(env.Out, path, lineage)
	}
	h, err := quila.ReadHeader(ctx, path)
	if err != nil {
		return err
	}
	return env.PrintJSON(h)
}
