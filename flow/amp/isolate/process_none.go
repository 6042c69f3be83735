//go:build !linux || !(amd64 || arm64) || static

package isolate

import (
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Process runs one library in a child. This build has none.
type Process struct{}

// Start says that this build cannot.
func Start(string, Config) (*Process, error) { return nil, amp.ErrUnsupported }

// Serve says that this build cannot.
func Serve() error { return amp.ErrUnsupported }

// New32 is never reached.
func (p *Process) New32(node.Config) (node.Instance[float32], error) { return nil, amp.ErrUnsupported }

// New64 is never reached.
func (p *Process) New64(node.Config) (node.Instance[float64], error) { return nil, amp.ErrUnsupported }

// Status is how a library in a process of its own does.
type Status struct {
	Crashes                       int
	Timeouts                      int64
	Suspended, Quarantined, Ready bool
}

// Status returns nothing.
func (p *Process) Status() Status { return Status{} }

// Resume says that this build cannot.
func (p *Process) Resume() error { return amp.ErrUnsupported }

// Close does nothing.
func (p *Process) Close() error { return nil }

// A Batch is calls made by one request.
type Batch[F node.Float] struct{}

// NewBatch says that this build cannot.
func NewBatch[F node.Float]([]node.Instance[F], []*node.Call[F]) (*Batch[F], bool) { return nil, false }

// Forward is never reached.
func (*Batch[F]) Forward([]graph.Code) {}
