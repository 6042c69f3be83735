//go:build !linux

package watch

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Run is for Linux alone.
func Run(_, _ []string) (int, error) { return 0, errors.ErrUnsupported }

// Join does nothing.
func Join() {}

// Joined reports false.
func Joined() bool { return false }

// Done does nothing.
func Done() {}

// Notify is signal.Notify for os.Interrupt and SIGTERM.
func Notify(to chan<- os.Signal) { signal.Notify(to, os.Interrupt, syscall.SIGTERM) }

// New makes a place without a name.
func New(string) *Place { return &Place{new(uint32)} }

// Free does nothing.
func (p *Place) Free() {}

// DefaultFaults does nothing: Go's handler ends the process.
func DefaultFaults() {}
