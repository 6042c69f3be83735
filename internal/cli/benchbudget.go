package cli

import (
	"context"
	"fmt"

	"atenia"
	"atenia/internal/bench/step"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
)

// budgetSteps is the result that is printed with --json.
type budgetSteps struct {
	Size       string  `json:"size"`
	Parameters int     `json:"parameters"`
	Rows       int     `json:"rows"`
	Length     int     `json:"length"`
	Threads    int     `json:"threads"`
	RAM        int64   `json:"ram"`
	Memory     string  `json:"memory"`
	Step       float64 `json:"step_seconds"`
	Compute    float64 `json:"compute_seconds"`
	Moved      int64   `json:"moved_bytes"`
	Disk       float64 `json:"disk_bytes_per_s"`
	Ratio      float64 `json:"ratio"`
	PeakBytes  int64   `json:"peak_bytes"`
	Loss       float64 `json:"loss"`
	InMemory   float64 `json:"in_memory_seconds,omitempty"`
	Equal      bool    `json:"equal,omitempty"`
}

// benchBudget measures training steps in a budget.
func benchBudget(ctx context.Context, env *command.Env, budget string, cfg step.BudgetConfig) error {
	b, err := atenia.ParseBudget(budget)
	if err != nil {
		return &command.UsageError{Err: fmt.Errorf("--budget: %w", err)}
	}
	if cfg.RAM = b.RAM; b.RAM == 0 {
		return command.Usagef("--budget is %s, want ram=SIZE", budget)
	}
	r, err := step.RunBudget(ctx, cfg)
	if err != nil {
		return err
	}
	if *env.JSON {
		err = env.PrintJSON(budgetSteps(*r))
	} else {
		err = printBudget(env, r)
	}
	if err == nil && cfg.Whole && !r.Equal {
		return fmt.Errorf("%w: the models of the two runs differ", command.ErrVerify)
	}
	return err
}

func printBudget(env *command.Env, r *step.BudgetReport) error {
	_, err := fmt.Fprintf(env.Out, `%s: %.1f million parameters, %d × %s per step, %s, %s

memory     %s
step       %.3f s, %.2f times the longer of computing and moving
computing  %.3f s
moving     %s a step, %.3f s at the %s/s that the disk takes
peak       %s
`, r.Size, float64(r.Parameters)/1e6, r.Rows, spelling.Count(r.Length, "token"), spelling.Count(r.Threads, "thread"), spelling.Size(r.RAM),
		r.Memory, r.Step, r.Ratio, r.Compute, spelling.Size(r.Moved), float64(r.Moved)/r.Disk, spelling.Size(int64(r.Disk)), spelling.Size(r.PeakBytes))
	if err == nil && r.InMemory > 0 {
		equal := "the same model, byte for byte"
		if !r.Equal {
			equal = "ANOTHER MODEL"
		}
		_, err = fmt.Fprintf(env.Out, "in memory  %.3f s a step; %s\n", r.InMemory, equal)
	}
	return err
}
