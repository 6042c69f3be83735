package serve

import (
	"fmt"
	"strings"
	"testing"
)

// texts are those of the items of a list.
func itemTexts(t testing.TB, list map[string]any) (out string) {
	t.Helper()
	for _, e := range list["data"].([]any) {
		out += at(t, e, "content", 0, "text").(string)
	}
	return out
}

// TestConversations: a conversation is made, read, changed and deleted, and so are its items, in
// OpenAI's form.
func TestConversations(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/conversations"
	o := create(t, url, `{"metadata":{"topic":"<a> & b"},"items":[{"role":"system","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b"}]},
		{"type":"message","id":"msg_mine","role":"user","content":"c"}]}`)
	url += "/" + o["id"].(string)
	if o["object"] != "conversation" || at(t, o, "metadata", "topic") != "<a> & b" || o["created_at"] == nil || jsonOf(t, fetch(t, url)) != jsonOf(t, o) {
		t.Errorf("made: %v", o)
	}
	list := fetch(t, url+"/items")
	if itemTexts(t, list) != "cba" || list["object"] != "list" || list["first_id"] != "msg_mine" || list["has_more"] != false {
		t.Errorf("items: %v", list)
	}
	first := fetch(t, url+"/items?order=asc&limit=1")
	if itemTexts(t, first) != "a" || first["has_more"] != true || at(t, first["data"], 0, "content", 0, "type") != "input_text" || at(t, first["data"], 0, "status") != "completed" || at(t, first["data"], 0, "type") != "message" {
		t.Errorf("a page: %v", first)
	}
	id := first["last_id"].(string)
	if rest := fetch(t, url+"/items?order=asc&after="+id); itemTexts(t, rest) != "bc" {
		t.Errorf("after %s: %v", id, rest)
	}
	added := create(t, url+"/items", `{"items":[{"id":"msg_mine","role":"user","content":"d"},{"role":"user","content":"e"}]}`)
	if itemTexts(t, added) != "de" || added["first_id"] == "msg_mine" { // which another has
		t.Errorf("added: %v", added)
	}
	if e := fetch(t, url+"/items/msg_mine"); at(t, e, "content", 0, "text") != "c" {
		t.Errorf("an item: %v", e)
	}
	if status, text := send(t, "DELETE", url+"/items/msg_mine"); status != 200 || object(t, text)["object"] != "conversation" {
		t.Errorf("DELETE of an item: %d %s", status, text)
	}
	if list := fetch(t, url+"/items?order=asc"); itemTexts(t, list) != "abde" {
		t.Errorf("left: %v", list)
	}
	if o := create(t, url, `{"metadata":{"other":"c"}}`); jsonOf(t, o["metadata"]) != `{"other":"c"}` {
		t.Errorf("changed: %v", o)
	}
	// A response that is not kept still goes on in the conversation.
	passing := create(t, web.URL+"/v1/responses", fmt.Sprintf(`{"conversation":%q,"store":false,"input":"f","max_output_tokens":1}`, o["id"]))
	if status, _ := get(t, web.URL+"/v1/responses/"+passing["id"].(string)); status != 404 || passing["store"] != false {
		t.Errorf("with store: false a response is kept: %d %v", status, passing)
	}
	if list := fetch(t, url+"/items?order=asc"); !strings.HasPrefix(itemTexts(t, list), "abdef") || len(list["data"].([]any)) != 6 {
		t.Errorf("after a response: %v", list)
	}
	for _, want := range []int{200, 404} {
		if status, text := send(t, "DELETE", url); status != want || status == 200 && object(t, text)["object"] != "conversation.deleted" {
			t.Errorf("DELETE: %d %s", status, text)
		}
	}
}

