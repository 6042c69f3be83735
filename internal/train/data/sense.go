package data

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"

	"atenia/internal/machine/ledger"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/sight"
	"atenia/internal/speech"
	"atenia/internal/store/durable"
	"atenia/internal/text/token"
)

// errNoSense is returned for images or sounds to a model that does not read them.
var errNoSense = errors.New("the model reads no such files")

// fileBytes bounds a file of an image.
const fileBytes = 256 << 20

// Senses are the encoders of one model. One goroutine at a time may use them.
type Senses struct {
	files  *file.Description
	text   *token.Tokenizer
	eye    *sight.Eye
	ear    *speech.Ear
	width  int
	sounds ledger.Recent[[32]byte, []float32] // rows that were encoded last

	account *ledger.Account // of encoders and of rows that are kept
	patches int             // of the largest image that was shown
	merge   int             // patches of the side of a token
}

// KeptBytes bounds the memory of rows of images, or of sounds, that were encoded
// last, see [Senses.Limit].
const KeptBytes = 256 << 20

// A File is a file of images or sound, as it was when the data was read.
type File struct {
	Path  string
	Hash  [32]byte
	Video bool
}

// Media is what a document shows, in order, and what it is said in.
type Media struct {
	Images []File
	Sound  *File
	End    int // the first token after the images
}

// Sum is a checksum of the files.
func (m *Media) Sum() uint32 {
	h := crc32.NewIEEE()
	for i := range m.Images {
		h.Write(m.Images[i].Hash[:])
	}
	if m.Sound != nil {
		h.Write(m.Sound.Hash[:])
	}
	return h.Sum32()
}

// openSenses reads how the model in a folder wants its images or sounds. It returns nil
// for a model that reads text alone. An image is made to fit three quarters of a row
// of so many tokens. It loads no weights.
func openSenses(dir string, t *token.Tokenizer, row, threads int) (s *Senses, err error) {
	d, err := file.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil {
			err = errors.Join(err, d.Close())
		}
	}()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil || m.Config.Vision == nil && m.Config.Audio == nil {
		return nil, err
	}
	a := ledger.New(ledger.Process, 0)
	o := &Senses{files: d, text: t, width: m.Config.Hidden, account: a}
	if m.Config.Vision != nil {
		o.merge = m.Config.Vision.Merge
		o.eye, err = sight.Open(sight.Config{Model: m, Files: d, Threads: threads, Account: a, MostTokens: row * 3 / 4})
	} else {
		o.ear, err = speech.Open(speech.Config{Model: m, Files: d, Tokenizer: t, Threads: threads, Account: a})
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Hears reports whether the model's documents are sounds.
func (s *Senses) Hears() bool { return s != nil && s.ear != nil }

// Close frees the encoders.
func (s *Senses) Close() error {
	if s == nil {
		return nil
	}
	if s.eye != nil {
		s.eye.Close()
	}
	if s.ear != nil {
		s.ear.Close()
	}
	s.sounds.Clear()
	return s.files.Close()
}

// token returns the text of a token.
func (s *Senses) token(id int32) (string, bool) { return s.text.Token(id) }

// read returns a file's bytes, of bounded length, and its hash.
func read(path string) (data []byte, hash [32]byte, err error) {
	if data, err = durable.ReadRegular(path, fileBytes); err != nil {
		return nil, hash, err
	}
	return data, sha256.Sum256(data), nil
}

// waves decodes the bytes of a sound file.
func waves(path string, data []byte) (samples []float32, rate int, err error) {
	if samples, rate, err = speech.Read(bytes.NewReader(data)); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return samples, rate, nil
}

// again reads a file that must not have changed since the data was read.
func (f *File) again() ([]byte, error) {
	data, hash, err := read(f.Path)
	if err == nil && hash != f.Hash {
		err = fmt.Errorf("%s has changed since training began", f.Path)
	}
	return data, err
}

// Show measures the images and videos of a document. f.Path is set in each.
func (s *Senses) Show(files []File) ([]*sight.Seen, error) {
	if s == nil || s.eye == nil {
		return nil, fmt.Errorf("%w: %w", errNoSense, sight.ErrBlind)
	}
	var seen []*sight.Seen
	for i := range files {
		f := &files[i]
		data, hash, err := read(f.Path)
		if err != nil {
			return nil, err
		}
		f.Hash = hash
		one, err := s.eye.Measure(data, f.Video)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		for _, p := range one.Pieces {
			s.patches = max(s.patches, p.Tokens()*s.merge*s.merge)
		}
		seen = append(seen, one)
	}
	return seen, nil
}

// Need returns the memory that encoding takes what was shown and heard so far, without
// the rows that are kept; 0 if the data has neither.
func (s *Senses) Need() (int64, error) {
	switch {
	case s == nil || s.ear == nil && s.patches == 0:
		return 0, nil
	case s.ear != nil:
		return s.ear.Need()
	}
	return s.eye.Need(s.patches)
}

// Limit bounds the memory of encoders and of the rows that are kept.
func (s *Senses) Limit(n int64) {
	if s != nil {
		s.account.SetLimit(n)
	}
}

// Marks returns how many marks of images a text has, of which said are as for Text.
func (s *Senses) Marks(text string, said []int) (int, error) {
	return s.eye.Marks(text, said, s.token)
}

// Text replaces the marks of images in a text by as many placeholders as they take. Bytes
// in said are of no mark; where they are afterwards is returned.
func (s *Senses) Text(text string, said []int, seen []*sight.Seen) (string, []int, error) {
	return s.eye.Text(text, said, seen, s.token)
}

// Place returns the places that images take in tokens: the first and the number of
// each stretch.
func (s *Senses) Place(ids []int32, seen []*sight.Seen) (out [][2]int, err error) {
	images, err := s.eye.Place(ids, seen)
	for i := range images {
		out = append(out, [2]int{images[i].At, images[i].Len})
	}
	return out, err
}

// Hear returns the tokens of what is said in a sound file, and the file. All but the
// first are to be learned.
func (s *Senses) Hear(path, text, language string, translate bool) ([]int32, *File, error) {
	if !s.Hears() {
		return nil, nil, fmt.Errorf("%w: %w", errNoSense, speech.ErrDeaf)
	}
	data, hash, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	if _, rate, err := waves(path, data); err != nil {
		return nil, nil, err
	} else if rate <= 0 {
		return nil, nil, fmt.Errorf("%s: a rate of %d", path, rate)
	}
	ids, err := s.ear.Line(text, language, translate)
	return ids, &File{Path: path, Hash: hash}, err
}
