package answer

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Limits of what is held back: a call that is not complete, and space of which it is
// not known whether text follows.
const (
	maxCall  = 1 << 20
	maxSpace = 4096
)

// An Event is a piece of an answer; one of its fields is set.
type Event struct {
	Text      string
	Reasoning string
	Call      *Part
}

// A Part is a piece of a tool call. The first one has the ID and the Name; the
// Arguments of all of them make an object of JSON.
type Part struct {
	Index     int // of the call in the answer
	ID, Name  string
	Arguments string
	// Broken takes the call back: its arguments end where they must not. The whole of
	// it follows as text.
	Broken bool
}

// A Tool is what the parser needs of a function: the types of its parameters, since
// some formats do not say whether 3 is a number or a text.
type Tool struct {
	Name       string
	Parameters json.RawMessage // a JSON Schema of an object
}

// Options of a [Parser].
type Options struct {
	Tools  []Tool
	Calls  bool          // look for calls, also if Tools is empty
	NewID  func() string // makes IDs for calls that have none; nil: call_0, call_1, …
	Prompt string        // the rendered prompt: it may end inside a thought
}

// A Parser splits one answer. It must be closed.
type Parser struct {
	d     *Dialect
	o     Options
	types map[string]map[string]string // of parameters by function

	// The input from base on; at is what comes next, and what is after good is not yet
	// part of any event, if there is a call. All three count from the answer's beginning.
	in       []byte
	base, at int
	good     int // -1: no call is being read
	ended    bool
	over     bool // a call is longer than maxCall

	streaming int // arguments since here are passed on as they come; -1: none
	calls     int
	open      bool // a call was passed on that is not complete

	held    string // space, of which it is not known whether text follows
	lead    bool   // space that comes next belongs to a mark
	said    bool   // there was text
	thought bool   // there was reasoning
	out     []Event

	marks  []string // that end text
	text   string   // all marks: a special token that is not part of one is dropped
	resume func() (struct{}, bool)
	stop   func()
	wait   func() bool
}

// New returns a parser of one answer in dialect d.
func New(d *Dialect, o Options) *Parser {
	p := &Parser{d: d, o: o, good: -1, streaming: -1}
	o.Calls = o.Calls || len(o.Tools) > 0
	p.o.Calls = o.Calls
	p.types = typesOf(o.Tools)
	p.collect()
	// The parser is a procedure that reads on; it stops where input ends and goes on
	// with the next Write.
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.wait = func() bool { return yield(struct{}{}) }
		p.run()
	})
	return p
}

// collect gathers the marks.
func (p *Parser) collect() {
	add := func(marks ...string) {
		for _, m := range marks {
			if m != "" {
				p.marks = append(p.marks, m)
			}
		}
	}
	var all strings.Builder
	for _, t := range p.d.thoughts {
		add(t.begin)
		all.WriteString(t.begin + "\x00" + t.end + "\x00")
	}
	add(p.d.silent...)
	if p.o.Calls {
		for _, s := range p.d.calls {
			add(s.section, s.open)
			if s.section == "" && s.open == "" {
				add(s.tags.name)
			}
			for _, m := range []string{s.sectionEnd, s.close, s.quote, s.lead, s.idMark, s.sep} {
				all.WriteString(m + "\x00")
			}
			t := &s.tags
			for _, m := range []string{t.name, t.nameEnd, t.key, t.keyEnd, t.value, t.valueEnd, t.end, t.attrs} {
				all.WriteString(m + "\x00")
			}
		}
	}
	if p.d.harmony {
		all.WriteString(strings.Join(harmonyMarks, "\x00"))
	}
	p.text = all.String() + strings.Join(p.marks, "\x00")
}

// Knows reports whether a special token's text is part of the format. Others, such as
// the end of a turn, are not given to Write.
func (p *Parser) Knows(special string) bool {
	return special != "" && strings.Contains(p.text, special)
}

// Write adds a piece of the answer and returns what has become certain. Events are
// valid until the next call.
func (p *Parser) Write(text string) []Event {
	p.out = p.out[:0]
	if text != "" && !p.ended {
		p.in = append(p.in, text...)
		p.resume()
	}
	return p.out
}

// Close ends the answer and returns what was held back. It may be called again.
func (p *Parser) Close() []Event {
	p.out = p.out[:0]
	if !p.ended {
		p.ended = true
		p.resume()
		p.stop()
	}
	return p.out
}

// more waits for input and reports whether there is some. What was read of arguments
// is passed on, and what is not needed any more is forgotten.
func (p *Parser) more() bool {
	p.flow()
	if p.ended || p.over {
		return false
	}
	keep := p.at
	if p.good >= 0 {
		keep = min(keep, p.good)
		if p.base+len(p.in)-p.good > maxCall {
			p.over = true
			return false
		}
	}
	if n := keep - p.base; n > 0 {
		p.in = append(p.in[:0], p.in[n:]...)
		p.base = keep
	}
	before := len(p.in)
	for !p.ended && len(p.in) == before {
		if !p.wait() {
			p.ended = true
		}
	}
	return len(p.in) > before
}

// flow passes arguments on that were read as they are.
func (p *Parser) flow() {
	if p.streaming >= 0 && p.at > p.streaming {
		p.emit(Event{Call: &Part{Index: p.calls - 1, Arguments: p.from(p.streaming)}})
		p.streaming = p.at
	}
}

// from returns the input since a place.
func (p *Parser) from(place int) string { return string(p.in[place-p.base : p.at-p.base]) }

