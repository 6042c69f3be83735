// Package metrics exports the activity of the tiers to Prometheus.
//
//	lane.Executor ──────── Set.Event ──────┐
//	decision.Journal ───── Set.Decided ────┤
//	a ledger, a ring, … ── Set.Tier, … ────┴─▶ Set.Serve: GET /metrics
//
//	atenia_tier_bytes{tier,state}          used, reserved or budget
//	atenia_move_bytes_total{from,to}       copied between tiers
//	atenia_move_seconds                    one move, a histogram
//	atenia_prefetch_total{result}          hit, late or wasted
//	atenia_overlap_ratio                   of moving and computing, 0 to 1
//	atenia_decisions_total{component,rule}
//	atenia_fallback_total{reason}          work degraded from a device to the processor
//	atenia_ssd_written_bytes_total
//	atenia_plan_error_ratio                measured over planned seconds, less 1
//	atenia_cache_corrupt_total             corrupt entries
//	atenia_trainer_regret                  time lost against the faster backend
package metrics
