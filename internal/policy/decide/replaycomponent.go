package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"atenia/internal/policy/record"
)

// A history holds the results that later records may refer to, by record number.
type history struct {
	seq     uint64 // of the current record
	results map[uint64]any
}

// keep stores the result of the current record.
func (h *history) keep(v any) { h.results[h.seq] = v }

// A component replays decisions of one kind.
type component struct {
	name string
	redo func(h *history, inputs json.RawMessage) (record.Draft, error)
}

// components lists every component that writes records.
func components() []component {
	return []component{
		of("placement", placeInputs.draft),
		of("binding", Bound.draft),
		of("offload", offloadInputs.draft),
		of("planner", targetInputs.draft),
		of("router", routeInputs.draft),
		of("graph", graphInputs.draft),
		of("backward", backwardInputs.draft),
		of("autograd", traceInputs.draft),
		of("warm_start", warmInputs.draft),
		of("trainer", trainerInputs.draft),
		of("autoloop", turnInputs.draft),
		of("policy", measuredInputs.draft),
		of("choice", pickInputs.draft),
		of("budget", budgetInputs.draft),
		of("budget_tensor", tensorInputs.draft),
	}
}

// of makes a component of a function that decides from typed inputs. The draft
// carries the decoded inputs, so that an input which the type does not represent
// shows as a difference.
func of[In any](name string, decide func(In, *history) (record.Draft, error)) component {
	return component{name, func(h *history, raw json.RawMessage) (record.Draft, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return record.Draft{}, fmt.Errorf("inputs: %w", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return record.Draft{}, errors.New("inputs: more than one value")
		}
		draft, err := decide(in, h)
		draft.Component, draft.Inputs = name, in
		return draft, err
	}}
}

// find returns a component by name.
func find(list []component, name string) (component, bool) {
	for _, c := range list {
		if c.name == name {
			return c, true
		}
	}
	return component{}, false
}

// texts returns the spellings of enum values.
func texts[T fmt.Stringer](list []T) []string {
	out := []string{}
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}
