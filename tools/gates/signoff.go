package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// A signoff says that a backend gives the reference results and lost no speed at a commit.
type signoff struct {
	Backend string         `json:"backend"`
	Commit  string         `json:"commit"`
	Base    string         `json:"base"`
	Parity  string         `json:"parity"` // the tests that passed
	Gates   map[string]int `json:"gates"`  // works by their verdict
}

// sign runs the reference cases and writes the sign-off of the processor beside the results.
func sign(o *options, root, commit string, verdicts map[string]int) error {
	const parity = "TestGoldenParity$"
	if _, err := output(root, "go", "test", "-run", parity, "./internal/exec", "./internal/model/convert", "./internal/tape"); err != nil {
		return err
	}
	b, err := json.MarshalIndent(&signoff{"cpu", commit, o.base, parity + " of exec, convert and tape", verdicts}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.results, "signoff-cpu.json"), append(b, '\n'), 0o666)
}
