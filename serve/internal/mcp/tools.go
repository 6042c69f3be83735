package mcp

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"atenia"
	"atenia/place"
	"atenia/serve/internal/host"
)

func (s *Server) addTools() {
	addTool(s, tool[generateInput, generateOutput]{
		"generate", "Generate text with a language model that runs on this machine: continue the prompt, or answer it as a message with chat set.",
		generateSchema, generateResult, s.generate,
	})
	addTool(s, tool[embedInput, embedOutput]{
		"embed", "Turn texts into vectors whose cosine tells how close the meanings of the texts are.",
		embedSchema, embedResult, s.embed,
	})
	addTool(s, tool[explainInput, textOutput]{
		"explain", "Tell where a model's memory is and why, how its weights are kept, how long a token took in its last run, what bounded it, and what would help most.",
		explainSchema, textResult, s.explain,
	})
	addTool(s, tool[planInput, textOutput]{
		"plan", "Print the program that runs a model: instructions with registers, weights and buffers, then a summary of operations and bytes.",
		planSchema, textResult, s.plan,
	})
}

type embedInput struct {
	Texts   []string `json:"texts"`
	Model   string   `json:"model"`
	Pooling string   `json:"pooling"`
	Prompt  string   `json:"prompt_name"`
}

const embedSchema = `{"type":"object","properties":{
"texts":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":256},
"pooling":{"type":"string","enum":["mean","cls","last"],"description":"how a model that was not made for vectors makes them; default: mean for such a model"},
"prompt_name":{"type":"string","description":"one of the model's prompts to put before every text, such as query or document"},
"model":{"type":"string","description":"name of a model, see resource atenia://models; default: the first"}
},"required":["texts"],"additionalProperties":false}`

type embedOutput struct {
	Vectors    [][]float32 `json:"vectors"`
	Dimensions int         `json:"dimensions"`
}

const embedResult = `{"type":"object","properties":{
"vectors":{"type":"array","items":{"type":"array","items":{"type":"number"}},"description":"one for each text"},
"dimensions":{"type":"integer","description":"of a vector"}
},"required":["vectors","dimensions"]}`

// mostTexts bounds the vectors of one result, which a client reads as text.
const mostTexts = 256

func (s *Server) embed(c *call, in *embedInput) (out embedOutput, _ string, err error) {
	if n := len(in.Texts); n < 1 || n > mostTexts {
		return out, "", fmt.Errorf("texts: want 1 to %d, got %d", mostTexts, n)
	}
	m, err := s.cfg.Use(c.Context(), in.Model)
	if err != nil {
		return out, "", err
	}
	defer m.Release()
	o := atenia.EmbedOptions{Prompt: in.Prompt, Pooling: host.Pooling(m.Model, in.Pooling)}
	if out.Vectors, err = m.Embed(c.Context(), in.Texts, o); err != nil {
		return out, "", err
	}
	out.Dimensions = len(out.Vectors[0])
	var b strings.Builder
	for _, v := range out.Vectors {
		fmt.Fprintln(&b, v)
	}
	return out, b.String(), nil
}

// textOutput is the result of tools that tell a story.
type textOutput struct {
	Text string `json:"text"`
}

const textResult = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

type explainInput struct {
	Model string `json:"model"`
}

const explainSchema = `{"type":"object","properties":{
"model":{"type":"string","description":"name of a model, see resource atenia://models; default: the first"}
},"additionalProperties":false}`

func (s *Server) explain(c *call, in *explainInput) (textOutput, string, error) {
	m, err := s.cfg.Use(c.Context(), in.Model)
	if err != nil {
		return textOutput{}, "", err
	}
	defer m.Release()
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s), %d tokens of context\nweights: %v\n\nwhere the memory is\n", nameOf(m.Model), m.Family(), m.Context(), m.Packing())
	if err := m.Map().WriteText(&b); err != nil {
		return textOutput{}, "", err
	}
	if m.Placement() != nil {
		st := m.Streaming()
		b.WriteString("\n")
		if err := st.WriteText(&b); err != nil {
			return textOutput{}, "", err
		}
	}
	last, err := s.lastRun(m.Model)
	switch {
	case errors.Is(err, atenia.ErrNoRun):
	case err != nil:
		fmt.Fprintf(&b, "\nthe account of its last run cannot be read: %v\n", err)
	default:
		b.WriteString("\n")
		if err := last.WriteText(&b); err != nil {
			return textOutput{}, "", err
		}
	}
	return textOutput{b.String()}, b.String(), nil
}

// nameOf is the path of a model, without what only its owner should know.
func nameOf(m *atenia.Model) string {
	if m.Path() == "" {
		return m.Plan().Path // of the embedded one
	}
	return filepath.Base(m.Path())
}

// lastRun returns the account of a model's last run.
func (s *Server) lastRun(m *atenia.Model) (*place.LastRun, error) {
	if s.cfg.State == "" {
		return nil, atenia.ErrNoRun
	}
	return atenia.ReadLastRun(s.cfg.State, m.Plan().Path)
}

type planInput struct {
	Model  string `json:"model"`
	Mode   string `json:"mode"`
	Unfold bool   `json:"unfold"`
}

const planSchema = `{"type":"object","properties":{
"mode":{"type":"string","enum":["prefill","decode"],"description":"which program; default: both"},
"unfold":{"type":"boolean","default":false,"description":"print every layer instead of naming those that repeat"},
"model":{"type":"string","description":"name of a model, see resource atenia://models; default: the first"}
},"additionalProperties":false}`

func (s *Server) plan(c *call, in *planInput) (textOutput, string, error) {
	m, err := s.cfg.Use(c.Context(), in.Model)
	if err != nil {
		return textOutput{}, "", err
	}
	defer m.Release()
	var b strings.Builder
	if err := m.Plan().WriteText(&b, atenia.PlanView{Mode: in.Mode, Unfold: in.Unfold}); err != nil {
		return textOutput{}, "", err
	}
	return textOutput{b.String()}, b.String(), nil
}
