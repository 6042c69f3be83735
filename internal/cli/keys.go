package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"atenia/internal/spelling"
)

// The sequences that a terminal sends around a paste after pasteOn.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
)

// caret is how Ctrl-C shows on the line it abandons.
const caret = "^C"

// keys filters the input of the line editor, which supports neither a Ctrl-C
// that abandons a line (it reports the end of input and keeps the typed text)
// nor a paste of several lines. Ctrl-C becomes "^C" and Enter at the end of the
// line; a paste that is long or has several lines becomes a short label, which
// keys.line expands.
type keys struct {
	r       io.Reader
	raw     []byte // read and not yet looked at: the beginning of a mark
	ready   []byte // for the editor
	paste   []byte // of the paste that has begun
	pasting bool
	pasted  []string // texts of labels, by number from 1
	stopped int      // lines that end in Ctrl-C and were not yet read
}

// longPaste is how many bytes of a paste still go into the line itself.
const longPaste = 256

func (k *keys) Read(p []byte) (int, error) {
	for len(k.ready) == 0 {
		buf := make([]byte, 4096)
		n, err := k.r.Read(buf)
		k.raw = append(k.raw, buf[:n]...)
		k.translate()
		if err != nil {
			k.ready = append(k.ready, k.raw...)
			k.raw = nil
			if len(k.ready) == 0 {
				return 0, err
			}
		}
	}
	n := copy(p, k.ready)
	k.ready = k.ready[n:]
	return n, nil
}

// translate moves input from read to ready.
func (k *keys) translate() {
	for len(k.raw) > 0 {
		mark := pasteStart
		if k.pasting {
			mark = pasteEnd
		}
		// The mark may be cut off. But a lone Escape is a key.
		if n := len(k.raw); (n > 1 || k.pasting) && n < len(mark) && strings.HasPrefix(mark, string(k.raw)) {
			return
		}
		switch b := k.raw[0]; {
		case bytes.HasPrefix(k.raw, []byte(mark)):
			k.raw = k.raw[len(mark):]
			if k.pasting {
				k.endPaste()
			}
			k.pasting = !k.pasting
			continue
		case k.pasting:
			k.paste = append(k.paste, b)
		case b == 'C'-'@':
			k.ready = append(k.ready, 'E'-'@') // to the end of the line
			k.ready = append(k.ready, caret+"\r"...)
			k.stopped++
		default:
			k.ready = append(k.ready, b)
		}
		k.raw = k.raw[1:]
	}
}

// endPaste puts a paste, or its label, into the line.
func (k *keys) endPaste() {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(k.paste))
	k.paste = nil
	text = strings.TrimRight(strings.ToValidUTF8(text, string(utf8.RuneError)), "\n")
	if len(text) > longPaste || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		k.pasted = append(k.pasted, text)
		text = label(len(k.pasted), text)
	}
	k.ready = append(k.ready, text...)
}

func label(number int, text string) string {
	return fmt.Sprintf("[paste %d: %s, %s]", number, spelling.Count(1+strings.Count(text, "\n"), "line"), spelling.Count(len(text), "byte"))
}

// line returns what an edited line means, and whether Ctrl-C ended it.
func (k *keys) line(edited string) (text string, interrupted bool) {
	if k.abandoned(edited) {
		k.stopped--
		return "", true
	}
	var pairs []string
	for i, text := range k.pasted {
		pairs = append(pairs, label(i+1, text), text)
	}
	return strings.NewReplacer(pairs...).Replace(edited), false
}

func (k *keys) abandoned(edited string) bool {
	return k.stopped > 0 && strings.HasSuffix(edited, caret)
}

// A history holds the lines that the arrow keys recall, oldest first, without
// blank, repeated and abandoned ones.
type history struct {
	lines []string
	keys  *keys
}

// historyLines bounds the lines of a history.
const historyLines = 500

func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || h.keys.abandoned(line) {
		return
	}
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > historyLines {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
}

func (h *history) Len() int        { return len(h.lines) }
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
