package main

import "fmt"

// Go's assembler lacks most vector instructions, so they are written as words,
// with the mnemonic as a comment. The numbers are those of the Arm Architecture
// Reference Manual, C7.2; a test compares some words with an assembler's.

func emit(w uint32, f string, args ...any) { raw("WORD $%#08x // %s", w, fmt.Sprintf(f, args...)) }

// three makes an instruction of a destination and two sources: d = n op m.
func three(name, d, n string, code uint32) func(d, n, m v) {
	return func(rd, rn, rm v) {
		emit(code|uint32(rm)<<16|uint32(rn)<<5|uint32(rd), "%s v%d.%s, v%d.%s, v%d.%s", name, rd, d, rn, n, rm, n)
	}
}

// two makes an instruction of a destination and a source.
func two(name, d, n, suffix string, code uint32) func(d, n v) {
	return func(rd, rn v) {
		emit(code|uint32(rn)<<5|uint32(rd), "%s v%d.%s, v%d.%s%s", name, rd, d, rn, n, suffix)
	}
}

// element makes an instruction whose last source is lane i, of four, of m.
func element(name, d, n, m string, code uint32) func(d, n, m v, i int) {
	return func(rd, rn, rm v, i int) {
		emit(code|uint32(i&1)<<21|uint32(rm)<<16|uint32(i>>1)<<11|uint32(rn)<<5|uint32(rd),
			"%s v%d.%s, v%d.%s, v%d.%s[%d]", name, rd, d, rn, n, rm, m, i)
	}
}

// shift makes a shift of lanes of size bits by a constant.
func shift(name, d, n string, size int, right bool, code uint32) func(d, n v, by int) {
	return func(rd, rn v, by int) {
		at := size + by
		if right {
			at = 2*size - by
		}
		emit(code|uint32(at)<<16|uint32(rn)<<5|uint32(rd), "%s v%d.%s, v%d.%s, #%d", name, rd, d, rn, n, by)
	}
}

