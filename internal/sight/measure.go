package sight

import (
	"crypto/sha256"

	"atenia/internal/exec"
)

// An encoding makes rows of patches.
type encoding func(p *exec.Patches) (*exec.Encoded, error)

// Measure returns what [Eye.Look], or [Eye.LookVideo], does without its rows: enough
// for [Eye.Text] and [Eye.Place]. It loads no weights.
func (e *Eye) Measure(data []byte, video bool) (*Seen, error) {
	if !video {
		s := &Seen{Hash: sha256.Sum256(data)}
		return s, e.cut(s, data, e.measure)
	}
	if !e.v.Video {
		return nil, errNoVideo
	}
	s := &Seen{Hash: sha256.Sum256(append([]byte("video"), data...))}
	return s, e.cutVideo(s, data, e.measure)
}

func (e *Eye) measure(p *exec.Patches) (*exec.Encoded, error) {
	return &exec.Encoded{Grid: [3]int{p.Grid[0], p.Grid[1] / e.v.Merge, p.Grid[2] / e.v.Merge}}, nil
}

// Marks returns how many marks of images and videos a text has; said are as for Text.
func (e *Eye) Marks(text string, said []int, token func(int32) (string, bool)) (int, error) {
	mark, err := e.Mark(token)
	if err != nil {
		return 0, err
	}
	n := count(text, said, mark)
	if e.v.Video {
		video, err := named(token, e.v.VideoToken)
		if err != nil {
			return 0, err
		}
		n += count(text, said, video)
	}
	return n, nil
}

func count(text string, said []int, mark string) (n int) {
	for at := written(text, said, 0, mark); at >= 0; n++ {
		at = written(text, said, at+len(mark), mark)
	}
	return n
}
