package amp

import (
	"slices"
	"strings"
	"testing"
)

// FuzzAnswers: whatever a child writes, what is read of it is bounded and can be
// printed, and a described plug-in passes its check.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"list":[{"id":"a","name":"b"}]}`)
	f.Add(`{"plugin":{"id":"a","inputs":[{"name":"in","channels":2}],"outputs":[{"name":"out","channels":1}],"params":[{"id":1,"name":"x","min":0,"max":1,"default":0}],"latency":3}}`)
	f.Add("{\"error\":\"\\u0007\"}\n{}\n[")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := readAnswers(strings.NewReader(text), 8, "p")
		if len(list) > 8 {
			t.Fatalf("%d answers", len(list))
		}
		if err != nil && !strings.HasPrefix(err.Error(), "p: ") {
			t.Errorf("%v", err)
		}
		for _, a := range list {
			for _, p := range a.List {
				if !sane(p.ID, maxPlugText) || p.ID == "" {
					t.Errorf("id %q", p.ID)
				}
			}
			if a.Plugin != nil && a.Plugin.check("p") != nil {
				t.Errorf("%+v", a.Plugin)
			}
			if !sane(a.Error, scanLineLimit) {
				t.Errorf("%q", a.Error)
			}
		}
	})
}

// FuzzNotes: notes are in range, and each begins before it ends.
func FuzzNotes(f *testing.F) {
	f.Add("0 60 0.8 24000, 24000 64 0.8 24000 3\n")
	f.Add("0 60 NaN 1")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseCLAPNotes(text)
		if err != nil {
			return
		}
		for _, n := range list {
			if n.Frame < 0 || n.Frames < 0 || n.Key < 0 || n.Key > 127 || n.Channel < 0 || n.Channel > 15 || !(n.Velocity >= 0 && n.Velocity <= 1) {
				t.Errorf("%+v", n)
			}
		}
		all := strokes(list)
		if len(all) != 2*len(list) || !slices.IsSortedFunc(all, func(a, b stroke) int { return int(min(max(a.frame-b.frame, -1), 1)) }) {
			t.Errorf("%d strokes of %d notes, or out of order", len(all), len(list))
		}
		begun := map[int32]bool{}
		for _, s := range all {
			if begun[s.id] == s.on {
				t.Errorf("note %d", s.id)
			}
			begun[s.id] = s.on
		}
	})
}

// FuzzNames: every title makes a name that plans can have, none twice.
func FuzzNames(f *testing.F) {
	f.Add("Gain (x)", "gain x")
	f.Fuzz(func(t *testing.T, a, b string) {
		given := newNames()
		x, y, z := given.of(a, "p"), given.of(b, "p"), given.of(a, "p")
		if x == y || x == z || y == z || slices.Contains(reserved, x) || !sane(x, maxPlugText+16) || x == "" {
			t.Errorf("%q, %q, %q", x, y, z)
		}
	})
}
