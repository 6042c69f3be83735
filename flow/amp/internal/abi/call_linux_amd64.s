//go:build !static

#include "textflag.h"

// entryList is a C function of one argument, *List in DI. BX walks the
// records, R12 counts them, R13 is the list; the stack holds MXCSR.
TEXT ·entryList(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	SUBQ  $16, SP
	STMXCSR 0(SP)
	MOVQ  DI, R13
	MOVQ  0(DI), BX
	MOVQ  8(DI), R12

next:
	TESTQ R12, R12
	JEQ   done
	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  48(BX), R9
	MOVQ  0(BX), AX
	CALL  AX
	MOVL  AX, 56(BX)
	ADDQ  $64, BX
	DECQ  R12
	JMP   next

done:
	// The low six bits are exceptions that have happened.
	STMXCSR 4(SP)
	MOVL  0(SP), AX
	XORL  4(SP), AX
	ANDL  $~0x3f, AX
	JEQ   same
	LDMXCSR 0(SP)
	MOVQ  $1, 16(R13)

same:
	ADDQ $16, SP
	POPQ R13
	POPQ R12
	POPQ BX
	XORL AX, AX
	RET

// func direct(l *List)
// C keeps BX, and wants a stack aligned to 16 bytes.
TEXT ·direct(SB), NOSPLIT, $16-8
	MOVQ l+0(FP), DI
	MOVQ SP, BX
	ANDQ $~15, SP
	CALL ·entryList(SB)
	MOVQ BX, SP
	RET

// func OnSystemStack() bool
// The m of a g is 48 bytes in, and its g0 comes first.
TEXT ·OnSystemStack(SB), NOSPLIT, $0-1
	MOVQ  (TLS), AX
	MOVQ  48(AX), CX
	CMPQ  AX, 0(CX)
	SETEQ ret+0(FP)
	RET

// entrySystem is a C function that returns what OnSystemStack does.
TEXT ·entrySystem(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (TLS), CX
	MOVQ  48(CX), DX
	XORL  AX, AX
	CMPQ  CX, 0(DX)
	SETEQ AX
	RET

// entryDirect is a C function that does from Go's convention what Run does on
// the system stack.
TEXT ·entryDirect(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	SUBQ  $16, SP
	MOVQ  DI, 0(SP)
	CALL  ·direct(SB)
	ADDQ  $16, SP
	POPQ  BX
	XORL  AX, AX
	RET

// hostAlloc(ctx, bytes, align): aligned_alloc(max(align, 16), bytes rounded up)
TEXT ·hostAlloc(SB), NOSPLIT|NOFRAME, $0
	MOVQ 0(DI), AX
	MOVL DX, DI
	CMPQ DI, $16
	JGE  large
	MOVL $16, DI

large:
	LEAQ -1(SI)(DI*1), SI
	MOVQ DI, CX
	NEGQ CX
	ANDQ CX, SI
	JMP  AX

// hostFree(ctx, p)
TEXT ·hostFree(SB), NOSPLIT|NOFRAME, $0
	MOVQ 8(DI), AX
	MOVQ SI, DI
	JMP  AX

// hostLog(ctx, level, msg): take a number, write the slot, number it.
TEXT ·hostLog(SB), NOSPLIT|NOFRAME, $0
	MOVL  $1, AX
	LOCK
	XADDQ AX, 16(DI)
	MOVQ  AX, CX
	ANDQ  24(DI), CX
	SHLQ  $8, CX
	ADDQ  32(DI), CX
	MOVQ  $0, 0(CX)
	MOVL  SI, 8(CX)
	XORL  R8, R8
	TESTQ DX, DX
	JEQ   end

copy:
	CMPQ    R8, $240
	JEQ     end
	MOVBLZX (DX)(R8*1), R9
	TESTL   R9, R9
	JEQ     end
	MOVB    R9, 16(CX)(R8*1)
	INCQ    R8
	JMP     copy

end:
	MOVL R8, 12(CX)
	INCQ AX
	MOVQ AX, 0(CX)
	RET

// func entryListPC() uintptr
TEXT ·entryListPC(SB), NOSPLIT, $0-8
	LEAQ ·entryList(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func entrySystemPC() uintptr
TEXT ·entrySystemPC(SB), NOSPLIT, $0-8
	LEAQ ·entrySystem(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func entryDirectPC() uintptr
TEXT ·entryDirectPC(SB), NOSPLIT, $0-8
	LEAQ ·entryDirect(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func hostAllocPC() uintptr
TEXT ·hostAllocPC(SB), NOSPLIT, $0-8
	LEAQ ·hostAlloc(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func hostFreePC() uintptr
TEXT ·hostFreePC(SB), NOSPLIT, $0-8
	LEAQ ·hostFree(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func hostLogPC() uintptr
TEXT ·hostLogPC(SB), NOSPLIT, $0-8
	LEAQ ·hostLog(SB), AX
	MOVQ AX, ret+0(FP)
	RET
