package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// errInterrupted says that Ctrl-C was pressed on an unfinished line.
var errInterrupted = errors.New("interrupted")

// A lineReader reads lines: with editing and history from a terminal, plainly
// from anything else. The terminal is raw only while a line is being edited,
// so that Ctrl-C is a signal at all other times.
type lineReader struct {
	Terminal bool // lines are edited
	plain    *bufio.Reader
	file     *os.File
	edit     *term.Terminal
	keys     *keys
	out      io.Writer

	mu     sync.Mutex
	cooked *term.State // of the terminal while it is raw, nil otherwise
}

// newLineReader returns a reader of in that echoes the edited line to out.
func newLineReader(in io.Reader, out io.Writer) *lineReader {
	f, ok := in.(*os.File)
	if !ok || !isTerminal(in) || !isTerminal(out) {
		return &lineReader{plain: bufio.NewReader(in)}
	}
	l := &lineReader{Terminal: true, file: f, keys: &keys{r: f}, out: out}
	l.edit = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{l.keys, out}, "")
	l.edit.History = &history{keys: l.keys}
	return l
}

// Read returns the next line without its end, [io.EOF] after the last one, and
// errInterrupted for a line that Ctrl-C abandoned.
func (l *lineReader) Read(prompt string) (string, error) {
	if !l.Terminal {
		line, err := l.plain.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		return line, err
	}
	fd := int(l.file.Fd())
	if err := l.raw(fd); err != nil {
		return "", err
	}
	defer l.Abandon()
	if w, h, err := term.GetSize(fd); err == nil && w > 0 && h > 0 {
		l.edit.SetSize(w, h)
	}
	l.edit.SetPrompt(prompt)
	line, err := l.edit.ReadLine()
	if err != nil {
		return "", err
	}
	line, interrupted := l.keys.line(line)
	if interrupted {
		return "", errInterrupted
	}
	return line, nil
}

// raw takes the terminal over.
func (l *lineReader) raw(fd int) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cooked, err = term.MakeRaw(fd); err == nil {
		io.WriteString(l.out, pasteOn)
	}
	return err
}

// Abandon restores the terminal, also while a line is being read, after which
// nothing may be read.
func (l *lineReader) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cooked != nil {
		io.WriteString(l.out, pasteOff)
		term.Restore(int(l.file.Fd()), l.cooked)
		l.cooked = nil
	}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(v any) bool {
	if o, ok := v.(*output); ok {
		v = o.w
	}
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
