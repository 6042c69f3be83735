package answer

import "strings"

// harmonyMarks are the special tokens of gpt-oss's messages.
var harmonyMarks = []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"}

// messageEnds end a message, the last one by beginning another.
var messageEnds = []string{"<|end|>", "<|call|>", "<|return|>", "<|start|>"}

// harmony reads messages: <|start|>role to=recipient<|channel|>channel
// type<|message|>content, ended by <|end|>, <|call|> or <|return|>. The prompt ends
// after the first one's role (OpenAI's harmony format).
func (p *Parser) harmony() {
	for {
		p.good = p.at
		p.skip("<|start|>")
		p.skip("assistant")
		p.spaces()
		if p.has("<|channel|>") || p.has("to=") || p.has("<|message|>") || p.has("<|constrain|>") {
			p.headed()
		} else { // text of a model that leaves the header out
			p.at, p.good = p.good, -1
			p.scan(messageEnds, false)
		}
		for _, end := range messageEnds[:3] {
			p.skip(end)
		}
		if _, more := p.peek(); !more {
			break
		}
	}
	if p.held != "" && !p.lead {
		p.emit(Event{Text: p.held})
	}
}

// headed reads a message with its header.
func (p *Parser) headed() {
	header, ok := p.until(append([]string{"<|message|>"}, messageEnds...)...)
	if !ok || !p.skip("<|message|>") {
		p.fail()
		return
	}
	channel, recipient := heading(header)
	name, isCall := strings.CutPrefix(recipient, "functions.")
	switch {
	case isCall && p.o.Calls && proper(name):
		p.harmonyCall(name)
	case channel == "analysis":
		p.message(true, p.thought)
	default:
		p.message(false, p.said)
	}
}

// heading returns a message's channel and recipient, "" for none.
func heading(header string) (channel, recipient string) {
	header, after, _ := strings.Cut(header, "<|channel|>")
	for _, word := range strings.Fields(header + " " + strings.ReplaceAll(after, "<|constrain|>", " ")) {
		if to, ok := strings.CutPrefix(word, "to="); ok {
			recipient = to
		}
	}
	if words := strings.Fields(strings.ReplaceAll(after, "<|constrain|>", " ")); len(words) > 0 {
		channel = words[0]
	}
	return channel, recipient
}

// message reads text or reasoning. Two messages of a kind are two paragraphs.
func (p *Parser) message(thinking, again bool) {
	p.good = -1
	p.held, p.lead = "", !again
	if again {
		p.held = "\n\n"
	}
	p.scan(messageEnds, thinking)
	if thinking {
		p.held = ""
	}
}

// harmonyCall reads the arguments of a call. What is none becomes text.
func (p *Parser) harmonyCall(name string) {
	p.held = ""
	p.spaces()
	c, _ := p.peek()
	if c == '{' {
		p.begin(name, "")
		if p.streamed() {
			p.complete()
			p.good, p.lead = -1, true
			return
		}
	}
	p.fail()
	p.scan(messageEnds, false)
}
