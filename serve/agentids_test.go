package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// told returns the actions of the decisions about a request, and where it was counted.
func told(t *testing.T, url, id string) (actions, metrics string) {
	t.Helper()
	get := func(path string) string {
		res, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b)
	}
	return get("/why/" + id), get("/metrics")
}

// TestAgentIDs: a call over MCP and a message over the WebSocket are requests of the
// scheduler, whose decisions are found by the id that the client is told, and are counted.
func TestAgentIDs(t *testing.T) {
	_, web := newServer(t, Config{})
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "generate", Arguments: json.RawMessage(`{"prompt":"Once upon a time","max_tokens":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := res.Meta["atenia/request"].(string)
	why, metrics := told(t, web.URL, id)
	if !strings.Contains(why, `"action":"finish"`) || !strings.Contains(why, id) || !strings.Contains(metrics, `atenia_requests_total{route="/mcp generate",status="200"} 1`) {
		t.Errorf("of %q: %s\n%s", id, why, metrics)
	}

	p := dial(t, web.URL)
	ids := map[string]bool{}
	for i := range 3 {
		p.send(t, fmt.Sprintf(`{"type":"generate","id":"%d","prompt":"Once upon a time","max_tokens":3}`, i))
		end := p.end(t)
		id := fmt.Sprint(end["request"])
		why, metrics = told(t, web.URL, id)
		want := fmt.Sprintf(`atenia_requests_total{route="/ws generate",status="200"} %d`, i+1)
		if !strings.Contains(why, `"action":"finish"`) || ids[id] || !strings.Contains(metrics, want) || end["prompt"] == nil {
			t.Errorf("of %q: %s\n%s", id, why, metrics)
		}
		ids[id] = true
	}
}

// A talk is a WebSocket of a test.
type talk struct {
	*websocket.Conn
	text  string
	calls map[string]string // arguments by name
}

func dial(t *testing.T, url string) *talk {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseNow() })
	return &talk{Conn: c}
}

func (p *talk) send(t *testing.T, text string) {
	t.Helper()
	if err := p.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// end reads replies until the last one of an answer, which it returns.
func (p *talk) end(t *testing.T) map[string]any {
	t.Helper()
	p.text, p.calls = "", map[string]string{}
	name := ""
	for {
		_, b, err := p.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var r map[string]any
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		if r["type"] != "token" {
			return r
		}
		if s, ok := r["text"].(string); ok {
			p.text += s
		}
		if c, ok := r["call"].(map[string]any); ok {
			if n, ok := c["name"].(string); ok {
				name = n
			}
			p.calls[name] += fmt.Sprint(c["arguments"])
		}
	}
}

// TestSocketLikeChat: an answer over the WebSocket, with a schema, with tools, and with
// what shapes it, is the answer of /v1/chat/completions with the same seed.
func TestSocketLikeChat(t *testing.T) {
	_, web := newServer(t, Config{})
	p := dial(t, web.URL)
	const tools = `"tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object","properties":{"at":{"type":"string","enum":["sun","moon"]},"n":{"type":"integer","minimum":1,"maximum":9}},"required":["at","n"],"additionalProperties":false}}}]`
	for i, more := range []string{
		`"max_tokens":20,"temperature":1.3`,
		`"max_tokens":60,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"a":{"type":"boolean"},"b":{"enum":["x","y"]}},"required":["a","b"],"additionalProperties":false}}}`,
		`"max_tokens":80,"tool_choice":"required",` + tools,
		`"max_tokens":80,"tool_choice":{"type":"function","function":{"name":"look"}},"temperature":1.5,` + tools,
		`"max_tokens":10,"tool_choice":"none",` + tools,
	} {
		body := fmt.Sprintf(`"messages":[{"role":"user","content":"Tell me about a dog."}],"seed":%d,%s`, i+7, more)
		res, err := http.Post(web.URL+"/v1/chat/completions", "application/json", bytes.NewReader([]byte("{"+body+"}")))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Choices []struct {
				Finish  string `json:"finish_reason"`
				Message struct {
					Content string
					Calls   []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		err = json.NewDecoder(res.Body).Decode(&want)
		res.Body.Close()
		if err != nil || len(want.Choices) != 1 {
			t.Fatalf("%s: %d %v", more, res.StatusCode, err)
		}
		p.send(t, `{"type":"generate","id":"a",`+body+`}`)
		end := p.end(t)
		c := want.Choices[0]
		if end["finish"] != c.Finish || p.text != c.Message.Content || len(p.calls) != len(c.Message.Calls) {
			t.Errorf("%s: %v %q %v, want %+v", more, end, p.text, p.calls, c)
		}
		for _, call := range c.Message.Calls {
			if got := p.calls[call.Function.Name]; got != call.Function.Arguments {
				t.Errorf("%s: arguments %s, want %s", more, got, call.Function.Arguments)
			}
		}
	}
	p.send(t, `{"type":"generate","id":"a","messages":[{"role":"user","content":"x"}],"n":2}`)
	if r := p.end(t); r["code"] != "bad_request" {
		t.Errorf("two answers at once: %v", r)
	}
}
