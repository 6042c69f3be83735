package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atenia/serve/internal/dialect"
)

// send sends a request that has no body, and returns status and response.
func send(t testing.TB, method, url string, header ...string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, q, header...)
}

// jsonOf writes a value that was read.
func jsonOf(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fetch returns the object of an address.
func fetch(t testing.TB, url string) map[string]any {
	t.Helper()
	status, text := get(t, url)
	if status != 200 {
		t.Fatalf("GET %s: %d %s", url, status, text)
	}
	return object(t, text)
}

// create posts a body and returns what was made.
func create(t testing.TB, url, body string, header ...string) map[string]any {
	t.Helper()
	status, text := post(t, url, body, header...)
	if status != 200 {
		t.Fatalf("POST %s %.200s: %d %s", url, body, status, text)
	}
	return object(t, text)
}

// sure is what makes an answer tell of its prompt: the log-probabilities of its tokens.
const sure = `"temperature":0,"max_output_tokens":6,"include":["message.output_text.logprobs"],"top_logprobs":3,`

// said returns what answers to equal prompts have in common.
func said(t testing.TB, o map[string]any) string {
	t.Helper()
	var b strings.Builder
	for _, e := range o["output"].([]any) {
		fmt.Fprint(&b, at(t, e, "type"), at(t, e, "content"), at(t, e, "name"), at(t, e, "arguments"), "\n")
	}
	fmt.Fprint(&b, at(t, o, "usage", "input_tokens"), at(t, o, "usage", "output_tokens"), o["status"])
	return b.String()
}

const clock = `"tools":[{"type":"function","name":"now","parameters":{"type":"object","properties":{"zone":{"enum":["UTC"]}},"required":["zone"],"additionalProperties":false}}],`

// threeTurns are the inputs of three requests; the first one's answer is a call.
func threeTurns(call string) [3]string {
	return [3]string{
		`{"role":"developer","content":"Be kind."},{"role":"user","content":"What time is it?"}`,
		`{"type":"function_call_output","call_id":"` + call + `","output":"noon"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Thank you."}]}`,
	}
}

// TestChains: a conversation that goes on from what is kept, by the last response, by a conversation
// or by the names of items, is answered as the whole conversation sent at once.
func TestChains(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/responses"
	ask := func(how, items string, more string) map[string]any {
		return create(t, url, `{`+sure+clock+how+more+`"input":[`+items+`]}`)
	}
	must := `"max_output_tokens":60,"tool_choice":"required",`
	first := ask("", threeTurns("")[0], must)
	call := at(t, first["output"], 0, "call_id").(string)
	turns := threeTurns(call)
	send := func(o map[string]any) string {
		list := jsonOf(t, o["output"])
		return strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	}
	// The whole at once; nothing is kept.
	no := `"store":false,`
	whole := turns[0] + "," + send(first) + "," + turns[1]
	second := ask(no, whole, "")
	whole += "," + send(second) + "," + turns[2]
	third := ask(no, whole, "")
	if status, _ := get(t, url+"/"+third["id"].(string)); status != 404 {
		t.Errorf("with store: false a response is kept: %d", status)
	}

	second2 := ask(`"previous_response_id":"`+first["id"].(string)+`",`, turns[1], "")
	third2 := ask(`"previous_response_id":"`+second2["id"].(string)+`",`, turns[2], "")
	conv := create(t, web.URL+"/v1/conversations", `{}`)["id"].(string)
	in := `"conversation":"` + conv + `",`
	first3 := ask(in, turns[0], must)
	second3 := ask(in, strings.ReplaceAll(turns[1], call, at(t, first3["output"], 0, "call_id").(string)), "")
	third3 := ask(`"conversation":{"id":"`+conv+`"},`, turns[2], "")
	refs := func(o map[string]any) string {
		return fmt.Sprintf(`{"type":"item_reference","id":%q}`, at(t, o["output"], 0, "id"))
	}
	third4 := ask("", turns[0]+","+refs(first)+","+turns[1]+","+refs(second2)+","+turns[2], "")
	for i, pair := range [][2]map[string]any{{second, second2}, {third, third2}, {second, second3}, {third, third3}, {third, third4}} {
		if got, want := said(t, pair[1]), said(t, pair[0]); got != want {
			t.Errorf("%d: the answer is\n%s, want that to the whole\n%s", i, got, want)
		}
	}
	if third2["previous_response_id"] != second2["id"] || at(t, third3, "conversation", "id") != conv {
		t.Errorf("a response does not say what it continues: %v %v", third2["previous_response_id"], third3["conversation"])
	}
	// Instructions are not inherited: they are of one request.
	alone := create(t, url, `{`+sure+`"instructions":"Be rude.","input":"One."}`)
	without := create(t, url, `{`+sure+`"previous_response_id":"`+alone["id"].(string)+`","input":"Two."}`)
	plain := create(t, url, `{`+sure+`"input":[{"role":"user","content":"One."},`+send(alone)+`,{"role":"user","content":"Two."}]}`)
	if said(t, without) != said(t, plain) {
		t.Errorf("instructions are inherited:\n%s, want\n%s", said(t, without), said(t, plain))
	}
	// What is kept is what was answered.
	kept := fetch(t, url+"/"+third2["id"].(string))
	if jsonOf(t, kept) != jsonOf(t, third2) {
		t.Errorf("kept is\n%s, want\n%s", jsonOf(t, kept), jsonOf(t, third2))
	}
	if list := fetch(t, web.URL+"/v1/conversations/"+conv+"/items?order=asc"); len(list["data"].([]any)) != 7 {
		t.Errorf("the conversation has %v", list)
	}
}

// TestStoredPerKey: what one key keeps is not there for another.
func TestStoredPerKey(t *testing.T) {
	_, web := newServer(t, Config{Keys: []string{"first-key", "second-key"}})
	mine, other := []string{"Authorization", "Bearer first-key"}, []string{"X-Api-Key", "second-key"}
	id := create(t, web.URL+"/v1/responses", `{"input":"Hi.","max_output_tokens":2}`, mine...)["id"].(string)
	conv := create(t, web.URL+"/v1/conversations", `{"items":[{"role":"user","content":"Hi."}]}`, mine...)["id"].(string)
	_, text := get(t, web.URL+"/v1/conversations/"+conv+"/items", mine...)
	item := at(t, object(t, text), "data", 0, "id").(string)
	next := `{"input":"Hi.","max_output_tokens":2,`
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1/responses/" + id, ""}, {"GET", "/v1/responses/" + id + "?stream=true", ""}, {"GET", "/v1/responses/" + id + "/input_items", ""},
		{"POST", "/v1/responses/" + id + "/cancel", ""}, {"POST", "/v1/responses", next + `"previous_response_id":"` + id + `"}`},
		{"POST", "/v1/responses", next + `"conversation":"` + conv + `"}`}, {"POST", "/v1/responses/input_tokens", next + `"conversation":"` + conv + `"}`},
		{"POST", "/v1/responses", `{"input":[{"type":"item_reference","id":"msg_` + strings.TrimPrefix(id, "resp_") + `_0"}],"max_output_tokens":2}`},
		{"GET", "/v1/conversations/" + conv, ""}, {"GET", "/v1/conversations/" + conv + "/items", ""}, {"GET", "/v1/conversations/" + conv + "/items/" + item, ""},
		{"POST", "/v1/conversations/" + conv, `{"metadata":{}}`}, {"POST", "/v1/conversations/" + conv + "/items", `{"items":[{"role":"user","content":"Hi."}]}`},
		{"DELETE", "/v1/conversations/" + conv + "/items/" + item, ""}, {"DELETE", "/v1/conversations/" + conv, ""}, {"DELETE", "/v1/responses/" + id, ""},
	} {
		for _, key := range [][]string{other, mine} {
			status, text := send(t, c.method, web.URL+c.path, key...)
			if c.body != "" {
				status, text = post(t, web.URL+c.path, c.body, key...)
			}
			if foreign := key[0] == other[0]; foreign != (status == 404) || foreign && !strings.Contains(text, "of another key") {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, key[1], status, text)
			}
		}
	}
	for _, path := range []string{"/v1/responses/" + id, "/v1/conversations/" + conv} {
		if status, text := get(t, web.URL+path, mine...); status != 404 {
			t.Errorf("%s is there after DELETE: %d %s", path, status, text)
		}
	}
}

