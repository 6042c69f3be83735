package config

import "fmt"

// Devices are equal accelerators.
type Devices struct {
	Count  int
	Bytes  int64 // memory of each
	NVLink bool  // they reach each other's memory directly
}

// A Use is what a network is deployed for.
type Use struct {
	Name    string `json:"use"`
	Bytes   int64  `json:"bytes"`
	Needs   int    `json:"devices"` // of that size
	Fits    bool   `json:"fits"`
	Binding string `json:"binding"` // the largest item, which decides
	Why     string `json:"why"`
}

// A Deployment says which uses devices have room for [R-22.5b].
type Deployment struct {
	Uses     []Use    `json:"uses"`
	Warnings []string `json:"warnings,omitempty"`
}

const (
	// reserve is the part of every device that stays free: a tenth.
	reserve = 10
	// window is how many tokens of activations training keeps.
	window = 48
	// activations is how many vectors of D float32 a tick of a neuron keeps.
	activations = 30
	// trainBytes are a float32 master, a gradient and two moments.
	trainBytes = 16
)

// Deploy says which uses the devices have room for. Shards are powers of two;
// the hot half of the library is on the devices where it is used.
func (c *Config) Deploy(d Devices) (Deployment, error) {
	if d.Count < 1 || d.Bytes < 1 {
		return Deployment{}, fmt.Errorf("config: %d devices of %d bytes: want at least one of each", d.Count, d.Bytes)
	}
	b := c.Budget()
	type item struct {
		name  string
		bytes int64
	}
	items := []item{{"weights", b.Weights16}, {"state of neurons", b.StateBytes}, {"ring of h_final", b.RingBytes}}
	hot := b.KFEEntries * (4*int64(c.D) + linkBytes + fieldBytes) / 2
	kept := window * int64(c.K) * b.Firing * int64(c.D) * activations * 4
	var out Deployment
	use := func(name string, more ...item) {
		items = append(items, more...)
		u := Use{Name: name, Needs: 1}
		largest := items[0]
		for _, i := range items {
			u.Bytes += i.bytes
			if i.bytes > largest.bytes {
				largest = i
			}
		}
		room := d.Bytes - d.Bytes/reserve
		for u.Needs < 1<<30 && int64(u.Needs)*room < u.Bytes {
			u.Needs *= 2
		}
		u.Fits, u.Binding = u.Needs <= d.Count, largest.name
		u.Why = fmt.Sprintf("%d bytes over devices with room for %d each, a tenth kept free", u.Bytes, room)
		out.Uses = append(out.Uses, u)
	}
	use("inference without the library")
	use("inference with the library", item{"hot half of the library", hot})
	use("training", item{"master weights, gradients and moments", trainBytes * b.Counts.Total}, item{"activations of a window", kept})
	if d.Count > 1 && !d.NVLink {
		out.Warnings = append(out.Warnings, "the devices have no NVLink: messages that cross devices and library pages of others go through host memory; expect the link to bind")
	}
	return out, nil
}
