package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// quantizeResult is what quantize prints with --json.
type quantizeResult struct {
	Path        string          `json:"path"`
	Type        string          `json:"type"`
	Arch        string          `json:"architecture"`
	Tensors     int             `json:"tensors"`
	Copied      int             `json:"copied"`
	SourceBytes int64           `json:"source_bytes"`
	TensorBytes int64           `json:"tensor_bytes"`
	FileBytes   int64           `json:"file_bytes"`
	Types       []quantizedType `json:"types"`
	Warnings    []string        `json:"warnings"`
	Seconds     float64         `json:"seconds"`
	Eval        *evalResult     `json:"eval,omitempty"`
}

type quantizedType struct {
	DType      string `json:"dtype"`
	Tensors    int    `json:"tensors"`
	Parameters int64  `json:"parameters"`
	Bytes      int64  `json:"bytes"`
}

func (a *app) quantize() *cobra.Command {
	var o atenia.QuantizeOptions
	var kind, eval string
	names := mixNames()
	c := &cobra.Command{
		Use:         "quantize IN OUT",
		Annotations: command.Patient,
		Short:       "Convert a model to GGUF, with smaller weights",
		Long: "Convert a Hugging Face folder or a GGUF file to one GGUF file with weights of the given type. Tokenizer,\n" +
			"chat template and recommended sampling are kept.\n\nTypes: " + names + ".\n" +
			"The suffixes S, M and L say how many tensors get a wider type: few, more, most.",
		Example: "  atenia quantize path/to/folder model.gguf --type q4_k_m\n" +
			"  atenia quantize model.gguf small.gguf --type q4_k_m --imatrix imatrix.gguf --eval text.txt\n" +
			"  atenia quantize atenia-story story.gguf --type q8_0 --json",
		Args: cobra.ExactArgs(2),
	}
	c.Flags().StringVar(&kind, "type", "q8_0", "weight type of the output")
	c.Flags().IntVarP(&o.Threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	c.Flags().StringVar(&o.Adapter, "lora", "", "merge the LoRA adapter in the folder `DIR` first")
	c.Flags().StringVar(&o.Importance, "imatrix", "", "weigh errors by the importance matrix in `FILE`, from \"atenia imatrix\" or llama.cpp")
	c.Flags().StringVar(&eval, "eval", "", "measure perplexity and KL divergence from the original on the text in `FILE`")
	gptqZeros(c.Flags(), &o.GPTQZeros)
	c.Flags().StringVar(&o.ConfigFile, "config-file", "", "name of the configuration `FILE` in a Hugging Face folder (default config.json)")
	c.RunE = func(c *cobra.Command, args []string) error {
		var err error
		if o.Mix, err = atenia.ParseMix(kind); err != nil {
			return &command.UsageError{Err: fmt.Errorf("--type: %w", err)}
		}
		e := evaluation{app: a, text: eval}
		if err := e.read(); err != nil {
			return err
		}
		bar := &bar{w: a.progress()}
		o.Progress = bar.show
		start := time.Now()
		r, err := atenia.Quantize(c.Context(), args[0], args[1], o)
		bar.clear()
		if err != nil {
			return err
		}
		took := time.Since(start)
		var measured *evalResult
		if eval != "" {
			if measured, err = e.compare(c.Context(), args[0], args[1], &o); err != nil {
				return err
			}
		}
		return a.printQuantized(args[1], &r, took, measured)
	}
	return c
}

func mixNames() string {
	var names []string
	for _, m := range atenia.Mixes() {
		names = append(names, m.String())
	}
	return strings.Join(names, " ")
}

func (a *app) printQuantized(path string, r *atenia.QuantizeReport, took time.Duration, measured *evalResult) error {
	if a.json {
		res := quantizeResult{
			Path: path, Type: r.Mix.String(), Arch: r.Arch, Tensors: r.Tensors, Copied: r.Copied,
			SourceBytes: r.SourceBytes, TensorBytes: r.TensorBytes, FileBytes: r.FileBytes,
			Types: []quantizedType{}, Warnings: append([]string{}, r.Warnings...), Seconds: took.Seconds(), Eval: measured,
		}
		for _, t := range r.Types {
			res.Types = append(res.Types, quantizedType{t.DType.String(), t.Tensors, t.Parameters, t.Bytes})
		}
		return a.printJSON(res)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(a.env().Err, "atenia: note: %s\n", w)
	}
	fmt.Fprintf(a.out, "%s: %s, %s, %s (%d unchanged), %s from %s in %.1f s\n",
		path, r.Arch, r.Mix, spelling.Count(r.Tensors, "tensor"), r.Copied, command.Size(r.FileBytes), command.Size(r.SourceBytes), took.Seconds())
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for _, t := range r.Types {
		fmt.Fprintf(w, "  %s\t%s\t%s parameters\t%s\n", t.DType, spelling.Count(t.Tensors, "tensor"), count(t.Parameters), command.Size(t.Bytes))
	}
	if err := w.Flush(); err != nil || measured == nil {
		return err
	}
	return a.printEval(measured)
}

// A bar is one line of a terminal that shows how far a long work is.
type bar struct {
	w    io.Writer
	last time.Time
	used bool
}

// barWidth is that of the bar alone; the line must fit 80 columns.
const barWidth = 24

func (b *bar) show(done, total int64, what string) {
	const pause = 100 * time.Millisecond // faster updates are not readable
	if now := time.Now(); total > 0 && now.Sub(b.last) >= pause {
		b.last, b.used = now, true
		full := int(barWidth * done / total)
		fmt.Fprintf(b.w, "\r[%s%s] %3d %%  %-32.32s", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*done/total, what)
	}
}

// clear wipes the line, so that results stand alone.
func (b *bar) clear() {
	if b.used {
		fmt.Fprintf(b.w, "\r%72s\r", "")
	}
}
