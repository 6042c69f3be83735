package speech

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/text/token"
)

// ErrClosed is returned for sounds to an ear that was closed.
var ErrClosed = errors.New("the model is closed")

// ErrDeaf is returned for sounds to a model that reads text alone.
var ErrDeaf = errors.New("the model does not transcribe: it has no audio encoder")

// A Config is what an ear is made of.
type Config struct {
	Model     *compile.Model
	Files     *file.Description // open as long as the ear
	Tokenizer *token.Tokenizer
	From      Borrower
	Threads   int
	Precise   bool
	Account   *ledger.Account
}

// An Ear transcribes with one model. It loads the encoder with the first sound.
// Its methods may be called from any goroutine; sounds are transcribed one after
// the other.
type Ear struct {
	c     Config
	model Model

	mu     sync.Mutex
	ws     *residence.Tower
	tower  *exec.Tower
	run    *Runner
	closed bool
}

// Open finds the tokens that a transcription needs. It reads no weights.
func Open(c Config) (*Ear, error) {
	a := c.Model.Config.Audio
	if a == nil {
		return nil, ErrDeaf
	}
	e := &Ear{c: c, model: Model{Mels: a.Mels, Frames: 2 * a.Rows, Context: c.Model.Config.Context}}
	if c.Tokenizer == nil {
		return nil, errors.New("a transcription needs the model's tokenizer")
	}
	e.model.Text = func(ids []int32) string { return c.Tokenizer.Decode(ids, true) }
	return e, e.findTokens()
}

func (e *Ear) findTokens() error {
	tk, t := e.c.Tokenizer, &e.model.Tokens
	for _, x := range []struct {
		to    *int32
		names []string
	}{
		{&t.Start, []string{"<|startoftranscript|>"}}, {&t.End, []string{"<|endoftext|>"}}, {&t.Previous, []string{"<|startofprev|>"}},
		{&t.Transcribe, []string{"<|transcribe|>"}}, {&t.Translate, []string{"<|translate|>"}},
		{&t.NoSpeech, []string{"<|nospeech|>", "<|nocaptions|>"}}, {&t.NoTimes, []string{"<|notimestamps|>"}},
	} {
		found := false
		for _, name := range x.names {
			if id, ok := tk.ID(name); ok && !found {
				*x.to, found = id, true
			}
		}
		if !found {
			return fmt.Errorf("the tokenizer has no token %s, which a transcription needs", x.names[0])
		}
	}
	t.Time = t.NoTimes + 1 // older tokenizers do not list timestamps
	if id, ok := tk.ID("<|0.00|>"); ok {
		t.Time = id
	}
	if n := e.c.Model.Config.Vocab; int(t.Time) >= n || t.End >= t.Time {
		return fmt.Errorf("timestamps begin at token %d, the vocabulary has %d and text ends before %d", t.Time, n, t.End)
	}
	e.languages()
	t.Suppress, t.Blank = e.c.Model.Config.Audio.Suppress, e.c.Model.Config.Audio.Blank
	if t.Blank == nil {
		t.Blank = tk.Encode(" ", false)
	}
	return nil
}

// languages finds the tokens between the start and the tasks, or none in a model
// of English alone, whose tasks follow the start at once or are never given.
func (e *Ear) languages() {
	t := &e.model.Tokens
	all := map[string]int32{}
	for id := t.Start + 1; id < min(t.Transcribe, t.Translate); id++ {
		name, ok := e.c.Tokenizer.Token(id)
		code, lead := strings.CutPrefix(name, "<|")
		code, end := strings.CutSuffix(code, "|>")
		if ok && lead && end && len(code) <= 3 {
			all[code] = id
		}
	}
	if e.c.Model.Config.Vocab >= 51865 || len(all) > 0 && e.c.Model.Config.Vocab != 51864 {
		t.Languages = all
	}
}

// Prompt returns the tokens of what was said before.
func (e *Ear) Prompt(text string) []int32 {
	if text == "" {
		return nil
	}
	return e.c.Tokenizer.Encode(" "+strings.TrimSpace(text), false)
}

// Transcribe writes down a sound of mono samples. While each runs, other sounds may be
// written down, and the ear be closed: no window is being decoded then.
func (e *Ear) Transcribe(ctx context.Context, samples []float32, rate int, o Options, each func(Segment) error) (*Result, error) {
	x, err := resample(samples, rate)
	if err != nil {
		return nil, err
	}
	features, err := features(x, e.model.Mels, e.model.Frames)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.load(); err != nil {
		return nil, err
	}
	return e.model.Transcribe(ctx, e.run, features, o, func(s Segment) (err error) {
		if each == nil {
			return nil
		}
		e.mu.Unlock()
		defer func() {
			if e.mu.Lock(); e.closed && err == nil {
				err = ErrClosed
			}
		}()
		return each(s)
	})
}

// load makes the encoder and what decodes.
func (e *Ear) load() (err error) {
	if e.run != nil {
		return nil
	}
	if err := e.loadTower(); err != nil {
		return err
	}
	e.run, err = newRunner(e.c.From, e.tower, e.c.Account)
	return err
}

func (e *Ear) config() exec.Config {
	return residence.TowerConfig(&e.c.Model.Config, e.model.Frames, e.c.Threads, e.c.Precise, e.c.Account)
}

// Need returns the memory that the encoder takes.
func (e *Ear) Need() (int64, error) { return residence.TowerNeed(e.c.Model, e.c.Files, e.config()) }

func (e *Ear) loadTower() error {
	if e.closed {
		return ErrClosed
	}
	if e.tower != nil {
		return nil
	}
	ws, err := residence.OfTower(e.c.Model, e.c.Files, e.c.Account)
	if err != nil {
		return fmt.Errorf("the audio encoder: %w", err)
	}
	tower, err := exec.NewTower(&e.c.Model.Plans, ws.Weights, e.config())
	if err != nil {
		ws.Close()
		return fmt.Errorf("the audio encoder: %w", err)
	}
	e.ws, e.tower = ws, tower
	return nil
}

// Close frees the encoder.
func (e *Ear) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run != nil {
		e.run.Close()
	}
	if e.tower != nil {
		e.tower.Close()
		e.ws.Close()
	}
	e.run, e.tower, e.closed = nil, nil, true
}
