package flow

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"atenia/flow"
	"atenia/flow/live"
	"atenia/flow/node"
	"atenia/internal/cli/command"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// A score is the flags for notes and events at frames.
type score struct {
	files  []string // [NODE=]FILE
	device string
	cues   string
	kept   string

	tokens []flow.ControlToken // of cues
	songs  []song
}

// A song is a MIDI file and the node that plays it, "" for every node that takes events.
type song struct {
	node string
	file *live.MIDIFile
}

func (k *score) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&k.files, "midi", nil, "MIDI `[NODE=]FILE` to play by nodes that take events (may be repeated)")
	f.StringVar(&k.device, "midi-in", "", "`DEVICE`, pipe or file of MIDI bytes to play as they come, in real time")
	f.StringVar(&k.cues, "events", "", "`FILE` of events at frames to play, as --events-out writes it")
	f.StringVar(&k.kept, "events-out", "", "write all events with the frames they got to `FILE`, for --events")
}

// largestCues bounds a file of events.
const largestCues = 64 << 20

// open reads the files, and names the parameters that change.
func (k *score) open(o *flow.Options) error {
	if k.cues != "" {
		f, err := durable.Open(k.cues)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := command.ReadMost(f, largestCues)
		if err != nil {
			return fmt.Errorf("%s: %w", k.cues, err)
		}
		if k.tokens, err = flow.ParseControl(strings.NewReader(string(text))); err != nil {
			return fmt.Errorf("%s: %w", k.cues, err)
		}
	}
	for _, t := range k.tokens {
		if c := t.Cue; c != nil && c.Param != "" && !slices.Contains(o.Automate, c.Node+"."+c.Param) {
			o.Automate = append(o.Automate, c.Node+"."+c.Param)
		}
	}
	for _, given := range k.files {
		node, path, named := strings.Cut(given, "=")
		if !named {
			node, path = "", given
		}
		f, err := live.ReadMIDI(path)
		if err != nil {
			return err
		}
		k.songs = append(k.songs, song{node, f})
	}
	return nil
}

// A stage takes events: a session of either number type.
type stage interface {
	Play([]flow.ControlToken) error
	Post(...flow.Cue) error
	Control() []flow.ControlToken
	Listeners() []string
}

// post queues all events, and returns the frame at which the last song ends.
func (k *score) post(s stage, rate float64) (end int64, err error) {
	if (len(k.songs) > 0 || k.device != "") && len(s.Listeners()) == 0 {
		return 0, command.Usagef("the graph has no node that plays notes, such as Notes")
	}
	if err := s.Play(k.tokens); err != nil {
		return 0, err
	}
	for _, g := range k.songs {
		if g.node != "" && !slices.Contains(s.Listeners(), g.node) {
			return 0, command.Usagef("--midi %s=FILE: want NODE to be one of %s", g.node, strings.Join(s.Listeners(), ", "))
		}
		if err := s.Post(g.file.Cues(rate, g.node)...); err != nil {
			return 0, err
		}
		end = max(end, g.file.Length(rate))
	}
	return end, nil
}

// ends reports whether songs give the graph a length.
func (k *score) ends() bool { return len(k.files) > 0 }

// live plays from the device until stop is called, which returns what ended it.
func (k *score) live(s stage) (stop func() error, err error) {
	if k.device == "" {
		return func() error { return nil }, nil
	}
	r, err := live.OpenMIDI(k.device)
	if err != nil {
		return nil, err
	}
	ended, stopping := make(chan error, 1), make(chan struct{})
	go func() {
		err := live.LiveMIDI(r, func(e node.Event) error { return s.Post(flow.Cue{Event: e}) })
		select {
		case <-stopping: // the error is that of the closed device
			err = nil
		default:
		}
		ended <- err
	}()
	return func() error {
		close(stopping)
		r.Close()
		return <-ended
	}, nil
}

// keep writes the events.
func (k *score) keep(s stage) error {
	if k.kept == "" {
		return nil
	}
	return durable.WriteFile(k.kept, func(w io.Writer) error {
		for _, t := range s.Control() {
			if _, err := fmt.Fprintln(w, t); err != nil {
				return err
			}
		}
		return nil
	})
}
