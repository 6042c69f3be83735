package atenia_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codeBlocks returns the code blocks of README.md whose first line starts with
// the given text.
func codeBlocks(t *testing.T, first string) []string {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?s)```(?:go)?\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		if strings.HasPrefix(m[1], first) {
			found = append(found, m[1])
		}
	}
	return found
}

// TestReadmeCommands: the first command runs the embedded model and the second
// is how tests are run. CI runs both.
func TestReadmeCommands(t *testing.T) {
	want := "go run ./cmd/atenia run \"Once upon a time\"\ngo test ./...\n"
	if got := codeBlocks(t, "go run"); len(got) == 0 || got[0] != want {
		t.Errorf("got %q, want %q first", got, want)
	}
}

// TestReadmeLibrary builds README's program in a module of its own, by README's
// lines, and runs it on the embedded model.
func TestReadmeLibrary(t *testing.T) {
	t.Parallel() // it waits for the go command
	lines, code := codeBlocks(t, "go mod edit"), codeBlocks(t, "m, err := atenia.Open")
	if len(lines) != 1 || len(code) != 1 {
		t.Fatalf("%d blocks of commands and %d of code, want one of each", len(lines), len(code))
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := `package main

import (
	"context"
	"fmt"
	"log"

	"atenia"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
` + strings.Replace(code[0], `"model.gguf"`, `""`, 1) + `	return nil
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	output := ""
	commands := "go mod init hello\n" + strings.ReplaceAll(lines[0], "../atenia", filepath.ToSlash(root)) + "go run .\n"
	for line := range strings.Lines(commands) {
		args := strings.Fields(line)
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		b, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, b)
		}
		output = string(b)
	}
	if len(strings.Fields(output)) < 10 {
		t.Errorf("the program printed %q, want a story", output)
	}
}
