package quila_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"atenia/quila/internal/school"
)

func init() { topics["toy_corpus"] = goldenToy }

func goldenToy(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Corpora []struct {
			Seed    uint64  `json:"seed"`
			Chars   int     `json:"chars"`
			Length  int     `json:"length"`
			Lines   int     `json:"lines"`
			Entropy float64 `json:"entropy_bits_per_char"`
			SHA     string  `json:"sha256"`
			First   string  `json:"first"`
			Symbols string  `json:"symbols"`
		} `json:"corpora"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Corpora) == 0 {
		t.Fatal("no corpora")
	}
	for _, want := range file.Corpora {
		c := school.MakeToy(want.Seed, want.Chars)
		if n := min(len(c.Text), len(want.First)); string(c.Text[:n]) != want.First {
			t.Errorf("seed %d begins %.60q, want %.60q", want.Seed, c.Text, want.First)
		}
		if len(c.Text) != want.Length || c.Lines != want.Lines {
			t.Errorf("seed %d has %d characters in %d lines, want %d in %d", want.Seed, len(c.Text), c.Lines, want.Length, want.Lines)
		}
		near(t, "entropy", []float64{c.Entropy}, []float64{want.Entropy}, 1e-12, 0)
		sum := sha256.Sum256(c.Text)
		if hex.EncodeToString(sum[:]) != want.SHA {
			t.Errorf("seed %d: the text has the SHA-256 %x, want %s", want.Seed, sum, want.SHA)
		}
		symbols := slices.Clone(c.Text)
		slices.Sort(symbols)
		if s := string(slices.Compact(symbols)); s != want.Symbols {
			t.Errorf("seed %d has the symbols %q, want %q", want.Seed, s, want.Symbols)
		}
	}
}
