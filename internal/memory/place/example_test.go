package place_test

import (
	"fmt"
	"os"

	"atenia/internal/memory/place"
)

// model returns a model of n layers, each with a unit of attention and one of
// a feed-forward network, of MiB-sized tensors.
func model(n int) []place.Tensor {
	const mib = 1 << 20
	ts := []place.Tensor{{Name: "token_embd", Bytes: 64 * mib, Class: place.Table, ByRow: true, RowBytes: 2048}}
	unit := 1
	add := func(name string, bytes int64, c place.Class) {
		ts = append(ts, place.Tensor{Name: name, Bytes: bytes, Class: c, Uses: 1, Unit: unit})
	}
	for l := range n {
		add(fmt.Sprintf("blk.%d.attn_norm", l), 8192, place.Vector)
		for _, t := range []string{"q", "k", "v", "o"} {
			add(fmt.Sprintf("blk.%d.attn_%s", l, t), 4*mib, place.Weight)
		}
		unit++
		for _, t := range []string{"gate", "up", "down"} {
			add(fmt.Sprintf("blk.%d.ffn_%s", l, t), 11*mib, place.Weight)
		}
		unit++
	}
	add("output", 64*mib, place.Weight)
	ts = append(ts,
		place.Tensor{Name: "kv.0", Bytes: 32 * mib, Class: place.KV, Uses: 0.25},
		place.Tensor{Name: "buffers", Bytes: 8 * mib, Class: place.Buffer})
	return ts
}

var rates = place.Rates{SSD: 1.6e9, RAM: 16e9, FLOPS: 100e9}

func ExamplePlace() {
	p, err := place.Place(place.Input{
		Tensors: model(16), RAM: 512 << 20, Rates: rates, FLOP: 2 * 850e6,
		Reserves: []place.Reserve{{Name: "runtime", Bytes: 64 << 20}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.WriteText(os.Stdout)
	for i := range p.Tensors {
		if t := &p.Tensors[i]; t.Name == "blk.0.ffn_up" || t.Name == "token_embd" {
			fmt.Println(p.Decision(i))
		}
	}
	// Output:
	// tier                              bytes              tensors
	// ram weight                    357564416  341 MiB     30
	// ram vector                       131072  128 KiB     16
	// ram kv                         33554432  32 MiB      1
	// ram buffer                      8388608  8 MiB       1
	// ram ring of 3 units            69230592  66.02 MiB   -
	// ram reserve runtime            67108864  64 MiB      -
	// ssd weight                    531628032  507 MiB     83
	// ssd table                      67108864  64 MiB      1
	// ram in all                    535977984  511.15 MiB  99.8 % of the budget of 512 MiB
	// decode   0.332 s (0.292–0.372) a token, 0.332 s a pass of 1, limited by ssd (ssd 0.332, ram 0.0561, compute 0.0170); 507 MiB read from the ssd
	// prefill  0.0170 s (0.0128–0.0213) a token, 8.70 s a pass of 512, limited by compute (ssd 0.333, ram 0.0562, compute 8.70); 508 MiB read from the ssd
	// rates    ssd 1.49 GiB/s, ram 14.9 GiB/s, 100 GFLOP/s
	// next     +256 MiB RAM: 0.332 s (0.292–0.372) → 0.144 s (0.126–0.161)
	// next     +504.13 MiB RAM: 0.332 s (0.292–0.372) → 0.0561 s (0.0494–0.0628), nothing is streamed
	// token_embd: ssd by rule rows: a pass reads 2 KiB of its 64 MiB, row by row; not vram: no VRAM is in the budget; not ram: 872 KiB of 512 MiB are left by what saves as much or more for each byte
	// blk.0.ffn_up: ram by rule value: 11 MiB, 1 bytes read by a pass for each byte held: held, it saves 0.00721 s of reading; not vram: no VRAM is in the budget
}
