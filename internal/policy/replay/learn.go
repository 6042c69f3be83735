package replay

import (
	"errors"
	"fmt"

	"atenia/internal/policy/learn"
	"atenia/internal/policy/record"
)

// trainerInputs are the inputs of a recommendation.
type trainerInputs struct {
	learn.Bucket
	CPU          learn.Stats `json:"cpu"`
	GPUStats     learn.Stats `json:"gpu"`
	DriftPenalty uint32      `json:"drift_penalty"`
}

func trainerInputsOf(t *learn.Trainer, b learn.Bucket) trainerInputs {
	in := trainerInputs{Bucket: b, DriftPenalty: t.DriftPenalty}
	in.CPU, _ = t.Stats(b, learn.CPU)
	in.GPUStats, _ = t.Stats(b, learn.GPU)
	return in
}

func (in trainerInputs) draft(*history) (record.Draft, error) {
	t := learn.Trainer{DriftPenalty: in.DriftPenalty}
	t.Set(learn.Row{Bucket: in.Bucket, Backend: learn.CPU, Stats: in.CPU})
	t.Set(learn.Row{Bucket: in.Bucket, Backend: learn.GPU, Stats: in.GPUStats})
	penalty := in.DriftPenalty
	if penalty == 0 {
		penalty = learn.DefaultDriftPenalty
	}
	cpu, gpu := in.CPU.Value(penalty), in.GPUStats.Value(penalty)
	d := record.Draft{Rule: "HigherValue", Target: t.Recommend(in.Bucket).String()}
	switch {
	case !in.GPU:
		d.Rule, d.Reason = "GpuUnavailable", "there is no GPU"
	case gpu > cpu:
		d.Reason = fmt.Sprintf("value %d of the GPU is above %d of the CPU", gpu, cpu)
	default:
		d.Reason = fmt.Sprintf("value %d of the GPU is not above %d of the CPU", gpu, cpu)
	}
	d.Evaluated = []string{d.Rule}
	return d, nil
}

// turnInputs and measuredInputs are recorded unchanged.
type (
	turnInputs     struct{ learn.Turn }
	measuredInputs struct{ learn.Measured }
)

func (in turnInputs) draft(*history) (record.Draft, error) { return choiceDraft(in.Decide()), nil }

func (in measuredInputs) draft(*history) (record.Draft, error) {
	return choiceDraft(in.Decide()), nil
}

func choiceDraft(c learn.Choice) record.Draft {
	return record.Draft{Rule: c.Rule, Evaluated: c.Rules(), Target: c.Backend.String(), Reason: c.Reason}
}

// pickInputs are recorded unchanged.
type pickInputs struct{ learn.Pick }

func (in pickInputs) draft(*history) (record.Draft, error) {
	switch n := len(in.Arms); {
	case n == 0 || in.Current < 0 || in.Current >= n || in.Trying < 0 || in.Trying >= n:
		return record.Draft{}, fmt.Errorf("inputs: arm %d or %d of %d", in.Current, in.Trying, n)
	case in.Config.Every == 0:
		return record.Draft{}, errors.New("inputs: every is 0")
	}
	v := in.Decide()
	return record.Draft{
		Rule: string(v.Rule), Evaluated: v.Rules(), Target: in.Knob.String() + "=" + in.Arms[v.Arm].Option, Reason: in.Reason(v),
	}, nil
}
