package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"atenia/tier/decision"
)

// A history is what later records of a log may refer to: results by the number
// of the record that they belong to.
type history struct {
	seq     uint64 // of the record being made
	results map[uint64]any
}

// keep keeps the result of the record being made.
func (h *history) keep(v any) { h.results[h.seq] = v }

// A component makes decisions of one kind again.
type component struct {
	name string
	redo func(h *history, inputs json.RawMessage) (decision.Draft, error)
}

// components are all that write records.
func components() []component {
	return []component{
		of("placement", placeInputs.draft),
		of("offload", offloadInputs.draft),
		of("planner", planInputs.draft),
		of("router", routeInputs.draft),
		of("backward", backwardInputs.draft),
		of("warm_start", warmInputs.draft),
		of("trainer", trainerInputs.draft),
		of("autoloop", turnInputs.draft),
		of("policy", measuredInputs.draft),
		of("budget", budgetInputs.draft),
		of("budget_tensor", tensorInputs.draft),
	}
}

// of makes a component of a function that decides from typed inputs. The draft
// carries the inputs as they were understood, so that what the type does not
// hold is a difference.
func of[In any](name string, decide func(In, *history) (decision.Draft, error)) component {
	return component{name, func(h *history, raw json.RawMessage) (decision.Draft, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return decision.Draft{}, fmt.Errorf("inputs: %w", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return decision.Draft{}, errors.New("inputs: more than one value")
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

// texts spells enums.
func texts[T fmt.Stringer](list []T) []string {
	out := []string{}
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}
