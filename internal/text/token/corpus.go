package token

import (
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Document is one text or one conversation.
type Document struct {
	Text string
	// More is set if the next document continues this one: a piece of a text file.
	More bool
	// Messages is a conversation, a JSON array of objects with a role, unmodified;
	// Tools are the functions it may call. nil for text.
	Messages, Tools []byte
	// Audio is the file of a sound in which Text is said, in the language with the code
	// Language; Task is "translate" if Text is in English instead. "" for text alone.
	Audio, Language, Task string
	// Pair is what encoders learn from; nil for a text or a conversation alone. A text
	// with a label is both.
	Pair *Pair

	File string
	Line int // where it starts, from 1
}

// ErrCorpusFormat is matched by every fault of a file's content.
var ErrCorpusFormat = errors.New("malformed document")

// An CorpusError says where a corpus is invalid.
type CorpusError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *CorpusError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *CorpusError) Unwrap() error { return e.Err }

// Limits on what is in memory at a time.
const (
	pieceBytes = 1 << 20  // of a text file
	lineBytes  = 64 << 20 // of a line of JSON
)

// ReadCorpus yields the documents of files in order. The error is last.
func ReadCorpus(ctx context.Context, files []string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, name := range files {
			if !readFile(ctx, name, yield) {
				return
			}
		}
	}
}

// readFile reads one file and reports whether to continue.
func readFile(ctx context.Context, name string, yield func(Document, error) bool) bool {
	f, err := durable.OpenText(name)
	if err != nil {
		yield(Document{}, err)
		return false
	}
	defer f.Close()
	var docs iter.Seq2[Document, error]
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jsonl", ".ndjson":
		docs = Lines(f, name)
	default:
		docs = pieces(f, name)
	}
	for d, err := range docs {
		if err == nil {
			err = ctx.Err()
		}
		if !yield(d, err) || err != nil {
			return false
		}
	}
	return true
}

// Lines yields the documents of a JSON lines file and skips empty lines. name is
// used in errors.
func Lines(r io.Reader, name string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for number := 1; ; number++ {
			line, err := readLine(in)
			fault := err
			if err == io.EOF {
				fault = nil
			}
			if fault == nil {
				line, fault = utf8Of(line, number, number == 1)
			}
			if line = bytes.TrimSpace(line); fault == nil && len(line) > 0 {
				var d Document
				if d, fault = parse(line); fault == nil {
					d.File, d.Line = name, number
					if !yield(d, nil) {
						return
					}
				}
			}
			if fault != nil {
				yield(Document{}, &CorpusError{name, number, fault})
				return
			}
			if err != nil {
				return
			}
		}
	}
}

// utf8Of is [spelling.UTF8At], whose error is one of the format.
func utf8Of(b []byte, line int, first bool) ([]byte, error) {
	b, err := spelling.UTF8At(b, line, first)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrCorpusFormat, err)
	}
	return b, err
}

// readLine returns a line of bounded length, and io.EOF with the last one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > lineBytes {
			return nil, fmt.Errorf("%w: the line is longer than %d MiB", ErrCorpusFormat, lineBytes>>20)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// parse reads one line.
