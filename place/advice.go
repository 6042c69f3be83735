package place

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/spelling"
	"atenia/tensor"
)

// Sparing is what of a memory is used for a budget that leaves some to others.
func Sparing(room int64) int64 { return room - room/16 }

// help sets what would help most.
func (r *LastRun) help(command, format string, args ...any) {
	r.Advice = RunAdvice{fmt.Sprintf(format, args...), command}
}

// advise chooses the one thing that would help most against what bounds a step.
func (r *LastRun) advise() {
	need, room := spelling.Size(r.Need), spelling.Size(r.Room)
	switch r.Bound {
	case "disk":
		r.lessDisk()
	case "paging", "cold cache":
		switch {
		case r.Need > r.Room:
			r.lessMemory()
		case r.Bound == "cold cache":
			r.help(r.command(), "run it again: what was read stays in memory, as the process needs %s and may have %s", need, room)
		case r.Form == "mapped" && !r.placed() && len(r.Pressure) == 0: // weights that are held cannot leave memory
			r.help(r.command(RunFlag{Name: "no-mmap", Switch: true}), "hold the weights in memory instead of mapping them: the process needs %s and may have %s", need, room)
		default:
			r.help("", "end programs that use memory: the process needs %s, might have %s, and had to give some back", need, room)
		}
	case "neighbours":
		if n := r.quicker(); n > 0 {
			r.help(r.command(RunFlag{Name: "threads", Value: strconv.Itoa(n)}), "end programs that use the processors, or compute with %d of %d threads, which were faster", n, r.Threads)
			return
		}
		r.help("", "end programs that use the processors, or allow more of them")
	case "drafting":
		r.lessDrafting()
	case "packing":
		r.help("", "nothing: what is packed stays packed, and later %ss take less", r.unit())
	default:
		r.quickerSteps()
	}
}

// placed reports whether the run had a budget or a placement, beside which --no-mmap is no flag.
func (r *LastRun) placed() bool {
	_, budget := r.flag("budget")
	_, plan := r.flag("plan")
	_, pin := r.flag("pin")
	return budget || plan || pin
}

// given returns the RAM of the run's budget, a large number if it had none.
func (r *LastRun) given() int64 {
	budget, _ := r.flag("budget")
	var b Budget
	for part := range strings.SplitSeq(budget, ",") {
		if tier, size, ok := strings.Cut(part, "="); ok && tier == "ram" && size != "auto" {
			_ = b.Set(tier, size) // which the run took
		}
	}
	if b.RAM == 0 {
		return math.MaxInt64
	}
	return b.RAM
}

// knob returns what was learned of a setting for a class of work, "" = the setting has one;
// nil = nothing.
func (r *LastRun) knob(class, name string) *LearnedKnob {
	if r.Learned == nil {
		return nil
	}
	for i := range r.Learned.Knobs {
		if k := &r.Learned.Knobs[i]; k.Knob == name && (class == "" || k.Class == class) {
			return k
		}
	}
	return nil
}

// seconds returns how long a token was measured to take with an option; 0 = it was not tried.
func (k *LearnedKnob) seconds(option string) float64 {
	if k != nil {
		for _, o := range k.Options {
			if o.Option == option {
				return o.Seconds
			}
		}
	}
	return 0
}

// quicker returns the number of threads that was measured to be faster than the run's for
// weights that lay as they do; 0 = none.
func (r *LastRun) quicker() int {
	k := r.knob("decode "+r.Form, "threads")
	if k == nil {
		return 0
	}
	n, err := strconv.Atoi(k.Option)
	if now, then := k.seconds(strconv.Itoa(r.Threads)), k.seconds(k.Option); err == nil && then > 0 && then < now {
		return n
	}
	return 0
}

// fastest reports whether the run's number of threads was measured to be the fastest.
func (r *LastRun) fastest() bool {
	k := r.knob("decode "+r.Form, "threads")
	now := k.seconds(strconv.Itoa(r.Threads))
	return now > 0 && !slices.ContainsFunc(k.Options, func(o LearnedOption) bool { return o.Seconds < now })
}

const (
	lessRead = 0.9  // of what is read now: from here on less is worth advising
	enough   = 0.75 // of what could be spared: what costs less is advised before what spares more
)

// lessDisk advises to read less, if anything lets it.
func (r *LastRun) lessDisk() {
	_, marked := r.flag("offload")
	switch {
	case marked && r.Need <= min(r.Room, r.given()):
		r.help(r.command(RunFlag{Name: "offload"}), "leave --offload out: weights left memory at its mark, and the process needs %s, for which there is room", spelling.Size(r.Need))
	case r.Form != "streamed" && r.placed() && r.Need <= r.Room: // but it was, for most of the time, for its budget
		r.help(r.command(r.within(strconv.FormatInt(r.Need, 10))), "a larger budget: weights were streamed while it was short, and the process needs %s", spelling.Size(r.Need))
	case r.Form != "streamed":
		r.help("", "end programs that use memory: weights are streamed only while it is short, and the process needs %s and may have %s", spelling.Size(r.Need), spelling.Size(r.Room))
	case r.mixture() && r.Steady < r.ReadBytes/2:
		r.help("", "nothing: experts were read when tokens chose them first, and most stay in memory, so that later %ss read less", r.unit())
	case !r.fewer():
		r.help("", "nothing that is known but more memory: what a %s reads from the disk has no room", r.unit())
	}
}

