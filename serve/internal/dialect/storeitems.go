package dialect

// Items as they are kept: what an id stands for, what a request continues, and lists of them.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"atenia/serve/internal/host"
)

// mostItems is how many items a conversation may have, as a body may.
const mostItems = 2048

// itemPrefixes are the beginnings of ids, by the types of items that there are.
var itemPrefixes = map[string]string{
	"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fco",
	"custom_tool_call": "ctc", "custom_tool_call_output": "ctco",
	"mcp_call": "mcp", "mcp_approval_request": "mcpr", "mcp_approval_response": "mcpa", "mcp_list_tools": "mcpl",
}

// Limits of metadata, and of an item's id, which are OpenAI's.
const (
	mostPairs  = 16
	mostKey    = 64
	mostValue  = 512
	mostItemID = 256
)

// metadata are what a client says about a record.
type metadata map[string]string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *metadata) UnmarshalJSON(b []byte) error {
	*m = nil
	var pairs map[string]json.RawMessage
	if json.Unmarshal(b, &pairs) != nil {
		return host.Invalid("metadata", "metadata is %.40q, want an object of texts", b)
	}
	if len(pairs) > mostPairs {
		return host.Invalid("metadata", "metadata has %d pairs, at most %d", len(pairs), mostPairs)
	}
	for key, raw := range pairs {
		var value string
		switch {
		case len([]rune(key)) > mostKey:
			return host.Invalid("metadata", "metadata has a key of %d characters, at most %d", len([]rune(key)), mostKey)
		case json.Unmarshal(raw, &value) != nil || bytes.Equal(raw, []byte("null")):
			return host.Invalid("metadata", "metadata.%s is %.40q, want a text", key, raw)
		case len([]rune(value)) > mostValue:
			return host.Invalid("metadata", "metadata.%s has %d characters, at most %d", key, len([]rune(value)), mostValue)
		}
		if *m == nil {
			*m = metadata{}
		}
		(*m)[key] = value
	}
	return nil
}

// A reference names a conversation.
type reference struct {
	ID string `json:"id"`
}

// UnmarshalJSON implements [json.Unmarshaler]: it is the id, or an object that has it.
func (c *reference) UnmarshalJSON(b []byte) error {
	var o struct {
		ID string `json:"id"`
	}
	to := any(&o)
	if len(b) > 0 && b[0] == '"' {
		to = &o.ID
	}
	if json.Unmarshal(b, to) != nil || o.ID == "" {
		return host.Invalid("conversation", "conversation is %.40q, want its id or an object with it", b)
	}
	c.ID = o.ID
	return nil
}

// stored reports whether a response is to be kept.
func (in *respondRequest) stored() bool { return in.Store == nil || *in.Store }

// own are the items of the request itself.
func (in *respondRequest) own() []json.RawMessage { return in.items[in.before:] }

// checkStored refuses what cannot be kept or continued together.
func (in *respondRequest) checkStored() error {
	if in.Previous != nil && *in.Previous == "" {
		in.Previous = nil
	}
	switch {
	case in.Previous != nil && in.Conversation != nil:
		return host.Invalid("conversation", "conversation cannot be used with previous_response_id: leave one of them out")
	case in.Background && !in.stored():
		return host.Unsupported("background", "background needs store: its response is fetched later")
	}
	return nil
}

// read reads the body of a response, with all that it continues.
func (s *Store) read(r *host.Request) (*respondRequest, *output, error) {
	in, id := &respondRequest{}, newRandom()
	if err := r.ReadJSON(in); err != nil {
		return nil, nil, err
	}
	if err := in.check(r); err != nil {
		return nil, nil, err
	}
	if err := s.resume(r, in, id); err != nil {
		return nil, nil, err
	}
	o := newOutput(id, in)
	var err error
	o.hosted, err = newHosted(r, o, in)
	return in, o, err
}

