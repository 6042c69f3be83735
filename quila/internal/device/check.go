package device

import (
	"fmt"
	"slices"
	"strings"
)

// A Summary counts what a trace has, and lists the rules that it breaks.
type Summary struct {
	Managed  int      `json:"managed_allocations"`
	Bytes    int64    `json:"managed_bytes"`
	Advice   int      `json:"advice"`
	Launches int      `json:"launches"`
	Faults   []string `json:"faults,omitempty"`
}

// Check reads a trace with the requirements of §22.1 and the streams of §22.3.
func Check(trace []Call) Summary {
	var s Summary
	fault := func(c Call, format string, args ...any) {
		s.Faults = append(s.Faults, fmt.Sprintf("call %d, %s: %s", c.Seq, c.Name, fmt.Sprintf(format, args...)))
	}
	tags, sizes := map[Ptr]string{}, map[Ptr]int64{}
	preferred, accessed := map[Ptr]bool{}, map[Ptr]bool{}
	for _, c := range trace {
		switch {
		case c.Name == "MallocManaged":
			s.Managed++
			s.Bytes += c.Size
			tags[c.Ptr], sizes[c.Ptr] = c.Tag, c.Size
		case c.Name == "Malloc" && slices.Contains([]string{string(State), string(Param), string(KFEHot), string(WMQHot)}, c.Tag):
			fault(c, "memory for %s is not managed", c.Tag)
		case strings.HasPrefix(c.Name, "Memcpy") && (strings.HasSuffix(c.Name, "Peer") || strings.HasSuffix(c.Name, "DtoD")):
			fault(c, "memory is copied between devices by hand")
		case c.Name == "MemAdvise":
			s.Advice++
			if c.Size != sizes[c.Ptr] {
				fault(c, "advice for %d bytes of an allocation of %d", c.Size, sizes[c.Ptr])
			}
			switch Advice(c.Tag) {
			case PreferredLocation:
				preferred[c.Ptr] = true
			case AccessedBy:
				accessed[c.Ptr] = true
			}
		case c.Name == "Launch":
			s.Launches++
			for _, r := range c.Uses {
				if tag, ok := tags[r.Ptr]; !ok {
					fault(c, "it uses memory at %#x that nobody allocated", uint64(r.Ptr))
				} else if !preferred[r.Ptr] || !accessed[r.Ptr] {
					fault(c, "it uses a page of %s before both kinds of advice", tag)
				}
			}
			if c.Stream >= firstPort && c.Device != 0 {
				fault(c, "ports run on device %d", c.Device)
			}
		}
	}
	s.Faults = append(s.Faults, waits(trace)...)
	return s
}

// waits reports sums that do not wait for every batch of their tick.
func waits(trace []Call) (faults []string) {
	busy, seen := map[Stream]bool{}, map[Event]Stream{}
	for _, c := range trace {
		s := Stream{c.Device, c.Stream}
		switch {
		case c.Name == "Launch" && c.Stream < batches:
			busy[s] = true
		case c.Name == "EventRecord":
			seen[c.Event] = s
		case c.Name == "StreamWaitEvent" && c.Stream == sumStream:
			delete(busy, seen[c.Event])
		case c.Name == "Launch" && c.Stream == sumStream:
			for b := range busy {
				if b.Device == c.Device {
					faults = append(faults, fmt.Sprintf("call %d: the sum of device %d does not wait for stream %d", c.Seq, b.Device, b.Number))
				}
			}
		}
	}
	slices.Sort(faults)
	return faults
}