// TestStoreExpires: what was neither made nor continued for an hour is gone, with what to do.
func TestStoreExpires(t *testing.T) {
	at := time.Unix(1e9, 0)
	_, web := newServer(t, Config{kept: dialect.StoreConfig{Now: func() time.Time { return at }}})
	url := web.URL + "/v1/responses"
	body := `{"input":"Hi.","max_output_tokens":2,"previous_response_id":%q}`
	first := create(t, url, fmt.Sprintf(body, ""))["id"].(string)
	other := create(t, url, fmt.Sprintf(body, ""))["id"].(string)
	at = at.Add(59 * time.Minute)
	second := create(t, url, fmt.Sprintf(body, first))["id"].(string)
	at = at.Add(59 * time.Minute) // the first was continued meanwhile, the other was not
	if status, text := post(t, url, fmt.Sprintf(body, second)); status != 200 {
		t.Errorf("a chain that is in use: %d %s", status, text)
	}
	status, text := post(t, url, fmt.Sprintf(body, other))
	if status != 404 || !strings.Contains(text, `"previous_response_not_found"`) || !strings.Contains(text, "Send the whole conversation") || !strings.Contains(text, `"param":"previous_response_id"`) {
		t.Errorf("after an hour: %d %s", status, text)
	}
	at = at.Add(61 * time.Minute)
	for _, id := range []string{first, second, other} {
		if status, text := get(t, url+"/"+id); status != 404 || !strings.Contains(text, "--store") {
			t.Errorf("after an hour: %d %s", status, text)
		}
	}
}

