package dialect

// Tools of the type "custom", whose input is a text: the model calls a function with that text as
// its one argument.

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"atenia"
	"atenia/serve/internal/host"
)

// A customTool takes a text.
type customTool struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Format      *customFormat `json:"format"`
}

// A customFormat says what texts a tool takes: any, or those of a grammar. In chat the grammar
// is an object of its own.
type customFormat struct {
	Type       string `json:"type"`   // text or grammar
	Syntax     string `json:"syntax"` // lark or regex
	Definition string `json:"definition"`
	Grammar    *struct {
		Syntax     string `json:"syntax"`
		Definition string `json:"definition"`
	} `json:"grammar"`
}

// function returns the function that the model is told of. A regular expression is part of its
// schema; a grammar is told in words.
func (t *customTool) function(at string) (openaiFunction, error) {
	f := openaiFunction{Name: t.Name, Description: t.Description, text: true}
	input := map[string]any{"type": "string"}
	if g := t.Format; g != nil && g.Type == "grammar" {
		if g.Grammar != nil {
			g.Syntax, g.Definition = g.Grammar.Syntax, g.Grammar.Definition
		}
		switch g.Syntax {
		case "regex":
			input["pattern"] = "^(?:" + g.Definition + ")$"
		case "lark":
			f.Description += "\n\nThe input follows this grammar (Lark):\n" + g.Definition
		default:
			return f, host.Invalid(at, "%s.format.syntax is %q, want lark or regex", at, g.Syntax)
		}
	} else if g != nil && g.Type != "text" && g.Type != "" {
		return f, host.Invalid(at, "%s.format.type is %q, want text or grammar", at, g.Type)
	}
	var err error
	f.Parameters, err = json.Marshal(map[string]any{
		"type": "object", "properties": map[string]any{"input": input}, "required": []string{"input"}, "additionalProperties": false,
	})
	return f, err
}

// customArguments returns the arguments of a call whose input is a text.
func customArguments(input string) string {
	b, _ := json.Marshal(map[string]string{"input": input}) // of strings alone
	return string(b)
}

// customInput returns the text of a call's arguments: what the model wrote, if it wrote none.
func customInput(arguments string) string {
	var o struct {
		Input *string `json:"input"`
	}
	if json.Unmarshal([]byte(arguments), &o) != nil || o.Input == nil {
		return arguments
	}
	return *o.Input
}

// An inputReader reads the text out of arguments while they are written.
type inputReader struct {
	raw  []byte
	at   int // of the text's next byte; 0 = it has not begun
	done bool
}

var inputBegin = regexp.MustCompile(`^\s*\{\s*"input"\s*:\s*"`)

// add takes a piece and returns what it adds to the text: characters that are whole.
func (x *inputReader) add(piece string) string {
	x.raw = append(x.raw, piece...)
	if x.at == 0 {
		x.at = len(inputBegin.Find(x.raw))
	}
	if x.at == 0 || x.done {
		return ""
	}
	rest := x.raw[x.at:]
	end := 0
	for end < len(rest) && rest[end] != '"' {
		n := character(rest[end:])
		if n == 0 {
			break
		}
		end += n
	}
	x.done = end < len(rest) && rest[end] == '"'
	x.at += end
	var text string
	if json.Unmarshal(fmt.Appendf(nil, `"%s"`, rest[:end]), &text) != nil { // which a call with such arguments is none
		return ""
	}
	return text
}

// character returns the length of the first character of a JSON string, 0 if it is not whole.
func character(b []byte) int {
	switch {
	case b[0] != '\\':
		if !utf8.FullRune(b) {
			return 0
		}
		_, n := utf8.DecodeRune(b)
		return n
	case len(b) < 2:
		return 0
	case b[1] != 'u':
		return 2
	case len(b) < 6:
		return 0
	}
	if first := strings.ToLower(string(b[2:4])); first < "d8" || first > "db" {
		return 6
	}
	switch rest := string(b[6:min(len(b), 12)]); { // the first half of a pair
	case strings.HasPrefix(rest, `\u`) && len(rest) >= 6:
		return 12
	case strings.HasPrefix(rest, `\u`), strings.HasPrefix(`\u`, rest):
		return 0
	}
	return 6
}

// textTools are the names of functions whose calls are of custom tools.
func textTools(fs []openaiFunction) map[string]bool {
	var names map[string]bool
	for _, f := range fs {
		if f.text {
			if names == nil {
				names = map[string]bool{}
			}
			names[f.Name] = true
		}
	}
	return names
}

// call returns a piece of a call, as the client sees it.
func (a *openaiAnswer) call(c *atenia.CallPart) *openaiCall {
	if c.ID != "" {
		a.input = nil
		if a.custom[c.Name] {
			a.input = &inputReader{}
		}
	}
	out := newOpenAICall(c.ID, c.Name, c.Arguments)
	if a.input != nil {
		out = newCustomCall(c.ID, c.Name, a.input.add(c.Arguments))
		out.raw = c.Arguments
	}
	out.Index = &c.Index
	return out
}
