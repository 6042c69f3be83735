package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"atenia/internal/cli/command"
	"atenia/internal/grammar"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// grammarCommand returns the command.
func grammarCommand(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "grammar",
		Short:   "Check schemas before they are asked for",
		Long:    "Check JSON Schemas as a server enforces them.",
		Example: "  atenia grammar check schema.json '{\"name\": \"Ada\"}'",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(checkGrammar(env))
	return c
}

// A grammarCheck is what check prints with --json.
type grammarCheck struct {
	Enforced   bool           `json:"enforced"`
	Unenforced []grammarFault `json:"unenforced,omitempty"`
	Texts      []checkedText  `json:"texts,omitempty"`
	States     int            `json:"states"`
	Seconds    float64        `json:"seconds"`
}

type grammarFault struct {
	Pointer string `json:"pointer"`
	Why     string `json:"why"`
}

type checkedText struct {
	Text     string `json:"text"`
	Admitted bool   `json:"admitted"`
}

func checkGrammar(env *command.Env) *cobra.Command {
	var cases string
	c := &cobra.Command{
		Use:   "check [SCHEMA] [TEXT...]",
		Short: "Say what of a JSON Schema cannot be enforced, and which texts are admitted",
		Long: "Compile a JSON Schema (a file, or - for standard input) as the server does for an answer with response_format.\n" +
			"What cannot be enforced is listed with JSON pointers: a request with that schema is a 400. Of each TEXT it is\n" +
			"said whether an answer can be so. The exit code is 3 if something cannot be enforced or a text is not admitted.\n\n" +
			"--cases reads a folder of JSON files {\"schema\": …, \"tests\": [{\"valid\": …, \"data\": …}]}, the form of MaskBench,\n" +
			"writes the data with a space behind commas and colons, and counts the cases whose schema is accepted and\n" +
			"those of which all tests pass. The exit code is 3 if invalid data are admitted.",
		Example: "  atenia grammar check schema.json '{\"name\": \"Ada\"}'\n" +
			"  atenia grammar check --cases path/to/maskbench --json",
		Args: cobra.ArbitraryArgs,
	}
	c.Flags().StringVar(&cases, "cases", "", "check the schemas and tests of a `FOLDER`")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case cases != "" && len(args) > 0:
			return command.Usagef("grammar check: give either a schema or --cases")
		case cases != "":
			return checkCases(c.Context(), env, cases)
		case len(args) == 0:
			return command.Usagef("grammar check: give a schema or --cases")
		}
		schema, err := readSchema(env, args[0])
		if err != nil {
			return err
		}
		return checkSchema(c.Context(), env, schema, args[1:])
	}
	return c
}

// schemaBytes is what of a schema is read: more is beyond the bounds of a request's.
const schemaBytes = 1<<20 + 1

func readSchema(env *command.Env, name string) ([]byte, error) {
	if name == "-" {
		return command.ReadMost(env.In, schemaBytes)
	}
	return readCase(name, schemaBytes)
}

