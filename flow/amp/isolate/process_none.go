//go:build !linux || !(amd64 || arm64) || static

package isolate

import (
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Process runs one library in a child. This build has none.
type Process struct{}

// Start returns [amp.ErrUnsupported].
func Start(string, Config) (*Process, error) { return nil, amp.ErrUnsupported }

// Serve returns [amp.ErrUnsupported].
func Serve() error { return amp.ErrUnsupported }

// New32 is never reached.
func (p *Process) New32(node.Config) (node.Instance[float32], error) { return nil, amp.ErrUnsupported }

// New64 is never reached.
func (p *Process) New64(node.Config) (node.Instance[float64], error) { return nil, amp.ErrUnsupported }

// Status is the condition of an isolated library.
type Status struct {
	Crashes                       int
	Timeouts                      int64
	Suspended, Quarantined, Ready bool
}

// Status returns the zero Status.
func (p *Process) Status() Status { return Status{} }

// Resume returns [amp.ErrUnsupported].
func (p *Process) Resume() error { return amp.ErrUnsupported }

// Close does nothing.
func (p *Process) Close() error { return nil }

// A Batch is calls made by one request.
type Batch[F node.Float] struct{}

// NewBatch returns false.
func NewBatch[F node.Float]([]node.Instance[F], []*node.Call[F]) (*Batch[F], bool) { return nil, false }

// Forward is never reached.
func (*Batch[F]) Forward([]graph.Code) {}
