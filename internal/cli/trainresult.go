package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"atenia/internal/bench/machine"
	"atenia/internal/spelling"
)

// A trainResult is the result that is printed with --json.
type trainResult struct {
	Machine      string  `json:"machine"` // equal on equal machines
	Layers       int     `json:"layers"`
	Parameters   int     `json:"parameters"`
	Tokens       int     `json:"tokens"`
	Batches      int     `json:"batches"`
	Threads      int     `json:"threads"`
	StateBytes   int64   `json:"state_bytes"`
	InMemory     float64 `json:"in_memory_seconds"`
	Offloaded    float64 `json:"offloaded_seconds"`
	Overhead     float64 `json:"overhead_share"`
	Update       float64 `json:"update_seconds"`
	Overlap      float64 `json:"overlap_share"`
	ReadBytes    uint64  `json:"read_bytes_per_step"`
	WrittenBytes uint64  `json:"written_bytes_per_step"`
	TBW          float64 `json:"tbw"`
	Steps        uint64  `json:"steps_until_tbw"`
	Equal        bool    `json:"equal"`
}

func trainResultOf(id string, r *machine.OffloadReport, tbw float64, steps uint64) *trainResult {
	return &trainResult{id, r.Layers, r.Parameters, r.Tokens, r.Batches, r.Threads, r.StateBytes, r.InMemory, r.Offloaded, r.Overhead, r.Update, r.Overlap,
		r.ReadBytes, r.WrittenBytes, tbw, steps, r.Equal}
}

// A comparison is with the result in a file, "" for none.
type comparison struct {
	path   string
	before *trainResult
}

func (c *comparison) read() error {
	if c.path == "" {
		return nil
	}
	b, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("--compare: %w", err)
	}
	if c.before, err = parseTrainResult(b); err != nil {
		return fmt.Errorf("--compare: %s: %w", c.path, err)
	}
	return nil
}

func parseTrainResult(b []byte) (*trainResult, error) {
	r := &trainResult{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("not a result of bench train-offload: %w", err)
	}
	if r.InMemory <= 0 || r.Offloaded <= 0 {
		return nil, errors.New("not a result of bench train-offload: it has no steps")
	}
	return r, nil
}

// compare prints r beside an earlier result of the same work.
func (r *trainResult) compare(w io.Writer, path string, before *trainResult) error {
	if r.Layers != before.Layers || r.Parameters != before.Parameters || r.Tokens != before.Tokens || r.Batches != before.Batches {
		_, err := fmt.Fprintf(w, "%s measured %d parameters in %d layers, %d × %d tokens a step: nothing to compare with\n",
			path, before.Parameters, before.Layers, before.Batches, before.Tokens)
		return err
	}
	where := "on this machine"
	if r.Machine != before.Machine || r.Threads != before.Threads {
		where = fmt.Sprintf("on another machine, with %s", spelling.Count(before.Threads, "thread"))
	}
	_, err := fmt.Fprintf(w, "compared with %s, %s: %+.1f %% in memory, %+.1f %% in files\n",
		path, where, 100*(r.InMemory/before.InMemory-1), 100*(r.Offloaded/before.Offloaded-1))
	return err
}