// readCase reads a file of at most so many bytes.
func readCase(name string, most int64) ([]byte, error) {
	f, err := durable.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := command.ReadMost(f, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func checkSchema(ctx context.Context, env *command.Env, schema []byte, texts []string) error {
	began := time.Now()
	check, err := grammar.NewCheck(ctx, schema)
	r := grammarCheck{Enforced: err == nil, Seconds: time.Since(began).Seconds()}
	faults := grammar.Unenforced(err)
	if err != nil && faults == nil {
		if ctx.Err() != nil {
			return err
		}
		faults = []*grammar.Error{{Schema: true, Why: err.Error()}}
	}
	for _, f := range faults {
		r.Unenforced = append(r.Unenforced, grammarFault{f.Pointer, f.Why})
	}
	refused := 0
	if check != nil {
		r.States = check.States()
		for _, text := range texts {
			ok, err := check.Admits(text)
			if err != nil {
				return err
			}
			if !ok {
				refused++
			}
			r.Texts = append(r.Texts, checkedText{text, ok})
		}
	}
	if err := printCheck(env, &r); err != nil {
		return err
	}
	switch {
	case len(faults) > 0:
		return fmt.Errorf("an answer cannot be kept to the schema: %w", command.ErrVerify)
	case refused > 0:
		return fmt.Errorf("%d of %s not admitted: %w", refused, spelling.Count(len(texts), "text"), command.ErrVerify)
	}
	return nil
}

func printCheck(env *command.Env, r *grammarCheck) error {
	if *env.JSON {
		return env.PrintJSON(r)
	}
	for _, f := range r.Unenforced {
		fmt.Fprintf(env.Out, "%s: %s\n", cmp.Or(f.Pointer, "/"), f.Why)
	}
	for _, t := range r.Texts {
		word := "admitted"
		if !t.Admitted {
			word = "not admitted"
		}
		fmt.Fprintf(env.Out, "%s: %s\n", word, t.Text)
	}
	_, err := fmt.Fprintf(env.Out, "%s in %.3f s\n", spelling.Count(r.States, "state"), r.Seconds)
	return err
}

// A caseCount is what check --cases prints with --json.
type caseCount struct {
	Cases           int     `json:"cases"`
	Accepted        int     `json:"accepted"`
	Passed          int     `json:"passed"`
	InvalidAdmitted int     `json:"invalid_admitted"`
	CompileP99      float64 `json:"compile_p99_ms"`
}

func checkCases(ctx context.Context, env *command.Env, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var all caseCount
	var took []time.Duration
	for _, file := range files {
		const most = 64 << 20
		if filepath.Ext(file.Name()) != ".json" {
			continue
		}
		b, err := readCase(filepath.Join(folder, file.Name()), most)
		if err != nil {
			return err
		}
		one, err := parseCase(b)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		began := time.Now()
		check, err := grammar.NewCheck(ctx, one.Schema)
		took = append(took, time.Since(began))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		all.Cases++
		if err != nil {
			if !*env.JSON {
				fmt.Fprintf(env.Out, "%s: %v\n", file.Name(), err)
			}
			continue
		}
		all.Accepted++
		valid, invalid := one.run(check)
		if !*env.JSON && len(valid)+len(invalid) > 0 {
			fmt.Fprintf(env.Out, "%s: valid tests not admitted: %v, invalid ones admitted: %v\n", file.Name(), valid, invalid)
		}
		all.InvalidAdmitted += len(invalid)
		if len(valid)+len(invalid) == 0 {
			all.Passed++
		}
	}
	if all.Cases == 0 {
		return fmt.Errorf("%s: no file there is named *.json", folder)
	}
	slices.Sort(took)
	all.CompileP99 = took[(len(took)*99-1)/100].Seconds() * 1000
	return printCases(env, &all)
}

func printCases(env *command.Env, all *caseCount) error {
	var err error
	if *env.JSON {
		err = env.PrintJSON(all)
	} else {
		_, err = fmt.Fprintf(env.Out, "%s: %d accepted, %d passed, %d invalid admitted; 99 of 100 compile in %.3f s\n",
			spelling.Count(all.Cases, "case"), all.Accepted, all.Passed, all.InvalidAdmitted, all.CompileP99/1000)
	}
	if all.InvalidAdmitted > 0 {
		err = errors.Join(err, fmt.Errorf("%d invalid data admitted: %w", all.InvalidAdmitted, command.ErrVerify))
	}
	return err
}

// A schemaCase is one file of --cases.
type schemaCase struct {
	Schema json.RawMessage `json:"schema"`
	Tests  []struct {
		Valid bool            `json:"valid"`
		Data  json.RawMessage `json:"data"`
	} `json:"tests"`
}

func parseCase(b []byte) (*schemaCase, error) {
	var one schemaCase
	if err := json.Unmarshal(b, &one); err != nil {
		return nil, err
	}
	if one.Schema == nil {
		return nil, errors.New("want a member schema")
	}
	return &one, nil
}

// run returns the numbers of the valid tests that are not admitted, and of the invalid
// ones that are. Data that cannot be written or followed are not admitted.
func (s *schemaCase) run(check *grammar.Check) (valid, invalid []int) {
	for i, t := range s.Tests {
		text, err := grammar.Spaced(t.Data)
		ok := false
		if err == nil {
			ok, err = check.Admits(text)
		}
		switch {
		case t.Valid && (!ok || err != nil):
			valid = append(valid, i)
		case !t.Valid && ok && err == nil:
			invalid = append(invalid, i)
		}
	}
	return valid, invalid
}
