package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chunkBlocks of 256 columns are summed at a time.
const chunkBlocks = 8

// sizes of the portable structures
const (
	wBlockBytes = 256 + 64 + 64
	wScales     = 256
	wMins       = 320
	xScales     = 256
	xStarts     = 288
	xMins       = 320
	xStarts16   = 352
	xMins16     = 416
	xBlockBytes = 512

	xCellBytes  = 64
	cellScale   = 32
	cellStart   = 36
	cellMin     = 40
	cellStart16 = 44 // and +4
	cellMin16   = 52 // and +4
)

// prefetchAhead is the prefetch distance in bytes.
const prefetchAhead = 8192

// elementBytes are the sizes of floats.
var elementBytes = map[string]int{"F32": 4, "F16": 2, "BF16": 2}

// loadFloat loads one vector of weights as float32.
func loadFloat(d string, m Mem, v reg.VecVirtual) {
	switch d {
	case "F32":
		VMOVUPS(m, v)
	case "F16":
		VCVTPH2PS(m, v)
	case "BF16":
		VPMOVZXWD(m, v)
		VPSLLD(Imm(16), v, v)
	}
}
