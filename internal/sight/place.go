package sight

import (
	"crypto/sha256"
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/sched"
)

// Place finds the placeholders of images in a prompt's tokens.
func (e *Eye) Place(ids []int32, seen []*Seen) ([]sched.Image, error) {
	var out []sched.Image
	at := 0
	for _, s := range seen {
		id := e.v.ImageToken
		if s.Video {
			id = e.v.VideoToken
		}
		for i, p := range s.pieces(e.v) {
			for at < len(ids) && int(ids[at]) != id {
				at++
			}
			n := p.Len
			for k := range n {
				if at+k >= len(ids) || int(ids[at+k]) != id {
					return nil, fmt.Errorf("the prompt has %d placeholders (token %d) at position %d, the image takes %d", k, id, at, n)
				}
			}
			p.At = at
			out = append(out, sched.Image{Span: p, Hash: pieceHash(s.Hash, i)})
			at += n
		}
	}
	for ; at < len(ids); at++ {
		if id := int(ids[at]); id == e.v.ImageToken || e.v.Video && id == e.v.VideoToken {
			return nil, fmt.Errorf("the prompt has a placeholder (token %d) at position %d for which there is no image", id, at)
		}
	}
	return out, nil
}

// pieces returns the stretches of placeholders of an image: its pieces, each row of
// them if tokens stand between the rows, or each group of frames of a video that has
// times between them.
func (s *Seen) pieces(v *compile.Vision) (out []exec.Span) {
	for _, p := range s.Pieces {
		if s.Times != nil {
			n := p.Grid[1] * p.Grid[2]
			for i := range p.Grid[0] {
				out = append(out, exec.Span{Len: n, Grid: [3]int{1, p.Grid[1], p.Grid[2]}, Image: p.Encoded, From: i * n})
			}
			continue
		}
		if v.Images.Frame != compile.FrameRows {
			out = append(out, exec.Span{Len: p.Tokens(), Grid: p.Grid, Step: s.Step, Image: p.Encoded})
			continue
		}
		n := p.Grid[2]
		for row := range p.Grid[1] {
			out = append(out, exec.Span{Len: n, From: row * n, Image: p.Encoded})
		}
	}
	return out
}

func pieceHash(h [32]byte, i int) [32]byte {
	return sha256.Sum256(append(h[:], byte(i), byte(i>>8)))
}
