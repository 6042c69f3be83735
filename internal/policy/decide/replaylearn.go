package decide

import (
	"atenia/internal/policy/record"
	"errors"
	"fmt"
)

// trainerInputs are the inputs of a recommendation.
type trainerInputs struct {
	Bucket
	CPU          Stats  `json:"cpu"`
	GPUStats     Stats  `json:"gpu"`
	DriftPenalty uint32 `json:"drift_penalty"`
}

func trainerInputsOf(t *Trainer, b Bucket) trainerInputs {
	in := trainerInputs{Bucket: b, DriftPenalty: t.DriftPenalty}
	in.CPU, _ = t.Stats(b, CPU)
	in.GPUStats, _ = t.Stats(b, GPU)
	return in
}

func (in trainerInputs) draft(*history) (record.Draft, error) {
	t := Trainer{DriftPenalty: in.DriftPenalty}
	t.Set(Row{Bucket: in.Bucket, Backend: CPU, Stats: in.CPU})
	t.Set(Row{Bucket: in.Bucket, Backend: GPU, Stats: in.GPUStats})
	penalty := in.DriftPenalty
	if penalty == 0 {
		penalty = defaultDriftPenalty
	}
	cpu, gpu := in.CPU.Value(penalty), in.GPUStats.Value(penalty)
	d := record.Draft{Rule: "HigherValue", Target: t.Recommend(in.Bucket).String()}
	switch {
	case !in.GPU:
		d.Rule, d.Reason = "GpuUnavailable", "no GPU computes"
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
	turnInputs     struct{ Turn }
	measuredInputs struct{ Measured }
)

func (in turnInputs) draft(*history) (record.Draft, error) { return choiceDraft(in.Decide()), nil }

func (in measuredInputs) draft(*history) (record.Draft, error) {
	return choiceDraft(in.Decide()), nil
}

func choiceDraft(c Choice) record.Draft {
	return record.Draft{Rule: c.Rule, Evaluated: c.Rules(), Target: c.Backend.String(), Reason: c.Reason}
}

// pickInputs are recorded unchanged.
type pickInputs struct{ Pick }

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
