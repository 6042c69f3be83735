//go:build !linux

package pool

import "time"

// On other systems threads are neither observed nor moved.
type (
	thread   struct{}
	affinity struct{}
)

func (*thread) setCurrent() {}

func (*affinity) look(int)                            {}
func (*affinity) clock(*thread) (time.Duration, bool) { return 0, false }
func (*affinity) pin(*thread) bool                    { return false }
func (*affinity) pull(*thread) bool                   { return false }
func (*affinity) avoid(*thread)                       {}
func (*affinity) update(*thread)                      {}
