package cli

import (
	"bufio"
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// errInterrupted says that Ctrl-C was pressed on an unfinished line.
var errInterrupted = errors.New("interrupted")

// A lineReader reads lines: with editing and history from a terminal, plainly
// from anything else. The terminal is raw only while a line is being edited,
// so that Ctrl-C is a signal at all other times.
type lineReader struct {
	terminal bool
	plain    *bufio.Reader
	file     *os.File
	edit     *term.Terminal
	keys     *keys
	out      io.Writer
}

func newLineReader(in io.Reader, out io.Writer) *lineReader {
	f, ok := in.(*os.File)
	if !ok || !isTerminal(in) || !isTerminal(out) {
		return &lineReader{plain: bufio.NewReader(in)}
	}
	l := &lineReader{terminal: true, file: f, keys: &keys{r: f}, out: out}
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
	if !l.terminal {
		line, err := l.plain.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		return line, err
	}
	fd := int(l.file.Fd())
	old, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, old)
	io.WriteString(l.out, pasteOn)
	defer io.WriteString(l.out, pasteOff)
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
