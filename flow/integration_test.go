package flow

// integration is a plan with oversampling, delay and gates.
var integration = func() *planText {
	p := &planText{}
	p.node(`{"name": "osc", "type": "LFO", "oversample_ratio": 8, "declared_delay": 192, "supports_v2": true, "params": {"kind": "saw"}}`)
	p.node(`{"name": "gain", "type": "Gain", "supports_v2": true, "params": {"gain": 0.5}}`)
	p.node(`{"name": "dry", "type": "Gain"}`)
	p.node(`{"name": "clock", "type": "Input"}`)
	p.node(`{"name": "sink", "type": "Probe"}`)
	p.node(`{"name": "monitor", "type": "Probe"}`)
	p.edge("osc", "gain", `, "delay_frames": 192, "synchrony_gates": [0, 3]`)
	p.edge("clock", "dry", `, "synchrony_gates": [0]`)
	p.edge("gain", "sink", "")
	p.edge("dry", "monitor", `, "synchrony_gates": [7]`)
	p.rest = `, "gates": [{"id": 0, "kind": "barrier"}, {"id": 3, "kind": "barrier"}, {"id": 7, "kind": "tempo", "period_frames": 128}]`
	return p
}()

// integrationLog lists the firings of ten blocks: no frames reach a sink in the
// first three, and the monitor takes every other block.
const integrationLog = `0: osc 64, clock 64
1: osc 64, clock 64
2: osc 64, clock 64
3: osc 64, clock 64, gain 64, dry 64, sink 64
4: osc 64, clock 64, gain 64, dry 64, sink 64, monitor 64
5: osc 64, clock 64, gain 64, dry 64, sink 64
6: osc 64, clock 64, gain 64, dry 64, sink 64, monitor 64
7: osc 64, clock 64, gain 64, dry 64, sink 64
8: osc 64, clock 64, gain 64, dry 64, sink 64, monitor 64
9: osc 64, clock 64, gain 64, dry 64, sink 64
`
