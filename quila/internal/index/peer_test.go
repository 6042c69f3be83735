package index_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/quila/internal/index"
)

// A peer is hnswlib in a process of its own.
type peer struct {
	t   testing.TB
	dir string
	in  io.WriteCloser
	out *bufio.Scanner
}

// compiled returns the program of the peer. It is kept for the next run, under a sum
// of all that it is made of: compiling takes as long as the comparison.
func compiled(dir string) (bin string, out []byte, err error) {
	optimize := "-O1" // -O3 takes longer than it saves, except where speed is compared
	if os.Getenv("ATENIA_SLOW") != "" {
		optimize = "-O3 -march=native"
	}
	flags := append(strings.Fields(optimize), "-std=c++11", "-w", "testdata/hnswlib.cpp")
	text, err := exec.Command("g++", append(flags, "-E")...).Output()
	if err != nil {
		return "", text, err
	}
	version, err := exec.Command("g++", "--version").Output()
	if err != nil {
		return "", version, err
	}
	sum := sha256.Sum256(fmt.Appendf(text, "%s%q", version, flags))
	if cache, err := os.UserCacheDir(); err == nil && optimize == "-O1" {
		bin = filepath.Join(cache, "atenia-test", fmt.Sprintf("hnswlib-%x", sum[:8]))
		if _, err := os.Stat(bin); err == nil {
			return bin, nil, nil
		}
	}
	made := filepath.Join(dir, "peer")
	if out, err = exec.Command("g++", append(flags, "-o", made, "-lpthread")...).CombinedOutput(); err != nil || bin == "" {
		return made, out, err
	}
	b, err := os.ReadFile(made)
	if err == nil && os.MkdirAll(filepath.Dir(bin), 0o700) == nil {
		// One that cannot be kept is made anew.
		if temporary := fmt.Sprintf("%s.%d", bin, os.Getpid()); os.WriteFile(temporary, b, 0o700) == nil {
			_ = os.Rename(temporary, bin)
		}
	}
	return made, nil, err
}

// newPeer compiles hnswlib, or skips where it is not installed.
func newPeer(t testing.TB) *peer {
	t.Helper()
	p := &peer{t: t, dir: t.TempDir()}
	bin, out, err := compiled(p.dir)
	if err != nil {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatalf("hnswlib (libhnswlib-dev, g++): %v\n%s", err, out)
		}
		t.Skip("SKIPPED: no comparison with hnswlib, which is not installed here")
	}
	cmd := exec.Command(bin)
	cmd.Stderr = os.Stderr
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(stdout)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// run gives a command and returns the number it prints.
func (p *peer) run(command ...any) (v float64) {
	p.t.Helper()
	fmt.Fprintln(p.in, command...)
	if !p.out.Scan() {
		p.t.Fatalf("%v: no answer", command)
	}
	if _, err := fmt.Sscan(p.out.Text(), &v); err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *peer) path(name string) string { return filepath.Join(p.dir, name) }

// save writes rows for the peer.
func (p *peer) save(name string, s set) string {
	p.t.Helper()
	var b []byte
	for _, row := range s.rows {
		b, _ = binary.Append(b, binary.LittleEndian, row)
	}
	return p.write(name, b)
}

func (p *peer) write(name string, b []byte) string {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), b, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return p.path(name)
}

// search returns the labels that the peer finds, and how long it took.
func (p *peer) search(queries set, path string, k, ef int) ([][]uint64, time.Duration) {
	p.t.Helper()
	n := len(queries.rows)
	seconds := p.run("search", n, path, k, ef, p.path("labels"))
	b, err := os.ReadFile(p.path("labels"))
	if err != nil {
		p.t.Fatal(err)
	}
	out := make([][]uint64, n)
	for i := range out {
		for j := range k {
			out[i] = append(out[i], binary.LittleEndian.Uint64(b[8*(i*k+j):]))
		}
	}
	return out, time.Duration(seconds * 1e9)
}

func spaceOf(m index.Metric) string {
	if m == index.L2 {
		return "l2"
	}
	return "ip"
}

// TestPeer: hnswlib loads our image and finds the same neighbours in it, and we
// do in an image of hnswlib's; recalls of both graphs agree.
func TestPeer(t *testing.T) {
	n := 3000
	if os.Getenv("ATENIA_SLOW") != "" {
		n = 10_000
	}
	p := newPeer(t)
	const k, dim, ef = 32, 64, 64
	for _, c := range []struct {
		name   string
		draw   func(seed uint64, n, dim int) set
		metric index.Metric
	}{{"clustered", clustered, index.Cosine}, {"gaussian", gaussian, index.Cosine}, {"gaussian/l2", gaussian, index.L2}} {
		t.Run(c.name, func(t *testing.T) {
			data, queries := c.draw(11, n, dim), c.draw(12, 300, dim)
			dataAt, queriesAt := p.save("data", data), p.save("queries", queries)
			want := make([][]uint64, len(queries.rows))
			for i, q := range queries.rows {
				want[i] = truth(data, q, k, c.metric)
			}
			config := index.GraphConfig{Metric: c.metric}
			ours := built(t, data, config)
			var image bytes.Buffer
			if _, err := ours.Write(&image); err != nil {
				t.Fatal(err)
			}
			p.run("load", spaceOf(c.metric), dim, p.write("ours", image.Bytes()))
			ourGraph, _ := compareWith(t, p, ours, queries, queriesAt, want, k, ef)

			p.run("build", spaceOf(c.metric), dim, n, dataAt, 200, p.path("theirs"))
			f, err := os.ReadFile(p.path("theirs"))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := index.ReadGraph(bytes.NewReader(f), int64(len(f)), config)
			if err != nil {
				t.Fatal(err)
			}
			theirGraph, theirSearch := compareWith(t, p, theirs, queries, queriesAt, want, k, ef)
			t.Logf("recall@%d at ef %d: our graph %.4f, hnswlib's %.4f (searched by hnswlib %.4f)", k, ef, ourGraph, theirGraph, theirSearch)
			if ourGraph < theirSearch-.005 {
				t.Errorf("recall %.4f, hnswlib %.4f: at most .005 less", ourGraph, theirSearch)
			}
		})
	}
}

