package conform

import (
	"slices"
	"strings"
	"time"

	"atenia/quila/config"
	"atenia/quila/internal/device"
)

// planRows are the rows of what is computed before a network
// exists: configurations, budgets, devices and the schedule of their drivers,
// and the rows of the second part, which say that they are not there yet.
func planRows() []experiment {
	return append([]experiment{
		{ID: "CONFIG", Section: "4.8", What: "every name with its source; unknown names and values out of range in one error", Check: planNames},
		{ID: "PLAN-13B", Section: "4.8", What: "the totals of the system profile, exact, in under a second, each explained", Check: system},
		{ID: "PLAN-DEV", Section: "4.8", What: "1, 4 and 8 devices of 80 GB: what fits, and a warning without NVLink", Check: devices},
		{ID: "REQ-8.5.1b", Section: "4.1", What: "3 276 800 edges of the system profile, 7.13e9 bytes, within 12 % of 6.4e9", Check: planEdges},
		{ID: "REQ-9.1.1", Section: "4.1", What: "state, parameters, hot entries and hot queues are managed memory", Check: managed},
		{ID: "REQ-22.1.1", Section: "4.1", What: "so are the pages of hot entries", Check: managed},
		{ID: "REQ-22.1.2", Section: "4.1", What: "both kinds of advice for every parameter page before its first launch", Check: advised},
	}, later...)
}

func profile(t *report, name string) config.Config {
	c, err := config.Profile(name)
	t.Must(err)
	return c
}

func planNames(t *report) {
	c := profile(t, "13b")
	seen := map[string]bool{}
	for _, e := range c.Entries() {
		if seen[e.Name] || e.Value == "" || !slices.Contains([]string{"spec", "measured", "start"}, e.Source) {
			t.Errorf("%q has the value %q and the source %q", e.Name, e.Value, e.Source)
		}
		seen[e.Name] = true
	}
	for _, name := range section12 {
		if !seen[name] {
			t.Errorf("%s is not a name of the configuration", name)
		}
	}
	_, err := config.Parse([]byte(`{"name":"nano","no_such_name":1,"another":2,"active_cap":1.5,"wait_max":-1}`))
	if err == nil {
		t.Fatalf("faults are accepted")
	}
	for _, want := range []string{"no_such_name", "another", "active_cap", "wait_max"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	t.Figure("%d names", len(seen))
}

// section12 are names of section 1.12 as the configuration spells them.
var section12 = strings.Fields(`active_cap wait_max ref_base ref_range refractory_resend pairwise_mean partial_send_threshold thermal_scale
	alpha_fxaa drc_max rho_raw k_max w_max sinkhorn_n mhc_grad utility_ema conf_t init_conf g nsa_k
	kfe_top_k kfe_merge kfe_alpha kfe_beta kfe_gamma kfe_gain lr_kfe lr_kfe_replay kfe_idle kfe_page hnsw_m hnsw_ef_c hnsw_ef hnsw_exact_below hnsw_compact
	evict_w lambda_recency soft_delete_threshold promotion_threshold promotion_window tau mhc_init align_tau tau_contradiction b_raw delta_alpha
	cm cm_second cm_noise cm_sigma_max cm_ema_low cm_ema_high cm_points block theta_low theta_high theta_lo_reread theta_hi_reread candidates
	complexity_one complexity_two wmq_hot wmq_cold wm_enqueue_threshold utility_dealloc_threshold wmq_top_k stage_drop_threshold
	max_steps_per_stage max_time_per_stage relevance_ema u_fork u_tool u_replan fork_steps poll_interval theta_entropy theta_drift ring
	penalty recovery exit_ticks rule_insert confidence_dead_threshold boost_ticks lambda_min lambda_max lambda_init eta_lambda w_osc damping damping_window
	growth_threshold max_new_edges in_degree_cap prune_threshold prune_window clustering_utility_bonus target_coverage lambda_diversity louvain_rerun
	reward_base token_excess halluc replan_cost success_target external_from external_to success_raise regression_threshold
	commitment vq_ema dead_batches rope_dims base_text base_time base_row base_col base_freq engram_bits persona_dim persona_gate`)

// system compares the planner with the integers of section 2.5.
func system(t *report) {
	start := time.Now()
	c := profile(t, "13b")
	b := c.Budget()
	t.Took("planning", time.Since(start), time.Second)
	for name, pair := range map[string][2]int64{
		"all": {b.Counts.Total, 13_040_908_151}, "neuron": {b.Counts.PerNeuron, 288_966}, "neurons": {b.Counts.Neurons, 9_468_837_888},
		"edges": {b.Counts.Edges, 3_565_158_400}, "ports": {b.Counts.Ports, 2_585_207}, "cm": {b.Counts.CM, 132_352}, "codebooks": {b.Counts.Codebooks, 4_194_304},
		"entries": {b.KFEEntries, 578_125_000}, "entries of a neuron": {b.KFEPerNeuron, 17_643}, "messages": {b.Messages, 622_600}, "firing": {b.Firing, 6226},
		"ring": {b.RingTicks, 19}, "bytes of entries": {b.KFEBytes, 296_000_000_000},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d, want %d", name, pair[0], pair[1])
		}
	}
	for name, x := range map[string][3]float64{ // value, want, share
		"tick": {b.TickFLOP, 307e9, .01}, "ports": {b.PortFLOP, 55e9, .01}, "token": {b.TokenFLOP, 1.59e12, .01}, "ring": {float64(b.RingBytes), 319e6, .01},
		"state": {float64(b.StateBytes), 236e6, .01}, "links": {float64(b.KFELinks), 83e9, .01}, "fields": {float64(b.KFEFields), 17e9, .03},
		"lean scans": {b.PortLean, 36.5e9, .01}, "shared scans": {b.PortShared, 6.4e9, .01}, "materialised": {float64(b.Materialised), 40.8e9, .01},
	} {
		if d := x[0]/x[1] - 1; d > x[2] || d < -x[2] {
			t.Errorf("%s: %g, want %g within %g", name, x[0], x[1], x[2])
		}
	}
	for _, l := range b.Lines {
		if l.Why == "" {
			t.Errorf("%s is not explained", l.Name)
		}
	}
	t.Figure("%d weights, %d lines", b.Counts.Total, len(b.Lines))
}

