package atenia

import (
	"context"

	"atenia/internal/engine"
	"atenia/place"
)

// Advise says how a model runs in the memory of [Config.Budget], or without one in
// what is free now: how long a token takes, what limits it, and what would help.
// Headers are read, and for half a second a file of the model, to measure how
// fast that is; [PlacementRules.NoProbe] prevents it.
func Advise(ctx context.Context, path string, c *Config) (*place.Advice, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := guarded(func() (*engine.Advice, error) {
		return engine.Advise(ctx, path, cfg.ConfigFile, cfg.engine(), loadText)
	})
	if err != nil {
		return nil, publish(err)
	}
	return &place.Advice{Model: a.Path, RAM: a.RAM, Outcome: newOutcome(a.Now), Fit: a.Fit,
		Remedies: convertAll(a.Remedies, func(r engine.Remedy) place.Remedy {
			return place.Remedy{What: r.What, Command: r.Command, Then: newOutcome(r.Then)}
		}), Notes: a.Notes}, nil
}

func newOutcome(o engine.Outcome) place.Outcome {
	return place.Outcome{
		Verdict: place.Verdict(o.Verdict), Seconds: o.Seconds, After: o.After, Start: o.Start, Low: o.Range.Low, High: o.Range.High, Text: o.Text, Assumed: o.Assumed,
		Runs: o.Runs, Limit: o.Limit, SSD: o.SSD, RAM: o.RAM, Why: o.Why, Whole: o.Whole, Context: o.Context,
	}
}
