package data

import (
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/sight"
	"atenia/internal/tape"
)

// Fill gives a batch the rows of what its documents show or are said in, one
// Media for each; nil = text alone.
func (s *Senses) Fill(b *tape.Batch, documents []*Media) error {
	if s == nil {
		return nil
	}
	if s.ear != nil {
		return s.hear(b, documents)
	}
	seen := false
	for _, m := range documents {
		seen = seen || m != nil
	}
	if !seen {
		return nil
	}
	first := 0
	for i, n := range b.Lens {
		run := exec.Run{Len: n}
		if documents[i] != nil {
			var err error
			if run.Spans, err = s.look(b.Tokens[first:first+n], documents[i]); err != nil {
				return err
			}
		}
		b.Places = run.Places(b.Places)
		for k := range run.Spans {
			b.Images = append(b.Images, s.image(&run.Spans[k], first))
		}
		first += n
	}
	return nil
}

// look encodes the images of a document and finds them among its tokens.
func (s *Senses) look(tokens []int32, m *Media) (spans []exec.Span, err error) {
	var seen []*sight.Seen
	for i := range m.Images {
		f := &m.Images[i]
		data, err := f.again()
		if err != nil {
			return nil, err
		}
		see := s.eye.Look
		if f.Video {
			see = s.eye.LookVideo
		}
		one, err := see(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		seen = append(seen, one)
	}
	images, err := s.eye.Place(tokens, seen)
	for i := range images {
		spans = append(spans, images[i].Span)
	}
	return spans, err
}

// image returns the rows of a span of a document that begins at a row.
func (s *Senses) image(p *exec.Span, first int) tape.Image {
	from, to := p.From*s.width, (p.From+p.Len)*s.width
	out := tape.Image{At: first + p.At, Len: p.Len, Rows: p.Image.Rows[from:to]}
	for _, d := range p.Image.Deep {
		out.Deep = append(out.Deep, d[from:to])
	}
	return out
}

// hear encodes the sounds of a batch.
func (s *Senses) hear(b *tape.Batch, documents []*Media) error {
	for i := range b.Lens {
		if i >= len(documents) || documents[i] == nil || documents[i].Sound == nil {
			return fmt.Errorf("%w: the model writes down sounds, and document %d of a batch has none", errNoSense, i)
		}
		rows, err := s.sound(documents[i].Sound)
		if err != nil {
			return err
		}
		b.Sources = append(b.Sources, rows)
	}
	return nil
}

// sound returns the rows of a sound.
func (s *Senses) sound(f *File) ([]float32, error) {
	if rows, ok := s.sounds.Get(f.Hash); ok {
		return rows, nil
	}
	data, err := f.again()
	if err != nil {
		return nil, err
	}
	samples, rate, err := waves(f.Path, data)
	if err != nil {
		return nil, err
	}
	rows, err := s.ear.Encode(samples, rate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	s.sounds.Put(f.Hash, rows, 4*int64(len(rows)), KeptBytes, s.account)
	return rows, nil
}
