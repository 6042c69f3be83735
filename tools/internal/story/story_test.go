package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// many is enough documents for every plot with every thing.
const many = 4000

// A document depends on nothing but its seed and index.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range uint64(200) {
		a, b := At(7, i).String(), At(7, i).String()
		if a != b {
			t.Fatalf("document %d is another the second time", i)
		}
		seen[a] = true
	}
	if len(seen) < 180 || At(7, 0).String() == At(8, 0).String() {
		t.Errorf("%d of 200 documents differ", len(seen))
	}
}

// No pattern is left open, no article is wrong, nothing is said twice.
var faults = regexp.MustCompile(`\$|%|  |\b[Aa] [aeiou]|\b[Aa]n [^aeiouh]|\bthe the\b|\b[Aa] a\b| [,.!?]|\.\.|\n\n\n| $`)

func TestText(t *testing.T) {
	t.Parallel()
	for i := range uint64(many) {
		d := At(1, i)
		for _, text := range texts(d) {
			if m := faults.FindStringIndex(text); m != nil {
				t.Fatalf("document %d: %q in\n%s", i, text[max(0, m[0]-20):min(len(text), m[1]+20)], text)
			}
			if strings.ToUpper(text[:1]) != text[:1] {
				t.Errorf("document %d begins small: %s", i, text)
			}
		}
	}
}

func texts(d Document) (out []string) {
	if d.Text != "" {
		out = append(out, d.Text)
	}
	for _, m := range d.Messages {
		out = append(out, m.Content)
	}
	return out
}

// The measure accepts the corpus itself, and finds what a request asks for.
func TestCorpusPasses(t *testing.T) {
	t.Parallel()
	stories, bad, shown := 0, 0, 0
	for i := range uint64(many) {
		for _, s := range texts(At(2, i)) {
			if len(s) < 300 {
				continue
			}
			stories++
			if _, err := Check(s); err != nil {
				if bad++; shown < 12 {
					shown++
					t.Logf("document %d: %v\n%s", i, err, s)
				}
			}
		}
	}
	if stories < many/2 || bad*100 > stories {
		t.Errorf("%d of %d stories do not keep their hero", bad, stories)
	}
}

// Every plot has all that a chat asks of it.
func TestPlots(t *testing.T) {
	t.Parallel()
	for _, p := range plots {
		if len(p.themes) == 0 || len(p.titles) == 0 || len(p.beats) < 7 || p.feels == "" || p.learnt == "" || p.fate == "" || p.told == "" {
			t.Errorf("%s lacks something", p.name)
		}
	}
}

func ExampleCheck() {
	h, err := Check("Once there was a shy fox named Mia. She lived by the sea. One day, the fox found a key, and Mia smiled.")
	fmt.Println(h, err)
	_, err = Check("Once there was a shy fox named Mia. She lived by the sea. One day, the rabbit found a key, and Mia smiled.")
	fmt.Println(err)
	// Output:
	// {Mia fox she} <nil>
	// Mia is a fox, and nobody is a rabbit: One day the rabbit found a key and Mia smiled
}

// What drifts is told apart from what stays.
func TestCheck(t *testing.T) {
	t.Parallel()
	const begin = "Once upon a time, a brave fox named Pip lived by the sea. He was not afraid. "
	for _, c := range []struct {
		rest string
		ok   bool
	}{
		{"One day, Pip met an old owl. \"Hello,\" said the owl. Pip smiled, and the fox went home.", true},
		{"One day, Pip met Ruby the duck. Ruby said hello. She laughed. Then the duck flew home.", true},
		{"One day, Pip met a friend named Ruby. She laughed. Pip lost his way.", true},
		{"One day, the fox went home.", false},
		{"One day, Pip met the owl.", false},
		{"One day, Pip went home. The rabbit was tired.", false},
		{"One day, Pip went home. Tom was tired.", false},
		{"One day, Pip went home with Zelkor.", false},
		{"One day, Pip went home. She was tired.", false},
		{"One day, Pip the bear went home.", false},
		{"One day, a rabbit named Pip went home. Pip slept.", false},
	} {
		if h, err := Check(begin + c.rest); (err == nil) != c.ok || h.Kind != "fox" || h.Name != "Pip" {
			t.Errorf("%s: %v, %v", c.rest, h, err)
		}
	}
	if _, err := Check("There was nobody."); err == nil {
		t.Error("a hero in a story without one")
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	var kindsSeen, thingsSeen []string
	for i := range 200 {
		r, k, th := Request(i)
		if !strings.Contains(r, " "+k+" ") || !strings.Contains(r, " "+th+".") {
			t.Errorf("%s: %s, %s", r, k, th)
		}
		kindsSeen, thingsSeen = append(kindsSeen, k), append(thingsSeen, th)
	}
	slices.Sort(kindsSeen)
	slices.Sort(thingsSeen)
	if len(slices.Compact(kindsSeen)) != len(kinds) || len(slices.Compact(thingsSeen)) != len(things) {
		t.Error("not all kinds and things are asked for")
	}
	if s := "There was a fox named Pip. Pip had a key."; !Has(s, "fox", "key") || Has(s, "fox", "drum") || Has(s, "bear", "key") || Has("Here is a story about a drum. "+s, "fox", "drum") {
		t.Error("Has")
	}
}
