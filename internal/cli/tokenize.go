package cli

import (
	"encoding/json"
	"fmt"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// tokenized is what tokenize prints for one text.
type tokenized struct {
	IDs  []int32 `json:"ids"`
	Text string  `json:"text"`
}

func (a *app) tokenize() *cobra.Command {
	var text, file string
	c := &cobra.Command{
		Use:   "tokenize [MODEL]",
		Short: "Convert text to token ids",
		Long: "Print the token ids of a text, including the special tokens that the model expects. --json adds the text\n" +
			"that the ids decode to. MODEL may also be a tokenizer.json, .model or .tiktoken file. --file reads a JSON array of strings.",
		Example: "  atenia tokenize --text \"Hello world\"\n" +
			"  atenia tokenize tokenizer.json --file texts.json --json",
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&text, "text", "", "text to tokenize")
	c.Flags().StringVar(&file, "file", "", "read a JSON array of strings from `FILE` (- for standard input)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("text") == c.Flags().Changed("file") {
			return command.Usagef("tokenize: give either --text or --file")
		}
		t, err := atenia.OpenTokenizer(optionalModel(args))
		if err != nil {
			return err
		}
		one := func(s string) tokenized {
			ids := t.Encode(s, true)
			if ids == nil {
				ids = []int32{}
			}
			return tokenized{ids, t.Decode(t.Encode(s, false), false)}
		}
		if file == "" {
			return a.printTokens(t, one(text))
		}
		texts, err := a.readStrings(file)
		if err != nil {
			return err
		}
		all := make([]tokenized, len(texts))
		for i, s := range texts {
			all[i] = one(s)
		}
		if a.json {
			return a.printJSON(all)
		}
		for _, r := range all {
			if err := a.printTokens(t, r); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func (a *app) printTokens(t *atenia.Tokenizer, r tokenized) error {
	if a.json {
		return a.printJSON(r)
	}
	for _, id := range r.IDs {
		tok, _ := t.Token(id)
		fmt.Fprintf(a.out, "%7d  %q\n", id, tok)
	}
	return nil
}

func (a *app) readStrings(file string) ([]string, error) {
	r, name := a.in, "standard input"
	if file != "-" {
		name = file
		f, err := durable.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	const most = 256 << 20
	b, err := command.ReadMost(r, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (at most %s are read: split the file)", name, err, command.Size(int64(most)))
	}
	if b, err = spelling.UTF8(b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var texts []string
	if err := json.Unmarshal(b, &texts); err != nil {
		return nil, fmt.Errorf("%s: want a JSON array of strings: %w", name, err)
	}
	return texts, nil
}
