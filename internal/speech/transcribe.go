package speech

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Model is what a transcription needs of a model beside its executor.
type Model struct {
	Tokens  Tokens
	Mels    int // bands of a frame
	Frames  int // of a window: 3000
	Context int // of the decoder
	// Text decodes tokens of text, without timestamps.
	Text func([]int32) string
}

// Options are how to transcribe. The zero value is openai/whisper's defaults with
// a greedy search.
type Options struct {
	Language  string // code, such as "en"; "" = found from the sound
	Translate bool   // into English
	NoTimes   bool   // one segment a window, without timestamps
	Beam      int    // width of the beam search at temperature 0; 0 or 1 = greedy
	Patience  float64
	Prompt    []int32 // what was said before, as tokens
	Alone     bool    // do not give a window the text of those before
	Best      int     // lines at temperatures above 0; 0 = 5
	Seed      uint64
	// Temperatures are tried one after the other; nil = 0, .2, .4, .6, .8, 1.
	Temperatures []float64
	// Thresholds; 0 = 2.4, −1 and 0.6.
	Compression, MeanLog, NoSpeech float64
}

func (o *Options) fill() {
	set := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Compression, 2.4)
	set(&o.MeanLog, -1)
	set(&o.NoSpeech, .6)
	set(&o.Patience, 1)
	if o.Best == 0 {
		o.Best = 5
	}
	if o.Temperatures == nil {
		o.Temperatures = []float64{0, .2, .4, .6, .8, 1}
	}
}

// A Segment is what is said from Start to End, in seconds.
type Segment struct {
	Start, End float64
	Text       string
	Tokens     []int32
	Language   string
	Decoded    Decoded // the window it is from
}

// A Result is a transcription.
type Result struct {
	Language string
	Segments []Segment
}

// frameTime is the time between two frames in seconds.
const frameTime = 0.01

// Transcribe writes down what the features of a sound hold: frames of its log-mel
// spectrum, [n, Mels], of which the last Frames are padding. each, if not nil, is
// called with every segment as it is found.
func (m *Model) Transcribe(ctx context.Context, r *Runner, features []float32, o Options, each func(Segment) error) (*Result, error) {
	o.fill()
	n := len(features)/m.Mels - m.Frames
	res := &Result{Language: o.Language}
	t := &m.Tokens
	if len(t.Languages) == 0 {
		if o.Language != "" && o.Language != "en" || o.Translate {
			return nil, fmt.Errorf("this model knows English alone")
		}
		res.Language = "en"
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x5eed))
	said := slices.Clone(o.Prompt)
	reset := 0 // of said, where what the next window is given begins
	for seek := 0; seek < n; {
		size := min(m.Frames, n-seek)
		source, err := r.Encode(ctx, m.window(features, seek, size))
		if err != nil {
			return nil, err
		}
		if res.Language == "" {
			if res.Language, err = m.language(ctx, r, source); err != nil {
				return nil, err
			}
		}
		s, err := m.search(r, res.Language, &o, said[reset:])
		if err != nil {
			return nil, err
		}
		d, err := m.decode(ctx, s, source, &o, rng)
		if err != nil {
			return nil, err
		}
		if d.NoSpeech > o.NoSpeech && !(d.Mean > o.MeanLog) {
			seek += size
			continue
		}
		found, next := m.cut(&d, seek, size, o.NoTimes)
		seek = next
		for _, g := range found {
			said = append(said, g.Tokens...)
			g.Language = res.Language
			if g.Text == "" || g.Start == g.End {
				continue
			}
			res.Segments = append(res.Segments, g)
			if each != nil {
				if err := each(g); err != nil {
					return nil, err
				}
			}
		}
		if o.Alone || d.Temperature > .5 {
			reset = len(said)
		}
	}
	return res, nil
}

// window returns the frames of a window, followed by silence.
func (m *Model) window(features []float32, seek, size int) []float32 {
	w := make([]float32, m.Frames*m.Mels)
	copy(w, features[seek*m.Mels:(seek+size)*m.Mels])
	return w
}

