package atenia_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
)

// A wanted is a decision to be made: its inputs as a log has them, and what has to come out.
// A want of "" is not compared.
type wanted struct {
	name   string
	inputs map[string]any
	want   map[string]string // by field: rule, evaluated, target, device, reason
}

// decideAgain writes a log whose outcomes are all wrong, and returns what replay makes of the
// inputs: what "atenia replay LOG" prints.
func decideAgain(t *testing.T, component string, all []wanted) []map[string]string {
	t.Helper()
	var log bytes.Buffer
	for i, a := range all {
		inputs, err := json.Marshal(a.inputs)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&log, `{"seq":%d,"tick":0,"component":%q,"rule":"?","evaluated":["?"],"target":"?","device":"?","reason":"?","inputs":%s,"config_hash":"","parent":"","hash":"","t_ns":0}`+"\n",
			i, component, inputs)
	}
	r, err := atenia.Replay(&log, "")
	if err != nil || r.Records != len(all) || len(r.Differences) != len(all) {
		t.Fatalf("%d records: %v, %+v", len(all), err, r)
	}
	out := make([]map[string]string, len(all))
	for i, d := range r.Differences {
		out[i] = map[string]string{}
		for _, f := range d.Fields {
			out[i][f.Name] = f.Replayed
		}
	}
	return out
}

// replays compares decisions with what has to come out.
func replays(t *testing.T, component string, all []wanted) {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	for i, got := range decideAgain(t, component, all) {
		for field, want := range all[i].want {
			if got[field] != want {
				t.Errorf("%s: %s %q, want %q; %s", all[i].name, field, got[field], want, got["error"])
			}
		}
	}
}

// A hybridCase is a case of the reference implementation of the decision core.
type hybridCase struct {
	ID       string
	Fn       string
	Input    map[string]any
	Expected map[string]any
}

func hybridCases(t *testing.T, topic string) []hybridCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Family(t, "hybrid"), topic+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []hybridCase
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // they reach 2^64-1
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// object and list read what JSON holds.
func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// quoted is how a report prints a list of texts.
func quoted(all []any) string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = text(all[i])
	}
	return fmt.Sprintf("%q", out)
}

// goldenRules are the topics of the reference implementation whose decisions a log can hold,
// and how a case is asked.
var goldenRules = []struct {
	topic, component string
	ask              func(c *hybridCase) []wanted
}{
	{"placement", "placement", askPlacement},
	{"planner", "planner", askPlanner},
	{"graph", "graph", askGraph},
	{"offload", "offload", askOffload},
	{"warmstart", "warm_start", askWarmStart},
	{"trainer", "trainer", askTrainer},
	{"autograd", "backward", askBackward},
	{"autograd", "autograd", askTrace},
}

// TestGoldenRules: what replay makes of recorded inputs is what the reference implementation
// of the decision core decides, by every rule.
func TestGoldenRules(t *testing.T) {
	for _, g := range goldenRules {
		t.Run(g.component, func(t *testing.T) {
			t.Parallel()
			var all []wanted
			for _, c := range hybridCases(t, g.topic) {
				for _, a := range g.ask(&c) {
					a.name = strings.TrimSpace(c.ID + " " + a.name)
					all = append(all, a)
				}
			}
			replays(t, g.component, all)
		})
	}
}

func askPlacement(c *hybridCase) []wanted {
	tensor, pressure := object(c.Input["tensor"]), object(c.Input["pressure"])
	reliability := []any{}
	by := object(c.Input["reliability_by_device"])
	for _, id := range slices.Sorted(maps.Keys(by)) {
		r := object(by[id])
		reliability = append(reliability, map[string]any{"id": id, "ok_count": r["ok_count"], "fail_count": r["fail_count"], "last_error_epoch_ms": r["last_error_epoch_ms"]})
	}
	a := wanted{inputs: map[string]any{
		"id": "w", "num_elements": tensor["num_elements"], "element_size_bytes": tensor["element_size_bytes"], "estimated_compute_cost": tensor["estimated_compute_cost"],
		"gpus": c.Input["gpus"], "reliability": reliability,
		"pressures": map[string]any{"vram": pressure["vram_pressure"], "ram": pressure["ram_pressure"]},
	}, want: map[string]string{"target": text(c.Expected["target"]), "device": text(c.Expected["device_id"])}}
	if c.Expected["reason"] != nil {
		a.want["reason"] = text(c.Expected["reason"])
	}
	return []wanted{a}
}

// kernelOf completes a kernel of a case.
func kernelOf(v any) map[string]any {
	k := object(v)
	return map[string]any{"name": k["name"], "kind": k["kind"], "estimated_flops": 0, "estimated_bytes": 0}
}

