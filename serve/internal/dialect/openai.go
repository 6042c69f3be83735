package dialect

import (
	"net/http"
	"time"

	"atenia/serve/internal/host"
)

// openaiRoutes returns the endpoints.
func openaiRoutes() []host.Route {
	routes := []host.Route{
		{Pattern: "GET /v1/models", Serve: listModels},
		{Pattern: "GET /v1/models/{id...}", Serve: showModel},
		{Pattern: "POST /v1/chat/completions", Serve: openaiChat},
		{Pattern: "POST /v1/completions", Serve: complete},
		{Pattern: "POST /v1/responses", Serve: respond},
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
	m := openaiModel{ID: i.Name, Object: "model", Created: i.Created.Unix(), OwnedBy: "atenia", Parent: i.Parent}
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
