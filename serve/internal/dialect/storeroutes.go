package dialect

// The endpoints of responses and conversations that are kept.

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sort"

	"atenia"
	"atenia/serve/internal/host"
)

func (s *Store) routes() []host.Route {
	routes := []host.Route{
		{Pattern: "POST /v1/responses/input_tokens", Serve: s.countInput},
		{Pattern: "POST /v1/responses/compact", Serve: s.compact},
		{Pattern: "GET /v1/responses/{id}", Serve: s.show},
		{Pattern: "DELETE /v1/responses/{id}", Serve: s.forget("response", "response")},
		{Pattern: "GET /v1/responses/{id}/input_items", Serve: s.inputItems},
		{Pattern: "POST /v1/responses/{id}/cancel", Serve: s.cancel},

		{Pattern: "POST /v1/conversations", Serve: s.begin},
		{Pattern: "GET /v1/conversations/{id}", Serve: s.showConversation},
		{Pattern: "POST /v1/conversations/{id}", Serve: s.update},
		{Pattern: "DELETE /v1/conversations/{id}", Serve: s.forget("conversation", "conversation.deleted")},
		{Pattern: "GET /v1/conversations/{id}/items", Serve: s.listItems},
		{Pattern: "POST /v1/conversations/{id}/items", Serve: s.addItems},
		{Pattern: "GET /v1/conversations/{id}/items/{item}", Serve: s.showItem},
		{Pattern: "DELETE /v1/conversations/{id}/items/{item}", Serve: s.forgetItem},
	}
	for i := range routes {
		routes[i].Fail = Fail
	}
	return routes
}

func (s *Store) show(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.want(r, "response", r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case r.URL.Query().Get("stream") == "true":
		return s.replay(r, c)
	}
	return s.write(r, c)
}

// write answers with a response as it is now.
func (s *Store) write(r *host.Request, c *record) error {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(c.head, &whole); err != nil {
		return err
	}
	var err error
	if whole["output"], err = json.Marshal(append([]json.RawMessage{}, c.output...)); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, whole)
}

// forget returns the handler that deletes records of a kind. A file that cannot be read says
// nothing of whose it is, and who has its id may delete it.
func (s *Store) forget(kind, object string) func(http.ResponseWriter, *host.Request) error {
	return func(_ http.ResponseWriter, r *host.Request) error {
		c, err := s.want(r, kind, r.PathValue("id"))
		if _, damaged := errors.AsType[*recordError](err); damaged {
			c, err = &record{id: r.PathValue("id")}, nil
		}
		if err == nil {
			err = s.remove(c)
		}
		if err != nil {
			return err
		}
		return r.WriteJSON(http.StatusOK, map[string]any{"id": c.id, "object": object, "deleted": true})
	}
}

// inputItems lists what went into a response itself: not what it continues.
func (s *Store) inputItems(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.want(r, "response", r.PathValue("id"))
	if err != nil {
		return err
	}
	return page(r, c.input)
}

