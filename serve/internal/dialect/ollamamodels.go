package dialect

// The endpoints about models, and those of Ollama's own store, which this server lacks.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// apiVersion is the version of Ollama whose API this is: clients refuse a server that is
// too old for what they use.
const apiVersion = "0.13.0"

// An ollamaAPI has the endpoints and what they remember.
type ollamaAPI struct {
	mu    sync.Mutex
	known map[string]*facts // by the names of models
}

// ollamaRoutes returns the endpoints.
func ollamaRoutes() []host.Route {
	a := &ollamaAPI{known: map[string]*facts{}}
	routes := []host.Route{
		{Pattern: "GET /{$}", Serve: alive, Public: true},
		{Pattern: "POST /api/chat", Serve: ollamaChat},
		{Pattern: "POST /api/generate", Serve: ollamaGenerate},
		{Pattern: "POST /api/embed", Serve: ollamaEmbed},
		{Pattern: "POST /api/embeddings", Serve: embedOne},
		{Pattern: "GET /api/tags", Serve: tags},
		{Pattern: "POST /api/show", Serve: a.show},
		{Pattern: "GET /api/ps", Serve: ps},
		{Pattern: "GET /api/version", Serve: ollamaVersion},
	}
	for _, p := range []string{"POST /api/pull", "POST /api/push", "POST /api/create", "POST /api/copy", "DELETE /api/delete", "POST /api/blobs/{digest}"} {
		routes = append(routes, host.Route{Pattern: p, Serve: ollamaNoStore})
	}
	return routes
}

// alive answers as Ollama's root does, by which clients find it.
func alive(w http.ResponseWriter, _ *host.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte("Ollama is running\n"))
	return err
}

func ollamaVersion(_ http.ResponseWriter, r *host.Request) error {
	return r.WriteJSON(http.StatusOK, map[string]string{"version": apiVersion})
}

// ollamaNoStore answers what only a server with a store of models can do.
func ollamaNoStore(_ http.ResponseWriter, r *host.Request) error {
	return &host.Problem{
		Status: http.StatusNotImplemented, Code: "unsupported",
		Message: r.URL.Path + " is not supported: this server has the models that it was started with. Name another one as an argument of \"atenia serve\".",
	}
}

// A described model is an entry of tags and of ps.
type described struct {
	Name       string     `json:"name"`
	Model      string     `json:"model"`
	ModifiedAt *time.Time `json:"modified_at,omitempty"` // tags
	Size       int64      `json:"size"`
	Digest     string     `json:"digest"`
	Details    details    `json:"details"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"` // ps
	SizeVRAM   *int64     `json:"size_vram,omitempty"`
	Context    int        `json:"context_length,omitempty"`
}

type details struct {
	ParentModel       string   `json:"parent_model"`
	Format            string   `json:"format"`
	Family            string   `json:"family"`
	Families          []string `json:"families"`
	ParameterSize     string   `json:"parameter_size"`
	QuantizationLevel string   `json:"quantization_level"`
}

func describe(i *host.Info) described {
	d := described{Name: i.Name, Model: i.Name, Size: i.Totals.FileBytes, Digest: digest(i)}
	d.Details = details{Format: "safetensors", Family: i.Family, Families: []string{i.Family}, ParameterSize: human(i.Totals.Parameters), ParentModel: i.Parent}
	if i.Path == "" || filepath.Ext(i.Path) == ".gguf" {
		d.Details.Format = "gguf"
	}
	if t := i.Totals.Types; len(t) > 0 {
		d.Details.QuantizationLevel = strings.ToUpper(t[0].DType.String())
	}
	return d
}

// digest distinguishes models, as a digest of their bytes would: by name, size and time.
func digest(i *host.Info) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i.Name, "\x00", i.Totals.FileBytes, "\x00", i.Created.UnixNano())))
}

// human writes a number of parameters as Ollama does.
func human(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%dK", n/1e3)
	}
	return fmt.Sprint(n)
}

func tags(_ http.ResponseWriter, r *host.Request) error {
	list := []described{}
	for _, i := range r.Pool().Served() {
		d := describe(&i)
		created := i.Created.UTC()
		d.ModifiedAt = &created
		list = append(list, d)
	}
	return r.WriteJSON(http.StatusOK, map[string]any{"models": list})
}

// ps lists the models that are loaded.
func ps(_ http.ResponseWriter, r *host.Request) error {
	list := []described{}
	for _, i := range r.Pool().List() {
		if !i.Loaded {
			continue
		}
		d := describe(&i)
		d.Size = cmp.Or(i.Share, i.Totals.Bytes)
		expires := i.Expires.UTC()
		switch {
		case !i.Expires.IsZero():
		case i.Keep < 0:
			expires = time.Now().UTC().Add(math.MaxInt64) // Ollama's for ever
		default: // it is in use
			expires = time.Now().UTC().Add(i.Keep)
		}
		d.ExpiresAt, d.SizeVRAM, d.Context = &expires, new(int64), i.Context
		list = append(list, d)
	}
	return r.WriteJSON(http.StatusOK, map[string]any{"models": list})
}

