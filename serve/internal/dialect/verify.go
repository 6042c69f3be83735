package dialect

// POST /v1/verify: an answer is computed again of which a receipt was given.

import (
	"encoding/json"
	"net/http"

	"atenia"
	"atenia/serve/internal/host"
)

// A verifyRequest is the body.
type verifyRequest struct {
	Model   string          `json:"model"` // "" = the first one
	Receipt json.RawMessage `json:"receipt"`
	// Request is the request that was answered, and Endpoint the path that it was sent to, where
	// the receipt has the hash of the prompt alone.
	Request  json.RawMessage `json:"request"`
	Endpoint string          `json:"endpoint"` // "" = /v1/chat/completions
}

// A verdict is the response.
type verdict struct {
	Equal  bool    `json:"equal"`
	Tokens int     `json:"tokens"`          // of the answer
	Token  *int    `json:"token,omitempty"` // the first that is another, from 0
	By     float64 `json:"by,omitempty"`    // by which the logit of what was computed is above that of what the receipt says
}

func verify(_ http.ResponseWriter, r *host.Request) error {
	var in verifyRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if len(in.Receipt) == 0 {
		return host.Invalid("receipt", "receipt is missing")
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	receipt, _, err := atenia.ReceiptOf(in.Receipt)
	if err != nil {
		return err
	}
	var prompt []int32
	if len(in.Request) > 0 {
		if prompt, err = in.prompt(r, l); err != nil {
			return err
		}
	}
	at, by, err := l.Verify(r.Context(), receipt, prompt)
	if err != nil {
		return err
	}
	var said struct {
		Answer []int32 `json:"answer"`
	}
	if err := json.Unmarshal(receipt, &said); err != nil {
		return err
	}
	out := verdict{Equal: at < 0, Tokens: len(said.Answer), By: by}
	if at >= 0 {
		out.Token = &at
	}
	return r.WriteJSON(http.StatusOK, out)
}

// prompt returns the tokens of the prompt of the request that was answered.
func (in *verifyRequest) prompt(r *host.Request, l *host.Lease) ([]int32, error) {
	c, err := in.conversation(l)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return r.PromptTokens(l, *c)
	}
	var body struct {
		Prompt prompts `json:"prompt"`
	}
	if err := json.Unmarshal(in.Request, &body); err != nil {
		return nil, host.Invalid("request", "request: %v", err)
	}
	if len(body.Prompt) != 1 {
		return nil, host.Invalid("request", "request has no prompt, or several")
	}
	if p := body.Prompt[0]; p.Tokens != nil {
		return p.Tokens, nil
	}
	return l.Tokenize(body.Prompt[0].Text)
}

// conversation returns that of the request, nil if it continues a prompt.
func (in *verifyRequest) conversation(l *host.Lease) (*atenia.Conversation, error) {
	var c atenia.Conversation
	var err error
	read := func(v any, leaveOut func(*host.Request) error, make func() (atenia.Conversation, error)) {
		if err = json.Unmarshal(in.Request, v); err != nil {
			err = host.Invalid("request", "request: %v", err)
			return
		}
		if err = leaveOut(nil); err == nil {
			c, err = make()
		}
	}
	switch in.Endpoint {
	case "", "/v1/chat/completions":
		var q openaiChatRequest
		read(&q, q.leaveOut, func() (atenia.Conversation, error) { return q.conversation(l) })
	case "/v1/responses":
		var q respondRequest
		read(&q, q.unfold, func() (c atenia.Conversation, err error) {
			if c, err = q.conversation(l); err == nil {
				err = q.offer(&c, nil)
			}
			if err == nil {
				c.Messages, err = q.messages(nil)
			}
			return c, err
		})
	case "/v1/messages":
		var q anthropicRequest
		read(&q, q.leaveOut, func() (atenia.Conversation, error) { return q.conversation(l.Sampling()) })
	case "/api/chat":
		var q ollamaChatRequest
		read(&q, q.leaveOut, func() (atenia.Conversation, error) {
			return q.conversation(ollamaLimits{name: l.Info.Name, context: l.Context(), sampling: l.Sampling()})
		})
	case "/v1/completions", "/completion":
		return nil, nil
	default:
		return nil, host.Invalid("endpoint", "endpoint is %q, want /v1/chat/completions, /v1/responses, /v1/messages, /api/chat, /v1/completions or /completion", in.Endpoint)
	}
	c.Messages = l.Settle(c.Messages)
	return &c, err
}