// TestStoredLimits: what is too much or wrong is refused with the field's name.
func TestStoredLimits(t *testing.T) {
	_, web := newServer(t, Config{})
	pairs := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":"v"`, i)
		}
		return strings.TrimPrefix(b.String(), ",")
	}
	id := create(t, web.URL+"/v1/conversations", `{}`)["id"].(string)
	resp := create(t, web.URL+"/v1/responses", `{"input":"a","max_output_tokens":1}`)["id"].(string)
	items := func(n int) string {
		return `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"a"},`, n), ",") + `]}`
	}
	create(t, web.URL+"/v1/conversations/"+id+"/items", items(2000))
	const responses, conversations = "/v1/responses", "/v1/conversations"
	for _, c := range []struct{ path, body, param, text string }{
		{responses, `{"input":"a","metadata":{` + pairs(17) + `}}`, "metadata", "17 pairs, at most 16"},
		{conversations, `{"metadata":{` + pairs(17) + `}}`, "metadata", "17 pairs, at most 16"},
		{conversations, `{"metadata":{"` + strings.Repeat("ä", 65) + `":"v"}}`, "metadata", "65 characters, at most 64"},
		{conversations + "/" + id, `{"metadata":{"key":"` + strings.Repeat("ä", 513) + `"}}`, "metadata", "metadata.key has 513 characters, at most 512"},
		{conversations, `{"metadata":{"key":5}}`, "metadata", "metadata.key is"},
		{conversations, `{"metadata":[]}`, "metadata", "metadata is"},
		{conversations, `{"items":[{"role":"king","content":"a"}]}`, "items", `items[0].role is "king"`},
		{conversations, `{"items":[{"role":"user","content":"a"},{"type":"web_search_call"}]}`, "items", `items[1] is of type "web_search_call"`},
		{conversations, `{"items":["a"]}`, "items", "items[0] is no object"},
		{conversations, `{"items":[{"role":"user","content":5}]}`, "items", "items[0]: "},
		{conversations, `{"items":[{"role":"user","content":"a","id":"` + strings.Repeat("a", 257) + `"}]}`, "items", "items[0].id has 257 bytes"},
		{conversations, items(2049), "items", "2049 items then, at most 2048"},
		{conversations + "/" + id + "/items", items(49), "items", "2049 items then, at most 2048"},
		{conversations + "/" + id + "/items", `{}`, "items", "items is empty"},
		{responses, `{"input":"a","conversation":5}`, "conversation", "conversation is"},
		{responses, `{"input":"a","conversation":"` + id + `","previous_response_id":"` + resp + `"}`, "conversation", "cannot be used with previous_response_id"},
		{responses, `{"input":"a","conversation":"conv_1"}`, "conversation", "there is none"},
		{responses, `{"input":"a","conversation":"` + resp + `"}`, "conversation", "there is none"},
		{responses, `{"input":"a","previous_response_id":"` + id + `"}`, "previous_response_id", "no such response"},
		{responses, `{"input":[{"role":"user","content":"a"},{"type":"item_reference","id":"msg_1"}]}`, "input", `input[1] refers to "msg_1"`},
		{responses, `{"input":[{"role":"king","content":"a"}],"previous_response_id":"` + resp + `"}`, "input[0].role", `input[0].role is "king"`},
	} {
		status, text := post(t, web.URL+c.path, c.body)
		want := 400
		if strings.Contains(c.text, "no") && (strings.Contains(c.text, "none") || strings.Contains(c.text, "no such")) || strings.Contains(c.text, "refers") {
			want = 404
		}
		if e := at(t, object(t, text), "error"); status != want || at(t, e, "param") != c.param || !strings.Contains(at(t, e, "message").(string), c.text) {
			t.Errorf("%s %.80s: %d %s, want %d, %s and %q", c.path, c.body, status, text, want, c.param, c.text)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "order=up", "after=none"} {
		name, _, _ := strings.Cut(query, "=")
		for _, path := range []string{conversations + "/" + id + "/items?", responses + "/" + resp + "/input_items?"} {
			if status, text := get(t, web.URL+path+query); status != 400 || at(t, object(t, text), "error", "param") != name {
				t.Errorf("%s: %d %s", path+query, status, text)
			}
		}
	}
	if list := fetch(t, web.URL+responses+"/"+resp+"/input_items"); itemTexts(t, list) != "a" || !strings.HasPrefix(list["first_id"].(string), "msg_") {
		t.Errorf("input: %v", list)
	}
}

// TestInputTokens: what is counted is what a response then has read, of all that it continues.
func TestInputTokens(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/responses"
	first := create(t, url, `{"input":"Once upon a time.","instructions":"Be kind.","max_output_tokens":3}`)["id"].(string)
	for _, body := range []string{
		`{"input":"Once upon a time.","instructions":"Be kind."`, `{` + clock + `"input":"Go on.","previous_response_id":"` + first + `"`,
		`{"input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`,
	} {
		counted := create(t, url+"/input_tokens", body+`}`)
		read := create(t, url, body+`,"max_output_tokens":1}`)
		if counted["object"] != "response.input_tokens" || counted["input_tokens"] != at(t, read, "usage", "input_tokens") {
			t.Errorf("%s: counted %v, read %v", body, counted, read["usage"])
		}
	}
}

// TestCompact: what is left of a conversation is what the system says and as many of the newest
// turns, whole, as fit half of the context, no fewer.
func TestCompact(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/responses"
	context := at(t, fetch(t, web.URL+"/v1/models/default"), "context_length").(float64)
	long := strings.Repeat("one two three. ", 6)
	call := `{"type":"function_call","call_id":"c%d","name":"now","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":"noon"}`
	var turns []string
	for i := range 40 {
		turns = append(turns, fmt.Sprintf(`{"role":"user","content":%q},`+call+`,{"role":"assistant","content":"It is."}`, fmt.Sprint("Question ", i, ". ", long), i, i))
	}
	system := `{"role":"developer","content":"Be kind."}`
	count := func(from int) float64 {
		return create(t, url+"/input_tokens", `{"input":[`+system+","+strings.Join(turns[from:], ",")+`]}`)["input_tokens"].(float64)
	}
	body := `{"input":[` + system + "," + strings.Join(turns, ",") + `]}`
	if status, _ := post(t, url, strings.Replace(body, "{", `{"max_output_tokens":1,`, 1)); status != 400 {
		t.Fatalf("the conversation is not too long: %d", status)
	}
	o := create(t, url+"/compact", body)
	output := o["output"].([]any)
	if o["object"] != "response.compaction" || at(t, output, 0, "role") != "developer" || (len(output)-1)%4 != 0 {
		t.Fatalf("left: %v", o)
	}
	from := len(turns) - (len(output)-1)/4
	if n := count(from); at(t, output, 1, "content", 0, "text") != fmt.Sprint("Question ", from, ". ", long) || n > context/2 {
		t.Errorf("%v of %v tokens are left, from turn %d on: %v", n, context, from, output[1])
	}
	if n := count(from - 1); n <= context/2 {
		t.Errorf("turn %d would have fitted: %v of %v tokens", from-1, n, context)
	}
	create(t, url, `{"max_output_tokens":1,"input":`+jsonOf(t, output)+`}`)
	if o := create(t, url+"/compact", `{"input":[`+system+","+turns[0]+`]}`); len(o["output"].([]any)) != 5 {
		t.Errorf("a short one: %v", o)
	}
}
