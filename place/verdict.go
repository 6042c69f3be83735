package place

import (
	"fmt"
	"io"
	"strings"

	"atenia/internal/spelling"
)

// A Verdict says how a model runs in a memory.
type Verdict string

// The verdicts, best first.
const (
	VerdictFits    Verdict = "fits"    // all weights stay in memory
	VerdictStreams Verdict = "streams" // some are read from the disk for every token
	VerdictMaps    Verdict = "maps"    // all are mapped: what does not stay in memory is read when it is used
	VerdictCannot  Verdict = "cannot"  // not even that is possible
)

// An Outcome is what becomes of a model in a memory.
type Outcome struct {
	Verdict Verdict `json:"verdict"`
	// Seconds is how long a token takes, or of an encoder a text of Text tokens, and Low
	// to High what that is expected to lie between; 0 if the model cannot run. Runs says
	// how many runs of its kind they were corrected by.
	Seconds float64 `json:"seconds"`
	// After is the tokens of a sequence that a token takes Seconds after: half of a
	// context; Start is the seconds of one at the beginning. Keys and values make the
	// difference.
	After   int     `json:"after_tokens,omitempty"`
	Start   float64 `json:"seconds_at_start,omitempty"`
	Low     float64 `json:"seconds_low"`
	High    float64 `json:"seconds_high"`
	Text    int     `json:"text_tokens,omitempty"` // 0 of a model that generates
	Assumed bool    `json:"assumed,omitempty"`     // rates that set Seconds were neither measured nor given
	Runs    int     `json:"corrected_by_runs,omitempty"`
	Limit   string  `json:"limited_by,omitempty"` // the resource that sets Seconds: "ssd", "ram", "compute"
	SSD     int64   `json:"ssd_bytes"`            // that a token reads
	RAM     int64   `json:"ram_bytes"`            // that are needed; of a model that cannot run, at least; of one that is mapped, to be streamed
	Why     string  `json:"why,omitempty"`        // it cannot run, or not be streamed, or has room for fewer or shorter sequences
	Whole   int     `json:"whole,omitempty"`      // sequences with room for whole contexts at once; 0 = one was asked about
	Context int     `json:"context,omitempty"`    // tokens up to which a sequence has room, if that is not a whole context
}

// A Remedy makes a verdict better, or a token faster by more than predictions
// are off.
type Remedy struct {
	What    string  `json:"what"`
	Command string  `json:"command"`
	Then    Outcome `json:"then"`
}

// An Advice says how a model runs in a memory, and what would help.
type Advice struct {
	Model string `json:"model"`
	RAM   int64  `json:"ram"` // that was asked about
	Outcome
	Fit int64 `json:"ram_to_fit"` // memory with which all weights stay there
	// Remedies are what would help, cheapest first; at most three.
	Remedies []Remedy `json:"remedies"`
	Notes    []string `json:"notes,omitempty"` // about the model's files and the context
}

// String is a line such as "streams: 0.42 s a token (0.38–0.47), limited by ssd".
func (o *Outcome) String() string { return string(o.Verdict) + ": " + o.numbers() }

// then is String of a remedy: how long a text takes with it was not measured, and what was assumed
// of it does not tell the two apart.
func (o *Outcome) then() string {
	if o.Text == 0 || !o.Assumed || o.Verdict != VerdictFits && o.Verdict != VerdictStreams {
		return o.String()
	}
	s := string(o.Verdict)
	if o.Verdict == VerdictStreams {
		s += ": " + spelling.Size(o.SSD) + " are read from the disk for each " + spelling.Unit(o.Text)
	}
	return s
}

func (o *Outcome) numbers() string {
	switch o.Verdict {
	case VerdictCannot:
		return o.Why
	case VerdictMaps:
		return "it is mapped, and " + o.Why
	}
	about := spelling.Assumed(o.Assumed)
	if about == "" {
		about = fmt.Sprintf(" (%s–%s)", spelling.Seconds(o.Low), spelling.Seconds(o.High))
	}
	s := fmt.Sprintf("%s s a %s%s%s", spelling.Seconds(o.Seconds), spelling.Unit(o.Text), about, spelling.AfterText(o.After, o.Seconds, o.Start))
	if o.Limit != "" {
		s += ", limited by " + o.Limit
	}
	if o.Verdict == VerdictStreams {
		s += ", " + spelling.Size(o.SSD) + " are read from the disk for each"
	}
	if o.Why != "" {
		s += ", " + o.Why
	}
	if o.Runs > 0 {
		s += ", corrected by " + spelling.Count(o.Runs, "run")
	}
	return s
}

// WriteText prints the verdict, and the remedies with the commands.
func (a *Advice) WriteText(w io.Writer) error {
	var b strings.Builder
	verb := string(a.Verdict)
	if a.Verdict == VerdictCannot {
		verb = "cannot run"
	}
	fmt.Fprintf(&b, "%s %s in %s: %s\n", spelling.Line(a.Model), verb, spelling.Size(a.RAM), a.numbers())
	if a.Verdict != VerdictFits {
		fmt.Fprintf(&b, "all of it fits in %s\n", spelling.Size(a.Fit))
	}
	for i, r := range a.Remedies {
		fmt.Fprintf(&b, "%d. %s\n   %s\n   %s\n", i+1, r.What, r.Command, r.Then.then())
	}
	switch {
	case len(a.Remedies) > 0:
	case a.Verdict == VerdictCannot || a.Verdict == VerdictMaps:
		b.WriteString("nothing that could be changed here lets it run otherwise\n")
	default:
		b.WriteString("no other memory, context or type of elements helps by more than predictions are off\n")
	}
	for _, line := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
