package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/cli/quila"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

func (a *app) run() *cobra.Command {
	mf := modelFlags{learns: true}
	var sf samplingFlags
	c := &cobra.Command{
		Use:   "run [MODEL] [PROMPT]",
		Short: "Continue a text",
		Long: "Continue PROMPT and print the continuation as it is generated. The model gets the text as it is; use\n" +
			"\"atenia chat\" to apply the model's chat template.\n\n" +
			"Without PROMPT, or with - in its place, the prompt is read from standard input. \"MODEL PROMPT -\" appends\n" +
			"standard input to PROMPT after a blank line. Otherwise standard input is not read.\n\n" + checkpointHelp + samplingHelp,
		Example: "  atenia run \"Once upon a time\"\n" +
			"  atenia run model.gguf \"The capital of France is\" -n 8 --temp 0\n" +
			"  echo \"Once upon a time\" | atenia run --json\n" +
			"  atenia run model.gguf \"Once upon a time\" --checkpoint saved\n" +
			"  atenia run model.gguf \"Describe a cat as JSON.\" --schema cat.schema.json\n" +
			"  atenia run model --image photo.jpg \"What is this?\"\n" +
			"  cat notes.txt | atenia run model.gguf \"Summarize this:\" -",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 3 || len(args) == 3 && args[2] != "-" {
				return errors.New("too many")
			}
			return nil
		},
	}
	mf.registerKeeping(c.Flags())
	sf.register(c.Flags())
	quiet := c.Flags().Bool("no-echo", false, "print the continuation without the prompt")
	memory := c.Flags().String("memory", "", "for models that learn while they run: load and update the memory in `FILE`")
	images := c.Flags().StringArray("image", nil, "show the image in `FILE` (PNG, JPEG, GIF, WebP) to the model, as a message of a chat; may be given more than once")
	videos := c.Flags().StringArray("video", nil, "show the animated GIF in `FILE` to a model that reads videos; may be given more than once")
	schema := c.Flags().String("schema", "", "answer with JSON that satisfies the JSON Schema in `FILE`")
	grammar := c.Flags().String("grammar", "", "answer with a text of the GBNF grammar in `FILE`")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if err := sf.follow(*schema, *grammar); err != nil {
			return err
		}
		path, prompt, err := a.modelAndPrompt(args)
		if err != nil {
			return err
		}
		if rule := sf.opt.Schema != nil || sf.opt.Grammar != ""; rule && (atenia.IsNested(path) || quila.IsModel(path)) {
			return command.Usagef("--schema and --grammar: %s chooses among neurons or learns while it runs; neither follows a grammar", path)
		}
		if atenia.IsNested(path) {
			if mf.cfg.Checkpoint != "" {
				return command.Usagef("--checkpoint: %s learns while it runs; --memory keeps what it learnt", path)
			}
			return a.read(c, path, &sf, atenia.Reading{Prompt: prompt, Memory: *memory, Threads: mf.cfg.Threads}, !*quiet)
		}
		if quila.IsModel(path) {
			return a.runNeurons(c, path, prompt, &sf, &mf, !*quiet)
		}
		if *memory != "" {
			return command.Usagef("--memory needs a model that learns while it runs; %s does not", path)
		}
		m, err := mf.open(c.Context(), a.env().Err, path)
		if _, gone := os.Stat(path); len(args) == 2 && errors.Is(gone, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; a prompt of several words needs quotes", err)
		}
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		o, err := sf.options(m)
		if err != nil {
			return err
		}
		shown := len(*images)+len(*videos) > 0
		if shown && !m.ReadsImages() {
			return fmt.Errorf("--image: %s: %w", path, atenia.ErrNoImages)
		}
		if shown {
			return a.show(c, m, *images, *videos, prompt, o, mf.stats)
		}
		return a.generate(c, m, atenia.Prompt{Text: prompt, Options: o}, !*quiet, mf.stats)
	}
	return c
}

// read runs a nested model, which learns from the text that it reads and
// writes.
func (a *app) read(c *cobra.Command, dir string, sf *samplingFlags, r atenia.Reading, echo bool) error {
	const usual = 256 // tokens; such a model has no context that would end
	if r.Tokens = sf.opt.MaxTokens; r.Tokens == 0 {
		r.Tokens = usual
	}
	r.Adjust = func(s *atenia.Sampling) error {
		err := sf.over(*s)
		*s = sf.opt.Sampling
		return err
	}
	start := time.Now()
	var text strings.Builder
	if echo && !a.json {
		io.WriteString(a.out, r.Prompt)
	}
	err := atenia.Read(c.Context(), dir, r, func(s string) error {
		text.WriteString(s)
		if a.json {
			return nil
		}
		_, err := io.WriteString(a.out, s)
		return err
	})
	if !a.json {
		fmt.Fprintln(a.out)
		return err
	}
	if err != nil {
		return err
	}
	return a.printJSON(struct {
		Prompt  string  `json:"prompt"`
		Text    string  `json:"text"`
		Seed    uint64  `json:"seed"`
		Seconds float64 `json:"seconds"`
	}{r.Prompt, text.String(), sf.opt.Sampling.Seed, time.Since(start).Seconds()})
}

