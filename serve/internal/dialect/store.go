package dialect

// Responses and conversations that are kept, for the client that made them: in memory, and as
// files (storefile.go) if there is a folder for them.

import (
	"cmp"
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"atenia/serve/internal/host"
)

// What is kept in memory unless the configuration says otherwise, and for how long after it was
// made or continued.
const (
	usualStored = 64 << 20 // bytes
	storedTime  = time.Hour
)

// What a record takes besides its bytes: slices, the map's entry, the list's.
const (
	recordCost = 512
	itemCost   = 64
)

// A StoreConfig says where records are kept.
type StoreConfig struct {
	Dir   string           // of files, which stay until they are deleted; "" = memory alone
	Bytes int64            // in memory, and of one record. 0 = 64 MiB
	Now   func() time.Time // nil = time.Now
}

// A Store keeps responses and conversations. It is made by [NewStore] and must be closed. Its
// methods may be called at the same time.
type Store struct {
	now     func() time.Time
	most    int64 // bytes
	dir     string
	release func() error // the folder, from other servers

	edit sync.Mutex // held while a record is changed or removed, with its file

	mu      sync.Mutex // of what follows
	records map[string]*list.Element
	byUse   list.List // of *record: the last used is in front
	bytes   int64
}

// A record is a response or a conversation. It is not changed once it is in the store, but for
// what the store's mutex guards: another takes its place.
type record struct {
	id, owner string
	parent    string            // of a response: the one that it continues
	head      json.RawMessage   // the response without its output, or the conversation
	input     []json.RawMessage // items that went in, or all of a conversation
	output    []json.RawMessage
	run       *run // of a response that was made in the background; nil = of no other, or of another process

	used time.Time // guarded
	size int64     // guarded
}

// bytes is what a record holds, but for the events of its run.
func (c *record) bytes() int64 {
	n := int64(recordCost + len(c.head))
	for _, items := range [][]json.RawMessage{c.input, c.output} {
		for _, e := range items {
			n += int64(itemCost + len(e))
		}
	}
	return n
}

// items are those of a record in their order.
func (c *record) items() []json.RawMessage { return slices.Concat(c.input, c.output) }

// idForm is what ids of records look like: nothing else becomes the name of a file.
var idForm = regexp.MustCompile(`^(resp|conv)_[0-9a-f]{32}$`)

// newRandom returns 128 random bits, which nobody guesses.
func newRandom() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// owner says whose a record is. It is a hash, since the file has it.
func owner(r *host.Request) string {
	sum := sha256.Sum256([]byte("owner of records\x00" + r.Client()))
	return hex.EncodeToString(sum[:16])
}

// NewStore returns a store. A folder is made if there is none, and is for one server at a time.
func NewStore(c StoreConfig) (*Store, error) {
	s := &Store{now: c.Now, most: cmp.Or(c.Bytes, usualStored), dir: c.Dir, records: map[string]*list.Element{}, release: func() error { return nil }}
	if s.now == nil {
		s.now = time.Now
	}
	return s, s.openFolder()
}

// Close gives the folder back.
func (s *Store) Close() error { return s.release() }

// look returns the record in memory.
func (s *Store) look(id string) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrink()
	if e := s.records[id]; e != nil {
		return e.Value.(*record)
	}
	return nil
}

// find returns the record of an id that is the client's, nil if there is none.
func (s *Store) find(r *host.Request, id string) (*record, error) {
	if !idForm.MatchString(id) {
		return nil, nil
	}
	c := s.look(id)
	if c == nil {
		var err error
		if c, err = s.readFile(id); c == nil || err != nil {
			return nil, err
		}
	}
	if c.owner != owner(r) {
		return nil, nil
	}
	return c, nil
}

// want is find for an endpoint of the record: there must be one of that kind.
func (s *Store) want(r *host.Request, kind, id string) (*record, error) {
	c, err := s.find(r, id)
	if err == nil && (c == nil || id[:4] != kind[:4]) {
		err = s.missing("", kind+"_not_found", "There is no %s %q", kind, id)
	}
	return c, err
}

// missing is the problem of an id that no record of the client has.
func (s *Store) missing(param, code, format string, args ...any) *host.Problem {
	p := host.Invalid(param, format, args...)
	p.Status, p.Code = http.StatusNotFound, code
	why := ": it was not kept, was deleted, or is of another key"
	if s.dir == "" {
		why = fmt.Sprintf(": it was not kept, was deleted, is of another key, was not used for %v, or gave way to others (they have %d MiB in all; atenia serve --store keeps them on disk)", storedTime, s.most>>20)
	}
	p.Message += why + "."
	return p
}

// put keeps a record in the place of the one with its id, if there is one. The caller has edit.
func (s *Store) put(c *record) error {
	n := c.bytes()
	if n > s.most {
		return host.Invalid("items", "%s has %d bytes then, the most that is kept is %d", c.id, n, s.most)
	}
	if err := s.writeFile(c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c.id)
	if c.run != nil {
		n += c.run.bytes
	}
	c.used, c.size = s.now(), n
	s.records[c.id] = s.byUse.PushFront(c)
	s.bytes += n
	s.shrink()
	return nil
}

