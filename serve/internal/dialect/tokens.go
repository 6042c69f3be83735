package dialect

// POST /tokenize and /detokenize.

import (
	"net/http"

	"atenia/serve/internal/host"
)

func tokenize(_ http.ResponseWriter, r *host.Request) error {
	var in struct {
		Model   string  `json:"model"`
		Content *string `json:"content"` // llama-server's name
		Prompt  *string `json:"prompt"`  // vLLM's
		Special *bool   `json:"add_special"`
		Parse   *bool   `json:"parse_special"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	text := in.Content
	if text == nil {
		text = in.Prompt
	}
	if text == nil {
		return host.Invalid("content", "content is missing")
	}
	if len(*text) > mostText {
		return host.Invalid("content", "a text of %d bytes, the most is %d: send it in parts", len(*text), mostText)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	t, err := l.Tokenizer()
	if err != nil {
		return err
	}
	encode := t.Encode
	if in.Parse != nil && !*in.Parse {
		encode = t.EncodePlain
	}
	ids := encode(*text, in.Special != nil && *in.Special)
	if ids == nil {
		ids = []int32{}
	}
	return r.WriteJSON(http.StatusOK, map[string]any{"tokens": ids, "count": len(ids), "max_model_len": l.Context()})
}

// mostText is how long a text may be that is only tokenized: the ids of a longer one
// would take much more memory than itself. So many tokens become text at most.
const mostText = 1 << 20

func detokenize(_ http.ResponseWriter, r *host.Request) error {
	var in struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	if len(in.Tokens) > mostText {
		return host.Invalid("tokens", "there are %d tokens, the most is %d: send them in parts", len(in.Tokens), mostText)
	}
	for i, id := range in.Tokens {
		if id < 0 || int(id) >= l.Vocab() {
			return host.Invalid("tokens", "tokens[%d] is %d, want ids below %d", i, id, l.Vocab())
		}
	}
	text, err := l.Detokenize(in.Tokens)
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]string{"content": text, "prompt": text})
}
