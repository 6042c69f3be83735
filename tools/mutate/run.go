package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A verdict is what became of an error.
type verdict int

const (
	killed   verdict = iota
	survived         // the tests pass
	invalid          // it does not compile
)

func (v verdict) String() string { return [...]string{"killed", "survived", "invalid"}[v] }

// A runner runs the tests of packages.
type runner struct {
	root  string // of the repository, where go test runs
	temp  string
	run   string // of go test; "" = all
	long  bool
	limit time.Duration // of a run; 0 = none
	tests []string      // patterns of packages whose tests run
}

// test runs the tests with the files of an overlay, which maps a file of the repository to
// another one, and returns their output.
func (r *runner) test(ctx context.Context, overlay map[string]string) (out []byte, err error) {
	args := []string{"test", "-count=1", "-failfast", "-vet=off"}
	if !r.long {
		args = append(args, "-short")
	}
	if r.run != "" {
		args = append(args, "-run", r.run)
	}
	if r.limit > 0 {
		args = append(args, "-timeout", r.limit.String())
	}
	if len(overlay) > 0 {
		b, err := json.Marshal(map[string]any{"Replace": overlay})
		if err != nil {
			return nil, err
		}
		file := filepath.Join(r.temp, "overlay.json")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-overlay", file)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, r.tests...)...)
	cmd.Dir = r.root
	return cmd.CombinedOutput()
}

// plant runs the tests with an error in a file of which src is the content.
func (r *runner) plant(ctx context.Context, s *site, src []byte) (verdict, error) {
	b := append(append(append([]byte(nil), src[:s.lo]...), s.text...), src[s.hi:]...)
	file := filepath.Join(r.temp, "planted.go")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return 0, err
	}
	out, err := r.test(ctx, map[string]string{filepath.Join(r.root, s.file): file})
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, nil
	case !errors.As(err, &exit):
		return 0, err
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return invalid, nil
	}
	return killed, nil
}

// files returns the files of packages that are no tests and were not generated, relative to the repository.
func (r *runner) files(patterns []string) (list []string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`}, patterns...)...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for _, f := range strings.Fields(string(out)) {
		rel, err := filepath.Rel(r.root, f)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(filepath.Base(rel), "z") {
			list = append(list, filepath.ToSlash(rel))
		}
	}
	return list, nil
}