func askPlanner(c *hybridCase) []wanted {
	trace := object(c.Expected["trace"])
	return []wanted{{inputs: map[string]any{
		"kernel": kernelOf(c.Input["kernel"]), "tiers": c.Input["tensor_tiers"], "pressures": c.Input["snapshot"], "gpu_available": c.Input["gpu_available"],
	}, want: map[string]string{
		"target": text(c.Expected["target"]), "reason": text(c.Expected["reason"]), "rule": text(trace["winning_rule"]), "evaluated": quoted(list(trace["evaluated_rules"])),
	}}}
}

func askGraph(c *hybridCase) (out []wanted) {
	for i, s := range list(c.Input["snapshots"]) {
		kernels := []any{}
		for k, n := range list(c.Input["nodes"]) {
			tiers := object(list(c.Expected["nodes"])[k])["tensor_tiers"] // one for each tensor
			kernels = append(kernels, map[string]any{"kernel": kernelOf(object(n)["kernel"]), "tiers": tiers})
		}
		placed := object(list(c.Expected["plan_for_snapshot"])[i])
		count := map[string]int{}
		var reasons []any
		for _, p := range list(placed["placements"]) {
			count[text(object(p)["target"])]++
			if why := object(p)["reason"]; !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		}
		want := map[string]string{"target": fmt.Sprintf("Cpu=%d Gpu=%d CpuFallback=%d", count["Cpu"], count["Gpu"], count["CpuFallback"]), "reason": text(placed["snapshot_summary"])}
		if len(reasons) > 0 {
			want["evaluated"] = quoted(reasons)
		}
		out = append(out, wanted{fmt.Sprint("snapshot ", i), map[string]any{"kernels": kernels, "pressures": s, "gpu_available": c.Input["gpu_available"]}, want})
	}
	return out
}

// askOffload follows a case: what a plan of a tick moves is marked, and what was moved is where
// the case says.
func askOffload(c *hybridCase) (out []wanted) {
	type tensor struct{ tier, bytes any }
	tensors := map[string]*tensor{}
	for _, v := range list(object(c.Input["memory"])["tensors"]) {
		x := object(v)
		bytes := x["bytes"]
		if data, ok := x["data"].(string); ok {
			bytes = len(data) / 2
		}
		tensors[text(x["id"])] = &tensor{tier: x["tier"], bytes: bytes}
	}
	ticks := map[string]any{}
	config := object(c.Input["config"])
	config["promote"] = false
	for i, v := range list(c.Input["steps"]) {
		step, want := object(v), object(list(c.Expected["steps"])[i])
		for _, at := range list(want["tiers"]) {
			if x := tensors[text(list(at)[0])]; x != nil {
				x.tier = list(at)[1]
			}
		}
		if step["op"] == "apply" {
			if want["error"] != nil {
				return out // what was taken back is no input of a decision
			}
			continue
		}
		inputs := map[string]any{"config": config, "pressures": step["snapshot"], "tick": 0}
		if step["op"] == "plan" {
			inputs["now"] = true
		} else {
			inputs["tick"] = step["tick"]
		}
		in := []any{}
		for _, id := range list(step["tensor_ids"]) {
			x := map[string]any{"id": id, "tier": nil, "bytes": 0, "last_moved": ticks[text(id)], "taken_from": nil}
			if at := tensors[text(id)]; at != nil {
				x["tier"], x["bytes"] = at.tier, at.bytes
			}
			in = append(in, x)
		}
		inputs["tensors"] = in
		var moves []string
		for _, a := range list(want["actions"]) {
			moves = append(moves, text(object(a)["action"])+" "+text(object(a)["id"]))
			if step["op"] == "plan_with_tick" {
				ticks[text(object(a)["id"])] = step["tick"]
			}
		}
		out = append(out, wanted{fmt.Sprint("step ", i), inputs, map[string]string{"target": strings.Join(moves, ", "), "reason": text(want["reason"])}})
	}
	return out
}

