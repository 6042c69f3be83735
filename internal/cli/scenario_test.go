package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/golden"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestScenarios runs every file of testdata. A scenario is prose, commands and their output:
//
//	A sentence that says what is shown.
//
//	$ atenia tokenize --text "a \"quoted\" word"
//	< a line of standard input
//	a line of standard output
//	! a line of standard error
//	exit 1
//
// An empty line ends the output; one that was printed is shown as a backslash.
// "exit 0" is left out. Besides atenia there are a few commands that damage
// files, see [world.prepare], and "show FILE". $PARITY and $GGUF are the folders of the golden
// cases, $TMP is a folder for the scenario alone; -update rewrites the files.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// Always the repository's own cases: their output is in the files.
			cases := filepath.Join(golden.Root(t), "testdata", "golden")
			w := &world{vars: [][2]string{
				{"$PARITY", filepath.Join(cases, "parity")}, {"$GGUF", filepath.Join(cases, "gguf", "models")}, {"$TMP", t.TempDir()},
			}}
			got, err := w.play(string(want))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s: rerun with -update and look at the difference; got\n%s", file, diff(string(want), got))
			}
		})
	}
}

// diff shows the first lines that differ.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	part := func(l []string) string { return strings.Join(l[max(0, i-2):min(len(l), i+4)], "\n") }
	return fmt.Sprintf("line %d: got\n%s\nwant\n%s", i+1, part(b), part(a))
}

type world struct{ vars [][2]string }

// volatile is what differs from run to run.
var (
	volatile = regexp.MustCompile(`"(seconds|ns|compile_p99_ms)":[0-9.e+-]+`)
	paced    = regexp.MustCompile(`"realtime":\{[^}]*\}`)
	took     = regexp.MustCompile(`((?:from [0-9.]+ [KMG]?i?B|states?|compile) in )[0-9.]+ s\n`) // what quantize and grammar say
)

// In the output of bench, only whole numbers in tables are equal everywhere.
var (
	measuredJSON = regexp.MustCompile(`("(?:median|min|max|now|before|ratio|low|high|\w+_per_second|\w+_per_second_with_metrics|metrics_overhead|ns_per_node|\w+_seconds|\w+_share|share|flops|int8_ops)":)[0-9.e+-]+`)
	measuredList = regexp.MustCompile(`("samples":)\[[0-9.e+,-]*\]`)
	measuredText = regexp.MustCompile(`\b[0-9]+(\.[0-9]+| %| GFLOP| GOP)`)
	machineText  = regexp.MustCompile(`(portable|avx2|avx512)( kernels|")`)
	machineJSON  = regexp.MustCompile(`("machine":")[0-9a-f]+`)
	roofText     = regexp.MustCompile(`(  +|"bound":")(memory|cache|float32|int8)\b`)
	verdictText  = regexp.MustCompile(`(  +|"verdict":")(faster|slower|within noise)`)
	columnText   = regexp.MustCompile(` {2,}`)
)

// mask hides measurements, and their width in a table.
func mask(s string) string {
	s = measuredJSON.ReplaceAllString(s, "${1}0")
	s = measuredList.ReplaceAllString(s, "${1}[]")
	s = machineText.ReplaceAllString(s, "KERNEL$2")
	s = machineJSON.ReplaceAllString(s, "${1}MACHINE")
	s = roofText.ReplaceAllString(s, "${1}ROOF")
	s = verdictText.ReplaceAllString(s, "${1}VERDICT")
	if !strings.HasPrefix(s, "{") {
		s = columnText.ReplaceAllString(measuredText.ReplaceAllString(s, "N"), "  ")
	}
	return s
}

