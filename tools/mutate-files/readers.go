package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atenia"
	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/grad"
	"atenia/internal/bench"
	"atenia/internal/cli"
	"atenia/internal/memory/place"
	"atenia/internal/model/compile"
	"atenia/internal/model/convert"
	"atenia/internal/model/file"
	"atenia/internal/model/lora"
	"atenia/internal/model/text"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/internal/policy/decide"
	"atenia/internal/sight"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
	"atenia/internal/train"
	"atenia/internal/train/recipe"
	"atenia/quila"
	"atenia/quila/config"
)

// A scratch is where a case's files lie while it is read.
type scratch struct {
	ctx context.Context
	dir string
}

// put writes the files.
func (x *scratch) put(s sample) error { return s.write(x.dir) }

// model returns the path of a model among the files: a file or the folder.
func (x *scratch) model(s sample) string {
	for _, e := range s {
		if strings.HasSuffix(e.name, ".gguf") || strings.HasSuffix(e.name, ".sxlm") {
			return filepath.Join(x.dir, e.name)
		}
	}
	return x.dir
}

// useModel opens a model and computes a token, a vector, or the logits of ids,
// whatever it was made for.
func useModel(x *scratch, s sample) (err error) {
	if err := x.put(s); err != nil {
		return err
	}
	return openModel(x, x.model(s), &atenia.Config{Threads: 1, Context: 64, Slots: 1, BatchTokens: 32})
}

func openModel(x *scratch, path string, c *atenia.Config) (err error) {
	m, err := atenia.Open(x.ctx, path, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.Plan().WriteText(discard, atenia.PlanView{Explain: true}); err != nil {
		return err
	}
	for _, err := range m.Generate(x.ctx, atenia.Prompt{Text: "Once upon", Options: atenia.Options{MaxTokens: 1, Sampling: m.Sampling()}}) {
		if err == nil {
			return nil
		}
		if _, err := m.Logits(x.ctx, []int32{1, 2}, atenia.LogitsOptions{}); err == nil {
			return nil
		}
		_, err = m.Embed(x.ctx, []string{"Once upon"}, atenia.EmbedOptions{})
		return err
	}
	return nil
}

// inspect lists what a file has.
func inspect(x *scratch, s sample) error {
	if err := x.put(s); err != nil {
		return err
	}
	return commandLine(x, "inspect", x.model(s))
}

func compileConfig(_ *scratch, s sample) error {
	m, err := compile.Compile(&file.Description{Format: file.HuggingFace, Config: s[0].data}, compile.Options{})
	if err != nil {
		return err
	}
	_, err = m.GGUF()
	return err
}

// sentences are what tokenizers encode.
var sentences = []string{
	"Hello, wörld! It's 1234 o'clock;\n\tx = y[3] -- ﬁne e\u0301 漢字かな 👩‍🚀 <s></s> ▁\u00a0Ġ don't",
	strings.Repeat("a", 700) + " " + strings.Repeat("ab ", 100) + strings.Repeat("1", 100) + strings.Repeat("\n ", 50),
}

func useTokenizer(_ *scratch, s sample) error {
	t, err := token.Load(s[0].data)
	if err != nil {
		return err
	}
	encodeAll(t)
	return nil
}

func encodeAll(t *token.Tokenizer) {
	for _, text := range sentences {
		ids := t.Encode(text, true)
		_ = t.Decode(ids, true)
		ids, _ = t.EncodeWithOffsets(text, false)
		_ = t.Decode(ids, false)
	}
}

func useVocabulary(_ *scratch, s sample) error {
	load := token.LoadTiktoken
	c := token.Companion{Pre: "qwen2", Special: []string{"<end>"}, Reserved: 3}
	if s[0].kind == proto {
		load, c = token.LoadSentencePiece, token.Companion{Before: []string{"<s>"}, After: []string{"</s>"}}
	}
	t, err := load(s[0].data, c)
	if err != nil {
		return err
	}
	encodeAll(t)
	return nil
}

// now is the time in templates.
var now = time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)

func renderTemplate(_ *scratch, s sample) error {
	c := &chat.Context{Now: now, AddGenerationPrompt: true, Vars: chat.NewMap()}
	for _, e := range s {
		if e.name != "context.json" {
			continue
		}
		for key, at := range map[string]*any{"messages": &c.Messages, "tools": &c.Tools, "documents": &c.Documents} {
			if b := raw(e.data, key); b != nil {
				if v, err := chat.DecodeJSON(b); err == nil {
					*at = v
				}
			}
		}
		var others map[string]any
		_ = json.Unmarshal(e.data, &others)
		for k, v := range others {
			if s, ok := v.(string); ok {
				c.Vars.Set(k, s)
			}
		}
	}
	if c.Messages == nil {
		c.Messages, _ = chat.DecodeJSON([]byte(`[{"role":"user","content":"Hello"}]`))
	}
	t, err := chat.Parse("template", string(s[0].data))
	if err != nil {
		return err
	}
	_, err = t.Render(c)
	return err
}

