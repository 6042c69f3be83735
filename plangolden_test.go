package atenia

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
)

var update = flag.Bool("update", false, "rewrite testdata/plans from the configurations there and those of the golden cases")

// plansDir holds a file for each configuration: its config.json, and what "atenia
// plan --json" prints for a folder with nothing else. Layers that repeat others
// are folded, and every instruction is one line.
const plansDir = "testdata/plans"

// TestPlanGolden compares the plans of all configurations with the committed
// ones. To add those of new golden cases, run with -update.
func TestPlanGolden(t *testing.T) {
	if *update {
		collectPlans(t)
	}
	files, err := filepath.Glob(filepath.Join(plansDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no plans", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			var f struct {
				Config json.RawMessage `json:"config.json"`
			}
			golden.JSON(t, path, &f)
			text, err := planText(t, f.Config)
			if err != nil {
				t.Fatal(err)
			}
			golden.Text(t, path, text, *update)
		})
	}
}

// TestPlanGoldenCovers: no case of the repository that compiles is without its plan.
func TestPlanGoldenCovers(t *testing.T) {
	root := filepath.Join("testdata", "golden", "parity")
	for _, name := range golden.Dirs(t, root) {
		if _, err := os.Stat(filepath.Join(plansDir, name+".json")); err == nil {
			continue
		}
		config, err := os.ReadFile(filepath.Join(root, name, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := planText(t, config); err == nil {
			t.Errorf("%s compiles but has no plan in %s: run with -update", name, plansDir)
		}
	}
}

// collectPlans writes the plans of the golden cases that compile.
func collectPlans(t *testing.T) {
	root := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, root) {
		config, err := os.ReadFile(filepath.Join(root, name, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := planText(t, config); err == nil {
			golden.Text(t, filepath.Join(plansDir, name+".json"), text, true)
		} else if _, ok := errors.AsType[*compile.UnsupportedModelError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// planText returns the content of a file of plansDir.
func planText(t *testing.T, config []byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := OpenPlan(dir, nil)
	if err != nil {
		return "", err
	}
	p.Path = "config.json"
	b, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, mapping := range doc["mapping"].(map[string]any) {
		delete(mapping.(map[string]any), "registers") // the buffer of each; what they take is below
	}
	for _, p := range doc["plans"].(map[string]any) {
		foldPlan(p.(map[string]any))
	}
	model := doc["model"].(map[string]any)["config"].(map[string]any)
	if layers, ok := model["Layers"].([]any); ok {
		model["Layers"] = runLengths(layers)
	}
	var out strings.Builder
	var given any
	if given, err = pythonJSON(config); err != nil {
		t.Fatal(err)
	}
	lines(&out, map[string]any{"config.json": given, "plan": doc}, "")
	return out.String() + "\n", nil
}

// pythonJSON reads a configuration, in which Python may have written Infinity.
func pythonJSON(b []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.ReplaceAll(b, []byte(" Infinity"), []byte(` {"__float__": "Infinity"}`))))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// foldPlan replaces layers that repeat earlier ones, and their registers.
func foldPlan(p map[string]any) {
	ins, regs := p["instructions"].([]any), p["registers"].([]any)
	var groups []layerGroup
	for _, v := range ins {
		m := v.(map[string]any)
		layer := number(m["layer"])
		if n := len(groups); layer < 0 || n == 0 || groups[n-1].layer != layer {
			groups = append(groups, layerGroup{layer: layer})
		}
		g := &groups[len(groups)-1]
		g.ins = append(g.ins, m)
	}
	for i := range groups {
		groups[i].form = groups[i].describe(regs)
	}
	var out []any
	gone := map[int]bool{}
	for i := 0; i < len(groups); {
		period, n := repeated(groups, i)
		if n == 0 {
			for _, m := range groups[i].ins {
				out = append(out, m)
			}
			i++
			continue
		}
		like := fmt.Sprintf("layer %d", groups[i-period].layer)
		if period > 1 {
			like = fmt.Sprintf("layers %d–%d", groups[i-period].layer, groups[i-1].layer)
		}
		these := fmt.Sprintf("layer %d", groups[i].layer)
		if n > 1 {
			these = fmt.Sprintf("layers %d–%d", groups[i].layer, groups[i+n-1].layer)
		}
		out = append(out, map[string]any{"fold": these + " as " + like})
		for _, g := range groups[i : i+n] {
			for _, m := range g.ins {
				for _, r := range m["out"].([]any) {
					gone[number(r)] = true
				}
			}
		}
		i += n
	}
	var kept []any
	for i, r := range regs {
		if !gone[i] {
			m := r.(map[string]any)
			text := fmt.Sprintf("r%d %v %v[%v,%v]", i, m["name"], m["dtype"], m["rows"], m["cols"])
			if m["layout"] != "contiguous" {
				text += fmt.Sprint(" ", m["layout"])
			}
			kept = append(kept, text)
		}
	}
	for _, v := range out {
		params, _ := v.(map[string]any)["params"].(map[string]any)
		for k, x := range params {
			if n, ok := x.(json.Number); ok && n == "0" {
				delete(params, k) // as in the text form
			}
		}
	}
	p["instructions"], p["registers"] = out, kept
}

// A layerGroup is the instructions of one layer. Its form is equal for layers
// that differ only in their numbers.
type layerGroup struct {
	layer int
	ins   []map[string]any
	form  string
}

func (g *layerGroup) describe(regs []any) string {
	base := number(g.ins[0]["out"].([]any)[0])
	relative := func(v any) (out []int) {
		list, _ := v.([]any)
		for _, r := range list {
			out = append(out, number(r)-base)
		}
		return out
	}
	var forms []any
	for _, m := range g.ins {
		params := map[string]any{}
		given, _ := m["params"].(map[string]any)
		for k, v := range given {
			if k != "layer" {
				params[k] = v
			}
		}
		weights := map[string]string{}
		if list, ok := m["weights"].(map[string]any); ok {
			for k, v := range list {
				weights[k] = strings.Replace(v.(string), fmt.Sprintf("blk.%d.", g.layer), "", 1)
			}
		}
		var outs []any
		for _, r := range m["out"].([]any) {
			reg := regs[number(r)].(map[string]any)
			outs = append(outs, reg["dtype"], reg["rows"], reg["cols"])
		}
		forms = append(forms, m["op"], relative(m["in"]), relative(m["out"]), relative(m["kills"]), m["state"], params, weights, outs)
	}
	return compact(forms)
}

// repeated returns how many groups from i on repeat those a period before.
func repeated(groups []layerGroup, i int) (period, n int) {
	for p := 1; p <= min(i, 8); p++ {
		k := 0
		for i+k < len(groups) && groups[i+k].layer > 0 && groups[i+k].form == groups[i+k-p].form && groups[i+k].layer == groups[i+k-p].layer+p {
			k++
		}
		if k -= k % p; k > n {
			period, n = p, k
		}
	}
	return period, n
}

// runLengths replaces equal neighbours by one with a count.
func runLengths(list []any) (out []any) {
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && compact(list[i+n]) == compact(list[i]) {
			n++
		}
		m := map[string]any{"layers": n}
		for k, v := range list[i].(map[string]any) {
			m[k] = v
		}
		out = append(out, m)
		i += n
	}
	return out
}

func number(v any) int {
	n, _ := v.(json.Number).Int64()
	return int(n)
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of values that were parsed from JSON
	}
	return string(b)
}

// lines prints JSON with a line for each entry of an object, and for each element
// of an array.
func lines(w *strings.Builder, v any, indent string) {
	switch x := v.(type) {
	case map[string]any:
		if text := compact(x); len(text) < 100 {
			w.WriteString(text)
			return
		}
		w.WriteString("{")
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for i, k := range keys {
			if i > 0 {
				w.WriteString(",")
			}
			fmt.Fprintf(w, "\n%s %s: ", indent, compact(k))
			lines(w, x[k], indent+" ")
		}
		w.WriteString("\n" + indent + "}")
	case []any:
		if text := compact(x); len(text) < 100 {
			w.WriteString(text)
			return
		}
		w.WriteString("[")
		for i, e := range x {
			if i > 0 {
				w.WriteString(",")
			}
			fmt.Fprintf(w, "\n%s %s", indent, compact(e))
		}
		w.WriteString("\n" + indent + "]")
	default:
		w.WriteString(compact(x))
	}
}
