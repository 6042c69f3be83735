package sight

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// ErrBlind is returned for images to a model that reads text alone.
var ErrBlind = errors.New("the model reads text alone: it has no image tower")

// A Config is what an eye is made of.
type Config struct {
	Model   *compile.Model
	Files   *file.Description // open as long as the eye
	Threads int
	Precise bool
	Account *ledger.Account
	// MostTokens bounds the tokens of one image, for models that choose them by its
	// size; 0 = what the model's processor allows.
	MostTokens int
}

// An Eye encodes images for one model. Its methods may be called from any
// goroutine; images are encoded one after the other.
type Eye struct {
	c       Config
	v       *compile.Vision
	recipe  Recipe
	film    Film // if the model reads videos
	weights *residence.Tower

	mu    sync.Mutex
	tower *exec.Tower // nil until the first image, sized for the largest so far
	cache ledger.Recent[[32]byte, *Seen]
	took  time.Duration // by the tower so far
}

// most bounds the memory of images that were encoded last.
const most = 256 << 20

// A Seen is an encoded image.
type Seen struct {
	Hash   [32]byte
	Pieces []Piece
	Video  bool
	Step   float64       // of a video: positions between two pieces of time
	Took   time.Duration // of the tower
	Times  []float64     // of a video whose pieces of time are shown one by one: their seconds
}

// A Piece is the whole image, or a tile of it.
type Piece struct {
	*exec.Encoded
	Row, Col int // of a tile, from 1; 0 = the whole
}

// Open reads how the model wants its images. It reads no weights.
func Open(c Config) (*Eye, error) {
	v := c.Model.Config.Vision
	if v == nil {
		return nil, ErrBlind
	}
	e := &Eye{c: c, v: v, recipe: recipeOf(v)}
	if err := e.readRecipe(); err != nil {
		return nil, err
	}
	if v.Video {
		e.film = filmOf(v)
		if err := e.readFilm(); err != nil {
			return nil, err
		}
	}
	if area := c.MostTokens * v.Patch * v.Patch * v.Merge * v.Merge; e.recipe.Kind == Area && area > 0 {
		e.recipe.MaxPixels = min(e.recipe.MaxPixels, area)
		e.recipe.MinPixels = min(e.recipe.MinPixels, e.recipe.MaxPixels)
	}
	if e.recipe.Kind == Longest && c.MostTokens > 0 { // at most a square, and a token after each row
		side := 1
		for (side+1)*(side+2) <= c.MostTokens {
			side++
		}
		e.recipe.Width = min(e.recipe.Width, side*v.Patch*v.Merge)
	}
	if err := e.recipe.Check(); err != nil {
		return nil, err
	}
	return e, nil
}

// Look encodes an image file, unless it is among the last that were.
func (e *Eye) Look(data []byte) (*Seen, error) {
	return e.see(sha256.Sum256(data), data, e.cut)
}

// see returns what was encoded under a hash, or has cut encode it.
func (e *Eye) see(hash [32]byte, data []byte, cut func(*Seen, []byte, encoding) error) (*Seen, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.cache.Get(hash); ok {
		return s, nil
	}
	s, before := &Seen{Hash: hash}, e.took
	if err := cut(s, data, e.encode); err != nil {
		return nil, err
	}
	s.Took = e.took - before
	bytes := int64(0)
	for _, p := range s.Pieces {
		bytes += p.Bytes()
	}
	e.cache.Put(hash, s, bytes, most, e.c.Account)
	return s, nil
}

// cut prepares an image and has its pieces encoded.
func (e *Eye) cut(s *Seen, data []byte, encode encoding) error {
	p, err := Decode(data)
	if err != nil {
		return err
	}
	pieces, err := e.recipe.Cut(p)
	if err != nil {
		return err
	}
	for i := range pieces {
		enc, err := encode(&exec.Patches{Grid: pieces[i].Grid, Values: pieces[i].Values})
		if err != nil {
			return err
		}
		s.Pieces = append(s.Pieces, Piece{enc, pieces[i].Row, pieces[i].Col})
	}
	return nil
}

// encode runs the tower, which grows to the largest image so far.
func (e *Eye) encode(p *exec.Patches) (*exec.Encoded, error) {
	n := p.Grid[0] * p.Grid[1] * p.Grid[2]
	if e.tower == nil || n > e.tower.MaxPatches() {
		if err := e.grow(n); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	enc, err := e.tower.Encode(p, nil)
	e.took += time.Since(start)
	return enc, err
}

// config is that of a tower for images of so many patches.
func (e *Eye) config(patches int) exec.Config {
	return residence.TowerConfig(&e.c.Model.Config, patches, e.c.Threads, e.c.Precise, e.c.Account)
}

// Need returns the memory that encoding an image of so many patches takes.
func (e *Eye) Need(patches int) (int64, error) {
	return residence.TowerNeed(e.c.Model, e.c.Files, e.config(patches))
}

func (e *Eye) grow(patches int) error {
	if err := e.load(); err != nil {
		return err
	}
	if e.tower != nil {
		e.tower.Close()
		e.tower = nil
	}
	var err error
	e.tower, err = exec.NewTower(&e.c.Model.Plans, e.weights.Weights, e.config(patches))
	if err != nil {
		return fmt.Errorf("the image tower: %w", err)
	}
	return nil
}

// load makes the tower's weights from the model's files.
func (e *Eye) load() error {
	if e.weights != nil {
		return nil
	}
	ws, err := residence.OfTower(e.c.Model, e.c.Files, e.c.Account)
	if err != nil {
		return fmt.Errorf("the image tower: %w", err)
	}
	e.weights = ws
	return nil
}

// Close frees the tower and what it encoded.
func (e *Eye) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tower != nil {
		e.tower.Close()
		e.tower = nil
	}
	if e.weights != nil {
		e.weights.Close()
		e.weights = nil
	}
	e.cache.Clear()
}

