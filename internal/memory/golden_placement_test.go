package memory_test

import (
	"fmt"
	"testing"

	"atenia/internal/machine/hw"
	"atenia/internal/memory"
)

func init() { goldenTopics["placement"] = goldenPlacement }

func goldenPlacement(t *testing.T, c *goldenCase) {
	var in struct {
		Tensor struct {
			Elements uint64 `json:"num_elements"`
			Size     uint32 `json:"element_size_bytes"`
			Cost     f32    `json:"estimated_compute_cost"`
		}
		GPUs []struct {
			ID    string
			Score f32 `json:"compute_score_est"`
		}
		Reliability map[string]struct {
			OK   uint64  `json:"ok_count"`
			Fail uint64  `json:"fail_count"`
			Last *uint64 `json:"last_error_epoch_ms"`
		} `json:"reliability_by_device"`
		Pressure struct {
			VRAM f32 `json:"vram_pressure"`
			RAM  f32 `json:"ram_pressure"`
		}
	}
	var want struct {
		Target    memory.Tier
		Device    *string `json:"device_id"`
		Reason    *string
		ReasonNot string `json:"reason_not"`
		Rule      int    // informative
	}
	c.decode(t, &in, &want)
	s := hw.Snapshot{Reliability: map[string]hw.Reliability{}, Pressure: hw.Pressure{VRAM: in.Pressure.VRAM.v, RAM: in.Pressure.RAM.v}}
	for _, g := range in.GPUs {
		s.GPUs = append(s.GPUs, hw.GPU{ID: g.ID, ComputeScore: g.Score.v})
	}
	for id, r := range in.Reliability {
		s.Reliability[id] = hw.Reliability{OK: r.OK, Fail: r.Fail, LastErrorEpochMS: r.Last}
	}
	p := memory.TensorProfile{Elements: in.Tensor.Elements, ElementBytes: in.Tensor.Size, Cost: in.Tensor.Cost.v}
	d := memory.Decide(p, s, false)
	if d.To != want.Target {
		t.Errorf("to %v, want %v", d.To, want.Target)
	}
	if device := d.Device; want.Device == nil && device != "" || want.Device != nil && device != *want.Device {
		t.Errorf("device %q, want %v", device, want.Device)
	}
	checkText(t, "reason", d.Reason, want.Reason)
	if d.Reason == want.ReasonNot {
		t.Errorf("reason %q does not fit", d.Reason)
	}
	if again := d.Inputs.Decide(); fmt.Sprint(again, again.Inputs) != fmt.Sprint(d, d.Inputs) { // as text: NaN
		t.Errorf("the recorded inputs give %+v, not %+v", again, d)
	}
	// All rules before the one that decided were rejected, in order.
	rejected := d.Rejected()
	if len(rejected) != int(d.Because.Rule)-1 {
		t.Errorf("rejected %v before %v", rejected, d.Because.Rule)
	}
}