// play returns a scenario with the current output of its commands.
func (w *world) play(script string) (string, error) {
	var out strings.Builder
	lines := strings.SplitAfter(script, "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		out.WriteString(line)
		if !strings.HasPrefix(line, "$ ") {
			continue
		}
		var in strings.Builder
		for i < len(lines) && strings.HasPrefix(lines[i], "< ") {
			in.WriteString(lines[i][2:])
			out.WriteString(lines[i])
			i++
		}
		for i < len(lines) && lines[i] != "\n" && !strings.HasPrefix(lines[i], "$ ") { // the old output
			i++
		}
		words, err := split(w.replace(strings.TrimSpace(line[2:]), 0, 1))
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		text, err := w.run(words, in.String())
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		if len(words) > 1 && (slices.Contains(words, "bench") || strings.HasSuffix(words[1], ".md")) {
			text = mask(text)
		}
		text = paced.ReplaceAllString(text, `"realtime":{}`)
		text = took.ReplaceAllString(text, "${1}0.0 s\n")
		out.WriteString(volatile.ReplaceAllString(w.replace(text, 1, 0), `"$1":0`))
	}
	return out.String(), nil
}

func (w *world) replace(s string, from, to int) string {
	for _, v := range w.vars {
		s = strings.ReplaceAll(s, v[from], v[to])
	}
	return s
}

func (w *world) run(words []string, in string) (string, error) {
	if words[0] != "atenia" {
		if words[0] == "show" && len(words) == 2 {
			b, err := os.ReadFile(words[1])
			return shown(string(b)), err
		}
		return "", w.prepare(words)
	}
	var stdout, stderr bytes.Buffer
	code := Main(words[1:], strings.NewReader(in), &stdout, &stderr)
	text := shown(stdout.String())
	for l := range strings.Lines(stderr.String()) {
		text += "! " + l
	}
	if code != 0 {
		text += fmt.Sprintf("exit %d\n", code)
	}
	return text, nil
}

// shown marks empty lines, which would end the output.
func shown(s string) (text string) {
	for l := range strings.Lines(s) {
		if l == "\n" {
			l = "\\\n"
		}
		text += strings.TrimSuffix(l, "\n") + "\n"
	}
	return text
}

// prepare makes and damages files:
//
//	copy FROM TO              of a file or folder
//	cut FILE SIZE             to its first bytes
//	poke FILE OFFSET BYTES    writes over what is there
//	write FILE TEXT           the whole file, and the folders above it
//	remove FILE
//	same FILE FILE            fails unless their bytes are
func (w *world) prepare(words []string) error {
	if len(words) < 2 {
		return errors.New("want a file")
	}
	file, args := words[1], append(words[2:], "", "")
	switch words[0] {
	case "copy":
		if fi, err := os.Stat(file); err == nil && fi.IsDir() {
			return os.CopyFS(args[0], os.DirFS(file))
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(args[0], b, 0o666)
	case "cut":
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return err
		}
		return os.Truncate(file, n)
	case "poke":
		at, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(args[1]), at)
		return errors.Join(err, f.Close())
	case "write":
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(args[0]), 0o666)
	case "remove":
		return os.Remove(file)
	case "same":
		a, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(args[0])
		if err == nil && !bytes.Equal(a, b) {
			return fmt.Errorf("%s and %s differ", file, args[0])
		}
		return err
	}
	return fmt.Errorf("no command %s", words[0])
}

// split cuts a command line into words as a shell does: quotes join, and a
// backslash between double quotes is Go's.
func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var word strings.Builder
		for line != "" && line[0] != ' ' {
			switch c := line[0]; c {
			case '"':
				q, err := strconv.QuotedPrefix(line)
				if err != nil {
					return nil, err
				}
				s, err := strconv.Unquote(q)
				if err != nil {
					return nil, err
				}
				word.WriteString(s)
				line = line[len(q):]
			case '\'':
				s, rest, ok := strings.Cut(line[1:], "'")
				if !ok {
					return nil, errors.New("no closing quote")
				}
				word.WriteString(s)
				line = rest
			default:
				word.WriteByte(c)
				line = line[1:]
			}
		}
		words = append(words, word.String())
	}
	return words, nil
}
