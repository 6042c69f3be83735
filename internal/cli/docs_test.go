package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// figures are what depends on the machine in a drawing: its kernels decide how much of the
// memory weights take, and with it which of them fit.
var figures = regexp.MustCompile(` *[0-9.]+ [KM]?i?B[ █]*`)

// TestDrawing: the drawing in docs/placement.md is what the command prints that
// stands above it, but for its figures. -update draws it again.
func TestDrawing(t *testing.T) {
	root := golden.Root(t)
	path := filepath.Join(root, "docs", "placement.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	const fence = "```\n"
	at := strings.Index(text, fence+"$ atenia plan testdata/")
	if at < 0 || strings.Count(text, fence+"$ atenia plan testdata/") != 1 {
		t.Fatal("there is no drawing, or more than one")
	}
	at += len(fence)
	end := at + strings.Index(text[at:], fence)
	w := &world{vars: [][2]string{{"testdata/golden", filepath.Join(root, "testdata", "golden")}}}
	got, err := w.play(text[at:end] + "\n")
	if err != nil {
		t.Fatal(err)
	}
	got = strings.TrimRight(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(text[:at]+got+text[end:]), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if figures.ReplaceAllString(got, "#") != figures.ReplaceAllString(text[at:end], "#") {
		t.Errorf("rerun with -update and look at the difference; got\n%s", diff(text[at:end], got))
	}
}
