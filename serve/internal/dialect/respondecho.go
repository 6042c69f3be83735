package dialect

// What a response says of the request that it answers. Open Responses wants all of it.

import (
	"cmp"
	"encoding/json"

	"atenia"
)

// An echoed has the fields of the request, and what they are if they are not given.
type echoed struct {
	Completed        *int64          `json:"completed_at"` // nil = it is not
	Text             echoedText      `json:"text"`
	PresencePenalty  float32         `json:"presence_penalty"`
	FrequencyPenalty float32         `json:"frequency_penalty"`
	TopLogProbs      int             `json:"top_logprobs"`
	Reasoning        echoedReasoning `json:"reasoning"`
	MaxCalls         *int            `json:"max_tool_calls"`
	ServiceTier      string          `json:"service_tier"`
	SafetyIdentifier json.RawMessage `json:"safety_identifier"`
	PromptCacheKey   json.RawMessage `json:"prompt_cache_key"`
}

type echoedText struct {
	Format any `json:"format"`
}

type echoedReasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

func (in *respondRequest) echo() echoed {
	e := echoed{
		Text: echoedText{map[string]string{"type": "text"}}, TopLogProbs: in.TopLogProbs, MaxCalls: in.MaxCalls, ServiceTier: "default",
		SafetyIdentifier: in.SafetyIdentifier, PromptCacheKey: in.PromptCacheKey,
	}
	if f := in.Text.Format; f != nil && f.Type == "json_schema" {
		e.Text.Format = f
	} else if f != nil {
		e.Text.Format = map[string]string{"type": f.Type}
	}
	if in.Reasoning.Effort != "" {
		e.Reasoning.Effort = &in.Reasoning.Effort
	}
	return e
}

// sampled says what the answer is sampled with: what the request says, or the model's makers.
func (v *response) sampled(s *atenia.Sampling) {
	temperature, top := s.Temperature, cmp.Or(s.TopP, 1)
	v.Temperature, v.TopP, v.PresencePenalty, v.FrequencyPenalty = &temperature, &top, s.PresencePenalty, s.FrequencyPenalty
}

// echo returns a choice in the form of a request.
func (c *toolChoice) echo() any {
	switch {
	case c.server != "":
		return map[string]string{"type": "mcp", "server_label": c.server, "name": c.name}
	case c.name != "":
		return map[string]string{"type": "function", "name": c.name}
	case c.allowed != nil:
		tools := []any{}
		for _, t := range c.allowed {
			tools = append(tools, map[string]string{"type": t.Type, "name": t.name()})
		}
		return map[string]any{"type": "allowed_tools", "mode": cmp.Or(c.mode, "auto"), "tools": tools}
	}
	return cmp.Or(c.mode, "auto")
}

// echoTools returns the tools in the form of a request, but for those that were left out.
func (in *respondRequest) echoTools() []any {
	tools := []any{}
	for i := range in.Tools {
		t := &in.Tools[i]
		if t.left {
			continue
		}
		e := map[string]any{"type": t.Type, "name": t.Name, "description": nil}
		if t.Description != "" {
			e["description"] = t.Description
		}
		switch t.Type {
		case "mcp":
			e = map[string]any{"type": t.Type, "server_label": t.Label}
		case "custom":
			e["format"] = t.Format
		default:
			e["parameters"], e["strict"] = t.Parameters, t.Strict
		}
		tools = append(tools, e)
	}
	return tools
}
