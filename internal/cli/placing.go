package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"atenia/place"
	"github.com/spf13/pflag"
)

// placingFlags are the flags of a placement.
type placingFlags struct {
	cfg      *atenia.Config
	flags    *pflag.FlagSet
	why, out string
	drawing  bool
}

// names are the flags that make a command show the placement.
var names = []string{"ram", "vram", "reserve", "pin", "max-tier", "require", "batch", "plan", "why", "out", "map", "ssd-rate", "ram-rate", "flops"}

// Register adds the flags, which fill in c.
func (p *placingFlags) Register(f *pflag.FlagSet, c *atenia.Config) {
	p.cfg, p.flags = c, f
	f.Var(&size{c, "ram", ""}, "ram", "memory limit of the process: 4GiB, 512MiB, 2GB, bytes, or auto")
	f.Var(&size{c, "vram", ""}, "vram", "memory of a device to plan for; auto: what the one with the most has free, but for a sixteenth")
	f.Var(&reserves{c, ""}, "reserve", "RAM for other uses than weights: kv=SIZE,act=SIZE,runtime=SIZE")
	f.StringArrayVar(&c.Placement.Pins, "pin", nil, "place tensors, by their names as in --why, in a tier: `REGEXP=TIER`, where TIER is vram, ram or ssd (may be repeated)")
	f.StringVar(&c.Placement.MaxTier, "max-tier", "", "slowest tier for weights: vram, ram or ssd")
	f.Var((*gpu)(&c.Placement.RequireGPU), "require", "gpu rejects placements that leave a weight to the CPU")
	f.IntVar(&c.Placement.Batch, "batch", 0, "number of sequences decoded together (0 = 1)")
	f.StringVar(&c.PlacementFile, "plan", "", "follow the placement in `FILE`, written by --out")
	f.StringVar(&p.why, "why", "", "explain the placement of tensors whose names, in the plan or in the model's files, match `REGEXP`")
	f.BoolVar(&p.drawing, "map", false, "draw where the bytes of a run live, by memory and by use")
	f.StringVar(&p.out, "out", "", "write the placement to `FILE`, which can be edited and passed to --plan")
	f.Var(&rateFlag{&c.Placement.Rates.SSD, ""}, "ssd-rate", "storage bandwidth per second, such as 1.6GB")
	f.Var(&rateFlag{&c.Placement.Rates.RAM, ""}, "ram-rate", "memory bandwidth of all cores per second, such as 20GB")
	f.Var(probeFlag(&c.Placement), "probe", "where storage bandwidth is from: model measures its file, none takes the profile of \"atenia hw\"")
	f.Var(&rateFlag{&c.Placement.Rates.FLOPS, ""}, "flops", "floating-point operations of all cores per second, in units of sizes: 100GB is 1e11")
}

// Asked reports whether one of the flags was given.
func (p *placingFlags) Asked() bool {
	for _, n := range names {
		if p.flags.Changed(n) {
			return true
		}
	}
	return false
}

// Prepare completes the configuration that the model is opened with by the
// folder of measured rates.
func (p *placingFlags) Prepare() {
	p.cfg.Placement.ProfileDir = cacheFolder() // a user without one has measured nothing
}

// Show places the tensors of a plan and prints the result.
func (p *placingFlags) Show(e *command.Env, plan *atenia.Plan) error {
	if _, err := regexp.Compile(p.why); err != nil { // before anything is measured
		return command.Usagef("--why: %v", err)
	}
	pl, err := plan.Place()
	if low, ok := errors.AsType[*place.FloorError](err); ok && low.Maps {
		return p.showMapped(e, plan, low)
	}
	if err != nil {
		return err
	}
	notes, err := plan.PlacementNotes(pl)
	if err != nil {
		return err
	}
	for _, line := range plan.Notes() {
		notes = append(notes, "note     "+line)
	}
	if p.out != "" {
		if err := atenia.WritePlacement(p.out, pl); err != nil {
			return err
		}
	}
	var why []place.Decision
	if p.why != "" {
		if why, err = pl.Why(p.why); err != nil {
			return command.Usagef("--why %v", err)
		}
	}
	var drawing *place.MemoryMap
	if p.drawing {
		if drawing, err = plan.Map(pl); err != nil {
			return err
		}
	}
	if *e.JSON {
		return e.PrintJSON(map[string]any{"plan": pl, "table": pl.Rows(), "next": pl.Next, "notes": notes, "why": why, "map": drawing})
	}
	if p.drawing && p.why == "" {
		return drawing.WriteText(e.Out)
	}
	if err := pl.WriteText(e.Out); err != nil {
		return err
	}
	for _, line := range notes {
		fmt.Fprintln(e.Out, line)
	}
	for _, d := range why {
		fmt.Fprintln(e.Out, d)
	}
	return nil
}

