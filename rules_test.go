package atenia_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia"
)

// ruleBases are the inputs that the cases of TestRules begin with, by component.
var ruleBases = map[string]string{
	"placement": `{"id":"w","num_elements":1000,"element_size_bytes":4,"estimated_compute_cost":5,"gpus":[{"id":"g0","compute_score_est":1},{"id":"g1","compute_score_est":1}],
		"reliability":[],"pressures":{"vram":0.2,"ram":0.2},"pressure_unknown":false}`,
	"binding": `{"to":"Vram","device":"cuda:0","because":"x","at":"Ram","rule":"fits","tensors":2,"bytes":3,"gpu_available":false,"idle_devices":"busy"}`,
	"planner": `{"kernel":{"name":"k","kind":"ComputeHeavy","estimated_flops":1,"estimated_bytes":1},"tiers":["Ram"],"pressures":{"vram":0.2,"ram":0.2},"gpu_available":true}`,
	"router": `{"kernel":{"name":"k","kind":"ComputeHeavy","estimated_flops":1,"estimated_bytes":1},"tensors":[{"id":"a","tier":"Ram","move":"InPlace"}],
		"pressures":{"vram":0.2,"ram":0.2},"gpu_available":true}`,
	"graph": `{"kernels":[{"kernel":{"name":"k","kind":"ComputeHeavy","estimated_flops":1,"estimated_bytes":1},"tiers":["Ram"]},
		{"kernel":{"name":"l","kind":"Small","estimated_flops":1,"estimated_bytes":1},"tiers":["Ram"]}],"pressures":{"vram":0.2,"ram":0.25},"gpu_available":true}`,
	"offload": `{"config":{"vram_high":0.9,"vram_low":0.8,"ram_high":0.9,"ram_low":0.8,"cooldown_ticks":2,"max_actions_per_tick":2,"promote":true},"tick":10,
		"pressures":{"vram":0.95,"ram":0.95},"tensors":[{"id":"a","tier":"Vram","bytes":100,"last_moved":null,"taken_from":null},{"id":"b","tier":"Ram","bytes":300,"last_moved":null,"taken_from":null},
		{"id":"c","tier":"Ssd","bytes":500,"last_moved":null,"taken_from":null},{"id":"d","tier":"Ram","bytes":300,"last_moved":9,"taken_from":"Vram"}]}`,
	"backward":   `{"node_id":3,"forward_target":"Gpu","grads":[{"id":"g","tier":"Vram"},{"id":"h","tier":"Vram"}],"gpu_available":true}`,
	"warm_start": `{"id":"w","is_grad":false,"current":"Ssd","desired":"Vram","downgrades":[],"gpu_available":true,"keep_downgraded":false}`,
	"trainer": `{"gpu_available":true,"vram_band":0,"ram_band":0,"cpu":{"count":10,"success":10,"score_sum":10,"drift":0},"gpu":{"count":10,"success":10,"score_sum":50,"drift":0},
		"drift_penalty":5}`,
	"autoloop": `{"gpu_available":true,"vram_band":0,"ram_band":0,"cpu":{"count":10,"success":10,"score_sum":10,"drift":0},"gpu":{"count":10,"success":10,"score_sum":50,"drift":0},
		"drift_penalty":5,"cooldown":4,"tick":10,"last_switch":2,"last":"Cpu"}`,
	"policy": `{"gpu_available":true,"vram_band":0,"ram_band":0,"class":"decode","cpu":{"count":10,"success":10,"score_sum":10,"drift":0},"gpu":{"count":10,"success":10,"score_sum":60,"drift":0},
		"cpu_seconds":1,"gpu_seconds":0.5,"cpu_tried":5,"episode":65,"since_trial_seconds":100,"tick":20,"last_switch":5,"switched":true,"last":"Cpu","cooldown":8,"drift_penalty":5,
		"min_episodes":3,"trial_every":64,"seed":0}`,
	"choice": `{"gpu_available":false,"vram_band":0,"ram_band":0,"model":"m","class":"decode","knob":"threads","arms":` + arms() + `,"current":0,"trying":0,"left":0,"long":1,"episode":150,
		"last_trial":100,"switched":10,"config":{"share":0.015625,"every":100,"burst":4,"cooldown":16,"margin":0.05,"first":8,"seed":0,"whole":false}}`,
}

