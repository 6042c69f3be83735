package atenia

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/sched"
	"atenia/internal/sight"
	"atenia/internal/speech"
)

// ErrNoImages is returned for images to a model that reads text alone.
var ErrNoImages = sight.ErrBlind

// A ContentPart is a piece of a message: text or an image.
type ContentPart struct {
	Text string
	// Image is the bytes of a PNG, JPEG, GIF or WebP file. It is prepared as the
	// model's own image processor does and encoded once for all messages that
	// show it again. Transparency is ignored, and of an animation the first frame
	// is shown.
	Image []byte
	// Video is the bytes of an animated GIF file, for models that read videos. The
	// frames are those that the model's own video processor takes, at the times that
	// the file says; fewer and smaller ones if they would fill more than three
	// quarters of the context.
	Video []byte
}

// parts returns what a message says, in order.
func (m *Message) parts() []ContentPart {
	if m.Parts != nil {
		return m.Parts
	}
	return []ContentPart{{Text: m.Content}}
}

// openSight prepares for images if the model reads them. It loads nothing.
func (m *Model) openSight() (err error) {
	p := m.plan.compiled
	if p.Model.Config.Vision == nil {
		return nil
	}
	c := sight.Config{Model: p.Model, Files: m.files, Threads: p.Config.Threads, Precise: p.Config.Precise, Account: p.Account()}
	c.MostTokens = m.plan.compiled.Context() * 3 / 4 // the rest is for text
	m.eye, err = sight.Open(c)
	return err
}

// ReadsImages reports whether messages to the model may have images.
func (m *Model) ReadsImages() bool { return m.eye != nil }

// look encodes images and videos in order.
func (m *Model) look(images []ContentPart) ([]*sight.Seen, error) {
	if len(images) == 0 {
		return nil, nil
	}
	if m.eye == nil {
		return nil, ErrNoImages
	}
	var seen []*sight.Seen
	for i, p := range images {
		see, data := m.eye.Look, p.Image
		if p.Video != nil {
			see, data = m.eye.LookVideo, p.Video
		}
		s, err := guarded(func() (*sight.Seen, error) { return see(data) })
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i+1, err)
		}
		seen = append(seen, s)
	}
	return seen, nil
}

// tokenText returns the text of a token.
func (m *Model) tokenText(id int32) (string, bool) { return m.text.Tokenizer.Token(id) }

// see turns a prompt with a mark for each image into tokens, with the places of
// the images. said are bytes of the prompt that are of no mark and of no control token,
// because a conversation said them; special adds the tokens that begin a document.
func (m *Model) see(ctx context.Context, prompt string, said []int, images []ContentPart, special bool) ([]int32, []sched.Image, error) {
	if m.text.Tokenizer == nil {
		return nil, nil, m.textErr
	}
	seen, err := m.look(images)
	if err != nil {
		return nil, nil, err
	}
	if len(seen) == 0 {
		ids, err := m.tokenize(ctx, prompt, said, special)
		return ids, nil, err
	}
	if prompt, said, err = m.eye.Text(prompt, said, seen, m.tokenText); err != nil {
		return nil, nil, err
	}
	ids, err := m.tokenize(ctx, prompt, said, special)
	if err != nil {
		return nil, nil, err
	}
	places, err := m.eye.Place(ids, seen)
	return ids, places, err
}

