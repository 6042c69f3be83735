//go:build !linux || !(amd64 || arm64) || static

package amp

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Process runs one library in a child. This build has none.
type Process struct{}

// StartProcess returns [ErrUnsupported].
func StartProcess(string, ProcessConfig) (*Process, error) { return nil, ErrUnsupported }

// Serve returns [ErrUnsupported].
func Serve(...Format) error { return ErrUnsupported }

// New32 is never reached.
func (p *Process) New32(node.Config) (node.Instance[float32], error) { return nil, ErrUnsupported }

// New64 is never reached.
func (p *Process) New64(node.Config) (node.Instance[float64], error) { return nil, ErrUnsupported }

// ProcessStatus is the condition of an isolated library.
type ProcessStatus struct {
	Crashes, Restarts             int
	Requests, Timeouts, Lost      int64
	Suspended, Quarantined, Ready bool
	PID, Priority                 int
	Refused                       error
}

// Status returns the zero Status.
func (p *Process) Status() ProcessStatus { return ProcessStatus{} }

// Events returns none.
func (p *Process) Events() []Event { return nil }

// Resume returns [ErrUnsupported].
func (p *Process) Resume() error { return ErrUnsupported }

// Close does nothing.
func (p *Process) Close() error { return nil }

// A Batch is calls made by one request.
type Batch[F node.Float] struct{}

// NewBatch returns false.
func NewBatch[F node.Float]([]node.Instance[F], []*node.Call[F]) (*Batch[F], bool) { return nil, false }

// Forward is never reached.
func (*Batch[F]) Forward([]graph.Code) {}

// Some is never reached.
func (*Batch[F]) Some([]bool, []graph.Code) {}