// emit adds an event, to the last one if that is of the same kind.
func (p *Parser) emit(e Event) {
	if n := len(p.out) - 1; n >= 0 {
		last := &p.out[n]
		switch {
		case e.Text != "" && last.Text != "":
			last.Text += e.Text
			return
		case e.Reasoning != "" && last.Reasoning != "":
			last.Reasoning += e.Reasoning
			return
		case e.Call != nil && last.Call != nil && last.Call.Index == e.Call.Index && !last.Call.Broken:
			last.Call.Arguments += e.Call.Arguments
			last.Call.Broken = e.Call.Broken
			return
		}
	}
	p.out = append(p.out, e)
}

// say emits text or reasoning, but for space at the end, which may be followed by a
// mark.
func (p *Parser) say(text string, thinking bool) {
	if p.lead {
		if text = strings.TrimLeft(text, space); text == "" {
			return
		}
		p.lead = false
	}
	text = p.held + text
	p.held = ""
	if len(p.marks) > 0 || thinking || p.d.harmony {
		if sure := strings.TrimRight(text, space); len(text)-len(sure) <= maxSpace {
			text, p.held = sure, text[len(sure):]
		}
	}
	switch {
	case text == "":
	case thinking:
		p.thought = true
		p.emit(Event{Reasoning: text})
	default:
		p.said = true
		p.emit(Event{Text: text})
	}
}

const space = " \t\r\n"

// run reads the answer from its beginning to its end.
func (p *Parser) run() {
	if p.d.harmony {
		p.harmony()
		return
	}
	prompt := strings.TrimRight(p.o.Prompt, space)
	for _, t := range p.d.thoughts {
		if t.begunBy(p.o.Prompt) {
			p.think(t.end)
			break
		}
		if p.lead = p.skip(t.end); p.lead { // of a thought that the prompt ended
			break
		}
	}
	for _, mark := range p.d.prompted {
		if strings.HasSuffix(prompt, mark) { // it begins what follows
			p.in = append([]byte(mark), p.in...)
		}
	}
	if p.o.Calls && p.d.bare {
		p.bareCalls()
	}
	for {
		mark, ok := p.scan(p.marks, false)
		if !ok {
			break
		}
		p.opened(mark)
	}
	if !p.lead && p.held != "" {
		p.emit(Event{Text: p.held})
	}
}

// opened reads what a mark that stands next begins.
func (p *Parser) opened(mark string) {
	for _, t := range p.d.thoughts {
		if t.begin == mark {
			p.at += len(mark)
			p.held = ""
			p.think(t.end)
			return
		}
	}
	if p.o.Calls {
		for _, s := range p.d.calls {
			if mark == s.section || mark == s.open || s.section == "" && s.open == "" && mark == s.tags.name {
				p.called(mark)
				return
			}
		}
	}
	p.at += len(mark) // a silent one
	p.held, p.lead = "", true
}

// think reads a thought up to the mark that ends it, or up to a call: some models end
// thoughts with one.
func (p *Parser) think(end string) {
	p.lead = true
	if p.thought {
		p.emit(Event{Reasoning: "\n"})
	}
	marks := []string{end}
	if p.o.Calls {
		for _, s := range p.d.calls {
			if s.section != "" && !strings.HasPrefix(s.section, "<tool") {
				marks = append(marks, s.section)
			}
		}
	}
	if mark, ok := p.scan(marks, true); ok && mark == end {
		p.at += len(end)
	}
	p.held, p.lead = "", true
}

// scan reads text up to the first of some marks, which it leaves unread, and reports
// false where the answer ends.
func (p *Parser) scan(marks []string, thinking bool) (mark string, ok bool) {
	for {
		rest := p.in[p.at-p.base:]
		first, partial := len(rest), false
		for _, m := range marks {
			if i := bytes.Index(rest[:min(len(rest), first+len(m))], []byte(m)); i >= 0 && (i < first || i == first && len(m) > len(mark)) {
				first, mark, ok = i, m, true
			}
		}
		// The beginning of another mark that comes earlier, or of a longer one.
		for _, m := range marks {
			for n := min(len(m)-1, len(rest)); n > 0; n-- {
				if i := len(rest) - n; i <= first && (i < first || len(m) > len(mark)) && string(rest[i:]) == m[:n] {
					first, partial = i, true
					break
				}
			}
		}
		if first > 0 {
			p.at += first
			p.say(string(rest[:first]), thinking)
		}
		if ok && !partial {
			return mark, true
		}
		mark, ok = "", false
		if !p.more() {
			if rest := p.in[p.at-p.base:]; len(rest) > 0 {
				p.at += len(rest)
				p.say(string(rest), thinking)
			}
			return "", false
		}
	}
}

// peek returns the next byte.
func (p *Parser) peek() (byte, bool) {
	for p.at-p.base >= len(p.in) {
		if !p.more() {
			return 0, false
		}
	}
	return p.in[p.at-p.base], true
}

// has reports whether a text comes next. It reads no further than needed to tell.
func (p *Parser) has(text string) bool {
	for i := 0; i < len(text); i++ {
		for p.at-p.base+i >= len(p.in) {
			if !p.more() {
				return false
			}
		}
		if p.in[p.at-p.base+i] != text[i] {
			return false
		}
	}
	return true
}

// skip reads a text if it comes next.
func (p *Parser) skip(text string) bool {
	if !p.has(text) {
		return false
	}
	p.at += len(text)
	return true
}

// spaces reads white space.
func (p *Parser) spaces() {
	for {
		c, ok := p.peek()
		if !ok || strings.IndexByte(space, c) < 0 {
			return
		}
		p.at++
	}
}

// until reads up to the first of some texts, which it leaves unread.
func (p *Parser) until(ends ...string) (text string, ok bool) {
	for start := p.at; ; p.at++ {
		if _, ok := p.peek(); !ok {
			return "", false
		}
		for _, end := range ends {
			if end[0] == p.in[p.at-p.base] && p.has(end) {
				return p.from(start), true
			}
		}
	}
}
