package dialect

// POST /v1/embeddings and /v1/rerank.

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"

	"atenia"
	"atenia/serve/internal/host"
)

// An openaiEmbedRequest is the body.
type openaiEmbedRequest struct {
	Model      string          `json:"model"`
	Input      prompts         `json:"input"`
	Format     string          `json:"encoding_format"`
	Dimensions int             `json:"dimensions"`
	User       json.RawMessage `json:"user"`
	Pooling    string          `json:"pooling"`  // of a model that generates text; "" = mean
	Prompt     string          `json:"prompt"`   // name of one of the model's prompts, such as "query"
	Truncate   bool            `json:"truncate"` // cut texts that are too long
}

// mostTexts bounds the texts of a request, OpenAI's limit.
const mostTexts = 2048

func openaiEmbed(_ http.ResponseWriter, r *host.Request) error {
	var in openaiEmbedRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	switch {
	case len(in.Input) == 0 || len(in.Input) > mostTexts:
		return host.Invalid("input", "input has %d texts, want 1 to %d", len(in.Input), mostTexts)
	case in.Format != "" && in.Format != "float" && in.Format != "base64":
		return host.Invalid("encoding_format", "encoding_format is %q, want float or base64", in.Format)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	all, tokens := make([]string, len(in.Input)), 0
	for i, p := range in.Input {
		if all[i] = p.Text; p.Tokens == nil {
			continue
		}
		if all[i], err = l.Detokenize(p.Tokens); err != nil {
			return err
		}
	}
	o := atenia.EmbedOptions{Prompt: in.Prompt, Pooling: host.Pooling(l.Model, in.Pooling), Truncate: in.Truncate, Read: func(n int) { tokens += n }}
	vectors, err := r.Embed(l, all, o)
	if err != nil {
		return err
	}
	if d := len(vectors[0]); in.Dimensions != 0 && in.Dimensions != d {
		return host.Unsupported("dimensions", "dimensions is %d, and the model's vectors have %d", in.Dimensions, d)
	}
	type embedding struct {
		Object string `json:"object"`
		Index  int    `json:"index"`
		Vector any    `json:"embedding"`
	}
	out := struct {
		Object string      `json:"object"`
		Data   []embedding `json:"data"`
		Model  string      `json:"model"`
		Usage  embedUsage  `json:"usage"`
	}{"list", []embedding{}, l.Info.Name, embedUsage{tokens, tokens}}
	for i, v := range vectors {
		e := embedding{"embedding", i, any(v)}
		if in.Format == "base64" {
			e.Vector = packed(v)
		}
		out.Data = append(out.Data, e)
	}
	return r.WriteJSON(http.StatusOK, out)
}

type embedUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// packed returns a vector as little-endian float32 in base64.
func packed(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// A rerankRequest is the body, in the form of Cohere and Jina.
type rerankRequest struct {
	Model     string    `json:"model"`
	Query     string    `json:"query"`
	Documents []passage `json:"documents"`
	Top       *int      `json:"top_n"`
	Return    bool      `json:"return_documents"`
	Truncate  *bool     `json:"truncate"` // cut what is too long; unless it is false
}

// A passage is a text, or an object with one.
type passage struct {
	Text string `json:"text"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *passage) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &p.Text)
	}
	type plain passage
	return json.Unmarshal(b, (*plain)(p))
}

func rerank(_ http.ResponseWriter, r *host.Request) error {
	var in rerankRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if len(in.Documents) == 0 || len(in.Documents) > mostTexts {
		return host.Invalid("documents", "there are %d documents, want 1 to %d", len(in.Documents), mostTexts)
	}
	if in.Top != nil && *in.Top < 1 {
		return host.Invalid("top_n", "top_n is %d, want 1 or more", *in.Top)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	docs := make([]string, len(in.Documents))
	for i, d := range in.Documents {
		docs[i] = d.Text
	}
	ranks, err := l.Rerank(r.Context(), in.Query, docs, atenia.EmbedOptions{Truncate: in.Truncate == nil || *in.Truncate})
	if err != nil {
		return err
	}
	if in.Top != nil {
		ranks = ranks[:min(*in.Top, len(ranks))]
	}
	type result struct {
		Index    int      `json:"index"`
		Score    float64  `json:"relevance_score"`
		Document *passage `json:"document,omitempty"`
	}
	out := struct {
		Model   string   `json:"model"`
		Object  string   `json:"object"`
		Results []result `json:"results"`
	}{l.Info.Name, "list", []result{}}
	for _, k := range ranks {
		e := result{Index: k.Index, Score: k.Probability()}
		if in.Return {
			e.Document = &in.Documents[k.Index]
		}
		out.Results = append(out.Results, e)
	}
	return r.WriteJSON(http.StatusOK, out)
}