// countInput counts the tokens of what a response would be made of.
func (s *Store) countInput(_ http.ResponseWriter, r *host.Request) error {
	in, o, err := s.read(r)
	if err != nil {
		return err
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	c, err := in.whole(l, o)
	if err != nil {
		return err
	}
	c.Messages = l.Settle(c.Messages)
	in.truncate(r, l.Model, &c)
	n, err := r.CountTokens(l, c)
	if e, long := errors.AsType[*atenia.ContextError](err); long && !e.More {
		n, err = e.Prompt, nil
	}
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": n})
}

// compact shortens a conversation to half of the context: what the system says, and as many of
// the newest turns as fit, at least the last. Nothing is summarized.
func (s *Store) compact(_ http.ResponseWriter, r *host.Request) error {
	in, o, err := s.read(r)
	if err != nil {
		return err
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	c, err := in.conversation(l)
	if err == nil {
		err = in.offer(&c, o.hosted)
	}
	if err != nil {
		return err
	}
	turn := turnsOf(in.Input)
	// count returns how many tokens the conversation has from a turn on.
	count := func(n int) int {
		short, part := *in, c
		short.Input = nil
		for i, e := range in.Input {
			if turn[i] >= n {
				short.Input = append(short.Input, e)
			}
		}
		var failed error
		if part.Messages, failed = short.messages(nil); failed == nil {
			part.Messages = l.Settle(part.Messages)
			var tokens int
			if tokens, failed = r.CountTokens(l, part); failed == nil {
				return tokens
			}
		}
		if e, long := errors.AsType[*atenia.ContextError](failed); long {
			return e.Prompt
		}
		err = failed
		return 0
	}
	before := count(0)
	from := sort.Search(lastTurn(turn), func(n int) bool { return err != nil || count(n) <= l.Context()/2 })
	if err != nil {
		return err
	}
	left := []json.RawMessage{}
	for i, e := range in.items {
		if turn[i] >= from {
			left = append(left, e)
		}
	}
	usage := respondUsage{Input: before, Total: before}
	return r.WriteJSON(http.StatusOK, map[string]any{
		"id": o.response.ID, "object": "response.compaction", "created_at": now(), "output": left, "usage": usage,
	})
}

// always is the turn of what stays.
const always = 1 << 30

// turnsOf returns the turn of each item: a message of the user begins one.
func turnsOf(items []item) []int {
	turn, n, open := make([]int, len(items)), 0, false
	for i, e := range items {
		message := e.Type == "" || e.Type == "message"
		if message && (e.Role == "system" || e.Role == "developer") {
			turn[i] = always
			continue
		}
		if message && e.Role == "user" && open {
			n, open = n+1, false
		}
		// Messages of the user that follow one another are of one turn.
		open = open || !(message && e.Role == "user")
		turn[i] = n
	}
	return turn
}

func lastTurn(turn []int) int {
	last := 0
	for _, n := range turn {
		if n != always {
			last = max(last, n)
		}
	}
	return last
}

// A conversation is what clients see of one, and the record's head.
type conversation struct {
	ID       string   `json:"id"`
	Object   string   `json:"object"`
	Created  int64    `json:"created_at"`
	Metadata metadata `json:"metadata"`
}

func (c *record) describe(v conversation) (err error) {
	if v.Metadata == nil {
		v.Metadata = metadata{}
	}
	c.head, err = json.Marshal(v)
	return err
}

// begin is POST /v1/conversations.
func (s *Store) begin(_ http.ResponseWriter, r *host.Request) error {
	var in struct {
		Items    []json.RawMessage `json:"items"`
		Metadata metadata          `json:"metadata"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	items, err := checkedItems(in.Items)
	if err != nil {
		return err
	}
	c := &record{id: "conv_" + newRandom(), owner: owner(r)}
	if err := c.add("items", items); err != nil {
		return err
	}
	if err := c.describe(conversation{c.id, "conversation", s.now().Unix(), in.Metadata}); err != nil {
		return err
	}
	s.edit.Lock()
	err = s.put(c)
	s.edit.Unlock()
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, c.head)
}

func (s *Store) showConversation(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.want(r, "conversation", r.PathValue("id"))
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, c.head)
}

// update replaces the metadata.
func (s *Store) update(_ http.ResponseWriter, r *host.Request) error {
	var in struct {
		Metadata metadata `json:"metadata"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	c, err := s.change(r, r.PathValue("id"), func(c *record) error {
		var v conversation
		if err := json.Unmarshal(c.head, &v); err != nil {
			return err
		}
		v.Metadata = in.Metadata
		return c.describe(v)
	})
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, c.head)
}

func (s *Store) listItems(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.want(r, "conversation", r.PathValue("id"))
	if err != nil {
		return err
	}
	return page(r, c.input)
}

func (s *Store) addItems(_ http.ResponseWriter, r *host.Request) error {
	var in struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if len(in.Items) == 0 {
		return host.Invalid("items", "items is empty or missing")
	}
	items, err := checkedItems(in.Items)
	if err != nil {
		return err
	}
	var added []json.RawMessage
	if _, err = s.change(r, r.PathValue("id"), func(c *record) error {
		before := len(c.input)
		err := c.add("items", items)
		added = c.input[before:]
		return err
	}); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, newList(added, false))
}

// item returns where an item is in a conversation.
func (c *record) item(id string) (int, error) {
	at := slices.IndexFunc(c.input, func(e json.RawMessage) bool { return idOf(e) == id })
	if at < 0 {
		p := host.Invalid("", "%s has no item %q", c.id, id)
		p.Status, p.Code = http.StatusNotFound, "item_not_found"
		return 0, p
	}
	return at, nil
}

func (s *Store) showItem(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.want(r, "conversation", r.PathValue("id"))
	if err != nil {
		return err
	}
	at, err := c.item(r.PathValue("item"))
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, c.input[at])
}

func (s *Store) forgetItem(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.change(r, r.PathValue("id"), func(c *record) error {
		at, err := c.item(r.PathValue("item"))
		if err == nil {
			c.input = slices.Delete(c.input, at, at+1)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, c.head)
}
