package cli

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestKeys feeds the bytes of a terminal, at once and one by one, and compares
// the input of the line editor.
func TestKeys(t *testing.T) {
	long := strings.Repeat("x", longPaste+1)
	for _, c := range []struct{ name, in, want string }{
		{"plain", "abc\r", "abc\r"},
		{"ctrl-c", "ab\x03cd\r", "ab\x05^C\rcd\r"},
		{"arrow", "\x1b[A\x1b", "\x1b[A\x1b"},
		{"short paste", "a" + pasteStart + "b c" + pasteEnd + "d\r", "ab cd\r"},
		{"lines", pasteStart + "one\r\ntwo\rthree\n" + pasteEnd + "\r", "[paste 1: 3 lines, 13 bytes]\r"},
		{"two pastes", pasteStart + "a\tb" + pasteEnd + " " + pasteStart + long + pasteEnd, "[paste 1: 1 line, 3 bytes] [paste 2: 1 line, 257 bytes]"},
		{"ctrl-c inside a paste", pasteStart + "a\x03" + pasteEnd, "[paste 1: 1 line, 2 bytes]"},
		{"escape inside a paste", pasteStart + "\x1b[20" + pasteEnd, "[paste 1: 1 line, 4 bytes]"},
		{"not text", pasteStart + "a\xff" + pasteEnd, "a\uFFFD"},
		{"half a mark", "\x1b[20", "\x1b[20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := io.ReadAll(&keys{r: strings.NewReader(c.in)})
			if err != nil || string(got) != c.want {
				t.Errorf("%q, want %q (%v)", got, c.want, err)
			}
			// A lone Escape is a key, so a mark must not be cut right after it;
			// terminals do not.
			if !strings.Contains(c.in, pasteStart) {
				if got, err = io.ReadAll(&keys{r: iotest.OneByteReader(strings.NewReader(c.in))}); err != nil || string(got) != c.want {
					t.Errorf("byte by byte: %q, want %q (%v)", got, c.want, err)
				}
			}
		})
	}
}

// TestLineMeaning turns labels back into pastes, and distinguishes a line that
// Ctrl-C ended from one with the text of it.
func TestLineMeaning(t *testing.T) {
	k := &keys{r: strings.NewReader("see " + pasteStart + "one\ntwo" + pasteEnd + "!\rab\x03")}
	edited, err := io.ReadAll(k)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(edited), "\r")
	if got, stop := k.line(first); got != "see one\ntwo!" || stop {
		t.Errorf("%q, %t", got, stop)
	}
	rest = strings.NewReplacer("\x05", "", "\r", "").Replace(rest)
	if got, stop := k.line(rest); got != "" || !stop {
		t.Errorf("%q, %t", got, stop)
	}
	if got, stop := k.line("typed ^C"); got != "typed ^C" || stop {
		t.Errorf("%q, %t", got, stop)
	}
}

func TestHistory(t *testing.T) {
	h := &history{keys: &keys{}}
	for _, l := range []string{"a", "", "  ", "b", "b", "a"} {
		h.Add(l)
	}
	if want := []string{"a", "b", "a"}; !slices.Equal(h.lines, want) {
		t.Errorf("%q, want %q", h.lines, want)
	}
	for range 2 * historyLines {
		h.Add("x")
		h.Add("y")
	}
	if h.Len() != historyLines || h.At(0) != "y" || h.At(1) != "x" {
		t.Errorf("%d lines, last %q", h.Len(), h.At(0))
	}
}
