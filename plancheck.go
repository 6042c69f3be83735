package atenia

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/internal/spelling"
)

// A CheckedProgram is a program that was read and proved: its structure, its states, and when
// each value is read last. Bytes are for steps of the sizes that a configuration has.
type CheckedProgram struct {
	Mode         string `json:"mode"`
	ID           string `json:"id"` // of the program alone
	Instructions int    `json:"instructions"`
	Registers    int    `json:"registers"`
	Alive        int    `json:"alive"` // registers at once, at most
	Buffers      int    `json:"buffers"`
	Bytes        uint64 `json:"bytes"`       // of the buffers
	NaiveBytes   uint64 `json:"naive_bytes"` // with a buffer for each register
	// What a sequence keeps: bytes whatever its length, and for each token.
	StateBytes    uint64 `json:"state_bytes"`
	StatePerToken uint64 `json:"state_bytes_per_token"`
}

// String is a line such as "prefill: 21 instructions, …".
func (p *CheckedProgram) String() string {
	return fmt.Sprintf("%s: %s, %s, at most %d at once in %s of %d bytes (one each: %d), state %d bytes fixed, %d bytes a token, %s",
		p.Mode, spelling.Count(p.Instructions, "instruction"), spelling.Count(p.Registers, "register"), p.Alive,
		spelling.Count(p.Buffers, "buffer"), p.Bytes, p.NaiveBytes, p.StateBytes, p.StatePerToken, p.ID)
}

// CheckPlan reads plans in the form that [Plan.WriteText] writes with [PlanView.Unfold], or
// [Plan.MarshalJSON], also edited by hand, proves them as the compiler's own are, and says what
// they take. Of the configuration it reads Slots and BatchTokens. Errors name the line and
// column of a text, or the byte of JSON, or the instruction that is wrong.
func CheckPlan(data []byte, c *Config) ([]CheckedProgram, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	var all []*plan.CompiledPlan
	if t := bytes.TrimSpace(data); len(t) > 0 && t[0] == '{' {
		m, err := pass.LoadJSON(data)
		if err != nil {
			return nil, err
		}
		modes := m.TextModes() // in the order of texts, then what no text shows
		for mode := range plan.NumModes {
			if !slices.Contains(modes, mode) {
				modes = append(modes, mode)
			}
		}
		for _, mode := range modes {
			if p := m.ByMode(mode); p != nil {
				all = append(all, p)
			}
		}
	} else if all, err = loadPlanTexts(data); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no plan: want what \"atenia plan --unfold\" or \"atenia plan --json\" printed")
	}
	e := cfg.engine()
	out := make([]CheckedProgram, len(all))
	for i, p := range all {
		id, err := p.ID()
		if err != nil {
			return nil, err
		}
		m := mapped(p, &e)
		fixed, token := p.Plan.StateBytes()
		out[i] = CheckedProgram{
			Mode: p.Plan.Mode.String(), ID: id, Instructions: len(p.Plan.Instructions), Registers: len(p.Plan.Registers),
			Alive: int(p.PeakRegisters), Buffers: len(m.Buffers), Bytes: m.Bytes, NaiveBytes: m.NaiveBytes,
			StateBytes: fixed, StatePerToken: token,
		}
	}
	return out, nil
}

// loadPlanTexts reads the plans of a text, which begin with a line of their mode and end with
// an empty one; what is around them is for people.
func loadPlanTexts(data []byte) (all []*plan.CompiledPlan, err error) {
	var from int // the first line of a plan; 0 = between plans
	var text bytes.Buffer
	load := func() error {
		if from == 0 {
			return nil
		}
		// Empty lines before it keep the numbers of its own.
		p, err := pass.LoadText(io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{'\n'}, from-1)), &text))
		if err != nil {
			return fmt.Errorf("the plan of line %d: %w", from, err)
		}
		all, from = append(all, p), 0
		text.Reset()
		return nil
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		switch trimmed := bytes.TrimSpace(line); {
		case bytes.HasPrefix(trimmed, []byte("plan mode=")):
			if err := load(); err != nil {
				return nil, err
			}
			from = n
		case len(trimmed) == 0:
			if err := load(); err != nil {
				return nil, err
			}
		case from > 0 && bytes.HasPrefix(trimmed, []byte("layer")):
			return nil, fmt.Errorf("line %d: %.60q stands for instructions that the text does not have: print the plan with --unfold", n, trimmed)
		}
		if from > 0 {
			text.Write(line)
		}
	}
	return all, load()
}
