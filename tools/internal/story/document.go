package story

import "math/rand/v2"

// A Message is one turn of a chat.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// A Document is one text to learn from: a plain story, or a chat.
type Document struct {
	Text     string    `json:"text,omitempty"`
	Messages []Message `json:"messages,omitempty"`
}

// rules are system messages that change nothing.
var rules = []string{"You are a storyteller.", "You tell stories for children.", "Be kind.", "You are a helpful assistant."}

// At returns the document of that index. It depends on seed and index alone, so
// the number and order of documents are free.
func At(seed, index uint64) Document {
	r := rand.New(rand.NewPCG(seed, index))
	n := r.IntN(20)
	if n < 12 {
		return Document{Text: set(r, wish{}).tell(r, r.IntN(8) == 0)}
	}
	var talk []Message
	if r.IntN(25) == 0 {
		talk = []Message{{"system", pick(r, rules)}}
	}
	switch {
	case n < 16:
		return Document{Messages: append(talk, storyChat(r)...)}
	case n < 19:
		return Document{Messages: append(talk, recall(r)...)}
	}
	return Document{Messages: append(talk, smallTalk(r)...)}
}

// Asked returns a chat that begins with a request for a story, or that asks to
// remember something. Like [At], it depends on seed and index alone.
func Asked(seed, index uint64) Document {
	r := rand.New(rand.NewPCG(^seed, index))
	if r.IntN(10) < 3 {
		return Document{Messages: storyChat(r)}
	}
	return Document{Messages: recall(r)}
}

// String returns the document in the form of training: a chat in ChatML.
func (d Document) String() string {
	s := d.Text
	for _, m := range d.Messages {
		s += "<|im_start|>" + m.Role + "\n" + m.Content + "<|im_end|>\n"
	}
	return s
}