// compareWith searches one graph with both and returns the two recalls.
func compareWith(t *testing.T, p *peer, x *index.Graph, queries set, path string, want [][]uint64, k, ef int) (us, them float64) {
	t.Helper()
	found, _ := p.search(queries, path, k, ef)
	same, n := 0.0, float64(len(queries.rows))
	for i, q := range queries.rows {
		hits, err := x.Search(nil, q, k, ef)
		if err != nil {
			t.Fatal(err)
		}
		got := labels(hits)
		same, us, them = same+shared(got, found[i]), us+shared(got, want[i]), them+shared(found[i], want[i])
	}
	if same /= n; same < .99 {
		t.Errorf("%.4f of the neighbours are those of hnswlib, at least .99", same)
	}
	us, them = us/n, them/n
	if d := us - them; d > .005 || d < -.005 {
		t.Errorf("recall %.4f, hnswlib on the same graph %.4f", us, them)
	}
	return us, them
}

// TestPeerSpeed compares one thread of each, by turns, and asks for the floor of
// section 3; it runs where ATENIA_SLOW is set.
func TestPeerSpeed(t *testing.T) {
	if os.Getenv("ATENIA_SLOW") == "" {
		t.Skip("SKIPPED: speed is compared where ATENIA_SLOW is set")
	}
	p := newPeer(t)
	const k, dim, turns = 32, 64, 5
	sizes := []int{10_000}
	if strings.Contains(os.Getenv("ATENIA_SLOW"), "50k") {
		sizes = append(sizes, 50_000)
	}
	for _, n := range sizes {
		for _, c := range []struct {
			name string
			draw func(seed uint64, n, dim int) set
		}{{"clustered", clustered}, {"gaussian", gaussian}} {
			data, queries := c.draw(11, n, dim), c.draw(12, 500, dim)
			dataAt, queriesAt := p.save("data", data), p.save("queries", queries)
			var ourBuild, theirBuild []float64
			var x *index.Graph
			for range max(1, turns*10_000/n/2) {
				start := time.Now()
				x = built(t, data, index.GraphConfig{})
				ourBuild = append(ourBuild, time.Since(start).Seconds())
				theirBuild = append(theirBuild, p.run("build", "ip", dim, n, dataAt, 200, "-"))
			}
			t.Logf("%s %d: %.0f insertions/s, hnswlib %.0f: %.2f times", c.name, n, float64(n)/median(ourBuild), float64(n)/median(theirBuild), median(theirBuild)/median(ourBuild))
			if r := median(theirBuild) / median(ourBuild); r < .6 {
				t.Errorf("%s %d: insertion at %.2f of hnswlib's speed, at least 0.6", c.name, n, r)
			}
			exact := built(t, data, index.GraphConfig{ExactBelow: n + 1})
			for _, ef := range []int{64, 128} {
				var ours, theirs []float64
				var found [][]uint64
				hits := make([]index.Hit, 0, k)
				for range turns {
					start := time.Now()
					for _, q := range queries.rows {
						hits, _ = x.Search(hits[:0], q, k, ef)
					}
					ours = append(ours, time.Since(start).Seconds())
					var d time.Duration
					found, d = p.search(queries, queriesAt, k, ef)
					theirs = append(theirs, d.Seconds())
				}
				us, them := 0.0, 0.0
				for i, q := range queries.rows {
					all, _ := exact.Search(nil, q, k, 0)
					want := labels(all)
					hits, _ = x.Search(hits[:0], q, k, ef)
					us, them = us+shared(labels(hits), want)/500, them+shared(found[i], want)/500
				}
				r := median(theirs) / median(ours)
				t.Logf("%s %d ef %d: recall %.4f at %.0f QPS, hnswlib %.4f at %.0f: %.2f times", c.name, n, ef, us, 500/median(ours), them, 500/median(theirs), r)
				if r < .7 {
					t.Errorf("%s %d ef %d: %.2f of hnswlib's speed, at least 0.7", c.name, n, ef, r)
				}
				if us < them-.005 {
					t.Errorf("%s %d ef %d: recall %.4f, hnswlib %.4f", c.name, n, ef, us, them)
				}
			}
		}
	}
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
