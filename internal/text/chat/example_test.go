package chat_test

import (
	"errors"
	"fmt"

	"atenia/internal/text/chat"
)

func Example() {
	t, err := chat.Parse("chatml", `
{%- for m in messages -%}
<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}<|im_end|>
{% endfor -%}
{%- if tools %}{{ tools | tojson }}{% endif %}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	messages, _ := chat.DecodeJSON([]byte(`[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]`))
	r, err := t.Render(&chat.Context{
		Messages: messages,
		Tools:    []any{chat.NewMap("name", "clock", "cost", 1.0)},
	})
	fmt.Println(r.Text)
	fmt.Println(r.Assistant, err)
	// Output:
	// <|im_start|>user
	// Hi<|im_end|>
	// <|im_start|>assistant
	// Hello!<|im_end|>
	// [{"name": "clock", "cost": 1.0}]
	// [[52 58]] <nil>
}

// A template may reject a conversation; the error has the reason.
func ExampleRaiseError() {
	t, _ := chat.Parse("strict", `{% if not messages %}{{ raise_exception('say something') }}{% endif %}`)
	_, err := t.Render(nil)
	r, ok := errors.AsType[*chat.RaiseError](err)
	fmt.Println(ok, r.Message)
	// Output: true say something
}

func ExampleSyntaxError() {
	_, err := chat.Parse("child", "{% if x %}\n  {% include 'base' %}\n{% endif %}")
	fmt.Println(err)
	// Output: template child:2:6: the tag "include" is not supported: a chat template stands alone
}