// arms are two options of a knob: 4 is in use and takes a second, 3 took two. Each edit is
// OLD for NEW.
func arms(edits ...string) string {
	s := `[{"option":"4","guess":0,"count":20,"success":20,"seconds":1,"spent":1000,"lost":0,"dev":0,"fresh":20,"age":0},{"option":"3","guess":0,"count":4,"success":4,"seconds":2,"spent":10,"lost":0.5,"dev":0,"fresh":4,"age":10}]`
	for _, e := range edits {
		if was, is, ok := strings.Cut(e, " for "); ok {
			s = strings.ReplaceAll(s, is, was)
		}
	}
	return s
}

// A ruling is what is decided once inputs are changed.
type ruling struct {
	component, set             string // as --policy has it, the component left out
	rule, target, device, says string
}

var rulings = []ruling{
	{"placement", `gpus=[]`, "NoDevice", "Cpu", "", "No GPU detected"},
	{"placement", ``, "SafeVram", "Vram", "g0", "Selected GPU g0 (reliability=1.00) and VRAM pressure is safe"},
	{"placement", `gpus=[{"id":"g0","compute_score_est":1},{"id":"g1","compute_score_est":2}]`, "SafeVram", "Vram", "g1", ""},
	{"placement", `reliability=[{"id":"g0","ok_count":9,"fail_count":1,"last_error_epoch_ms":null}]`, "SafeVram", "Vram", "g1", "reliability=1.00"},
	{"placement", `gpus=[{"id":"g0","compute_score_est":1}] reliability=[{"id":"g0","ok_count":10,"fail_count":0,"last_error_epoch_ms":5}]`, "SafeVram", "Vram", "g0", "reliability=0.85"},
	{"placement", `gpus=[{"id":"g0","compute_score_est":1}] reliability=[{"id":"g0","ok_count":1,"fail_count":3,"last_error_epoch_ms":null}]`, "SafeVram", "Vram", "g0", "reliability=0.25"},
	{"placement", `gpus=[{"id":"g0","compute_score_est":1}] reliability=[{"id":"g0","ok_count":0,"fail_count":3,"last_error_epoch_ms":null}]`, "NoReliability", "Cpu", "", "reliability=0.00"},
	{"placement", `gpus=[{"id":"g0","compute_score_est":1}] reliability=[{"id":"g0","ok_count":0,"fail_count":3,"last_error_epoch_ms":null}] estimated_compute_cost=101`, "SafeVram", "Vram", "g0", ""},
	{"placement", `pressures={"vram":0.8,"ram":0.2}`, "HighVram", "Ram", "", "VRAM pressure is high"},
	{"placement", `pressures={"vram":0.79,"ram":0.2}`, "SafeVram", "Vram", "g0", ""},
	{"placement", `pressures={"vram":null,"ram":null}`, "HighVram", "Ram", "", ""},
	{"placement", `pressures={"vram":0.8,"ram":0.85}`, "HighPressure", "Cpu", "", "System memory pressure is high"},
	{"placement", `num_elements=134217729`, "HugeToRam", "Ram", "", "Tensor is huge and RAM pressure is acceptable"},
	{"placement", `num_elements=134217728`, "SafeVram", "Vram", "g0", ""},
	{"placement", `num_elements=134217729 pressures={"vram":0.95,"ram":0.95}`, "AllCritical", "Ssd", "", "VRAM and RAM are under critical pressure"},
	{"placement", `num_elements=134217729 pressures={"vram":0.95,"ram":0.95} no_ssd_last_resort=true`, "HighPressure", "Cpu", "", ""},
	{"placement", `num_elements=134217729 pressures={"vram":0.94,"ram":0.95} estimated_compute_cost=101`, "HighPressure", "Cpu", "", ""},
	{"placement", `num_elements=134217729 pressures={"vram":0.95,"ram":0.94} estimated_compute_cost=101`, "HighPressure", "Cpu", "", ""},
	{"placement", `num_elements=134217729 pressures={"vram":0.2,"ram":0.91}`, "VeryHighRam", "Ssd", "", "RAM pressure is very high"},
	{"placement", `num_elements=134217729 pressures={"vram":0.2,"ram":0.9}`, "HighPressure", "Cpu", "", ""},
	{"placement", `num_elements=134217729 pressures={"vram":0.2,"ram":0.91} estimated_compute_cost=101`, "HighPressure", "Cpu", "", ""},
	{"placement", `num_elements=134217729 pressures={"vram":0.2,"ram":0.91} no_ssd_last_resort=true`, "HighPressure", "Cpu", "", ""},

	{"binding", ``, "NothingComputes", "Ram", "cuda:0", "2 weights would be in Vram of cuda:0 (x): busy, so they are in Ram (fits)"},
	{"binding", `rule=pin`, "NothingComputes", "Ram", "cuda:0", ""},
	{"binding", `to=Cpu`, "Agrees", "Ram", "cuda:0", "2 weights in Ram (fits): x"},
	{"binding", `to=Ram`, "Agrees", "Ram", "cuda:0", ""},
	{"binding", `idle_devices=""`, "NoRoom", "Ram", "cuda:0", "the plan has no room"},
	{"binding", `idle_devices="" rule=pin`, "Pinned", "Ram", "cuda:0", "as was asked for"},
	{"binding", `idle_devices="" rule=file`, "Pinned", "Ram", "cuda:0", "as was asked for"},
	{"binding", `to=Ssd device="" tensors=1`, "Fits", "Ram", "", "1 weight would be in Ssd (x): it is in Ram (fits), which has room and is read faster"},
	{"binding", `to=Ram at=Ssd rule=stream device=""`, "NoRoom", "Ssd", "", ""},

	{"planner", ``, "GpuPreferred", "Gpu", "", "GPU execution preferred"},
	{"planner", `gpu_available=false`, "GpuNotAvailable", "CpuFallback", "", "GPU not available"},
	{"planner", `gpu_available=false idle_devices=cuda:0`, "GpuNotAvailable", "CpuFallback", "", "cuda:0"},
	{"planner", `kernel.kind=Small`, "KernelNotGpuFriendly", "Cpu", "", "Kernel not suitable for GPU execution"},
	{"planner", `kernel.kind=Serial`, "KernelNotGpuFriendly", "Cpu", "", ""},
	{"planner", `kernel.kind=MemoryBound`, "GpuPreferred", "Gpu", "", ""},
	{"planner", `tiers=["Ram","Ssd"]`, "TensorOnSsd", "Cpu", "", "Tensor resides on SSD"},
	{"planner", `tiers=["Ram","Ssd"] kernel.kind=Small`, "KernelNotGpuFriendly", "Cpu", "", ""},
	{"planner", `tiers=["Ram","Ssd"] pressures={"vram":0.91}`, "TensorOnSsd", "Cpu", "", ""},
	{"planner", `pressures={"vram":0.91}`, "HighVramPressure", "CpuFallback", "", "VRAM pressure too high"},
	{"planner", `pressures={"vram":0.9}`, "GpuPreferred", "Gpu", "", ""},
	{"planner", `pressures={}`, "GpuPreferred", "Gpu", "", ""},

	{"router", ``, "GpuPreferred", "Gpu", "", "GPU execution preferred"},
	{"router", `tensors=[{"id":"a","tier":"Ssd","move":"InPlace"}]`, "TensorOnSsd", "Cpu", "", ""},
	{"router", `gpu_available=false idle_devices=cuda:0`, "GpuNotAvailable", "CpuFallback", "", "cuda:0"},
	{"router", `tensors=[{"id":"a","tier":"Ram","move":"NoVram"}]`, "NoVram", "CpuFallback", "", "GPU execution preferred; degraded to CPU because VRAM is unavailable"},
	{"router", `tensors=[{"id":"a","tier":"Ram","move":"MoveFailed"},{"id":"b","tier":"Ram","move":"InPlace"}]`, "MoveFailed", "CpuFallback", "", "; degraded to CPU because memory move failed"},
	{"router", `tensors=[{"id":"a","tier":"Ram","move":"MoveFailed"},{"id":"b","tier":"Ram","move":"NoVram"}]`, "NoVram", "CpuFallback", "", "; degraded to CPU because VRAM is unavailable"},

	{"graph", ``, "PerKernel", "Cpu=1 Gpu=1 CpuFallback=0", "", "Snapshot pressures: vram=0.2000, ram=0.2500"},
	{"graph", `gpu_available=false`, "PerKernel", "Cpu=0 Gpu=0 CpuFallback=2", "", ""},

	{"offload", ``, "VramRamHigh", "MoveToSsd b, MoveToSsd a", "", "VRAM and RAM pressure high; some tensors skipped due to cooldown; Priority offloading enabled; selected 2/2"},
	{"offload", `tick=11`, "VramRamHigh", "MoveToSsd b, MoveToSsd d", "", "VRAM and RAM pressure high; Priority offloading enabled; selected 2/3"},
	{"offload", `tick=9`, "VramRamHigh", "MoveToSsd b, MoveToSsd a", "", "skipped due to cooldown"},
	{"offload", `tick=11 config.max_actions_per_tick=1`, "VramRamHigh", "MoveToSsd b", "", "selected 1/3"},
	{"offload", `now=true`, "VramRamHigh", "MoveToSsd a, MoveToSsd b, MoveToSsd d", "", "VRAM and RAM pressure high"},
	{"offload", `pressures={"vram":0.9,"ram":0.1}`, "VramHigh", "MoveToRam a", "", "VRAM pressure high"},
	{"offload", `pressures={"ram":0.9}`, "RamHigh", "MoveToSsd b", "", "RAM pressure high"},
	{"offload", `pressures={"vram":0.9} tensors=[]`, "VramHigh", "", "", "VRAM pressure high but no offloadable tensors in VRAM"},
	{"offload", `pressures={"vram":0.85,"ram":0.5}`, "Hysteresis", "", "", "No new offloading due to hysteresis band"},
	{"offload", `pressures={"vram":0.8,"ram":0.8}`, "NotNeeded", "", "", "No offloading needed"},
	{"offload", `pressures={"vram":0.8,"ram":0.8} tick=11`, "NotNeeded", "MoveToVram d", "", "No offloading needed; bringing back 1/1"},
	{"offload", `pressures={"vram":0.8,"ram":0.8} tick=11 config.promote=false`, "NotNeeded", "", "", "No offloading needed"},

	{"backward", ``, "AllInVram", "Gpu", "", ""},
	{"backward", `gpu_available=false`, "NotAllInVram", "Cpu", "", ""},
	{"backward", `forward_target=CpuFallback`, "NotAllInVram", "Cpu", "", ""},
	{"backward", `grads=[{"id":"g","tier":"Vram"},{"id":"h","tier":"Ram"}]`, "NotAllInVram", "Cpu", "", ""},

	{"warm_start", ``, "DesiredVram", "HintPromote Vram", "", "Desired VRAM and GPU available"},
	{"warm_start", `gpu_available=false`, "DesiredVram", "DegradeSafe Ram", "", "Desired VRAM but GPU unavailable"},
	{"warm_start", `desired=null`, "NoHint", "Keep", "", "No desired tier hint"},
	{"warm_start", `desired=Ssd`, "NoChange", "Keep", "", ""},
	{"warm_start", `desired=Ram`, "PreferRam", "HintPromote Ram", "", "Prefer RAM for faster access when safe"},
	{"warm_start", `downgrades=[{"desired":"Vram","restored":"Ram","safe_restore_policy":false}]`, "TierDowngrade", "DegradeSafe Ram", "", "Tier downgraded from Vram to Ram during restore drift"},

	{"trainer", ``, "HigherValue", "Gpu", "", "value 5 of the GPU is above 1 of the CPU"},
	{"trainer", `gpu.score_sum=10`, "HigherValue", "Cpu", "", "value 1 of the GPU is not above 1 of the CPU"},
	{"trainer", `gpu.drift=8`, "HigherValue", "Cpu", "", "value 1 of the GPU"},
	{"trainer", `gpu.drift=7`, "HigherValue", "Gpu", "", "value 2 of the GPU"},
	{"trainer", `gpu.drift=7 drift_penalty=6`, "HigherValue", "Cpu", "", "value 1 of the GPU"},
	{"trainer", `gpu.count=0`, "HigherValue", "Cpu", "", "value 0 of the GPU"},
	{"trainer", `gpu_available=false`, "GpuUnavailable", "Cpu", "", "no GPU computes"},

	{"autoloop", ``, "LearnedScore", "Gpu", "", "switch: cpu->gpu due to learned score"},
	{"autoloop", `last=Gpu gpu.score_sum=0`, "LearnedScore", "Cpu", "", "switch: gpu->cpu due to learned score"},
	{"autoloop", `gpu_available=false`, "GpuUnavailable", "Cpu", "", "hold: gpu unavailable"},
	{"autoloop", `gpu_available=false last=Gpu`, "GpuUnavailable", "Cpu", "", ""},
	{"autoloop", `last=Gpu`, "SameBackend", "Gpu", "", "hold: same backend preferred"},
	{"autoloop", `gpu.score_sum=10`, "SameBackend", "Cpu", "", ""},
	{"autoloop", `gpu.drift=8`, "SameBackend", "Cpu", "", ""},
	{"autoloop", `last_switch=7`, "CooldownActive", "Cpu", "", "hold: cooldown active"},
	{"autoloop", `last_switch=6`, "LearnedScore", "Gpu", "", ""},
	{"autoloop", `last_switch=11`, "CooldownActive", "Cpu", "", ""},
	{"autoloop", `last_switch=10 cooldown=0`, "LearnedScore", "Gpu", "", ""},
	{"autoloop", `last_switch=0 tick=0`, "LearnedScore", "Gpu", "", ""},

	{"policy", ``, "LearnedScore", "Gpu", "", "switch: cpu->gpu due to learned score"},
	{"policy", `gpu_available=false`, "GpuUnavailable", "Cpu", "", "hold: gpu unavailable"},
	{"policy", `cpu_seconds=0 cpu_tried=2`, "NoReference", "Cpu", "", "trial: no latency of the cpu to compare with"},
	{"policy", `cpu_seconds=0 cpu_tried=3`, "LearnedScore", "Gpu", "", ""},
	{"policy", `cpu_tried=2`, "LearnedScore", "Gpu", "", ""},
	{"policy", `cpu.count=2`, "ForcedTrial", "Cpu", "", "trial: cpu has 2 of 3 episodes"},
	{"policy", `gpu.count=2`, "ForcedTrial", "Gpu", "", "trial: gpu has 2 of 3 episodes"},
	{"policy", `cpu.count=3`, "LearnedScore", "Gpu", "", ""},
	{"policy", `gpu.count=3`, "LearnedScore", "Gpu", "", ""},
	{"policy", `episode=64`, "PeriodicTrial", "Gpu", "", "trial: every 64th episode"},
	{"policy", `seed=63`, "PeriodicTrial", "Gpu", "", ""},
	{"policy", `episode=64 trial_every=0`, "LearnedScore", "Gpu", "", ""},
	{"policy", `episode=64 last=Gpu since_trial_seconds=16`, "PeriodicTrial", "Cpu", "", ""},
	{"policy", `episode=64 last=Gpu since_trial_seconds=15`, "SameBackend", "Gpu", "", "hold: same backend preferred"},
	{"policy", `gpu.drift=9`, "LearnedScore", "Gpu", "", ""},
	{"policy", `gpu.drift=10`, "SameBackend", "Cpu", "", ""},
	{"policy", `last_switch=13`, "CooldownActive", "Cpu", "", "hold: cooldown active"},
	{"policy", `last_switch=12`, "LearnedScore", "Gpu", "", ""},
	{"policy", `last_switch=20 switched=false`, "LearnedScore", "Gpu", "", ""},

	{"choice", ``, "Keep", "threads=4", "", "4 takes 1 s, and no trial is due"},
	{"choice", `arms=` + arms()[:strings.Index(arms(), `,{`)] + `]`, "OnlyOption", "threads=4", "", "4 is the only option"},
	{"choice", `arms=` + arms(`"fresh":7 for "fresh":20`), "FirstEpisodes", "threads=4", "", "7 of 8 episodes"},
	{"choice", `left=2 trying=1`, "TrialGoesOn", "threads=3", "", "trial of 3, 2 more"},
	{"choice", `arms=` + arms(`"seconds":0.9 for "seconds":2`), "Faster", "threads=3", "", "3 takes 0.9 s, 4 takes 1 s"},
	{"choice", `arms=` + arms(`"seconds":0.96 for "seconds":2`), "Keep", "threads=4", "", ""},
	{"choice", `switched=140 arms=` + arms(`"seconds":0.9 for "seconds":2`), "CooldownActive", "threads=4", "", "hold: switched 10 episodes ago, want 16"},
	{"choice", `switched=134 arms=` + arms(`"seconds":0.9 for "seconds":2`), "Faster", "threads=3", "", ""},
	{"choice", `arms=` + arms(`"seconds":0.9 for "seconds":2`, `"age":26 for "age":10`), "Recheck", "threads=3", "", "trial: 3 once took 0.9 s, 4 takes 1 s"},
	{"choice", `config.whole=true arms=` + arms(`"seconds":0.9 for "seconds":2`, `"age":26 for "age":10`), "Faster", "threads=3", "", ""},
	{"choice", `last_trial=130 arms=` + arms(`"seconds":0.9 for "seconds":2`, `"age":26 for "age":10`), "Keep", "threads=4", "", ""},
	{"choice", `long=2`, "Changed", "threads=3", "", "it used to take 2 s"},
	{"choice", `long=1.2`, "Keep", "threads=4", "", ""},
	{"choice", `last_trial=50`, "Trial", "threads=3", "", "last tried 10 episodes ago; trials may lose 15.28"},
	{"choice", `last_trial=51`, "Keep", "threads=4", "", ""},
	{"choice", `last_trial=50 arms=` + arms(`"lost":15 for "lost":0.5`), "Keep", "threads=4", "", ""},
}

