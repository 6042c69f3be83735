//go:build !linux

package pool

import "time"

// Elsewhere threads are neither watched nor moved.
type (
	thread  struct{}
	seating struct{}
)

func (*thread) sit() {}

func (*seating) look(int)                            {}
func (*seating) clock(*thread) (time.Duration, bool) { return 0, false }
func (*seating) fetch(*thread) bool                  { return false }
func (*seating) bring(*thread) bool                  { return false }
func (*seating) shoo(*thread)                        {}
func (*seating) reseat(*thread)                      {}