// resume puts what a request continues before its input, and gives items of the input that have
// none an id that the response's makes.
func (s *Store) resume(r *host.Request, in *respondRequest, id string) (err error) {
	switch {
	case in.Previous != nil:
		in.items, err = s.chain(r, *in.Previous)
	case in.Conversation != nil:
		var c *record
		if c, err = s.find(r, in.Conversation.ID); err == nil && (c == nil || !strings.HasPrefix(c.id, "conv_")) {
			err = s.missing("conversation", "conversation_not_found", "conversation is %q, and there is none", in.Conversation.ID)
		}
		if err == nil {
			s.use([]*record{c})
			in.items = slices.Clone(c.input)
		}
	}
	if err != nil {
		return err
	}
	in.before = len(in.items)
	again := in.before > 0
	for i, e := range in.items {
		if in.items[i], err = withoutProbs(e); err != nil {
			return err
		}
	}
	for i := range in.Input {
		e := &in.Input[i]
		raw := e.raw
		if e.Type == "item_reference" {
			again = true
			if raw, err = s.refer(r, i, e.id()); err == nil {
				raw, err = withoutProbs(raw)
			}
			if err != nil {
				return err
			}
		}
		if raw, err = storedItem(raw, fmt.Sprintf("%s_in%d", id, i)); err != nil {
			return host.Invalid("input", "input[%d] cannot be kept: %v", i, err)
		}
		in.items = append(in.items, raw)
	}
	if !again {
		return nil
	}
	// All of it is read as if the client had sent it, within the same limits.
	var whole struct {
		Input input `json:"input"`
	}
	b := slices.Concat([]byte(`{"input":[`), bytes.Join(byteSlices(in.items), []byte(",")), []byte("]}"))
	if err := host.Survey(b); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		return err
	}
	in.Input = whole.Input
	return nil
}

func byteSlices(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, e := range items {
		out[i] = e
	}
	return out
}

// refer returns the item that a request names by its id, which has the response's in it.
func (s *Store) refer(r *host.Request, i int, id string) (json.RawMessage, error) {
	parts := strings.Split(id, "_")
	if len(parts) >= 2 {
		c, err := s.find(r, "resp_"+parts[1])
		if err != nil {
			return nil, err
		}
		if c != nil {
			s.use([]*record{c})
			for _, e := range c.items() {
				if idOf(e) == id {
					return e, nil
				}
			}
		}
	}
	return nil, s.missing("input", "item_not_found", "input[%d] refers to %q: send the item itself. There is no such item", i, id)
}

// textInput is the message of an input that is a text in JSON.
func textInput(text []byte) json.RawMessage {
	return slices.Concat([]byte(`{"type":"message","role":"user","content":`), text, []byte("}"))
}

// idBegin begins items of the server's own, and kept ones: an image need not be read for its id.
const idBegin = `{"id":"`

// idOf returns the id of an item, "" if it has none.
func idOf(raw json.RawMessage) string {
	if rest, ok := bytes.CutPrefix(raw, []byte(idBegin)); ok {
		if id, _, _ := bytes.Cut(rest, []byte(`"`)); !bytes.Contains(id, []byte(`\`)) {
			return string(id)
		}
	}
	var e struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &e) // an id that is no text is none
	return e.ID
}

// storedItem returns an item in the form in which it is kept: in one line, with its type, an id
// that ends with what is given if it has none, and a content that is parts.
func storedItem(raw json.RawMessage, id string) (json.RawMessage, error) {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	var kind, role, had, text string
	for key, to := range map[string]*string{"type": &kind, "role": &role, "id": &had, "content": &text} {
		_ = json.Unmarshal(e[key], to) // what is no text is not what is looked for
	}
	set := func(key string, v any) {
		e[key], _ = json.Marshal(v) // of texts alone
	}
	if kind == "" {
		kind = "message"
		set("type", kind)
	}
	if had == "" {
		had = itemPrefixes[kind] + "_" + id
	}
	if kind == "message" {
		if _, said := e["status"]; !said {
			set("status", "completed")
		}
		if bytes.HasPrefix(e["content"], []byte(`"`)) {
			part := map[string]any{"type": "input_text", "text": text}
			if role == "assistant" {
				part["type"], part["annotations"] = "output_text", []string{}
			}
			set("content", []any{part})
		}
	}
	return withID(e, had)
}

// withoutProbs returns an item without log-probabilities, which no model reads: those of a long
// answer are more than a body may hold.
func withoutProbs(raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(raw, []byte(`"logprobs":`)) {
		return raw, nil
	}
	var e, part map[string]json.RawMessage
	var parts []json.RawMessage
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e["content"], &parts) != nil {
		return raw, nil // they are of something else
	}
	for i := range parts {
		part = nil
		if err := json.Unmarshal(parts[i], &part); err != nil {
			return raw, nil
		}
		delete(part, "logprobs")
		parts[i], _ = json.Marshal(part) // of what was read
	}
	e["content"], _ = json.Marshal(parts)
	return withID(e, idOf(raw))
}

