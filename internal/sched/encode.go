package sched

import "atenia/internal/exec"

// Do runs f with the executor between two steps, and waits for it. A model that
// generates text goes on afterwards. f must not keep the executor: another one may
// take its place.
func (s *Scheduler) Do(f func(x *exec.Executor) error) error {
	err := ErrClosed
	s.call(func() {
		if err = s.broken; err == nil {
			err = f(s.x)
		}
	})
	return err
}
