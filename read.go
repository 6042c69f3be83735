package atenia

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
	"atenia/internal/engine"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/sample"
	"atenia/internal/store/durable"
	"atenia/nested"
)

// IsNested reports whether a folder holds a model whose memory learns while it
// reads, which [Read] runs.
func IsNested(dir string) bool {
	b, err := durable.ReadRegular(filepath.Join(dir, "config.json"), file.MostSettings)
	if err != nil {
		return false
	}
	var c struct {
		Type string `json:"model_type"`
	}
	return json.Unmarshal(b, &c) == nil && c.Type == nested.ModelType
}

// A Reading is the configuration of [Read].
type Reading struct {
	Prompt string
	Memory string // file of what was learnt: continued from if it is there, and written; "" = none
	// Adjust changes the sampling that the model's makers recommend. nil leaves
	// it.
	Adjust  func(*Sampling) error
	Tokens  int // most tokens that are written
	Threads int // 0 = all processors
}

// Read lets a nested model read a prompt and continue it. Its memory learns
// from both while it runs. write is called with each piece of text.
func Read(ctx context.Context, dir string, r Reading, write func(string) error) error {
	n, err := openReading(dir, r.Memory, r.Threads)
	if err != nil {
		return publish(err)
	}
	defer n.close()
	p := n.text.Sampling
	if r.Adjust != nil {
		s := newSampling(p)
		if err := r.Adjust(&s); err != nil {
			return err
		}
		p = s.internal()
	}
	if err := n.continueText(ctx, r.Prompt, r.Tokens, p, write); err != nil || r.Memory == "" {
		return publish(err)
	}
	return publish(n.save(r.Memory))
}

// A reading is a model that reads and writes a stream of text; its memory learns
// from both. It must be used by one goroutine at a time.
type reading struct {
	text    *text.Text
	threads *grad.Threads
	reader  *nested.Reader[float32]
	vocab   int
	begun   bool // something has been read, now or by an earlier process
}

// openReading opens a folder and restores what an earlier reading has learnt if the
// file memory exists; "" for none. Of 0 threads, all processors compute.
func openReading(dir, memory string, threads int) (r *reading, err error) {
	d, err := engine.OpenFiles(dir, "")
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
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	r = &reading{vocab: c.Vocab}
	if r.text, err = text.Load(d); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	p := grad.NewThreads(threads)
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	r.threads = p
	if r.reader, err = m.NewReader(nested.Stream, r.threads); err != nil {
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

// close ends the threads.
func (r *reading) close() { r.threads.Close() }

// save atomically writes the learnt memory to a file.
func (r *reading) save(path string) error { return r.reader.SaveFile(path) }

// continueText reads a prompt and writes up to n tokens after it, calling tell with
// each piece of text as it becomes certain. It stops at an end token. The text
// it writes is read, too.
func (r *reading) continueText(ctx context.Context, prompt string, n int, p sample.Params, tell func(string) error) error {
	ids := r.text.Tokenizer.Encode(prompt, !r.begun)
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
	out := r.text.Tokenizer.NewStream(true)
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
		if slices.Contains(r.text.Stop, c.ID) {
			break
		}
		if err := tell(out.Next(c.ID)); err != nil {
			return err
		}
	}
	return tell(out.Flush())
}
