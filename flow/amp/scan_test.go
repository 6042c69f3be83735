//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/flow/amp"
	"atenia/flow/internal/flowtest"
)

// A site is folders with libraries.
type site struct {
	t   *testing.T
	dir string
	cfg amp.ScanConfig
}

func newSite(t *testing.T, folders ...string) *site {
	s := &site{t: t, dir: t.TempDir()}
	s.cfg = amp.ScanConfig{Limit: time.Minute, Cache: s.path("cache"), Command: []string{os.Args[0], "node-scan", s.path("asked")}}
	for _, f := range folders {
		s.cfg.Folders = append(s.cfg.Folders, s.path(f))
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) put(name, from string) {
	s.t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name, b)
}

func (s *site) write(name string, b []byte) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), b, 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// run scans and formats the result, one line per library and type.
func (s *site) run() string {
	s.t.Helper()
	r, err := amp.Scan(context.Background(), s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	name := func(i int) string { rel, _ := filepath.Rel(s.dir, r.Libraries[i].Path); return rel }
	for i, l := range r.Libraries {
		fmt.Fprintf(&b, "%s: %v", name(i), l.Source)
		if l.Quarantined {
			b.WriteString(", quarantined")
		} else if l.Err != nil {
			b.WriteString(", error")
		}
		b.WriteString("\n")
	}
	for _, t := range r.Types {
		fmt.Fprintf(&b, "%s/%d: %s", t.Name, t.Major, name(t.Library))
		for _, i := range t.Shadowed {
			fmt.Fprintf(&b, ", not %s", name(i))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// asked are the libraries that children were started for since last time.
func (s *site) asked() []string {
	b, _ := os.ReadFile(s.path("asked"))
	os.Remove(s.path("asked"))
	list := strings.Fields(string(b))
	slices.Sort(list)
	return list
}

func (s *site) want(got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const manifestText = `{"abi": [2, 0], "nodes": [{"type": "Smooth", "inputs": 1, "outputs": 1}, {"type": "Other", "inputs": 1, "outputs": 1}]}`

// TestScan: the first folder wins, manifests are believed, others are asked
// once, and again when they have changed.
func TestScan(t *testing.T) {
	t.Parallel()
	s := newSite(t, "absent", "first", "second")
	template := flowtest.Library(t, flowtest.Include(t)+"/template.c")
	s.write("first/deep/b.amp.so", []byte("never loaded"))
	s.write("first/deep/b.amp.json", []byte(manifestText))
	s.write("first/readme.so", []byte("no library of nodes"))
	s.put("second/a.amp.so", template)
	s.write("second/bad.amp.so", []byte("not a library"))
	s.write("second/worse.amp.so", nil)
	s.write("second/worse.amp.json", []byte("{"))
	types := "Other/2: first/deep/b.amp.so\nSmooth/2: first/deep/b.amp.so, not second/a.amp.so\n"
	s.want(s.run(), "first/deep/b.amp.so: manifest\nsecond/a.amp.so: scan\nsecond/bad.amp.so: scan, error\nsecond/worse.amp.so: manifest, error\n"+types)
	s.want(strings.Join(s.asked(), " "), "a.amp.so bad.amp.so")
	s.want(s.run(), "first/deep/b.amp.so: manifest\nsecond/a.amp.so: cache\nsecond/bad.amp.so: scan, error\nsecond/worse.amp.so: manifest, error\n"+types)
	s.want(strings.Join(s.asked(), " "), "bad.amp.so")
	// Another time of the same bytes is another key.
	if err := os.Chtimes(s.path("second/a.amp.so"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	os.Remove(s.path("second/bad.amp.so"))
	s.run()
	s.want(strings.Join(s.asked(), " "), "a.amp.so")
	// So are other bytes, as many and of the same time: of an archive, or set back.
	b, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	for _, last := range "ab" { // after the end of what is loaded
		s.write("second/a.amp.so", append(b, byte(last)))
		if err := os.Chtimes(s.path("second/a.amp.so"), time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		s.run()
		s.want(strings.Join(s.asked(), " "), "a.amp.so")
		s.run()
		s.want(strings.Join(s.asked(), " "), "")
	}
	// A cache that is damaged is none.
	entries, err := os.ReadDir(s.path("cache"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	s.write("cache/"+entries[0].Name(), []byte("{"))
	s.run()
	s.want(strings.Join(s.asked(), " "), "a.amp.so")
}

// TestQuarantine: a library that crashes or hangs is not loaded again until it
// changes.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	t.Run("A57", func(t *testing.T) {
		s := newSite(t, "dir")
		s.put("dir/crash.amp.so", flowtest.Library(t, "testdata/broken.c", "-DCRASH"))
		want := "dir/crash.amp.so: %s, quarantined\n"
		s.want(s.run(), fmt.Sprintf(want, "scan"))
		s.want(s.run(), fmt.Sprintf(want, "cache"))
		s.want(strings.Join(s.asked(), " "), "crash.amp.so")
		s.put("dir/crash.amp.so", flowtest.Library(t, flowtest.Include(t)+"/template.c"))
		s.want(s.run(), "dir/crash.amp.so: scan\nSmooth/2: dir/crash.amp.so\n")
	})
	t.Run("another build", func(t *testing.T) { // of Atenia, which may not crash with it
		s := newSite(t, "dir")
		s.put("dir/crash.amp.so", flowtest.Library(t, "testdata/broken.c", "-DCRASH"))
		s.want(s.run(), "dir/crash.amp.so: scan, quarantined\n")
		entries, err := os.ReadDir(s.cfg.Cache)
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		file := filepath.Join(s.cfg.Cache, entries[0].Name())
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		other := bytes.Replace(b, []byte(`"build": "`), []byte(`"build": "1`), 1)
		if bytes.Equal(other, b) {
			t.Fatalf("no build in %s", b)
		}
		// A link in the place of the entry is replaced, not written through.
		mine := s.path("mine")
		if err := errors.Join(os.WriteFile(mine, other, 0o600), os.Remove(file), os.Symlink(mine, file)); err != nil {
			t.Fatal(err)
		}
		s.want(s.run(), "dir/crash.amp.so: scan, quarantined\n")
		if now, err := os.ReadFile(mine); err != nil || !bytes.Equal(now, other) {
			t.Errorf("written through a link: %s, %v", now, err)
		}
	})
	t.Run("hang", func(t *testing.T) {
		s := newSite(t, "dir")
		s.cfg.Limit = 100 * time.Millisecond
		s.put("dir/hang.amp.so", flowtest.Library(t, "testdata/broken.c", "-DHANG"))
		s.want(s.run(), "dir/hang.amp.so: scan, quarantined\n")
		s.want(s.run(), "dir/hang.amp.so: cache, quarantined\n")
	})
	t.Run("silent", func(t *testing.T) { // it answers, but nothing: no crash
		s := newSite(t, "dir")
		s.put("dir/silent.amp.so", flowtest.Library(t, "testdata/broken.c"))
		s.want(s.run(), "dir/silent.amp.so: scan, error\n")
	})
}

// TestUnasked: without a command nothing is loaded.
func TestUnasked(t *testing.T) {
	t.Parallel()
	s := newSite(t, "dir")
	s.cfg.Command = nil
	s.write("dir/a.amp.so", nil)
	s.want(s.run(), "dir/a.amp.so: scan, error\n")
}
