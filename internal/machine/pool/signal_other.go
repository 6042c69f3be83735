//go:build !linux

package pool

import "sync/atomic"

// A signal is a channel with room for one notification per sleep.
type signal struct{ sent chan struct{} }

func (s *signal) make() { s.sent = make(chan struct{}, 1) }

func (s *signal) wait(*atomic.Uint32) { <-s.sent }

func (s *signal) notify(*atomic.Uint32) { s.sent <- struct{}{} }