func askWarmStart(c *hybridCase) (out []wanted) {
	entries, tiers, hints, down := map[string]map[string]any{}, map[string]any{}, map[string]any{}, map[string][]any{}
	for _, e := range list(c.Input["entries"]) {
		entries[text(object(e)["id"])] = object(e)
	}
	for _, x := range list(c.Input["live_tiers"]) {
		tiers[text(object(x)["id"])] = object(x)["tier"]
	}
	for _, x := range list(c.Input["live_hints"]) {
		hints[text(object(x)["id"])] = object(x)["desired_tier"]
	}
	for _, r := range list(c.Input["reports"]) {
		id := text(object(r)["entry_id"])
		for _, d := range list(object(r)["drifts"]) {
			if d := object(d); d["drift"] == "TierDowngrade" {
				down[id] = append(down[id], map[string]any{"desired": d["desired"], "restored": d["restored"], "safe_restore_policy": d["cause"] == "SafeRestorePolicy"})
			}
		}
	}
	for _, v := range list(c.Expected["decisions"]) {
		d := object(v)
		id := text(d["id"])
		e := entries[id]
		in := map[string]any{"id": id, "is_grad": e["is_grad"], "current": e["tier"], "desired": e["desired_tier"], "downgrades": append([]any{}, down[id]...),
			"gpu_available": c.Input["gpu_available"], "keep_downgraded": c.Input["planner"] == "seed"}
		if at, ok := tiers[id]; ok {
			in["current"] = at
		}
		if hint := hints[id]; hint != nil {
			in["desired"] = hint
		}
		want := map[string]string{"target": strings.TrimSpace(text(d["action"]) + " " + text(d["to"]))}
		if d["reason"] != nil {
			want["reason"] = text(d["reason"])
		}
		out = append(out, wanted{id, in, want})
	}
	return out
}

func askTrainer(c *hybridCase) (out []wanted) {
	stats := func(v any) map[string]any {
		s := object(v)
		if s == nil {
			return map[string]any{"count": 0, "success": 0, "score_sum": 0, "drift": 0}
		}
		return map[string]any{"count": s["count"], "success": s["success_count"], "score_sum": s["score_sum"], "drift": s["drift_count"]}
	}
	for i, q := range list(c.Expected["queries"]) {
		both := list(object(q)["stats"])
		out = append(out, wanted{fmt.Sprint("query ", i), map[string]any{
			"gpu_available": object(list(c.Input["queries"])[i])["gpu_available"], "vram_band": 0, "ram_band": 0,
			"cpu": stats(both[0]), "gpu": stats(both[1]), "drift_penalty": c.Input["drift_penalty"],
		}, map[string]string{"target": text(object(q)["recommend"])}})
	}
	return out
}

func askBackward(c *hybridCase) (out []wanted) {
	for i, v := range list(c.Expected["trace"]) {
		n, tr := lastNode(c, i), object(v)
		out = append(out, wanted{fmt.Sprint("node ", tr["node_id"]), map[string]any{
			"node_id": n["node_id"], "forward_target": n["forward_target"], "grads": gradientsOf(n), "gpu_available": c.Input["gpu_available"],
		}, map[string]string{"target": text(tr["requested_backward_target"])}})
	}
	return out
}

// lastNode returns a node of a case, counted from the last one: in the order in which they run.
func lastNode(c *hybridCase, i int) map[string]any {
	nodes := list(c.Input["nodes"])
	return object(nodes[len(nodes)-1-i])
}

func gradientsOf(node map[string]any) []any {
	return slices.Concat([]any{}, list(node["input_grads"]), list(node["output_grads"]))
}

// askTrace asks about the node that runs first, whose gradients are where the case begins.
// How its moves ended is an input.
func askTrace(c *hybridCase) []wanted {
	traces := list(c.Expected["trace"])
	if len(traces) == 0 {
		return nil
	}
	tr := object(traces[0])
	at := map[string]any{}
	for _, x := range list(object(c.Input["memory"])["tensors"]) {
		at[text(object(x)["id"])] = object(x)["tier"]
	}
	n := lastNode(c, 0)
	found, failed := []any{}, []string{}
	seen := map[string]bool{}
	for _, g := range gradientsOf(n) {
		if id := text(object(g)["id"]); !seen[id] {
			seen[id] = true
			found = append(found, map[string]any{"id": id, "tier": at[id]})
		}
	}
	evaluated := []any{"requested " + text(tr["requested_backward_target"])}
	for _, m := range list(tr["moves"]) {
		m := object(m)
		kind, id := text(m["record"]), text(m["id"])
		line := fmt.Sprintf("%s %s: %v to %v", kind, id, m["from"], m["to"])
		switch kind {
		case "Applied":
			failed = append(failed, "")
		case "Failed":
			failed = append(failed, "broken")
			line = fmt.Sprintf("Failed %s: error: broken", id)
		case "Skipped":
			line = fmt.Sprintf("Skipped %s: %v", id, m["reason"])
		}
		evaluated = append(evaluated, line)
	}
	return []wanted{{"", map[string]any{"node": n, "gpu_available": c.Input["gpu_available"], "found": found, "failed": failed},
		map[string]string{"target": text(tr["final_backward_target"]), "reason": text(tr["reason"]), "evaluated": quoted(evaluated)}}}
}
