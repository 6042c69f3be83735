package cli

// Files of serve: settings in TOML, keys.

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/place"

	"github.com/spf13/pflag"
)

// A sizeFlag is a number of bytes, such as 32MiB.
type sizeFlag int64

// String implements [pflag.Value].
func (s *sizeFlag) String() string {
	if *s == 0 {
		return "0"
	}
	return spelling.Size(int64(*s))
}

// Set implements [pflag.Value].
func (s *sizeFlag) Set(text string) error {
	n, err := place.ParseSize(text)
	*s = sizeFlag(n)
	return err
}

// Type implements [pflag.Value].
func (s *sizeFlag) Type() string { return "SIZE" }

// mostSettings bounds files of settings and of keys.
const mostSettings = 1 << 20

// readServeFile sets the flags that a file of settings names and the command line does not, and
// returns the models that it lists.
func readServeFile(path string, f *pflag.FlagSet) (models []string, err error) {
	b, err := readFew(path)
	if err != nil {
		return nil, err
	}
	if models, err = setFlags(b, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return models, nil
}

func readFew(path string) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return command.ReadMost(f, mostSettings)
}

// setFlags reads settings: keys are flags, except for "models".
func setFlags(b []byte, f *pflag.FlagSet) (models []string, err error) {
	var file map[string]any
	if err := command.Settings(b, &file); err != nil {
		return nil, err
	}
	names := []string{"models"}
	f.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	keys := make([]string, 0, len(file))
	for key := range file {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		values, err := tomlValues(key, file[key])
		if err != nil {
			return nil, err
		}
		if key == "models" {
			models = values
			continue
		}
		flag := f.Lookup(key)
		if flag == nil || key == "config" || key == "help" {
			return nil, command.Usagef("no key %q%s", key, didYouMean(key, names, ""))
		}
		if flag.Changed { // the command line wins
			continue
		}
		if _, several := flag.Value.(pflag.SliceValue); len(values) > 1 && !several {
			return nil, command.Usagef("%s has one value, not %d", key, len(values))
		}
		for _, v := range values {
			if err := flag.Value.Set(v); err != nil {
				return nil, command.Usagef("%s: %w", key, err)
			}
		}
	}
	return models, nil
}

// tomlValues returns the values of a key as a command line would have them.
func tomlValues(key string, v any) ([]string, error) {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, e := range v {
			one, err := tomlValues(key, e)
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
		}
		return out, nil
	case string, bool, int64, float64:
		return []string{fmt.Sprint(v)}, nil
	}
	return nil, command.Usagef("%s is a %T, want a value or a list of values", key, v)
}

// readKeys reads API keys, one a line. Empty lines and those after # are no keys.
func readKeys(path string) (keys []string, err error) {
	b, err := readFew(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 {
		return nil, command.Usagef("%s has no keys", path)
	}
	return keys, nil
}
