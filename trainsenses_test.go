package atenia_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/flow/media"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/train"
)

// tuned trains pairs of a model on lines of data in its folder's neighbour.
func tuned(t *testing.T, model, lines string, change func(*train.Recipe), o train.Options) (string, *train.Report, error) {
	t.Helper()
	dir := filepath.Dir(model)
	data := filepath.Join(dir, "data.jsonl")
	if err := os.WriteFile(data, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &train.Recipe{}
	r.Model.From, r.Data.Files, r.Data.Row, r.Data.Rows = model, []string{data}, 64, 2
	r.LoRA.Rank, r.Train.Steps, r.Train.Out, r.Optimizer.Rate, r.Train.Seed = 8, 80, filepath.Join(dir, "out"), 0.02, 3
	if change != nil {
		change(r)
	}
	if err := r.Complete(); err != nil {
		t.Fatal(err)
	}
	rep, err := train.Run(t.Context(), r, o)
	return r.Train.Out, rep, err
}

// showing is a line of data in which an image is answered.
func showing(path, answer string) string {
	b, _ := json.Marshal(path)
	return fmt.Sprintf(`{"messages":[{"role":"user","content":[{"type":"image","image":%s},{"type":"text","text":"?"}]},{"role":"assistant","content":%q}]}`+"\n", b, answer)
}

// TestTrainImages: pairs learn to tell two images apart, the model in use says what
// they learned, and a run that is resumed ends with the same bytes.
func TestTrainImages(t *testing.T) {
	for name, mark := range map[string]string{"qwen2_vl": "<vision_start><image><vision_end>", "gemma3_vl": "<vision_start>", "mistral3": "[IMG]"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := withImages(t, name, mark)
			dir := filepath.Dir(model)
			images := [][]byte{pictured(t, 40, 30, 1), pictured(t, 30, 40, 77)}
			answers := []string{"abc", "xyz"}
			lines := ""
			for i, b := range images {
				file := filepath.Join("pictures", fmt.Sprint(i, ".png"))
				if err := errors.Join(os.MkdirAll(filepath.Join(dir, "pictures"), 0o777), os.WriteFile(filepath.Join(dir, file), b, 0o666)); err != nil {
					t.Fatal(err)
				}
				lines += showing(file, answers[i])
			}
			out, rep, err := tuned(t, model, lines, func(r *train.Recipe) { r.Train.Steps = steps(28, 80) }, train.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !(rep.Loss < 0.3) {
				t.Errorf("the loss is %v after %d steps", rep.Loss, rep.Steps)
			}
			m, err := atenia.Open(t.Context(), model, &atenia.Config{Adapter: out})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for i, b := range images {
				said := ""
				for tok, err := range m.Chat(t.Context(), atenia.Conversation{
					Messages: []atenia.Message{{Role: "user", Parts: []atenia.ContentPart{{Image: b}, {Text: "?"}}}},
					Options:  atenia.Options{MaxTokens: 4, IgnoreEnd: true},
				}) {
					if err != nil {
						t.Fatal(err)
					}
					said += tok.Text
				}
				if said != " "+answers[i] {
					t.Errorf("of image %d the model says %q, it learned %q", i, said, answers[i])
				}
			}
			resumes(t, model, lines)
		})
	}
}

// steps returns how many steps a test trains: fewer in the main run than at night.
func steps(main, night int) int {
	if await.Long() {
		return night
	}
	return main
}

