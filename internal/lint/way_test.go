package lint

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The way of a weight from the disk to a product, as internal/engine/doc.go
// draws it: eight packages, where what is streamed takes ring or experts and the rest pack.
const (
	way     = "internal/model/file internal/model/compile internal/engine internal/memory/place internal/engine/residence internal/memory/ring|internal/memory/ring|internal/memory/pack internal/exec internal/kernel"
	mostWay = 8
)

// doors are the functions by which a weight enters the next package of its way,
// and the packages that may call them. Converting a model and training one are
// ways of their own.
var doors = []struct{ dir, name, callers string }{
	{"internal/model/file", "Open", "internal/engine internal/model/lora internal/memory/checkpoint internal/model/text internal/train/..."},
	{"internal/model/compile", "Compile", "internal/engine internal/model/convert internal/train/fit internal/train/data tools/mutate-files"},
	{"internal/model/compile", "Materialize", "internal/engine/residence"},
	{"internal/model/compile", "MaterializeOne", "internal/engine/residence"},
	{"internal/model/compile", "MakeWeight", "internal/model/compile internal/model/convert"},
	{"internal/model/compile", "Locate", "internal/engine/residence"},
	{"internal/engine", "Open", "."},
	{"internal/memory/place", "Place", "internal/policy/decide"},
	{"internal/policy/decide", "Recorder.Budget", "internal/engine"},
	{"internal/engine/residence", "Open", "internal/engine"},
	{"internal/memory/ring", "New", "internal/engine/residence"},
	{"internal/memory/ring", "New", "internal/engine/residence"},
	{"internal/model/compile", "LocateExperts", "internal/engine/residence"},
	{"internal/memory/ring", "Pin", "internal/engine/residence"},
	{"internal/memory/pack", "New", "internal/exec"},
	{"internal/exec", "New", "internal/engine"},
}

// TestWayOfWeight: a weight enters few packages, none twice, and is materialised
// by one of them.
func TestWayOfWeight(t *testing.T) {
	rooms := strings.Fields(way)
	if seen := slices.Compact(slices.Sorted(slices.Values(rooms))); len(rooms) > mostWay || len(seen) != len(rooms) {
		t.Errorf("the way has %d packages, %d of them different, want at most %d and each once", len(rooms), len(seen), mostWay)
	}
	b, err := readFile("internal/engine/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, room := range strings.FieldsFunc(way, func(r rune) bool { return r == ' ' || r == '|' }) {
		_, rest, found := strings.Cut(text, "\n//\t"+room+" ")
		if !found {
			t.Errorf("internal/engine/doc.go does not draw %s, or draws it elsewhere", room)
		}
		text = rest
	}
	m := module(t)
	for _, d := range doors {
		door, called := is(m.member(t, d.dir, d.name)), map[string]bool{}
		for from, p := range m.pkgs {
			users := p.usersOf(door)
			if len(users) == 0 || from == d.dir && !matchesAny(from, d.callers) {
				continue
			}
			if called[from] = true; !matchesAny(from, d.callers) {
				t.Errorf("%s calls %s.%s in %q; that is for %s alone", from, d.dir, d.name, users, d.callers)
			}
		}
		for _, pattern := range strings.Fields(d.callers) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(called)), func(dir string) bool { return matches(dir, pattern) }) {
				t.Errorf("%s does not call %s.%s: take it out of doors", pattern, d.dir, d.name)
			}
		}
	}
}
