package atenia_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atenia"
)

// A draft is the JSON of a plan that is edited by hand.
type draft struct{ whole, prefill map[string]any }

func newDraft(t *testing.T, document []byte) *draft {
	t.Helper()
	d := new(draft)
	if err := json.Unmarshal(document, &d.whole); err != nil {
		t.Fatal(err)
	}
	delete(d.whole, "id") // of a plan that was not edited
	d.prefill = d.whole["plans"].(map[string]any)["prefill"].(map[string]any)
	return d
}

// at returns the first instruction of an opcode.
func (d *draft) at(op string) map[string]any {
	for _, in := range d.list("instructions") {
		if in := in.(map[string]any); in["op"] == op {
			return in
		}
	}
	panic("no " + op)
}

func (d *draft) list(name string) []any { return d.prefill[name].([]any) }

func (d *draft) instruction(i int) map[string]any { return d.list("instructions")[i].(map[string]any) }

func (d *draft) register(r any) map[string]any {
	return d.list("registers")[int(r.(float64))].(map[string]any)
}

// written returns the register that the first instruction of an opcode writes.
func (d *draft) written(op string) map[string]any { return d.register(d.at(op)["out"].([]any)[0]) }

// set replaces a parameter of the first instruction of an opcode.
func (d *draft) set(op, name string, v any) { d.at(op)["params"].(map[string]any)[name] = v }

func (d *draft) state() map[string]any { return d.whole["states"].([]any)[0].(map[string]any) }

// number gives the instructions the numbers of their places.
func (d *draft) number(list []any) {
	for i := range list {
		list[i].(map[string]any)["i"] = i
	}
	d.prefill["instructions"] = list
}