// runResult is what run prints with --json.
type runResult struct {
	Prompt  string       `json:"prompt"`
	Text    string       `json:"text"`
	Finish  string       `json:"finish"`
	Tokens  int          `json:"tokens"`
	Seed    uint64       `json:"seed"`
	Seconds float64      `json:"seconds"`
	IDs     []int32      `json:"ids"`
	Logs    []tokenProbs `json:"logprobs,omitempty"`
	Costs   *runCosts    `json:"stats,omitempty"` // with --stats and a budget
}

// runCosts are what the weights of a model with a budget cost.
type runCosts struct {
	Passes  int64        `json:"passes"`
	Seconds float64      `json:"seconds_per_pass"` // after the first
	Read    int64        `json:"read_bytes"`
	Stall   float64      `json:"wait_seconds"`
	Hits    int64        `json:"ring_hits"`
	Late    int64        `json:"ring_late"`
	Experts *expertCosts `json:"experts,omitempty"` // of a mixture
}

// expertCosts are what the experts of a mixture cost.
type expertCosts struct {
	Slots   int     `json:"slots"`
	Experts int     `json:"experts"`
	Hits    int64   `json:"hits"`
	Misses  int64   `json:"misses"`
	HitRate float64 `json:"hit_rate"`
	Read    int64   `json:"read_bytes"`
	Wait    float64 `json:"wait_seconds"`
}

// costsOf returns nil for a model without a budget.
func costsOf(m *atenia.Model) *runCosts {
	if m.Placement() == nil {
		return nil
	}
	s := m.Streaming()
	c := &runCosts{Passes: s.Passes, Read: s.Read, Stall: s.Stall.Seconds(), Hits: s.Hits, Late: s.Late}
	if s.Passes > 1 {
		c.Seconds = (s.Wall - s.First).Seconds() / float64(s.Passes-1)
	}
	if e := &s.Experts; e.Experts > 0 {
		c.Experts = &expertCosts{e.Slots, e.Experts, e.Hits, e.Misses, e.HitRate(), e.Read, e.Wait.Seconds()}
	}
	return c
}

// tokenProbs are the log-probabilities of one generated token.
type tokenProbs struct {
	ID      int32     `json:"id"`
	LogProb float32   `json:"logprob"`
	Top     []topProb `json:"top"`
}

type topProb struct {
	ID      int32   `json:"id"`
	LogProb float32 `json:"logprob"`
}

func (a *app) generate(c *cobra.Command, m *atenia.Model, p atenia.Prompt, echo, stats bool) error {
	return a.print(m.Generate(c.Context(), p), m, p, echo, stats)
}

// show shows images with a question to a model, in a message of a chat if the
// model has a template.
func (a *app) show(c *cobra.Command, m *atenia.Model, files, videos []string, prompt string, o atenia.Options, stats bool) error {
	p := atenia.Prompt{Text: prompt, Options: o}
	msg := atenia.Message{Role: "user"}
	for _, name := range files {
		b, err := readImage(name)
		if err != nil {
			return err
		}
		p.Images = append(p.Images, b)
		msg.Parts = append(msg.Parts, atenia.ContentPart{Image: b})
	}
	for _, name := range videos {
		b, err := readImage(name)
		if err != nil {
			return err
		}
		msg.Parts = append(msg.Parts, atenia.ContentPart{Video: b})
	}
	if ok, err := m.HasChat(); !ok {
		if len(videos) > 0 {
			return err
		}
		return a.generate(c, m, p, false, stats)
	}
	msg.Parts = append(msg.Parts, atenia.ContentPart{Text: prompt})
	return a.print(m.Chat(c.Context(), atenia.Conversation{Messages: []atenia.Message{msg}, ParseSpecial: true, Options: o}), m, p, false, stats)
}

// readImage reads a file of at most 256 MiB.
func readImage(name string) ([]byte, error) {
	const most = 256 << 20
	f, err := durable.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(b) > most {
		err = fmt.Errorf("%s has more than %d bytes, which no image needs", name, most)
	}
	return b, err
}

// print prints an answer as it comes.
func (a *app) print(tokens iter.Seq2[atenia.Token, error], m *atenia.Model, p atenia.Prompt, echo, stats bool) error {
	start := time.Now()
	res := runResult{Prompt: p.Text, Seed: p.Sampling.Seed, IDs: []int32{}}
	var text strings.Builder
	started := false
	for t, err := range tokens {
		if err != nil {
			if started && !a.json {
				fmt.Fprintln(a.out)
			}
			return err
		}
		text.WriteString(t.Text)
		if !a.json {
			show := t.Text
			if echo && !started { // with the first token, after all errors of the arguments
				show = p.Text + show
			}
			if _, err := io.WriteString(a.out, show); err != nil {
				return err
			}
		}
		started = true
		if t.Finish != "" {
			res.Finish = t.Finish
			continue
		}
		res.IDs = append(res.IDs, t.ID)
		if p.Sampling.LogProbs > 0 {
			res.Logs = append(res.Logs, probs(t))
		}
	}
	if !a.json {
		if !strings.HasSuffix(text.String(), "\n") {
			fmt.Fprintln(a.out)
		}
		return nil
	}
	res.Text, res.Tokens, res.Seconds = text.String(), len(res.IDs), time.Since(start).Seconds()
	if stats {
		res.Costs = costsOf(m)
	}
	return a.printJSON(res)
}

func probs(t atenia.Token) tokenProbs {
	p := tokenProbs{ID: t.ID, LogProb: t.LogProb, Top: []topProb{}}
	for _, l := range t.Top {
		p.Top = append(p.Top, topProb{l.ID, l.LogProb})
	}
	return p
}
