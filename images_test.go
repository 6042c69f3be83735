package atenia_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// pictured returns a picture whose pixels depend on a seed.
func pictured(t *testing.T, w, h int, seed uint8) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{uint8(x*7) ^ seed, uint8(y * 5), uint8(x*y) + seed, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withImages copies a case with a chat template and the settings of an image
// processor.
func withImages(t *testing.T, name, mark string) string {
	t.Helper()
	from := filepath.Join(golden.Root(t), "testdata", "golden", "parity", name)
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	path := filepath.Join(dir, "tokenizer_config.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	c["chat_template"] = "{% for m in messages %}{{ m['role'] }}: {% if m['content'] is string %}{{ m['content'] }}{% else %}" +
		"{% for p in m['content'] %}{% if p['type'] == 'image' %}" + mark + "{% elif p['type'] == 'video' %}<vision_start><video><vision_end>{% else %}{{ p['text'] }}{% endif %}{% endfor %}{% endif %};{% endfor %}assistant:"
	if err == nil {
		b, err = json.Marshal(c)
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err == nil && name == "qwen2_vl" {
		err = os.WriteFile(filepath.Join(dir, "preprocessor_config.json"), []byte(`{"min_pixels": 256, "max_pixels": 2048}`), 0o644)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "video_preprocessor_config.json"),
				[]byte(`{"size": {"shortest_edge": 64, "longest_edge": 768}, "do_sample_frames": true, "fps": 1.5, "min_frames": 2}`), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestImages shows images to models in a chat, to the models' files in both
// formats.
func TestImages(t *testing.T) {
	for name, mark := range map[string]string{"qwen2_vl": "<vision_start><image><vision_end>", "gemma3_vl": "<vision_start>"} {
		t.Run(name, func(t *testing.T) {
			dir := withImages(t, name, mark)
			gguf := filepath.Join(t.TempDir(), "model.gguf")
			mix, err := atenia.ParseMix("f32")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := atenia.Quantize(t.Context(), dir, gguf, atenia.QuantizeOptions{Mix: mix}); err != nil {
				t.Fatal(err)
			}
			var first []int32
			for _, path := range []string{dir, gguf} {
				m, err := atenia.Open(t.Context(), path, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if !m.ReadsImages() {
					t.Fatalf("%s reads no images", path)
				}
				say := func(parts ...atenia.ContentPart) (ids []int32) {
					for tok, err := range m.Chat(context.Background(), atenia.Conversation{
						Messages: []atenia.Message{{Role: "user", Parts: parts}}, Options: atenia.Options{MaxTokens: 6, IgnoreEnd: true}}) {
						if err != nil {
							t.Fatal(err)
						}
						if tok.Finish == "" {
							ids = append(ids, tok.ID)
						}
					}
					return ids
				}
				a, b := pictured(t, 50, 30, 1), pictured(t, 33, 60, 77)
				got := say(atenia.ContentPart{Image: a}, atenia.ContentPart{Text: "and"}, atenia.ContentPart{Image: b})
				if again := say(atenia.ContentPart{Image: a}, atenia.ContentPart{Text: "and"}, atenia.ContentPart{Image: b}); !slices.Equal(got, again) {
					t.Errorf("%v, then %v", got, again)
				}
				if first == nil {
					first = got
				} else if !slices.Equal(got, first) {
					t.Errorf("the converted model says %v, the original %v", got, first)
				}
			}
		})
	}
}

// TestVideos shows a video to a model, to its files in both formats: its frames
// make the same answer, and others than those without the settings of videos.
func TestVideos(t *testing.T) {
	dir := withImages(t, "qwen2_vl", "<image>")
	path := filepath.Join(t.TempDir(), "model.gguf")
	mix, err := atenia.ParseMix("f32")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atenia.Quantize(t.Context(), dir, path, atenia.QuantizeOptions{Mix: mix}); err != nil {
		t.Fatal(err)
	}
	var g gif.GIF
	for i := range 12 {
		m := image.NewPaletted(image.Rect(0, 0, 50, 30), palette.Plan9)
		for k := range m.Pix {
			m.Pix[k] = byte(k*i + k/50)
		}
		g.Image, g.Delay = append(g.Image, m), append(g.Delay, 25)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &g); err != nil {
		t.Fatal(err)
	}
	plain := withImages(t, "qwen2_vl", "<image>")
	if err := os.Remove(filepath.Join(plain, "video_preprocessor_config.json")); err != nil {
		t.Fatal(err)
	}
	var said [][]int32
	for _, path := range []string{dir, path, plain} {
		m, err := atenia.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var ids []int32
		for tok, err := range m.Chat(t.Context(), atenia.Conversation{Messages: []atenia.Message{{Role: "user", Parts: []atenia.ContentPart{{Video: b.Bytes()}, {Text: "so?"}}}},
			Options: atenia.Options{MaxTokens: 6, IgnoreEnd: true}}) {
			if err != nil {
				t.Fatal(err)
			}
			if tok.Finish == "" {
				ids = append(ids, tok.ID)
			}
		}
		said = append(said, ids)
	}
	if !slices.Equal(said[0], said[1]) {
		t.Errorf("the converted model says %v, the original %v", said[1], said[0])
	}
	if slices.Equal(said[0], said[2]) {
		t.Errorf("the settings of videos change nothing: %v", said[0])
	}
}

// TestImagesRefused: a model without a tower, and bytes that are no image.
func TestImagesRefused(t *testing.T) {
	ask := func(m *atenia.Model, data []byte) (err error) {
		for _, err = range m.Generate(t.Context(), atenia.Prompt{Text: "see", Images: [][]byte{data}, Options: atenia.Options{MaxTokens: 1}}) {
		}
		return err
	}
	if err := ask(open(t, nil), pictured(t, 8, 8, 1)); !errors.Is(err, atenia.ErrNoImages) {
		t.Errorf("a model of text: %v", err)
	}
	m, err := atenia.Open(t.Context(), withImages(t, "qwen2_vl", "<image>"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := ask(m, []byte("no image")); err == nil {
		t.Error("a text was accepted as an image")
	}
	if err := ask(m, pictured(t, 40, 30, 3)); err != nil {
		t.Error(err)
	}
}

// TestImagesInBudget: within the least memory that a model of images needs it still
// answers about images, and says the same.
func TestImagesInBudget(t *testing.T) {
	for name, mark := range map[string]string{"qwen2_vl": "<vision_start><image><vision_end>", "gemma3_vl": "<vision_start>"} {
		dir := withImages(t, name, mark)
		say := func(ram int64) (ids []int32, err error) {
			m, err := atenia.Open(t.Context(), dir, &atenia.Config{Slots: 1, Context: 256, BatchTokens: 256, Threads: 1, Budget: place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 1 << 16}}})
			if err != nil {
				return nil, err
			}
			defer m.Close()
			parts := []atenia.ContentPart{{Image: pictured(t, 200, 150, 1)}, {Text: "and"}, {Image: pictured(t, 33, 60, 77)}}
			for tok, err := range m.Chat(t.Context(), atenia.Conversation{
				Messages: []atenia.Message{{Role: "user", Parts: parts}}, Options: atenia.Options{MaxTokens: 6, IgnoreEnd: true}}) {
				if err != nil {
					return nil, err
				}
				ids = append(ids, tok.ID)
			}
			return ids, nil
		}
		_, err := say(1)
		floor, ok := errors.AsType[*place.FloorError](err)
		if !ok {
			t.Fatal(err)
		}
		want, err := say(0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := say(floor.Floor)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s in %d bytes: %v (%v), want %v", name, floor.Floor, got, err, want)
		}
	}
}
