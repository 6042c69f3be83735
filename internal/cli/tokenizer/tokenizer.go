package tokenizer

import (
	"errors"
	"fmt"
	"time"

	"atenia/internal/cli/command"
	"atenia/internal/token/vocab"

	"github.com/spf13/cobra"
)

// Command returns the command.
func Command(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "tokenizer",
		Short: "Make tokenizers",
		Long:  "Tokenizer makes tokenizers from text.",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(train(env))
	return c
}

// result is what train prints with --json.
type result struct {
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
	Merges int    `json:"merges"`
	Bytes  int64  `json:"text_bytes"`
	Length int64  `json:"text_tokens"`
}

func train(env *command.Env) *cobra.Command {
	var cfg vocab.Config
	var out, pattern string
	c := &cobra.Command{
		Use:   "train FILE...",
		Short: "Learn a vocabulary from text",
		Long: "Train learns byte-pair encoding from files and writes it as a tokenizer.json. A file is JSON lines if its\n" +
			"name ends with .jsonl, {\"text\": …} or {\"messages\": [{\"content\": …}]}, and plain text otherwise.\n" +
			"The same text gives the same file, byte for byte.",
		Example: "  atenia tokenizer train stories.jsonl --vocab 4096 --special '<|endoftext|>' --out tokenizer.json\n" +
			"  atenia tokenizer train shakespeare.txt --characters --out tokenizer.json\n" +
			"  atenia tokenize tokenizer.json --text \"Once upon a time\"",
		Args: cobra.MinimumNArgs(1),
	}
	f := c.Flags()
	f.IntVar(&cfg.Size, "vocab", 4096, "tokens of the vocabulary, special ones and bytes among them")
	f.StringVarP(&out, "out", "o", "tokenizer.json", "file to write")
	f.StringArrayVar(&cfg.Special, "special", nil, "special token; may be given several times, the first one gets id 0")
	f.StringVar(&cfg.BOS, "bos", "", "special token that begins every text")
	f.StringVar(&pattern, "pattern", "llama3", "how text is split into words: llama3 or gpt2")
	f.Int64Var(&cfg.MinCount, "min-count", 2, "merge no pair of tokens that is seen less often")
	f.BoolVar(&cfg.Characters, "characters", false, "a token for every character of the text, and <unk> for others")
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg.Pattern = vocab.Pattern(pattern)
		shown := time.Now()
		r, err := vocab.FromFiles(c.Context(), out, args, cfg, func(n int64) {
			if now := time.Now(); now.Sub(shown) > time.Second {
				shown = now
				fmt.Fprintf(env.Progress, "\r%s read", command.Size(n))
			}
		})
		if errors.Is(err, vocab.ErrConfig) {
			return &command.UsageError{Err: err}
		}
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(result{out, r.Tokens, r.Merges, r.Bytes, r.Length})
		}
		_, err = fmt.Fprintf(env.Out, "%s: %d tokens, %d merges; %d bytes of text are %d tokens (%.2f bytes each)\n",
			out, r.Tokens, r.Merges, r.Bytes, r.Length, float64(r.Bytes)/float64(max(1, r.Length)))
		return err
	}
	return c
}
