package tier_test

import (
	"reflect"
	"testing"

	"atenia/tier"
	"atenia/tier/stream"
)

func init() { goldenTopics["planner"] = runPlanner }

func runPlanner(t *testing.T, c *goldenCase) {
	var in struct {
		Kernel   stream.Kernel
		Tiers    []tier.Tier `json:"tensor_tiers"`
		Snapshot pressures
		GPU      bool `json:"gpu_available"`
	}
	var want stream.Plan
	c.decode(t, &in, &want)
	if got := stream.MakePlan(in.Kernel, in.Tiers, in.Snapshot.snapshot(), in.GPU); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