// TestStoreBounds: so many bytes are kept in all, and what was used longest ago gives way. What a
// conversation gains counts.
func TestStoreBounds(t *testing.T) {
	_, web := newServer(t, Config{kept: dialect.StoreConfig{Bytes: 640 << 10}})
	url := web.URL + "/v1/conversations"
	large := `{"items":[{"role":"user","content":"` + strings.Repeat("a", 200<<10) + `"}]}`
	var ids []string
	there := func() (out string) {
		for _, id := range ids {
			status, _ := get(t, url+"/"+id)
			out += map[int]string{200: "+", 404: "-"}[status]
		}
		return out
	}
	for range 3 {
		ids = append(ids, create(t, url, large)["id"].(string))
	}
	if there() != "+++" {
		t.Errorf("600 KiB: %s", there())
	}
	create(t, url+"/"+ids[0]+"/items", large) // the first is now the last used
	if there() != "+-+" {
		t.Errorf("800 KiB: %s", there())
	}
	create(t, url+"/"+ids[0]+"/items", large)
	if there() != "+--" {
		t.Errorf("one of 600 KiB: %s", there())
	}
	status, text := post(t, url+"/"+ids[0]+"/items", large)
	if status != 400 || !strings.Contains(text, "655360") || !strings.Contains(text, `"param":"items"`) || there() != "+--" {
		t.Errorf("one of 800 KiB: %d %s", status, text)
	}
}

