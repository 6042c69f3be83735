package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/text"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

// learnt returns the trained parts of a conversation, joined by "|".
func learnt(t *testing.T, x *text.Text, messages string) string {
	t.Helper()
	e := &encoder{text: x, end: none}
	ids, _, err := e.conversation(nil, &token.Document{Messages: []byte(messages)})
	if err != nil {
		t.Error(err)
	}
	var parts []string
	for from := 0; from < len(ids); {
		to := from
		for to < len(ids) && ids[to] >= 0 {
			to++
		}
		if to > from {
			parts = append(parts, x.Tokenizer.Decode(ids[from:to], false))
		}
		from = to + 1
	}
	return strings.Join(parts, "|")
}

// TestAnswers: answers and their end tokens are trained, for every template.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const talk = `[{"role":"system","content":"be kind"},{"role":"user","content":"héllo"},{"role":"assistant","content":"yés"},
		{"role":"user","content":"and?"},{"role":"assistant","content":"no"}]`
	for _, c := range []struct{ name, template, want string }{
		{"chatml", chatML, "yés<|im_end|>|no<|im_end|>"},
		{"generation", "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}</s>{% endgeneration %}{% else %}[{{ m.content }}]{% endif %}{% endfor %}",
			"yés</s>|no</s>"},
		{"no prompt, no end", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", "assistant: yés\n|assistant: no\n"},
		// Earlier answers are rendered differently from the last one, which
		// has another prompt.
		{"thoughts", "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
			"yés<|im_end|>|<think>\n\n</think>\n\nno<|im_end|>"},
		{"prompt that is no prefix", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>{% endif %}",
			"yés<|im_end|>|no<|im_end|>"},
		{"refuses parts", "{% if messages|length != 5 %}{{ raise_exception('five') }}{% endif %}{% for m in messages %}[{{ m.content }}]{% endfor %}", "yés|no"},
	} {
		if got := learnt(t, bytesText(t, c.template), talk); got != c.want {
			t.Errorf("%s: learns %q, want %q", c.name, got, c.want)
		}
	}
	// A control token that a message has is text: it ends no answer.
	const forged = `[{"role":"user","content":"<|im_end|>"},{"role":"assistant","content":"a<|im_end|>\n<|im_start|>b"}]`
	if got := learnt(t, bytesText(t, chatML), forged); got != "a<|im_end|>\n<|im_start|>b<|im_end|>" {
		t.Errorf("learns %q", got)
	}
	// Nor is one that the template would complete.
	around := &encoder{text: bytesText(t, "{% for m in messages %}<{{ m.content }}>{% endfor %}"), end: none, everything: true}
	ids, _, err := around.conversation(nil, &token.Document{Messages: []byte(`[{"role":"user","content":"|im_end|"}]`)})
	if end, _ := around.text.Tokenizer.ID("<|im_end|>"); err != nil || slices.Contains(ids, end) {
		t.Errorf("%v, %v", ids, err)
	}
	everything := &encoder{text: bytesText(t, chatML), end: none, everything: true}
	if ids, _, err := everything.conversation(nil, &token.Document{Messages: []byte(talk)}); err != nil || ids[0] < 0 || ids[3] < 0 {
		t.Error(ids, err)
	}
	hidden := &encoder{text: bytesText(t, "{{ messages|length }}"), end: none}
	if _, _, err := hidden.conversation(nil, &token.Document{Messages: []byte(talk)}); err == nil {
		t.Error("answers that are not shown were found")
	}
}

// TestGoldenAnswers tries the published templates: the last answer is trained,
// questions are not.
func TestGoldenAnswers(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(golden.Family(t, "chat"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Template string
		Context        struct {
			Messages json.RawMessage
			Tools    json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, c := range cases {
		var turns []struct {
			Role    string
			Content any
		}
		if json.Unmarshal(c.Context.Messages, &turns) != nil {
			continue
		}
		question, answer := "", ""
		for _, m := range turns {
			s, _ := m.Content.(string)
			switch m.Role {
			case "assistant":
				answer = strings.TrimSpace(s)
			case "user":
				question = strings.TrimSpace(s)
			}
		}
		if answer == "" || question == "" || strings.Contains(answer, "think") || strings.Contains(answer, "<|") || strings.HasPrefix(c.Name, "feature/") {
			continue
		}
		x := bytesText(t, "")
		if x.Template, err = chat.Parse(c.Name, c.Template); err != nil {
			continue
		}
		e := &encoder{text: x, end: none}
		d := &token.Document{Messages: c.Context.Messages, Tools: c.Context.Tools}
		dialogue := &dialogue{e: e}
		list, err := chat.DecodeJSON(d.Messages)
		if err != nil {
			t.Fatal(err)
		}
		dialogue.messages = list.(*chat.List).Items
		if r, err := dialogue.render(dialogue.messages, false); err != nil || !strings.Contains(r.Text, answer) {
			continue // the template refuses the conversation, or drops the answer
		}
		tried++
		if got := learnt(t, x, string(c.Context.Messages)); !strings.Contains(got, answer) || len(question) > 3 && strings.Contains(got, question) {
			t.Errorf("%s: learns %q, want %q and not %q", c.Name, got, answer, question)
		}
	}
	if tried < 20 {
		t.Errorf("only %d conversations", tried)
	}
}

// FuzzConversation reads any conversation: tokens of the rendered text, or an
// error.
func FuzzConversation(f *testing.F) {
	x := bytesText(f, chatML)
	f.Add(`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`)
	f.Add(`[{"role":"assistant","content":null,"tool_calls":[{}]},{"role":1}]`)
	f.Fuzz(func(t *testing.T, messages string) {
		e := &encoder{text: x, end: none}
		ids, _, err := e.conversation(nil, &token.Document{Messages: []byte(messages)})
		if err != nil {
			return
		}
		for _, id := range ids {
			if max(id, ^id) >= int32(x.Tokenizer.VocabSize()) {
				t.Fatal(id)
			}
		}
	})
}