var (
	fadd  = three("fadd", "4s", "4s", 0x4e20d400)
	fsub  = three("fsub", "4s", "4s", 0x4ea0d400)
	fmul  = three("fmul", "4s", "4s", 0x6e20dc00)
	fdiv  = three("fdiv", "4s", "4s", 0x6e20fc00)
	fmla  = three("fmla", "4s", "4s", 0x4e20cc00) // d += n·m, rounded once
	fmax  = three("fmax", "4s", "4s", 0x4e20f400) // a NaN wins
	fmin  = three("fmin", "4s", "4s", 0x4ea0f400)
	fcmgt = three("fcmgt", "4s", "4s", 0x6ea0e400)

	fmulElement = element("fmul", "4s", "4s", "s", 0x4f809000)
	fmlaElement = element("fmla", "4s", "4s", "s", 0x4f801000)   // d += n·m[i], rounded once
	fmlsElement = element("fmls", "4s", "4s", "s", 0x4f805000)   // d -= n·m[i], rounded once
	sdotElement = element("sdot", "4s", "16b", "4b", 0x4f80e000) // d += Σ of 4 n·m[i]

	fadd64 = three("fadd", "2d", "2d", 0x4e60d400)
	fsub64 = three("fsub", "2d", "2d", 0x4ee0d400)
	fmul64 = three("fmul", "2d", "2d", 0x6e60dc00)

	fabs   = two("fabs", "4s", "4s", "", 0x4ea0f800)
	fneg   = two("fneg", "4s", "4s", "", 0x6ea0f800)
	fcvtns = two("fcvtns", "4s", "4s", "", 0x4e21a800)
	scvtf  = two("scvtf", "4s", "4s", "", 0x4e21d800)
	fcmle0 = two("fcmle", "4s", "4s", ", #0.0", 0x6ea0d800)

	widen   = two("fcvtl", "4s", "4h", "", 0x0e217800)  // float32 of the lower halves
	widen2  = two("fcvtl2", "4s", "8h", "", 0x4e217800) // of the upper ones
	narrow  = two("fcvtn", "4h", "4s", "", 0x0e216800)
	double  = two("fcvtl", "2d", "2s", "", 0x0e617800)
	double2 = two("fcvtl2", "2d", "4s", "", 0x4e617800)

	and = three("and", "16b", "16b", 0x4e201c00)
	bic = three("bic", "16b", "16b", 0x4e601c00) // n and not m
	eor = three("eor", "16b", "16b", 0x6e201c00)
	bit = three("bit", "16b", "16b", 0x6ea01c00) // d = n where m

	add   = three("add", "4s", "4s", 0x4ea08400)
	sub   = three("sub", "4s", "4s", 0x6ea08400)
	addp  = three("addp", "4s", "4s", 0x4ea0bc00)
	umaxp = three("umaxp", "4s", "4s", 0x6ea0a400)
	cmgt  = three("cmgt", "4s", "4s", 0x4ea03400)
	neg   = two("neg", "4s", "4s", "", 0x6ea0b800)
	umax  = three("umax", "4s", "4s", 0x6ea06400)
	umin  = three("umin", "4s", "4s", 0x6ea06c00)
	smax  = three("smax", "4s", "4s", 0x4ea06400)
	ushr  = shift("ushr", "4s", "4s", 32, true, 0x6f000400)
	ushr8 = shift("ushr", "16b", "16b", 8, true, 0x6f000400)
	shl8  = shift("shl", "16b", "16b", 8, false, 0x4f005400)
	sshr  = shift("sshr", "4s", "4s", 32, true, 0x4f000400)
	shl   = shift("shl", "4s", "4s", 32, false, 0x4f005400)

	smull  = three("smull", "8h", "8b", 0x0e20c000)
	smull2 = three("smull2", "8h", "16b", 0x4e20c000)
	smlal  = three("smlal", "8h", "8b", 0x0e208000)
	smlal2 = three("smlal2", "8h", "16b", 0x4e208000)
	saddlp = two("saddlp", "4s", "8h", "", 0x4e602800)
	sadalp = two("sadalp", "4s", "8h", "", 0x4e606800) // d += pairs of n

	uxtl16  = shift("ushll", "4s", "4h", 16, false, 0x2f00a400)
	uxtl8   = shift("ushll", "8h", "8b", 8, false, 0x2f00a400)
	sxtl16  = shift("sshll", "4s", "4h", 16, false, 0x0f00a400) // by 0: signed widening
	sxtl16h = shift("sshll2", "4s", "8h", 16, false, 0x4f00a400)
	sxtl8   = shift("sshll", "8h", "8b", 8, false, 0x0f00a400)
	sxtl8h  = shift("sshll2", "8h", "16b", 8, false, 0x4f00a400)
	shll16  = two("shll", "4s", "4h", ", #16", 0x2e613800)
	shll16h = two("shll2", "4s", "8h", ", #16", 0x6e613800)

	xtn16  = two("xtn", "4h", "4s", "", 0x0e612800)
	xtn16h = two("xtn2", "8h", "4s", "", 0x4e612800)
	xtn8   = two("xtn", "8b", "8h", "", 0x0e212800)
	xtn8h  = two("xtn2", "16b", "8h", "", 0x4e212800)
)

// tbl looks up bytes of m in n.
func tbl(d, n, m v) {
	emit(0x4e000000|uint32(m)<<16|uint32(n)<<5|uint32(d), "tbl v%d.16b, {v%d.16b}, v%d.16b", d, n, m)
}

// st4 stores lane i of a register and the next three as 16 bytes.
func st4(x v, i int, p r) {
	emit(0x0d20a000|uint32(i>>1)<<30|uint32(i&1)<<12|uint32(p)<<5|uint32(x),
		"st4 {v%d.s, v%d.s, v%d.s, v%d.s}[%d], [x%d]", x, x+1, x+2, x+3, i, int(p))
}

// zero clears registers.
func zero(list ...v) {
	for _, x := range list {
		eor(x, x, x)
	}
}
