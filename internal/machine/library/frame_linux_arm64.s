//go:build !static

#include "textflag.h"

// entryFrame is a C function of one argument, *Frame in R0.
TEXT ·entryFrame(SB), NOSPLIT|NOFRAME, $0
	SUB  $32, RSP
	STP  (R29, R30), 0(RSP)
	MOVD R19, 16(RSP)
	MOVD R0, R19
	MOVD 0(R19), R8
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	BL   (R8)
	MOVD R0, 56(R19)
	MOVD 16(RSP), R19
	LDP  0(RSP), (R29, R30)
	ADD  $32, RSP
	MOVD ZR, R0
	RET

// func directFrame(f *Frame)
TEXT ·directFrame(SB), NOSPLIT, $16-8
	MOVD f+0(FP), R0
	BL   ·entryFrame(SB)
	RET

// func onSystemStack() bool
// The m of a g is 48 bytes in, and its g0 comes first.
TEXT ·onSystemStack(SB), NOSPLIT, $0-1
	MOVD 48(g), R0
	MOVD 0(R0), R0
	CMP  g, R0
	CSET EQ, R0
	MOVB R0, ret+0(FP)
	RET

// func entryFramePC() uintptr
TEXT ·entryFramePC(SB), NOSPLIT, $0-8
	MOVD $·entryFrame(SB), R0
	MOVD R0, ret+0(FP)
	RET