func useSettings(x *scratch, s sample) error {
	var config []byte
	files := map[string][]byte{}
	for _, e := range s {
		if files[e.name] = e.data; e.name == "config.json" {
			config = e.data
		}
	}
	t, err := text.LoadFiles(x.dir, config, files)
	if err != nil {
		return err
	}
	if t.Template == nil {
		return nil
	}
	vars := chat.NewMap()
	for k, v := range t.Vars {
		vars.Set(k, v)
	}
	_, err = t.Template.Render(&chat.Context{Messages: []any{map[string]any{"role": "user", "content": "Hello"}}, Vars: vars, Now: now})
	return err
}

func useAdapter(x *scratch, s sample) error {
	if err := x.put(s); err != nil {
		return err
	}
	if _, err := lora.Open(x.dir); err != nil {
		return err
	}
	return openModel(x, filepath.Join(x.dir, "base"), &atenia.Config{Threads: 1, Context: 64, Slots: 1, BatchTokens: 32, Adapter: x.dir})
}

func readRecipe(_ *scratch, s sample) error {
	_, err := recipe.Parse(s[0].data)
	return err
}

func readPlanText(_ *scratch, s sample) error {
	c, err := pass.LoadText(bytes.NewReader(s[0].data))
	if err != nil {
		return err
	}
	pass.Map(c, plan.Sizing{Tokens: 3, Slots: 2, Requested: 1, Patches: 1, Merged: 1}, nil)
	return nil
}

func readPlanJSON(_ *scratch, s sample) error {
	data := s[0].data
	var doc map[string]json.RawMessage
	if json.Unmarshal(data, &doc) == nil { // without its hash a change reaches the content
		delete(doc, "id")
		data, _ = json.Marshal(doc)
	}
	_, err := pass.LoadJSON(data)
	return err
}

func readListing(_ *scratch, s sample) error {
	l, err := grad.ParseListing(string(s[0].data))
	if err == nil {
		_ = l.String()
	}
	return err
}

func readPlacement(_ *scratch, s sample) error {
	_, err := place.Parse(s[0].data)
	return err
}

func readSnapshot(x *scratch, s sample) error {
	if err := x.put(s); err != nil {
		return err
	}
	f, err := train.OpenSnapshot(filepath.Join(x.dir, s[0].name))
	if err != nil {
		return err
	}
	err = f.Read(train.Array{Name: "w", Shape: []int{2, 3}, Values: make([]float32, 6)})
	_ = f.Blob("state")
	return errors.Join(err, f.Close())
}

func verifyCheckpoint(x *scratch, s sample) error {
	if err := x.put(s); err != nil {
		return err
	}
	return errors.Join(commandLine(x, "checkpoint", "verify", x.dir, "--json"), commandLine(x, "cache", "verify", filepath.Join(x.dir, "cache")))
}

func useNetwork(x *scratch, s sample) error {
	if err := x.put(s); err != nil {
		return err
	}
	m, err := quila.Open(x.ctx, x.model(s), &quila.Options{Threads: 1})
	if err != nil {
		return err
	}
	for _, e := range m.Generate(x.ctx, "ab", quila.Generation{MaxTokens: 1, Plain: true}) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, m.Close())
}

func readNetworkConfig(_ *scratch, s sample) error {
	c, err := config.Parse(s[0].data)
	if err != nil {
		return err
	}
	_, err = quila.NewPlan(c, config.Devices{})
	return err
}

func linkGraph(_ *scratch, s sample) error {
	p, err := graph.Parse(s[0].data)
	if err != nil {
		return err
	}
	return schedule(p)
}

func linkGraphText(_ *scratch, s sample) error {
	p, err := graph.ParseText(string(s[0].data))
	if err != nil {
		return err
	}
	return schedule(p)
}

// schedule does what "atenia flow check" does.
func schedule(p *graph.Plan) error {
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{BlockFrames: 64})
	if err != nil {
		return err
	}
	_, err = graph.NewSchedule(l)
	return err
}

func readSchedule(_ *scratch, s sample) error {
	_, err := graph.ParseSchedule(string(s[0].data))
	return err
}

func readManifest(_ *scratch, s sample) error {
	_, err := amp.ParseManifest(s[0].data)
	return err
}

// readSound reads all frames, from a file and from a stream.
func readSound(_ *scratch, s sample) error {
	b := s[0].data
	r, err := media.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	if err := drain(r); err != nil {
		return err
	}
	if r, err = media.NewStream(bytes.NewReader(b)); err != nil {
		return err
	}
	return drain(r)
}

