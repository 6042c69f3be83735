//go:build !static

#include "textflag.h"

// All of these are C functions: arguments in DI, SI and DX, the result in AX.
// None uses a register that C expects to be kept, and none calls anything but
// the log of package abi.

// uint32_t size(const clap_input_events *)
TEXT ·eventsSize(SB), NOSPLIT|NOFRAME, $0
	MOVL 24(DI), AX
	RET

// const clap_event_header *get(const clap_input_events *, uint32_t)
TEXT ·eventsGet(SB), NOSPLIT|NOFRAME, $0
	MOVL SI, SI // clears the upper half
	XORL AX, AX
	CMPQ SI, 24(DI)
	JCC  none
	SHLQ $6, SI
	MOVQ 32(DI), AX
	ADDQ SI, AX

none:
	RET

// bool try_push(const clap_output_events *, const clap_event_header *)
TEXT ·eventsPush(SB), NOSPLIT|NOFRAME, $0
	LOCK
	INCQ 16(DI)
	MOVL $1, AX
	RET

// int64_t read(const clap_istream *, void *, uint64_t)
TEXT ·streamRead(SB), NOSPLIT|NOFRAME, $0
	MOVQ  24(DI), CX
	MOVQ  32(DI), AX
	SUBQ  AX, CX       // left
	CMPQ  DX, CX
	JCC   some
	MOVQ  DX, CX

some:
	TESTQ SI, SI
	JEQ   refuse
	MOVQ  16(DI), R8
	ADDQ  AX, R8
	ADDQ  CX, AX
	MOVQ  AX, 32(DI)
	MOVQ  CX, AX
	MOVQ  SI, DI
	MOVQ  R8, SI
	CLD
	REP; MOVSB
	RET

refuse:
	MOVQ $-1, AX
	RET

// int64_t write(const clap_ostream *, const void *, uint64_t)
TEXT ·streamWrite(SB), NOSPLIT|NOFRAME, $0
	MOVQ  24(DI), CX
	MOVQ  32(DI), AX
	SUBQ  AX, CX     // room
	CMPQ  CX, DX
	JCS   full
	TESTQ SI, SI
	JEQ   full
	MOVQ  DX, CX
	MOVQ  16(DI), R8
	ADDQ  AX, R8
	ADDQ  CX, AX
	MOVQ  AX, 32(DI)
	MOVQ  CX, AX
	MOVQ  R8, DI
	CLD
	REP; MOVSB
	RET

full:
	MOVQ $1, 0(DI) // what was written is not the whole
	MOVQ $-1, AX
	RET

// const void *get_extension(const clap_host *, const char *)
TEXT ·hostExtension(SB), NOSPLIT|NOFRAME, $0
	XORL  AX, AX
	TESTQ SI, SI
	JEQ   out
	MOVQ  16(DI), R8
	MOVQ  48(R8), R8

entry:
	MOVQ  0(R8), R9
	TESTQ R9, R9
	JEQ   out
	XORL  CX, CX

char:
	MOVBLZX (R9)(CX*1), R10
	MOVBLZX (SI)(CX*1), R11
	CMPL    R10, R11
	JNE     other
	INCQ    CX
	TESTL   R10, R10
	JNE     char
	MOVQ    8(R8), AX
	RET

other:
	ADDQ $16, R8
	JMP  entry

out:
	RET

TEXT ·hostRestart(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), AX
	MOVQ $1, 16(AX)
	RET

TEXT ·hostStart(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), AX
	MOVQ $1, 24(AX)
	RET

TEXT ·hostAsk(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), AX
	MOVQ $1, 32(AX)
	RET

TEXT ·hostChanged(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), AX
	MOVQ $1, 40(AX)
	RET

// void log(const clap_host *, clap_log_severity, const char *)
TEXT ·hostLog(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), AX
	MOVQ 56(AX), DI
	MOVQ 64(AX), AX
	JMP  AX

// bool is_main_thread(const clap_host *): gettid is system call 186
TEXT ·hostIsMain(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), R8
	MOVL $186, AX
	SYSCALL
	CMPQ AX, 0(R8)
	SETEQ AX
	MOVBLZX AX, AX
	RET

// bool is_audio_thread(const clap_host *)
TEXT ·hostIsAudio(SB), NOSPLIT|NOFRAME, $0
	MOVQ 16(DI), R8
	MOVL $186, AX
	SYSCALL
	CMPQ AX, 8(R8)
	SETEQ AX
	MOVBLZX AX, AX
	RET

// What needs no answer, or no for an answer.
TEXT ·hostNothing(SB), NOSPLIT|NOFRAME, $0
	XORL AX, AX
	RET

// uint32_t supported_dialects(const clap_host *): CLAP_NOTE_DIALECT_CLAP
TEXT ·hostDialect(SB), NOSPLIT|NOFRAME, $0
	MOVL $1, AX
	RET

// bool activate(const Activation *)
TEXT ·pluginActivate(SB), NOSPLIT|NOFRAME, $0
	MOVQ  DI, R8
	MOVQ  0(R8), DI
	MOVQ  8(R8), AX
	MOVSD 16(R8), X0
	MOVL  24(R8), SI
	MOVL  28(R8), DX
	JMP   AX

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
