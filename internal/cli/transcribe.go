package cli

import (
	"fmt"
	"io"
	"strings"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// transcript is what transcribe --json prints.
type transcript struct {
	File     string              `json:"file"`
	Language string              `json:"language"`
	Text     string              `json:"text"`
	Segments []transcriptSegment `json:"segments"`
}

type transcriptSegment struct {
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Text        string  `json:"text"`
	Tokens      []int32 `json:"tokens"`
	LogProb     float64 `json:"avg_logprob"`
	NoSpeech    float64 `json:"no_speech_prob"`
	Temperature float64 `json:"temperature"`
}

func (a *app) transcribe() *cobra.Command {
	var mf modelFlags
	var o atenia.TranscribeOptions
	var form string
	c := &cobra.Command{
		Use:   "transcribe MODEL FILE...",
		Short: "Write down what is said in sound files",
		Long: "Write down what is said in WAV and FLAC files, of any rate and number of channels, with a Whisper model.\n" +
			"Segments are printed as they are found.",
		Example: "  atenia transcribe whisper-tiny talk.wav\n" +
			"  atenia transcribe whisper-tiny talk.flac --language de --beam 5 --format srt",
		Args: cobra.MinimumNArgs(2),
	}
	mf.registerRunning(c.Flags())
	c.Flags().StringVar(&o.Language, "language", "", "`CODE` of the language, such as en; without it, found from the sound")
	c.Flags().BoolVar(&o.Translate, "translate", false, "translate into English")
	c.Flags().IntVar(&o.Beam, "beam", 0, "`WIDTH` of the beam search; 0 = greedy")
	c.Flags().StringVar(&o.Prompt, "prompt", "", "`TEXT` that came before, or names that occur")
	c.Flags().BoolVar(&o.NoTimestamps, "no-timestamps", false, "do not look for the times of segments")
	c.Flags().BoolVar(&o.Alone, "alone", false, "decode each window of 30 seconds without the text before it")
	c.Flags().BoolVar(&o.NoFallback, "no-fallback", false, "do not decode unlikely windows again at higher temperatures")
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "of the random numbers at temperatures above 0")
	c.Flags().StringVar(&form, "format", "times", "`FORM` of the text: times, text, srt or vtt")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if _, ok := transcriptForms[form]; !ok {
			return command.Usagef("--format: %q is none of times, text, srt, vtt", form)
		}
		if o.Beam < 0 || o.Beam > 64 {
			return command.Usagef("--beam: want 0 to 64, got %d", o.Beam)
		}
		m, err := mf.open(c.Context(), a.env().Err, args[0])
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		var all []transcript
		for _, path := range args[1:] {
			sound, err := atenia.ReadSound(path)
			if err != nil {
				return err
			}
			t := transcript{File: path, Segments: []transcriptSegment{}}
			w := transcriptForms[form]
			if !a.json && form == "vtt" {
				fmt.Fprint(a.out, "WEBVTT\n\n")
			}
			for s, err := range m.Transcribe(c.Context(), sound, o) {
				if err != nil {
					return err
				}
				if t.Language = s.Language; !a.json {
					w(a.out, len(t.Segments), &s)
				}
				t.Segments = append(t.Segments, transcriptSegment{s.Start, s.End, s.Text, s.Tokens, s.LogProb, s.NoSpeech, s.Temperature})
				t.Text += s.Text
			}
			all = append(all, t)
		}
		if a.json {
			return a.printJSON(all)
		}
		return nil
	}
	return c
}

// transcriptForms write segment i of a file.
var transcriptForms = map[string]func(w io.Writer, i int, s *atenia.Segment){
	"times": func(w io.Writer, _ int, s *atenia.Segment) {
		fmt.Fprintf(w, "[%s --> %s] %s\n", clock(s.Start, "."), clock(s.End, "."), strings.TrimSpace(s.Text))
	},
	"text": func(w io.Writer, _ int, s *atenia.Segment) { fmt.Fprintln(w, strings.TrimSpace(s.Text)) },
	"srt": func(w io.Writer, i int, s *atenia.Segment) {
		fmt.Fprintf(w, "%d\n%s --> %s\n%s\n\n", i+1, clock(s.Start, ","), clock(s.End, ","), strings.TrimSpace(s.Text))
	},
	"vtt": func(w io.Writer, _ int, s *atenia.Segment) {
		fmt.Fprintf(w, "%s --> %s\n%s\n\n", clock(s.Start, "."), clock(s.End, "."), strings.TrimSpace(s.Text))
	},
}

// clock writes seconds as hours, minutes, seconds and thousandths.
func clock(seconds float64, point string) string {
	ms := int64(seconds*1000 + .5)
	return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3600000, ms/60000%60, ms/1000%60, point, ms%1000)
}
