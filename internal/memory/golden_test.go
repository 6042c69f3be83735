package memory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// A goldenCase is one reference case of a topic.
type goldenCase struct {
	ID       string
	Fn       string // the function or the sequence of calls
	Input    json.RawMessage
	Expected json.RawMessage
	Basis    []string
}

// decode reads input and expectation. An unknown field is an error, so that none
// is ignored by mistake; runners list the fields that they skip.
func (c *goldenCase) decode(t *testing.T, input, expected any) {
	t.Helper()
	for _, p := range []struct {
		raw json.RawMessage
		to  any
	}{{c.Input, input}, {c.Expected, expected}} {
		d := json.NewDecoder(strings.NewReader(string(p.raw)))
		d.DisallowUnknownFields()
		if err := d.Decode(p.to); err != nil {
			t.Fatalf("%v in %.400s", err, p.raw)
		}
	}
}

// goldenTopics holds the runner of each topic, which registers itself in
// golden_<topic>_test.go.
var goldenTopics = map[string]func(*testing.T, *goldenCase){}

// TestGoldenHybrid runs every case of every topic against the results of the
// reference implementation of the decision core.
func TestGoldenHybrid(t *testing.T) {
	dir := golden.Family(t, "hybrid")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		topic, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		seen[topic] = true
		run := goldenTopics[topic]
		if run == nil {
			t.Errorf("nothing runs topic %s", topic)
		} else {
			t.Run(topic, func(t *testing.T) {
				t.Parallel()
				runTopic(t, filepath.Join(dir, e.Name()), run)
			})
		}
	}
	for topic := range goldenTopics {
		if !seen[topic] {
			t.Errorf("%s has no cases of topic %s", dir, topic)
		}
	}
}

func runTopic(t *testing.T, file string, run func(*testing.T, *goldenCase)) {
	var cases []goldenCase
	golden.JSON(t, file, &cases)
	if len(cases) == 0 {
		t.Fatalf("no cases in %s", file)
	}
	for i := range cases {
		t.Run(cases[i].ID, func(t *testing.T) { run(t, &cases[i]) })
	}
}
