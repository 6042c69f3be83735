package engine

import (
	"math"
	"path/filepath"
	"slices"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/tensor"
)

// The assumed rates of an unmeasured machine: a slow SSD, two channels of old
// memory, two cores with narrow vectors.
const (
	assumedSSD   = 500e6 // bytes a second
	assumedRAM   = 8e9
	assumedVRAM  = 200e9
	assumedFLOPS = 40e9
	assumedBusy  = 0.5 // of rates that were not measured at once: as if one waited for the other
)

// rates are what was asked for, else what was measured just now, else earlier,
// else assumed.
func (f *footprint) rates(c *PlaceConfig, now place.Measurement) (r place.Rates) {
	asked, kept := c.Rules.Rates, place.ReadRates(c.Rules.ProfileDir, filepath.Dir(f.Path))
	var known place.MemoryRates // which is read from a file, for who has neither of the others
	if asked.RAM == 0 && now.RAM == 0 {
		known = place.RememberedMemory(c.Rules.ProfileDir, machineOf(c.Exec.Threads))
	}
	choose := func(name string, to *float64, asked, now, kept, assumed float64) {
		switch {
		case asked > 0:
			*to = asked
		case now > 0:
			*to, r.Measured = now, append(r.Measured, name)
		case kept > 0:
			*to, r.Kept = kept, append(r.Kept, name)
		default:
			*to, r.Assumed = assumed, append(r.Assumed, name)
		}
	}
	choose("ssd", &r.SSD, asked.SSD, now.SSD, kept.SSD, assumedSSD)
	choose("ram", &r.RAM, asked.RAM, now.RAM, known.RAM, assumedRAM)
	flops := assumedFLOPS
	if !slices.Contains(r.Assumed, "ram") {
		flops = max(flops, f.keepingUp(r.RAM))
	}
	choose("flops", &r.FLOPS, asked.FLOPS, 0, 0, flops)
	switch {
	case slices.Contains(r.Measured, "ram"):
		r.Products = now.Products
	case slices.Contains(r.Kept, "ram"):
		r.Products = known.Products
	}
	r.Chosen = now.Chosen
	r.SSDBusy, r.RAMBusy = asked.SSDBusy, asked.RAMBusy
	if r.SSDBusy == 0 && r.RAMBusy == 0 && now.RAM > 0 { // both are slower by as much as was measured
		r.SSDBusy, r.RAMBusy = now.SSDBusy*r.SSD/now.SSD, now.RAMBusy*r.RAM/now.RAM
	}
	if r.SSDBusy == 0 && r.RAMBusy == 0 && slices.Contains(r.Kept, "ram") {
		r.SSDBusy, r.RAMBusy = r.SSD*known.SSDShare, r.RAM*known.RAMShare
	}
	if r.SSDBusy == 0 && r.RAMBusy == 0 && len(r.Measured) > 0 { // memory was too short to measure it
		r.SSDBusy, r.RAMBusy, r.Assumed = r.SSD*assumedBusy, r.RAM*assumedBusy, append(r.Assumed, "both at once")
	}
	between := func(low, high float64) place.Range { return place.Range{Low: low, High: high} }
	if slices.Contains(r.Measured, "ssd") {
		r.SSDRange = between(now.Low.SSD, now.High.SSD)
	}
	if slices.Contains(r.Measured, "ram") {
		r.RAMRange = between(now.Low.RAM, now.High.RAM)
	}
	if now.RAMBusy > 0 && r.SSDBusy == now.SSDBusy && r.RAMBusy == now.RAMBusy { // not made of others
		r.SSDBusyRange, r.RAMBusyRange = between(now.Low.SSDBusy, now.High.SSDBusy), between(now.Low.RAMBusy, now.High.RAMBusy)
	}
	if c.Budget.VRAM > 0 {
		r.VRAM = assumedVRAM
		r.Assumed = append(r.Assumed, "vram")
	}
	return r
}

// keepingUp returns the operations a second of products with one row that read
// weights at a rate: a rate of reading is that of products, which compute as
// fast.
func (f *footprint) keepingUp(rate float64) float64 {
	bytes, operations := f.pass()
	return float64(operations) * rate / float64(max(bytes, 1))
}

