package pass

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

// TestText reads models written as programs from plan/testdata/*.txtar and
// compares the plan, its diagnostics and its mapping with the sections after
// them.
func TestText(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no models under plan/testdata")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			comment, sections := parseArchive(string(b))
			src := make(map[string]string)
			var out strings.Builder
			out.WriteString(comment)
			for _, s := range sections {
				src[s[0]] = s[1]
				if s[0] != "plan" && s[0] != "mapping" {
					fmt.Fprintf(&out, "-- %s --\n%s", s[0], s[1])
				}
			}
			c := compileText(t, src)
			m := Map(c, plan.Sizing{Tokens: 512, Requested: 1}, inputsOf(c))
			simulate(t, c, &m, plan.Sizing{Tokens: 512, Requested: 1})
			fmt.Fprintf(&out, "-- plan --\n%s-- mapping --\n%s", c, describe(c, &m))
			golden(t, file, out.String())
			if c2, err := LoadText(strings.NewReader(c.String())); err != nil || c2.String() != c.String() {
				t.Errorf("does not read back: %v", err)
			}
		})
	}
}

func describe(c *plan.CompiledPlan, m *plan.PhysicalMapping) string {
	var b bytes.Buffer
	for i, s := range m.Buffers {
		fmt.Fprintf(&b, "b%d %d bytes:", i, s.Size)
		for r, to := range m.ToPhysical {
			if int(to) == i {
				fmt.Fprintf(&b, " %s", c.Plan.Registers[r].Name)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d bytes instead of %d\n", m.Bytes, m.NaiveBytes)
	return b.String()
}

// parseArchive splits a txtar file: a comment, then "-- name --" sections.
func parseArchive(text string) (comment string, sections [][2]string) {
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		name, ok2 := strings.CutSuffix(name, " --")
		switch {
		case ok && ok2:
			sections = append(sections, [2]string{name, ""})
		case len(sections) == 0:
			comment += line
		default:
			sections[len(sections)-1][1] += line
		}
	}
	return comment, sections
}

func parseProgram(t *testing.T, text string) plan.Program {
	t.Helper()
	p, err := plan.ParseProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != text {
		t.Errorf("the program prints as\n%s", p)
	}
	return p
}

// compileText builds and compiles the model of an archive.
func compileText(t *testing.T, src map[string]string) *plan.CompiledPlan {
	t.Helper()
	layers, err := strconv.Atoi(strings.TrimSpace(src["layers"]))
	if err != nil {
		t.Fatal(err)
	}
	m := toyModel{name: "llama", layers: layers}
	b := plan.NewBuilder(plan.ModePrefill, m)
	if strings.Contains(src["block"], "attention") {
		b.State(m.states()[0])
	}
	x := b.Input("tokens", plan.RegSpec{DType: tensor.I32, Rank: 1, Cols: 1})
	b.Input("rows", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: plan.RowsRequested, Cols: 1})
	x = b.Lower(parseProgram(t, src["prologue"]), -1, x, plan.RowsTokens)
	block := parseProgram(t, src["block"])
	for l := range layers {
		x = b.Lower(block, l, x, plan.RowsTokens)
	}
	x = b.Lower(parseProgram(t, src["epilogue"]), -1, x, plan.RowsRequested)
	p, err := b.Build(x)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A plan without fusion equals its programs: read back layer by layer, it is
// the source again.
func TestPlanRoundTripProgram(t *testing.T) {
	for _, name := range toyNames {
		t.Run(name, func(t *testing.T) {
			const layers = 8
			c := compile(t, name, plan.ModePrefill, layers, Options{NoFuse: true})
			for l := range layers {
				got := programOf(c, l).String()
				want := source(toyModel{name: name, layers: layers}.block(l))
				if got != want {
					t.Errorf("layer %d reads\n%s\nwant\n%s", l, got, want)
				}
			}
		})
	}
}

// source is a block's text without tags, which a plan does not store, and with
// its last value named as in the next layer.
func source(p plan.Program) string {
	out := append(plan.Program(nil), p...)
	for i := range out {
		out[i].Tag = ""
	}
	return out.String()
}

// programOf rebuilds a layer's program from a plan: names without the layer,
// "x" for values from outside.
func programOf(c *plan.CompiledPlan, layer int) (p plan.Program) {
	prefix := fmt.Sprintf("L%d.", layer)
	for _, in := range c.Plan.Instructions {
		if int(in.Layer) != layer {
			continue
		}
		op := plan.LayerOp{Op: in.Op, Out: strings.TrimPrefix(c.Plan.Registers[in.Out[0]].Name, prefix), W: make(map[string]string)}
		for _, r := range in.In {
			name, inside := strings.CutPrefix(c.Plan.Registers[r].Name, prefix)
			if !inside {
				name = "x"
			}
			op.In = append(op.In, name)
		}
		for k, w := range in.Weights {
			if w != plan.NoWeight {
				slot, _ := plan.Specs.Get(in.Op).Slot(k)
				name := strings.TrimPrefix(c.Plan.Weights[w].Name, fmt.Sprintf("blk.%d.", layer))
				op.W[slot] = strings.TrimPrefix(name, "const.")
			}
		}
		p = append(p, op)
	}
	return p
}
