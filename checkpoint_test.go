package atenia_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// answered returns the tokens of an answer with their probabilities, from a model
// with a checkpoint, and what it took from that.
func answered(t *testing.T, path, dir string, prompt []int32) (ids []int32, probs []float32, r place.Resumed) {
	t.Helper()
	m, err := atenia.Open(t.Context(), path, &atenia.Config{Checkpoint: dir, Threads: 1, Context: 200})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Checkpoint(); ok != (dir != "") {
		t.Errorf("Checkpoint says %t", ok)
	}
	o := atenia.Options{MaxTokens: 9, Sampling: atenia.Sampling{LogProbs: 1}}
	for tok, err := range m.Generate(t.Context(), atenia.Prompt{Tokens: prompt, Options: o}) {
		if err != nil {
			t.Fatal(err)
		}
		if tok.Finish == "" {
			ids, probs = append(ids, tok.ID), append(probs, tok.LogProb)
		}
	}
	r, _ = m.Checkpoint()
	for _, p := range m.Map().Parts { // what a conversation was read with was given back
		if p.Use == "tensors" {
			t.Errorf("%d bytes of tensors are held", p.Bytes)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return ids, probs, r
}

// A conversation goes on across processes with the same bits as if it were
// computed again, for every kind of attention; the parts of it that were written
// are not written again.
func TestCheckpointContinues(t *testing.T) {
	for _, name := range []string{"llama3", "gemma3", "mistral_window", "llama_dynamic_rope"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(golden.Root(t), "testdata", "golden", "parity", name)
			dir := filepath.Join(t.TempDir(), "saved")
			var prompt []int32
			for i := range 50 {
				prompt = append(prompt, int32(3+i*7%90))
			}
			for turn := range 3 {
				want, wantProbs, _ := answered(t, path, "", prompt)
				got, gotProbs, r := answered(t, path, dir, prompt)
				if !slices.Equal(got, want) || !slices.Equal(gotProbs, wantProbs) {
					t.Fatalf("turn %d: %v %v, want %v %v", turn, got, gotProbs, want, wantProbs)
				}
				// Keys that are rotated for the length of the request fit no longer one.
				if turn > 0 && name != "llama_dynamic_rope" && (r.Sequences == 0 || r.Reused < 48 || r.Ignored != "") {
					t.Errorf("turn %d: %+v", turn, r)
				}
				prompt = append(append(prompt, got...), int32(turn+5), 17, 23)
			}
		})
	}
}

// The same tokens have other keys where rotations follow from the length of a request:
// pages of one length are not taken for those of another.
func TestCheckpointSpans(t *testing.T) {
	path := filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama_dynamic_rope")
	dir := filepath.Join(t.TempDir(), "saved")
	var prompt []int32
	for i := range 53 {
		prompt = append(prompt, int32(3+i*7%90))
	}
	want, wantProbs, _ := answered(t, path, "", prompt)
	answered(t, path, dir, prompt[:50]) // keeps three pages, as the longer one does
	answered(t, path, dir, prompt)
	got, gotProbs, r := answered(t, path, dir, prompt)
	if r.Reused != 48 || !slices.Equal(got, want) || !slices.Equal(gotProbs, wantProbs) {
		t.Errorf("%d tokens reused: %v %v, want 48: %v %v", r.Reused, got, gotProbs, want, wantProbs)
	}
}

// A folder in use, of another model or damaged is said to be, by type.
func TestCheckpointErrors(t *testing.T) {
	t.Parallel() // it waits for a lock
	root := filepath.Join(golden.Root(t), "testdata", "golden", "parity")
	path, dir := filepath.Join(root, "llama3"), filepath.Join(t.TempDir(), "saved")
	m, err := atenia.Open(t.Context(), path, &atenia.Config{Checkpoint: dir})
	if err != nil {
		t.Fatal(err)
	}
	open := func(path string) error {
		m, err := atenia.Open(context.Background(), path, &atenia.Config{Checkpoint: dir})
		if err == nil {
			err = m.Close()
		}
		return err
	}
	if err := open(path); !errors.Is(err, atenia.ErrCheckpointBusy) {
		t.Errorf("in use: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(filepath.Join(root, "qwen3")); !errors.Is(err, atenia.ErrCheckpointOther) {
		t.Errorf("another model: %v", err)
	}
	if err := os.Truncate(filepath.Join(dir, "checkpoint.meta"), 100); err != nil {
		t.Fatal(err)
	}
	if err := open(path); !errors.Is(err, atenia.ErrCheckpointDamaged) {
		t.Errorf("damaged: %v", err)
	}
}
