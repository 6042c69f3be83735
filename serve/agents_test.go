package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atenia/internal/golden/await"
)

// TestAgents: both protocols through the server, with its keys, its origins and its drain.
func TestAgents(t *testing.T) {
	const key = "key-of-a-test"
	s, web := newServer(t, Config{Keys: []string{key}, Origins: []string{"https://app.example"}})
	if status, _ := post(t, web.URL+"/mcp", `{}`); status != http.StatusUnauthorized {
		t.Errorf("/mcp without a key: %d", status)
	}
	if status, _ := get(t, web.URL+"/ws"); status != http.StatusUnauthorized {
		t.Errorf("/ws without a key: %d", status)
	}
	head := http.Header{"Authorization": {"Bearer " + key}, "Origin": {"https://app.example"}}
	ws, _, err := websocket.Dial(t.Context(), web.URL+"/ws", &websocket.DialOptions{HTTPHeader: head})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"generate","id":"a","prompt":"Once upon a time","max_tokens":3,"temperature":0}`)); err != nil {
		t.Fatal(err)
	}
	streamed := ""
	for {
		_, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Type, Text string }
		if err := json.Unmarshal(b, &r); err != nil || r.Type == "error" {
			t.Fatalf("%s %v", b, err)
		}
		if streamed += r.Text; r.Type == "end" {
			break
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: &http.Client{Transport: header(head)}, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "generate", Arguments: json.RawMessage(`{"prompt":"Once upon a time","max_tokens":3,"temperature":0,"model":"default"}`)})
	if err != nil || res.IsError {
		t.Fatal(err, res)
	}
	if got := res.Content[0].(*sdk.TextContent).Text; got != streamed || got == "" {
		t.Errorf("over MCP %q, over the WebSocket %q", got, streamed)
	}
	list, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "atenia://models"})
	if err != nil || !strings.Contains(list.Contents[0].Text, `"family"`) {
		t.Errorf("%v %v", list, err)
	}
	closed := ws.CloseRead(t.Context()) // a page that reads sees the end
	if err := s.Drain(t.Context()); err != nil {
		t.Errorf("drain with a WebSocket and a session of MCP: %v", err)
	}
	await.Value(t, "the end of the WebSocket after the drain", closed.Done())
}

// header is a transport that adds headers.
type header http.Header

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		r.Header[k] = v
	}
	return http.DefaultTransport.RoundTrip(r)
}
