package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/place"

	"github.com/spf13/cobra"
)

// evalResult is what eval prints with --json.
type evalResult struct {
	Model   string            `json:"model"`
	Text    *textResult       `json:"text,omitempty"`
	Choices *accuracyResult   `json:"choices,omitempty"`
	Against *divergenceResult `json:"against,omitempty"`
}

type textResult struct {
	Windows    int     `json:"windows"`
	Tokens     int     `json:"tokens"`
	NLL        float64 `json:"nll"`
	Perplexity float64 `json:"perplexity"`
	StdErr     float64 `json:"stderr"`
}

type divergenceResult struct {
	Model       string  `json:"model"`
	Perplexity  float64 `json:"perplexity"`
	KL          float64 `json:"kl"`
	StdErr      float64 `json:"stderr"`
	Median      float64 `json:"median"`
	P90         float64 `json:"p90"`
	P99         float64 `json:"p99"`
	Max         float64 `json:"max"`
	SameTop     float64 `json:"same_top"`
	ProbChanged float64 `json:"prob_changed"`
}

type accuracyResult struct {
	Questions        int     `json:"questions"`
	Raw              float64 `json:"accuracy"`
	RawStdErr        float64 `json:"accuracy_stderr"`
	Normalized       float64 `json:"accuracy_norm"`
	NormalizedStdErr float64 `json:"accuracy_norm_stderr"`
}

func (a *app) eval() *cobra.Command {
	var mf modelFlags
	var o atenia.EvalOptions
	var text, choices, against string
	c := &cobra.Command{
		Use:   "eval [MODEL]",
		Short: "Measure how well a model predicts",
		Long: "Measure a model on files: the perplexity of a text, how far its predictions are from another model's\n" +
			"(KL divergence), and its accuracy on multiple-choice questions.\n\n" +
			"A text is scored as llama.cpp's perplexity does: in windows, the second half of each. Questions are lines\n" +
			"of JSON, {\"question\": \"Ice is\", \"choices\": [\"cold\", \"hot\"], \"answer\": 0}; \"context\" is another name of\n" +
			"question, and an answer is an index from 0, a letter from A on, or the text of a choice. The choice that is\n" +
			"most probable counts as the answer, and, normalized, that of the largest log-probability per character.",
		Example: "  atenia eval --choices questions.jsonl --json\n" +
			"  atenia eval model.gguf --text text.txt\n" +
			"  atenia eval model-q4.gguf --text text.txt --against model-f16.gguf",
		Args: cobra.MaximumNArgs(1),
	}
	mf.registerRunning(c.Flags())
	c.Flags().StringVar(&text, "text", "", "measure the perplexity of the text in `FILE`")
	c.Flags().StringVar(&choices, "choices", "", "answer the questions in `FILE`")
	c.Flags().StringVar(&against, "against", "", "compare predictions of the text with those of `MODEL`")
	c.Flags().IntVar(&o.Window, "window", 0, "tokens that are computed together (0 = 512, or the context, if that is shorter)")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		switch {
		case text == "" && choices == "":
			return command.Usagef("eval: give --text, --choices or both")
		case against != "" && text == "":
			return command.Usagef("eval: --against compares predictions of a --text")
		}
		e := evaluation{app: a, text: text, choices: choices, options: o}
		if err := e.read(); err != nil {
			return err
		}
		m, err := mf.open(c.Context(), a.env().Err, optionalModel(args))
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		if against != "" {
			other := mf.cfg
			other.Observe, other.PlacementFile, other.Adapter = atenia.Observation{}, "", ""
			if e.options.Against, err = atenia.Open(c.Context(), against, &other); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.options.Against.Close()) }()
		}
		res := evalResult{Model: cmp.Or(optionalModel(args), place.Embedded)}
		if err := e.run(c.Context(), m, &res); err != nil {
			return err
		}
		if res.Against != nil {
			res.Against.Model = against
		}
		return a.printEval(&res)
	}
	return c
}