func drain(r *media.Reader) error {
	x := make([][]float32, r.Channels)
	for i := range x {
		x[i] = make([]float32, 256)
	}
	for {
		if _, err := media.Read(r, x); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func readPicture(_ *scratch, s sample) error {
	if _, err := sight.Decode(s[0].data); err != nil {
		return err
	}
	_, err := sight.DecodeVideo(s[0].data, func(n, _, _ int, _ float64) ([]int, error) {
		return []int{0, n / 3, n / 2, n - 1}[max(0, 4-n):], nil
	})
	return err
}

// readProcessor cuts a small picture as the settings say.
func readProcessor(_ *scratch, s sample) error {
	var last error
	accepted := false
	for _, k := range []sight.Kind{sight.Area, sight.Square, sight.Tiles, sight.Longest} {
		r := sight.Recipe{Kind: k, Patch: 14, Temporal: 2, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: sight.Bicubic,
			MaxPixels: 1 << 20, Width: 64, Height: 64, MinTokens: 4, MaxTokens: 64, MinTiles: 2, MaxTiles: 6, Tile: 28, Tolerance: 2}
		if last = r.Read(s[0].data); last != nil {
			continue
		}
		if last = r.Check(); last != nil {
			continue
		}
		_, last = r.Cut(&sight.Picture{Width: 30, Height: 20, Pix: make([]byte, 3*30*20)})
		accepted = accepted || last == nil
	}
	for _, whole := range []bool{false, true} {
		f := sight.Film{Whole: whole, Sample: true, FPS: 2, MinFrames: 4, MaxFrames: 768, Recipe: sight.Recipe{
			Kind: sight.Area, Patch: 14, Temporal: 2, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: sight.Bicubic, MaxPixels: 1 << 20}}
		if last = f.Read(s[0].data); last != nil {
			continue
		}
		last = shoot(&f)
		accepted = accepted || last == nil
	}
	if accepted {
		return nil
	}
	return last
}

// shoot takes what a film says of five small frames.
func shoot(f *sight.Film) error {
	const w, h = 30, 20
	shot, err := f.Shoot(5, w, h, 2, 256)
	if err != nil {
		return err
	}
	frames := make([]*sight.Picture, len(shot.Frames))
	for i := range frames {
		frames[i] = &sight.Picture{Width: w, Height: h, Pix: make([]byte, 3*w*h)}
	}
	_, err = f.Cut(frames, &shot)
	return err
}

func readLearning(_ *scratch, s sample) error {
	t, r := decide.Parse(s[0].data)
	_ = t.String()
	if r.Skipped > 0 {
		return fmt.Errorf("%d lines were skipped", r.Skipped)
	}
	return nil
}

func replayDecisions(_ *scratch, s sample) error {
	_, err := decide.CheckLog(bytes.NewReader(s[0].data))
	_, other := decide.WhatIf(bytes.NewReader(s[0].data), "no-gpu")
	return errors.Join(err, other)
}

func readImportance(x *scratch, s sample) error {
	if err := x.put(s); err != nil {
		return err
	}
	_, err := convert.Read(filepath.Join(x.dir, s[0].name))
	return err
}

func readCorpus(_ *scratch, s sample) error {
	for _, err := range token.Lines(bytes.NewReader(s[0].data), "data") {
		if err != nil {
			return err
		}
	}
	return nil
}

func readQuestions(_ *scratch, s sample) error {
	_, err := atenia.ReadQuestions(bytes.NewReader(s[0].data))
	return err
}

func readBench(_ *scratch, s sample) error {
	parse := bench.ParseBench
	if s[0].kind == plainText {
		parse = bench.ParseBatched
	}
	_, err := parse(s[0].data)
	return err
}

// safe are the commands that a changed command line may call: they end by
// themselves and write nothing.
var safe = map[string]bool{"plan": true, "tokenize": true, "inspect": true, "doctor": true, "explain": true, "flow": true, "quila": true, "logits": true, "run": true}

// harmful are flags that would write files, listen, wait, or compute at length.
var harmful = []string{"-n", "--max", "--metrics", "--trace", "--decisions", "--checkpoint", "--out", "--file", "--pack", "--codec", "--learning", "--follow", "--timeline", "--man", "--save", "--prompt"}

// runCommand runs a command line whose first word was not changed to that of a
// command that does more.
func runCommand(x *scratch, s sample) error {
	args := strings.Split(strings.TrimSuffix(string(s[0].data), "\n"), "\n")
	if len(args) == 0 || !safe[args[0]] || args[0] == "flow" && (len(args) < 2 || args[1] != "nodes") || args[0] == "quila" && (len(args) < 2 || args[1] != "plan") {
		return commandLine(x, append([]string{"help"}, args...)...)
	}
	for i, a := range args[1:] {
		for _, h := range harmful {
			if strings.HasPrefix(a, h) && !(h == "-n" && args[0] == "run" && i+2 < len(args) && args[i+2] == "1" && a == h) {
				return errors.New("a flag that is not tried")
			}
		}
	}
	if args[0] == "run" {
		args = append(args, "-n", "1")
	}
	return commandLine(x, args...)
}

// commandLine runs a command in this process.
func commandLine(_ *scratch, args ...string) error {
	var errs bytes.Buffer
	code := cli.Main(args, strings.NewReader(""), discard, &errs)
	if bytes.Contains(errs.Bytes(), []byte("this is a mistake in atenia")) {
		return &crash{errs.String()}
	}
	if code != 0 {
		return fmt.Errorf("exit code %d: %s", code, errs.String())
	}
	return nil
}

// A crash is a panic that the command line reported.
type crash struct{ text string }

func (e *crash) Error() string { return e.text }

// reset empties the folder of a case.
func (x *scratch) reset() error {
	list, err := os.ReadDir(x.dir)
	for _, d := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(x.dir, d.Name())))
	}
	return err
}
