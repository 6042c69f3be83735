//go:build !static && !race

#include "textflag.h"

// A function of the AAPCS64: R0 is the argument. It saves what C code expects
// back (R19 to R27, the frame and link registers, F8 to F15) and calls Go,
// whose ABI0 takes the argument from the stack. R28 is g here and stays it.
TEXT native<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $176, RSP
	STP  (R19, R20), 16(RSP)
	STP  (R21, R22), 32(RSP)
	STP  (R23, R24), 48(RSP)
	STP  (R25, R26), 64(RSP)
	MOVD R27, 80(RSP)
	STP  (R29, R30), 88(RSP)
	FSTPD (F8, F9), 104(RSP)
	FSTPD (F10, F11), 120(RSP)
	FSTPD (F12, F13), 136(RSP)
	FSTPD (F14, F15), 152(RSP)
	MOVD R0, 8(RSP)
	BL   ·enter(SB)
	LDP  16(RSP), (R19, R20)
	LDP  32(RSP), (R21, R22)
	LDP  48(RSP), (R23, R24)
	LDP  64(RSP), (R25, R26)
	MOVD 80(RSP), R27
	LDP  88(RSP), (R29, R30)
	FLDPD 104(RSP), (F8, F9)
	FLDPD 120(RSP), (F10, F11)
	FLDPD 136(RSP), (F12, F13)
	FLDPD 152(RSP), (F14, F15)
	ADD  $176, RSP
	MOVD $0, R0
	RET

// func entry() unsafe.Pointer
TEXT ·entry(SB), NOSPLIT, $0-8
	MOVD $native<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
