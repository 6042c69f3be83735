#include "textflag.h"

// func get() Env
TEXT ·get(SB), NOSPLIT, $0-8
	MOVD FPCR, R0
	MOVD R0, ret+0(FP)
	RET

// func set(e Env)
TEXT ·set(SB), NOSPLIT, $0-8
	MOVD e+0(FP), R0
	MOVD R0, FPCR
	RET
