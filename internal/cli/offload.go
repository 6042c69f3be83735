package cli

import (
	"strconv"

	"atenia/place"

	"github.com/spf13/pflag"
)

// offloading adds the flags that say when weights leave memory.
func offloading(f *pflag.FlagSet, r *place.Rules) {
	f.Var((*offloadFlag)(&r.Offload), "offload", "when weights leave memory and come back (default high=1,low=0.9,cooldown=5; also wait)")
	f.Var((*noSSD)(&r.MaxTier), "no-ssd-last-resort", "refuse a model that does not fit, instead of reading weights from the disk while it runs")
	f.Lookup("no-ssd-last-resort").NoOptDefVal = "true"
}

// An offloadFlag is the flag of a [place.Offload].
type offloadFlag place.Offload

// String implements [pflag.Value].
func (o *offloadFlag) String() string { return place.Offload(*o).String() }

// Type implements [pflag.Value].
func (*offloadFlag) Type() string { return "high=PART,..." }

// Set implements [pflag.Value].
func (o *offloadFlag) Set(s string) error {
	v, err := place.ParseOffload(s)
	*o = offloadFlag(v)
	return err
}

// A noSSD is the switch that keeps weights from being read from storage while the model runs.
type noSSD string

// String implements [pflag.Value].
func (n *noSSD) String() string { return strconv.FormatBool(*n == "ram") }

// Type implements [pflag.Value].
func (*noSSD) Type() string { return "bool" }

// Set implements [pflag.Value].
func (n *noSSD) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if *n = ""; on {
		*n = "ram"
	}
	return err
}