// Mark is what a chat template writes for an image; token returns the text of a
// token.
func (e *Eye) Mark(token func(int32) (string, bool)) (string, error) {
	id := e.v.ImageToken
	if e.v.Images.Frame == compile.FrameParagraph {
		id = e.v.StartToken
	}
	return named(token, id)
}

func named(token func(int32) (string, bool), id int) (string, error) {
	if id < 0 || id > math.MaxInt32 {
		return "", fmt.Errorf("token %d of images is not in the vocabulary", id)
	}
	text, ok := token(int32(id))
	if !ok || text == "" {
		return "", fmt.Errorf("token %d of images is not in the vocabulary", id)
	}
	return text, nil
}

// Text replaces the marks of a prompt, one for each image, by placeholders, as
// many as the images have tokens. Bytes of the prompt in said, in order, are of no mark;
// where they are afterwards is returned.
func (e *Eye) Text(prompt string, said []int, seen []*Seen, token func(int32) (string, bool)) (string, []int, error) {
	mark, err := e.Mark(token)
	if err != nil {
		return "", nil, err
	}
	video := ""
	if e.v.Video {
		if video, err = named(token, e.v.VideoToken); err != nil {
			return "", nil, err
		}
	}
	var b strings.Builder
	moved := said[:0:0] // nil if said is
	done := 0
	keep := func(to int) {
		for ; len(said) > 0 && said[0] < to; said = said[1:] {
			moved = append(moved, b.Len()+said[0]-done)
		}
		b.WriteString(prompt[done:to])
		done = to
	}
	for i, s := range seen {
		want, other := mark, video
		if s.Video {
			want, other = video, mark
		}
		at := written(prompt, said, done, want)
		if before := written(prompt, said, done, other); at < 0 || before >= 0 && before < at {
			return "", nil, fmt.Errorf("the prompt has no mark %s for image %d of %d", want, i+1, len(seen))
		}
		keep(at)
		if err := e.write(&b, s, token); err != nil {
			return "", nil, err
		}
		done += len(want)
	}
	if written(prompt, said, done, mark) >= 0 || written(prompt, said, done, video) >= 0 {
		return "", nil, fmt.Errorf("the prompt has more marks of images (%s) than the %d images", mark, len(seen))
	}
	keep(len(prompt))
	return b.String(), moved, nil
}

// written returns where from byte from on a mark is that has no byte of said, or -1.
func written(prompt string, said []int, from int, mark string) int {
	for mark != "" {
		i := strings.Index(prompt[from:], mark)
		if i < 0 {
			break
		}
		from += i
		k, _ := slices.BinarySearch(said, from)
		if k == len(said) || said[k] >= from+len(mark) {
			return from
		}
		from = said[k] + 1
	}
	return -1
}

// write writes the placeholders of an image, framed as the model was trained.
func (e *Eye) write(b *strings.Builder, s *Seen, token func(int32) (string, bool)) error {
	id := e.v.ImageToken
	if s.Video {
		id = e.v.VideoToken
	}
	image, err := named(token, id)
	if err != nil {
		return err
	}
	if s.Times != nil {
		return e.writeTimes(b, s, image, token)
	}
	switch e.v.Images.Frame {
	case compile.FrameParagraph:
		start, err := named(token, e.v.StartToken)
		if err != nil {
			return err
		}
		end, err := named(token, e.v.EndToken)
		if err != nil {
			return err
		}
		// Parts of an image are introduced (transformers, Gemma3Processor).
		for i, p := range s.Pieces {
			before, after := " ", ""
			switch {
			case len(s.Pieces) == 1:
				before = ""
			case i == 0:
				before, after = "Here is the original image ", " and here are some crops to help you see better"
			}
			b.WriteString(before + "\n\n" + start + strings.Repeat(image, p.Tokens()) + end + "\n\n" + after)
		}
	case compile.FrameTiles:
		b.WriteString("<|image_start|>")
		for i, p := range s.Pieces {
			switch {
			case p.Row > 0:
				fmt.Fprintf(b, "<|img_row_%d_col_%d|>", p.Row, p.Col)
			case i > 0:
				b.WriteString("<|img_thumbnail|>")
			}
			b.WriteString(strings.Repeat(image, p.Tokens()))
		}
		b.WriteString("<|image_end|>")
	case compile.FrameRows:
		for _, p := range s.Pieces {
			for i := range p.Grid[1] {
				b.WriteString(strings.Repeat(image, p.Grid[2]))
				if i < p.Grid[1]-1 {
					b.WriteString("[IMG_BREAK]")
				}
			}
			b.WriteString("[IMG_END]")
		}
	default:
		for _, p := range s.Pieces {
			b.WriteString(strings.Repeat(image, p.Tokens()))
		}
	}
	return nil
}
