package dialect

// Records as files: JSON Lines of which the first is the record, with the id of what it continues,
// and each further one is an item.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/store/durable"
	"atenia/serve/internal/host"
)

// A fileHead is the first line.
type fileHead struct {
	ID     string          `json:"id"`
	Parent string          `json:"parent_id,omitempty"`
	Owner  string          `json:"owner"`
	Input  int             `json:"input_items"` // the next lines; those of the output come after them
	Output int             `json:"output_items"`
	Record json.RawMessage `json:"record"`
}

// suffix ends the names of the files.
const suffix = ".jsonl"

// mostHead is how many bytes of a file may be about its record.
const mostHead = 1 << 16

// A recordError says where a file is not that of a record.
type recordError struct {
	Offset int // of the line
	Want   string
	Err    error // nil = none
}

func (e *recordError) Error() string {
	s := fmt.Sprintf("byte %d: want %s", e.Offset, e.Want)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *recordError) Unwrap() error { return e.Err }

// openFolder makes the folder, keeps other servers out of it, and removes what ended ones left.
func (s *Store) openFolder() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("folder of kept responses: %w", err)
	}
	release, err := durable.TryLock(s.path(durable.LockFile))
	if err != nil {
		return fmt.Errorf("folder of kept responses, which is for one server at a time: %w", err)
	}
	s.release = release
	durable.RemoveEnded(nil, s.dir, suffix)
	return nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// writeFile writes a record, or leaves what there was.
func (s *Store) writeFile(c *record) error {
	if s.dir == "" {
		return nil
	}
	b, err := c.encode()
	if err != nil {
		return err
	}
	// The file is its owner's alone from its beginning on.
	path := s.path(c.id + suffix)
	temp, err := durable.WriteUnsyncedAt(nil, path, 0o600, func(f durable.File) error {
		_, err := f.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	files := durable.Default(nil)
	if err = files.SyncFiles([]string{temp}); err == nil {
		err = files.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, files.Remove(temp))
	}
	return files.SyncDir(s.dir)
}

// encode returns the file of a record.
func (c *record) encode() ([]byte, error) {
	first, err := json.Marshal(fileHead{c.id, c.parent, c.owner, len(c.input), len(c.output), c.head})
	if err != nil {
		return nil, err
	}
	b := append(first, '\n')
	for _, e := range c.items() {
		b = append(append(b, e...), '\n')
	}
	return b, nil
}

// readFile returns the record of an id, nil if there is none.
func (s *Store) readFile(id string) (*record, error) {
	if s.dir == "" {
		return nil, nil
	}
	b, err := durable.ReadRegular(s.path(id+suffix), s.most+mostHead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c *record
	if err == nil {
		c, err = decodeRecord(id, b)
	}
	if err != nil {
		return nil, &host.Problem{
			Status: http.StatusInternalServerError, Code: "record_damaged", Err: err,
			Message: fmt.Sprintf("The file of %s cannot be read: %v. DELETE removes it.", id, err),
		}
	}
	return c, c.interrupted()
}

// removeFile removes the file of a record, if there is one.
func (s *Store) removeFile(id string) error {
	if s.dir == "" {
		return nil
	}
	err := os.Remove(s.path(id + suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, durable.Default(nil).SyncDir(s.dir))
}

// decodeRecord reads the file of a record.
func decodeRecord(id string, b []byte) (*record, error) {
	at := 0
	line := func(want string) ([]byte, error) {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return nil, &recordError{at, want, nil}
		}
		text := b[at : at+n]
		if !json.Valid(text) || text[0] != '{' {
			return nil, &recordError{at, want, nil}
		}
		at += n + 1
		return text, nil
	}
	first, err := line("a line that is the record")
	if err != nil {
		return nil, err
	}
	var h fileHead
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, &recordError{0, "the record", err}
	}
	items := bytes.Count(b[at:], []byte("\n"))
	switch {
	case h.ID != id:
		return nil, &recordError{0, "the record " + id, nil}
	case h.Parent != "" && !idForm.MatchString(h.Parent):
		return nil, &recordError{0, "the id of a response as parent_id", nil}
	case !bytes.HasPrefix(h.Record, []byte("{")):
		return nil, &recordError{0, "an object as record", nil}
	case h.Input < 0 || h.Output < 0 || h.Input > items || h.Output != items-h.Input:
		return nil, &recordError{0, fmt.Sprintf("%d items after it, as there are lines", items), nil}
	}
	c := &record{id: id, owner: h.Owner, parent: h.Parent, head: h.Record}
	for i := range items {
		e, err := line("an item")
		if err != nil {
			return nil, err
		}
		to := &c.input
		if i >= h.Input {
			to = &c.output
		}
		*to = append(*to, slices.Clone(e))
	}
	if at != len(b) {
		return nil, &recordError{at, "the end of the file", nil}
	}
	return c, nil
}

// interrupted makes a response failed that was computed when the server ended.
func (c *record) interrupted() error {
	var said struct {
		Status string `json:"status"`
	}
	var head map[string]json.RawMessage
	if json.Unmarshal(c.head, &said) != nil || said.Status != "queued" && said.Status != "in_progress" {
		return nil
	}
	if err := json.Unmarshal(c.head, &head); err != nil {
		return err
	}
	head["status"] = json.RawMessage(`"failed"`)
	head["error"] = json.RawMessage(`{"code":"server_error","message":"the server ended while it computed this"}`)
	b, err := json.Marshal(head)
	c.head = b
	return err
}