// fewer advises what lets fewer bytes be read.
func (r *LastRun) fewer() bool {
	now, later := r.ReadBytes, ""
	if r.Steady > 0 && r.Steady < lessRead*now { // what is read once is not spared
		if now = r.Steady; r.mixture() {
			later = ", once experts were read that tokens choose first"
		}
	}
	fits := func(l *RunLess) bool { return l.RAM <= r.Room && float64(l.Read) <= lessRead*now }
	most := 0.0
	for i := range r.Fewer {
		if l := &r.Fewer[i]; fits(l) {
			most = max(most, now-float64(l.Read))
		}
	}
	k := slices.IndexFunc(r.Fewer, func(l RunLess) bool { return fits(&l) && now-float64(l.Read) >= enough*most })
	if k < 0 {
		return false
	}
	l := &r.Fewer[k]
	command := ""
	switch {
	case l.Type != "":
		command = r.quantize(l.Type)
	case l.RAM > 0:
		command = r.command(r.within(strconv.FormatInt(l.RAM, 10)))
	default:
		var same []RunFlag
		for _, f := range r.Flags {
			if f.Name == "budget" || f.Name == "learning" {
				same = append(same, f)
			}
		}
		command = runCommand(r.Model, l.Flags, same)
	}
	r.help(command, "%s: %s are read for each %s, in place of %s%s", l.What, spelling.Size(l.Read), r.unit(), spelling.Size(int64(now)), later)
	return true
}

// mixture reports whether steps choose among weights.
func (r *LastRun) mixture() bool { return r.AnyBytes > r.WeightBytes }

// quantize returns the call that makes weights of a smaller type.
func (r *LastRun) quantize(to string) string {
	s := fmt.Sprintf("atenia quantize %s smaller.gguf --type %s%s", spelling.Shell(r.Model), to, r.Files)
	if dir, ok := r.flag("lora"); ok { // which no run of a quantized file takes
		s += " " + RunFlag{Name: "lora", Value: dir}.String()
	}
	return s
}

// lessMemory advises a model that is mapped and does not fit: to stream it, if it was not
// tried, or what doctor tries.
func (r *LastRun) lessMemory() {
	_, noStream := r.flag("no-stream")
	_, noMap := r.flag("no-mmap")
	budget, given := r.flag("budget")
	given = given && WithRAM(budget, "auto") != budget
	need, room := spelling.Size(r.Need), spelling.Size(r.Room)
	switch {
	case r.Streams > 0 && r.Streams <= Sparing(r.Room) && (noStream || noMap || given || r.Form != "mapped"):
		r.help(r.command(r.within("auto")), "stream what does not fit instead of mapping it: the process needs %s, %s to be streamed, and may have %s", need, spelling.Size(r.Streams), room)
	case r.Lesser != nil && r.Lesser.RAM <= Sparing(r.Room):
		r.help(runCommand(r.Model, r.Lesser.Flags, []RunFlag{r.within("auto")}), "%s, with which it is streamed in %s: the process needs %s and may have %s", r.Lesser.What, spelling.Size(r.Lesser.RAM), need, room)
	case r.Streams > 0:
		r.help(r.doctor(), "more memory, unless doctor finds less: the process needs %s, %s to be streamed, and may have %s", need, spelling.Size(r.Streams), room)
	default:
		r.help(r.doctor(), "more memory: the process needs %s and may have %s, and its weights cannot be streamed", need, room)
	}
}

// asked are the flags of a run that doctor has, too, beside those of its files.
var asked = []string{"ctx", "kv-type", "batch-tokens", "threads", "pooling"}

// doctor returns the call that tries what a run cannot change, in the memory of the run.
func (r *LastRun) doctor() string {
	s := "atenia doctor " + spelling.Shell(r.Model) + r.Files
	budget, _ := r.flag("budget")
	for part := range strings.SplitSeq(budget, ",") {
		if ram, ok := strings.CutPrefix(part, "ram="); ok && ram != "auto" {
			s += " --ram " + ram
		}
	}
	for _, f := range r.Flags {
		if slices.Contains(asked, f.Name) {
			s += " " + f.String()
		}
	}
	return s
}

// lessDrafting advises to draft nothing where a step without drafts would be faster for each
// token.
func (r *LastRun) lessDrafting() {
	each, alone := r.eachToken(), r.alone()
	if alone < each {
		r.help(r.command(RunFlag{Name: "speculate", Value: "off"}), "draft nothing: a token takes %s, and a step without drafting %s at most", took(each), took(alone))
		return
	}
	r.help("", "nothing: a token takes %s, less than a step without drafting", took(each))
}

