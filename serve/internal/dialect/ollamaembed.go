package dialect

// Vectors of texts.

import (
	"math"
	"net/http"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// ollamaEmbedResponse is what /api/embed answers.
type ollamaEmbedResponse struct {
	Model           string        `json:"model"`
	Embeddings      [][]float32   `json:"embeddings"`
	TotalDuration   time.Duration `json:"total_duration"`
	LoadDuration    time.Duration `json:"load_duration"`
	PromptEvalCount int           `json:"prompt_eval_count"`
}

func ollamaEmbed(_ http.ResponseWriter, r *host.Request) error {
	var in ollamaEmbedRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	out, err := in.vectors(r, in.Input)
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, out)
}

// embedOne answers /api/embeddings, which takes one text and calls it prompt.
func embedOne(_ http.ResponseWriter, r *host.Request) error {
	var in ollamaEmbedRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if in.Prompt == "" {
		return r.WriteJSON(http.StatusOK, map[string][]float32{"embedding": {}})
	}
	out, err := in.vectors(r, []string{in.Prompt})
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string][]float32{"embedding": out.Embeddings[0]})
}

// vectors returns a vector for each text.
func (in *ollamaEmbedRequest) vectors(r *host.Request, texts []string) (*ollamaEmbedResponse, error) {
	if in.Model == "" {
		return nil, host.Invalid("model", "model is required")
	}
	begun := time.Now()
	l, err := r.Borrow(in.Model)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	in.KeepAlive.of(l)
	out := &ollamaEmbedResponse{Model: in.Model, Embeddings: [][]float32{}, LoadDuration: time.Since(begun)}
	if len(texts) == 0 {
		return out, nil
	}
	o := atenia.EmbedOptions{Pooling: host.Pooling(l.Model, ""), Truncate: in.Truncate == nil || *in.Truncate, Read: func(n int) { out.PromptEvalCount += n }}
	if out.Embeddings, err = r.Embed(l, texts, o); err != nil {
		return nil, err
	}
	if err := in.cut(out.Embeddings); err != nil {
		return nil, err
	}
	out.TotalDuration = time.Since(begun)
	return out, nil
}

// cut leaves the first dimensions of vectors, if fewer are wanted, and gives them length
// 1 again: models that were trained for it have the most of their meaning there.
func (in *ollamaEmbedRequest) cut(rows [][]float32) error {
	n := in.Dimensions
	switch most := len(rows[0]); {
	case n == 0:
		return nil
	case n < 0 || n > most:
		return host.Invalid("dimensions", "dimensions: %d is not from 1 to %d, the model's", n, most)
	}
	for i := range rows {
		rows[i] = normalized(rows[i][:n])
	}
	return nil
}

func normalized(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	length := float32(math.Sqrt(sum))
	for i := range v {
		v[i] /= length
	}
	return v
}