// withID returns an item with its id in front.
func withID(e map[string]json.RawMessage, id string) (json.RawMessage, error) {
	first, err := json.Marshal(map[string]string{"id": id})
	if err != nil {
		return nil, err
	}
	delete(e, "id")
	rest, err := json.Marshal(e)
	if err != nil || len(e) == 0 {
		return first, err
	}
	first[len(first)-1] = ','
	return append(first, rest[1:]...), nil
}

// add appends items. Each has an id that no other has.
func (c *record) add(param string, items []json.RawMessage) error {
	if n := len(c.input) + len(items); n > mostItems {
		return host.Invalid(param, "%s has %d items then, at most %d: delete some, or begin with what POST /v1/responses/compact leaves", c.id, n, mostItems)
	}
	taken := map[string]bool{}
	for _, e := range c.input {
		taken[idOf(e)] = true
	}
	for _, e := range items {
		id := idOf(e)
		if taken[id] {
			prefix, _, _ := strings.Cut(id, "_")
			var err error
			if e, err = renamed(e, prefix+"_"+newRandom()); err != nil {
				return err
			}
		}
		taken[id] = true
		c.input = append(c.input, e)
	}
	return nil
}

func renamed(raw json.RawMessage, id string) (json.RawMessage, error) {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	return withID(e, id)
}

// checkedItems are what a client gives a conversation.
func checkedItems(list []json.RawMessage) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for i, raw := range list {
		var e item
		if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			return nil, host.Invalid("items", "items[%d] is no object", i)
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, host.Invalid("items", "items[%d]: %v", i, err)
		}
		switch {
		case e.Type != "" && itemPrefixes[e.Type] == "":
			return nil, host.Unsupported("items", "items[%d] is of type %q, which is not supported", i, e.Type)
		case (e.Type == "" || e.Type == "message") && !slices.Contains([]string{"system", "developer", "user", "assistant"}, e.Role):
			return nil, host.Invalid("items", "items[%d].role is %q, want system, developer, user or assistant", i, e.Role)
		case len(e.id()) > mostItemID:
			return nil, host.Invalid("items", "items[%d].id has %d bytes, at most %d", i, len(e.id()), mostItemID)
		}
		kept, err := storedItem(raw, newRandom())
		if err != nil {
			return nil, host.Invalid("items", "items[%d]: %v", i, err)
		}
		out = append(out, kept)
	}
	return out, nil
}

// An itemList is a page of items.
type itemList struct {
	Object string            `json:"object"`
	Data   []json.RawMessage `json:"data"`
	First  *string           `json:"first_id"`
	Last   *string           `json:"last_id"`
	More   bool              `json:"has_more"`
}

func newList(items []json.RawMessage, more bool) itemList {
	l := itemList{Object: "list", Data: []json.RawMessage{}, More: more}
	if len(items) > 0 {
		first, last := idOf(items[0]), idOf(items[len(items)-1])
		l.Data, l.First, l.Last = items, &first, &last
	}
	return l
}

// Limits of a page.
const (
	usualPage = 20
	mostPage  = 100
)

// page answers with the part of a list that the query wants: the newest first, unless order says
// otherwise, after the item of an id.
func page(r *host.Request, items []json.RawMessage) error {
	q := r.URL.Query()
	limit := usualPage
	if said := q.Get("limit"); said != "" {
		n, err := strconv.Atoi(said)
		if err != nil || n < 1 || n > mostPage {
			return host.Invalid("limit", "limit is %q, want 1 to %d", said, mostPage)
		}
		limit = n
	}
	items = slices.Clone(items)
	switch order := q.Get("order"); order {
	case "asc":
	case "", "desc":
		slices.Reverse(items)
	default:
		return host.Invalid("order", "order is %q, want asc or desc", order)
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(e json.RawMessage) bool { return idOf(e) == after })
		if at < 0 {
			return host.Invalid("after", "after is %q, which no item of the list has as its id", after)
		}
		items = items[at+1:]
	}
	n := min(limit, len(items))
	return r.WriteJSON(http.StatusOK, newList(items[:n], n < len(items)))
}