// showMapped says that a model cannot be streamed in the memory that there is.
func (p *placingFlags) showMapped(e *command.Env, plan *atenia.Plan, low *place.FloorError) error {
	if p.out != "" || p.why != "" || p.drawing {
		return low
	}
	if *e.JSON {
		return e.PrintJSON(map[string]any{"mapped": true, "ram": low.Budget, "ram_to_stream": low.Floor, "notes": plan.Notes()})
	}
	fmt.Fprintf(e.Out, "%s can be allocated: it is mapped, and %s\n", spelling.Size(low.Budget), low.Paging())
	for _, line := range plan.Notes() {
		fmt.Fprintln(e.Out, "note     "+line)
	}
	return nil
}

// A size is one size of the budget.
type size struct {
	cfg        *atenia.Config
	name, text string
}

// String implements [pflag.Value].
func (s *size) String() string { return s.text }

// Type implements [pflag.Value].
func (s *size) Type() string { return "SIZE" }

// Set implements [pflag.Value].
func (s *size) Set(text string) error {
	if s.text = text; s.name == "vram" && text == "auto" {
		m, err := atenia.Hardware(context.Background(), "", "")
		if err != nil {
			return err
		}
		s.cfg.Budget.VRAM = freeVRAM(m.Devices)
		return nil
	}
	return atenia.SetBudget(&s.cfg.Budget, s.name, text)
}

// freeVRAM returns what a model may have of the device with the most free memory: a sixteenth
// of that is left to others. 0 = there is none.
func freeVRAM(devices []place.Device) (most int64) {
	for i := range devices {
		most = max(most, place.Sparing(int64(devices[i].FreeBytes)))
	}
	return most
}

// reserves are those of the budget.
type reserves struct {
	cfg  *atenia.Config
	text string
}

// String implements [pflag.Value].
func (r *reserves) String() string { return r.text }

// Type implements [pflag.Value].
func (r *reserves) Type() string { return "NAME=SIZE,..." }

// Set implements [pflag.Value].
func (r *reserves) Set(text string) error {
	r.text = text
	for item := range strings.SplitSeq(text, ",") {
		name, size, _ := strings.Cut(strings.TrimSpace(item), "=")
		switch name {
		case "kv", "act", "runtime":
			if err := atenia.SetBudget(&r.cfg.Budget, name, size); err != nil {
				return err
			}
		default:
			return fmt.Errorf("no reserve %q; there are kv, act and runtime", name)
		}
	}
	return nil
}

// probeFlag returns the flag that selects the measurements for a placement.
func probeFlag(r *place.Rules) pflag.Value { return &probe{r} }

// A probe is the value of that flag.
type probe struct{ rules *place.Rules }

// String implements [pflag.Value].
func (p *probe) String() string {
	if p.rules == nil || !p.rules.NoProbe {
		return "model"
	}
	return "none"
}

// Type implements [pflag.Value].
func (p *probe) Type() string { return "WHAT" }

// Set implements [pflag.Value].
func (p *probe) Set(s string) error {
	if s != "model" && s != "none" {
		return fmt.Errorf("want model or none, got %q", s)
	}
	p.rules.NoProbe = s == "none"
	return nil
}

// A gpu is the flag whose only value is that word.
type gpu bool

// String implements [pflag.Value].
func (g *gpu) String() string {
	if *g {
		return "gpu"
	}
	return ""
}

// Type implements [pflag.Value].
func (g *gpu) Type() string { return "gpu" }

// Set implements [pflag.Value].
func (g *gpu) Set(s string) error {
	if s != "gpu" {
		return fmt.Errorf("want gpu, got %q", s)
	}
	*g = true
	return nil
}

// A rateFlag is a size in a second.
type rateFlag struct {
	to   *float64
	text string
}

// String implements [pflag.Value].
func (r *rateFlag) String() string { return r.text }

// Type implements [pflag.Value].
func (r *rateFlag) Type() string { return "SIZE" }

// Set implements [pflag.Value].
func (r *rateFlag) Set(s string) error {
	n, err := place.ParseSize(strings.TrimSuffix(s, "/s"))
	*r.to, r.text = float64(n), s
	return err
}
