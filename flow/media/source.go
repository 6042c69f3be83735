package media

import (
	"errors"
	"fmt"
	"io"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Source is a file that feeds a node.
type Source struct {
	Node *graph.Node
	Path string
	// Ended reports that the source no longer keeps the stream going: the file
	// has ended, or it loops.
	Ended bool

	file *File
	skip int64 // frames skipped at the start
	loop bool
	got  bool // frames were read since the start; an empty loop would never end
	over bool // the source is exhausted
}

// OpenSource opens a file for a node of any type that the host feeds. If the node
// does not specify its channels, it gets the file's.
func OpenSource(n *graph.Node, path string) (*Source, error) {
	s := &Source{Node: n, Path: path, skip: int64(number(n, "offset_frames", 0)), loop: word(n, "loop") == "yes"}
	s.Ended = s.loop
	if err := s.open(); err != nil {
		return nil, err
	}
	if n.Param("channels") == nil {
		n.Params = append(n.Params, graph.Param{Name: "channels", Integer: true,
			Value: &graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{float64(s.file.Channels)}}})
	}
	if rows := number(n, "channels", 1) * number(n, "batches", 1); rows != float64(s.file.Channels) {
		_ = s.file.Close() // only read
		return nil, fmt.Errorf("%s has %d channels, node %s takes %g", path, s.file.Channels, n.Name, rows)
	}
	return s, nil
}

// open seeks to the first frame.
func (s *Source) open() error {
	f, err := Open(s.Path)
	if err != nil {
		return err
	}
	part := make([][]float32, f.Channels)
	for left := s.skip; left > 0 && err == nil; {
		for c := range part {
			part[c] = make([]float32, min(left, 1<<12))
		}
		var n int
		n, err = Read(f.Reader, part)
		left -= int64(n)
	}
	if err != nil && err != io.EOF {
		_ = f.Close() // only read
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	s.file, s.got = f, false
	return nil
}

// Base returns the base rate that corresponds to the file's rate: frames per
// second of a node at rate 1.
func (s *Source) Base() float64 {
	return float64(s.file.Rate) * number(s.Node, "rate_den", 1) / number(s.Node, "rate_num", 1)
}

// Rate returns the file's frames per second.
func (s *Source) Rate() int { return s.file.Rate }

// Frames returns how many frames of the file are for the node, 0 if it loops. A file that does not say how long it is
// must be one that can be opened and read twice.
func (s *Source) Frames() (n int64, err error) {
	if s.loop {
		return 0, nil
	}
	if s.file.Sized {
		return max(0, s.file.Frames-s.skip), nil
	}
	again := *s
	if err := again.open(); err != nil {
		return 0, err
	}
	rows := make([][]float32, again.file.Channels)
	for c := range rows {
		rows[c] = make([]float32, 1<<12)
	}
	for err == nil {
		var k int
		k, err = Read(again.file.Reader, rows)
		n += int64(k)
	}
	if err == io.EOF {
		err = nil
	}
	return n, errors.Join(err, again.Close())
}

// Loops reports whether the file restarts at its end.
func (s *Source) Loops() bool { return s.loop }

// Reader returns a reader of the file from the first frame that was not fed.
func (s *Source) Reader() *Reader { return s.file.Reader }

// Close closes the file.
func (s *Source) Close() error { return s.file.Close() }

// Feed fills a block of the node, with zeros past the end of the file. It
// returns the number of frames that keep the stream going: none for a looping
// file.
func Feed[F node.Float](s *Source, t node.Tensor[F]) (int, error) {
	n := 0
	rows := make([][]F, t.B*t.C)
	for n < t.N && !s.over {
		for r := range rows {
			rows[r] = t.Row(r)[n:]
		}
		k, err := Read(s.file.Reader, rows)
		n, s.got = n+k, s.got || k > 0
		switch {
		case err == nil:
		case err != io.EOF:
			return n, fmt.Errorf("%s: %w", s.Path, err)
		case s.loop && s.got:
			_ = s.file.Close() // only read
			if err := s.open(); err != nil {
				return n, err
			}
		default:
			s.over, s.Ended = true, true
		}
	}
	for r := range rows {
		clear(t.Row(r)[n:])
	}
	if s.loop {
		n = 0
	}
	return n, nil
}