// A shown is what /api/show says of a model.
type shown struct {
	License      string         `json:"license,omitempty"`
	Modelfile    string         `json:"modelfile"`
	Parameters   string         `json:"parameters"`
	Template     string         `json:"template"`
	Details      details        `json:"details"`
	ModelInfo    map[string]any `json:"model_info"`
	Capabilities []string       `json:"capabilities"`
	ModifiedAt   time.Time      `json:"modified_at"`
}

func (a *ollamaAPI) show(_ http.ResponseWriter, r *host.Request) error {
	var in ollamaShowRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	name := cmp.Or(in.Model, in.Name)
	if name == "" {
		return host.Invalid("model", "model is required")
	}
	i, err := r.Pool().Lookup(name)
	if err != nil {
		return err
	}
	f, err := atenia.Inspect(i.Path)
	if err != nil {
		return err
	}
	out := shown{Modelfile: "# atenia serve " + i.Base, Details: describe(&i).Details, ModifiedAt: i.Created.UTC()}
	out.ModelInfo = map[string]any{}
	for _, e := range f.Metadata {
		switch v, ok := metadataValue(e); {
		case e.Key == "tokenizer.chat_template":
			out.Template, _ = v.(string)
		case e.Key == "general.license":
			out.License, _ = v.(string)
		case ok:
			out.ModelInfo[e.Key] = v
		}
	}
	out.ModelInfo["general.architecture"], out.ModelInfo["general.parameter_count"] = i.Family, i.Totals.Parameters
	out.ModelInfo[i.Family+".context_length"] = i.Context // as it is served
	about, err := a.about(r.Context(), &i)
	if err != nil {
		return err
	}
	out.Capabilities, out.Parameters = about.can, about.parameters
	out.Template = cmp.Or(out.Template, about.template)
	return r.WriteJSON(http.StatusOK, out)
}

// metadataValue returns an entry of a file's metadata for JSON; arrays are left out.
func metadataValue(e atenia.Entry) (any, bool) {
	switch {
	case e.Elements > 0 || strings.HasPrefix(e.Type, "array"):
		return nil, false
	case e.Type == "string":
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case json.Valid([]byte(e.Value)): // a number or a bool
		return json.RawMessage(e.Value), true
	}
	return e.Value, true
}

// facts are what an open model says of itself.
type facts struct {
	can                  []string // in Ollama's words
	template, parameters string
}

// about returns what a model says of itself. It is opened for that without packing, so that its
// weights are not read, and once.
func (a *ollamaAPI) about(ctx context.Context, i *host.Info) (*facts, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.known[i.Name]; c != nil {
		return c, nil
	}
	m, err := atenia.Open(ctx, i.Path, &atenia.Config{Pack: "off"})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	c := &facts{can: abilities(m), template: m.ChatTemplate()}
	s := m.Sampling()
	for _, p := range []struct {
		name string
		v    float64
	}{{"temperature", float64(s.Temperature)}, {"top_k", float64(s.TopK)}, {"top_p", float64(s.TopP)}, {"min_p", float64(s.MinP)}, {"num_ctx", float64(i.Context)}} {
		if p.v != 0 {
			c.parameters += fmt.Sprintf("%-30s %v\n", p.name, float32(p.v))
		}
	}
	a.known[i.Name] = c
	return c, nil
}

// abilities asks the model. A template that writes something else when there are tools
// reads tools; one that does with and without thinking has a switch for it.
func abilities(m *atenia.Model) []string {
	if _, encoder := m.Encoding(); encoder {
		return []string{"embedding"}
	}
	out := []string{"completion"}
	if m.ReadsImages() {
		out = append(out, "vision")
	}
	c := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "Hello."}}}
	plain, err := m.Render(c)
	if err != nil {
		return out
	}
	c.Tools = []atenia.Tool{{Name: "now", Description: "Says what time it is."}}
	if text, err := m.Render(c); err == nil && strings.Contains(text, "now") && text != plain {
		out = append(out, "tools")
	}
	c.Tools = nil
	c.Variables = map[string]any{"enable_thinking": true}
	on, err1 := m.Render(c)
	c.Variables = map[string]any{"enable_thinking": false}
	if off, err2 := m.Render(c); err1 == nil && err2 == nil && on != off {
		out = append(out, "thinking")
	}
	return out
}