// language returns the code of the language that is most likely spoken.
func (m *Model) language(ctx context.Context, r *Runner, source []float32) (string, error) {
	line := r.Open(source)
	defer line.Close()
	rows, err := r.Feed(ctx, line, []int32{m.Tokens.Start}, 0)
	if err != nil {
		return "", err
	}
	best := ""
	for code, id := range m.Tokens.Languages {
		if old := m.Tokens.Languages[best]; best == "" || rows[0][id] > rows[0][old] || rows[0][id] == rows[0][old] && id < old {
			best = code
		}
	}
	return best, nil
}

// search is the search of a window after what was said.
func (m *Model) search(r *Runner, language string, o *Options, said []int32) (*search, error) {
	t := &m.Tokens
	s := &search{r: r, o: order{t: t, times: !o.NoTimes, first: int(math.Round(1 / timeStep))}, most: m.Context / 2}
	if len(said) > 0 {
		s.begin = append(s.begin, t.Previous)
		s.begin = append(s.begin, said[max(0, len(said)-(m.Context/2-1)):]...)
	}
	s.sot = len(s.begin)
	s.begin = append(s.begin, t.Start)
	if len(t.Languages) > 0 {
		id, ok := t.Languages[language]
		if !ok {
			return nil, fmt.Errorf("this model has no language %q", language)
		}
		task := t.Transcribe
		if o.Translate {
			task = t.Translate
		}
		s.begin = append(s.begin, id, task)
	}
	if o.NoTimes {
		s.begin = append(s.begin, t.NoTimes)
	}
	s.most = min(s.most, m.Context-len(s.begin)+1) // the last token is not fed
	return s, nil
}

// decode tries temperatures until a result neither repeats itself nor is unlikely.
func (m *Model) decode(ctx context.Context, s *search, source []float32, o *Options, rng *rand.Rand) (d Decoded, err error) {
	for _, temperature := range o.Temperatures {
		if temperature == 0 && o.Beam > 1 {
			d, err = s.beam(ctx, source, o.Beam, o.Patience)
		} else {
			d, err = s.sample(ctx, source, temperature, o.Best, rng)
		}
		if err != nil {
			return d, err
		}
		if d.Compression, err = compression(m.Text(m.text(d.Tokens))); err != nil {
			return d, err
		}
		again := d.Compression > o.Compression || d.Mean < o.MeanLog
		if d.NoSpeech > o.NoSpeech && d.Mean < o.MeanLog {
			again = false // silence
		}
		if !again {
			break
		}
	}
	return d, nil
}

// compression returns how much shorter a text is compressed.
func compression(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	return float64(len(text)) / float64(b.Len()), nil
}

// text is the tokens without timestamps and other special ones.
func (m *Model) text(tokens []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(tokens), func(id int32) bool { return id >= m.Tokens.End })
}

// cut divides the tokens of a window at pairs of timestamps, and returns where the
// next window begins.
func (m *Model) cut(d *Decoded, seek, size int, noTimes bool) (out []Segment, next int) {
	t, offset := m.Tokens.Time, float64(seek)*frameTime
	segment := func(from, to float64, tokens []int32) {
		out = append(out, Segment{Start: offset + from, End: offset + to, Text: m.Text(m.text(tokens)), Tokens: tokens, Decoded: *d})
	}
	isTime := func(i int) bool { return i >= 0 && d.Tokens[i] >= t }
	at := func(i int) int { return int(d.Tokens[i] - t) }
	n := len(d.Tokens)
	single := n >= 2 && isTime(n-1) && !isTime(n-2) // text goes to the end of the last segment
	var cuts []int
	if !noTimes {
		for i := 1; i < n; i++ {
			if isTime(i-1) && isTime(i) {
				cuts = append(cuts, i)
			}
		}
	}
	if len(cuts) == 0 {
		length := float64(size) * frameTime
		for i := n - 1; i >= 0; i-- {
			if isTime(i) {
				if at(i) > 0 {
					length = float64(at(i)) * timeStep
				}
				break
			}
		}
		segment(0, length, d.Tokens)
		return out, seek + size
	}
	if single {
		cuts = append(cuts, n)
	}
	last := 0
	for _, c := range cuts {
		segment(float64(at(last))*timeStep, float64(at(c-1))*timeStep, d.Tokens[last:c])
		last = c
	}
	if single {
		return out, seek + size
	}
	return out, seek + at(last-1)*int(math.Round(timeStep/frameTime))
}
