package mag

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"atenia/grad"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/sample"
	"atenia/internal/store/durable"
	"atenia/nested"
)

// IsFolder reports whether a folder holds a nested model.
func IsFolder(dir string) bool {
	b, err := durable.ReadRegular(filepath.Join(dir, "config.json"), file.MostSettings)
	if err != nil {
		return false
	}
	var c struct {
		Type string `json:"model_type"`
	}
	return json.Unmarshal(b, &c) == nil && c.Type == Type
}

// A reading is a model that reads and writes a stream of text; its memory learns
// from both. It must be used by one goroutine at a time.
type reading struct {
	Text   *text.Text
	reader *nested.Reader[float32]
	vocab  int
	begun  bool // something has been read, now or by an earlier process
}

// openReading opens a folder and restores what an earlier reading has learnt if the
// file memory exists; "" for none.
func openReading(dir, memory string, p *grad.Threads) (r *reading, err error) {
	d, err := file.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	c, err := nested.ParseConfig(d.Config)
	if err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", dir, err)
	}
	m, err := nested.New[float32](c)
	if err != nil {
		return nil, err
	}
	for _, q := range m.Params() {
		t, ok := d.Tensor(q.Name)
		if !ok {
			return nil, fmt.Errorf("%s: the model has no tensor %q", dir, q.Name)
		}
		x, ok := t.View.F32()
		if !ok || !slices.Equal(t.View.Shape, q.Shape) {
			return nil, fmt.Errorf("%s: tensor %q is %v %v, want F32 %v", dir, q.Name, t.View.DType, t.View.Shape, q.Shape)
		}
		copy(q.Value, x)
	}
	r = &reading{vocab: c.Vocab}
	if r.Text, err = text.Load(d); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if r.reader, err = m.NewReader(nested.Stream, p); err != nil {
		return nil, err
	}
	if memory != "" {
		switch err := r.reader.RestoreFile(memory); {
		case err == nil:
			r.begun = true
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return r, nil
}

// Save atomically writes the learnt memory to a file.
func (r *reading) Save(path string) error { return r.reader.SaveFile(path) }

// Continue reads a prompt and writes up to n tokens after it, calling tell with
// each piece of text as it becomes certain. It stops at an end token. The text
// it writes is read, too.
func (r *reading) Continue(ctx context.Context, prompt string, n int, p sample.Params, tell func(string) error) error {
	ids := r.Text.Tokenizer.Encode(prompt, !r.begun)
	if len(ids) == 0 && !r.begun {
		return errors.New("the model has read nothing yet: give it a prompt")
	}
	s, err := sample.New(p, r.vocab)
	if err != nil {
		return err
	}
	if err := r.reader.Read(ids...); err != nil {
		return err
	}
	r.begun = true
	for _, id := range ids {
		s.Accept(id)
	}
	out := r.Text.Tokenizer.NewStream(true)
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		logits, err := r.reader.Logits()
		if err != nil {
			return err
		}
		c, err := s.Sample(logits)
		if err != nil {
			return err
		}
		s.Accept(c.ID)
		if err := r.reader.Read(c.ID); err != nil {
			return err
		}
		if slices.Contains(r.Text.Stop, c.ID) {
			break
		}
		if err := tell(out.Next(c.ID)); err != nil {
			return err
		}
	}
	return tell(out.Flush())
}

// A Task configures [Read].
type Task struct {
	Prompt string
	Memory string // file of learnt memory: restored if it exists, and written; "" for none
	// Adjust, if not nil, changes the sampling recommended by the model.
	Adjust  func(*sample.Params) error
	Tokens  int // maximum tokens to write
	Threads int // 0 means all processors
}

// Read opens a folder, reads a prompt, continues it, and saves the memory if the
// task names a file.
func Read(ctx context.Context, dir string, t Task, tell func(string) error) error {
	if t.Threads == 0 {
		t.Threads = runtime.GOMAXPROCS(0)
	}
	p := grad.NewThreads(t.Threads)
	defer p.Close()
	r, err := openReading(dir, t.Memory, p)
	if err != nil {
		return err
	}
	s := r.Text.Sampling
	if t.Adjust != nil {
		if err := t.Adjust(&s); err != nil {
			return err
		}
	}
	if err := r.Continue(ctx, t.Prompt, t.Tokens, s, tell); err != nil || t.Memory == "" {
		return err
	}
	return r.Save(t.Memory)
}
