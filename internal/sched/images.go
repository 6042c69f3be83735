package sched

import (
	"fmt"

	"atenia/internal/exec"
)

// An Image is a stretch of a prompt whose rows come from an image. Its tokens are
// placeholders, equal in all prompts: what it shows is known by Hash.
type Image struct {
	exec.Span
	Hash [32]byte
}

// checkImages rejects images that no step could take.
func (s *Scheduler) checkImages(r *Request) error {
	last := 0
	for i := range r.Images {
		p := &r.Images[i]
		if p.At < last || p.Len < 1 || p.At+p.Len > len(r.Prompt) || p.Image == nil {
			return fmt.Errorf("image %d takes positions %d to %d of a prompt of %d tokens", i, p.At, p.At+p.Len, len(r.Prompt))
		}
		last = p.At + p.Len
		if most := s.x.Config().MaxTokens - len(s.admission.slots) + 1; s.x.Whole() && p.Len > most {
			return fmt.Errorf("image %d takes %d tokens that belong into one step, which has at most %d: open the model with larger steps", i, p.Len, most)
		}
	}
	return nil
}

// sameImages returns how many of the first n positions have the same images in
// both sequences.
func sameImages(a, b []Image, n int, whole bool) int {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return min(n, b[i].At)
		case i >= len(b):
			return min(n, a[i].At)
		case a[i].At != b[i].At || a[i].Len != b[i].Len || a[i].Grid != b[i].Grid || a[i].Step != b[i].Step || a[i].Hash != b[i].Hash:
			return min(n, a[i].At, b[i].At)
		case whole && a[i].At < n && n < a[i].At+a[i].Len:
			return a[i].At
		}
		if a[i].At >= n {
			break
		}
	}
	return n
}

// setImages makes the images of a request those of the slot.
func (sl *slot) setImages(images []Image) {
	sl.images, sl.spans = images, sl.spans[:0]
	for i := range images {
		sl.spans = append(sl.spans, images[i].Span)
	}
}

// dropRows lets the rows of images go: what they were computed to is cached.
func (sl *slot) dropRows() {
	for i := range sl.images {
		sl.images[i].Image = nil
	}
	sl.spans = sl.spans[:0]
}

// wholeImages shortens a chunk that would end inside an image whose tokens attend to
// each other.
func (sl *slot) wholeImages(n int) int {
	if !sl.s.x.Whole() {
		return n
	}
	for i := range sl.spans {
		if p := &sl.spans[i]; p.At < sl.done+n && sl.done+n < p.At+p.Len {
			return max(0, p.At-sl.done)
		}
	}
	return n
}

// promptRows returns how many of n tokens of a prompt a step has that may have so many
// rows of prompts: an image whose tokens attend to each other is not divided.
func (sl *slot) promptRows(n, rows int) int {
	if n <= rows {
		return n
	}
	if rows > 0 && sl.s.x.Whole() && sl.wholeImages(rows) == 0 {
		for i := range sl.spans {
			if end := sl.spans[i].At + sl.spans[i].Len; end > sl.done {
				return min(n, end-sl.done)
			}
		}
	}
	return rows
}
