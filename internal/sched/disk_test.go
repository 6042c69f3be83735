package sched

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
	"atenia/internal/store/sequence"
)

// testKey is the key of every model of a test that does not say otherwise.
var testKey = sequence.Key{1, 2, 3}

// folder opens a folder of sequences, without syncs unless fsys is given.
func folder(t testing.TB, fsys durable.FS, dir string, limit int64, key sequence.Key) *sequence.Folder {
	t.Helper()
	if fsys == nil {
		fsys = faultfs.NoSync()
	}
	f, err := sequence.OpenFolder(fsys, dir, limit, key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// withDisk returns a running scheduler that reads whatever the disk has.
func (m *model) withDisk(f *sequence.Folder, cfg Config) *Scheduler {
	m.t.Helper()
	cfg.Disk, cfg.Key = f, f.Key
	s, err := newScheduler(m.executor(small), cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	s.kept.disk.always = true
	go s.loop()
	return s
}

// files returns the paths of a folder's files, sorted.
func files(t testing.TB, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".kv") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// damage changes a random file in a random way.
func damage(t testing.TB, rng *rand.Rand, dir string) {
	all := files(t, dir)
	if len(all) == 0 {
		return
	}
	path := all[rng.IntN(len(all))]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch rng.IntN(4) {
	case 0:
		b = b[:rng.IntN(len(b))]
	case 1: // the content of another file
		if b, err = os.ReadFile(all[rng.IntN(len(all))]); err != nil {
			t.Fatal(err)
		}
	default:
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDisk makes random conversations with common beginnings in schedulers that end at
// random points and leave what they have on the disk, with damaged files between: every
// answer has the bits of a request alone.
func TestDisk(t *testing.T) {
	var read, damaged, written int64 // of all kinds: what one reads and meets depends on measured times
	for _, name := range allKinds {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			dir := t.TempDir()
			rng := rand.New(rand.NewPCG(7, 11))
			past := [][]int32{m.tokens(1, 120)}
			rounds := 5
			if await.Long() {
				rounds = 12
			}
			for round := range rounds {
				f := folder(t, nil, dir, 1<<30, testKey)
				s := m.withDisk(f, Config{Slots: 1 + rng.IntN(3), KeepBytes: m.budget(1 + rng.IntN(30)), SnapshotTokens: 16})
				for range 1 + rng.IntN(8) {
					var answers []*answer
					var requests []Request
					for range 1 + rng.IntN(4) {
						from := past[rng.IntN(len(past))]
						p := join(from[:1+rng.IntN(len(from))], m.tokens(rng.Uint64(), 1+rng.IntN(40)))
						r := Request{Prompt: p[:min(len(p), 200)], MaxTokens: 1 + rng.IntN(5)}
						requests, answers = append(requests, r), append(answers, submit(t, s, r))
					}
					for i, a := range answers {
						a.collect()
						past = append(past, join(requests[i].Prompt, a.tokens))
						if rng.IntN(3) == 0 || a.st.cached >= 32 {
							same(t, fmt.Sprintf("round %d, %d cached", round, a.st.cached), a, m.alone(requests[i]))
						}
					}
				}
				s.Close()
				checkEmpty(t, s)
				c := s.Cache()
				read, damaged, written = read+c.DiskPrompts, damaged+c.Disk.Damaged, written+c.Disk.Written
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if round%2 == 1 {
					for range 4 {
						damage(t, rng, dir)
					}
				}
			}
		})
	}
	if t.Logf("%d prompts began with what was read, %d files were damaged, %d bytes written", read, damaged, written); read == 0 || damaged == 0 {
		t.Errorf("%d prompts began with what was read, %d files were damaged", read, damaged)
	}
}

// TestDiskContinues: what a scheduler computed is read by the next one, which computes
// what is beyond, and says so.
func TestDiskContinues(t *testing.T) {
	for _, name := range allKinds {
		for _, n := range []int{64, 100, 129} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				m := open(t, name)
				dir := t.TempDir()
				prompt := m.tokens(1, n)
				f := folder(t, nil, dir, 1<<30, testKey)
				first := m.withDisk(f, Config{})
				a := submit(t, first, Request{Prompt: prompt, MaxTokens: 4}).collect()
				first.Close()
				f.Close()
				r := Request{ID: "again", Prompt: join(prompt, a.tokens, m.tokens(2, 9)), MaxTokens: 6}
				f = folder(t, nil, dir, 1<<30, testKey)
				s := m.withDisk(f, Config{})
				b := submit(t, s, r).collect()
				why := s.Why("again")
				s.Close()
				f.Close()
				same(t, "again", b, m.alone(r))
				if want := n + 3; b.st.cached != want {
					t.Errorf("%d tokens were read, want %d", b.st.cached, want)
				}
				if !slices.ContainsFunc(why, func(d Decision) bool { return d.Action == actionRead && d.Rule == byCost && d.Observed > 0 }) {
					t.Errorf("no decision says why it was read: %v", why)
				}
				other := folder(t, nil, dir, 1<<30, sequence.Key{9})
				s = m.withDisk(other, Config{})
				b = submit(t, s, r).collect()
				s.Close()
				other.Close()
				if same(t, "another key", b, m.alone(r)); b.st.cached != 0 {
					t.Errorf("%d tokens of another key were used", b.st.cached)
				}
			})
		}
	}
}

