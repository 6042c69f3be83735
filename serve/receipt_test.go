package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"atenia"
	"atenia/place"
)

// receiptOf returns the receipt of a response, whole or streamed.
func receiptOf(t *testing.T, text string) json.RawMessage {
	t.Helper()
	var found json.RawMessage
	for _, line := range append(strings.Split(text, "\n"), text) {
		line = strings.TrimPrefix(line, "data: ")
		var o struct {
			Receipt  json.RawMessage `json:"receipt"`
			Response struct {
				Receipt json.RawMessage `json:"receipt"`
			} `json:"response"`
		}
		if json.Unmarshal([]byte(line), &o) != nil {
			continue
		}
		for _, r := range []json.RawMessage{o.Receipt, o.Response.Receipt} {
			if r != nil && found != nil && !bytes.Equal(r, found) {
				t.Errorf("two receipts: %s and %s", r, found)
			}
			if r != nil {
				found = r
			}
		}
	}
	if found == nil {
		t.Fatalf("no receipt in %s", text)
	}
	return found
}

// asked are requests in every dialect, without what asks for a receipt.
var askedFor = map[string]string{
	"/v1/chat/completions": `{` + hello + `,"max_tokens":24,"temperature":0.9,"seed":7`,
	"/v1/completions":      `{"prompt":"Once upon a time","max_tokens":24,"temperature":0.9,"seed":8,"logit_bias":{"300":-100,"301":2.5}`,
	"/v1/responses":        `{"model":"default","input":"Hello.","max_output_tokens":24,"temperature":0.9`,
	"/v1/messages":         `{"model":"default","messages":[{"role":"user","content":"Hello."}],"max_tokens":24,"temperature":0.9`,
	"/api/chat":            `{"model":"default","messages":[{"role":"user","content":"Hello."}],"options":{"num_predict":24,"temperature":0.9,"mirostat":2}`,
	"/completion":          `{"prompt":"Once upon a time","n_predict":24,"repeat_penalty":1.2,"temperature":0.9,"top_p":0.9,"stop":["dog"]`,
}

// verdictOf verifies a receipt with a server.
func verdictOf(t *testing.T, url string, receipt json.RawMessage, more string) (int, map[string]any, string) {
	t.Helper()
	status, text := post(t, url+"/v1/verify", `{"receipt":`+string(receipt)+more+`}`)
	return status, object(t, text), text
}

