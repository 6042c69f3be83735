// Goldencases selects the compact copy of a family of reference cases: of each
// file as many cases as a budget allows, those first that add the most new
// features. The same files give the same selection.
//
//	go run -C tools ./goldencases -from DIR/hybrid ../testdata/golden/hybrid
//	go run -C tools ./goldencases -from DIR/flow -bytes 40960 \
//		-file node=110000 -file graph=130000 ../testdata/golden/flow
//
// A file is a JSON array of objects with the field "id", one object a line, or
// an object whose field "cases" is such an array of objects with the field
// "name"; its other fields are copied.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	from := flag.String("from", "", "folder of all cases")
	budget := flag.Int("bytes", 24<<10, "most bytes of cases in a file")
	own := map[string]int{}
	flag.Func("file", "NAME=N: most bytes of cases in NAME.json", func(s string) error {
		name, n, _ := strings.Cut(s, "=")
		b, err := strconv.Atoi(n)
		own[name] = b
		return err
	})
	flag.Parse()
	if *from == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: goldencases -from DIR [-bytes N] OUT")
		os.Exit(2)
	}
	if err := run(*from, flag.Arg(0), *budget, own); err != nil {
		fmt.Fprintln(os.Stderr, "goldencases:", err)
		os.Exit(1)
	}
}

// run writes to out the chosen cases of every file of from: as many as fit the
// budget, or the file's own.
func run(from, out string, budget int, own map[string]int) error {
	files, err := filepath.Glob(filepath.Join(from, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no files of cases in %s", from)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		head, cases, err := split(b)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		most := budget
		if n, ok := own[strings.TrimSuffix(filepath.Base(f), ".json")]; ok {
			most = n
		}
		kept, err := choose(cases, most)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		text, end := append([]byte(head), "[\n"...), "\n]\n"
		if head != "" {
			end = "\n]}\n"
		}
		text = append(append(text, bytes.Join(kept, []byte(",\n"))...), end...)
		if err := os.WriteFile(filepath.Join(out, filepath.Base(f)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// split returns the cases of a file and the text that goes before them: none,
// or the fields of the object that they are part of.
func split(b []byte) (head string, cases []json.RawMessage, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return "", cases, json.Unmarshal(b, &cases)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(fields["cases"], &cases); err != nil {
		return "", nil, fmt.Errorf("field cases: %w", err)
	}
	delete(fields, "cases")
	text := "{"
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		text += fmt.Sprintf("%q:%s,", k, fields[k])
	}
	return text + `"cases":`, cases, nil
}

// choose returns the chosen cases in the order of the file.
func choose(cases []json.RawMessage, budget int) ([][]byte, error) {
	says := make([]map[string]bool, len(cases))
	for i, c := range cases {
		var v any
		if err := json.Unmarshal(c, &v); err != nil {
			return nil, err
		}
		says[i] = map[string]bool{}
		features(says[i], "", v)
	}
	chosen, said := make([]bool, len(cases)), map[string]bool{}
	for {
		best, gain := -1, 0.0
		for i, c := range cases {
			if chosen[i] || len(c) > budget {
				continue
			}
			fresh := 1 // of two that say nothing new, the shorter
			for f := range says[i] {
				if !said[f] {
					fresh += 64
				}
			}
			if g := float64(fresh) / float64(200+len(c)); g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			break
		}
		chosen[best] = true
		budget -= len(cases[best])
		for f := range says[best] {
			said[f] = true
		}
	}
	var kept [][]byte
	for i, c := range cases {
		if chosen[i] {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("no case fits the budget")
	}
	return kept, nil
}

// opaque are the fields whose values are names and bytes, not behaviour.
var opaque = []string{"id", "data", "manifest", "meta", "content", "file", "stream", "key", "text"}

// features adds the features of a value: its fields, and the short texts,
// booleans and nulls in them.
func features(to map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			p := path + "." + k
			to[p] = true
			if !slices.Contains(opaque, k) {
				features(to, p, x)
			}
		}
	case []any:
		to[fmt.Sprintf("%s[%d]", path, min(len(v), 3))] = true
		for _, x := range v {
			features(to, path+"[]", x)
		}
	case string:
		if len(v) <= 120 && !strings.ContainsAny(v, "\n") {
			to[path+"="+v] = true
		}
	case bool, nil:
		to[fmt.Sprintf("%s=%v", path, v)] = true
	}
}
