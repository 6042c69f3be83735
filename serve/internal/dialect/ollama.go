package dialect

// Chat and generate.

import (
	"iter"
	"net/http"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// begin borrows the model of a request, which says something or only wants the model to
// be loaded.
func (in *ollamaCommon) begin(r *host.Request, chat, says bool) (*ollamaAnswer, error) {
	if in.Model == "" {
		return nil, host.Invalid("model", "model is required")
	}
	a := &ollamaAnswer{model: in.Model, chat: chat, top: in.TopLogProbs, begun: time.Now()}
	if in.streams() && says {
		var lines *host.Lines
		lines = r.Lines(host.Manner{Ping: ollamaPing, Fail: func(p *host.Problem) error { return lines.Line(ollamaFailure{p.Message}) }})
		a.emit = func(l ollamaLine) error { return lines.Line(l) }
	}
	var err error
	if a.lease, err = r.Borrow(in.Model); err == nil {
		in.KeepAlive.of(a.lease)
	}
	a.loaded = time.Now()
	return a, err
}

// limits returns what a request may ask of the model.
func (a *ollamaAnswer) limits() ollamaLimits {
	return ollamaLimits{a.model, a.lease.Context(), a.lease.Sampling()}
}

func ollamaChat(_ http.ResponseWriter, r *host.Request) error {
	var in ollamaChatRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if err := in.leaveOut(r); err != nil {
		return err
	}
	says := len(in.Messages) > 0
	if !says && in.KeepAlive.none() {
		return in.unload(r, true)
	}
	a, err := in.begin(r, true, says)
	if err != nil {
		return err
	}
	defer a.lease.Release()
	if !says {
		return a.load(r)
	}
	c, err := in.conversation(a.limits())
	if err != nil {
		return err
	}
	if err := in.Options.extras.into(&c.Options, a.lease.Model, "options."); err != nil {
		return err
	}
	c.Messages = a.lease.Settle(c.Messages)
	return a.answer(r, &in.ollamaCommon, r.Chat(a.lease, c))
}

func ollamaGenerate(_ http.ResponseWriter, r *host.Request) error {
	var in ollamaGenerateRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	says := in.Prompt != "" || in.Suffix != "" || len(in.Images) > 0
	if !says && in.KeepAlive.none() {
		return in.unload(r, false)
	}
	a, err := in.begin(r, false, says)
	if err != nil {
		return err
	}
	defer a.lease.Release()
	if !says {
		return a.load(r)
	}
	templated, _ := a.lease.HasChat()
	c, p, err := in.prompt(a.limits(), templated)
	switch {
	case err != nil:
		return err
	case c != nil:
		if err := in.Options.extras.into(&c.Options, a.lease.Model, "options."); err != nil {
			return err
		}
		c.Messages = a.lease.Settle(c.Messages)
		return a.answer(r, &in.ollamaCommon, r.Chat(a.lease, *c))
	}
	if err := in.Options.extras.into(&p.Options, a.lease.Model, "options."); err != nil {
		return err
	}
	return a.answer(r, &in.ollamaCommon, r.Generate(a.lease, *p))
}

// prompt returns what a request says: a conversation if the model has a chat template and
// raw is not set, otherwise a text to continue.
func (in *ollamaGenerateRequest) prompt(m ollamaLimits, templated bool) (*atenia.Conversation, *atenia.Prompt, error) {
	switch {
	case in.Suffix != "":
		return nil, nil, host.Unsupported("suffix", "suffix is not supported: put the text around the gap into a raw prompt as the model was trained to read it")
	case in.Template != "":
		return nil, nil, host.Unsupported("template", "template is not supported: the model's own is used; send raw with a prompt that is complete")
	case len(in.Context) > 0:
		return nil, nil, host.Unsupported("context", "context is not supported: send the conversation to /api/chat, what was computed of it is used again")
	}
	images, err := pictures(in.Images)
	if err != nil {
		return nil, nil, err
	}
	var o atenia.Options
	if err := in.answer(&o, m); err != nil {
		return nil, nil, err
	}
	if in.Raw || !templated {
		text := in.Prompt
		if in.System != "" && !in.Raw {
			text = in.System + "\n\n" + text
		}
		return nil, &atenia.Prompt{Text: text, Images: images, Options: o}, nil
	}
	c := &atenia.Conversation{Variables: in.Think.variables(), ParseSpecial: in.Special, Options: o}
	if in.System != "" {
		c.Messages = append(c.Messages, atenia.Message{Role: "system", Content: in.System})
	}
	user := ollamaMessage{Role: "user", Content: in.Prompt, Images: in.Images}
	said, err := user.message(nil)
	c.Messages = append(c.Messages, said)
	return c, nil, err
}

// load answers a request that says nothing: the model is loaded.
func (a *ollamaAnswer) load(r *host.Request) error {
	l := a.line("", "", nil)
	l.Done, l.DoneReason = true, "load"
	return r.WriteJSON(http.StatusOK, l)
}

// unload answers a request that says nothing and has a keep_alive of zero: the model is
// not loaded for it, and unloaded as soon as nothing uses it.
func (in *ollamaCommon) unload(r *host.Request, chat bool) error {
	if in.Model == "" {
		return host.Invalid("model", "model is required")
	}
	if err := r.Pool().Unload(in.Model); err != nil {
		return err
	}
	l := (&ollamaAnswer{model: in.Model, chat: chat}).line("", "", nil)
	l.Done, l.DoneReason = true, "unload"
	return r.WriteJSON(http.StatusOK, l)
}

// answer sends what the model says.
func (a *ollamaAnswer) answer(r *host.Request, in *ollamaCommon, tokens iter.Seq2[atenia.Token, error]) error {
	for t, err := range tokens {
		if err == nil {
			err = a.add(&t, in.LogProbs)
		}
		if err != nil {
			return err
		}
	}
	if in.streams() {
		return nil
	}
	return r.WriteJSON(http.StatusOK, a.done)
}

// ollamaPing is a space before the next line, which JSON allows: an empty line would be none.
const ollamaPing = " "

// An ollamaFailure is the body of an error.
type ollamaFailure struct {
	Error string `json:"error"`
}
