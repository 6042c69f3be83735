package quila_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/quila"
	"atenia/quila/config"
	"atenia/quila/internal/sxlm"
)

// fresh writes the file of a network that has learned nothing.
func fresh(t *testing.T, change func(c *config.Config)) string {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.Training()
	if change != nil {
		change(&c)
	}
	m, err := sxlm.Fresh(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	path := filepath.Join(t.TempDir(), "model.sxlm")
	if _, err := sxlm.Write(t.Context(), path, m, sxlm.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// say collects an answer.
func say(t *testing.T, m *quila.Model, prompt string, o quila.Generation) (text string, codes []int32, finish string) {
	t.Helper()
	for tok, err := range m.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		text += tok.Text
		if finish = tok.Finish; finish == "" {
			codes = append(codes, tok.Code)
		}
	}
	return text, codes, finish
}

// TestGenerate: answers depend on the prompt and the seed alone: not on earlier
// calls, nor on threads. Answers are bounded, and stop texts are not part of them.
func TestGenerate(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"nano":     nil,
		"messages": func(c *config.Config) { c.FP8, c.Uncertainty = true, true },
		"sparse": func(c *config.Config) {
			c.Refractory, c.Stagger, c.K, c.ActiveCap, c.FP8 = true, true, 5, .5, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := fresh(t, change)
			var first string
			for _, threads := range []int{1, 3} {
				m, err := quila.Open(t.Context(), path, &quila.Options{Threads: threads})
				if err != nil {
					t.Fatal(err)
				}
				o := quila.Generation{MaxTokens: 20, Temperature: .8, Seed: 7}
				text, codes, finish := say(t, m, "the red cat", o)
				if finish == "length" && len(codes) != 20 {
					t.Errorf("%d codes, want 20", len(codes))
				}
				say(t, m, "#a1d2e4?", quila.Generation{MaxTokens: 5})
				if again, _, _ := say(t, m, "the red cat", o); again != text {
					t.Errorf("%q, after another call %q", text, again)
				}
				if first == "" {
					first = text
				}
				if text != first {
					t.Errorf("%d threads: %q, one has %q", threads, text, first)
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				for _, err := range m.Generate(t.Context(), "x", o) {
					if !errors.Is(err, quila.ErrClosed) {
						t.Errorf("closed: %v", err)
					}
				}
			}
		})
	}
}

// TestGenerateStops: breaking out and cancelling end a call, and the next one
// begins as if it had not been.
func TestGenerateStops(t *testing.T) {
	m, err := quila.Open(t.Context(), fresh(t, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, err := range m.Generate(t.Context(), "1+2=", quila.Generation{MaxTokens: -1}) {
		if err == nil || !strings.Contains(err.Error(), "0 or more") {
			t.Errorf("fewer codes than none: %v", err)
		}
	}
	want, _, _ := say(t, m, "1+2=", quila.Generation{MaxTokens: 8})
	for range m.Generate(t.Context(), "1+2=", quila.Generation{MaxTokens: 8}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range m.Generate(ctx, "1+2=", quila.Generation{MaxTokens: 100}) {
		if n++; n == 3 {
			cancel()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if n > 5 {
		t.Errorf("%d codes after cancelling", n)
	}
	if got, _, _ := say(t, m, "1+2=", quila.Generation{MaxTokens: 8}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(want) > 1 {
		stop := want[1:2]
		got, _, finish := say(t, m, "1+2=", quila.Generation{MaxTokens: 8, Stop: []string{stop}})
		if strings.Contains(got, stop) || finish != "stop" {
			t.Errorf("%q has the stop text %q, finish %q", got, stop, finish)
		}
	}
}

// TestOpenDamaged: a file with one flipped bit, cut or missing is an error.
func TestOpenDamaged(t *testing.T) {
	path := fresh(t, nil)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	bad := filepath.Join(t.TempDir(), "bad.sxlm")
	if err := os.WriteFile(bad, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := quila.Open(t.Context(), bad, nil); err == nil {
		t.Error("a damaged file is opened")
	}
	if _, err := quila.ReadHeader(t.Context(), bad); err == nil {
		t.Error("a damaged file has a header")
	}
	h, err := quila.ReadHeader(t.Context(), path)
	if err != nil || h.Neurons != 8 || len(h.Blocks) != 7 {
		t.Errorf("%+v, %v", h, err)
	}
	if err := os.Truncate(bad, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := quila.Open(t.Context(), bad, nil); err == nil {
		t.Error("a file that was cut is opened")
	}
}
