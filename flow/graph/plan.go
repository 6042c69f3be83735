package graph

// A Plan is a graph as written: checked by [Parse], not yet linked.
//
// A host may build or edit a plan in memory; [Link] checks all that Parse
// leaves open, and [Plan.Encode] and [Plan.String] write it.
type Plan struct {
	Root             string // JSON path of the graph: $ or $.graph
	Version          int    // descriptor_version as written, 0 when absent
	Nodes            []Node
	Edges            []Edge
	Gates            []Gate
	RequiredFeatures []string
	IPLS             *IPLS   // nil: stages are derived
	HeatBudget       float64 // joules per second above which thermal gates close; 0: none
	Warnings         []string
	Extra            []Extra // unknown keys of the graph
	Outer            []Extra // unknown keys next to "graph"
}

// An Extra is a key that this version does not know, with its value's text. It
// is preserved for [Plan.Encode].
type Extra struct {
	Key  string
	JSON []byte
}

// A Node is one process of a plan.
type Node struct {
	Name, Type      string
	OversampleRatio int // a power of two
	DeclaredDelay   int // frames
	SupportsV2      bool
	PrefillFrames   int    // frames of a warm start
	Executor        string // "" when absent
	PDC             string // delay compensation: "", "trim" or "pad"
	Params          []Param
	Path            string // JSON path
	Extra           []Extra
}

// Param returns the node's parameter or setting of that name as given in the
// plan, or nil.
func (n *Node) Param(name string) *Param {
	for i := range n.Params {
		if n.Params[i].Name == name {
			return &n.Params[i]
		}
	}
	return nil
}

// A Param is one value among a node's params. Exactly one of Value, Text and
// Flag is set.
type Param struct {
	Name    string
	Value   *Tensor // a number is a tensor of shape 1, 1, 1
	Integer bool    // Value was written as a single number without fraction or exponent
	Text    *string
	Flag    *bool
	Extra   []Extra // unknown keys of a tensor
}

// A Tensor is a value [B, C, F], row-major: element (b, c, f) is
// Data[(b*C+c)*F+f].
type Tensor struct {
	B, C, F int
	Data    []float64
}

// An Edge joins an output to a signal input or, as a modulation, to a
// parameter. Frame counts are at the edge's own rate.
type Edge struct {
	Source, Target string // node or node.port
	DelayFrames    int
	Gates          []int
	DelayKind      string // "", "hold" or "prefill"
	CapacityFrames int    // 0 when absent
	Mode           string // of a modulation: "", "add" or "mul"
	Scale          float64
	Channel        int // source channel of a modulation, -1 when absent
	Path           string
	Extra          []Extra
}

// A Gate holds back the readers of the edges that name it.
type Gate struct {
	ID           int
	Kind         GateKind
	PeriodFrames int // 0 when absent
	Extra        []Extra
}

// A GateKind says when a gate opens for a block. Barriers, tempo and modulation
// gates follow from counts alone; the others depend on external events, which
// belong to the session's input.
type GateKind int

// The kinds of gates, numbered as in the ABI.
const (
	Barrier    GateKind = iota // every edge with the gate's id holds a block
	Tempo                      // the block contains a multiple of the period
	Modulation                 // the control frame of this block has arrived
	Transport                  // the transport is playing
	Thermal                    // the heat rate is within the budget
	Host                       // the host opened it for this block
	Device                     // an accelerator or a remote stage has signalled
)

var gateKinds = []string{"barrier", "tempo", "modulation", "transport", "thermal", "host", "device"}

// String returns the kind's name as used in plans.
func (k GateKind) String() string { return gateKinds[k] }

// An IPLS is a schedule that the plan supplies: nodes by stage and cohort.
type IPLS struct {
	Stages []Stage
	Extra  []Extra
}

// A Stage holds the cohorts that run in it.
type Stage struct {
	Cohorts []Cohort
	Extra   []Extra
}

// A Cohort lists nodes of one type and one oversampling ratio.
type Cohort struct {
	Type            string
	OversampleRatio int
	Nodes           []string
	Path            string
	Extra           []Extra
}
