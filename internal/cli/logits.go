package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

func (a *app) logits() *cobra.Command {
	var mf modelFlags
	var o atenia.LogitsOptions
	var list, text, outputs, compare string
	var tolerance float64
	c := &cobra.Command{
		Use:   "logits [MODEL]",
		Short: "Print the logits after tokens",
		Long: "Print the logits of the whole vocabulary after the given tokens: one row after the last token, or with\n" +
			"--all one row after each.\n\n" +
			"--outputs writes what every instruction of the plan computes to a NumPy archive (.npz), --compare finds the\n" +
			"first instruction that computes something else than in such a file, on another machine, with another form\n" +
			"of the weights or another version of the program.",
		Example: "  atenia logits --tokens 1,2,3 --all --json\n" +
			"  atenia logits model.gguf --text \"Hello\"\n" +
			"  atenia logits model.gguf --text Hello --outputs hello.npz\n" +
			"  atenia logits model-q8_0.gguf --text Hello --compare hello.npz --tolerance 0.01",
		Args: cobra.MaximumNArgs(1),
	}
	mf.registerRunning(c.Flags())
	c.Flags().StringVar(&list, "tokens", "", "token `IDS`, separated by commas")
	c.Flags().StringVar(&text, "text", "", "text instead of token ids")
	c.Flags().BoolVar(&o.All, "all", false, "print a row after every token")
	c.Flags().IntVar(&o.Step, "step", 0, "compute the first `N` tokens together and the others one by one")
	c.Flags().StringVar(&outputs, "outputs", "", "write the outputs of all instructions to `FILE`")
	c.Flags().StringVar(&compare, "compare", "", "compare them with `FILE` instead of printing logits; the exit code is 3 if they differ")
	c.Flags().StringVar(&mf.cfg.Backend, "backend", "cpu", backendHelp)
	c.Flags().Float64Var(&tolerance, "tolerance", 0, "with --compare, the part of an output's largest number that others may be off (0 = the same bits)")
	c.MarkFlagsMutuallyExclusive("outputs", "compare")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if (list == "") == (text == "") {
			return command.Usagef("logits: give either --tokens or --text")
		}
		tokens, err := parseTokens(list)
		if err != nil {
			return err
		}
		m, err := mf.open(c.Context(), a.env().Err, optionalModel(args))
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		if text != "" {
			if tokens, err = m.Tokenize(text); err != nil {
				return err
			}
		}
		if text == "" {
			for i, id := range tokens {
				if id < 0 || int(id) >= m.Vocab() {
					return command.Usagef("--tokens: token %d at position %d is outside the vocabulary of %d", id, i, m.Vocab())
				}
			}
		}
		logits := func(row func(int, []float32)) error { return m.EachLogits(c.Context(), tokens, o, row) }
		show := func(trace func(atenia.TracedOutput)) error {
			o.Trace = trace
			return a.printLogits(m.Vocab(), logits)
		}
		switch {
		case compare != "":
			return a.compareLogits(compare, tolerance, func(trace func(atenia.TracedOutput)) error {
				o.Trace = trace
				return logits(func(int, []float32) {})
			})
		case outputs != "":
			return writeTrace(outputs, show)
		}
		return show(nil)
	}
	return c
}

// compareLogits prints how a run differs from a trace.
func (a *app) compareLogits(path string, tolerance float64, run func(func(atenia.TracedOutput)) error) error {
	if !(tolerance >= 0) {
		return command.Usagef("--tolerance %g: want 0 or more", tolerance)
	}
	r, err := compareTrace(path, tolerance, run)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(r)
	} else {
		err = r.write(a.out)
	}
	if err == nil && (r.Differ > 0 || r.Missing > 0) {
		return fmt.Errorf("%w: %d of %d outputs differ from %s", command.ErrVerify, r.Differ, r.Outputs, path)
	}
	return err
}

func parseTokens(list string) ([]int32, error) {
	if list == "" {
		return nil, nil
	}
	var ids []int32
	for f := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 32)
		if err != nil {
			return nil, command.Usagef("--tokens: %q is not a token id", f)
		}
		ids = append(ids, int32(n))
	}
	return ids, nil
}

// printLogits writes rows as they come: a vocabulary of 128,000 times a long
// prompt is too much to hold. Nothing is written when the first row fails.
func (a *app) printLogits(vocab int, each func(row func(int, []float32)) error) error {
	w := bufio.NewWriterSize(a.out, 1<<16)
	separator, rows := byte(' '), 0
	if a.json {
		separator = ','
	}
	var bad error
	var b []byte
	err := each(func(at int, row []float32) {
		b = b[:0]
		if a.json {
			if rows++; rows == 1 {
				b = fmt.Appendf(b, `{"vocab":%d,"logits":[[`, vocab)
			} else {
				b = append(b, ",["...)
			}
		}
		for i, v := range row {
			if i > 0 {
				b = append(b, separator)
			}
			if x := float64(v); bad == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
				bad = fmt.Errorf("logit %d after token %d is %v: a weight of the model is damaged, or its numbers overflow", i, at, v)
			}
			b = appendFloat(b, v)
		}
		if a.json {
			b = append(b, ']')
		} else {
			b = append(b, '\n')
		}
		if bad == nil {
			_, bad = w.Write(b)
		}
	})
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	if a.json {
		w.WriteString("]}\n")
	}
	return w.Flush()
}

// appendFloat writes the shortest form that reads back to the same float32,
// in JSON's syntax.
func appendFloat(b []byte, v float32) []byte { return strconv.AppendFloat(b, float64(v), 'g', -1, 32) }
