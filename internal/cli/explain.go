package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"atenia"
	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/engine"
	"atenia/internal/spelling"
	"atenia/place"

	"github.com/spf13/cobra"
)

const usage = "Usage: atenia explain --gpu-available=<true|false> --vram-band=<0..3> --ram-band=<0..3>"

// defaultName is the file that is read without --learning, if it is there, in
// the folder of the program's state.
const defaultName = "learning.v1"

// A query is the flags of one call.
type query struct {
	gpu, vram, ram  string
	learning        string
	all             bool
	of              []place.Bucket // one, or all
	structured, set bool
}

// explainCommand returns the command.
func explainCommand(env *command.Env) *cobra.Command {
	var q query
	wrong := &command.ExitError{Code: command.Failure, Text: usage}
	c := &cobra.Command{
		Use:   "explain [MODEL]",
		Short: "Tell the last run of a model, or which backend is preferred",
		Long: "Tell the last run of MODEL, or of any model: where its weights were and why, how long a token took and what\n" +
			"bounded it, what changed while it ran, what was learned, and what would help most. \"atenia run\" and\n" +
			"\"atenia chat\" keep the account of each model's last run in $XDG_STATE_HOME/atenia/runs. A run\n" +
			"that was killed leaves none, which is said before that of an older one. A model that was not run yet is an\n" +
			"error.\n\n" +
			"With flags, read what runs learned about the CPU and the GPU under memory pressure, and explain which of them is\n" +
			"preferred. A band is a range of pressure: 0 below 0.5, 1 below 0.75, 2 below 0.9, 3 above. --learning\n" +
			"defaults to " + defaultName + " in $XDG_STATE_HOME/atenia or ~/.local/state/atenia, if it exists. The exit\n" +
			"code for a mistake in the call is 1.",
		Example: "  atenia explain\n" +
			"  atenia explain model.gguf --json\n" +
			"  atenia explain --gpu-available=true --vram-band=1 --ram-band=2\n" +
			"  atenia explain --all --structured --learning learning.v1",
		Args: cobra.ArbitraryArgs,
	}
	f := c.Flags()
	f.StringVar(&q.gpu, "gpu-available", "", "whether a GPU is available: true or false")
	f.StringVar(&q.vram, "vram-band", "", "pressure band of device memory: 0 to 3")
	f.StringVar(&q.ram, "ram-band", "", "pressure band of host memory: 0 to 3")
	f.StringVar(&q.learning, "learning", "", "read `FILE`, written by \"atenia run --learning\"; one of another kind is an error")
	f.BoolVar(&q.all, "all", false, "explain every context of the file")
	f.BoolVar(&q.structured, "structured", false, "print factors and weights")
	c.SetFlagErrorFunc(func(*cobra.Command, error) error { return wrong })
	c.RunE = func(c *cobra.Command, args []string) error {
		q.set = f.Changed("gpu-available") || f.Changed("vram-band") || f.Changed("ram-band")
		seed := q.set || f.Changed("learning") || f.Changed("all") || f.Changed("structured")
		switch {
		case !seed && len(args) <= 1:
			return lastRun(env, optionalModel(args), wrong)
		case len(args) > 0 || !q.valid():
			return wrong
		}
		return q.run(env)
	}
	return c
}

// lastRun tells the last run of a model, or of any for "".
func lastRun(env *command.Env, model string, wrong error) error {
	r, err := atenia.ReadLastRun(env.State, model)
	why := unrecorded(env)
	switch {
	case errors.Is(err, atenia.ErrNoRun) && model == "": // nothing was asked for, and there is nothing to tell
		return wrong
	case errors.Is(err, atenia.ErrNoRun):
		p, e := atenia.OpenPlan(model, nil)
		switch {
		case e != nil: // it cannot be run either
			return e
		case p.Command() != "run":
			return fmt.Errorf("%w: \"atenia %s\" keeps none, and this model is for it", err, p.Command())
		case why != "":
			return fmt.Errorf("%w: %s", err, why)
		}
		return fmt.Errorf("%w; run it once: atenia run %s \"Once upon a time\"", err, spelling.Shell(model))
	case err != nil && why != "":
		return fmt.Errorf("%w: %s", err, why)
	case err != nil:
		return err
	}
	memory, float, integer, err := machine.Roofs(r.Threads)
	if err != nil {
		return err
	}
	r.Judge(place.RunRoofs{Memory: memory, Float: float, Integer: integer})
	if why != "" {
		fmt.Fprintf(env.Err, "atenia: warning: this may be an older run: %s\n", why)
	}
	if *env.JSON {
		return env.PrintJSON(r)
	}
	return r.WriteText(env.Out)
}

