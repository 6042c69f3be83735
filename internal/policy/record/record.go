package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A Draft is a decision without its place in a log. Inputs and Config must
// encode to JSON deterministically.
type Draft struct {
	Tick      uint64
	Component string
	Rule      string
	Evaluated []string
	Target    string
	Device    string
	Reason    string
	Inputs    any
	Config    any // nil: none
}

// Content is the hashed part of a record.
type Content struct {
	Seq        uint64          `json:"seq"`
	Tick       uint64          `json:"tick"`
	Component  string          `json:"component"`
	Rule       string          `json:"rule"`
	Evaluated  []string        `json:"evaluated"`
	Target     string          `json:"target"`
	Device     string          `json:"device"`
	Reason     string          `json:"reason"`
	Inputs     json.RawMessage `json:"inputs"`
	ConfigHash string          `json:"config_hash"`
	Parent     string          `json:"parent"`
}

// A Record is one line of a log.
type Record struct {
	Content
	Hash string `json:"hash"`
	TNS  int64  `json:"t_ns"` // nanoseconds since 1970, 0 if no clock was given
}

// hashBytes is how much of a SHA-256 is kept: the chain detects accidents rather
// than forgery, and lines stay short.
const hashBytes = 16

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:hashBytes])
}

// encode returns JSON on one line without HTML escaping.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Make completes a draft with its number and the hash of the previous record.
func Make(d *Draft, seq uint64, parent string, tns int64) (Record, error) {
	r := Record{Content: Content{
		Seq: seq, Tick: d.Tick, Component: d.Component, Rule: d.Rule, Evaluated: d.Evaluated,
		Target: d.Target, Device: d.Device, Reason: d.Reason, Parent: parent,
	}, TNS: tns}
	var err error
	if r.Inputs, err = encode(d.Inputs); err != nil {
		return r, fmt.Errorf("decision of %s: inputs: %w", d.Component, err)
	}
	if d.Config != nil {
		b, err := encode(d.Config)
		if err != nil {
			return r, fmt.Errorf("decision of %s: configuration: %w", d.Component, err)
		}
		r.ConfigHash = hash(b)
	}
	_, err = r.seal()
	return r, err
}

// seal sets the hash and returns the hashed bytes.
func (r *Record) seal() ([]byte, error) {
	if r.Evaluated == nil {
		r.Evaluated = []string{}
	}
	b, err := encode(&r.Content)
	if err != nil {
		return nil, fmt.Errorf("decision of %s: %w", r.Component, err)
	}
	r.Hash = hash(b)
	return b, nil
}

// AppendLine appends the record as a line, without a line feed. It writes the
// record's hash without verifying it.
func (r *Record) AppendLine(line []byte) ([]byte, error) {
	c := r.Content
	if c.Evaluated == nil {
		c.Evaluated = []string{}
	}
	b, err := encode(&c)
	if err != nil {
		return line, fmt.Errorf("decision of %s: %w", r.Component, err)
	}
	sum, err := encode(r.Hash)
	if err != nil {
		return line, err
	}
	line = append(line, b[:len(b)-1]...) // drop the closing brace
	line = append(append(line, `,"hash":`...), sum...)
	line = strconv.AppendInt(append(line, `,"t_ns":`...), r.TNS, 10)
	return append(line, '}'), nil
}

// Parse reads one line.
func Parse(line []byte) (Record, error) {
	var r Record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("more than one value")
	}
	if r.Component == "" || len(r.Inputs) == 0 {
		return r, errors.New("no component or no inputs")
	}
	return r, nil
}
