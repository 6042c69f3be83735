package amp

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A CLAPPlugin describes one plug-in of a library: what [CLAPLibrary.Describe] reads of
// it, and what a scan passes on.
type CLAPPlugin struct {
	ID      string      `json:"id"` // the name of the node type
	Name    string      `json:"name"`
	Vendor  string      `json:"vendor,omitempty"`
	Version string      `json:"version,omitempty"`
	Inputs  []CLAPPort  `json:"inputs"`
	Outputs []CLAPPort  `json:"outputs"`
	Params  []CLAPParam `json:"params"`
	Latency int         `json:"latency"` // frames, at Rate
	Rate    float64     `json:"rate"`    // hertz
	Notes   bool        `json:"notes,omitempty"`
	State   bool        `json:"state,omitempty"` // can be saved and restored
}

// A CLAPPort is one audio port.
type CLAPPort struct {
	Name     string `json:"name"`
	Channels int    `json:"channels"`
}

// A CLAPParam is one parameter of a plug-in: values are plain, from Min to Max.
type CLAPParam struct {
	ID      uint32  `json:"id"`
	Name    string  `json:"name"`  // in plans
	Title   string  `json:"title"` // as the plug-in gives it, after its module
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Default float64 `json:"default"`
	Stepped bool    `json:"stepped,omitempty"` // whole numbers alone
}

// Bounds of what a plug-in may claim.
const (
	maxPlugins   = 1024 // of a library
	maxPlugPorts = 32   // of a side
	maxChannels  = 64   // of a port
	maxParams    = 4096
	maxLatency   = 1 << 24 // frames
	maxPlugText  = 256     // bytes of an id or a name
	maxModule    = 1024
	maxState     = 16 << 20 // bytes
)

// A CLAPRefusedError says why a plug-in, or a library of plug-ins, cannot be used.
type CLAPRefusedError struct {
	Path   string
	Plugin string // "": the library
	Text   string
}

// Error implements error.
func (e *CLAPRefusedError) Error() string {
	if e.Plugin == "" {
		return e.Path + ": " + e.Text
	}
	return e.Path + ": " + e.Plugin + ": " + e.Text
}

// textOf returns why something is refused, without where.
func textOf(err error) string {
	if e, ok := errors.AsType[*CLAPRefusedError](err); ok {
		return e.Text
	}
	return err.Error()
}

// check tests what was read of a plug-in, by this process or by a child.
func (p *CLAPPlugin) check(path string) error {
	fault := func(format string, args ...any) error {
		return &CLAPRefusedError{path, short(p.ID), fmt.Sprintf(format, args...)}
	}
	switch {
	case !sane(p.ID, maxPlugText) || p.ID == "":
		return fault("an id that is empty, too long or no printable UTF-8")
	case len(p.Outputs) == 0:
		return fault("no audio output")
	case len(p.Inputs) > maxPlugPorts || len(p.Outputs) > maxPlugPorts:
		return fault("%d inputs and %d outputs, at most %d of each are allowed", len(p.Inputs), len(p.Outputs), maxPlugPorts)
	case len(p.Params) > maxParams:
		return fault("%d parameters, at most %d are allowed", len(p.Params), maxParams)
	case p.Latency < 0 || p.Latency > maxLatency:
		return fault("a latency of %d frames, at most %d are allowed", p.Latency, maxLatency)
	}
	for _, list := range [][]CLAPPort{p.Inputs, p.Outputs} {
		for _, x := range list {
			if x.Channels < 1 || x.Channels > maxChannels || !sane(x.Name, maxPlugText+16) || x.Name == "" {
				return fault("port %q of %d channels, 1 to %d are allowed", short(x.Name), x.Channels, maxChannels)
			}
		}
	}
	ids, names := map[uint32]bool{}, map[string]bool{}
	for _, x := range p.Params {
		if ids[x.ID] || names[x.Name] {
			return fault("two parameters of id %d or name %q", x.ID, short(x.Name))
		}
		ids[x.ID], names[x.Name] = true, true
		if !sane(x.Name, maxPlugText+16) || x.Name == "" || !finite(x.Min) || !finite(x.Max) || !finite(x.Default) || x.Min > x.Max || x.Default < x.Min || x.Default > x.Max {
			return fault("parameter %q from %v to %v with default %v", short(x.Name), x.Min, x.Max, x.Default)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// sane reports whether a text can be printed.
func sane(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// short makes a text of a plug-in fit for an error.
func short(s string) string {
	s = clean(s)
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

// clean replaces what cannot be printed.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// reserved are the names of settings, which no parameter or port may have.
var reserved = []string{setFrames, setInputs, setState, setStateFile, setNotes, "thermo.heat"}

// plugNames makes names for plans: letters, digits and underscores, without
// repetition and other than those of settings.
type plugNames map[string]bool

func newNames() plugNames {
	n := plugNames{}
	for _, r := range reserved {
		n[r] = true
	}
	return n
}

func (n plugNames) of(title, otherwise string) string {
	var b strings.Builder
	for _, r := range title {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	s := strings.TrimRight(b.String(), "_")
	if s == "" {
		s = otherwise
	}
	if len(s) > maxPlugText {
		s = strings.ToValidUTF8(s[:maxPlugText], "")
	}
	name := s
	for i := 2; n[name]; i++ {
		name = fmt.Sprint(s, "_", i)
	}
	n[name] = true
	return name
}
