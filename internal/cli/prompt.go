package cli

import (
	"fmt"
	"io"
	"strings"

	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
)

// stdin is the argument that means standard input.
const stdin = "-"

// modelAndPrompt returns the model and the prompt of run's arguments. It reads
// standard input only if there is no prompt, or for "-", because it would wait
// forever for a pipe that is not closed.
func (a *app) modelAndPrompt(args []string) (model, prompt string, err error) {
	model, prompt, given := "", "", false
	if len(args) == 3 { // MODEL PROMPT -
		model, prompt = args[0], args[1]
	} else if model, prompt, given = modelAndText(args); given && prompt != stdin {
		return model, prompt, nil
	}
	if !given && len(args) < 3 && isTerminal(a.in) {
		return "", "", command.Usagef("run: no prompt: give one as the last argument or on standard input")
	}
	b, err := io.ReadAll(a.in)
	if err != nil {
		return "", "", fmt.Errorf("standard input: %w", err)
	}
	if b, err = spelling.UTF8(b); err != nil {
		return "", "", fmt.Errorf("standard input: %w", err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	switch {
	case text == "":
		return "", "", command.Usagef("run: no prompt: standard input is empty")
	case len(args) == 3:
		text = prompt + "\n\n" + text
	}
	return model, text, nil
}

// readText reads a file of text.
func readText(name string) (string, error) {
	f, err := durable.OpenText(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	if b, err = spelling.UTF8(b); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(b), nil
}
