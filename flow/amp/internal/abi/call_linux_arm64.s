//go:build !static

#include "textflag.h"

// entryList is a C function of one argument, *List in R0. R19 walks the
// records, R20 counts them, R21 is the list, R22 holds FPCR.
TEXT ·entryList(SB), NOSPLIT|NOFRAME, $0
	SUB  $64, RSP
	STP  (R29, R30), 0(RSP)
	STP  (R19, R20), 16(RSP)
	STP  (R21, R22), 32(RSP)
	MOVD R0, R21
	MOVD 0(R0), R19
	MOVD 8(R0), R20
	MOVD FPCR, R22

next:
	CBZ  R20, done
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	MOVD 0(R19), R8
	BL   (R8)
	MOVW R0, 56(R19)
	ADD  $64, R19
	SUB  $1, R20
	B    next

done:
	MOVD FPCR, R0
	CMP  R0, R22
	BEQ  same
	MOVD R22, FPCR
	MOVD $1, R0
	MOVD R0, 16(R21)

same:
	LDP  0(RSP), (R29, R30)
	LDP  16(RSP), (R19, R20)
	LDP  32(RSP), (R21, R22)
	ADD  $64, RSP
	MOVD ZR, R0
	RET

// func direct(l *List)
TEXT ·direct(SB), NOSPLIT, $16-8
	MOVD l+0(FP), R0
	BL   ·entryList(SB)
	RET

// func OnSystemStack() bool
// The m of a g is 48 bytes in, and its g0 comes first.
TEXT ·OnSystemStack(SB), NOSPLIT, $0-1
	MOVD 48(g), R0
	MOVD 0(R0), R0
	CMP  g, R0
	CSET EQ, R0
	MOVB R0, ret+0(FP)
	RET

// entrySystem is a C function that returns what OnSystemStack does.
TEXT ·entrySystem(SB), NOSPLIT|NOFRAME, $0
	MOVD 48(g), R0
	MOVD 0(R0), R0
	CMP  g, R0
	CSET EQ, R0
	RET

// entryDirect is a C function that does from Go's convention what Run does on
// the system stack. A callee's argument lies 8 bytes above the stack pointer.
TEXT ·entryDirect(SB), NOSPLIT|NOFRAME, $0
	SUB  $32, RSP
	STP  (R29, R30), 16(RSP)
	MOVD R0, 8(RSP)
	BL   ·direct(SB)
	LDP  16(RSP), (R29, R30)
	ADD  $32, RSP
	MOVD ZR, R0
	RET

// hostAlloc(ctx, bytes, align): aligned_alloc(max(align, 16), bytes rounded up)
TEXT ·hostAlloc(SB), NOSPLIT|NOFRAME, $0
	MOVD  0(R0), R9
	MOVWU R2, R0
	MOVD  $16, R3
	CMP   R3, R0
	CSEL  LO, R3, R0, R0
	ADD   R0, R1
	SUB   $1, R1
	NEG   R0, R3
	AND   R3, R1
	B     (R9)

// hostFree(ctx, p)
TEXT ·hostFree(SB), NOSPLIT|NOFRAME, $0
	MOVD 8(R0), R9
	MOVD R1, R0
	B    (R9)

// hostLog(ctx, level, msg): take a number, write the slot, number it.
TEXT ·hostLog(SB), NOSPLIT|NOFRAME, $0
	ADD $16, R0, R3

again:
	LDAXR (R3), R4
	ADD   $1, R4, R5
	STLXR R5, (R3), R6
	CBNZ  R6, again
	MOVD  24(R0), R6
	AND   R6, R4
	LSL   $8, R4
	MOVD  32(R0), R6
	ADD   R6, R4
	STLR  ZR, (R4)
	DMB   $10 // the zero is seen before what follows
	MOVW  R1, 8(R4)
	MOVD  ZR, R6
	CBZ   R2, end
	ADD   $16, R4, R7

copy:
	CMP   $240, R6
	BEQ   end
	MOVBU (R2)(R6), R8
	CBZ   R8, end
	MOVB  R8, (R7)(R6)
	ADD   $1, R6
	B     copy

end:
	MOVW R6, 12(R4)
	STLR R5, (R4)
	RET

// func entryListPC() uintptr
TEXT ·entryListPC(SB), NOSPLIT, $0-8
	MOVD $·entryList(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func entrySystemPC() uintptr
TEXT ·entrySystemPC(SB), NOSPLIT, $0-8
	MOVD $·entrySystem(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func entryDirectPC() uintptr
TEXT ·entryDirectPC(SB), NOSPLIT, $0-8
	MOVD $·entryDirect(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func hostAllocPC() uintptr
TEXT ·hostAllocPC(SB), NOSPLIT, $0-8
	MOVD $·hostAlloc(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func hostFreePC() uintptr
TEXT ·hostFreePC(SB), NOSPLIT, $0-8
	MOVD $·hostFree(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func hostLogPC() uintptr
TEXT ·hostLogPC(SB), NOSPLIT, $0-8
	MOVD $·hostLog(SB), R0
	MOVD R0, ret+0(FP)
	RET
