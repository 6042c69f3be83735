package quila

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"atenia/quila/config"
	"atenia/quila/internal/device"
)

// A Plan is what a network needs before any of it exists: every figure of its
// budget with a reason, and with devices also what they have room for and
// whether the calls to their driver keep the rules.
type Plan struct {
	Config     config.Config      `json:"-"`
	Entries    []config.Entry     `json:"config,omitempty"`
	Budget     *config.Budget     `json:"budget"`
	Deployment *config.Deployment `json:"deployment,omitempty"`
	Schedule   *Schedule          `json:"schedule,omitempty"`
}

// A Schedule sums up the driver calls of a network that is placed on devices and
// runs a tick, made by a recorder, which needs no device.
type Schedule struct {
	Devices  int      `json:"devices"`
	Managed  int      `json:"managed_allocations"`
	Bytes    int64    `json:"managed_bytes"`
	Advice   int      `json:"advice"`
	Launches int      `json:"launches"`
	Faults   []string `json:"faults,omitempty"` // rules that the calls break
}

// NewPlan computes a plan. A count of 0 devices leaves them out.
func NewPlan(c config.Config, d config.Devices) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p := &Plan{Config: c, Entries: c.Entries(), Budget: c.Budget()}
	if d.Count == 0 {
		return p, nil
	}
	deployment, err := c.Deploy(d)
	if err != nil {
		return nil, err
	}
	p.Deployment = &deployment
	if p.Schedule, err = schedule(&p.Config, d.Count); err != nil {
		return nil, err
	}
	return p, nil
}

// schedule records what a driver would be asked.
func schedule(c *config.Config, devices int) (*Schedule, error) {
	r := device.NewRecorder(devices)
	l, err := device.NewLayout(c, r)
	if err != nil {
		return nil, err
	}
	if err := l.Tick(nil); err != nil {
		return nil, err
	}
	s := device.Check(r.Trace)
	return &Schedule{devices, s.Managed, s.Bytes, s.Advice, s.Launches, s.Faults}, nil
}

// Write prints the plan as text.
func (p *Plan) Write(w io.Writer) error {
	group := ""
	for _, l := range p.Budget.Lines {
		if l.Group != group {
			group = l.Group
			fmt.Fprintln(w, strings.ToUpper(group))
		}
		if _, err := fmt.Fprintf(w, "  %-40s %18s %-8s %s\n", l.Name, figure(l.Value), l.Unit, l.Why); err != nil {
			return err
		}
	}
	if p.Deployment == nil {
		return nil
	}
	fmt.Fprintf(w, "\nDEVICES\n")
	for _, u := range p.Deployment.Uses {
		verdict := "fits"
		if !u.Fits {
			verdict = "does not fit"
		}
		fmt.Fprintf(w, "%s: %s, needs %d (%s bind): %s\n", u.Name, verdict, u.Needs, u.Binding, u.Why)
	}
	for _, warning := range p.Deployment.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
	s := p.Schedule
	fmt.Fprintf(w, "schedule of a tick on %d recorded devices: %d managed allocations of %s bytes, %d hints, %d launches, %d rules broken\n",
		s.Devices, s.Managed, figure(float64(s.Bytes)), s.Advice, s.Launches, len(s.Faults))
	for _, f := range s.Faults {
		fmt.Fprintf(w, "  %s\n", f)
	}
	return nil
}

// figure prints whole numbers with every digit, in groups of three, and others
// with three significant digits.
func figure(x float64) string {
	if x != float64(int64(x)) || x > 1e15 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	s := strconv.FormatInt(int64(x), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
