package memory_test

import (
	"reflect"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
)

func init() { goldenTopics["planner"] = runPlanner }

func runPlanner(t *testing.T, c *goldenCase) {
	var in struct {
		Kernel   decide.Kernel
		Tiers    []memory.Tier `json:"tensor_tiers"`
		Snapshot pressures
		GPU      bool `json:"gpu_available"`
	}
	var want decide.RouteChoice
	c.decode(t, &in, &want)
	if got := decide.ChooseRoute(in.Kernel, in.Tiers, in.Snapshot.snapshot(), decide.Executors{GPU: in.GPU}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
