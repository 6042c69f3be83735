package data

// Documents that show images or are said in a sound.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"atenia/internal/sight"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

// takeImages returns the files of the images and videos in the contents of messages,
// which it reduces to what templates read: {"type": "image"}. A part names its file,
// relative to dir, as "image", "video", "path" or "url", or in "image_url".
func takeImages(messages []chat.Value, dir string) (files []File, err error) {
	for i, m := range messages {
		o, ok := m.(*chat.Map)
		if !ok {
			continue
		}
		parts, ok := get(o, "content").(*chat.List)
		if !ok {
			continue
		}
		for k, p := range parts.Items {
			part, ok := p.(*chat.Map)
			if !ok {
				continue
			}
			kind, _ := get(part, "type").(string)
			if kind == "image_url" {
				kind = "image"
			}
			if kind != "image" && kind != "video" {
				continue
			}
			path := fileOf(part, kind)
			switch {
			case path == "":
				return nil, fmt.Errorf("%w: message %d: part %d of type %q names no file, want {\"type\": %q, %q: \"path\"}", errConfig, i, k, kind, kind, kind)
			case strings.Contains(path, "://") || strings.HasPrefix(path, "data:"):
				return nil, fmt.Errorf("%w: message %d: %.40q is no path of a file", errConfig, i, path)
			case !filepath.IsAbs(path):
				path = filepath.Join(dir, filepath.FromSlash(path))
			}
			files = append(files, File{Path: path, Video: kind == "video"})
			parts.Items[k] = chat.NewMap("type", kind)
		}
	}
	return files, nil
}

func fileOf(part *chat.Map, kind string) string {
	for _, key := range []string{kind, "path", "url", "image_url"} {
		switch v := get(part, key).(type) {
		case string:
			return v
		case *chat.Map:
			if s, ok := get(v, "url").(string); ok {
				return s
			}
		}
	}
	return ""
}

// show writes placeholders for the marks of images in a text, and moves the answers,
// code points of it, accordingly.
func (e *encoder) show(whole *chat.Result, answers []answer, files []File) ([]*sight.Seen, error) {
	seen, err := e.senses.Show(files)
	if err != nil {
		return nil, err
	}
	text, said := whole.Text, whole.Said
	grown := func(runes *int) {
		at := 0
		for range *runes {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
		}
		n, markErr := e.senses.Marks(text[:at], said)
		if err == nil {
			err = markErr
		}
		if err != nil || n > len(seen) {
			return // Text of the whole says what is wrong
		}
		before, _, textErr := e.senses.Text(text[:at], said, seen[:n])
		if err = textErr; err == nil {
			*runes = utf8.RuneCountInString(before)
		}
	}
	for i := range answers {
		grown(&answers[i].from)
		grown(&answers[i].to)
	}
	if err != nil {
		return nil, err
	}
	whole.Text, whole.Said, err = e.senses.Text(text, said, seen)
	return seen, err
}

// place finds the images among the tokens of a document. Their places are never
// learned.
func (e *encoder) place(dst, ids []int32, seen []*sight.Seen, files []File) (*Media, error) {
	m := &Media{Images: slices.Clone(files)}
	places, err := e.senses.Place(ids, seen)
	for _, p := range places {
		for i := p[0]; i < p[0]+p[1]; i++ {
			dst[i] = min(dst[i], ^dst[i])
		}
		m.End = p[0] + p[1]
	}
	return m, err
}

// said appends the tokens of what is said in a sound.
func (e *encoder) said(dst []int32, d *token.Document) ([]int32, *Media, error) {
	if d.Audio == "" {
		return nil, nil, fmt.Errorf("%w: a text, and the model writes down sounds: want {\"audio\": …, \"text\": …}", errConfig)
	}
	path := d.Audio
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.File), filepath.FromSlash(path))
	}
	ids, f, err := e.senses.Hear(path, d.Text, d.Language, d.Task == "translate")
	if err != nil {
		return nil, nil, err
	}
	return append(dst, ids...), &Media{Sound: f}, nil
}
