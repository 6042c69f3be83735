package sight

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"atenia/internal/exec"
)

// errNoVideo is returned for videos to a model that reads images alone.
var errNoVideo = errors.New("the model reads no videos as such: show it some of the frames as images")

// LookVideo encodes an animated GIF file: the frames that the model's video
// processor takes, as large as it makes them; fewer and smaller ones if they would
// have more tokens than [Config.MostTokens].
func (e *Eye) LookVideo(data []byte) (*Seen, error) {
	if !e.v.Video {
		return nil, errNoVideo
	}
	return e.see(sha256.Sum256(append([]byte("video"), data...)), data, e.cutVideo)
}

// cutVideo prepares a video and has its one piece encoded.
func (e *Eye) cutVideo(s *Seen, data []byte, encode encoding) error {
	var shot Shooting
	all := 0
	frames, err := DecodeVideo(data, func(n, w, h int, seconds float64) ([]int, error) {
		var err error
		all = n
		shot, err = e.film.Shoot(n, w, h, seconds, e.c.MostTokens)
		return shot.Frames, err
	})
	if err != nil {
		return err
	}
	piece, err := e.film.Cut(frames, &shot)
	if err != nil {
		return err
	}
	enc, err := encode(&exec.Patches{Grid: piece.Grid, Values: piece.Values})
	if err != nil {
		return err
	}
	s.Video, s.Step, s.Pieces = true, 1, []Piece{{Encoded: enc}}
	switch {
	case e.v.Videos.Timed:
		s.Times = shot.Times(e.v.Temporal)
	case e.v.PerSecond > 0:
		// The processors hand over numbers of 32 bits.
		s.Step = float64(e.v.PerSecond * float32(shot.Seconds(e.v.Temporal, all)))
	}
	return nil
}

// writeTimes writes the placeholders of a video group by group, each after the
// second when it is seen (transformers, Qwen3VLProcessor, replace_video_token).
func (e *Eye) writeTimes(b *strings.Builder, s *Seen, mark string, token func(int32) (string, bool)) error {
	start, err := named(token, e.v.StartToken)
	if err != nil {
		return err
	}
	end, err := named(token, e.v.EndToken)
	if err != nil {
		return err
	}
	g := s.Pieces[0].Grid
	for _, t := range s.Times {
		fmt.Fprintf(b, "<%.1f seconds>%s%s%s", t, start, strings.Repeat(mark, g[1]*g[2]), end)
	}
	return nil
}
