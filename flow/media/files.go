package media

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"atenia/flow/graph"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

// Files holds the files of a plan. Close closes the sources.
type Files struct {
	Sources []*Source
	Sinks   []*Sink
	Rate    float64 // base frames per second of all sources; the rate passed to OpenFiles if there are none
}

// OpenFiles opens the files of a plan's sources and collects those of its sinks,
// which it does not touch. Sources without a number of channels get their
// file's, and a node whose file is an impulse response gets it as its taps. A rate of zero selects that of the first
// source, or else of the first response.
func OpenFiles(p *graph.Plan, folder string, rate float64) (*Files, error) {
	f := &Files{Rate: rate}
	for i := range p.Nodes {
		if err := f.open(&p.Nodes[i], folder); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	for i := range p.Nodes {
		if err := f.response(&p.Nodes[i], folder); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// longestResponse bounds the frames of an impulse response: 87 s at 48 kHz.
const longestResponse = 1 << 22

// response reads the impulse response of a node, if it has a file, into its taps.
func (f *Files) response(n *graph.Node, folder string) error {
	name := word(n, "file")
	if n.Type != "ConvolutionReverb" || name == "" {
		return nil
	}
	if n.Param("taps") != nil {
		return node.Bad(n, "file", "either a file or taps wanted")
	}
	path := inFolder(folder, name)
	in, err := Open(path)
	if err != nil {
		return &graph.Error{Code: graph.InvalidArg, Path: n.Path + ".params.file", Names: []string{n.Name}, Text: err.Error()}
	}
	defer in.Close()
	if f.Rate == 0 {
		f.Rate = float64(in.Rate)
	}
	if math.Abs(float64(in.Rate)-f.Rate) > 1e-9*f.Rate {
		return node.Bad(n, "file", fmt.Sprintf("%s has %d Hz, and not the base rate of %g Hz: convert it first", path, in.Rate, f.Rate))
	}
	rows, err := all(in.Reader)
	if err != nil {
		return node.Bad(n, "file", fmt.Sprintf("%s: %v", path, err))
	}
	n.Params = append(n.Params, graph.Param{Name: "taps", Value: &graph.Tensor{B: 1, C: len(rows), F: len(rows[0]), Data: slices.Concat(rows...)}})
	return nil
}

// all reads the frames of a response, by channel.
func all(in *Reader) ([][]float64, error) {
	rows, part := make([][]float64, in.Channels), make([][]float64, in.Channels)
	for c := range part {
		part[c] = make([]float64, 1<<12)
	}
	for {
		n, err := Read(in, part)
		for c := range rows {
			rows[c] = append(rows[c], part[c][:n]...)
		}
		switch {
		case len(rows[0]) > longestResponse:
			return nil, fmt.Errorf("a response of at most %d frames wanted", longestResponse)
		case err == io.EOF && len(rows[0]) == 0:
			return nil, errors.New("no frames")
		case err == io.EOF:
			return rows, nil
		case err != nil:
			return nil, err
		}
	}
}

// inFolder returns the path of a file that a plan names.
func inFolder(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

// open connects a node, if it has a file.
func (f *Files) open(n *graph.Node, folder string) error {
	source := strings.HasSuffix(n.Type, "Source")
	kind, ok := strings.CutSuffix(strings.TrimSuffix(n.Type, "Source"), "Sink")
	codec := WAV
	switch {
	case !ok && !source || kind != "Wav" && kind != "Flac":
		return nil
	case kind == "Flac":
		codec = FLAC
	}
	if _, err := signal.BasicTypes().Describe(n); err != nil {
		return err
	}
	if word(n, "file") == "" {
		return node.Bad(n, "file", "the name of a file wanted")
	}
	path := inFolder(folder, word(n, "file"))
	if !source {
		return f.sink(&Sink{Node: n, Path: path, codec: codec})
	}
	s, err := OpenSource(n, path)
	if err != nil {
		return &graph.Error{Code: graph.InvalidArg, Path: n.Path + ".params.file", Names: []string{n.Name}, Text: err.Error()}
	}
	f.Sources = append(f.Sources, s)
	if s.file.Codec != codec {
		return node.Bad(n, "file", fmt.Sprintf("%s is %v, and not %v", path, s.file.Codec, codec))
	}
	if f.Rate == 0 {
		f.Rate = s.Base()
	}
	if math.Abs(s.Base()-f.Rate) > 1e-9*f.Rate {
		return node.Bad(n, "file", fmt.Sprintf("%s has %d Hz, which is a base rate of %g Hz, and not %g: say another rate (--rate), or let rate_num and rate_den say what it is of the base rate and a Resample change it",
			path, s.file.Rate, s.Base(), f.Rate))
	}
	return nil
}

// sink adds a sink. Two sinks must not write to one file.
func (f *Files) sink(k *Sink) error {
	for _, other := range f.Sinks {
		if other.Path == k.Path {
			return node.Bad(k.Node, "file", fmt.Sprintf("%s is written by node %s", k.Path, other.Node.Name))
		}
	}
	f.Sinks = append(f.Sinks, k)
	return nil
}

// Close closes the files of the sources.
func (f *Files) Close() error {
	var err error
	for _, s := range f.Sources {
		err = errors.Join(err, s.Close())
	}
	return err
}

// A Sink is a file that receives the input of a node.
type Sink struct {
	Node  *graph.Node
	Path  string
	codec Codec
}

// Format returns the format in which the file should be written, for the linked
// graph and its base rate.
func (k *Sink) Format(l *graph.Linked, base float64) (Format, error) {
	bits := int(number(k.Node, "bits", 0))
	f, err := FormatFor(l, k.Node.Name, base, k.codec, bits, word(k.Node, "samples") == "float" || k.codec == WAV && bits == 64)
	if word(k.Node, "samples") == "integer" && bits == 0 {
		f.Bits, f.Float = 16, false
	}
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return f, node.Bad(k.Node, "file", fmt.Sprintf("%s: %v", k.Path, err))
	}
	return f, nil
}

// FormatFor returns the format for a file with the input of the named node, whose
// rate must be a whole number but for NPY. Zero bits select the least lossy: 32-bit
// floating point in WAV, 24 bits in FLAC.
func FormatFor(l *graph.Linked, name string, base float64, codec Codec, bits int, float bool) (Format, error) {
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if n.Name != name || len(n.In) == 0 {
			continue
		}
		e := &l.Edges[n.In[0]]
		rate := base * float64(e.Rate.Num) / float64(e.Rate.Den)
		if codec == NPY { // which has no rate
			rate = max(1, math.Trunc(rate))
		}
		if rate != math.Trunc(rate) || rate < 1 {
			return Format{}, fmt.Errorf("%g frames a second are no whole number, which sound files need", rate)
		}
		f := Format{Codec: codec, Rate: int(rate), Channels: n.InShape[0].B * n.InShape[0].C, Bits: bits, Float: float}
		switch {
		case codec == WAV && bits == 0:
			f.Float, f.Bits = true, 32
		case codec == FLAC && bits == 0:
			f.Bits = 24
		case codec == NPY && bits == 0:
			f.Float, f.Bits = true, 32
		}
		return f, f.Check()
	}
	return Format{}, &graph.Error{Code: graph.UnknownNode, Path: l.Plan.Root, Names: []string{name}, Text: "no node that takes frames"}
}

// number returns a numeric setting.
func number(n *graph.Node, name string, otherwise float64) float64 {
	if p := n.Param(name); p != nil && p.Value != nil && len(p.Value.Data) == 1 {
		return p.Value.Data[0]
	}
	return otherwise
}

// word returns a text setting.
func word(n *graph.Node, name string) string {
	if p := n.Param(name); p != nil && p.Text != nil {
		return *p.Text
	}
	return ""
}