// planMutations change one thing of a plan; why is part of what is said of it.
var planMutations = []struct {
	name, why string
	edit      func(d *draft)
}{
	{"unknown opcode", "op200", func(d *draft) { d.instruction(1)["op"] = "op200" }},
	{"opcode of another mode", "spatial", func(d *draft) { d.instruction(1)["op"] = "spatial_merge" }},
	{"opcode changed", "weight slot", func(d *draft) { d.at("ffn")["op"] = "norm" }},
	{"unknown mode", "mode", func(d *draft) { d.whole["plans"].(map[string]any)["cook"] = d.prefill }},
	{"schema", "schema 2", func(d *draft) { d.whole["schema"] = 2 }},
	{"a field that no plan has", "colour", func(d *draft) { d.prefill["colour"] = 1 }},
	{"producer dropped", "nothing has written", func(d *draft) { d.number(d.list("instructions")[1:]) }},
	{"read before written", "nothing has written", func(d *draft) { d.instruction(0)["in"] = []int{9} }},
	{"instructions swapped", "nothing has written", func(d *draft) {
		l := d.list("instructions")
		l[1], l[2] = l[2], l[1]
		d.number(l)
	}},
	{"numbers swapped", "it is numbered 2", func(d *draft) { d.instruction(1)["i"] = 2 }},
	{"output duplicated", "written already", func(d *draft) { d.instruction(2)["out"] = d.instruction(1)["out"] }},
	{"output overwrites an input of the plan", "written already", func(d *draft) { d.instruction(0)["out"] = []int{0} }},
	{"output out of range", "out of range", func(d *draft) { d.instruction(2)["out"] = []int{9999} }},
	{"input out of range", "nothing has written", func(d *draft) { d.instruction(2)["in"] = []int{9999} }},
	{"input missing", "inputs", func(d *draft) { d.at("residual_add")["in"] = d.at("residual_add")["in"].([]any)[:1] }},
	{"input too many", "inputs", func(d *draft) { d.at("ffn")["in"] = append(d.at("ffn")["in"].([]any), 2) }},
	{"no outputs", "outputs", func(d *draft) { d.at("ffn")["out"] = []int{} }},
	{"plan output out of range", "nothing writes", func(d *draft) { d.prefill["outputs"] = []int{9999} }},
	{"plan output twice", "twice", func(d *draft) { d.prefill["outputs"] = append(d.list("outputs"), d.list("outputs")...) }},
	{"plan without output", "no outputs", func(d *draft) { d.prefill["outputs"] = []int{} }},
	{"plan input out of range", "input 0", func(d *draft) { d.prefill["inputs"] = []int{9999, 1} }},
	{"plan input twice", "input 2", func(d *draft) { d.prefill["inputs"] = append(d.list("inputs"), d.list("inputs")[0]) }},
	{"register nothing writes", "nothing writes", func(d *draft) { d.prefill["registers"] = append(d.list("registers"), d.list("registers")[2]) }},
	{"rank 5", "rank 5", func(d *draft) { d.register(2.0)["rank"] = 5 }},
	{"rank 0", "rank 0", func(d *draft) { d.register(2.0)["rank"] = 0 }},
	{"no columns", "columns", func(d *draft) { d.register(2.0)["cols"] = 0 }},
	{"quantized register", "Q8_0", func(d *draft) { d.register(2.0)["dtype"] = "Q8_0" }},
	{"unknown layout", "layout", func(d *draft) { d.register(2.0)["layout"] = "diagonal" }},
	{"unknown kind of rows", "row", func(d *draft) { d.register(2.0)["rows"] = "beams" }},
	{"rows changed", "rows", func(d *draft) { d.written("norm")["rows"] = "merged" }},
	{"width changed", "width", func(d *draft) { d.written("norm")["cols"] = 129 }},
	{"index instead of activation", "type", func(d *draft) { d.written("norm")["dtype"] = "I32" }},
	{"activation instead of index", "type", func(d *draft) { d.register(0.0)["dtype"] = "F32" }},
	{"required weight missing", "required", func(d *draft) { delete(d.at("ffn")["weights"].(map[string]any), "up") }},
	{"gate of a gated layer missing", "gate", func(d *draft) { delete(d.at("ffn")["weights"].(map[string]any), "gate") }},
	{"a weight of another opcode", "weight slot", func(d *draft) { d.at("ffn")["weights"].(map[string]any)["q"] = "blk.0.attn_q" }},
	{"weight without a name", "name", func(d *draft) { d.at("ffn")["weights"].(map[string]any)["up"] = "" }},
	{"parameters of another opcode", "heads", func(d *draft) { d.set("ffn", "heads", 4) }},
	{"parameters where none belong", "has no parameters", func(d *draft) { d.at("gather_rows")["params"] = map[string]any{"dim": 128} }},
	{"parameter above its field", "vocab", func(d *draft) { d.set("lm_head", "vocab", 1<<32) }},
	{"parameter below its field", "vocab", func(d *draft) { d.set("lm_head", "vocab", -1) }},
	{"parameter that is text", "vocab", func(d *draft) { d.set("lm_head", "vocab", "many") }},
	{"parameter not a number", `"NaN" is not`, func(d *draft) { d.set("norm", "eps", "NaN") }},
	{"width parameter", "width", func(d *draft) { d.set("ffn", "dim", 136) }},
	{"heads that do not divide", "kv_heads", func(d *draft) { d.set("attention", "kv_heads", 3) }},
	{"no heads", "kv_heads", func(d *draft) { d.set("attention", "kv_heads", 0) }},
	{"layer outside the state", "state layer", func(d *draft) { d.set("attention", "layer", 99) }},
	{"a second output without its norm", "norm", func(d *draft) { delete(d.at("residual_add")["weights"].(map[string]any), "norm") }},
	{"state of the wrong kind", "cannot own", func(d *draft) { d.state()["kind"] = "recurrent" }},
	{"state out of range", "state s7", func(d *draft) { d.at("attention")["state"] = 7 }},
	{"state where none belongs", "cannot own", func(d *draft) { d.at("ffn")["state"] = 0 }},
	{"decoding without a state", "owns no state", func(d *draft) {
		d.prefill = d.whole["plans"].(map[string]any)["decode"].(map[string]any)
		delete(d.at("attention"), "state")
	}},
	{"layer below none", "layer", func(d *draft) { d.instruction(0)["layer"] = -2 }},
	{"a state in a plan of images", "state", func(d *draft) {
		delete(d.whole, "diagnostics")
		d.whole["plans"] = map[string]any{"vision_encode": d.prefill}
	}},
	{"more states than there are", "state 7 of 1", func(d *draft) { d.prefill["states"] = []int{7} }},
	{"state size", "layers", func(d *draft) { d.state()["size_bytes"] = d.state()["size_bytes"].(float64) + 1 }},
	{"state alignment", "alignment", func(d *draft) { d.state()["align_bytes"] = 48 }},
	{"a register that dies early", "die", func(d *draft) { d.instruction(1)["kills"] = []int{2} }},
	{"a diagnostic of a plan that is not there", "diagnostic", func(d *draft) { delete(d.whole["plans"].(map[string]any), "prefill") }},
}

// TestMalformedPlans: a plan in which one thing was changed is refused for the reason that a
// person would expect, and an unchanged one is not.
func TestMalformedPlans(t *testing.T) {
	_, document := printed(t, "")
	d := newDraft(t, document)
	b, err := json.Marshal(d.whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atenia.CheckPlan(b, nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range planMutations {
		if slices.Contains(names, m.name) {
			t.Errorf("%s: twice", m.name)
		}
		names = append(names, m.name)
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			d := newDraft(t, document)
			m.edit(d)
			b, err := json.Marshal(d.whole)
			if err != nil {
				t.Fatal(err)
			}
			_, err = atenia.CheckPlan(b, nil)
			if err == nil || !strings.Contains(fmt.Sprint(err), m.why) {
				t.Errorf("got %v\nwant one about %q", err, m.why)
			}
		})
	}
}
