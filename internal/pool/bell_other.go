//go:build !linux

package pool

import "sync/atomic"

// A bell is a channel that holds one ring: one for each sleep.
type bell struct{ rings chan struct{} }

func (b *bell) make() { b.rings = make(chan struct{}, 1) }

func (b *bell) wait(*atomic.Uint32) { <-b.rings }

func (b *bell) ring(*atomic.Uint32) { b.rings <- struct{}{} }