// unrecorded says why runs leave no account, "" if they do.
func unrecorded(env *command.Env) string {
	switch {
	case env.State == "":
		return "without a home folder runs leave none; XDG_STATE_HOME names another place"
	case !writable(filepath.Join(env.State, "runs")) || !roomy(env.State):
		return "no run leaves one, as files cannot be written in " + spelling.Line(env.State) + "; XDG_STATE_HOME names another place"
	}
	return ""
}

// roomy reports whether a folder has room for an account.
func roomy(dir string) bool {
	f, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, 1<<14))
	return errors.Join(err, f.Close(), os.Remove(f.Name())) == nil
}

// valid reads the bucket; --all takes none.
func (q *query) valid() bool {
	if q.all {
		return !q.set
	}
	b, ok := place.ParseBucket(q.gpu, q.vram, q.ram)
	q.of = []place.Bucket{b}
	return ok
}

func (q *query) run(env *command.Env) error {
	given := q.learning != ""
	if !given && env.State != "" {
		file := filepath.Join(env.State, defaultName)
		if _, err := os.Stat(file); err == nil {
			q.learning = file
		}
	}
	e, err := atenia.Explain(q.learning, q.of...)
	if err != nil {
		return err
	}
	if given && e.File.Status == "Foreign" {
		return e.File.Err
	}
	q.warn(env, e, given)
	if *env.JSON {
		return q.printJSON(env, e)
	}
	if len(e.Buckets) == 0 {
		_, err := fmt.Fprintln(env.Out, "No learned data available.")
		return err
	}
	for i := range e.Buckets {
		if err := q.print(env, &e.Buckets[i], i > 0); err != nil {
			return err
		}
	}
	return nil
}

// warn reports the parts of a file that were not used.
func (q *query) warn(env *command.Env, e *place.Explanations, given bool) {
	switch r := e.File; {
	case r.Err != nil:
		fmt.Fprintln(env.Err, "atenia: warning:", r.Err)
	case given && r.Status == "Missing":
		fmt.Fprintf(env.Err, "atenia: warning: %s: no learned data\n", q.learning)
	case r.Skipped > 0:
		fmt.Fprintf(env.Err, "atenia: warning: %s: %s skipped, the first is %v\n", q.learning, spelling.Count(r.Skipped, "line"), r.First)
	}
}

func (q *query) print(env *command.Env, x *place.BucketExplanation, more bool) error {
	if q.all {
		if more {
			fmt.Fprintln(env.Out)
		}
		fmt.Fprintln(env.Out, x.Title())
		if of := x.Counts(); of != "" { // which the answer about one bucket, whose text is the design's, cannot say
			fmt.Fprintln(env.Out, of)
		}
		if x.Explanation.RecommendedBackend == "Gpu" && !engine.Computes() {
			fmt.Fprintln(env.Out, "no backend of this program computes on a GPU: whatever is selected, the CPU runs it")
		}
	}
	if q.structured {
		return x.WriteFactors(env.Out)
	}
	return x.WriteText(env.Out)
}

// A bucketJSON is the form for programs.
type bucketJSON struct {
	GPU         bool   `json:"gpu_available"`
	VRAM        int    `json:"vram_band"`
	RAM         int    `json:"ram_band"`
	Learned     bool   `json:"learned"`
	Explanation any    `json:"explanation,omitempty"`
	Structured  any    `json:"structured,omitempty"`
	Narrative   string `json:"narrative,omitempty"`

	Counts  string               `json:"counts,omitempty"` // whose they are, where it is not the backend that is named
	Entries []place.LearnedEntry `json:"entries,omitempty"`
}

func (q *query) printJSON(env *command.Env, e *place.Explanations) error {
	out := []bucketJSON{}
	for _, x := range e.Buckets {
		j := bucketJSON{GPU: x.GPU, VRAM: int(x.VRAM), RAM: int(x.RAM), Learned: x.Learned, Narrative: x.Narrative, Counts: x.Counts(), Entries: x.Entries}
		if x.Learned {
			j.Explanation, j.Structured = x.Explanation, x.Factors
		}
		out = append(out, j)
	}
	if !q.all {
		return env.PrintJSON(out[0])
	}
	return env.PrintJSON(out)
}
