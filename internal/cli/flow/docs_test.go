package flow

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/flow"
)

var update = flag.Bool("update", false, "rewrite the table of docs/flow.md")

// TestDocs compares the table of types in docs/flow.md with the catalogue.
func TestDocs(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| type | ports | parameters | settings, *tables* | |\n|---|---|---|---|---|\n")
	all := flow.ShippedTypes()
	for i := range all {
		r := rowOf(all, &all[i])
		var params, rest []string
		for _, p := range r.Params {
			params = append(params, fmt.Sprintf("%s %.6g", p.Name, p.Default))
		}
		for _, s := range r.Settings {
			if len(s.Among) > 0 {
				rest = append(rest, fmt.Sprintf("%s (%s)", s.Name, strings.Join(s.Among, " ")))
			} else {
				rest = append(rest, fmt.Sprintf("%s (%s)", s.Name, s.Default))
			}
		}
		for _, s := range r.Tables {
			rest = append(rest, "*"+s+"*")
		}
		mark := ""
		if r.Adjoint {
			mark = " ∇"
		}
		row := []string{"**" + r.Name + "**" + mark, ports(r.Ins) + " → " + ports(r.Outs), strings.Join(params, ", "), strings.Join(rest, ", "), r.Doc}
		for k := range row {
			row[k] = strings.ReplaceAll(row[k], "|", "\\|")
		}
		table.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	path := filepath.Join("..", "..", "..", "docs", "flow.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- types -->\n", "<!-- /types -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/flow.md has lost the marks of its table")
	}
	want := before + begin + table.String() + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the table of types in docs/flow.md is not the catalogue's: rerun with -update and look at it")
	}
	if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}
