package recipe

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
)

// hostile are texts that the library reads in the square of their size, or worse.
var hostile = map[string]string{
	"inline tables":      "x = " + strings.Repeat("{a=", 10_000),
	"closed ones":        "x = " + strings.Repeat("{a=", 10_000) + "1" + strings.Repeat("}", 10_000),
	"arrays":             "x = " + strings.Repeat("[", 500_000),
	"a dotted key":       strings.Repeat("a.", 50_000) + "a = 1",
	"a dotted header":    "[" + strings.Repeat("a.", 50_000) + "a]",
	"quoted parts":       strings.Repeat("\"a\" . ", 20_000) + "a = 1",
	"behind a string":    "x = [\"\"\"a\"\"\"\", " + strings.Repeat("{a=", 10_000),
	"behind a literal":   "x = ['''a''''', " + strings.Repeat("{a=", 10_000),
	"behind a backslash": "x = ['\\', " + strings.Repeat("{a=", 10_000),
	"keys":               manyKeys(""),
	"tables":             manyKeys("[t%[1]d]\n"),
	"a long name":        strings.Repeat("k", 500_000) + " = 1",
}

func manyKeys(header string) string {
	var b strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&b, header+"k%[1]d = 1\n", i)
	}
	return b.String()
}

// TestHostile: what a text costs does not grow with the square of its size.
func TestHostile(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var err error
			n := await.Bytes(func() { _, err = Parse([]byte(least + text)) })
			took := time.Since(start)
			if !errors.Is(err, ErrRecipe) || len(err.Error()) > 4000 {
				t.Errorf("%.200v", err)
			}
			t.Logf("%v, %d KiB: %.80v", took, n>>10, err)
			if n > 64<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
}

// TestBounded: what a recipe may have is not refused.
func TestBounded(t *testing.T) {
	for _, text := range []string{
		least + "# [[[[[[[[[[[[ {{{{{{{{{{ a.b.c.d.e.f.g.h.i.j.k = \"\n",
		least + "out = \"\"\"\n[[[[[[[[[[[[[[\"a\"\"\"\"\n",
		least + "out = 'a.b.c.d.e.f.g.h.i.j.k.l'\n",
		"data.files = [\n" + strings.Repeat("  \"a.b.c.txt\", # one\n", 1000) + "]\n[train]\nsteps = 1\n",
	} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}
