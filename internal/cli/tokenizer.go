package cli

import (
	"errors"
	"fmt"
	"time"

	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/text/token"

	"github.com/spf13/cobra"
)

// tokenizerCommand returns the command.
func tokenizerCommand(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "tokenizer",
		Short:   "Train tokenizers",
		Long:    "Train tokenizers on text.",
		Example: "  atenia tokenizer train stories.jsonl --vocab 4096",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(trainTokenizer(env))
	return c
}

// tokenizerResult is what train prints with --json.
type tokenizerResult struct {
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
	Merges int    `json:"merges"`
	Bytes  int64  `json:"text_bytes"`
	Length int64  `json:"text_tokens"`
}

func trainTokenizer(env *command.Env) *cobra.Command {
	var cfg token.VocabularyConfig
	var out, pattern string
	c := &cobra.Command{
		Use:   "train FILE...",
		Short: "Train a tokenizer on text",
		Long: "Learn a byte-pair encoding from files and write it as a tokenizer.json. Files named *.jsonl have JSON lines,\n" +
			"{\"text\": …} or {\"messages\": [{\"content\": …}]}; other files are plain text. Equal text gives equal bytes.",
		Example: "  atenia tokenizer train stories.jsonl --vocab 4096 --special '<|endoftext|>' --out tokenizer.json\n" +
			"  atenia tokenizer train shakespeare.txt --characters --out tokenizer.json\n" +
			"  atenia tokenize tokenizer.json --text \"Once upon a time\"",
		Args: cobra.MinimumNArgs(1),
	}
	f := c.Flags()
	f.IntVar(&cfg.Size, "vocab", 4096, "vocabulary size, including special tokens and bytes")
	f.StringVarP(&out, "out", "o", "tokenizer.json", "output file")
	f.StringArrayVar(&cfg.Special, "special", nil, "special `TOKEN` (may be repeated; the first one gets id 0)")
	f.StringVar(&cfg.BOS, "bos", "", "special `TOKEN` that begins every text")
	f.StringVar(&pattern, "pattern", "llama3", "pattern that splits text into words: llama3 or gpt2")
	f.Int64Var(&cfg.MinCount, "min-count", 2, "merge only pairs that occur at least this often")
	f.BoolVar(&cfg.Characters, "characters", false, "use one token for each character of the text, and <unk> for others")
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg.Pattern = token.Pattern(pattern)
		shown := time.Now()
		r, err := token.VocabularyFromFiles(c.Context(), out, args, cfg, func(n int64) {
			if now := time.Now(); now.Sub(shown) > time.Second {
				shown = now
				fmt.Fprintf(env.Progress, "\r%s read", command.Size(n))
			}
		})
		if errors.Is(err, token.ErrVocabularyConfig) {
			return &command.UsageError{Err: err}
		}
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(tokenizerResult{out, r.Tokens, r.Merges, r.Bytes, r.Length})
		}
		_, err = fmt.Fprintf(env.Out, "%s: %s, %s; %s of text as %s (%.2f bytes each)\n",
			out, spelling.Count(r.Tokens, "token"), spelling.Count(r.Merges, "merge"), spelling.Count(r.Bytes, "byte"), spelling.Count(r.Length, "token"), float64(r.Bytes)/float64(max(1, r.Length)))
		return err
	}
	return c
}
