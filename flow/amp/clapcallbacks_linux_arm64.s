//go:build !static

#include "textflag.h"

// All of these are C functions: arguments in R0 to R2, the result in R0. None
// uses a register that C expects to be kept, and none calls anything but the
// log of package abi.

// uint32_t size(const clap_input_events *)
TEXT ·eventsSize(SB), NOSPLIT|NOFRAME, $0
	MOVWU 24(R0), R0
	RET

// const clap_event_header *get(const clap_input_events *, uint32_t)
TEXT ·eventsGet(SB), NOSPLIT|NOFRAME, $0
	MOVD  R0, R3
	MOVD  ZR, R0
	MOVWU R1, R1
	MOVD  24(R3), R4
	CMP   R4, R1
	BHS   none
	MOVD  32(R3), R0
	ADD   R1<<6, R0

none:
	RET

// bool try_push(const clap_output_events *, const clap_event_header *)
TEXT ·eventsPush(SB), NOSPLIT|NOFRAME, $0
	ADD $16, R0, R3

again:
	LDAXR (R3), R4
	ADD   $1, R4
	STLXR R4, (R3), R5
	CBNZ  R5, again
	MOVD  $1, R0
	RET

// int64_t read(const clap_istream *, void *, uint64_t)
TEXT ·streamRead(SB), NOSPLIT|NOFRAME, $0
	CBZ  R1, refuse
	MOVD 24(R0), R3
	MOVD 32(R0), R4
	SUB  R4, R3      // left
	CMP  R3, R2
	CSEL LO, R2, R3, R3
	MOVD 16(R0), R5
	ADD  R4, R5
	ADD  R3, R4
	MOVD R4, 32(R0)
	MOVD R3, R0

copy:
	CBZ   R3, done
	MOVBU (R5), R6
	MOVB  R6, (R1)
	ADD   $1, R5
	ADD   $1, R1
	SUB   $1, R3
	B     copy

done:
	RET

refuse:
	MOVD $-1, R0
	RET

// int64_t write(const clap_ostream *, const void *, uint64_t)
TEXT ·streamWrite(SB), NOSPLIT|NOFRAME, $0
	CBZ  R1, full
	MOVD 24(R0), R3
	MOVD 32(R0), R4
	SUB  R4, R3      // room
	CMP  R2, R3
	BLO  full
	MOVD 16(R0), R5
	ADD  R4, R5
	ADD  R2, R4
	MOVD R4, 32(R0)
	MOVD R2, R0

copy:
	CBZ   R2, done
	MOVBU (R1), R6
	MOVB  R6, (R5)
	ADD   $1, R5
	ADD   $1, R1
	SUB   $1, R2
	B     copy

done:
	RET

full:
	MOVD $1, R3
	MOVD R3, 0(R0) // what was written is not the whole
	MOVD $-1, R0
	RET

// const void *get_extension(const clap_host *, const char *)
TEXT ·hostExtension(SB), NOSPLIT|NOFRAME, $0
	MOVD R0, R3
	MOVD ZR, R0
	CBZ  R1, out
	MOVD 16(R3), R3
	MOVD 48(R3), R3

entry:
	MOVD 0(R3), R4
	CBZ  R4, out
	MOVD ZR, R5

char:
	MOVBU (R4)(R5), R6
	MOVBU (R1)(R5), R7
	CMP   R6, R7
	BNE   other
	ADD   $1, R5
	CBNZ  R6, char
	MOVD  8(R3), R0
	RET

other:
	ADD $16, R3
	B   entry

out:
	RET

TEXT ·hostRestart(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R0
	MOVD $1, R1
	MOVD R1, 16(R0)
	RET

TEXT ·hostStart(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R0
	MOVD $1, R1
	MOVD R1, 24(R0)
	RET

TEXT ·hostAsk(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R0
	MOVD $1, R1
	MOVD R1, 32(R0)
	RET

TEXT ·hostChanged(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R0
	MOVD $1, R1
	MOVD R1, 40(R0)
	RET

// void log(const clap_host *, clap_log_severity, const char *)
TEXT ·hostLog(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R3
	MOVD 56(R3), R0
	MOVD 64(R3), R3
	B    (R3)

// bool is_main_thread(const clap_host *): gettid is system call 178
TEXT ·hostIsMain(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R3
	MOVD $178, R8
	SVC
	MOVD 0(R3), R4
	CMP  R4, R0
	CSET EQ, R0
	RET

// bool is_audio_thread(const clap_host *)
TEXT ·hostIsAudio(SB), NOSPLIT|NOFRAME, $0
	MOVD 16(R0), R3
	MOVD $178, R8
	SVC
	MOVD 8(R3), R4
	CMP  R4, R0
	CSET EQ, R0
	RET

// What needs no answer, or no for an answer.
TEXT ·hostNothing(SB), NOSPLIT|NOFRAME, $0
	MOVD ZR, R0
	RET

// uint32_t supported_dialects(const clap_host *): CLAP_NOTE_DIALECT_CLAP
TEXT ·hostDialect(SB), NOSPLIT|NOFRAME, $0
	MOVD $1, R0
	RET

// bool activate(const Activation *)
TEXT ·pluginActivate(SB), NOSPLIT|NOFRAME, $0
	MOVD  R0, R8
	MOVD  0(R8), R0
	MOVD  8(R8), R9
	FMOVD 16(R8), F0
	MOVWU 24(R8), R1
	MOVWU 28(R8), R2
	B     (R9)

DATA ·callbacks+0(SB)/8, $·eventsSize(SB)
DATA ·callbacks+8(SB)/8, $·eventsGet(SB)
DATA ·callbacks+16(SB)/8, $·eventsPush(SB)
DATA ·callbacks+24(SB)/8, $·streamRead(SB)
DATA ·callbacks+32(SB)/8, $·streamWrite(SB)
DATA ·callbacks+40(SB)/8, $·hostExtension(SB)
DATA ·callbacks+48(SB)/8, $·hostRestart(SB)
DATA ·callbacks+56(SB)/8, $·hostStart(SB)
DATA ·callbacks+64(SB)/8, $·hostAsk(SB)
DATA ·callbacks+72(SB)/8, $·hostLog(SB)
DATA ·callbacks+80(SB)/8, $·hostIsMain(SB)
DATA ·callbacks+88(SB)/8, $·hostIsAudio(SB)
DATA ·callbacks+96(SB)/8, $·hostChanged(SB)
DATA ·callbacks+104(SB)/8, $·hostNothing(SB)
DATA ·callbacks+112(SB)/8, $·hostDialect(SB)
DATA ·callbacks+120(SB)/8, $·pluginActivate(SB)
GLOBL ·callbacks(SB), NOPTR, $128
