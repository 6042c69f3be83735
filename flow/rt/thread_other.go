//go:build !linux

package rt

import (
	"time"

	"atenia/flow/internal/watch"
)

// prepare asks nothing of the system here: the loop runs on a goroutine.
func (l *Loop) prepare() []string {
	return []string{"this system has no real-time thread here: the loop runs on a goroutine, which waits for Go's scheduler"}
}

func sleepUntil(t int64) { time.Sleep(time.Duration(t - watch.Nanotime())) }
