//go:build !static && !race

#include "textflag.h"

// A function of the System V ABI: DI is the argument. It saves what C code
// expects back (BX, BP, R12 to R15) and calls Go, whose ABI0 takes the
// argument from the stack. The stack pointer is 8 past a multiple of 16 here.
TEXT native<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	SUBQ  $8, SP
	MOVQ  DI, 0(SP)
	CLD
	CALL  ·enter(SB)
	ADDQ  $8, SP
	POPQ  R15
	POPQ  R14
	POPQ  R13
	POPQ  R12
	POPQ  BX
	POPQ  BP
	XORL  AX, AX
	RET

// func entry() unsafe.Pointer
TEXT ·entry(SB), NOSPLIT, $0-8
	MOVQ $native<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
