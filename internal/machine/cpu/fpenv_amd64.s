#include "textflag.h"

// func get() Env
TEXT ·get(SB), NOSPLIT, $8-8
	STMXCSR 0(SP)
	MOVL    0(SP), AX
	MOVQ    AX, ret+0(FP)
	RET

// func set(e Env)
TEXT ·set(SB), NOSPLIT, $8-8
	MOVQ    e+0(FP), AX
	MOVL    AX, 0(SP)
	LDMXCSR 0(SP)
	RET
