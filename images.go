package atenia

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"atenia/internal/sched"
	"atenia/internal/sight"
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