// TestDiskFaults: a file system that fails at its n-th call, or is full from then on, in
// turn for every n, changes no answer, and what is left is whole.
func TestDiskFaults(t *testing.T) {
	m := open(t, "llama3")
	prompt := m.tokens(1, 70)
	r := Request{Prompt: join(prompt, m.tokens(2, 9)), MaxTokens: 3}
	want := m.alone(r)
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Torn, faultfs.Full, faultfs.Stop} {
		for n, fsys := range faultfs.Each(fault) {
			dir := t.TempDir()
			for range 2 {
				f, err := sequence.OpenFolder(fsys, dir, 1<<30, testKey)
				if err != nil {
					break
				}
				s := m.withDisk(f, Config{Slots: 1})
				submit(t, s, Request{Prompt: prompt, MaxTokens: 1}).collect()
				same(t, fmt.Sprint("fault ", fault, " at call ", n), submit(t, s, r).collect(), want)
				s.Close()
				f.Close()
			}
			fsys.PowerCut()
			f := folder(t, nil, dir, 1<<30, testKey)
			s := m.withDisk(f, Config{Slots: 1})
			same(t, fmt.Sprint("after fault ", fault, " at call ", n), submit(t, s, r).collect(), want)
			s.Close()
			if d := f.Stats().Damaged; d > 0 {
				t.Errorf("fault %d at call %d: %d files are damaged", fault, n, d)
			}
			f.Close()
		}
	}
}

// TestDiskMemory: sequences that are read or written give their memory to a request that
// needs it.
func TestDiskMemory(t *testing.T) {
	m := open(t, "llama3")
	dir := t.TempDir()
	limit := m.budget(12)
	f := folder(t, nil, dir, 1<<30, testKey)
	defer f.Close()
	s := m.withDisk(f, Config{Slots: 3, CacheBytes: limit})
	rng := rand.New(rand.NewPCG(1, 5))
	for i := range 30 {
		var answers []*answer
		var requests []Request
		for k := range 4 {
			r := Request{Prompt: m.tokens(uint64(rng.IntN(6)), 20+rng.IntN(130))}
			r.MaxTokens = 1 + k
			requests, answers = append(requests, r), append(answers, submit(t, s, r))
		}
		for k, a := range answers {
			a.collect()
			if i%5 == 0 {
				same(t, fmt.Sprint(i, " ", k), a, m.alone(requests[k]))
			} else if err := a.st.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := s.Cache()
	s.Close()
	checkEmpty(t, s)
	if c.DiskPrompts == 0 {
		t.Error("nothing was read")
	}
}

// TestDiskLimit: the folder stays within its limit, files of earlier runs included, and
// keeps what was used last.
func TestDiskLimit(t *testing.T) {
	m := open(t, "llama3")
	dir := t.TempDir()
	limit := 10 * m.budget(2)
	system := m.tokens(9, 64)
	for round := range 6 {
		f := folder(t, nil, dir, limit, testKey)
		s := m.withDisk(f, Config{Slots: 1})
		for i := range 8 {
			p := join(system, m.tokens(uint64(100*round+i), 60))
			a := submit(t, s, Request{Prompt: p, MaxTokens: 1}).collect()
			if round+i > 0 && a.st.cached < 64 {
				t.Errorf("round %d: %d tokens of the system prompt were there", round, a.st.cached)
			}
		}
		s.Close()
		f.Close()
		var bytes int64
		for _, name := range files(t, dir) {
			st, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes += st.Size(); st.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", name, st.Mode())
			}
			old := st.ModTime().Add(-time.Hour) // files of the next round are younger
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if bytes > limit {
			t.Fatalf("%d bytes, %d are allowed", bytes, limit)
		}
	}
}

// allKinds are models with every kind of state.
var allKinds = append([]string{"gemma3"}, mixed...)
