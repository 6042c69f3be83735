package engine

import (
	"cmp"
	"fmt"
	"slices"

	"atenia/internal/spelling"
)

// closing tries the memory that there would be without other programs.
func (a *adviser) closing() error {
	if !a.auto {
		return nil
	}
	m, all := &a.machine, a.machine.alone
	used := m.Limit - m.Available - m.Own
	if more := all - a.advice.RAM; more <= 0 || used < more { // what others have is not what helps
		return nil
	}
	o, err := a.try(a.plan, a.plan.footprint, all, true)
	if err == nil {
		a.add(fmt.Sprintf("other programs closed, which have %s of %s", spelling.Size(used), spelling.Size(m.Limit)), a.command(a.plan.Config, a.advice.RAM), o)
	}
	return err
}

// written rounds a size up to one that people write, by less than a hundredth.
func written(n int64) int64 {
	step := int64(1)
	for step < 1<<20 && step*100 < n {
		step <<= 10
	}
	if step*100 > n {
		step = max(1, step>>10)
	}
	return (n + step - 1) / step * step
}

// more tries more memory, no more than there is: a little, and as much as all weights
// need.
func (a *adviser) more() error {
	now, limit, most := a.advice.RAM, a.machine.Limit, a.machine.most
	var sizes []int64
	if v, least := a.advice.Now.Verdict, a.advice.Now.RAM; v == verdictCannot || v == verdictMaps {
		sizes = append(sizes, written(least))
	}
	sizes = append(sizes, written(a.advice.Fit))
	best := a.advice.Now
	for _, ram := range slices.Compact(slices.SortedFunc(slices.Values(sizes), cmp.Compare)) {
		if ram <= now || now <= limit && ram > most { // of another machine it is not known
			continue
		}
		o, err := a.try(a.plan, a.plan.footprint, ram, false)
		if err != nil {
			return err
		}
		if o.better(best) && a.add("+"+spelling.Size(ram-now)+" of memory", a.command(a.plan.Config, ram), o) {
			best = o
		}
	}
	return nil
}
