package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atenia/internal/golden"
)

var (
	requirement = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`)
	licenceFile = regexp.MustCompile(`(?i)^(?:(?:un)?licen[cs]e|copying|notice)(?:[.-]\w+)?$`)
)

const noticeHead = `Atenia
Licensed under the Apache License, Version 2.0; see LICENSE.

The binary contains code of the Go project (BSD-3-Clause, https://go.dev/LICENSE)
and of the modules below, some of them on some systems alone. Their licences follow.
This file is written by: go test ./internal/lint -run Notice -update
`

// TestNotice: NOTICE has each module that go.mod requires, in its version, with
// its licence.
func TestNotice(t *testing.T) {
	b, err := readFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	notice, _ := readFile("NOTICE")
	all := requirement.FindAllStringSubmatch(string(b), -1)
	if len(all) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	var texts []string
	under := map[string][]string{} // licence → the modules that have it
	for _, m := range all {
		title := m[1] + " " + m[2]
		if !strings.Contains(string(notice), "\n"+title+"\n") && !*update {
			t.Errorf("NOTICE lacks %s: go test ./internal/lint -run Notice -update", title)
		} else if *update {
			text := licences(t, m[1])
			if under[text] == nil {
				texts = append(texts, text)
			}
			under[text] = append(under[text], title)
		}
	}
	if !*update {
		return
	}
	var written strings.Builder
	written.WriteString(noticeHead)
	rule := strings.Repeat("-", 72) + "\n"
	for _, text := range texts {
		written.WriteString("\n" + rule + strings.Join(under[text], "\n") + "\n" + rule + text)
	}
	golden.Text(t, "NOTICE", written.String(), true)
}

// licences are the texts of a module's licence files.
func licences(t *testing.T, module string) string {
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	dir := regexp.MustCompile(`"Dir": "([^"]*)"`).FindSubmatch(out)
	if err != nil || dir == nil {
		t.Fatalf("%s: %v", module, err)
	}
	files, err := os.ReadDir(string(dir[1]))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range files {
		if licenceFile.MatchString(f.Name()) {
			b, err := os.ReadFile(filepath.Join(string(dir[1]), f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, "\n"+strings.TrimSpace(string(b))+"\n")
		}
	}
	if len(texts) == 0 {
		t.Errorf("%s has no licence file", module)
	}
	return strings.Join(texts, "")
}
