package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
)

// BudgetSyntax describes the input of [ParseBudget].
const BudgetSyntax = "tiers and sizes, such as ram=2GiB,vram=0"

// ParseBudget reads "ram=2GiB,vram=0,kv=256MiB,act=64MiB,runtime=80MiB".
func ParseBudget(s string) (b place.Budget, err error) {
	var seen []string
	for item := range strings.SplitSeq(s, ",") {
		name, size, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return b, fmt.Errorf("%q has no \"=\"", item)
		}
		if slices.Contains(seen, name) {
			return b, fmt.Errorf("%s is there twice", name)
		}
		if err := SetBudget(&b, name, size); err != nil {
			return b, err
		}
		seen = append(seen, name)
	}
	if b == (place.Budget{}) {
		return b, errors.New("nothing is bounded")
	}
	return b, nil
}

// SetBudget sets one of the sizes of [ParseBudget], by name: "auto" is the RAM that this
// process has and may still take, less what others should find free; of VRAM nothing, for no
// device can compute yet.
func SetBudget(b *place.Budget, name, size string) error {
	switch {
	case size == "auto" && name == "ram":
		room := ledger.Process.Room()
		if room <= 0 {
			return errors.New("auto: how much memory is available is not known, or there is none to spare")
		}
		b.RAM, b.Auto = room, true
		return nil
	case size == "auto" && name == "vram":
		size = "0"
	}
	return b.Set(name, size)
}

// Faults returns an error for each rule that cannot be followed.
func Faults(r *place.Rules) []error {
	var errs []error
	if _, err := place.ParseMaxTier(r.MaxTier); err != nil {
		errs = append(errs, err)
	}
	for _, s := range r.Pins {
		if _, err := place.ParsePin(s); err != nil {
			errs = append(errs, err)
		}
	}
	if s := r.Offload.Faults(); s != "" {
		errs = append(errs, errors.New("offload: "+s))
	}
	if r.Batch < 0 || r.Batch > 1<<16 {
		errs = append(errs, fmt.Errorf("%d sequences, want 1 to 65536", r.Batch))
	}
	return errs
}
