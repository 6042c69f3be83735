//go:build !linux

package live

import (
	"time"

	"atenia/internal/machine/cpu"
)

// prepare requests nothing on this system: the loop runs on a goroutine.
func (l *Loop) prepare() []string {
	return []string{"no real-time thread on this system: the loop runs on a goroutine, subject to Go's scheduler"}
}

func sleepUntil(t int64) { time.Sleep(time.Duration(t - cpu.Nanotime())) }