func devices(t *report) {
	c := profile(t, "13b")
	for count, fits := range map[int][]bool{1: {true, false, false}, 4: {true, true, false}, 8: {true, true, true}} {
		for _, link := range []bool{true, false} {
			d, err := c.Deploy(config.Devices{Count: count, Bytes: 80e9, NVLink: link})
			t.Must(err)
			for i, u := range d.Uses {
				if u.Fits != fits[i] || u.Binding == "" {
					t.Errorf("%d devices, %s: fits %v, bound by %q", count, u.Name, u.Fits, u.Binding)
				}
			}
			if warned := len(d.Warnings) > 0; warned != (count > 1 && !link) {
				t.Errorf("%d devices, NVLink %v: warnings %v", count, link, d.Warnings)
			}
			if i := slices.IndexFunc(d.Uses, func(u config.Use) bool { return u.Needs != 1 }); count == 1 && link && i > 0 {
				t.Figure("%d, %d and %d devices", d.Uses[0].Needs, d.Uses[1].Needs, d.Uses[2].Needs)
			}
		}
	}
	if _, err := c.Deploy(config.Devices{}); err == nil {
		t.Errorf("no devices are accepted")
	}
}

func planEdges(t *report) {
	c := profile(t, "13b")
	b := c.Budget()
	if b.Edges != 3_276_800 {
		t.Errorf("%d edges", b.Edges)
	}
	ratio := float64(b.EdgeBytes) / 6.4e9
	if ratio < .88 || ratio > 1.12 {
		t.Errorf("%d bytes are %.3f of the text's", b.EdgeBytes, ratio)
	}
	t.Figure("%d bytes, %.3f of the text's", b.EdgeBytes, ratio)
}

// trace places a profile on recorded devices and runs ticks.
func trace(t *report, name string, count, ticks int) []device.Call {
	c := profile(t, name)
	r := device.NewRecorder(count)
	l, err := device.NewLayout(&c, r)
	t.Must(err)
	neurons := 0
	for range ticks {
		t.Must(l.Tick(func(lo, hi int) { neurons += hi - lo }))
	}
	if neurons != ticks*c.N {
		t.Errorf("%d neurons ran in %d ticks of %d", neurons, ticks, c.N)
	}
	return r.Trace
}

func managed(t *report) {
	tags := map[string]int{}
	for _, name := range []string{"nano", "13b"} {
		calls := trace(t, name, 4, 2)
		if s := device.Check(calls); len(s.Faults) > 0 {
			t.Errorf("%s: %s", name, s.Faults[0])
		}
		for _, c := range calls {
			if c.Name == "MallocManaged" {
				tags[c.Tag]++
			} else if strings.HasPrefix(c.Name, "Malloc") {
				t.Errorf("%s: memory that is not managed", name)
			}
		}
	}
	for _, tag := range []device.Tag{device.State, device.Param, device.KFEHot, device.WMQHot} {
		if tags[string(tag)] == 0 {
			t.Errorf("nothing is tagged %s", tag)
		}
	}
	t.Figure("recorded driver, %d allocations", tags["state"]+tags["param"]+tags["kfe-hot"]+tags["wmq-hot"])
}

func advised(t *report) {
	calls := trace(t, "small", 4, 3)
	s := device.Check(calls)
	for _, f := range s.Faults {
		t.Errorf("%s", f)
	}
	// A schedule without its hints, or with a copy between devices, is found.
	without := slices.DeleteFunc(slices.Clone(calls), func(c device.Call) bool { return c.Name == "MemAdvise" && c.Tag == string(device.AccessedBy) })
	if len(device.Check(without).Faults) == 0 {
		t.Errorf("missing advice is not found")
	}
	if len(device.Check(append(slices.Clone(calls), device.Call{Name: "MemcpyPeer"})).Faults) == 0 {
		t.Errorf("a copy between devices is not found")
	}
	t.Figure("recorded driver, %d hints, %d launches", s.Advice, s.Launches)
}
