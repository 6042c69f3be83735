package atenia

import (
	"errors"
	"strings"
	"testing"

	"atenia/internal/model/text"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

// TestTemplateError: a template that does not take a conversation is an error of the
// conversation, which a server tells its client.
func TestTemplateError(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{`{{ raise_exception('Roles must alternate!') }}`, "Roles must alternate!"},
		{`{{ messages[0].content + messages }}`, "can only concatenate"},
		{`nothing of it`, "leaves out the last message"},
	} {
		tmpl, err := chat.Parse("test", c.template)
		if err != nil {
			t.Fatal(err)
		}
		m := &Model{text: &text.Text{Tokenizer: &token.Tokenizer{}, Template: tmpl}}
		_, err = m.Render(Conversation{Messages: []Message{{Role: "assistant", Content: "Hello."}}, Continue: true})
		if e, ok := errors.AsType[*TemplateError](err); !ok || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", c.template, err, c.want)
		}
	}
}
