package atenia

import (
	"context"
	"errors"
	"io"
	"iter"

	"atenia/internal/model/file"
	"atenia/internal/speech"
)

// ErrNoSpeech is returned for sounds to a model that does not transcribe.
var ErrNoSpeech = speech.ErrDeaf

// A Sound is samples of one channel. [ReadSound] reads them from a file.
type Sound struct {
	Samples []float32 // full scale is ±1
	Rate    int       // samples a second
}

// ReadSound reads a WAV or FLAC file: the mean of its channels.
func ReadSound(path string) (Sound, error) {
	samples, rate, err := speech.ReadFile(path)
	return Sound{samples, rate}, err
}

// DecodeSound is [ReadSound] for what a reader has, such as the body of a request.
func DecodeSound(r io.Reader) (Sound, error) {
	samples, rate, err := speech.Read(r)
	return Sound{samples, rate}, err
}

// TranscribeOptions shape a transcription. The zero value finds the language and
// decodes greedily, with timestamps, at higher temperatures where a result
// repeats itself or is unlikely.
type TranscribeOptions struct {
	Language     string // code, such as "en"; "" = found from the first window
	Translate    bool   // into English
	NoTimestamps bool   // one segment for each window of 30 seconds
	Beam         int    // width of the beam search; 0 or 1 = greedy
	Prompt       string // what was said before, or names that occur
	Alone        bool   // each window by itself, without the text of those before
	Seed         uint64 // of temperatures above 0
	// NoFallback decodes once, at temperature 0.
	NoFallback bool
}

// A Segment is what is said from Start to End, in seconds.
type Segment struct {
	Start, End float64
	Text       string
	Tokens     []int32 // with timestamps
	// LogProb is the mean logarithm of a token's probability in the window that the
	// segment is from, NoSpeech the probability that nothing is said in it.
	LogProb, NoSpeech float64
	Temperature       float64
	Language          string
}

// Transcribe yields what is said in a sound, segment by segment as windows of 30
// seconds are decoded (Whisper, arXiv 2212.04356). Canceling ctx or leaving the
// loop ends it. Other requests run between its steps, and in the loop everything may be
// asked of the model, Close too, which ends it with [ErrClosed]. A model without an audio
// encoder returns [ErrNoSpeech].
func (m *Model) Transcribe(ctx context.Context, s Sound, o TranscribeOptions) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		if m.ear == nil {
			yield(Segment{}, ErrNoSpeech)
			return
		}
		p := speech.Options{Language: o.Language, Translate: o.Translate, NoTimes: o.NoTimestamps, Beam: o.Beam, Alone: o.Alone, Seed: o.Seed, Prompt: m.ear.Prompt(o.Prompt)}
		if o.NoFallback {
			p.Temperatures = []float64{0}
		}
		left := errors.New("left")
		say := func(g speech.Segment) error {
			seg := Segment{
				Start: g.Start, End: g.End, Text: g.Text, Tokens: g.Tokens, LogProb: g.Decoded.Mean, NoSpeech: g.Decoded.NoSpeech,
				Temperature: g.Decoded.Temperature, Language: g.Language,
			}
			if !yield(seg, nil) {
				return left
			}
			return nil
		}
		err := file.Guard(func() error {
			_, err := m.ear.Transcribe(ctx, s.Samples, s.Rate, p, say)
			return err
		})
		if errors.Is(err, speech.ErrClosed) {
			err = ErrClosed
		}
		if err != nil && !errors.Is(err, left) {
			yield(Segment{}, publish(err))
		}
	}
}

// openEar prepares for sounds if the model has an audio encoder. It loads nothing.
func (m *Model) openEar() (err error) {
	p := m.plan.compiled
	if p.Model.Config.Audio == nil {
		return nil
	}
	m.ear, err = speech.Open(speech.Config{
		Model: p.Model, Files: m.files, Tokenizer: m.text.Tokenizer, From: m.engine.Sched,
		Threads: p.Config.Threads, Precise: p.Config.Precise, Account: p.Account(),
	})
	return err
}
