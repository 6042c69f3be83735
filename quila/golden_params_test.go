package quila_test

import (
	"encoding/json"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/config"
)

func init() { topics["params_count"] = goldenParams }

// goldenParams compares the parameter count and the planner's integers, exact.
func goldenParams(t *testing.T, path string) {
	var file map[string]struct {
		Config json.RawMessage
		Lines  struct {
			Neuron                      map[string]int64
			PerNeuron                   int64 `json:"per_neuron"`
			Neurons, Edges              int64
			PerPort                     int64 `json:"per_port"`
			Ports, CM, Codebooks, Total int64
		}
		Plan map[string]int64
	}
	golden.JSON(t, path, &file)
	for name, want := range file {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse(want.Config)
			if err != nil {
				t.Fatal(err)
			}
			c.ActiveCap = .19 // the reference plans every profile with the specification's share
			b := c.Budget()
			n := b.Counts
			for line, pair := range map[string][2]int64{
				"W_in": {n.WIn, want.Lines.Neuron["W_in"]}, "NSA": {n.NSA, want.Lines.Neuron["NSA"]}, "RWKV": {n.RWKV, want.Lines.Neuron["RWKV"]},
				"DRC": {n.DRC, want.Lines.Neuron["DRC"]}, "SSM": {n.SSM, want.Lines.Neuron["SSM"]}, "other": {n.Other, want.Lines.Neuron["other"]},
				"per_neuron": {n.PerNeuron, want.Lines.PerNeuron}, "neurons": {n.Neurons, want.Lines.Neurons}, "edges": {n.Edges, want.Lines.Edges},
				"per_port": {n.PerPort, want.Lines.PerPort}, "ports": {n.Ports, want.Lines.Ports}, "cm": {n.CM, want.Lines.CM},
				"codebooks": {n.Codebooks, want.Lines.Codebooks}, "total": {n.Total, want.Lines.Total},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: %d, want %d", line, pair[0], pair[1])
				}
			}
			got := map[string]int64{
				"params": n.Total, "weights_fp16": b.Weights16, "adam_fp32": b.Adam32, "grads_fp32": b.Gradients32, "edges": b.Edges, "edge_bytes": b.EdgeBytes,
				"firing_per_tick": b.Firing, "messages_per_tick": b.Messages, "message_bytes": b.MessageBytes, "materialised_bytes": b.Materialised,
				"dense_maps_bytes": b.DenseMaps, "h_ring_ticks": b.RingTicks, "h_ring_bytes": b.RingBytes, "kfe_entries_148b": b.KFEEntries,
				"kfe_per_neuron": b.KFEPerNeuron, "kfe_fp16_bytes": b.KFEBytes, "mac_messages": b.MACMessages, "mac_convt": b.MACConv, "mac_w_in": b.MACWIn,
			}
			if len(want.Plan) == 0 {
				t.Fatal("no plan")
			}
			for key, w := range want.Plan {
				if g, ok := got[key]; !ok || g != w {
					t.Errorf("%s: %d (%v), want %d", key, g, ok, w)
				}
			}
		})
	}
}
