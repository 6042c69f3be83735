package place_test

import (
	"errors"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
)

// Tensors are found, pinned and shown by the names that they have in files, too.
func TestNames(t *testing.T) {
	in := place.Input{RAM: 300, Reserves: []place.Reserve{{Name: "runtime", Bytes: 10}}, Tensors: []place.Tensor{
		{Name: "blk.0.attn_q", Sources: []string{"model.layers.0.self_attn.q_proj.weight"}, Bytes: 100, Uses: 1},
		{Name: "blk.0.attn_k", Sources: []string{"blk.0.attn_qkv.weight"}, Bytes: 100, Uses: 1},
		{Name: "blk.0.experts", Sources: []string{"e.0.w", "e.1.w", "e.2.w"}, Bytes: 50, Uses: 1},
	}}
	pin, err := place.ParsePin(`self_attn\.q_proj=ram`)
	if err != nil {
		t.Fatal(err)
	}
	in.Pins = []place.Pin{pin}
	p, err := place.Place(in)
	if err != nil {
		t.Fatal(err)
	}
	if q, _ := p.Tensor("blk.0.attn_q"); q.Rule != place.RulePin || q.Tier != memory.RAM {
		t.Errorf("the pin by the file's name: %v %v", q.Rule, q.Tier)
	}
	for _, c := range []struct {
		pattern string
		want    string // what the lines begin with, or what the error has
		lines   int
	}{
		{`model.layers.0.self_attn.q_proj.weight`, "blk.0.attn_q (model.layers.0.self_attn.q_proj.weight): ram by rule pin", 1},
		{`attn_qkv`, "blk.0.attn_k (blk.0.attn_qkv.weight): ", 1},
		{`^blk.0.attn_k$`, "blk.0.attn_k (", 1},
		{`^e\.1`, "blk.0.experts (e.0.w and 2 more): ", 1},
		{`blk`, "blk.0", 3},
		{`model.layers.0.self_atn.q_proj.weight`, "near it are model.layers.0.self_attn.q_proj.weight", 0},
		{`^BLK\.0\.ATTN_Q$`, "near it are blk.0.attn_q, blk.0.attn_k", 0},
		{`nothing`, "a name is blk.0.attn_q (model.layers.0", 0},
		{`(`, "missing closing )", 0},
	} {
		lines, err := p.Why(c.pattern)
		if len(lines) != c.lines || (err == nil) != (c.lines > 0) {
			t.Errorf("%s: %d lines, %v", c.pattern, len(lines), err)
			continue
		}
		if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.pattern, err)
		}
		for _, l := range lines {
			if !strings.HasPrefix(l.String(), c.want) {
				t.Errorf("%s: %s", c.pattern, l)
			}
		}
	}
	if in.Pins[0], err = place.ParsePin("q_prj=ram"); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Place(in); !errors.Is(err, place.ErrPin) || !strings.Contains(err.Error(), "a name is blk.0.attn_q") {
		t.Errorf("a pin without a tensor: %v", err)
	}
}