func parse(line []byte) (Document, error) {
	var o struct {
		Text     *string         `json:"text"`
		Messages json.RawMessage `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
		Audio    *string         `json:"audio"`
		Language string          `json:"language"`
		Task     string          `json:"task"`
		pairFields
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return Document{}, fmt.Errorf("%w: want an object with \"text\" or \"messages\": %w", ErrCorpusFormat, err)
	}
	switch {
	case o.Text != nil && o.Messages != nil:
		return Document{}, fmt.Errorf("%w: both \"text\" and \"messages\"", ErrCorpusFormat)
	case o.Audio != nil && (o.Text == nil || *o.Audio == ""):
		return Document{}, fmt.Errorf("%w: \"audio\" needs a file and the \"text\" that is said in it", ErrCorpusFormat)
	case o.Audio != nil && o.Task != "" && o.Task != "transcribe" && o.Task != "translate":
		return Document{}, fmt.Errorf("%w: \"task\" is %q, want \"transcribe\" or \"translate\"", ErrCorpusFormat, o.Task)
	case o.Audio != nil:
		return Document{Text: *o.Text, Audio: *o.Audio, Language: o.Language, Task: o.Task}, nil
	case o.Text != nil:
		return Document{Text: *o.Text, Pair: o.labelled(*o.Text)}, nil
	case o.Messages == nil && o.Query != nil:
		p, err := o.pair()
		return Document{Pair: p}, err
	case o.Messages == nil:
		return Document{}, fmt.Errorf("%w: neither \"text\" nor \"messages\" nor \"query\"", ErrCorpusFormat)
	}
	var turns []struct {
		Role *string `json:"role"`
	}
	if err := json.Unmarshal(o.Messages, &turns); err != nil {
		return Document{}, fmt.Errorf("%w: \"messages\": want a list of objects: %w", ErrCorpusFormat, err)
	}
	if len(turns) == 0 {
		return Document{}, fmt.Errorf("%w: \"messages\" is empty", ErrCorpusFormat)
	}
	for i, t := range turns {
		if t.Role == nil {
			return Document{}, fmt.Errorf("%w: message %d has no \"role\"", ErrCorpusFormat, i)
		}
	}
	return Document{Messages: o.Messages, Tools: o.Tools}, nil
}

// pieces yields the pieces of a text file. It is divided where any pattern ends
// a word: after a line end without white space on either side.
func pieces(r io.Reader, name string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		buf := make([]byte, 0, pieceBytes+utf8.UTFMax)
		for line, first := 1, true; ; first = false {
			n, err := io.ReadFull(r, buf[len(buf):pieceBytes])
			buf = buf[:len(buf)+n]
			last := err == io.EOF || err == io.ErrUnexpectedEOF
			if err != nil && !last {
				yield(Document{}, &CorpusError{name, line, err})
				return
			}
			cut := len(buf)
			if !last {
				cut = border(buf)
			}
			piece, fault := utf8Of(buf[:cut], line, first)
			if e, ok := errors.AsType[*spelling.EncodingError](fault); ok {
				yield(Document{}, &CorpusError{name, e.Line, fault})
				return
			}
			d := Document{Text: string(piece), More: !last, File: name, Line: line}
			if cut > 0 && !yield(d, nil) || last {
				return
			}
			line += bytes.Count(buf[:cut], []byte("\n"))
			buf = buf[:copy(buf, buf[cut:])]
		}
	}
}

// border returns where to divide a text that continues, in its second half if
// possible.
func border(b []byte) int {
	for i := len(b) - 2; i > len(b)/2; i-- {
		if b[i] != '\n' || isSpace(b[i-1]) {
			continue
		}
		if r, _ := utf8.DecodeRune(b[i+1:]); r != utf8.RuneError && !unicode.IsSpace(r) {
			return i + 1
		}
	}
	for i := range utf8.UTFMax { // not within a character
		if i < len(b)/2 && utf8.RuneStart(b[len(b)-1-i]) {
			return len(b) - 1 - i
		}
	}
	return len(b)
}

// isSpace reports whether a byte is white space or may belong to a white-space
// character.
func isSpace(b byte) bool { return b <= ' ' || b >= utf8.RuneSelf }

// texts yields the texts of files, including the contents of messages.
func texts(ctx context.Context, files []string) iter.Seq2[string, error] {
	return textsOf(ctx, files, func(messages []byte) (out []string, err error) {
		var turns []struct {
			Role    string
			Content any
		}
		if err := json.Unmarshal(messages, &turns); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorpusFormat, err)
		}
		for _, t := range turns {
			if s, ok := t.Content.(string); ok {
				out = append(out, s)
			}
		}
		return out, nil
	})
}

// textsOf yields the texts of files; texts returns those of a conversation's messages,
// which are JSON. Its error is the last, with the file and the line.
func textsOf(ctx context.Context, files []string, texts func(messages []byte) ([]string, error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for d, err := range ReadCorpus(ctx, files) {
			var all []string
			switch {
			case err == nil && d.Pair != nil:
				all = d.Pair.All()
			case err != nil || d.Messages == nil:
				if !yield(d.Text, err) {
					return
				}
				continue
			default:
				if all, err = texts(d.Messages); err != nil {
					yield("", &CorpusError{d.File, d.Line, err})
					return
				}
			}
			for _, s := range all {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}
