//go:build !static

#include "textflag.h"

// entryFrame is a C function of one argument, *Frame in DI. The push aligns the
// stack to 16 bytes.
TEXT ·entryFrame(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	MOVQ  DI, BX
	MOVQ  0(BX), AX
	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  48(BX), R9
	CALL  AX
	MOVQ  AX, 56(BX)
	POPQ  BX
	XORL  AX, AX
	RET

// func directFrame(f *Frame)
// C keeps BX, and wants a stack aligned to 16 bytes.
TEXT ·directFrame(SB), NOSPLIT, $16-8
	MOVQ f+0(FP), DI
	MOVQ SP, BX
	ANDQ $~15, SP
	CALL ·entryFrame(SB)
	MOVQ BX, SP
	RET

// func onSystemStack() bool
// The m of a g is 48 bytes in, and its g0 comes first.
TEXT ·onSystemStack(SB), NOSPLIT, $0-1
	MOVQ  (TLS), AX
	MOVQ  48(AX), CX
	CMPQ  AX, 0(CX)
	SETEQ ret+0(FP)
	RET

// func entryFramePC() uintptr
TEXT ·entryFramePC(SB), NOSPLIT, $0-8
	LEAQ ·entryFrame(SB), AX
	MOVQ AX, ret+0(FP)
	RET
