package atenia

import (
	"errors"
	"io"
	"strings"

	"atenia/tier/replay"
)

// Replay makes every decision of a log again, from its recorded inputs and with
// the functions that made it, and reports the records that do not come out the
// same, byte for byte. With a policy, a name of [ReplayPolicies] or assignments
// such as "budget.ram=8000000000", it reports what would have been decided
// differently. A log that is damaged is an error.
func Replay(log io.Reader, policy string) (*ReplayReport, error) {
	if policy == "" {
		return replay.Check(log)
	}
	r, err := replay.WhatIf(log, policy)
	if errors.Is(err, replay.ErrPolicy) {
		names := []string{}
		for _, p := range ReplayPolicies() {
			names = append(names, p[0])
		}
		err = &ConfigError{"policy", policy, "one of " + strings.Join(names, ", ") + ", or COMPONENT.INPUT=VALUE with a value that the input can have"}
	}
	return r, err
}

// ReplayPolicies lists the policies that [Replay] knows by name, each with what
// it changes.
func ReplayPolicies() [][2]string { return replay.Policies() }

// A ReplayReport is what came out of a log.
type ReplayReport = replay.Report
