package sight

import (
	"crypto/sha256"
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/sched"
)

// Place finds the placeholders of images in a prompt's tokens.
func (e *Eye) Place(ids []int32, seen []*Seen) ([]sched.Image, error) {
	var out []sched.Image
	at := 0
	for _, s := range seen {
		for i, p := range s.Pieces {
			for at < len(ids) && int(ids[at]) != e.v.ImageToken {
				at++
			}
			n := p.Tokens()
			for k := range n {
				if at+k >= len(ids) || int(ids[at+k]) != e.v.ImageToken {
					return nil, fmt.Errorf("the prompt has %d placeholders (token %d) at position %d, the image takes %d", k, e.v.ImageToken, at, n)
				}
			}
			out = append(out, sched.Image{Span: exec.Span{At: at, Len: n, Grid: p.Grid, Image: p.Encoded}, Hash: pieceHash(s.Hash, i)})
			at += n
		}
	}
	for ; at < len(ids); at++ {
		if int(ids[at]) == e.v.ImageToken {
			return nil, fmt.Errorf("the prompt has a placeholder (token %d) at position %d for which there is no image", e.v.ImageToken, at)
		}
	}
	return out, nil
}

func pieceHash(h [32]byte, i int) [32]byte {
	return sha256.Sum256(append(h[:], byte(i), byte(i>>8)))
}
