package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// textFlags are the flags of commands that read a list of texts.
type textFlags struct {
	file string
	o    atenia.EmbedOptions
}

func (f *textFlags) register(c *cobra.Command, what string) {
	c.Flags().StringVar(&f.file, "file", "", "read a JSON array of "+what+" from `FILE` (- for standard input)")
	c.Flags().BoolVar(&f.o.Truncate, "truncate", false, "cut "+what+" that are longer than the model reads, instead of failing")
}

// texts returns the texts of the command line or of the file.
func (f *textFlags) texts(a *app, args []string) ([]string, error) {
	if (f.file == "") == (len(args) == 0) {
		return nil, command.Usagef("give texts either as arguments or with --file")
	}
	if f.file == "" {
		return args, nil
	}
	return a.readStrings(f.file)
}

func (a *app) embed() *cobra.Command {
	var mf modelFlags
	var tf textFlags
	c := &cobra.Command{
		Use:   "embed MODEL [TEXT]...",
		Short: "Turn texts into vectors",
		Long: "Print the vector of each text on a line of its own, for search, clusters and comparisons: the cosine of two\n" +
			"vectors tells how close the meanings of their texts are. MODEL is an encoder (BERT, MiniLM, E5, BGE, Nomic,\n" +
			"ModernBERT, EmbeddingGemma) or a decoder made for it (Qwen3-Embedding); --pooling makes vectors with any other.\n\n" +
			"--prompt-name puts one of the model's prompts before every text, which models trained with prompts need.",
		Example: "  atenia embed path/to/all-MiniLM-L6-v2 \"How do I boil an egg?\" \"Cooking eggs\"\n" +
			"  atenia embed path/to/e5-base --file passages.json --prompt-name passage --json\n" +
			"  atenia embed atenia-story \"Once upon a time\" --pooling mean",
		Args: cobra.MinimumNArgs(1),
	}
	mf.registerRunning(c.Flags())
	tf.register(c, "texts")
	c.Flags().StringVar(&tf.o.Prompt, "prompt-name", "", "put the model's prompt `NAME` before every text, such as query or document")
	c.Flags().StringVar(&mf.cfg.Pooling, "pooling", "", "make the vector from the `mean|cls|last` of the tokens; none = a vector for each (default: the model's)")
	c.Flags().BoolVar(&mf.cfg.RawVectors, "raw", false, "print vectors at the length they have, not normalized")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		texts, err := tf.texts(a, args[1:])
		if err != nil {
			return err
		}
		m, err := mf.open(c.Context(), a.env().Err, args[0])
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		var rows [][][]float32
		if mf.cfg.Pooling == "none" {
			rows, err = m.EmbedTokens(c.Context(), texts, tf.o)
		} else {
			var vectors [][]float32
			vectors, err = m.Embed(c.Context(), texts, tf.o)
			for _, v := range vectors {
				rows = append(rows, [][]float32{v})
			}
		}
		if err != nil {
			return err
		}
		return a.printVectors(m, rows, mf.cfg.Pooling == "none")
	}
	return c
}

// embedResult is what embed prints with --json.
type embedResult struct {
	Model      string        `json:"model"`
	Pooling    string        `json:"pooling"`
	Normalized bool          `json:"normalized"`
	Dimensions int           `json:"dimensions"`
	Vectors    [][]float32   `json:"vectors,omitempty"`
	Tokens     [][][]float32 `json:"tokens,omitempty"` // with --pooling none: of each text, of each token
}

func (a *app) printVectors(m *atenia.Model, rows [][][]float32, tokens bool) error {
	if a.json {
		e, _ := m.Encoding()
		r := embedResult{Model: cmp.Or(m.Path(), "atenia-story"), Pooling: e.Pooling, Normalized: e.Normalized, Dimensions: e.Dimensions}
		if tokens {
			r.Tokens = rows
		} else {
			r.Vectors = [][]float32{}
			for _, v := range rows {
				r.Vectors = append(r.Vectors, v[0])
			}
		}
		return a.printJSON(r)
	}
	w := bufio.NewWriterSize(a.out, 1<<16)
	var b []byte
	for i, text := range rows {
		if tokens && i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		for _, v := range text {
			b = b[:0]
			for i, x := range v {
				if i > 0 {
					b = append(b, ' ')
				}
				b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
			}
			if _, err := w.Write(append(b, '\n')); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

func (a *app) rerank() *cobra.Command {
	var mf modelFlags
	var tf textFlags
	var top int
	c := &cobra.Command{
		Use:   "rerank MODEL QUERY [DOCUMENT]...",
		Short: "Sort documents by their relevance to a query",
		Long: "Print documents in the order of their relevance to a query, each with its score (a logit: above 0 is more\n" +
			"likely relevant than not) and its place among those given. MODEL is a cross-encoder such as bge-reranker or\n" +
			"ms-marco-MiniLM, which reads the query together with each document.",
		Example: "  atenia rerank path/to/bge-reranker-base \"capital of France\" \"Paris is large.\" \"Berlin is in Germany.\"\n" +
			"  atenia rerank path/to/ms-marco-MiniLM-L6-v2 \"boil eggs\" --file found.json --top 10 --json",
		Args: cobra.MinimumNArgs(2),
	}
	mf.registerRunning(c.Flags())
	tf.register(c, "documents")
	c.Flags().IntVar(&top, "top", 0, "print the best `N` only (0 = all)")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		documents, err := tf.texts(a, args[2:])
		if err != nil {
			return err
		}
		m, err := mf.open(c.Context(), a.env().Err, args[0])
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		order, err := m.Rerank(c.Context(), args[1], documents, tf.o)
		if err != nil {
			return err
		}
		if top > 0 {
			order = order[:min(top, len(order))]
		}
		if a.json {
			type ranked struct {
				Index       int     `json:"index"`
				Score       float32 `json:"score"`
				Probability float64 `json:"probability"`
				Document    string  `json:"document"`
			}
			out := make([]ranked, len(order))
			for i, r := range order {
				out[i] = ranked{r.Index, r.Score, r.Probability(), documents[r.Index]}
			}
			return a.printJSON(out)
		}
		for _, r := range order {
			if _, err := fmt.Fprintf(a.out, "%9.4f  %4d  %s\n", r.Score, r.Index, documents[r.Index]); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
