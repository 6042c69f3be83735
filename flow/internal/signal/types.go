package signal

import (
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// channelSettings are the settings of nodes without inputs.
var channelSettings = []node.Setting{{Name: "batches", Least: 1, Value: 1}, {Name: "channels", Least: 1, Value: 1}}

// Settings of files. Paths are relative to the plan; package flow/media
// opens the files they name.
var (
	file     = node.Setting{Name: "file", Text: true}
	bits     = node.Setting{Name: "bits", Most: 64}
	fromFile = []node.Setting{file, {Name: "offset_frames", Most: 1<<31 - 1}, {Name: "loop", Among: []string{"no", "yes"}}}
)

// fed returns the type of a source that the host feeds.
func fed(name, doc string, more ...node.Setting) node.Type {
	rates := []node.Setting{{Name: "rate_num", Least: 1, Value: 1}, {Name: "rate_den", Least: 1, Value: 1}}
	return node.Type{Name: name, Doc: doc, Outs: []string{"out"}, Settings: slices.Concat(more, channelSettings, rates), Endpoint: graph.Fed,
		Refine: refineInput, New32: newEndpoint[float32], New64: newEndpoint[float64]}
}

// taken returns the type of a sink that the host reads.
func taken(name, doc string, more ...node.Setting) node.Type {
	return node.Type{Name: name, Doc: doc, Ins: []string{"in"}, Settings: more, Endpoint: graph.Taken,
		New32: newEndpoint[float32], New64: newEndpoint[float64]}
}

// BasicTypes returns the table of the memoryless types: the endpoints where a
// graph meets its host, gains, and routing of channels.
//
//	Input  ──▶ Gain ──▶ Pan ─┐
//	Constant ─▶ Matrix ──────┴▶ Mix ──▶ Split ──▶ … ──▶ Merge ──▶ Probe
func BasicTypes() node.Table {
	return node.Table{
		fed("Input", "frames that the host feeds, at rate_num/rate_den of the base rate"),
		taken("Probe", "a sink whose input the host reads and whose gradient it supplies"),
		fed("WavSource", "reads a WAV file, with its channels and rate; see Input", fromFile...),
		taken("WavSink", "writes its input to a WAV file, 32-bit float unless bits or samples say otherwise; see Probe",
			file, bits, node.Setting{Name: "samples", Among: []string{"auto", "integer", "float"}}),
		fed("FlacSource", "reads a FLAC file, with its channels and rate; see Input", fromFile...),
		taken("FlacSink", "writes its input to a FLAC file, 24 bits unless bits says otherwise; see Probe", file, bits),
		{Name: "Constant", Doc: "y = value", Outs: []string{"out"}, Framed: []node.Default{{Name: "value"}}, Settings: channelSettings,
			Refine: refineConstant, New32: newConstant[float32], New64: newConstant[float64]},
		{Name: "Gain", Doc: "y = gain x", Ins: []string{"in"}, Outs: []string{"out"}, Framed: []node.Default{{Name: "gain", Value: 1}}, Adjoint: true, Jacobian: graph.Diagonal,
			New32: newGain[float32], New64: newGain[float64]},
		{Name: "Mix", Doc: "y = in0 + in1 + …; an input of one channel goes to every channel", Outs: []string{"out"},
			Settings: []node.Setting{{Name: "inputs", Least: 1, Value: 2}}, Adjoint: true, Jacobian: graph.Block,
			Refine: refineMix, New32: newMix[float32], New64: newMix[float64]},
		{Name: "Split", Doc: "one output per channel", Ins: []string{"in"},
			Settings: []node.Setting{{Name: "outputs", Least: 1, Value: 2}}, Adjoint: true, Jacobian: graph.Block,
			Refine: refineSplit, New32: newSplit[float32], New64: newSplit[float64]},
		{Name: "Merge", Doc: "concatenates the channels of in0, in1, …", Outs: []string{"out"},
			Settings: []node.Setting{{Name: "inputs", Least: 1, Value: 2}}, Adjoint: true, Jacobian: graph.Block,
			Refine: refineMerge, New32: newMerge[float32], New64: newMerge[float64]},
		matrix("Matrix"), matrix("Linear"),
		{Name: "Pan", Doc: "one channel to two with equal power: cos and sin of (pan+1) pi/4", Ins: []string{"in"}, Outs: []string{"out"},
			Framed: []node.Default{{Name: "pan"}}, Adjoint: true, Jacobian: graph.Block, Refine: refinePan, New32: newPan[float32], New64: newPan[float64]},
	}
}

func matrix(name string) node.Type {
	return node.Type{Name: name, Doc: "y = matrix x + bias over the channels", Ins: []string{"in"}, Outs: []string{"out"},
		Tables: []node.Default{{Name: "matrix", Value: 1}, {Name: "bias"}}, Adjoint: true, Jacobian: graph.Block,
		Refine: refineMatrix, New32: newMatrix[float32], New64: newMatrix[float64]}
}

// sourceShape sizes a node's output as its settings say.
func sourceShape(s node.Settings, spec *graph.Spec) {
	shape := graph.Shape{B: s.Int("batches"), C: s.Int("channels")}
	spec.Shapes = func([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{shape}, nil }
}
