// Command neon writes the arm64 assembly of package kernel: NEON, and SDOT
// where a function's name ends in Dot.
//
//	go generate atenia/internal/kernel
//
// Every function computes, for whole vectors, the portable function of the same
// name, in the same order, so that the bits agree: multiply-adds are fused
// where that calls FMA and nowhere else. The 16 lanes of the portable code are
// four registers.
package main

import (
	"flag"
	"log"
	"os"
	"strings"
)

// families are the functions of one output file each.
var families = map[string]func(){
	"vector": func() {
		quantize()
		elementwise()
		activations()
		norms()
		rows()
		roof()
		irregular()
	},
	"packed": packedProducts,
	"chain":  chains,
}

func main() {
	family := flag.String("family", "", "which functions: vector, packed or chain")
	asm := flag.String("out", "", "assembly to write")
	stubs := flag.String("stubs", "", "declarations to write")
	flag.Parse()
	emit := families[*family]
	if emit == nil {
		log.Fatalf("unknown family %q", *family)
	}
	emit()
	write(strings.Join(os.Args[1:], " "), *asm, *stubs)
}
