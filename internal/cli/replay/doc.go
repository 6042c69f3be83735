// Package replay is the command that makes recorded decisions again.
//
//	atenia replay LOG               byte for byte; exit 3 if anything differs
//	atenia replay LOG --policy P    what another policy would have decided
package replay
