package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"atenia"
)

// question makes the model ask for a call, and returns the question and the answer to it.
func question(t *testing.T, url string, approve bool) (asked, answer map[string]any) {
	t.Helper()
	asked = ofType(t, respond(t, url, ask("maths", "add", `"require_approval":"always"`)+"}"), "mcp_approval_request")[0]
	return asked, map[string]any{"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": approve}
}

// answered is a request with items after a user's message.
func answered(t *testing.T, said, more string, items ...any) string {
	t.Helper()
	b, err := json.Marshal(append([]any{map[string]any{"role": "user", "content": said}}, items...))
	if err != nil {
		t.Fatal(err)
	}
	return `{"max_output_tokens":20,"tools":[{"type":"mcp","server_label":"maths"}%s` + more + `,"input":` + string(b) + `}`
}

// TestApprovalOfRefused: what can refuse a request does so before an approved call runs, and
// its question still waits.
func TestApprovalOfRefused(t *testing.T) {
	b, box := newBench(t)
	_, web := newServer(t, Config{Tools: Tools{Servers: box}})
	asked, answer := question(t, web.URL, true)
	long, bad := strings.Repeat("dog ", 3000), `,{"type":"function","name":"f","parameters":{"type":"object","required":5}}`
	for _, c := range []struct{ said, tool, more, want string }{
		{long, "", "", "context length"},
		{long, "", `,"truncation":"auto"`, "context length"},
		{"Add.", "", `,"text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object","required":5}}}`, "required"},
		{"Add.", bad, `,"tool_choice":"required"`, "required"},
		{"Add.", "", `,"grammar":"root ::= ("`, "grammar"},
		{"Add.", "", `,"speculate":"zz"`, "auto, lookup"},
		{"Add.", "", `,"grammar":"root ::= \"a\"","tool_choice":"required"`, "beside it"},
		{"Add.", "", `,"temperature":-1`, "temperature"},
	} {
		body := fmt.Sprintf(answered(t, c.said, c.more, asked, answer), c.tool+"]")
		if status, text := post(t, web.URL+"/v1/responses", body); status != 400 || !strings.Contains(text, c.want) || b.ran.Load() != 0 {
			t.Errorf("%.20s %s %s: %d calls ran: %d %.300s", c.said, c.tool, c.more, b.ran.Load(), status, text)
		}
	}
	out := respond(t, web.URL, fmt.Sprintf(answered(t, "Add.", "", asked, answer), "]"))
	if calls := ofType(t, out, "mcp_call"); len(calls) != 1 || b.ran.Load() != 1 {
		t.Errorf("%d calls ran: %v", b.ran.Load(), out)
	}
}

// TestApprovalTooLong: a result that makes the conversation too long is told all the same.
func TestApprovalTooLong(t *testing.T) {
	b, box := newBench(t)
	_, web := newServer(t, Config{Tools: Tools{Servers: box}, Open: atenia.Config{Context: 512}})
	asked, answer := question(t, web.URL, true)
	for words := 512; words > 0; words-- {
		status, text := post(t, web.URL+"/v1/responses", fmt.Sprintf(answered(t, strings.Repeat("dog ", words), "", asked, answer), "]"))
		if status == 400 && b.ran.Load() == 0 {
			continue
		}
		out := object(t, text)
		if calls := ofType(t, out, "mcp_call"); status != 200 || out["status"] != "failed" || at(t, out, "error", "code") != "context_length_exceeded" || len(calls) != 1 || calls[0]["output"] == nil || b.ran.Load() != 1 {
			t.Errorf("%d words, %d calls ran: %d %s", words, b.ran.Load(), status, text)
		}
		return
	}
	t.Error("no conversation is short enough")
}

// TestDenied: a call that was denied runs in no later request, and two answers that
// contradict each other are refused.
func TestDenied(t *testing.T) {
	b, box := newBench(t)
	_, web := newServer(t, Config{Tools: Tools{Servers: box}})
	for _, tools := range []string{"]", `,{"type":"function","name":"f"}]`} {
		asked, deny := question(t, web.URL, false)
		approve := map[string]any{"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": true}
		for _, both := range [][]any{{asked, approve, deny}, {asked, deny, approve}} {
			status, text := post(t, web.URL+"/v1/responses", fmt.Sprintf(answered(t, "Add.", "", both...), tools))
			if status != 400 || !strings.Contains(text, fmt.Sprint(asked["id"])[:30]) || !strings.Contains(text, "another answer") {
				t.Errorf("both answers: %d %s", status, text)
			}
		}
		for range 2 {
			respond(t, web.URL, fmt.Sprintf(answered(t, "Add.", "", asked, deny), tools))
		}
		if status, text := post(t, web.URL+"/v1/responses", fmt.Sprintf(answered(t, "Add.", "", asked, approve), tools)); status != 400 || !strings.Contains(text, "was denied") {
			t.Errorf("approved of after that: %d %s", status, text)
		}
	}
	// Also where the request that denied did not offer the tool any more.
	asked, deny := question(t, web.URL, false)
	respond(t, web.URL, strings.Replace(fmt.Sprintf(answered(t, "Add.", "", asked, deny), "]"), `{"type":"mcp","server_label":"maths"}`, "", 1))
	deny["approve"] = true
	if status, text := post(t, web.URL+"/v1/responses", fmt.Sprintf(answered(t, "Add.", "", asked, deny), "]")); status != 400 || !strings.Contains(text, "was denied") {
		t.Errorf("approved of after that: %d %s", status, text)
	}
	if b.ran.Load() != 0 {
		t.Errorf("%d calls ran", b.ran.Load())
	}
}