// TestRules: each rule decides where its inputs say so, and at its limits the one before or
// after it: "atenia replay --policy" of a record with other inputs.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rulings {
		name := r.component + " " + r.set
		base := strings.Join(strings.Fields(ruleBases[r.component]), " ")
		log := fmt.Sprintf(`{"seq":0,"tick":0,"component":%q,"rule":"?","evaluated":["?"],"target":"?","device":"?","reason":"?","inputs":%s,"config_hash":"","parent":"","hash":"","t_ns":0}`+"\n", r.component, base)
		policy := ""
		for _, part := range strings.Fields(r.set) {
			policy += " " + r.component + "." + part
		}
		report, err := atenia.Replay(strings.NewReader(log), policy)
		if err != nil || len(report.Differences) != 1 {
			t.Errorf("%s: %v, %+v", name, err, report)
			continue
		}
		got := map[string]string{}
		for _, f := range report.Differences[0].Fields {
			got[f.Name] = f.Replayed
		}
		if got["rule"] != r.rule || got["target"] != r.target || got["device"] != r.device || !strings.Contains(got["reason"], r.says) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, []string{r.rule, r.target, r.device, r.says})
		}
		seen[r.component] = true
	}
	for c := range ruleBases {
		if !seen[c] {
			t.Errorf("no case of %s", c)
		}
	}
}
