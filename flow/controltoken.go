package flow

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// heatParam is the parameter that every node has.
const heatParam = "thermo.heat"

// A ControlToken is an external event at the start of a block (a gate is opened, or a
// parameter is set or cleared), or a cue at a frame. The tokens that a session accepted are part of
// its input; replayed to another session they give the same bits.
type ControlToken struct {
	Block  int64
	Gate   int       // opened, when Node is ""
	Node   string    // whose parameter is set
	Param  string    // its name
	Values []float64 // nil: back to the default
	Cue    *Cue      // if not nil, the token is this cue and nothing else
}

// String returns the token as [ParseControl] reads it.
//
//	3 open 9
//	5 set eq.f0 1000
//	8 clear eq.f0
//	@480 set eq.f0 1000 4800             a cue: frame, value, ramp (none: 0)
//	@960 clear eq.f0
//	@480 on synth 0 69 0.8               channel, key, value, tune (none: 0); * for every node
func (t ControlToken) String() string {
	if t.Cue != nil {
		return t.Cue.String()
	}
	if t.Node == "" {
		return fmt.Sprintf("%d open %d", t.Block, t.Gate)
	}
	if t.Values == nil {
		return fmt.Sprintf("%d clear %s.%s", t.Block, t.Node, t.Param)
	}
	s := fmt.Sprintf("%d set %s.%s", t.Block, t.Node, t.Param)
	for _, v := range t.Values {
		s += " " + strconv.FormatFloat(v, 'g', -1, 64)
	}
	return s
}

// ParseControl reads tokens, one per line. Blank lines are skipped.
func ParseControl(r io.Reader) ([]ControlToken, error) {
	var all []ControlToken
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		w := strings.Fields(lines.Text())
		if len(w) == 0 {
			continue
		}
		t, err := parseToken(w)
		if err != nil {
			return nil, fmt.Errorf("control tokens: line %d: %w", n, err)
		}
		all = append(all, t)
	}
	return all, lines.Err()
}

func parseToken(w []string) (t ControlToken, err error) {
	if len(w) < 3 {
		return t, fmt.Errorf("%q is not a token: want BLOCK open GATE, BLOCK set NODE.PARAM VALUE…, BLOCK clear NODE.PARAM or a cue at @FRAME", strings.Join(w, " "))
	}
	if strings.HasPrefix(w[0], "@") {
		t.Cue, err = parseCue(w)
		return t, err
	}
	if t.Block, err = strconv.ParseInt(w[0], 10, 64); err != nil {
		return t, fmt.Errorf("block: %w", err)
	}
	if w[1] == "open" {
		if t.Gate, err = strconv.Atoi(w[2]); err != nil {
			return t, fmt.Errorf("gate: %w", err)
		}
		return t, nil
	}
	if w[1] != "set" && w[1] != "clear" || (w[1] == "set") != (len(w) > 3) {
		return t, fmt.Errorf("%q: want set NODE.PARAM VALUE… or clear NODE.PARAM", strings.Join(w[1:], " "))
	}
	if t.Node, t.Param, err = cutParam(w[2]); err != nil {
		return t, err
	}
	for _, x := range w[3:] {
		v, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return t, fmt.Errorf("value: %w", err)
		}
		t.Values = append(t.Values, v)
	}
	return t, nil
}

// cutParam cuts NODE.PARAM in two.
func cutParam(text string) (node, param string, err error) {
	name := strings.TrimSuffix(text, heatParam) // its name contains a dot, as a node's may
	dot := strings.LastIndex(name, ".")
	if len(name) < len(text) {
		dot = len(name) - 1
	}
	if dot <= 0 || dot == len(text)-1 {
		return "", "", fmt.Errorf("%q: want NODE.PARAM", text)
	}
	return text[:dot], text[dot+1:], nil
}
