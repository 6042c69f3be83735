package text

import (
	"atenia/internal/sample"
	"atenia/internal/text/answer"
	"atenia/internal/text/token"
)

// A Writer turns the tokens of an answer into text that may be shown, reasoning and
// calls. It must be closed.
type Writer struct {
	tok    *token.Tokenizer // nil: there is no text
	stream *token.Stream
	parser *answer.Parser // nil: all is text
	stops  *sample.Stops
	one    bool    // the second call ends the answer
	calls  int     // calls so far, those aside that turned out to be none
	out    []Event // what was not taken yet
}

// OneCall makes a second call end the answer before it.
func (w *Writer) OneCall() { w.one = true }

// An Event is a piece of an answer.
type Event = answer.Event

// Writer returns a writer of text alone, which a stop string ends.
func (t *Text) Writer(stop []string) *Writer {
	w := &Writer{tok: t.Tokenizer}
	if t.Tokenizer != nil {
		w.stream = t.Tokenizer.NewStream(true)
	}
	if len(stop) > 0 {
		w.stops = sample.NewStops(stop)
	}
	return w
}

// Parsed returns a writer that tells text, reasoning and calls of tools apart, as the
// model's template marks them. schemas are those of the tools' parameters by name,
// prompt is what the model answers, and newID makes IDs of calls.
func (t *Text) Parsed(stop []string, schemas map[string][]byte, prompt string, newID func() string) *Writer {
	w := t.Writer(stop)
	if d := t.Answers; d != nil && t.Tokenizer != nil && !d.Plain(len(schemas) > 0) {
		w.parse(d, answer.Options{Prompt: prompt, NewID: newID}, schemas)
	}
	return w
}

// Forced returns a writer of an answer that is a call, as f says.
func (t *Text) Forced(f answer.Forced, schemas map[string][]byte, newID func() string) *Writer {
	w := t.Writer(nil)
	w.parse(f.Dialect, answer.Options{NewID: newID}, schemas)
	w.take(w.parser.Write(f.Read))
	return w
}

// parse gives the writer a parser, which needs the marks too that are special tokens.
func (w *Writer) parse(d *answer.Dialect, o answer.Options, schemas map[string][]byte) {
	for name, schema := range schemas {
		o.Tools = append(o.Tools, answer.Tool{Name: name, Parameters: schema})
	}
	w.parser = answer.New(d, o)
	w.stream = w.tok.NewStream(false)
}

// Add takes a token, and reports whether a stop string or a second call ended the answer.
func (w *Writer) Add(id int32) (stopped bool) {
	if w.stream == nil {
		return false
	}
	if w.parser == nil {
		return w.say(w.stream.Next(id))
	}
	if w.tok.IsSpecial(id) {
		if text, _ := w.tok.Token(id); !w.parser.Knows(text) {
			return false
		}
	}
	return w.take(w.parser.Write(w.stream.Next(id)))
}

// Flush adds what was held back at the end of an answer.
func (w *Writer) Flush() (stopped bool) {
	if w.stream == nil {
		return false
	}
	if w.parser == nil {
		stopped = w.say(w.stream.Flush())
	} else {
		stopped = w.take(w.parser.Write(w.stream.Flush())) || w.take(w.parser.Close())
	}
	if w.stops != nil && !stopped {
		w.put(Event{Text: w.stops.Flush()})
	}
	return stopped
}

// Close ends the parser of an answer that may not have ended.
func (w *Writer) Close() {
	if w.parser != nil {
		w.parser.Close()
	}
}

// take adds events. Stop strings are looked for in text; one does not reach past a
// thought or a call.
func (w *Writer) take(events []Event) (stopped bool) {
	for _, e := range events {
		if e.Text != "" {
			if w.say(e.Text) {
				return true
			}
			continue
		}
		if w.stops != nil {
			w.put(Event{Text: w.stops.Flush()})
		}
		if w.second(e.Call) {
			return true
		}
		w.put(e)
	}
	return false
}

// second reports whether a part begins a call that there may not be. A part with a name
// begins one; a broken one was none.
func (w *Writer) second(c *answer.Part) bool {
	if c == nil || c.Broken && c.Name != "" {
		return false
	}
	switch {
	case c.Broken:
		w.calls--
	case c.Name != "":
		if w.one && w.calls == 1 {
			return true
		}
		w.calls++
	}
	return false
}

// say adds text up to a stop string.
func (w *Writer) say(text string) (stopped bool) {
	if w.stops != nil {
		text, stopped = w.stops.Feed(text)
	}
	w.put(Event{Text: text})
	return stopped
}

func (w *Writer) put(e Event) {
	if e != (Event{}) {
		w.out = append(w.out, e)
	}
}

// Pending returns what has come of the answer and was not taken yet.
func (w *Writer) Pending() []Event { return w.out }

// Take removes the first n events of Pending.
func (w *Writer) Take(n int) { w.out = append(w.out[:0], w.out[n:]...) }

// Hit returns the stop string that ended the answer, "" if none did.
func (w *Writer) Hit() string {
	if w.stops == nil {
		return ""
	}
	return w.stops.Hit()
}
