package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"atenia"
)

// loaded returns a campaign in a folder of its own.
func loaded(t *testing.T, seed uint64) *campaign {
	t.Helper()
	c := &campaign{seed: seed, temp: t.TempDir(), workers: 1}
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"} {
		t.Setenv(name, t.TempDir())
	}
	if err := c.load(""); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSamples: what cases begin with is accepted as it is, within the budget.
func TestSamples(t *testing.T) {
	loaded(t, 1)
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			x := &scratch{ctx: t.Context(), dir: t.TempDir()}
			refused := 0
			for i, s := range f.samples {
				v := judge(x, &damaged{format: f, index: uint64(i), files: s}, true)
				if v.Fault != "" {
					t.Errorf("sample %d: %s %s", i, v.Fault, v.Text)
				}
				if !v.Accepted {
					if refused++; refused < 3 {
						t.Logf("sample %d: %s", i, v.Text)
					}
				}
			}
			if refused == len(f.samples) {
				t.Errorf("%d of %d samples are refused", refused, len(f.samples))
			}
		})
	}
}

// TestSame: a case is the same in every process, and differs from its sample.
func TestSame(t *testing.T) {
	a, b := loaded(t, 7), loaded(t, 7)
	changed := 0
	const n = 400
	for i := range uint64(n) {
		x, y := a.makeCase(i), b.makeCase(i)
		if len(x.files) != len(y.files) || x.format.name != y.format.name {
			t.Fatalf("case %d differs", i)
		}
		for k := range x.files {
			if x.files[k].name != y.files[k].name || !bytes.Equal(x.files[k].data, y.files[k].data) {
				t.Errorf("case %d: %s differs", i, x.files[k].name)
			}
		}
		same := false
		for _, s := range x.format.samples {
			same = same || len(s) == len(x.files) && func() bool {
				for k := range s {
					if !bytes.Equal(s[k].data, x.files[k].data) {
						return false
					}
				}
				return true
			}()
		}
		if !same {
			changed++
		}
	}
	if changed < n*8/10 {
		t.Errorf("%d of %d cases are changed", changed, n)
	}
}

// TestJudge: a panic, time and memory are seen.
func TestJudge(t *testing.T) {
	x := &scratch{ctx: t.Context(), dir: t.TempDir()}
	keep, held := []byte{}, [][]byte{}
	for _, c := range []struct {
		want string
		read func(*scratch, sample) error
	}{
		{"", func(*scratch, sample) error { return nil }},
		{"", func(*scratch, sample) error { // much in all, little at once
			for range 100 {
				keep = make([]byte, 1<<20)
			}
			return nil
		}},
		{"panic", func(_ *scratch, s sample) error {
			return os.WriteFile(filepath.Join(t.TempDir(), "x"), s[9].data, 0o600)
		}},
		{"panic", func(*scratch, sample) error { return &crash{"reported"} }},
		{"memory", func(*scratch, sample) error {
			held = append(held, make([]byte, 100<<20)) // alive when the reader is done
			return nil
		}},
	} {
		v := judge(x, &damaged{format: &format{name: "test", read: c.read}, files: sample{{name: "a"}}}, true)
		if v.Fault != c.want {
			t.Errorf("%q, want %q: %s", v.Fault, c.want, v.Text)
		}
	}
	_, _ = keep, held
}

// TestSplit: the files of a split model have the tensors of the whole one.
func TestSplit(t *testing.T) {
	loaded(t, 1)
	for _, f := range formats {
		if f.name != "gguf" {
			continue
		}
		for _, s := range f.samples {
			g := parseGGUF(s[0].data)
			if g == nil || !bytes.Equal(g.encode(), s[0].data) {
				t.Fatal("a GGUF file is not written as it was")
			}
		}
	}
}

// TestConversation: the sample is of a conversation that goes on from what was saved.
func TestConversation(t *testing.T) {
	loaded(t, 1)
	for _, f := range formats {
		if f.name != "conversation" {
			continue
		}
		for i := range f.samples {
			dir := t.TempDir()
			if err := seal(f.samples[i]).write(dir); err != nil {
				t.Fatal(err)
			}
			m, err := atenia.Open(t.Context(), "", &atenia.Config{Threads: 1, Context: 128, Checkpoint: dir})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range m.Generate(t.Context(), atenia.Prompt{Text: asked, Options: atenia.Options{MaxTokens: 1}}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if r, ok := m.Checkpoint(); !ok || r.Reused < 32 {
				t.Errorf("sample %d: %+v", i, r)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		return
	}
	t.Error("there is no such format")
}

// TestSums: of formats with checksums some changed files are accepted, so that
// changes get past the sums.
func TestSums(t *testing.T) {
	loaded(t, 1)
	x := &scratch{ctx: t.Context(), dir: t.TempDir()}
	for _, f := range formats {
		if f.name != "snapshot" && f.name != "sxlm" {
			continue
		}
		accepted := 0
		const n = 60
		for i := range uint64(n) {
			r := rngFor(1, i)
			e := f.samples[0][0]
			if e.data = mutateSnapshot(r, e.data); f.name == "sxlm" {
				e.data = mutateSXLM(r, f.samples[0][0].data)
			}
			if !bytes.Equal(e.data, f.samples[0][0].data) && judge(x, &damaged{format: f, index: i, files: sample{e}}, true).Accepted {
				accepted++
			}
		}
		t.Logf("%s: %d of %d", f.name, accepted, n)
		if accepted < n/10 {
			t.Errorf("%s: %d of %d changed files are accepted", f.name, accepted, n)
		}
	}
}

// TestCampaign runs the first cases of the campaign that CI runs for a minute.
func TestCampaign(t *testing.T) {
	c := loaded(t, 1)
	x := &scratch{ctx: t.Context(), dir: t.TempDir()}
	accepted := 0
	const n = 500
	for i := range uint64(n) {
		v := judge(x, c.makeCase(i), true)
		if v.Fault != "" {
			t.Errorf("case %d, %s: %s %s", i, v.Format, v.Fault, v.Text)
		}
		if v.Accepted {
			accepted++
		}
	}
	if accepted < n/10 || accepted > n*9/10 {
		t.Errorf("%d of %d cases are accepted", accepted, n)
	}
}
