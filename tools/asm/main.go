// Command asm writes the amd64 assembly of packages kernel, dense and dsp. It
// belongs to the module of the tools, so that the product does not depend on
// the assembler generator.
//
//	go generate atenia/internal/kernel
//
// Every function here computes, for whole vectors, the portable function of the
// same name, in the same order, so that the bits agree. Functions for AVX2 use
// 16 registers of 8 lanes, two for each 16 lanes of the portable code; those
// for AVX-512 use 32 of 16.
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
)

// families are the functions of one output file each.
var families = map[string]func(isa){
	"float": func(i isa) {
		for _, d := range []string{"F32", "F16", "BF16"} {
			for _, tiles := range floatTiles(i) {
				floatDots(i, d, tiles, mostRows(i, tiles))
			}
		}
		if i == avx2 {
			packFloats(2)
			packFloats(4)
		} else {
			pairDots(1)
			pairDots(2)
		}
	},
	"int": func(i isa) {
		for _, f := range formats {
			matVec(i, f)
		}
		if i == avx2 {
			quantize()
			unpackers()
		}
	},
	"packed": func(i isa) {
		for _, f := range packedFormats {
			for _, n := range tileRows(i, f) {
				tileProduct(i, f, n)
			}
		}
		if i == avx512 {
			for _, f := range panelFormats {
				for _, n := range panelRows {
					tileProduct(i, f, n)
				}
			}
			for _, f := range packedFormats[1:] {
				tileExpand(f)
			}
		}
	},
	"attention": func(i isa) {
		for _, d := range cacheTypes {
			scores(i, d)
		}
		weightedRows(i)
	},
	"dense":    denseFunctions,
	"distance": distanceFunctions,
	"fit":      fitFunctions,
	"dsp":      dspFunctions,
	"vector": func(i isa) {
		activations(i)
		maximum(i)
		if i == avx2 {
			elementwise()
			storeBF16()
			norms()
			roof()
		}
	},
}

func main() {
	family := flag.String("family", "", "which functions: float, int, packed, attention, vector, dense, distance, fit or dsp")
	choice := flag.String("dispatch", "", "the Go file to write that chooses assembly by type")
	flag.Parse()
	if *choice != "" {
		dispatch(*choice)
		return
	}
	emit := families[*family]
	if emit == nil {
		log.Fatalf("family %q: want float, int, packed, attention, vector, dense, distance, fit or dsp", *family)
	}
	ConstraintExpr("!noasm")
	for _, i := range []isa{avx2, avx512} {
		emit(i)
	}
	Generate()
}
