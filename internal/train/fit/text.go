package fit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"atenia/internal/model/text"
	"atenia/internal/store/durable"
	"atenia/internal/text/token"
	"atenia/internal/train/recipe"
)

// The files of a folder about text.
const (
	tokenizerFile  = "tokenizer.json"
	tokenizerNotes = "tokenizer_config.json"
	generationFile = "generation_config.json"
	templateFile   = "chat_template.jinja"
)

// chatML is the ChatML template: messages between <|im_start|> and <|im_end|>.
const chatML = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}" +
	"{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

func sorted(fs files) []string { return slices.Sorted(maps.Keys(fs)) }

// tokenizerFiles makes the files about text, or copies those of the model to
// continue from. A resumed run keeps its tokenizer.
func tokenizerFiles(ctx context.Context, r *recipe.Recipe, resume bool) (files, error) {
	if r.Tokenizer.Kind == "model" {
		return text.Files(r.Model.From)
	}
	b, err := []byte(nil), error(fs.ErrNotExist)
	if resume {
		b, err = durable.ReadRegular(filepath.Join(r.Train.Out, tokenizerFile), text.MostVocabulary)
	}
	if errors.Is(err, fs.ErrNotExist) {
		b, err = makeTokenizer(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	out := files{tokenizerFile: b}
	t, err := token.Load(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	notes := map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": r.Model.Context, "clean_up_tokenization_spaces": false}
	generation := map[string]any{"do_sample": true, "temperature": text.Usual.Temperature, "top_p": text.Usual.TopP}
	if end, ok := special(r, t); ok {
		notes["eos_token"] = end
		id, _ := t.ID(end)
		generation["eos_token_id"] = id
	}
	if name := r.Tokenizer.Template; name == recipe.ChatML {
		out[templateFile] = []byte(chatML)
	} else if name != "" {
		if out[templateFile], err = durable.ReadRegular(name, text.MostSettings); err != nil {
			return nil, err
		}
	}
	for name, v := range map[string]any{tokenizerNotes: notes, generationFile: generation} {
		if out[name], err = json.MarshalIndent(v, "", "  "); err != nil {
			return nil, err
		}
		out[name] = append(out[name], '\n')
	}
	return out, nil
}

// special returns the text of the token that ends texts, if the tokenizer has
// it.
func special(r *recipe.Recipe, t *token.Tokenizer) (string, bool) {
	if len(r.Tokenizer.Special) == 0 {
		return "", false
	}
	end := r.Tokenizer.Special[0]
	_, ok := t.ID(end)
	return end, ok
}

// endOf returns the text of the token that ends a document, "" if there is none.
func endOf(r *recipe.Recipe, t *text.Text) string {
	if r.Tokenizer.Kind == "model" {
		if end, ok := t.Vars["eos_token"]; ok {
			if _, ok := t.Tokenizer.ID(end); ok {
				return end
			}
		}
		return ""
	}
	end, ok := special(r, t.Tokenizer)
	if !ok {
		return ""
	}
	return end
}

// makeTokenizer makes a tokenizer.json.
func makeTokenizer(ctx context.Context, r *recipe.Recipe) ([]byte, error) {
	t := r.Tokenizer
	if t.Kind == "file" {
		return durable.ReadRegular(t.File, text.MostVocabulary)
	}
	cfg := token.VocabularyConfig{Size: t.Size, Special: t.Special, Characters: t.Kind == "chars"}
	texts := token.TrainTextsOf(ctx, r.Data.Files)
	if t.Kind == "bytes" {
		cfg.Size, texts = 256+len(t.Special), func(yield func(string, error) bool) { yield("a", nil) }
	}
	v, err := token.TrainVocabulary(cfg, texts)
	if err != nil {
		return nil, err
	}
	return v.JSON()
}
