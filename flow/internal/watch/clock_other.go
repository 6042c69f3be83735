//go:build !linux

package watch

import "time"

var epoch = time.Now()

// nanotime is a monotonic clock.
func nanotime() int64 { return int64(time.Since(epoch)) }