// eachToken returns the seconds of a token, of which a step may have several.
func (r *LastRun) eachToken() float64 {
	return r.step() / max(1, float64(r.Decode.Tokens)/float64(max(1, r.Decode.Steps)))
}

// alone returns the seconds of a step without drafting.
func (r *LastRun) alone() float64 { return r.step() - r.drafting() }

// quickerSteps advises what lets computing be faster: threads, packing, smaller keys and
// values, smaller weights.
func (r *LastRun) quickerSteps() {
	smaller, _ := r.smallerType()
	computes := r.Decode.Steps > 0 && r.Waiting <= much*r.step()
	switch {
	case r.drafting() > much*r.step() && r.alone() < r.eachToken():
		r.lessDrafting()
	case len(r.Fewer) > 0 && r.Fewer[0].RAM == 0 && r.Fewer[0].Type == "" && r.Waiting > little*r.step() && r.fewer(): // without a flag
	case computes && r.Threads < r.Cores && !r.fastest() && r.FormMostly() != "streamed": // where threads that read compute less
		r.help(r.command(RunFlag{Name: "threads", Value: strconv.Itoa(r.Cores)}), "compute with %s in place of %d", spelling.Count(r.Cores, "thread"), r.Threads)
	case r.full && r.KVBytes <= r.WeightBytes && smaller != "": // which reads less, where packed weights are as many bytes
		r.smaller()
	case r.Decode.Steps > 0 && r.Pack > 0 && r.slowerPacked():
		r.help("", "nothing: weights that are packed were measured to be no faster")
	case r.Decode.Steps > 0 && r.Pack > 0:
		r.pack()
	case r.Decode.Steps > 0 && r.spared() >= muchOfKV:
		all := r.WeightBytes + r.KVBytes
		r.help(r.command(RunFlag{Name: "kv-type", Value: r.KVType}), "keys and values in %s are %.1f times smaller, and %.0f %% of what a %s reads is keys and values", r.KVType, r.KVTimes, 100*r.KVBytes/all, r.unit())
	case r.Bound == "memory":
		r.smaller()
	case r.Bound == "arithmetic":
		r.help("", "nothing: %s compute as fast as this machine does", spelling.Count(r.Threads, "thread"))
	default:
		r.help("", "nothing: no resource is known to bound a %s", r.unit())
	}
}

// muchOfKV is the part of what a step reads that smaller keys and values must spare.
const muchOfKV = 0.15

// spared returns the part of what a step reads that it would not, of smaller keys and values.
func (r *LastRun) spared() float64 {
	if r.KVType == "" {
		return 0
	}
	return r.KVBytes * (1 - 1/max(1, r.KVTimes)) / max(1, r.WeightBytes+r.KVBytes)
}

// slowerPacked reports whether weights as the file has them were measured to be as fast, by
// runs of both kinds: one alone tells as much of the machine as of packing.
func (r *LastRun) slowerPacked() bool {
	k := r.knob("", "weights")
	packed, other := k.seconds("packed"), k.seconds("mapped")
	return packed > 0 && 0 < other && other <= packed
}

// pack advises to pack the weights, with the memory that it needs.
func (r *LastRun) pack() {
	what := fmt.Sprintf("pack the weights, for which products are faster: %s more", spelling.Size(r.Pack))
	switch {
	case r.PackHere:
		r.help(r.command(RunFlag{Name: "pack"}), "pack the weights where they are, for which products are faster")
	case r.PackAuto:
		r.help(r.command(RunFlag{Name: "pack"}), "%s, for which there is memory", what)
	case r.PackNeed > r.Room:
		r.help("", "%s, with which the process needs %s, and may have %s", what, spelling.Size(r.PackNeed), spelling.Size(r.Room))
	case r.placed():
		r.help(r.command(r.within(strconv.FormatInt(r.PackNeed, 10)), RunFlag{Name: "pack"}), "%s, in a budget of %s", what, spelling.Size(r.PackNeed))
	default:
		r.help(r.command(RunFlag{Name: "pack", Value: "memory"}), "%s, with which the process needs %s and may have %s", what, spelling.Size(r.PackNeed), spelling.Size(r.Room))
	}
}

// smallerType returns the next smaller type of weights with the bits of one, "" = there is
// none.
func (r *LastRun) smallerType() (string, float64) {
	switch r.WeightType {
	case tensor.F32.String(), tensor.F16.String(), tensor.BF16.String():
		return "q8_0", 8.5
	case tensor.Q8_0.String():
		return "q4_k_m", 4.85
	}
	return "", 0
}

// smaller advises a smaller type of weights, if there is one, where memory bounds.
func (r *LastRun) smaller() {
	to, bits := r.smallerType()
	switch {
	case to != "":
		r.help(r.quantize(to), "weights of type %s are %.1f times smaller than %s, and a %s is about as much faster", to, r.WeightBits/bits, r.WeightType, r.unit())
	case !r.fewer():
		r.help("", "nothing but smaller weights, which answer worse: they are %s already, and a %s takes what reading them takes", r.WeightType, r.unit())
	}
}