// An evaluation is the work of eval on one model.
type evaluation struct {
	app           *app
	text, choices string // files
	content       string
	questions     []atenia.Question
	options       atenia.EvalOptions
}

// read reads the files, so that faults show before a model is opened.
func (e *evaluation) read() error {
	if e.text != "" {
		var err error
		if e.content, err = readText(e.text); err != nil {
			return err
		}
	}
	if e.choices != "" {
		f, err := durable.Open(e.choices)
		if err != nil {
			return err
		}
		defer f.Close()
		if e.questions, err = atenia.ReadQuestions(f); err != nil {
			return fmt.Errorf("%s: %w", e.choices, err)
		}
	}
	return nil
}

// run measures.
func (e *evaluation) run(ctx context.Context, m *atenia.Model, res *evalResult) error {
	bar := &bar{w: e.app.progress()}
	defer bar.clear()
	if e.text != "" {
		tokens, err := m.Tokenize(e.content)
		if err != nil {
			return err
		}
		o := e.options
		o.Progress = func(done, total int) { bar.show(int64(done), int64(total), "text") }
		r, err := m.Evaluate(ctx, tokens, o)
		if err != nil {
			return fmt.Errorf("%s: %w", e.text, err)
		}
		res.Text = &textResult{r.Windows, r.Tokens, r.NLL, r.Perplexity, r.StdErr}
		if d := r.Divergence; d != nil {
			res.Against = &divergenceResult{"", d.Perplexity, d.Mean, d.StdErr, d.Median, d.P90, d.P99, d.Max, d.SameTop, d.ProbChanged}
		}
	}
	if e.choices != "" {
		r, err := m.Answer(ctx, e.questions, func(done, total int) { bar.show(int64(done), int64(total), "questions") })
		if err != nil {
			return fmt.Errorf("%s: %w", e.choices, err)
		}
		res.Choices = &accuracyResult{r.Questions, r.Raw, r.RawStdErr, r.Normalized, r.NormalizedStdErr}
	}
	return nil
}

// compare measures a quantized model against its original.
func (e *evaluation) compare(ctx context.Context, original, quantized string, o *atenia.QuantizeOptions) (_ *evalResult, err error) {
	m, err := atenia.Open(ctx, quantized, &atenia.Config{Threads: o.Threads})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	e.options.Against, err = atenia.Open(ctx, original, &atenia.Config{Threads: o.Threads, ConfigFile: o.ConfigFile, Adapter: o.Adapter, GPTQZeros: o.GPTQZeros})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.options.Against.Close()) }()
	res := &evalResult{Model: quantized}
	if err := e.run(ctx, m, res); err != nil {
		return nil, err
	}
	res.Against.Model = original
	return res, nil
}

func (a *app) printEval(r *evalResult) error {
	if a.json {
		return a.printJSON(r)
	}
	if t := r.Text; t != nil {
		fmt.Fprintf(a.out, "perplexity   %.4f ± %.4f (%d tokens in %s)\n", t.Perplexity, t.StdErr, t.Tokens, spelling.Count(t.Windows, "window"))
	}
	if d := r.Against; d != nil {
		fmt.Fprintf(a.out, "reference    %.4f, of %s\n", d.Perplexity, d.Model)
		fmt.Fprintf(a.out, "KL           %.6f ± %.6f nats a token; half below %.6f, 90 %% below %.6f, 99 %% below %.6f, largest %.4f\n",
			d.KL, d.StdErr, d.Median, d.P90, d.P99, d.Max)
		fmt.Fprintf(a.out, "same top     %.2f %% of the tokens; the actual token's probability changes by %.3f %% (RMS)\n", 100*d.SameTop, 100*d.ProbChanged)
	}
	if c := r.Choices; c != nil {
		fmt.Fprintf(a.out, "accuracy     %.2f %% ± %.2f of %s; normalized by length %.2f %% ± %.2f\n",
			100*c.Raw, 100*c.RawStdErr, spelling.Count(c.Questions, "question"), 100*c.Normalized, 100*c.NormalizedStdErr)
	}
	return nil
}
