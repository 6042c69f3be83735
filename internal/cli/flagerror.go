package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"atenia"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError rewords pflag's errors.
func (a *app) flagError(c *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError(e)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("--%s needs a value", e.GetFlag().Name)
	}
	return a.unknownFlag(c, err)
}

// wanted describes the values of pflag's own types.
var wanted = map[string]string{
	"bool":         "true or false",
	"duration":     "a duration such as 250ms or 10s",
	"int":          "a whole number",
	"int64":        "a whole number",
	"uint64":       "a whole number, 0 or more",
	"float32":      "a number",
	"float64":      "a number",
	"intSlice":     "whole numbers separated by commas",
	"float64Slice": "numbers separated by commas",
	"stringSlice":  "values separated by commas, quoted as in CSV",
}

// valueError describes the values that a flag accepts. Flags of this program's
// own types describe themselves.
func valueError(e *pflag.InvalidValueError) error {
	f := e.GetFlag()
	if want, ok := wanted[f.Value.Type()]; ok {
		if errors.Is(e, strconv.ErrRange) && !strings.HasPrefix(e.GetValue(), "-") {
			want += " in range"
		}
		return fmt.Errorf("--%s: want %s, got %q", f.Name, want, e.GetValue())
	}
	if cause, ok := errors.AsType[*atenia.ConfigError](e); ok {
		return fmt.Errorf("--%s %q: want %s", f.Name, e.GetValue(), cause.Want)
	}
	return fmt.Errorf("--%s: %w", f.Name, errors.Unwrap(e))
}
