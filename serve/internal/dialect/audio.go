package dialect

// POST /v1/audio/transcriptions.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// A sound is a multipart form: a file, and fields.
type sound struct {
	file   *os.File // a copy, whose name is gone if the system allows that
	fields map[string]string
}

// mostField bounds a field of a form that is not the file.
const mostField = 64 << 10

// readSound copies the file of a form. The caller closes it.
func readSound(r *host.Request) (s sound, err error) {
	s.fields = map[string]string{}
	form, err := r.MultipartReader()
	if err != nil {
		return s, host.Invalid("", "want a multipart form with a file: %v", err)
	}
	for {
		p, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return s, formError(err)
		}
		if p.FormName() == "file" && s.file == nil {
			if s.file, err = keep(p); err != nil {
				return s, formError(err)
			}
			continue
		}
		b, err := io.ReadAll(io.LimitReader(p, mostField))
		if err != nil {
			return s, formError(err)
		}
		s.fields[p.FormName()] = string(b)
	}
	if s.file == nil {
		return s, host.Invalid("file", "the form has no file")
	}
	return s, nil
}

func formError(err error) error {
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &host.Problem{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: fmt.Sprintf("the body has more than %d bytes, the server's limit", e.Limit)}
	}
	return host.Invalid("file", "the form cannot be read: %v", err)
}

// keep copies a file of a form to a temporary one. It has no name any more when the first
// byte is in it, so that a server which is killed leaves nothing; systems that do not
// remove open files remove it when it is closed.
func keep(p io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "atenia-sound-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = io.Copy(f, p); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		drop(f)
		return nil, err
	}
	return f, nil
}

func drop(f *os.File) {
	_ = f.Close() // nobody reads it again
	_ = os.Remove(f.Name())
}

func transcribe(w http.ResponseWriter, r *host.Request) error {
	s, err := readSound(r)
	if s.file != nil {
		defer drop(s.file)
	}
	if err != nil {
		return err
	}
	form := s.fields["response_format"]
	if form == "" {
		form = "json"
	}
	if !strings.Contains(" json text srt vtt verbose_json ", " "+form+" ") {
		return host.Invalid("response_format", "response_format is %q, want json, text, srt, vtt or verbose_json", form)
	}
	l, err := r.Borrow(s.fields["model"])
	if err != nil {
		return err
	}
	defer l.Release()
	samples, err := atenia.DecodeSound(s.file)
	if err != nil {
		return host.Invalid("file", "the file is no WAV or FLAC that can be read")
	}
	var out transcript
	o := atenia.TranscribeOptions{Language: s.fields["language"], Prompt: s.fields["prompt"]}
	for g, err := range l.Transcribe(r.Context(), samples, o) {
		if err != nil {
			return err
		}
		out.add(g)
	}
	out.Task, out.Duration = "transcribe", float64(len(samples.Samples))/float64(max(samples.Rate, 1))
	out.Text = strings.TrimSpace(out.Text)
	switch form {
	case "json":
		return r.WriteJSON(http.StatusOK, map[string]string{"text": out.Text})
	case "verbose_json":
		return r.WriteJSON(http.StatusOK, out)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = io.WriteString(w, out.in(form))
	return err
}

// A transcript is a response of the form verbose_json.
type transcript struct {
	Task     string    `json:"task"`
	Language string    `json:"language"`
	Duration float64   `json:"duration"`
	Text     string    `json:"text"`
	Segments []segment `json:"segments"`
}

type segment struct {
	ID          int     `json:"id"`
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Text        string  `json:"text"`
	Tokens      []int32 `json:"tokens"`
	Temperature float64 `json:"temperature"`
	LogProb     float64 `json:"avg_logprob"`
	NoSpeech    float64 `json:"no_speech_prob"`
}

func (t *transcript) add(g atenia.Segment) {
	t.Text += g.Text
	t.Language = g.Language
	t.Segments = append(t.Segments, segment{len(t.Segments), g.Start, g.End, g.Text, g.Tokens, g.Temperature, g.LogProb, g.NoSpeech})
}

// in returns the transcript as text, srt or vtt.
func (t *transcript) in(form string) string {
	if form == "text" {
		return t.Text + "\n"
	}
	point, b := ",", strings.Builder{}
	if form == "vtt" {
		point = "."
		b.WriteString("WEBVTT\n\n")
	}
	for i, s := range t.Segments {
		if form == "srt" {
			fmt.Fprintf(&b, "%d\n", i+1)
		}
		fmt.Fprintf(&b, "%s --> %s\n%s\n\n", clock(s.Start, point), clock(s.End, point), strings.TrimSpace(s.Text))
	}
	return b.String()
}

// clock writes seconds as hours, minutes, seconds and thousandths.
func clock(seconds float64, point string) string {
	const minute, hour = 60_000, 3_600_000
	ms := int64(seconds*1000 + 0.5)
	return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/hour, ms%hour/minute, ms%minute/1000, point, ms%1000)
}
