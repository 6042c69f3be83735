package memory_test

import (
	"context"
	"reflect"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/policy/decide"
)

func init() { goldenTopics["router"] = runRouter }

func runRouter(t *testing.T, c *goldenCase) {
	if c.Fn == "route_kernel" {
		runRoute(t, c)
		return
	}
	var in struct {
		Advanced bool `json:"advanced_streams_supported"`
		Memory   goldenMemory
		Calls    []struct {
			Kernel   decide.Kernel
			IDs      []string `json:"tensor_ids"`
			Snapshot pressures
			GPU      bool `json:"gpu_available"`
		}
	}
	var want struct {
		Bundles  []decide.Bundle
		Timeline []string
		Tensors  []wantTensor
		Ledger   wantLedger
	}
	c.decode(t, &in, &want)
	m := in.Memory.build(t)
	timeline, lines := goldenTimeline(in.Advanced)
	// Lanes that write a timeline submit as the timeline itself does.
	x := lane.New(lane.Config{Timeline: timeline})
	defer x.Close()
	err := x.Run(t.Context(), func(g *lane.Group) error {
		for i, k := range in.Calls {
			b, err := decide.RouteTensors(context.Background(), g, m.Manager, k.Kernel, k.IDs, k.Snapshot.snapshot(), decide.Executors{GPU: k.GPU})
			if err != nil || !reflect.DeepEqual(b, want.Bundles[i]) {
				t.Errorf("call %d: got %+v, %v, want %+v", i, b, err, want.Bundles[i])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkLines(t, "timeline", *lines, want.Timeline)
	m.checkTensors(t, "at the end", want.Tensors)
	m.checkLedger(t, "at the end", want.Ledger, false)
}

func runRoute(t *testing.T, c *goldenCase) {
	var in struct {
		Advanced bool `json:"advanced_streams_supported"`
		Kernel   decide.Kernel
		Tiers    []memory.Tier `json:"tensor_tiers"`
		Snapshot pressures
		GPU      bool `json:"gpu_available"`
	}
	var want struct {
		Bundle   decide.Bundle
		Timeline []string
	}
	c.decode(t, &in, &want)
	timeline, lines := goldenTimeline(in.Advanced)
	if b := decide.Route(timeline, in.Kernel, in.Tiers, in.Snapshot.snapshot(), decide.Executors{GPU: in.GPU}); !reflect.DeepEqual(b, want.Bundle) {
		t.Errorf("got %+v, want %+v", b, want.Bundle)
	}
	timeline.Run()
	checkLines(t, "timeline", *lines, want.Timeline)
}