// imagesOf lists the images of a conversation, in order.
func (c *Conversation) imagesOf() (out []ContentPart, err error) {
	for i := range c.Messages {
		msg := &c.Messages[i]
		if msg.Parts != nil && msg.Content != "" {
			return nil, fmt.Errorf("message %d: %w", i+1, errors.New("it has both Content and Parts"))
		}
		for _, p := range msg.parts() {
			if p.Image != nil || p.Video != nil {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// ImageMark is the text that stands for an image in a [Prompt], as the model's chat
// template writes it.
func (m *Model) ImageMark() (string, error) {
	if m.eye == nil {
		return "", ErrNoImages
	}
	if m.text.Tokenizer == nil {
		return "", m.textErr
	}
	return m.eye.Mark(m.tokenText)
}

// generateSeeing continues a prompt with images.
func (m *Model) generateSeeing(ctx context.Context, p *Prompt, yield func(Token, error) bool) {
	mark, err := m.ImageMark()
	if err != nil {
		yield(Token{}, err)
		return
	}
	text := p.Text
	if !strings.Contains(text, mark) {
		text = strings.Repeat(mark, len(p.Images)) + text
	}
	var images []ContentPart
	for _, b := range p.Images {
		images = append(images, ContentPart{Image: b})
	}
	ids, places, err := m.see(ctx, text, nil, images, true)
	if err != nil {
		yield(Token{}, err)
		return
	}
	m.generate(ctx, ids, places, &p.Options, m.text.Writer(p.Stop), yield)
}

// ErrNoSpeech is returned for sounds to a model that does not transcribe.
var ErrNoSpeech = speech.ErrDeaf

// A Sound is samples of one channel. [ReadSound] reads them from a file.
type Sound struct {
	Samples []float32 // full scale is ±1
	Rate    int       // samples a second
}

// ReadSound reads a WAV or FLAC file: the mean of its channels.
func ReadSound(path string) (Sound, error) {
	samples, rate, err := speech.ReadFile(path)
	return Sound{samples, rate}, err
}

// DecodeSound is [ReadSound] for what a reader has, such as the body of a request.
func DecodeSound(r io.Reader) (Sound, error) {
	samples, rate, err := speech.Read(r)
	return Sound{samples, rate}, err
}

// TranscribeOptions shape a transcription. The zero value finds the language and
// decodes greedily, with timestamps, at higher temperatures where a result
// repeats itself or is unlikely.
type TranscribeOptions struct {
	Language     string // code, such as "en"; "" = found from the first window
	Translate    bool   // into English
	NoTimestamps bool   // one segment for each window of 30 seconds
	Beam         int    // width of the beam search; 0 or 1 = greedy
	Prompt       string // what was said before, or names that occur
	Alone        bool   // each window by itself, without the text of those before
	Seed         uint64 // of temperatures above 0
	// NoFallback decodes once, at temperature 0.
	NoFallback bool
}

// A Segment is what is said from Start to End, in seconds.
type Segment struct {
	Start, End float64
	Text       string
	Tokens     []int32 // with timestamps
	// LogProb is the mean logarithm of a token's probability in the window that the
	// segment is from, NoSpeech the probability that nothing is said in it.
	LogProb, NoSpeech float64
	Temperature       float64
	Language          string
}

// Transcribe yields what is said in a sound, segment by segment as windows of 30
// seconds are decoded (Whisper, arXiv 2212.04356). Canceling ctx or leaving the
// loop ends it. Other requests run between its steps, and in the loop everything may be
// asked of the model, Close too, which ends it with [ErrClosed]. A model without an audio
// encoder returns [ErrNoSpeech].
func (m *Model) Transcribe(ctx context.Context, s Sound, o TranscribeOptions) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		if m.ear == nil {
			yield(Segment{}, ErrNoSpeech)
			return
		}
		p := speech.Options{Language: o.Language, Translate: o.Translate, NoTimes: o.NoTimestamps, Beam: o.Beam, Alone: o.Alone, Seed: o.Seed, Prompt: m.ear.Prompt(o.Prompt)}
		if o.NoFallback {
			p.Temperatures = []float64{0}
		}
		left := errors.New("left")
		say := func(g speech.Segment) error {
			seg := Segment{
				Start: g.Start, End: g.End, Text: g.Text, Tokens: g.Tokens, LogProb: g.Decoded.Mean, NoSpeech: g.Decoded.NoSpeech,
				Temperature: g.Decoded.Temperature, Language: g.Language,
			}
			if !yield(seg, nil) {
				return left
			}
			return nil
		}
		err := file.Guard(func() error {
			_, err := m.ear.Transcribe(ctx, s.Samples, s.Rate, p, say)
			return err
		})
		if errors.Is(err, speech.ErrClosed) {
			err = ErrClosed
		}
		if err != nil && !errors.Is(err, left) {
			yield(Segment{}, publish(err))
		}
	}
}

// openEar prepares for sounds if the model has an audio encoder. It loads nothing.
func (m *Model) openEar() (err error) {
	p := m.plan.compiled
	if p.Model.Config.Audio == nil {
		return nil
	}
	m.ear, err = speech.Open(speech.Config{
		Model: p.Model, Files: m.files, Tokenizer: m.text.Tokenizer, From: m.engine.Sched,
		Threads: p.Config.Threads, Precise: p.Config.Precise, Account: p.Account(),
	})
	return err
}
