package dialect

// The body of a request, as Anthropic's API reference names its fields.

import (
	"bytes"
	"encoding/json"

	"atenia/serve/internal/host"
)

// An anthropicRequest is the body of /v1/messages and of /v1/messages/count_tokens.
type anthropicRequest struct {
	Model         string             `json:"model"`
	Messages      []anthropicMessage `json:"messages"`
	System        blocks             `json:"system"`
	MaxTokens     *int               `json:"max_tokens"`
	StopSequences []string           `json:"stop_sequences"`
	Stream        bool               `json:"stream"`
	Temperature   *float32           `json:"temperature"`
	TopP          *float32           `json:"top_p"`
	TopK          *int               `json:"top_k"`
	Tools         []anthropicTool    `json:"tools"`
	ToolChoice    *anthropicChoice   `json:"tool_choice"`
	Thinking      *anthropicThinking `json:"thinking"`
	OutputConfig  outputConfig       `json:"output_config"`
	ParseSpecial  bool               `json:"parse_special"`
	Receipt       host.ReceiptWish   `json:"receipt"`

	// What only Anthropic's own service can use is read and ignored.
	Metadata          json.RawMessage `json:"metadata"`
	CacheControl      json.RawMessage `json:"cache_control"`
	ServiceTier       json.RawMessage `json:"service_tier"`
	Container         json.RawMessage `json:"container"`
	ContextManagement json.RawMessage `json:"context_management"`
	Diagnostics       json.RawMessage `json:"diagnostics"`
	InferenceGeo      json.RawMessage `json:"inference_geo"`
	Speed             json.RawMessage `json:"speed"`
	extras
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

// blocks is a list of blocks; a string stands for one block of text.
type blocks []block

// UnmarshalJSON implements [json.Unmarshaler].
func (c *blocks) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case bytes.HasPrefix(b, []byte(`"`)):
		*c = blocks{{Type: "text"}}
		return json.Unmarshal(b, &(*c)[0].Text)
	case bytes.HasPrefix(b, []byte(`[`)):
		return json.Unmarshal(b, (*[]block)(c))
	case string(b) == "null":
		return nil
	}
	return host.Invalid("content", "content is neither a string nor an array of blocks: it begins with %.20q", b)
}

// A block is a piece of a message. Type says which fields count.
type block struct {
	Type string `json:"type"`

	Text string `json:"text"` // text

	Source *blockSource `json:"source"` // image, document
	Title  string       `json:"title"`  // document

	ID    string          `json:"id"` // tool_use
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`

	ToolUseID string `json:"tool_use_id"` // tool_result
	Content   blocks `json:"content"`
	IsError   bool   `json:"is_error"`

	Thinking string `json:"thinking"` // thinking
}

// A blockSource is where the data of an image or a document are.
type blockSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	Content   blocks `json:"content"` // of a document of the type "content"
}

type anthropicTool struct {
	Type        string          `json:"type"` // "" or "custom"; every other one is a tool of Anthropic's
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict"`

	left bool // out of the request
}

type anthropicChoice struct {
	Type            string `json:"type"` // auto, any, tool, none
	Name            string `json:"name"` // of the type "tool"
	DisableParallel bool   `json:"disable_parallel_tool_use"`
}

type anthropicThinking struct {
	Type         string `json:"type"` // enabled, disabled, adaptive
	BudgetTokens int    `json:"budget_tokens"`
	Display      string `json:"display"` // "omitted" leaves thoughts out
}

type outputConfig struct {
	Effort string           `json:"effort"`
	Format *anthropicFormat `json:"format"`
}

type anthropicFormat struct {
	Type   string          `json:"type"` // json_schema
	Schema json.RawMessage `json:"schema"`
}
