package dialect

// Endpoints of llama-server's own that have no place in OpenAI's API.

import (
	"encoding/json"
	"net/http"

	"atenia"
	"atenia/serve/internal/host"
)

func llamaRoutes() []host.Route {
	routes := []host.Route{
		{Pattern: "POST /apply-template", Serve: applyTemplate},
		{Pattern: "GET /props", Serve: props},
		{Pattern: "GET /models", Serve: listRouted},
		{Pattern: "POST /models/load", Serve: loadRouted},
		{Pattern: "POST /models/unload", Serve: unloadRouted},
		{Pattern: "POST /completion", Serve: llamaComplete},
		{Pattern: "POST /embedding", Serve: llamaEmbed},
	}
	for i := range routes {
		routes[i].Fail = Fail
	}
	return routes
}

// applyTemplate answers with the text that the model would be given of a conversation.
func applyTemplate(_ http.ResponseWriter, r *host.Request) error {
	var in openaiChatRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if err := in.leaveOut(r); err != nil {
		return err
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	c, err := in.conversation(l)
	if err != nil {
		return err
	}
	text, err := l.Render(c)
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]string{"prompt": text})
}

// props says what llama-server's says of the model that ?model= names, the first one by default.
func props(_ http.ResponseWriter, r *host.Request) error {
	i, err := r.Pool().Lookup(r.URL.Query().Get("model"))
	if err != nil {
		return err
	}
	out := map[string]any{
		"model_alias": i.Name, "model_path": i.Base, "build_info": fingerprint, "total_slots": 0, "chat_template": "",
		"default_generation_settings": map[string]any{"n_ctx": i.Context}, "modalities": map[string]bool{"vision": false, "audio": false}, "is_sleeping": !i.Loaded,
	}
	if i.Loaded { // a look must not load it
		l, err := r.Borrow(i.Name)
		if err != nil {
			return err
		}
		defer l.Release()
		s := l.Sampling()
		out["total_slots"], out["chat_template"] = r.Pool().Slots(), l.ChatTemplate()
		out["modalities"] = map[string]bool{"vision": l.ReadsImages(), "audio": false}
		out["default_generation_settings"] = map[string]any{"n_ctx": i.Context, "params": map[string]any{
			"temperature": s.Temperature, "top_k": s.TopK, "top_p": s.TopP, "min_p": s.MinP, "typical_p": s.Typical, "repeat_penalty": s.RepeatPenalty,
			"presence_penalty": s.PresencePenalty, "frequency_penalty": s.FrequencyPenalty,
		}}
	}
	return r.WriteJSON(http.StatusOK, out)
}

// A routed model is an entry of the list of llama-server's router.
type routed struct {
	ID     string `json:"id"`
	Object string `json:"object"`
	Owned  string `json:"owned_by"`
	Status struct {
		Value string `json:"value"` // loaded or unloaded
	} `json:"status"`
}

func listRouted(_ http.ResponseWriter, r *host.Request) error {
	list := []routed{}
	for _, i := range r.Pool().Served() {
		m := routed{ID: i.Name, Object: "model", Owned: "atenia"}
		if m.Status.Value = "unloaded"; i.Loaded {
			m.Status.Value = "loaded"
		}
		list = append(list, m)
	}
	return r.WriteJSON(http.StatusOK, map[string]any{"object": "list", "data": list})
}