// drop takes a record out of memory.
func (s *Store) drop(id string) {
	e := s.records[id]
	if e == nil {
		return
	}
	s.bytes -= e.Value.(*record).size
	s.byUse.Remove(e)
	delete(s.records, id)
}

// shrink drops what was not used for too long, and what there is no room for: what was used
// longest ago goes first, and what is still computed, which then ends, after all else.
func (s *Store) shrink() {
	old := s.now().Add(-storedTime)
	for e := s.byUse.Back(); e != nil && (s.bytes > s.most || e.Value.(*record).used.Before(old)); {
		c, before := e.Value.(*record), e.Prev()
		if c.run == nil || c.run.ended {
			s.drop(c.id)
		}
		e = before
	}
	for s.bytes > s.most {
		c := s.byUse.Back().Value.(*record)
		s.drop(c.id)
		c.run.cancel(errNoRoom)
	}
}

var errNoRoom = &host.Problem{Status: http.StatusInsufficientStorage, Code: "no_room", Message: "There was no room to keep the response any longer."}

// use says that records are used now.
func (s *Store) use(list []*record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range list {
		if e := s.records[c.id]; e != nil {
			e.Value.(*record).used = s.now()
			s.byUse.MoveToFront(e)
		}
	}
}

// remove forgets a record, in memory and on disk; one that is computed ends.
func (s *Store) remove(c *record) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	if err := s.removeFile(c.id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c.id)
	if c.run != nil && !c.run.ended {
		c.run.cancel(errCancelled)
	}
	return nil
}

// chain returns the items of a response and of all that it continues, and uses them.
func (s *Store) chain(r *host.Request, id string) ([]json.RawMessage, error) {
	const param, code = "previous_response_id", "previous_response_not_found"
	var links []*record
	for at := id; at != ""; at = links[len(links)-1].parent {
		c, err := s.find(r, at)
		if !strings.HasPrefix(at, "resp_") {
			c = nil
		}
		switch {
		case err != nil:
			return nil, err
		case c == nil && at != id:
			return nil, s.missing(param, code, "previous_response_id is %q, which continues %q. Send the whole conversation as input. There is no response %[2]q", id, at)
		case c == nil:
			return nil, s.missing(param, code, "previous_response_id is %q. Send the whole conversation as input. There is no such response", id)
		case len(links) == mostItems: // a file may say that it continues itself
			return nil, host.Invalid(param, "previous_response_id continues more than %d responses: send what POST /v1/responses/compact leaves as input", mostItems)
		case s.computing(c):
			return nil, host.Invalid(param, "previous_response_id is of a response that is still computed: wait until it has ended")
		}
		links = append(links, c)
	}
	slices.Reverse(links)
	s.use(links)
	var items []json.RawMessage
	for _, c := range links {
		items = append(items, c.items()...)
	}
	return items, nil
}

// change puts what f makes of a conversation in its place.
func (s *Store) change(r *host.Request, id string, f func(c *record) error) (*record, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	c, err := s.want(r, "conversation", id)
	if err != nil {
		return nil, err
	}
	next := &record{id: c.id, owner: c.owner, head: c.head, input: slices.Clone(c.input)}
	if err := f(next); err != nil {
		return nil, err
	}
	return next, s.put(next)
}

// keep keeps a response that has ended, or that begins to be computed by a run. What cannot be
// kept is in the log, and the response says so.
func (s *Store) keep(r *host.Request, in *respondRequest, o *output, n *run) {
	c := &record{id: o.response.ID, owner: owner(r), input: in.own(), run: n}
	if in.Previous != nil {
		c.parent = *in.Previous
	}
	if err := s.keepRecord(in, o, c); err != nil {
		o.response.Store = false
		r.Log.Error("response is not kept", "response", c.id, "err", err)
	}
	if ended := o.response.Status == "completed" || o.response.Status == "incomplete"; !ended || in.Conversation == nil {
		return
	}
	_, err := s.change(r, in.Conversation.ID, func(to *record) error { return to.add("conversation", c.items()) })
	if err != nil {
		r.Log.Error("conversation does not have the response", "conversation", in.Conversation.ID, "response", c.id, "err", err)
	}
}

// keepRecord makes the record of a response, and keeps it if the request wants that.
func (s *Store) keepRecord(in *respondRequest, o *output, c *record) (err error) {
	if c.output, err = marshalAll(o.response.Output); err != nil || !in.stored() {
		return err
	}
	head := o.response
	head.Output = []any{}
	if c.head, err = json.Marshal(head); err != nil {
		return err
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	if c.run != nil && !s.kept(c.id, c.run) { // it was deleted meanwhile
		return nil
	}
	return s.put(c)
}

func marshalAll(list []any) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, v := range list {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
