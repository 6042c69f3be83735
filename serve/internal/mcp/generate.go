package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"atenia"
	"atenia/serve/internal/host"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// usualTokens is how long an answer may be if the call does not say. An agent that
// waits for a whole context waits for minutes.
const usualTokens = 256

type generateInput struct {
	Prompt      string   `json:"prompt"`
	Model       string   `json:"model"`
	MaxTokens   *int     `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Seed        uint64   `json:"seed"`
	Stop        []string `json:"stop"`
	Chat        bool     `json:"chat"`
	System      string   `json:"system"`

	Schema json.RawMessage `json:"schema"`
}

const generateSchema = `{"type":"object","properties":{
"prompt":{"type":"string","description":"text to continue, or with chat set a message to answer"},
"max_tokens":{"type":"integer","minimum":1,"default":256,"description":"length of the answer at most, in tokens"},
"temperature":{"type":"number","minimum":0,"maximum":10,"description":"0 = the most likely token; default: what the model's makers recommend"},
"seed":{"type":"integer","minimum":0,"default":0,"description":"equal seeds give equal answers"},
"stop":{"type":"array","items":{"type":"string"},"maxItems":16,"description":"texts that end the answer and are not part of it"},
"chat":{"type":"boolean","default":false,"description":"format the prompt as a user's message by the model's chat template"},
"system":{"type":"string","description":"system message, with chat"},
"schema":{"type":"object","description":"JSON Schema that the answer satisfies, if it is not cut off by max_tokens"},
"model":{"type":"string","description":"name of a model, see resource atenia://models; default: the first"}
},"required":["prompt"],"additionalProperties":false}`

type generateOutput struct {
	Text   string `json:"text"`
	Finish string `json:"finish"`
	Tokens int    `json:"tokens"`
}

const generateResult = `{"type":"object","properties":{
"text":{"type":"string"},
"finish":{"type":"string","description":"stop, or length when max_tokens or the context was reached"},
"tokens":{"type":"integer","description":"of the answer"}
},"required":["text","finish","tokens"]}`

func (s *Server) generate(c *call, in *generateInput) (out generateOutput, _ string, err error) {
	m, err := s.cfg.Use(c.Context(), in.Model)
	if err != nil {
		return out, "", err
	}
	defer m.Release()
	o, err := in.options(m.Model)
	if err != nil {
		return out, "", err
	}
	var b strings.Builder
	for t, err := range in.answer(c, m, o) {
		if err != nil {
			return out, "", err
		}
		b.WriteString(t.Text)
		if t.Finish != "" {
			out.Finish = t.Finish
			s.logAnswer(c, m, &t)
			break
		}
		out.Tokens++
		if err := progress(c.Context(), c.mcp, t.Text, out.Tokens, o.MaxTokens); err != nil {
			return out, "", err
		}
	}
	out.Text = b.String()
	return out, out.Text, nil
}

// options checks and completes what a call asks for.
func (in *generateInput) options(m *atenia.Model) (atenia.Options, error) {
	o := atenia.Options{MaxTokens: usualTokens, Sampling: m.Sampling(), Stop: in.Stop, Schema: in.Schema}
	o.Sampling.Seed = in.Seed
	if in.MaxTokens != nil {
		o.MaxTokens = *in.MaxTokens
	}
	const mostStops = 16
	switch {
	case in.Prompt == "":
		return o, errors.New("prompt: want a text")
	case o.MaxTokens < 1:
		return o, fmt.Errorf("max_tokens: want at least 1, got %d", o.MaxTokens)
	case len(in.Stop) > mostStops:
		return o, fmt.Errorf("stop: want at most %d texts, got %d", mostStops, len(in.Stop))
	case slices.ContainsFunc(in.Stop, func(s string) bool { return len(s) > host.MostStopBytes }):
		return o, fmt.Errorf("stop: want texts of at most %d bytes", host.MostStopBytes)
	case in.System != "" && !in.Chat:
		return o, errors.New("system: a system message needs chat set to true")
	}
	if t := in.Temperature; t != nil {
		if *t < 0 || *t > 10 || math.IsNaN(*t) {
			return o, fmt.Errorf("temperature: want 0 to 10, got %v", *t)
		}
		o.Sampling.Temperature = float32(*t)
	}
	return o, o.Sampling.Validate()
}

func (in *generateInput) answer(r *call, m *host.Lease, o atenia.Options) iter.Seq2[atenia.Token, error] {
	if !in.Chat {
		return r.Generate(m, atenia.Prompt{Text: in.Prompt, Options: o})
	}
	c := atenia.Conversation{Options: o}
	if in.System != "" {
		c.Messages = append(c.Messages, atenia.Message{Role: "system", Content: in.System})
	}
	c.Messages = append(c.Messages, atenia.Message{Role: "user", Content: in.Prompt})
	return r.Chat(m, c)
}

// logAnswer tells a client that set a level of its log how an answer came to be, without
// what it says. A client that has gone hears nothing.
func (s *Server) logAnswer(c *call, m *host.Lease, t *atenia.Token) {
	data := map[string]any{"request": c.ID, "model": m.Info.Name, "finish": t.Finish}
	if u := t.Usage; u != nil {
		data["prompt"], data["cached"], data["tokens"] = u.Prompt, u.Cached, u.Answer
	}
	//lint:ignore SA1019 clients of protocols before 2026-07-28 have no other way
	if err := c.mcp.Session.Log(c.Context(), &sdk.LoggingMessageParams{Level: "info", Logger: "generate", Data: data}); err != nil {
		s.cfg.Logger.Debug("mcp log", "err", err)
	}
}

// progress tells a client that asked for it about a token. A client that reads
// slowly slows its own answer: the scheduler goes on with others.
func progress(ctx context.Context, req *sdk.CallToolRequest, text string, n, most int) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: text, Progress: float64(n), Total: float64(most)})
}