// routedModel reads which model is meant.
func routedModel(r *host.Request) (string, error) {
	var in struct {
		Model string `json:"model"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return "", err
	}
	if in.Model == "" {
		return "", host.Invalid("model", "model is required")
	}
	return in.Model, nil
}

// loadRouted loads a model, and answers when it is loaded.
func loadRouted(_ http.ResponseWriter, r *host.Request) error {
	name, err := routedModel(r)
	if err != nil {
		return err
	}
	l, err := r.Borrow(name)
	if err != nil {
		return err
	}
	l.Release()
	return r.WriteJSON(http.StatusOK, map[string]bool{"success": true})
}

// unloadRouted unloads a model as soon as nothing uses it.
func unloadRouted(_ http.ResponseWriter, r *host.Request) error {
	name, err := routedModel(r)
	if err != nil {
		return err
	}
	if err := r.Pool().Unload(name); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]bool{"success": true})
}

// A llamaRequest is the body of /completion.
type llamaRequest struct {
	openaiAsk
	Prompt  prompts `json:"prompt"`
	Predict *int    `json:"n_predict"` // less than 0 = as many as there is room for
	Probs   int     `json:"n_probs"`

	// Read and ignored: what llama-server keeps is kept here without being asked.
	Cache    json.RawMessage `json:"cache_prompt"`
	Slot     json.RawMessage `json:"id_slot"`
	Keep     json.RawMessage `json:"n_keep"`
	Tokens   json.RawMessage `json:"return_tokens"`
	PerToken json.RawMessage `json:"timings_per_token"`
	Progress json.RawMessage `json:"return_progress"`
}

// A llamaPiece is a piece of an answer, or all of it.
type llamaPiece struct {
	Index     int     `json:"index"`
	Content   string  `json:"content"`
	Tokens    []int32 `json:"tokens"`
	Stop      bool    `json:"stop"`
	Slot      int     `json:"id_slot"`
	Predicted int     `json:"tokens_predicted"`
	Evaluated int     `json:"tokens_evaluated"`

	*llamaEnd
}

// A llamaEnd is what the last piece has besides.
type llamaEnd struct {
	Model     string `json:"model"`
	Prompt    string `json:"prompt"`
	Kind      string `json:"stop_type"` // eos, limit or word
	Word      string `json:"stopping_word"`
	Truncated bool   `json:"truncated"`
	Cached    int    `json:"tokens_cached"`

	Receipt json.RawMessage `json:"receipt,omitempty"`
}

// llamaComplete continues a prompt, as llama-server's own endpoint does.
func llamaComplete(_ http.ResponseWriter, r *host.Request) error {
	var in llamaRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	switch {
	case len(in.Prompt) != 1:
		return host.Invalid("prompt", "prompt is missing, or several: send a request for each")
	case in.Probs != 0:
		return host.Unsupported("n_probs", "n_probs is not supported here: POST /v1/completions has logprobs")
	case in.N != nil && *in.N != 1:
		return host.Unsupported("n", "n is %d, want 1", *in.N)
	case in.Predict != nil && *in.Predict < 0:
		in.Predict = nil
	}
	var events *host.Events
	if in.Stream {
		events = beginOpenAI(r)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	p := in.Prompt[0]
	if p.Options, err = in.options(l.Model, &in, 0); err != nil {
		return err
	}
	whole := llamaPiece{Tokens: []int32{}}
	for t, err := range r.Generate(l, p) {
		if err != nil {
			return err
		}
		whole.Content += t.Text
		if t.Finish == "" {
			whole.Predicted++
		}
		piece := llamaPiece{Content: t.Text, Tokens: []int32{t.ID}, Predicted: whole.Predicted}
		if t.Finish != "" {
			end := &llamaEnd{Model: l.Info.Name, Prompt: p.Text, Kind: "eos", Word: t.Stop, Receipt: t.Receipt}
			switch {
			case t.Finish == "length":
				end.Kind = "limit"
			case t.Stop != "":
				end.Kind = "word"
			}
			if u := t.Usage; u != nil {
				whole.Predicted, whole.Evaluated, end.Cached = u.Answer, u.Prompt, u.Cached
			}
			whole.Stop, whole.llamaEnd = true, end
			piece.Stop, piece.llamaEnd, piece.Tokens, piece.Predicted, piece.Evaluated = true, end, []int32{}, whole.Predicted, whole.Evaluated
		}
		if in.Stream && (piece.Content != "" || piece.Stop) {
			if err := events.Data(piece); err != nil {
				return err
			}
		}
	}
	if in.Stream {
		return nil
	}
	return r.WriteJSON(http.StatusOK, whole)
}

// llamaEmbed makes vectors of texts, as llama-server's own endpoint does.
func llamaEmbed(_ http.ResponseWriter, r *host.Request) error {
	var in struct {
		Model   string `json:"model"`
		Content texts  `json:"content"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if len(in.Content) == 0 || len(in.Content) > mostTexts {
		return host.Invalid("content", "content has %d texts, want 1 to %d", len(in.Content), mostTexts)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	vectors, err := r.Embed(l, in.Content, atenia.EmbedOptions{Pooling: host.Pooling(l.Model, "")})
	if err != nil {
		return err
	}
	type row struct {
		Index  int         `json:"index"`
		Vector [][]float32 `json:"embedding"`
	}
	out := []row{}
	for i, v := range vectors {
		out = append(out, row{i, [][]float32{v}})
	}
	return r.WriteJSON(http.StatusOK, out)
}