// typesOf are the ways in which weights may be multiplied, for who measures them; smaller
// are other types that they may have.
func (f *footprint) typesOf(precise bool, smaller ...tensor.DType) (out []place.Product) {
	var own []tensor.DType
	for i := range f.tensors {
		if t := &f.tensors[i]; t.Multiplied() {
			own = append(own, f.headers[t.Name].DType)
		}
	}
	slices.Sort(own)
	cols := f.cols()
	for _, d := range append(slices.Compact(own), smaller...) {
		for _, packed := range []bool{false, true} {
			if p := (place.Product{Type: d, Packed: packed, Precise: precise, Cols: cols}); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// cols returns about how many values a row of weights has, the mean of what a token reads.
func (f *footprint) cols() int {
	sum, all := 0.0, 0.0
	for i := range f.tensors {
		if t := &f.tensors[i]; t.Multiplied() {
			n := float64(t.Bytes) * t.Uses
			sum, all = sum+n*float64(f.headers[t.Name].Shape.Cols()), all+n
		}
	}
	return place.ColsOf(sum / max(all, 1))
}

// exert sets how much longer than reading the products of weights take, and how fast they
// are with several rows, if that is known beside the rate of memory and was not given. A
// placement says where they lie.
func (f *footprint) exert(in *place.Input, pl *place.Placement, c *PlaceConfig) {
	spills, stays := pl.Spills(), map[string]bool{}
	for i := range pl.Tensors {
		if t := &pl.Tensors[i]; t.Tier == memory.RAM {
			stays[t.Name] = true
		}
	}
	cols := f.cols()
	known, apart, all, few, many := true, false, 0.0, 0.0, 0.0
	for i := range f.tensors {
		t := &in.Tensors[i]
		if !t.Multiplied() {
			continue
		}
		packed := in.Packed
		if spills {
			packed = stays[t.Name] && f.inPlace(t, c)
		}
		apart = apart || t.Experts > 0 && !packed
		rate, ok := in.Rates.Products[place.Product{Type: f.headers[t.Name].DType, Packed: packed, Precise: c.Exec.Precise, Cols: cols}.String()]
		if known = known && ok; !ok {
			continue
		}
		n := f.operations(t)
		t.Effort, all, few, many = rate.Effort, all+n, few+n/rate.Few, many+n/rate.Many
	}
	if r := &in.Rates; apart && (few > 0 || c.Rules.Rates.FLOPS == 0) { // small matrices, which take longer than large ones by how much is not measured
		r.Assumed = append(slices.Clone(r.Assumed), place.UnpackedExperts)
	}
	if r := &in.Rates; few > 0 && known && c.Rules.Rates.FLOPS == 0 {
		r.FLOPS, r.FewFLOPS = all/many, all/few
		r.Assumed = slices.DeleteFunc(slices.Clone(r.Assumed), func(s string) bool { return s == "flops" })
		if from := &r.Kept; !slices.Contains(r.Measured, "flops") && !slices.Contains(r.Kept, "flops") {
			if slices.Contains(r.Measured, "ram") {
				from = &r.Measured
			}
			*from = append(slices.Clone(*from), "flops")
		}
	}
}

// pass returns the bytes of weights that one token passes through the processor, and
// the operations of their products.
func (f *footprint) pass() (bytes, operations int64) {
	for i := range f.tensors {
		if t := &f.tensors[i]; t.Multiplied() {
			bytes += int64(float64(t.Bytes) * t.Uses)
		}
	}
	return bytes, 2 * f.products()
}

// Pass returns the bytes of weights that one token passes through the processor, and
// the operations of their products: a multiply-add is two.
func (p *Plan) Pass() (bytes, operations int64) { return p.footprint.pass() }

// toMeasure is memory that the measuring of rates may take for a moment.
func toMeasure() int64 { return max(1, ledger.Process.Free()/2) }

// experts describes those of a layer, which may be larger than those of others: the mean.
func (f *footprint) experts() (x place.Experts) {
	units, unit, part := int64(0), -1, 0
	for i := range f.tensors {
		t := &f.tensors[i]
		if t.Experts == 0 {
			continue
		}
		if t.Unit != unit {
			unit, part = t.Unit, 0
			units++
		}
		if part == len(x.Parts) {
			x.Parts = append(x.Parts, 0)
		}
		x.Chosen = max(x.Chosen, int(math.Round(t.Uses*float64(t.Experts))))
		x.Parts[part] += t.Bytes / int64(t.Experts)
		part++
	}
	for i := range x.Parts {
		x.Parts[i] /= units
	}
	return x
}