// resumes trains twice, the second time in two processes as it were, and compares bytes.
func resumes(t *testing.T, model, lines string) {
	t.Helper()
	all, every := steps(14, 80), steps(4, 25)
	out := filepath.Join(t.TempDir(), "whole")
	if _, _, err := tuned(t, model, lines, func(r *train.Recipe) { r.Train.Out, r.Train.Steps = out, all }, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(out, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(t.TempDir(), "part")
	half := func(r *train.Recipe) {
		r.Train.Out, r.Train.Steps, r.Train.SaveEvery, r.Train.Threads = part, all, every, 2
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	o := train.Options{Watch: func(e train.Event) {
		if e.Step == every+every/4+1 {
			cancel(stop)
		}
	}}
	data := filepath.Join(filepath.Dir(model), "data.jsonl")
	r := &train.Recipe{}
	r.Model.From, r.Data.Files, r.Data.Row, r.Data.Rows = model, []string{data}, 64, 2
	r.LoRA.Rank, r.Train.Steps, r.Optimizer.Rate, r.Train.Seed = 8, all, 0.02, 3
	half(r)
	if err := r.Complete(); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(ctx, r, o); !errors.Is(err, train.ErrStopped) {
		t.Fatalf("got %v, want that it stopped", err)
	}
	if _, _, err := tuned(t, model, lines, half, train.Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(part, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("a resumed run ends with other bytes")
	}
}

// TestTrainAllOfSeeing: with all weights trained, the folder of the result has the
// tower, and reads images.
func TestTrainAllOfSeeing(t *testing.T) {
	model := withImages(t, "qwen2_vl", "<vision_start><image><vision_end>")
	dir := filepath.Dir(model)
	if err := os.WriteFile(filepath.Join(dir, "a.png"), pictured(t, 40, 30, 1), 0o666); err != nil {
		t.Fatal(err)
	}
	out, _, err := tuned(t, model, showing("a.png", "abc")+`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}`+"\n", func(r *train.Recipe) {
		r.LoRA, r.Train.Steps, r.Optimizer.Rate = train.LoRA{}, 40, 0.003
	}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := atenia.Open(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	said := ""
	for tok, err := range m.Chat(t.Context(), atenia.Conversation{
		Messages: []atenia.Message{{Role: "user", Parts: []atenia.ContentPart{{Image: pictured(t, 40, 30, 1)}, {Text: "?"}}}},
		Options:  atenia.Options{MaxTokens: 4, IgnoreEnd: true},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		said += tok.Text
	}
	if said != " abc" {
		t.Errorf("the model says %q, it learned abc", said)
	}
}

// TestTrainImagesRefused: files that are not there or are no images, parts without
// a file, images that do not fit a row or that the model does not read.
func TestTrainImagesRefused(t *testing.T) {
	model := withImages(t, "qwen2_vl", "<vision_start><image><vision_end>")
	dir := filepath.Dir(model)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.png"), pictured(t, 40, 30, 1), 0o666), os.WriteFile(filepath.Join(dir, "b.png"), []byte("no image"), 0o666)); err != nil {
		t.Fatal(err)
	}
	good := showing("a.png", "abc")
	for name, c := range map[string]struct {
		line, want string
		row        int
	}{
		"no file":    {showing("none.png", "a"), "none.png", 64},
		"no image":   {showing("b.png", "a"), "b.png", 64},
		"no path":    {strings.Replace(good, `,"image":"a.png"`, "", 1), "names no file", 64},
		"an address": {showing("https://example.com/a.png", "a"), "no path of a file", 64},
		"a row":      {good, "a row has 8", 8},
		"a sound":    {`{"audio":"a.wav","text":"a"}` + "\n", "does not transcribe", 64},
	} {
		_, _, err := tuned(t, model, good+c.line, func(r *train.Recipe) { r.Data.Row, r.Train.Out = c.row, filepath.Join(t.TempDir(), "out") }, train.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "data.jsonl:") {
			t.Errorf("%s: %v, want %q and the line", name, err, c.want)
		}
		if name == "no file" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v does not match fs.ErrNotExist", err)
		}
	}
}

// withSpeech copies the case of whisper with the tokens of a transcription in place
// of the last ones of its vocabulary.
func withSpeech(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "whisper")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "whisper"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tokenizer.json")
	var all map[string]any
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	const first = 300
	model := all["model"].(map[string]any)
	words := model["vocab"].(map[string]any)
	for w, id := range words {
		if id.(float64) >= first {
			delete(words, w)
		}
	}
	var merges []any
	for _, m := range model["merges"].([]any) {
		joined := ""
		if s, ok := m.(string); ok {
			joined = strings.ReplaceAll(s, " ", "")
		} else {
			for _, p := range m.([]any) {
				joined += p.(string)
			}
		}
		if _, ok := words[joined]; ok {
			merges = append(merges, m)
		}
	}
	model["merges"] = merges
	var added []any
	for _, a := range all["added_tokens"].([]any) {
		if a.(map[string]any)["id"].(float64) < first {
			added = append(added, a)
		}
	}
	for i, s := range []string{"endoftext", "startoftranscript", "en", "translate", "transcribe", "startofprev", "nospeech", "notimestamps"} {
		s = "<|" + s + "|>"
		words[s] = first + i
		added = append(added, map[string]any{"id": first + i, "content": s, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	all["added_tokens"] = added
	if b, err = json.Marshal(all); err == nil {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// toned writes a sound of a third of a second.
func toned(t *testing.T, path string, hertz float64) {
	t.Helper()
	x := make([]float32, 5333)
	for i := range x {
		x[i] = float32(0.5 * math.Sin(2*math.Pi*hertz*float64(i)/16000))
	}
	if err := media.WriteFile(path, media.Format{Codec: media.WAV, Rate: 16000, Channels: 1, Bits: 16}, func(w *media.Writer) error { return media.Write(w, [][]float32{x}) }); err != nil {
		t.Fatal(err)
	}
}

// TestTrainSounds: pairs of whisper learn what is said in two sounds, and transcribe
// says so; a run that is resumed ends with the same bytes.
func TestTrainSounds(t *testing.T) {
	model := withSpeech(t)
	dir := filepath.Dir(model)
	lines := ""
	said := []string{"abc", "xyz"}
	for i, hertz := range []float64{440, 3000} {
		name := fmt.Sprint(i, ".wav")
		toned(t, filepath.Join(dir, name), hertz)
		lines += fmt.Sprintf(`{"audio":%q,"text":%q,"language":"en"}`+"\n", name, said[i])
	}
	out, rep, err := tuned(t, model, lines, nil, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !(rep.Loss < 0.3) {
		t.Errorf("the loss is %v after %d steps", rep.Loss, rep.Steps)
	}
	m, err := atenia.Open(t.Context(), model, &atenia.Config{Adapter: out})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range said {
		sound, err := atenia.ReadSound(filepath.Join(dir, fmt.Sprint(i, ".wav")))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for s, err := range m.Transcribe(t.Context(), sound, atenia.TranscribeOptions{Language: "en", NoTimestamps: true, NoFallback: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got += s.Text
		}
		if got != said[i] {
			t.Errorf("of sound %d the model writes %q, it learned %q", i, got, said[i])
		}
	}
	resumes(t, model, lines)
	for name, c := range map[string][2]string{
		"no file":    {`{"audio":"none.wav","text":"a"}`, "none.wav"},
		"no sound":   {`{"audio":"data.jsonl","text":"a"}`, "data.jsonl"},
		"a language": {`{"audio":"0.wav","text":"a","language":"xx"}`, "no language \"xx\""},
		"a text":     {`{"text":"a"}`, "want {\"audio\""},
		"long":       {`{"audio":"0.wav","text":"` + strings.Repeat("z ", 90) + `"}`, "the model has 64 positions"},
		"a task":     {`{"audio":"0.wav","text":"a","task":"sing"}`, "want \"transcribe\""},
		"no text":    {`{"audio":"0.wav"}`, "needs a file and the \"text\""},
		"a dialogue": {`{"messages":[{"role":"user","content":"a"}]}`, "writes down sounds"},
	} {
		_, _, err := tuned(t, model, lines+c[0]+"\n", func(r *train.Recipe) { r.Train.Out = filepath.Join(t.TempDir(), "out") }, train.Options{})
		if err == nil || !strings.Contains(err.Error(), c[1]) || !strings.Contains(err.Error(), "data.jsonl:3") {
			t.Errorf("%s: %v, want %q and the line", name, err, c[1])
		}
	}
}

// TestTranscribeInside: in the loop over a sound another may be written down, with the
// same result, and the model be closed, which ends the loop.
func TestTranscribeInside(t *testing.T) {
	m, err := atenia.Open(t.Context(), withSpeech(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sound := atenia.Sound{Rate: 16000, Samples: make([]float32, 31*16000)} // two windows
	for i := range sound.Samples {
		sound.Samples[i] = float32(math.Sin(float64(i) * float64(1+i/480000) / 20))
	}
	o := atenia.TranscribeOptions{Language: "en", NoTimestamps: true, NoFallback: true}
	said := func(each func()) (texts []string, err error) {
		for s, err := range m.Transcribe(t.Context(), sound, o) {
			if err != nil {
				return texts, err
			}
			texts = append(texts, s.Text)
			each()
		}
		return texts, nil
	}
	want, err := said(func() {})
	if err != nil || len(want) < 2 {
		t.Fatalf("%q, %v", want, err)
	}
	once := false
	got, err := said(func() {
		if once {
			return
		}
		once = true
		inner := make(chan []string, 1)
		go func() {
			texts, _ := said(func() {})
			inner <- texts
		}()
		if texts := await.Value(t, "a sound inside", inner); !slices.Equal(texts, want) {
			t.Errorf("inside: %q, want %q", texts, want)
		}
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("around another: %q, %v, want %q", got, err, want)
	}
	closed := false
	if got, err = said(func() {
		if !closed {
			closed = true
			end := make(chan error, 1)
			go func() { end <- m.Close() }()
			if err := await.Value(t, "the end", end); err != nil {
				t.Error(err)
			}
		}
	}); len(got) != 1 || !errors.Is(err, atenia.ErrClosed) {
		t.Errorf("closed inside: %q, %v", got, err)
	}
	if _, err := said(func() {}); !errors.Is(err, atenia.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