// TestStoreOnDisk: a folder keeps what clients want kept over a restart, each record in a file that
// others cannot read; a damaged one is an error of its own; and DELETE removes the file.
func TestStoreOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	var url string
	var ids []string
	var want []map[string]any
	var conv string
	start := func(f func()) {
		t.Helper()
		t.Run("server", func(t *testing.T) {
			_, web := newServer(t, Config{Store: dir})
			url = web.URL
			f()
		})
	}
	body := `{` + sure + `"input":"Tell me more.","previous_response_id":%q}`
	var next map[string]any
	start(func() {
		if _, err := New(Config{Store: dir}); err == nil || !strings.Contains(err.Error(), "one server at a time") {
			t.Errorf("two servers in one folder: %v", err)
		}
		before := ""
		for range 3 {
			o := create(t, url+"/v1/responses", fmt.Sprintf(body, before))
			before = o["id"].(string)
			ids, want = append(ids, before), append(want, o)
		}
		next = create(t, url+"/v1/responses", strings.Replace(fmt.Sprintf(body, before), "{", `{"store":false,`, 1))
		conv = create(t, url+"/v1/conversations", `{"items":[{"role":"user","content":"Hi."}],"metadata":{"a":"b"}}`)["id"].(string)
	})
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) != 4 { // what was not to be stored has none
		t.Errorf("files: %q", files)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, st.Mode(), err)
		}
	}
	file := func(id string) string { return filepath.Join(dir, id+".jsonl") }
	start(func() {
		for i, id := range ids {
			if got := fetch(t, url+"/v1/responses/"+id); jsonOf(t, got) != jsonOf(t, want[i]) {
				t.Errorf("after a restart\n%s, want\n%s", jsonOf(t, got), jsonOf(t, want[i]))
			}
		}
		if got := create(t, url+"/v1/responses", fmt.Sprintf(body, ids[2])); said(t, got) != said(t, next) {
			t.Errorf("continued after a restart\n%s, want\n%s", said(t, got), said(t, next))
		}
		// An answer with more log-probabilities than a body may have is kept, and continued.
		kept, err := os.ReadFile(file(ids[2]))
		if err != nil {
			t.Fatal(err)
		}
		many := strings.Replace(string(kept), `"logprobs":[`, `"logprobs":[`+strings.Repeat(`{"token":"a"},`, 5000), 1)
		if err := os.WriteFile(file(ids[2]), []byte(many), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, url+"/v1/responses/"+ids[2]); len(at(t, got["output"], 0, "content", 0, "logprobs").([]any)) < 5000 {
			t.Error("log-probabilities are lost")
		}
		if got := create(t, url+"/v1/responses", fmt.Sprintf(body, ids[2])); said(t, got) != said(t, next) {
			t.Errorf("continued with many log-probabilities\n%s, want\n%s", said(t, got), said(t, next))
		}
		if got := fetch(t, url+"/v1/conversations/"+conv); at(t, got, "metadata", "a") != "b" {
			t.Errorf("the conversation is %v", got)
		}
		create(t, url+"/v1/conversations/"+conv+"/items", `{"items":[{"role":"assistant","content":"Hello."}]}`)
		b, err := os.ReadFile(file(ids[1]))
		if err != nil {
			t.Fatal(err)
		}
		for name, damaged := range map[string]string{
			"cut": string(b[:len(b)/2]), "more": string(b) + "{}\n", "empty": "", "other": strings.Replace(string(b), ids[1], ids[2], 1), "zeros": strings.Repeat("\x00", 99),
		} {
			if err := os.WriteFile(file(ids[1]), []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			if status, text := get(t, url+"/v1/responses/"+ids[1]); status != 500 || !strings.Contains(text, "record_damaged") || !strings.Contains(text, "byte ") {
				t.Errorf("%s: %d %s", name, status, text)
			}
			fetch(t, url+"/v1/responses/"+ids[0])
		}
		// One that says that it continues itself is no endless chain.
		if err := os.WriteFile(file(ids[1]), []byte(strings.Replace(string(b), `"parent_id":"`+ids[0], `"parent_id":"`+ids[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, text := post(t, url+"/v1/responses", fmt.Sprintf(body, ids[1])); status != 400 || !strings.Contains(text, "more than 2048 responses") {
			t.Errorf("a chain without an end: %d %s", status, text)
		}
		for _, path := range []string{"/v1/responses/" + ids[1], "/v1/responses/" + ids[2], "/v1/conversations/" + conv + "/items/none"} {
			status, text := send(t, "DELETE", url+path)
			if (status == 200) != strings.Contains(path, "responses") {
				t.Errorf("DELETE %s: %d %s", path, status, text)
			}
		}
		for _, id := range ids[1:] {
			if _, err := os.Stat(file(id)); !os.IsNotExist(err) {
				t.Errorf("the file of %s is there after DELETE: %v", id, err)
			}
		}
		status, text := post(t, url+"/v1/responses", fmt.Sprintf(body, ids[2]))
		if status != 404 {
			t.Errorf("continues what was deleted: %d %s", status, text)
		}
	})
	start(func() {
		if list := fetch(t, url+"/v1/conversations/"+conv+"/items"); len(list["data"].([]any)) != 2 {
			t.Errorf("the conversation has %v", list)
		}
		for _, id := range []string{"resp_../../x", "resp_" + strings.Repeat("0", 32), "conv_" + ids[0][5:]} {
			if status, _ := get(t, url+"/v1/responses/"+strings.ReplaceAll(id, "/", "%2f")); status != 404 {
				t.Errorf("%s is there", id)
			}
		}
	})
}

// TestApprovalOfKept: a question about a call is answered by the id of the response that asks it.
func TestApprovalOfKept(t *testing.T) {
	b, box := newBench(t)
	_, web := newServer(t, Config{Tools: Tools{Servers: box}})
	asked := create(t, web.URL+"/v1/responses", ask("maths", "add", `"require_approval":"always"`)+`}`)
	question := ofType(t, asked, "mcp_approval_request")[0]["id"]
	o := create(t, web.URL+"/v1/responses", fmt.Sprintf(`{"previous_response_id":%q,"max_output_tokens":5,"tools":[{"type":"mcp","server_label":"maths"}],
		"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, asked["id"], question))
	if calls := ofType(t, o, "mcp_call"); b.ran.Load() != 1 || len(calls) != 1 || calls[0]["status"] != "completed" || len(ofType(t, o, "mcp_list_tools")) != 0 {
		t.Errorf("%d calls ran: %v", b.ran.Load(), o)
	}
}