// TestReceipts: an answer of every dialect has a receipt, whole or streamed, with which it is
// computed again, also of a prompt whose hash alone is there; a change is found.
func TestReceipts(t *testing.T) {
	_, web := newServer(t, Config{})
	for path, body := range askedFor {
		stream := `,"stream":false`
		_, text := post(t, web.URL+path, body+stream+`,"receipt":true}`)
		receipt := receiptOf(t, text)
		if status, v, text := verdictOf(t, web.URL, receipt, ""); status != 200 || v["equal"] != true || v["tokens"].(float64) < 1 {
			t.Errorf("%s: %d %s of %s", path, status, text, receipt)
		}
		_, text = post(t, web.URL+path, body+`,"stream":true,"receipt":"hash"}`)
		hashed := receiptOf(t, text)
		if bytes.Contains(hashed, []byte(`"prompt":`)) {
			t.Errorf("%s: the prompt is in %s", path, hashed)
		}
		if status, _, text := verdictOf(t, web.URL, hashed, ""); status != 400 || !strings.Contains(text, "request") {
			t.Errorf("%s without its request: %d %s", path, status, text)
		}
		with := `,"request":` + body + `},"endpoint":"` + path + `"`
		if status, v, text := verdictOf(t, web.URL, hashed, with); status != 200 || v["equal"] != true {
			t.Errorf("%s with its request: %d %s", path, status, text)
		}
		other := strings.NewReplacer("Hello", "Hallo", "Once", "Ones", "dog.", "cat.").Replace(with)
		if status, _, text := verdictOf(t, web.URL, hashed, other); status != 400 || !strings.Contains(text, "another") {
			t.Errorf("%s with another request: %d %s", path, status, text)
		}
		var o map[string]any
		if err := json.Unmarshal(receipt, &o); err != nil {
			t.Fatal(err)
		}
		answer := o["answer"].([]any)
		k := len(answer) / 2
		was := answer[k]
		answer[k] = float64(int(was.(float64)+1) % 500)
		changed, _ := json.Marshal(o)
		if status, v, text := verdictOf(t, web.URL, changed, ""); status != 200 || v["equal"] != false || v["token"] != float64(k) || v["by"] == nil {
			t.Errorf("%s, token %d changed: %d %s", path, k, status, text)
		}
		answer[k], o["answer"] = was, answer[:len(answer)-1]
		if shorter, _ := json.Marshal(o); o["cut"] == nil {
			if _, v, text := verdictOf(t, web.URL, shorter, ""); v["equal"] != false || v["token"] != float64(len(answer)-1) {
				t.Errorf("%s, shorter: %s", path, text)
			}
		}
	}
	for what, wrong := range map[string]string{"no receipt": `{}`, "a number": `{"receipt":3}`, "nothing in it": `{"receipt":{}}`, "a wish": `{` + hello + `,"receipt":"all"}`} {
		if status, text := post(t, web.URL+"/v1/verify", wrong); status != 400 {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	if status, text := post(t, web.URL+"/v1/chat/completions", `{`+hello+`,"receipt":true,"n":2}`); status != 400 || !strings.Contains(text, "receipt") {
		t.Errorf("of two answers: %d %s", status, text)
	}
}

// TestReceiptsOfCalls: the receipt of a call that must be made, and of an answer of a schema, are
// verified.
func TestReceiptsOfCalls(t *testing.T) {
	_, web := newServer(t, Config{})
	schema := `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":99}},"required":["a"],"additionalProperties":false}`
	for _, more := range []string{
		`,"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}],"tool_choice":"required"`,
		`,"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":` + schema + `}}`,
		`,"grammar":"root ::= \"a\" [0-9]+"`,
	} {
		body := `{` + hello + `,"max_tokens":60,"temperature":1.1` + more
		status, text := post(t, web.URL+"/v1/chat/completions", body+`,"receipt":true}`)
		if status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if status, v, text := verdictOf(t, web.URL, receiptOf(t, text), ""); status != 200 || v["equal"] != true {
			t.Errorf("%s: %d %s", more, status, text)
		}
		_, text = post(t, web.URL+"/v1/chat/completions", body+`,"receipt":"hash"}`)
		if status, v, text := verdictOf(t, web.URL, receiptOf(t, text), `,"request":`+body+`}`); status != 200 || v["equal"] != true {
			t.Errorf("%s, hash: %d %s", more, status, text)
		}
	}
}

// TestReceiptsElsewhere: receipts of answers that were computed together are verified by a server
// that computes one at a time within a budget, and by none of another model or other settings.
func TestReceiptsElsewhere(t *testing.T) {
	_, many := newServer(t, Config{Open: atenia.Config{Slots: 8}})
	receipts := make([]json.RawMessage, 8)
	var all sync.WaitGroup
	for i := range receipts {
		all.Go(func() {
			_, text := post(t, many.URL+"/v1/completions", fmt.Sprintf(`{"prompt":"Once upon a time there was %d","max_tokens":20,"temperature":1,"seed":%d,"receipt":true}`, i, i))
			receipts[i] = receiptOf(t, text)
		})
	}
	all.Wait()
	_, one := newServer(t, Config{Open: atenia.Config{Slots: 1, BatchTokens: 8, Pack: "off", Budget: place.Budget{RAM: 1 << 30, Reserve: place.Reserve{Runtime: 1 << 20}}}})
	_, other := newServer(t, Config{Models: []Model{{Name: "m", Path: edited(t, "config.json", map[string]any{"max_position_embeddings": 256})}}})
	_, rounded := newServer(t, Config{Open: atenia.Config{CacheType: "q8_0"}})
	for i, r := range receipts {
		if status, v, text := verdictOf(t, one.URL, r, ""); status != 200 || v["equal"] != true {
			t.Errorf("%d: %d %s", i, status, text)
		}
		for what, url := range map[string]string{"another model": other.URL, "kv-type": rounded.URL} {
			if status, _, text := verdictOf(t, url, r, ""); status != 400 || !strings.Contains(text, "invalid_receipt") || !strings.Contains(text, what) {
				t.Errorf("%s: %d %s", what, status, text)
			}
		}
	}
}
