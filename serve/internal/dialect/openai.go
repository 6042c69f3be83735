package dialect

// The endpoints of OpenAI's clients, their errors, models and adapters.

import (
	"net/http"
	"slices"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// Routes returns the endpoints of all dialects. What clients want to be kept is in a store.
func Routes(s *Store) []host.Route {
	return slices.Concat(openaiRoutes(s), s.routes(), llamaRoutes(), anthropicRoutes(), ollamaRoutes())
}

func openaiRoutes(s *Store) []host.Route {
	routes := []host.Route{
		{Pattern: "GET /v1/models", Serve: listModels},
		{Pattern: "GET /v1/models/{id...}", Serve: showModel},
		{Pattern: "POST /v1/chat/completions", Serve: openaiChat},
		{Pattern: "POST /v1/completions", Serve: complete},
		{Pattern: "POST /v1/responses", Serve: s.respond},
		{Pattern: "POST /v1/verify", Serve: verify},
		{Pattern: "POST /v1/embeddings", Serve: openaiEmbed},
		{Pattern: "POST /v1/rerank", Serve: rerank},
		{Pattern: "POST /rerank", Serve: rerank},
		{Pattern: "POST /v1/audio/transcriptions", Serve: transcribe},
		{Pattern: "GET /lora-adapters", Serve: listAdapters},
		{Pattern: "POST /v1/load_lora_adapter", Serve: loadAdapter},
		{Pattern: "POST /v1/unload_lora_adapter", Serve: unloadAdapter},
		{Pattern: "POST /tokenize", Serve: tokenize},
		{Pattern: "POST /detokenize", Serve: detokenize},
	}
	for i := range routes {
		routes[i].Fail = Fail
	}
	return routes
}

// An openaiFailure is an error in OpenAI's form.
type openaiFailure struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func newOpenAIFailure(p *host.Problem) openaiFailure {
	var f openaiFailure
	f.Error.Message, f.Error.Type = p.Message, "invalid_request_error"
	switch {
	case p.Status == http.StatusUnauthorized:
		f.Error.Type = "authentication_error"
	case p.Status == http.StatusTooManyRequests:
		f.Error.Type = "rate_limit_error"
	case p.Status >= http.StatusInternalServerError:
		f.Error.Type = "server_error"
	}
	if p.Param != "" {
		f.Error.Param = &p.Param
	}
	if p.Code != "" {
		f.Error.Code = &p.Code
	}
	return f
}

// Fail writes a problem.
func Fail(r *host.Request, p *host.Problem) {
	_ = r.WriteJSON(p.Status, newOpenAIFailure(p)) // the client is gone if it fails
}

// An openaiModel is an entry of the list.
type openaiModel struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	OwnedBy string          `json:"owned_by"`
	Meta    openaiModelMeta `json:"meta"`
	Length  int             `json:"max_model_len"`  // vLLM's
	Context int             `json:"context_length"` // OpenRouter's
	// Of an adapter, as vLLM says it: its folder's name, and the model it belongs to.
	Root   string `json:"root,omitempty"`
	Parent string `json:"parent,omitempty"`
}

// openaiModelMeta is llama-server's addition.
type openaiModelMeta struct {
	Family  string `json:"family"`
	Context int    `json:"n_ctx"`
	Params  int64  `json:"n_params"`
	Bytes   int64  `json:"size"`
	Loaded  bool   `json:"loaded"`
}

func newOpenAIModel(i host.Info) openaiModel {
	m := openaiModel{ID: i.Name, Object: "model", Created: i.Created.Unix(), OwnedBy: "atenia", Length: i.Context, Context: i.Context, Parent: i.Parent}
	m.Meta = openaiModelMeta{i.Family, i.Context, i.Totals.Parameters, i.Totals.Bytes, i.Loaded}
	if i.Parent != "" {
		m.Root = i.Base
	}
	return m
}

func listModels(_ http.ResponseWriter, r *host.Request) error {
	out := struct {
		Object string        `json:"object"`
		Data   []openaiModel `json:"data"`
	}{Object: "list", Data: []openaiModel{}}
	for _, i := range r.Pool().Served() {
		out.Data = append(out.Data, newOpenAIModel(i))
	}
	return r.WriteJSON(http.StatusOK, out)
}

func showModel(_ http.ResponseWriter, r *host.Request) error {
	i, err := r.Pool().Lookup(r.PathValue("id"))
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, newOpenAIModel(i))
}

// now is the time of a response in seconds.
func now() int64 { return time.Now().Unix() }

// An adapter is an entry of llama-server's list. Its scale is that of requests which do
// not say one: none has the adapter unless it asks.
type adapter struct {
	ID    int     `json:"id"`
	Name  string  `json:"name"`
	Scale float32 `json:"scale"`
	Rank  int     `json:"rank"`
	Bytes int64   `json:"size"`
	Users int     `json:"requests"`
}

// listAdapters lists those of the model that ?model= names, the first one by default.
func listAdapters(_ http.ResponseWriter, r *host.Request) error {
	l, err := r.Borrow(r.URL.Query().Get("model"))
	if err != nil {
		return err
	}
	defer l.Release()
	out := []adapter{}
	for i, a := range l.Model.Adapters() {
		out = append(out, adapter{ID: i, Name: a.Name, Rank: a.Rank, Bytes: a.Bytes, Users: a.Users})
	}
	return r.WriteJSON(http.StatusOK, out)
}

// A loraRequest is vLLM's.
type loraRequest struct {
	Name string `json:"lora_name"`
	Path string `json:"lora_path"` // within the server's folder of adapters
}

func loadAdapter(_ http.ResponseWriter, r *host.Request) error {
	var in loraRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if err := r.Pool().LoadAdapter(r.Context(), in.Name, in.Path); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]string{"loaded": in.Name})
}

func unloadAdapter(_ http.ResponseWriter, r *host.Request) error {
	var in loraRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if err := r.Pool().UnloadAdapter(in.Name); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]string{"unloaded": in.Name})
}

// adapter returns the adapter that llama-server's field asks for, with its scale: "" =
// none, or what the model's name says.
func (a *openaiAsk) adapter(m *atenia.Model) (name string, scale float32, err error) {
	if len(a.LoRA) == 0 {
		return "", 0, nil
	}
	list := m.Adapters()
	for _, l := range a.LoRA {
		switch {
		case l.ID < 0 || l.ID >= len(list):
			return "", 0, host.Invalid("lora", "lora has the id %d, and there are %d adapters", l.ID, len(list))
		case l.Scale == 0:
		case name != "":
			return "", 0, host.Unsupported("lora", "lora has %q and %q: a request can have one adapter", name, list[l.ID].Name)
		default:
			name, scale = list[l.ID].Name, l.Scale
		}
	}
	return name, scale, nil
}
