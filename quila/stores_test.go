package quila_test

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/quila"
	"atenia/quila/config"
	"atenia/quila/internal/sxlm"
)

// stored writes the file of a network that has learned nothing, but has stores.
func stored(t *testing.T, change func(m *sxlm.Model)) string {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.Training()
	c.KFEAlpha, c.KFEBeta, c.KFEGamma = 0, 0, 0 // every state is worth an entry
	m, err := sxlm.Fresh(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if change != nil {
		change(m)
	}
	path := filepath.Join(t.TempDir(), "model.sxlm")
	if _, err := sxlm.Write(t.Context(), path, m, sxlm.Options{Codec: quick{sxlm.Zstd}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// A quick codec compresses little, whatever the level.
type quick struct{ sxlm.Codec }

func (q quick) Encoder(block, _ int, frame io.Writer, raw int64) (io.WriteCloser, error) {
	return q.Codec.Encoder(block, 1, frame, raw)
}

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// libraries gives every neuron 300 entries, more than a page.
func libraries(m *sxlm.Model) {
	rng := rand.New(rand.NewPCG(4, 4))
	for n := range m.Config.N {
		lib := sxlm.Library{Neuron: uint32(n)}
		for i := range 100 {
			x := normals(rng, m.Config.D)
			lib.Entries = append(lib.Entries, sxlm.Entry{ID: uint64(n)<<32 | uint64(i), Embedding: sxlm.Narrow(x), Snapshot: sxlm.Narrow(normals(rng, m.Config.D)), Utility: .5, Confidence: .5})
		}
		m.Libraries = append(m.Libraries, lib)
	}
	m.Epoch = 12
}

// table fills the look-up memory.
func table(m *sxlm.Model) {
	m.Engram.Table = sxlm.Narrow(normals(rand.New(rand.NewPCG(5, 5)), m.Engram.Rows*m.Config.D))
}

// manner gives a persona, and a matrix that it comes in by.
func manner(m *sxlm.Model) {
	rng := rand.New(rand.NewPCG(6, 6))
	copy(m.Persona, normals(rng, len(m.Persona)))
	copy(m.Weights.Of("head.persona_w"), normals(rng, len(m.Weights.Of("head.persona_w"))))
}

// chances are the probabilities of an answer's codes.
func chances(t *testing.T, m *quila.Model) (out []float32) {
	t.Helper()
	for tok, err := range m.Generate(t.Context(), "the red cat", quila.Generation{MaxTokens: 6, Temperature: .7, Seed: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tok.LogProb)
	}
	return out
}

func opened(t *testing.T, path string, o *quila.Options) *quila.Model {
	t.Helper()
	m, err := quila.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// TestStores: a call hears what each store of its file has to say, with the same
// bits for any number of threads, after other calls, and with most entries in a
// folder; the account of the process has all of it back when the model is closed. A
// store that is not asked, or is not released, fails.
func TestStores(t *testing.T) {
	plain := chances(t, opened(t, stored(t, nil), nil))
	for name, change := range map[string]func(*sxlm.Model){"libraries": libraries, "table": table, "persona": manner} {
		t.Run(name, func(t *testing.T) {
			path := stored(t, change)
			held := ledger.Process.Of(ledger.Tensors)
			dir := t.TempDir()
			var first []float32
			warnings := 0
			for _, o := range []*quila.Options{nil, {Threads: 3}, {Store: dir, StoreRAM: 70 << 10, Warn: func(string) { warnings++ }}} {
				m := opened(t, path, o)
				for range 2 {
					got := chances(t, m)
					if first == nil {
						first = got
					}
					if !slices.Equal(got, first) {
						t.Errorf("%+v: %v, first %v", o, got, first)
					}
				}
				for range m.Generate(t.Context(), "1+", quila.Generation{}) {
					break
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				for range m.Generate(ctx, "1+", quila.Generation{}) {
				}
				if got := chances(t, m); !slices.Equal(got, first) {
					t.Errorf("after calls that were broken off: %v, first %v", got, first)
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				if now := ledger.Process.Of(ledger.Tensors); now != held {
					t.Errorf("%d bytes are held after Close", now-held)
				}
			}
			if slices.Equal(first, plain) {
				t.Error("the store has nothing to say")
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 1 || warnings > 1 {
				t.Errorf("%v is left in the folder, %d warnings, %v", left, warnings, err)
			}
		})
	}
}

// TestLearn: calls that may add entries change later ones; what was added is saved,
// with the turns, and another process goes on from it. Without leave nothing is
// added.
func TestLearn(t *testing.T) {
	path := stored(t, nil)
	for _, learn := range []bool{false, true} {
		m := opened(t, path, &quila.Options{Learn: learn})
		first := chances(t, m)
		second := chances(t, m)
		if slices.Equal(first, second) == learn {
			t.Errorf("learn %v: the second answer is equal: %v", learn, !learn)
		}
		next := filepath.Join(t.TempDir(), "next.sxlm")
		if err := m.Save(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		want := chances(t, m)
		f, err := sxlm.Read(t.Context(), next, sxlm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(f.Libraries); learn != (n > 0) || learn && f.Epoch != 2 {
			t.Errorf("learn %v: %d libraries after %d turns are saved", learn, n, f.Epoch)
		}
		if f.Parent == "" {
			t.Error("the saved model has no parent")
		}
		f.Close()
		if got := chances(t, opened(t, next, &quila.Options{Learn: learn})); !slices.Equal(got, want) {
			t.Errorf("learn %v: %v after opening again, %v without", learn, got, want)
		}
	}
}

// TestStagesSaved: what the second stage learned besides weights is in the file and
// read back.
func TestStagesSaved(t *testing.T) {
	if testing.Short() {
		t.Skip("trains until the gate of the library opens")
	}
	o := shortTraining(t, 0)
	o.Steps, o.StopAt, o.Stages, o.Batch, o.Window = 100, 64, "b", 8, 24
	if !await.Long() {
		o.StopAt = 32 // the gate opens at step 28
	}
	o.Config.KFEAlpha, o.Config.KFEBeta, o.Config.KFEGamma = 0, 0, 0
	got, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.sxlm")
	if err := got.Save(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	f, err := sxlm.Read(t.Context(), path, sxlm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, rows := 0, 0
	for i := range f.Libraries {
		entries += len(f.Libraries[i].Entries)
	}
	d := f.Config.D
	for r := 0; r < len(f.Engram.Table)/d; r++ {
		if slices.ContainsFunc(f.Engram.Table[r*d:][:d], func(x uint16) bool { return x != 0 }) {
			rows++
		}
	}
	if entries == 0 || rows == 0 || rows == f.Engram.Rows || f.Epoch == 0 {
		t.Errorf("%d entries, %d rows of the look-up memory and %d turns are saved", entries, rows, f.Epoch)
	}
	t.Logf("%d entries, %d rows, %d turns", entries, rows, f.Epoch)
	with := chances(t, opened(t, path, nil))
	f.Libraries, f.Engram.Table = nil, nil
	bare := filepath.Join(t.TempDir(), "bare.sxlm")
	if _, err := sxlm.Write(t.Context(), bare, f, sxlm.Options{}); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(with, chances(t, opened(t, bare, nil))) {
		t.Error("a call does not hear what the stages learned")
	}
}
