package place

import (
	"fmt"
	"time"

	"atenia/internal/spelling"
)

// A LastRun is the account of the last run of a model: where its weights lay and
// why, how long a token took and what bounded it, what changed while it ran, and
// what would help most. A run with the account of atenia.Observation writes it when
// the model is closed; atenia.ReadLastRun reads it.
type LastRun struct {
	Version int    `json:"version"` // of this form: 5
	Model   string `json:"model"`   // its path, or "atenia-story"
	ID      string `json:"id"`      // of the plan, see [Plan.ID]
	Family  string `json:"family"`
	Started int64  `json:"started_unix"`
	Opened  int64  `json:"opened_unix_nano,omitempty"` // when the model was opened; 0 = by a program that did not say
	Threads int    `json:"threads"`
	Context int    `json:"context"`

	Form    string        `json:"form"`                 // packed, mapped, held or streamed
	Files   string        `json:"file_flags,omitempty"` // of the run, by which the model's files are read
	Flags   []RunFlag     `json:"flags"`                // of the run, which commands that are advised repeat; those of Files and the budget are among them
	Folder  string        `json:"folder,omitempty"`     // that relative paths are of
	Packing string        `json:"packing"`
	Budget  string        `json:"budget,omitempty"` // as [ParseBudget] reads it
	Groups  []WeightGroup `json:"groups"`
	Rules   []RuleAnswer  `json:"rules"`             // of placement by pressures, beside where weights were when the model was opened, or placed again
	Kernels []KernelGroup `json:"kernels"`           // of a step, by where they ran
	Devices string        `json:"devices,omitempty"` // why nothing ran on those that are there

	Prompt StepTotals `json:"prompt"`
	Decode StepTotals `json:"decode"`
	Failed int        `json:"failed_steps"`
	Drafts RunDrafts  `json:"drafts,omitzero"`

	RunCost
	Predicted float64 `json:"predicted_seconds,omitempty"` // of a step; 0 = nothing was, or weights moved since
	Bound     string  `json:"bound"`                       // disk, paging, cold cache, neighbours, packing, drafting, memory, arithmetic or none
	BoundWhy  string  `json:"bound_why"`

	Changes  []RunChange `json:"changes"`
	Pressure []RunEvent  `json:"pressure"`                // the first events while it ran
	More     int         `json:"pressure_more,omitempty"` // events after those
	Learned  *RunLearned `json:"learned,omitempty"`
	Advice   RunAdvice   `json:"advice"`

	full bool // memory is read as fast as it can be

	// Later is a run that began later, and left no account: then this is not the last run.
	Later *RunWithout `json:"later,omitempty"`
}

// A WeightGroup is weights that lie in one place by one rule.
type WeightGroup struct {
	Where   string `json:"where"` // a tier, or packed or mapped
	Rule    string `json:"rule"`
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
	Layers  string `json:"layers,omitempty"` // such as "0-5,9"
	Example string `json:"example,omitempty"`
	Why     string `json:"why"` // of the example, with its numbers
}

// A RuleAnswer is where the rules of placement, which compare pressures, want some weights,
// beside where the plan, which counts bytes, has them.
type RuleAnswer struct {
	To      string `json:"to"`               // a tier
	Device  string `json:"device,omitempty"` // of it
	At      string `json:"at"`               // a tier
	Rule    string `json:"rule"`             // Agrees, Fits, NoRoom, Pinned or NothingComputes
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
	Why     string `json:"why"` // with both reasons
}

// A KernelGroup is kernels that ran in one place for one reason.
type KernelGroup struct {
	Target  string `json:"target"` // Cpu, CpuFallback or Gpu
	Kernels int    `json:"kernels"`
	Why     string `json:"why"`
}

// StepTotals are totals of steps of one kind.
type StepTotals struct {
	Steps   int     `json:"steps"`
	Tokens  int     `json:"tokens"`
	Seconds float64 `json:"seconds"`
	Slowest float64 `json:"slowest_seconds"`
	At      int     `json:"slowest_step"` // from 0
}

// RunDrafts tell of tokens that were drafted and verified, several in a step.
type RunDrafts struct {
	Model    string  `json:"model,omitempty"` // of [Config].Draft; "" = prompt look-up alone
	Drafted  int     `json:"drafted"`
	Accepted int     `json:"accepted"`
	Seconds  float64 `json:"seconds"` // that the draft model took, beside the steps
}

// A RunChange is a decision that changed how tokens were computed.
type RunChange struct {
	Step int    `json:"step"` // that decoded, from 0
	What string `json:"what"` // such as "threads"
	From string `json:"from"`
	To   string `json:"to"`
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// A RunEvent is what memory pressure, or its end, changed while a model ran.
type RunEvent struct {
	Step  int     `json:"step"`         // tokens decoded before it
	At    float64 `json:"at_seconds"`   // after the run began
	What  string  `json:"what"`         // "left memory", "came back", or "stays": nothing could move
	Limit int64   `json:"limit_bytes"`  // memory that the process could have
	Need  int64   `json:"need_bytes"`   // memory that it needed before
	Moves int     `json:"moves"`        // weights and idle sequences
	Bytes int64   `json:"moved_bytes"`  // of them
	Took  float64 `json:"took_seconds"` // until the next step could run
	Form  string  `json:"form"`         // how the weights lay since then
	Text  string  `json:"text"`
}

// RunLearned is what was learned until the end of a run.
type RunLearned struct {
	Peak        float32       `json:"ram_pressure_peak"` // the highest, 0 to 1
	Band        string        `json:"ram_band"`          // of pressure
	Ticks       uint64        `json:"ticks"`             // steps that the table counted
	Recommended string        `json:"recommended_backend"`
	Because     string        `json:"because"`
	Table       string        `json:"table"`
	Rows        int           `json:"rows"`
	Episodes    uint64        `json:"episodes"` // of all runs
	PreferGPU   float32       `json:"gpu_preference_ratio"`
	LostShare   float64       `json:"trials_lost"` // of the time of all runs of this model
	Weights     string        `json:"weights_because,omitempty"`
	Knobs       []LearnedKnob `json:"knobs"`
}

// A LearnedKnob is a setting, which option of it is preferred, and how long a
// token takes with each.
type LearnedKnob struct {
	Class   string          `json:"class"` // of work, such as "decode packed"
	Knob    string          `json:"knob"`
	Option  string          `json:"option"`
	Options []LearnedOption `json:"options"`
}

// A LearnedOption is one option of a [LearnedKnob].
type LearnedOption struct {
	Option  string  `json:"option"`
	Seconds float64 `json:"seconds"` // 0 = never tried
	Runs    uint32  `json:"episodes"`
}

// A RunAdvice is what would help most.
type RunAdvice struct {
	What    string `json:"what"`
	Command string `json:"command,omitempty"`
}

// A RunWithout is a run that left no account: it was killed, ended before it computed
// anything, or could not write one; or it still runs.
type RunWithout struct {
	Model   string `json:"model"`
	Started int64  `json:"started_unix"`
	Running bool   `json:"running,omitempty"`
}

// String is a sentence without its end.
func (r *RunWithout) String() string {
	model, at := spelling.Line(r.Model), time.Unix(r.Started, 0).Format(time.DateTime)
	if r.Running {
		return fmt.Sprintf("a run of %s, %s, has not ended yet", model, at)
	}
	return fmt.Sprintf("the last run of %s, %s, left no account: it was killed, ended before it computed anything, or could not write one", model, at)
}
