package cli

import (
	"bytes"
	"strings"
	"testing"

	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagErrors checks the description of each type of flag.
func TestFlagErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"run --temp abc", `--temp: want a number, got "abc"`},
		{"run -n many", `--max-tokens: want a whole number, got "many"`},
		{"run -n 99999999999999999999", `--max-tokens: want a whole number in range, got "99999999999999999999"`},
		{"run --seed -1", `--seed: want a whole number, 0 or more, got "-1"`},
		{"run --top-p 1e99", `--top-p: want a number in range, got "1e99"`},
		{"run --strict=perhaps", `--strict: want true or false, got "perhaps"`},
		{"run --budget ram=lots", `--budget "ram=lots": want tiers and sizes, such as ram=2GiB,vram=0: "lots" is not a size`},
		{"run --samplers a\"b", `--samplers: want values separated by commas, quoted as in CSV, got "a\"b"`},
		{"run --probe all", `--probe: want model or none, got "all"`},
		{"plan --ram lots", `--ram: "lots" is not a size`},
		{"plan --ssd-rate fast", `--ssd-rate: "fast" is not a size`},
		{"plan --reserve heap=1", `--reserve: no reserve "heap"; there are kv, act and runtime`},
		{"plan --require fpu", `--require: want gpu, got "fpu"`},
		{"bench -d 1,x", `--depth: want whole numbers separated by commas, got "1,x"`},
		{"bench stream m --ratio x", `--ratio: want numbers separated by commas, got "x"`},
		{"tokenizer train f --min-count x", `--min-count: want a whole number, got "x"`},
		{"flow run g --limit soon", `--limit: want a duration such as 250ms or 10s, got "soon"`},
		{"flow run g --seconds x", `--seconds: want a number, got "x"`},
		{"finetune m d --lora r=x", `--lora: "r=x": want a whole number, 1 or more`},
		{"finetune m d --lora alpha=x", `--lora: "alpha=x": want a number`},
	} {
		var out, errw bytes.Buffer
		code := Main(strings.Split(c.line, " "), strings.NewReader(""), &out, &errw)
		if code != command.BadUsage || !strings.HasPrefix(errw.String(), "atenia: "+c.want) {
			t.Errorf("%q: exit %d, %s want %s", c.line, code, errw.String(), c.want)
		}
	}
}

// TestNoRawErrors gives every flag with a value an invalid one. No error shows
// implementation details.
func TestNoRawErrors(t *testing.T) {
	each((&app{}).root(), func(c *cobra.Command) {
		if c.Hidden || c.Name() == "explain" { // which has one text for all
			return
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); strings.HasPrefix(kind, "string") {
				return
			}
			args := append(strings.Fields(c.CommandPath())[1:], "--"+f.Name+"=\x01~")
			var errw bytes.Buffer
			code := Main(args, strings.NewReader(""), &bytes.Buffer{}, &errw)
			text := errw.String()
			if code != command.BadUsage || !strings.HasPrefix(text, "atenia: --"+f.Name) || strings.Contains(text, "strconv") || strings.Contains(text, "invalid argument") {
				t.Errorf("%q: exit %d, %s", args, code, text)
			}
		})
	})
}
